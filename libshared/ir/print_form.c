/* Pretty forms: one row per op_form_t names the attributes that the form spells out (all others
 * follow in braces), a test whether it can say this op, and the function that writes it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/printer.h"

enum { MAX_SPELLED = 15 };

/* An attribute that a form spells out. */
typedef struct {
    const char *name; /* "$": the op's dims_attr */
    attr_kind_t kind;
    bool optional;
} spelled_t;

typedef struct {
    void (*print)(printer_t *p, const ir_op_t *op);
    bool (*fits)(const ir_fn_t *fn, const ir_op_t *op); /* NULL: always */
    spelled_t spelled[MAX_SPELLED + 1];                 /* ends with a NULL name */
} form_t;

static const form_t forms[];

static const form_t *form_of(const ir_op_t *op)
{
    return &forms[op_def(op->code)->form];
}

static const char *spelled_name(const ir_op_t *op, const spelled_t *s)
{
    return *s->name == '$' ? op_def(op->code)->dims_attr : s->name;
}

/* --- pieces --- */

const ir_type_t *print_in_type(const ir_fn_t *fn, const ir_op_t *op, int i)
{
    return ir_type_of(fn, op->in[i]);
}

const ir_type_t *print_out_type(const ir_fn_t *fn, const ir_op_t *op, int i)
{
    return ir_type_of(fn, op->out + (ir_val_t)i);
}

static const ir_type_t *any_type(const ir_fn_t *fn, const ir_op_t *op, int i)
{
    return i < op->n_in ? print_in_type(fn, op, i) : print_out_type(fn, op, i - op->n_in);
}

static bool same_types(const ir_fn_t *fn, const ir_op_t *op)
{
    for (int i = 1; i < op->n_in + op->n_out; i++)
        if (!ir_type_equal(any_type(fn, op, i), any_type(fn, op, 0))) return false;
    return true;
}

/* Attributes that the form does not spell out. */
void print_other_attrs(const printer_t *p, const ir_op_t *op)
{
    const char *before = " {";
    for (int i = 0; i < op->attrs.n; i++) {
        const ir_attr_t *a = &op->attrs.at[i];
        bool spelled = false;
        for (const spelled_t *s = form_of(op)->spelled; s->name && !spelled; s++)
            spelled = strcmp(a->name, spelled_name(op, s)) == 0;
        if (spelled) continue;
        str_add(p->out, before);
        print_named_attr(p->out, a);
        before = ", ";
    }
    if (*before == ',') str_add(p->out, "}");
}

/* {..} : (T, U) -> V */
void print_fn_tail(const printer_t *p, const ir_op_t *op)
{
    print_other_attrs(p, op);
    str_add(p->out, " : ");
    print_function_type(p, op);
}

/* {..} : T, or the whole when types differ */
void print_tail(const printer_t *p, const ir_op_t *op)
{
    if (op->n_out != 1 || !same_types(p->fn, op)) {
        print_fn_tail(p, op);
        return;
    }
    print_other_attrs(p, op);
    str_add(p->out, " : ");
    print_type_of(p, op->out);
}

void print_head(const printer_t *p, const ir_op_t *op)
{
    str_add(p->out, op_def(op->code)->name);
    if (op->n_in) str_add(p->out, " ");
    print_values(p, op->n_in, op->in);
}

void print_int_list(const printer_t *p, const ir_op_t *op, const char *word, const char *name)
{
    int n;
    const int64_t *at = attr_ints(&op->attrs, name, &n);
    str_add(p->out, word);
    print_ints(p->out, at, n);
}

static const char *word_of(const ir_op_t *op, const char *name)
{
    return attr_text(&op->attrs, name, "");
}

/* --- forms without regions --- */

static void print_operands(printer_t *p, const ir_op_t *op)
{
    print_head(p, op);
    print_tail(p, op);
}

static bool constant_fits(const ir_fn_t *fn, const ir_op_t *op)
{
    const ir_attr_t *value = attr_find(&op->attrs, "value");
    return op->n_in == 0 && ir_type_equal(&value->tensor->type, print_out_type(fn, op, 0));
}

static void print_constant(printer_t *p, const ir_op_t *op)
{
    str_add(p->out, op_def(op->code)->name);
    print_other_attrs(p, op);
    str_add(p->out, " ");
    print_literal(p->out, attr_find(&op->attrs, "value")->tensor);
}

static void print_compare(printer_t *p, const ir_op_t *op)
{
    str_addf(p->out, "%s %s, ", op_def(op->code)->name, word_of(op, "comparison_direction"));
    print_values(p, op->n_in, op->in);
    if (attr_find(&op->attrs, "compare_type"))
        str_addf(p->out, ", %s", word_of(op, "compare_type"));
    print_fn_tail(p, op);
}

