/* Ops that are gone once the text is read: tuples, tokens, conversions of quantised tensors, and
 * those of other_op.h; and ops that are refused with a reason. */
#include <string.h>

#include "parse/other_op.h"
#include "parse/parse.h"
#include "parse/quant.h"

/* --- tuples --- */

/* tuple %a, %b : tuple<T, U> */
static int form_tuple(parser_t *p, draft_t *d)
{
    if (parse_operands(p, &d->in) < 0 || parse_optional_attributes(p, &d->attrs) < 0) return -1;
    if (p->tok.kind != ':') return parse_expected(p, ": and the tuple's type");
    const char *colon = p->tok.at;
    parse_next(p);
    if (p->tok.kind != '(') return parse_result_types(p, d);
    parse_jump(p, colon);
    return parse_signature(p, d);
}

/* get_tuple_element %t[0] : fn */
static int form_element(parser_t *p, draft_t *d)
{
    int64_t index;
    if (parse_operand(p, &d->in) < 0 || parse_expect(p, '[', "[ of the index") < 0 ||
        parse_int(p, &index) < 0 || parse_expect(p, ']', "]") < 0)
        return -1;
    attr_set_int(p->arena, &d->attrs, "index", index);
    return parse_optional_attributes(p, &d->attrs) < 0 ? -1 : parse_signature(p, d);
}

static int type_error(parser_t *p, const draft_t *d, const ir_type_t *type, const char *must)
{
    char text[IR_TYPE_TEXT];
    return parse_fail(p, d->name.at, ERR_TYPE, "%.*s: %s is not %s", (int)d->name.n, d->name.at,
                      parse_type_text(p, type, text), must);
}

static const wide_t *kind_of(const parser_t *p, const ir_type_t *type, wide_kind_t kind)
{
    const wide_t *wide = wide_is(type) ? wide_of(p, type) : NULL;
    return wide && wide->kind == kind ? wide : NULL;
}

static size_t n_leaf(const parser_t *p, const ir_type_t *type)
{
    return wide_is(type) ? (size_t)wide_of(p, type)->n_leaf : 1;
}

static int finish_tuple(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    (void)into;
    const wide_t *wide = kind_of(p, &d->out.at[0], WIDE_TUPLE);
    bool fits = wide && (size_t)wide->n_item == d->in.n;
    for (size_t i = 0; fits && i < d->in.n; i++)
        fits = ir_type_equal(&wide->item[i], ir_type_of(p->fn, d->in.at[i]));
    if (!fits) return type_error(p, d, &d->out.at[0], "the tuple of the operands");
    vals_t leaves = {0};
    for (size_t i = 0; i < d->in.n; i++) wide_leaves(p, d->in.at[i], &leaves);
    *first = wide_value(p, &d->out.at[0], leaves.at, leaves.n);
    VEC_FREE(&leaves);
    return 0;
}

static int finish_element(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    (void)into;
    const ir_type_t *type = ir_type_of(p->fn, d->in.at[0]);
    const wide_t *wide = kind_of(p, type, WIDE_TUPLE);
    int64_t index = attr_int(&d->attrs, "index", -1);
    if (!wide) return type_error(p, d, type, "a tuple");
    if (index < 0 || index >= wide->n_item)
        return parse_fail(p, d->name.at, ERR_TYPE, "%.*s: index is %lld, but the tuple has %d",
                          (int)d->name.n, d->name.at, (long long)index, wide->n_item);
    const ir_type_t *item = &wide->item[index];
    if (!ir_type_equal(item, &d->out.at[0]))
        return type_error(p, d, &d->out.at[0], "the type of this element");
    vals_t leaves = {0};
    size_t before = 0;
    for (int64_t i = 0; i < index; i++) before += n_leaf(p, &wide->item[i]);
    wide_leaves(p, d->in.at[0], &leaves);
    *first = wide_value(p, item, leaves.at + before, n_leaf(p, item));
    VEC_FREE(&leaves);
    return 0;
}

/* --- tokens: on one device ops run in an order that their operands allow --- */

static int finish_token(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    (void)into;
    for (size_t i = 0; i < d->in.n; i++) {
        const ir_type_t *type = ir_type_of(p->fn, d->in.at[i]);
        if (!kind_of(p, type, WIDE_TOKEN)) return type_error(p, d, type, "a token");
    }
    if (!kind_of(p, &d->out.at[0], WIDE_TOKEN)) return type_error(p, d, &d->out.at[0], "a token");
    *first = wide_value(p, &d->out.at[0], NULL, 0);
    return 0;
}

/* --- uniform_quantize, uniform_dequantize --- */

static int finish_quantize(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    const ir_type_t *type = ir_type_of(p->fn, d->in.at[0]);
    if (wide_is(type) && !wide_quant(p, type)) return type_error(p, d, type, "a tensor");
    if (!wide_quant(p, &d->out.at[0])) return type_error(p, d, &d->out.at[0], "quantised");
    return parse_emit(p, d, into, first);
}

static int finish_dequantize(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    const ir_type_t *type = ir_type_of(p->fn, d->in.at[0]);
    if (!wide_quant(p, type)) return type_error(p, d, type, "quantised");
    if (wide_is(&d->out.at[0])) return type_error(p, d, &d->out.at[0], "a tensor of floats");
    return parse_emit(p, d, into, first);
}

