/* rng by the rule of ops/draw_rule.h: its type rule, and its numbers as ops on rng_bit_generator's.
 * The evaluator runs those same ops. */
#include "ops/draw_rule.h"

#include <string.h>

#include "ops/common.h"
#include "ops/control.h"
#include "ops/eval.h"

static bool is_uniform(const ir_op_t *op)
{
    return strcmp(attr_text(&op->attrs, "rng_distribution", ""), "UNIFORM") == 0;
}

static int infer_rng(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const char *name = attr_text(&op->attrs, "rng_distribution", "");
    if (!is_uniform(op) && strcmp(name, "NORMAL") != 0)
        return err_set(err, ERR_ARG,
                       "stablehlo.rng: rng_distribution is \"%s\", expected UNIFORM or "
                       "NORMAL",
                       name);
    unsigned classes = is_uniform(op) ? CLASS_BITS | CLASS_FLOAT : CLASS_FLOAT;
    if (infer_class(fn, op, 0, classes, err) < 0 || infer_same_type(fn, op, 0, 1, err) < 0 ||
        infer_class(fn, op, 2, CLASS_INT, err) < 0)
        return -1;
    const ir_type_t *a = op_in_type(fn, op, 0), *shape = op_in_type(fn, op, 2);
    if (a->rank != 0 || shape->rank != 1)
        return err_set(err, ERR_SHAPE,
                       "stablehlo.rng: bounds have rank %d, shape has rank %d, expected 0 and 1",
                       a->rank, shape->rank);
    const tensor_t *dims = ir_const_of(fn, op->in[2]);
    if (!dims) {
        if (infer_declared(op, 0, out, err) < 0) return -1;
        if (out[0].rank != shape->dim[0])
            return err_set(err, ERR_SHAPE,
                           "stablehlo.rng: shape has %lld entries, the result rank %d",
                           (long long)shape->dim[0], out[0].rank);
        ir_type_t type = ir_type_with(out[0], a->dtype);
        return infer_result(op, 0, out, &type, err);
    }
    ir_type_t type = ir_type(a->dtype, 0, NULL);
    if (shape->dim[0] > IR_MAX_RANK)
        return err_set(err, ERR_SHAPE, "stablehlo.rng: rank %lld is over %d",
                       (long long)shape->dim[0], IR_MAX_RANK);
    type.rank = (int)shape->dim[0];
    for (int d = 0; d < type.rank; d++) type.dim[d] = tensor_get_i64(dims, d);
    if (ir_type_check(&type, err) < 0) return err_prefix(err, "stablehlo.rng: ");
    return infer_result(op, 0, out, &type, err);
}

/* --- The numbers ------------------------------------------------------------------------------ */

ir_val_t draw_seed(ir_fn_t *fn)
{
    ir_attrs_t attrs = {0};
    ir_type_t type = ir_type_scalar(DT_UI64);
    attr_set_text(fn->module->arena, &attrs, "call_target_name", ATTR_STRING, DRAW_SEED);
    const ir_op_t *op = ir_emit(fn, OP_custom_call, 0, NULL, &attrs, 1, &type, 0, NULL);
    return op ? op->out : IR_NONE;
}

bool draw_is_seed(const ir_op_t *op)
{
    return op->code == OP_custom_call && strcmp(control_target(op), DRAW_SEED) == 0;
}

int draw_count(const ir_region_t *region)
{
    int n = 0;
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        n += op->code == OP_rng;
        for (int r = 0; r < op->n_region; r++) n += draw_count(op->region[r]);
    }
    return n;
}

/* The bits of draw n, unsigned, of type's shape. */
static ir_val_t bits_of(ir_fn_t *fn, const ir_type_t *type, int width, ir_val_t seed, ir_val_t n)
{
    const ir_type_t one = ir_type(DT_UI64, 1, (int64_t[]){1});
    ir_val_t counter = ir_op2(fn, OP_shift_left, n, ir_scalar(fn, DT_UI64, 32));
    ir_val_t words[2] = {ir_reshape(fn, seed, &one), ir_reshape(fn, counter, &one)};
    ir_val_t state = ir_concatenate(fn, words, 2, 0);
    ir_type_t types[2] = {ir_type(DT_UI64, 1, (int64_t[]){2}),
                          ir_type_with(*type, width == 64 ? DT_UI64 : DT_UI32)};
    ir_attrs_t attrs = {0};
    attr_set_text(fn->module->arena, &attrs, "rng_algorithm", ATTR_ENUM, "THREE_FRY");
    const ir_op_t *op = ir_emit(fn, OP_rng_bit_generator, 1, &state, &attrs, 2, types, 0, NULL);
    return op ? op->out + 1 : IR_NONE;
}

static ir_val_t shifted(ir_fn_t *fn, op_code_t code, ir_val_t bits, int by)
{
    return by ? ir_op2(fn, code, bits, ir_scalar_like(fn, bits, by)) : bits;
}

/* bits * scale, of type `dtype`, into which they fit. */
static ir_val_t scaled(ir_fn_t *fn, ir_val_t bits, dtype_t dtype, double scale)
{
    ir_val_t x = ir_convert(fn, bits, dtype);
    return ir_op2(fn, OP_multiply, x, ir_scalar_like(fn, x, scale));
}