static void print_select(printer_t *p, const ir_op_t *op)
{
    bool same = op->n_in == 3 && op->n_out == 1;
    for (int i = 1; same && i < 3; i++)
        same = ir_type_equal(print_in_type(p->fn, op, i), print_out_type(p->fn, op, 0));
    print_head(p, op);
    if (!same) {
        print_fn_tail(p, op);
        return;
    }
    print_other_attrs(p, op);
    str_add(p->out, " : ");
    print_type_of(p, op->in[0]);
    str_add(p->out, ", ");
    print_type_of(p, op->out);
}

static void print_dim(printer_t *p, const ir_op_t *op)
{
    print_head(p, op);
    str_addf(p->out, "%s dim = %lld", op->n_in ? "," : "",
             (long long)attr_int(&op->attrs, op_def(op->code)->dims_attr, 0));
    if (op->n_in)
        print_fn_tail(p, op);
    else
        print_tail(p, op);
}

static void print_dims(printer_t *p, const ir_op_t *op)
{
    print_head(p, op);
    print_int_list(p, op, ", dims = ", op_def(op->code)->dims_attr);
    print_tail(p, op);
}

static bool slice_fits(const ir_fn_t *fn, const ir_op_t *op)
{
    int n[3];
    (void)fn;
    attr_ints(&op->attrs, "start_indices", &n[0]);
    attr_ints(&op->attrs, "limit_indices", &n[1]);
    attr_ints(&op->attrs, "strides", &n[2]);
    return n[0] == n[1] && n[0] == n[2];
}

static void print_slice(printer_t *p, const ir_op_t *op)
{
    int n;
    const int64_t *start = attr_ints(&op->attrs, "start_indices", &n);
    const int64_t *limit = attr_ints(&op->attrs, "limit_indices", &n);
    const int64_t *stride = attr_ints(&op->attrs, "strides", &n);
    print_head(p, op);
    str_add(p->out, " [");
    for (int i = 0; i < n; i++) {
        str_addf(p->out, "%s%lld:%lld", i ? ", " : "", (long long)start[i], (long long)limit[i]);
        if (stride[i] != 1) str_addf(p->out, ":%lld", (long long)stride[i]);
    }
    str_add(p->out, "]");
    print_fn_tail(p, op);
}

static void print_dynamic_slice(printer_t *p, const ir_op_t *op)
{
    print_head(p, op);
    print_int_list(p, op, ", sizes = ", "slice_sizes");
    print_fn_tail(p, op);
}

static void print_pad(printer_t *p, const ir_op_t *op)
{
    print_head(p, op);
    print_int_list(p, op, ", low = ", "edge_padding_low");
    print_int_list(p, op, ", high = ", "edge_padding_high");
    print_int_list(p, op, ", interior = ", "interior_padding");
    print_fn_tail(p, op);
}

static bool reduce_precision_fits(const ir_fn_t *fn, const ir_op_t *op)
{
    (void)fn;
    int64_t exponent = attr_int(&op->attrs, "exponent_bits", 0);
    int64_t mantissa = attr_int(&op->attrs, "mantissa_bits", 0);
    return exponent >= 0 && exponent <= INT32_MAX && mantissa >= 0 && mantissa <= INT32_MAX;
}

static void print_reduce_precision(printer_t *p, const ir_op_t *op)
{
    print_head(p, op);
    str_addf(p->out, ", format = e%lldm%lld", (long long)attr_int(&op->attrs, "exponent_bits", 0),
             (long long)attr_int(&op->attrs, "mantissa_bits", 0));
    print_tail(p, op);
}

static void print_rng(printer_t *p, const ir_op_t *op)
{
    print_head(p, op);
    str_addf(p->out, ", distribution = %s", word_of(op, "rng_distribution"));
    print_fn_tail(p, op);
}

static void print_rng_bits(printer_t *p, const ir_op_t *op)
{
    print_head(p, op);
    str_addf(p->out, ", algorithm = %s", word_of(op, "rng_algorithm"));
    print_fn_tail(p, op);
}

static void print_fft(printer_t *p, const ir_op_t *op)
{
    print_head(p, op);
    str_addf(p->out, ", type = %s", word_of(op, "fft_type"));
    print_int_list(p, op, ", length = ", "fft_length");
    print_fn_tail(p, op);
}

static void print_cholesky(printer_t *p, const ir_op_t *op)
{
    print_head(p, op);
    if (attr_find(&op->attrs, "lower"))
        str_addf(p->out, ", lower = %s", attr_bool(&op->attrs, "lower", false) ? "true" : "false");
    print_tail(p, op);
}

/* --- calls, CHLO, checks --- */

