/* check.* ops: compare a computed tensor with the expected one. Meanings: StableHLO's CheckOps as
 * GRAMMAR section 8 of the shared material states them. */
#include "ops/check_expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/common.h"
#include "ops/eval.h"

typedef enum { CHECK_EQ, CHECK_ALMOST, CHECK_CLOSE } check_mode_t;

typedef struct {
    check_mode_t mode;
    double tolerance;          /* CHECK_ALMOST: absolute */
    uint64_t min_ulp, max_ulp; /* CHECK_CLOSE: distance in representable values */
} check_rule_t;

/* The targets of custom_call and the tolerances they stand for. */
static const struct {
    const char *target;
    check_rule_t rule;
} targets[] = {
    {"check.expect_eq", {CHECK_EQ, 0, 0, 0}},
    {"check.eq", {CHECK_ALMOST, 1e-4, 0, 0}},
    {"check.expect_almost_eq", {CHECK_ALMOST, 1e-3, 0, 0}},
    {"check.expect_close", {CHECK_CLOSE, 0, 0, 3}},
};

bool check_is_target(const char *target)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (strcmp(targets[i].target, target) == 0) return true;
    return false;
}

static double attr_float(const ir_attrs_t *attrs, const char *name, double fallback)
{
    const ir_attr_t *attr = attr_find(attrs, name);
    if (!attr) return fallback;
    return attr->kind == ATTR_FLOAT ? attr->f : attr->kind == ATTR_INT ? (double)attr->i : fallback;
}

/* The rule with what the op's attributes override. */
static check_rule_t with_attrs(check_rule_t rule, const ir_op_t *op)
{
    rule.tolerance = attr_float(&op->attrs, "tolerance", rule.tolerance);
    rule.min_ulp = (uint64_t)attr_int(&op->attrs, "min_ulp_difference", (int64_t)rule.min_ulp);
    rule.max_ulp = (uint64_t)attr_int(&op->attrs, "max_ulp_difference", (int64_t)rule.max_ulp);
    return rule;
}

/* Floats of one type as integers in order of value, -0 and +0 both 0. */
static int64_t ulp_key(const tensor_t *x, int64_t i)
{
    size_t size = dtype_bytes(x->type.dtype);
    uint64_t bits = 0, sign = (uint64_t)1 << (dtype_bits(x->type.dtype) - 1);
    if (x->type.dtype == DT_F8E8M0FNU) sign = 256; /* has none */
    memcpy(&bits, (const char *)x->data + (x->splat ? 0 : (size_t)i * size), size);
    int64_t magnitude = (int64_t)(bits & (sign - 1));
    return bits & sign ? -magnitude : magnitude;
}

static bool close_enough(const check_rule_t *rule, const tensor_t *got, const tensor_t *want,
                         int64_t i)
{
    double a = tensor_get_f64(got, i), b = tensor_get_f64(want, i);
    uint64_t distance = 0;
    if (isnan(a) || isnan(b)) {
        if (!(isnan(a) && isnan(b))) return false;
    } else if (isinf(a) || isinf(b)) {
        if (a != b) return false;
    } else {
        int64_t ka = ulp_key(got, i), kb = ulp_key(want, i);
        distance = ka > kb ? (uint64_t)ka - (uint64_t)kb : (uint64_t)kb - (uint64_t)ka;
    }
    return distance >= rule->min_ulp && distance <= rule->max_ulp;
}

static bool number_holds(const check_rule_t *rule, const tensor_t *got, const tensor_t *want,
                         int64_t i)
{
    if (!dtype_is_float(got->type.dtype)) return tensor_get_i64(got, i) == tensor_get_i64(want, i);
    if (rule->mode == CHECK_CLOSE) return close_enough(rule, got, want, i);
    double a = tensor_get_f64(got, i), b = tensor_get_f64(want, i);
    if (a == b) return true;
    if (rule->mode == CHECK_EQ) return false;
    return (isnan(a) && isnan(b)) || fabs(a - b) <= rule->tolerance;
}

/* The parts of element i, as two real numbers. */
static tensor_t parts_of(const tensor_t *x, int64_t i)
{
    tensor_t parts = tensor_element(x, i);
    parts.type.dtype = dtype_part(parts.type.dtype);
    return parts;
}

/* Complex numbers agree when both of their parts do. */
static bool element_holds(const check_rule_t *rule, const tensor_t *got, const tensor_t *want,
                          int64_t i)
{
    if (!dtype_is_complex(got->type.dtype)) return number_holds(rule, got, want, i);
    tensor_t a = parts_of(got, i), b = parts_of(want, i);
    return number_holds(rule, &a, &b, 0) && number_holds(rule, &a, &b, 1);
}

/* "[1, 0, 4]" */
static void index_text(const ir_type_t *type, int64_t i, char *text, size_t space)
{
    int64_t stride[IR_MAX_RANK];
    ir_type_strides(type, stride);
    size_t n = (size_t)snprintf(text, space, "[");
    for (int d = 0; d < type->rank && n < space; d++)
        n += (size_t)snprintf(text + n, space - n, "%s%lld", d ? ", " : "",
                              (long long)(i / stride[d] % type->dim[d]));
    if (n < space) snprintf(text + n, space - n, "]");
}