static ir_val_t spread(ir_fn_t *fn, ir_val_t scalar, const ir_type_t *type, dtype_t dtype)
{
    ir_type_t wide = ir_type_with(*type, dtype);
    return ir_broadcast_scalar(fn, ir_convert(fn, scalar, dtype), &wide);
}

static ir_val_t uniform_floats(ir_fn_t *fn, const ir_type_t *type, ir_val_t a, ir_val_t b,
                               ir_val_t bits)
{
    bool wide = type->dtype == DT_F64;
    ir_val_t u = scaled(fn, shifted(fn, OP_shift_right_logical, bits, wide ? 11 : 0), DT_F64,
                        wide ? 0x1p-53 : 0x1p-32);
    ir_val_t low = spread(fn, a, type, DT_F64), high = spread(fn, b, type, DT_F64);
    ir_val_t y = ir_op2(fn, OP_multiply, ir_op2(fn, OP_subtract, high, low), u);
    y = ir_convert(fn, ir_op2(fn, OP_add, low, y), type->dtype);
    ir_val_t below = ir_compare(fn, "LT", y, ir_broadcast_scalar(fn, b, type));
    return ir_select(fn, below, y, ir_broadcast_scalar(fn, a, type));
}

static ir_val_t uniform_integers(ir_fn_t *fn, const ir_type_t *type, ir_val_t a, ir_val_t b,
                                 ir_val_t bits)
{
    ir_val_t low = spread(fn, a, type, DT_UI64), high = spread(fn, b, type, DT_UI64);
    ir_val_t part = ir_op2(fn, OP_remainder, bits, ir_op2(fn, OP_subtract, high, low));
    ir_val_t y = ir_convert(fn, ir_op2(fn, OP_add, low, part), type->dtype);
    ir_val_t empty = ir_compare(fn, "EQ", low, high);
    return ir_select(fn, empty, ir_broadcast_scalar(fn, a, type), y);
}

static ir_val_t normal_floats(ir_fn_t *fn, const ir_type_t *type, ir_val_t a, ir_val_t b,
                              ir_val_t bits)
{
    dtype_t dtype = type->dtype == DT_F64 ? DT_F64 : DT_F32;
    bool wide = dtype == DT_F64;
    bits = shifted(fn, OP_shift_right_logical, bits, wide ? 12 : 9);
    bits = shifted(fn, OP_shift_left, bits, 1);
    bits = ir_op2(fn, OP_or, bits, ir_scalar_like(fn, bits, 1));
    ir_val_t x = scaled(fn, bits, dtype, wide ? 0x1p-52 : 0x1p-23);
    x = ir_op2(fn, OP_subtract, x, ir_scalar_like(fn, x, 1));
    ir_val_t z = ir_op1(fn, OP_chlo_erf_inv, x);
    z = ir_op2(fn, OP_multiply, z, ir_scalar_like(fn, z, 1.4142135623730951));
    z = ir_op2(fn, OP_multiply, spread(fn, b, type, dtype), z);
    return ir_convert(fn, ir_op2(fn, OP_add, spread(fn, a, type, dtype), z), type->dtype);
}

ir_val_t draw_numbers(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *type, ir_val_t a, ir_val_t b,
                      ir_val_t seed, ir_val_t n)
{
    bool is_float = dtype_is_float(type->dtype);
    if (ir_type_count(type) == 0) return ir_splat(fn, type, 0);
    ir_val_t bits = bits_of(fn, type, is_float && type->dtype != DT_F64 ? 32 : 64, seed, n);
    if (!is_uniform(op)) return normal_floats(fn, type, a, b, bits);
    return (is_float ? uniform_floats : uniform_integers)(fn, type, a, b, bits);
}

/* --- Evaluation ------------------------------------------------------------------------------- */

/* A function (a, b, seed, n) -> numbers, in a module of its own. */
static ir_fn_t *numbers_fn(ir_module_t *module, const ir_op_t *op, const ir_type_t *type,
                           err_t *err)
{
    ir_type_t bound = ir_type_scalar(type->dtype), word = ir_type_scalar(DT_UI64);
    ir_fn_t *fn = ir_fn_new(module, "numbers", 4, (ir_type_t[]){bound, bound, word, word});
    ir_val_t y = draw_numbers(fn, op, type, ir_fn_param(fn, 0), ir_fn_param(fn, 1),
                              ir_fn_param(fn, 2), ir_fn_param(fn, 3));
    return ir_fn_finish(fn, 1, &y, err) < 0 ? NULL : fn;
}

static int eval_rng(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    uint64_t seed = eval_options(ev)->seed, n = eval_next_draw(ev);
    ir_module_t *module = ir_module_new();
    const ir_fn_t *fn = numbers_fn(module, op, &out->type, err);
    tensor_t word = {.type = ir_type_scalar(DT_UI64)}, y;
    tensor_t args[4] = {in[0], in[1], word, word};
    args[2].data = &seed;
    args[3].data = &n;
    int rc = fn ? eval_fn(module, fn, args, &y, eval_options(ev), err) : -1;
    ir_module_destroy(&module);
    if (rc < 0) return -1;
    tensor_fini(out);
    *out = y;
    return 0;
}

const op_def_t op_rng = {
    .name = "stablehlo.rng",
    .kind = K_RANDOM,
    .n_in = 3,
    .n_out = 1,
    .form = FORM_RNG,
    .draws = true,
    .needs = {"rng_distribution"},
    .infer = infer_rng,
    .eval = eval_rng,
    .vjp = vjp_none,
};