static void print_symbol_call(printer_t *p, const ir_op_t *op, const char *name)
{
    str_addf(p->out, "%s ", op_def(op->code)->name);
    print_symbol(p->out, word_of(op, name));
    str_add(p->out, "(");
    print_values(p, op->n_in, op->in);
    str_add(p->out, ")");
    print_fn_tail(p, op);
}

static void print_call(printer_t *p, const ir_op_t *op)
{
    print_symbol_call(p, op, "callee");
}

static bool target_fits(const ir_fn_t *fn, const ir_op_t *op)
{
    (void)fn;
    return *word_of(op, "call_target_name") != '\0';
}

static void print_custom_call(printer_t *p, const ir_op_t *op)
{
    print_symbol_call(p, op, "call_target_name");
}

static void print_composite(printer_t *p, const ir_op_t *op)
{
    str_addf(p->out, "%s ", op_def(op->code)->name);
    print_quoted(p->out, word_of(op, "name"));
    if (op->n_in) str_add(p->out, " ");
    print_values(p, op->n_in, op->in);
    print_fn_tail(p, op);
}

/* {..} : T, U -> V */
static void arrow_tail(const printer_t *p, const ir_op_t *op)
{
    print_other_attrs(p, op);
    for (int i = 0; i < op->n_in; i++) {
        str_add(p->out, i ? ", " : " : ");
        print_type_of(p, op->in[i]);
    }
    str_add(p->out, op->n_out == 1 ? " -> " : " -> (");
    for (int i = 0; i < op->n_out; i++) {
        if (i) str_add(p->out, ", ");
        print_type_of(p, op->out + (ir_val_t)i);
    }
    if (op->n_out != 1) str_add(p->out, ")");
}

static bool has_operands(const ir_fn_t *fn, const ir_op_t *op)
{
    (void)fn;
    return op->n_in > 0;
}

static void print_chlo(printer_t *p, const ir_op_t *op)
{
    print_head(p, op);
    arrow_tail(p, op);
}

static void print_top_k(printer_t *p, const ir_op_t *op)
{
    str_addf(p->out, "%s(", op_def(op->code)->name);
    print_values(p, op->n_in, op->in);
    str_addf(p->out, ", k = %lld)", (long long)attr_int(&op->attrs, "k", 0));
    arrow_tail(p, op);
}

static bool check_fits(const ir_fn_t *fn, const ir_op_t *op)
{
    const ir_attr_t *value = attr_find(&op->attrs, "value");
    const ir_attr_t *tolerance = attr_find(&op->attrs, "tolerance");
    if (op->n_out != 0 || (tolerance && !isfinite(tolerance->f))) return false;
    if (value)
        return op->n_in == 1 && ir_type_equal(&value->tensor->type, print_in_type(fn, op, 0));
    return op->n_in == 2;
}

static void check_int(const printer_t *p, const ir_op_t *op, const char *name)
{
    if (attr_find(&op->attrs, name))
        str_addf(p->out, ", %s = %lld", name, (long long)attr_int(&op->attrs, name, 0));
}

static void print_check(printer_t *p, const ir_op_t *op)
{
    const ir_attr_t *value = attr_find(&op->attrs, "value");
    const ir_attr_t *tolerance = attr_find(&op->attrs, "tolerance");
    print_head(p, op);
    if (value) {
        str_add(p->out, ", ");
        print_literal(p->out, value->tensor);
    }
    if (tolerance) {
        str_add(p->out, ", tolerance = ");
        print_float(p->out, tolerance->f, DT_F64);
    }
    check_int(p, op, "max_ulp_difference");
    check_int(p, op, "min_ulp_difference");
    print_other_attrs(p, op);
    if (value) return;
    str_add(p->out, " : ");
    print_type_of(p, op->in[0]);
    str_add(p->out, ", ");
    print_type_of(p, op->in[1]);
}

/* --- the table --- */