static void value_text(const tensor_t *x, int64_t i, char *text, size_t space)
{
    if (dtype_is_complex(x->type.dtype))
        snprintf(text, space, "(%.17g, %.17g)", tensor_get_f64(x, i), tensor_get_imag(x, i));
    else if (dtype_is_float(x->type.dtype))
        snprintf(text, space, "%.17g", tensor_get_f64(x, i));
    else if (dtype_is_unsigned(x->type.dtype))
        snprintf(text, space, "%llu", (unsigned long long)tensor_get_i64(x, i));
    else
        snprintf(text, space, "%lld", (long long)tensor_get_i64(x, i));
}

static int compare(const char *name, const check_rule_t *rule, const tensor_t *got,
                   const tensor_t *want, err_t *err)
{
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT], where[IR_TYPE_TEXT];
    if (!ir_type_equal(&got->type, &want->type))
        return err_set(err, ERR_MISMATCH, "%s: got %s, expected %s", name,
                       ir_type_text(&got->type, a), ir_type_text(&want->type, b));
    int64_t count = ir_type_count(&got->type), first = -1, n_wrong = 0;
    for (int64_t i = 0; i < count; i++) {
        if (element_holds(rule, got, want, i)) continue;
        if (n_wrong++ == 0) first = i;
    }
    if (n_wrong == 0) return 0;
    index_text(&got->type, first, where, sizeof where);
    value_text(got, first, a, sizeof a);
    value_text(want, first, b, sizeof b);
    return err_set(err, ERR_MISMATCH,
                   "%s: element %s of %s is %s, expected %s (%lld of %lld differ)", name, where,
                   dtype_name(got->type.dtype), a, b, (long long)n_wrong, (long long)count);
}

int check_custom_call(const char *target, const ir_op_t *op, const tensor_t *in, err_t *err)
{
    if (op->n_in != 2)
        return err_set(err, ERR_SHAPE, "%s: %d operands, expected got and expected", target,
                       op->n_in);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (strcmp(targets[i].target, target) != 0) continue;
        check_rule_t rule = with_attrs(targets[i].rule, op);
        return compare(target, &rule, &in[0], &in[1], err);
    }
    return err_set(err, ERR_UNSUPPORTED, "custom_call @%s is not a check", target);
}

/* --- The ops --- */
static const check_rule_t exact = {CHECK_EQ, 0, 0, 0}, almost = {CHECK_ALMOST, 1e-4, 0, 0},
                          near = {CHECK_CLOSE, 0, 0, 1};

static int infer_pair(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    (void)out;
    return infer_same_type(fn, op, 0, 1, err);
}

static int infer_const(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    (void)out;
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    const ir_attr_t *value = attr_find(&op->attrs, "value");
    if (!value || value->kind != ATTR_TENSOR)
        return err_set(err, ERR_TYPE, "%s: attribute value must be a tensor", op_name(op));
    if (ir_type_equal(&value->tensor->type, op_in_type(fn, op, 0))) return 0;
    return err_set(err, ERR_TYPE, "%s: operand is %s, but value is %s", op_name(op),
                   ir_type_text(op_in_type(fn, op, 0), a), ir_type_text(&value->tensor->type, b));
}

static const tensor_t *expected_value(const ir_op_t *op, const tensor_t *in)
{
    const ir_attr_t *value = attr_find(&op->attrs, "value");
    return op->n_in == 1 && value ? value->tensor : &in[1];
}

#define CHECK(id, N, RULE, SPELLED)                                                        \
    static int eval_##id(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, \
                         err_t *err)                                                       \
    {                                                                                      \
        (void)ev, (void)out;                                                               \
        check_rule_t rule = with_attrs(RULE, op);                                          \
        return compare(SPELLED, &rule, &in[0], expected_value(op, in), err);               \
    }                                                                                      \
    const op_def_t op_check_##id = {                                                       \
        .name = SPELLED,                                                                   \
        .kind = K_OTHER,                                                                   \
        .n_in = N,                                                                         \
        .n_out = 0,                                                                        \
        .form = FORM_CHECK,                                                                \
        .side_effect = true,                                                               \
        .infer = N == 1 ? infer_const : infer_pair,                                        \
        .eval = eval_##id,                                                                 \
        .vjp = vjp_none,                                                                   \
    };

CHECK(expect_eq, 2, exact, "check.expect_eq")
CHECK(expect_eq_const, 1, exact, "check.expect_eq_const")
CHECK(expect_almost_eq, 2, almost, "check.expect_almost_eq")
CHECK(expect_almost_eq_const, 1, almost, "check.expect_almost_eq_const")
CHECK(expect_close, 2, near, "check.expect_close")

/* --- Whole files --- */
int check_module(const ir_module_t *module, err_t *err)
{
    return check_module_within(module, NULL, err);
}

int check_module_within(const ir_module_t *module, const eval_options_t *limits, err_t *err)
{
    err_t why = {0};
    ir_fn_t *fn = ir_verify(module, &why) == 0 ? ir_module_entry(module, &why) : NULL;
    int rc = -1;
    if (fn && fn->body->n_arg > 0) {
        err_set(&why, ERR_ARG, "@%s takes %d arguments: only a function without can be checked",
                fn->name, fn->body->n_arg);
    } else if (fn) {
        int n = fn->body->n_result;
        tensor_t *out = mem_calloc((size_t)n + 1, sizeof *out);
        rc = eval_fn(module, fn, NULL, out, limits, &why);
        for (int i = 0; rc == 0 && i < n; i++) tensor_fini(&out[i]);
        free(out);
    }
    if (rc < 0 && why.code == ERR_MISMATCH) rc = 1;
    if (rc != 0 && err) *err = why;
    return rc;
}