/* --- MHLO's and sdy's words for ops of StableHLO --- */

static int finish_as(parser_t *p, draft_t *d, op_code_t code, ir_region_t *into, ir_val_t *first)
{
    d->code = code;
    d->def = op_def(code);
    return parse_emit(p, d, into, first);
}

static int finish_constant(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    return finish_as(p, d, OP_constant, into, first);
}

static int finish_bitcast(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    return finish_as(p, d, OP_reshape, into, first);
}

static const op_def_t one = {.n_in = 1, .n_out = 1, .form = FORM_OPERANDS},
                      group = {.n_in = 1, .n_out = 0}, spliced = {.n_in = -1, .n_out = -1},
                      constant = {.n_in = 0, .n_out = 1, .form = FORM_CONSTANT},
                      any = {.n_in = -1, .n_out = 1, .form = FORM_OPERANDS},
                      two = {.n_in = 2, .n_out = 1, .form = FORM_OPERANDS},
                      four = {.n_in = 4, .n_out = 1, .form = FORM_OPERANDS},
                      five = {.n_in = 5, .n_out = 1, .form = FORM_OPERANDS},
                      bare_two = {.n_in = 2, .n_out = 1}, bare_three = {.n_in = 3, .n_out = 1},
                      chlo = {.n_in = 3, .n_out = 1, .form = FORM_CHLO},
                      dim = {.n_in = 2, .n_out = 1, .form = FORM_DIM, .dims_attr = "dimension"},
                      conv = {.n_in = 3, .n_out = 1, .form = FORM_CONVOLUTION};

static const text_op_t ops[] = {
    {"stablehlo.tuple", &any, form_tuple, finish_tuple},
    {"stablehlo.get_tuple_element", &one, form_element, finish_element},
    {"stablehlo.after_all", &any, NULL, finish_token},
    {"stablehlo.create_token", &any, NULL, finish_token},
    {"stablehlo.uniform_quantize", &one, NULL, finish_quantize},
    {"stablehlo.uniform_dequantize", &one, NULL, finish_dequantize},
    {"sdy.sharding_constraint", &one, form_sharding, finish_sharding},
    {"sdy.reshard", &one, form_sharding, finish_sharding},
    {"sdy.propagation_barrier", &one, form_propagation, finish_sharding},
    {"sdy.sharding_group", &group, form_group, finish_nothing},
    {"sdy.constant", &constant, NULL, finish_constant},
    {"sdy.named_computation", &spliced, form_named, finish_spliced},
    {"sdy.manual_computation", &spliced, form_manual, finish_spliced},
    {"mhlo.copy", &one, NULL, finish_same},
    {"mhlo.add_dependency", &two, NULL, finish_same},
    {"mhlo.bitcast", &one, NULL, finish_bitcast},
    {"stablehlo.broadcast", &one, form_broadcast, finish_broadcast},
    {"stablehlo.einsum", &two, form_einsum, finish_einsum},
    {"stablehlo.unary_einsum", &one, form_einsum, finish_einsum},
    {"stablehlo.torch_index_select", &bare_two, NULL, finish_torch_index_select},
    {"stablehlo.dynamic_pad", &five, NULL, finish_dynamic_pad},
    {"stablehlo.real_dynamic_slice", &four, NULL, finish_real_dynamic_slice},
    {"stablehlo.dynamic_gather", &bare_three, NULL, finish_dynamic_gather},
    {"stablehlo.dynamic_conv", &conv, NULL, finish_dynamic_conv},
    {"stablehlo.set_dimension_size", &dim, NULL, finish_set_dimension_size},
    {"chlo.dynamic_reshape", &two, NULL, finish_chlo_dynamic_reshape},
    {"chlo.broadcast_select", &chlo, NULL, finish_broadcast_select},
    {"chlo.ragged_dot", &bare_three, NULL, finish_ragged_dot},
};

const text_op_t *parse_text_op(token_t name)
{
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (lex_is(name, ops[i].name)) return &ops[i];
    return NULL;
}

const char *parse_text_op_name(size_t i)
{
    return i < sizeof ops / sizeof *ops ? ops[i].name : NULL;
}

const char *parse_refusal(token_t name)
{
    static const char talk[] = "it talks to the host or another device while the program runs; "
                               "pass its data as arguments and results";
    static const char many[] = "it is for more than one device; export the model for one";
    static const char shape[] = "its result's shape is not static; export the model with static "
                                "shapes";
    static const char inside[] = "it stands inside a function; a } is missing before it";
    static const struct {
        const char *name, *why;
    } refused[] = {
        {"func.func", inside},
        {"module", inside},
        {"stablehlo.infeed", talk},
        {"stablehlo.outfeed", talk},
        {"stablehlo.send", talk},
        {"stablehlo.recv", talk},
        {"stablehlo.cross-replica-sum", many},
        {"stablehlo.compute_reshape_shape", shape},
        {"stablehlo.cstr_reshapable", shape},
        {"chlo.minimum_broadcast_shapes", shape},
        {"chlo.scan", "export the loop as stablehlo.while, as jax.lax.scan does"},
        {"shape.shape_of", shape},
        {"tensor.dim", shape},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (lex_is(name, refused[i].name)) return refused[i].why;
    if (name.n > 4 && memcmp(name.at, "sdy.", 4) == 0) return many;
    return NULL;
}