static const form_t forms[] = {
    [FORM_GENERIC] = {0},
    [FORM_OPERANDS] = {.print = print_operands},
    [FORM_CONSTANT] = {print_constant, constant_fits, {{"value", ATTR_TENSOR, false}}},
    [FORM_COMPARE] = {print_compare,
                      NULL,
                      {{"comparison_direction", ATTR_ENUM, false},
                       {"compare_type", ATTR_ENUM, true}}},
    [FORM_SELECT] = {.print = print_select},
    [FORM_IOTA] = {print_dim, NULL, {{"$", ATTR_INT, false}}},
    [FORM_DIMS] = {print_dims, NULL, {{"$", ATTR_INTS, false}}},
    [FORM_SLICE] = {print_slice,
                    slice_fits,
                    {{"start_indices", ATTR_INTS, false},
                     {"limit_indices", ATTR_INTS, false},
                     {"strides", ATTR_INTS, false}}},
    [FORM_DYNAMIC_SLICE] = {print_dynamic_slice, NULL, {{"slice_sizes", ATTR_INTS, false}}},
    [FORM_PAD] = {print_pad,
                  NULL,
                  {{"edge_padding_low", ATTR_INTS, false},
                   {"edge_padding_high", ATTR_INTS, false},
                   {"interior_padding", ATTR_INTS, false}}},
    [FORM_DIM] = {print_dim, has_operands, {{"$", ATTR_INT, false}}},
    [FORM_DOT] = {print_dot,
                  print_dot_fits,
                  {{"lhs_batching_dimensions", ATTR_INTS, false},
                   {"rhs_batching_dimensions", ATTR_INTS, false},
                   {"lhs_contracting_dimensions", ATTR_INTS, false},
                   {"rhs_contracting_dimensions", ATTR_INTS, false},
                   {"precision_config", ATTR_LIST, true},
                   {"algorithm", ATTR_RAW, true}}},
    [FORM_CONVOLUTION] = {print_convolution,
                          print_conv_fits,
                          {{"input_batch_dimension", ATTR_INT, false},
                           {"input_feature_dimension", ATTR_INT, false},
                           {"input_spatial_dimensions", ATTR_INTS, false},
                           {"kernel_input_feature_dimension", ATTR_INT, false},
                           {"kernel_output_feature_dimension", ATTR_INT, false},
                           {"kernel_spatial_dimensions", ATTR_INTS, false},
                           {"output_batch_dimension", ATTR_INT, false},
                           {"output_feature_dimension", ATTR_INT, false},
                           {"output_spatial_dimensions", ATTR_INTS, false},
                           {"window_strides", ATTR_INTS, true},
                           {"padding", ATTR_INTS, true},
                           {"lhs_dilation", ATTR_INTS, true},
                           {"rhs_dilation", ATTR_INTS, true},
                           {"window_reversal", ATTR_INTS, true}}},
    [FORM_REDUCE] = {print_reduce, print_reduce_fits, {{"dimensions", ATTR_INTS, false}}},
    [FORM_WHILE] = {.print = print_while, .fits = print_while_fits},
    [FORM_CALL] = {print_call, NULL, {{"callee", ATTR_SYMBOL, false}}},
    [FORM_CUSTOM_CALL] = {print_custom_call,
                          target_fits,
                          {{"call_target_name", ATTR_STRING, false}}},
    [FORM_COMPOSITE] = {print_composite, NULL, {{"name", ATTR_STRING, false}}},
    [FORM_REDUCE_PRECISION] = {print_reduce_precision,
                               reduce_precision_fits,
                               {{"exponent_bits", ATTR_INT, false},
                                {"mantissa_bits", ATTR_INT, false}}},
    [FORM_RNG] = {print_rng, NULL, {{"rng_distribution", ATTR_ENUM, false}}},
    [FORM_RNG_BITS] = {print_rng_bits, NULL, {{"rng_algorithm", ATTR_ENUM, false}}},
    [FORM_FFT] = {print_fft,
                  NULL,
                  {{"fft_type", ATTR_ENUM, false}, {"fft_length", ATTR_INTS, false}}},
    [FORM_CHOLESKY] = {print_cholesky, NULL, {{"lower", ATTR_BOOL, true}}},
    [FORM_CHLO] = {.print = print_chlo, .fits = has_operands},
    [FORM_TOP_K] = {print_top_k, has_operands, {{"k", ATTR_INT, false}}},
    [FORM_CHECK] = {print_check,
                    check_fits,
                    {{"value", ATTR_TENSOR, true},
                     {"tolerance", ATTR_FLOAT, true},
                     {"max_ulp_difference", ATTR_INT, true},
                     {"min_ulp_difference", ATTR_INT, true}}},
};

/* Every attribute that the form spells out is there and of its kind. */
static bool attributes_fit(const form_t *form, const ir_op_t *op)
{
    for (const spelled_t *s = form->spelled; s->name; s++) {
        const char *name = spelled_name(op, s);
        const ir_attr_t *a = name ? attr_find(&op->attrs, name) : NULL;
        if (!a && s->optional) continue;
        bool empty_list = a && s->kind == ATTR_LIST && a->kind == ATTR_INTS && a->n == 0;
        if (!a || (a->kind != s->kind && !empty_list)) return false;
    }
    return true;
}

bool print_pretty(printer_t *p, const ir_op_t *op)
{
    const form_t *form = form_of(op);
    for (int i = 0; i < op->n_in; i++)
        if (op->in[i] >= p->fn->n_value) return false;
    if (!form->print || !attributes_fit(form, op)) return false;
    if (form->fits && !form->fits(p->fn, op)) return false;
    form->print(p, op);
    return true;
}
