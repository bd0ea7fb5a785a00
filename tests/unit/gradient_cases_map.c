/* Gradient cases of element-wise, control and chlo ops that need operands of a special kind. */
#include "gradient_cases.h"

static const tensor_t *pattern_i1(ir_fn_t *fn, const ir_type_t *shape)
{
    ir_type_t type = ir_type_with(*shape, DT_I1);
    tensor_t *t = arena_alloc(fn->module->arena, sizeof *t);
    *t = tensor_in(fn->module->arena, &type);
    for (int64_t i = 0; i < ir_type_count(&type); i++) tensor_set_i64(t, i, i % 3 == 1);
    return t;
}

static void build_select(ir_fn_t *fn)
{
    ir_val_t a = ir_fn_param(fn, 0), b = ir_fn_param(fn, 1);
    ir_select(fn, ir_const(fn, pattern_i1(fn, ir_type_of(fn, a))), a, b);
}

static void build_select_scalar(ir_fn_t *fn)
{
    ir_val_t a = ir_fn_param(fn, 0), b = ir_fn_param(fn, 1);
    ir_select(fn, ir_scalar(fn, DT_I1, 1), a, b);
}

/* Bounds inside the range that x is drawn from, so that all three get a cotangent. */
static void build_clamp_scalar(ir_fn_t *fn)
{
    ir_val_t x = ir_fn_param(fn, 0);
    ir_op3(fn, OP_clamp, ir_scalar(fn, DT_F64, -0.7), x, ir_scalar(fn, DT_F64, 0.6));
}

static void build_clamp_bounds(ir_fn_t *fn)
{
    ir_val_t x = ir_scalar_like(fn, ir_fn_param(fn, 0), 0.25);
    ir_op3(fn, OP_clamp, ir_fn_param(fn, 0), x, ir_fn_param(fn, 1));
}

static void build_clamp_scalar_bounds(ir_fn_t *fn)
{
    ir_op3(fn, OP_clamp, ir_fn_param(fn, 0), ir_fn_param(fn, 1), ir_fn_param(fn, 2));
}

static void build_convert(ir_fn_t *fn)
{
    /* f64 -> f64: between widths the rounding would drown the differences. */
    ir_val_t x = ir_fn_param(fn, 0);
    ir_type_t type = *ir_type_of(fn, x);
    ir_emit(fn, OP_convert, 1, &x, NULL, 1, &type, 0, NULL);
}

static void power_const(ir_fn_t *fn, double p)
{
    ir_val_t x = ir_fn_param(fn, 0);
    ir_op2(fn, OP_power, x, ir_scalar_like(fn, x, p));
}

static void build_square(ir_fn_t *fn)
{
    power_const(fn, 2);
}

static void build_cube(ir_fn_t *fn)
{
    power_const(fn, 3);
}

static void build_power_zero(ir_fn_t *fn)
{
    power_const(fn, 0);
}

static void build_power_negative(ir_fn_t *fn)
{
    power_const(fn, -2);
}

static void build_top_k(ir_fn_t *fn)
{
    ir_val_t x = ir_fn_param(fn, 0);
    ir_attrs_t attrs = {0};
    attr_set_int(fn->module->arena, &attrs, "k", 2);
    ir_emit(fn, OP_chlo_top_k, 1, &x, &attrs, 2, NULL, 0, NULL);
}

static void custom_call(ir_fn_t *fn, const char *target)
{
    ir_val_t x = ir_fn_param(fn, 0);
    ir_attrs_t attrs = {0};
    attr_set_text(fn->module->arena, &attrs, "call_target_name", ATTR_STRING, target);
    ir_emit(fn, OP_custom_call, 1, &x, &attrs, 1, NULL, 0, NULL);
}

static void build_sharding(ir_fn_t *fn)
{
    custom_call(fn, "Sharding");
}

static void build_barrier(ir_fn_t *fn)
{
    ir_val_t in[] = {ir_fn_param(fn, 0), ir_fn_param(fn, 1)};
    ir_emit(fn, OP_optimization_barrier, 2, in, NULL, 2, NULL, 0, NULL);
}

const gradient_case_t gradient_cases_map[] = {
    {OP_select, "full predicate", {F64(2, 3), F64(2, 3)}, 0, 0, build_select},
    {OP_select, "scalar predicate", {F64(2, 3), F64(2, 3)}, 0, 0, build_select_scalar},
    {OP_clamp, "x, scalar bounds", {F64(4, 5)}, 0, 0, build_clamp_scalar},
    {OP_clamp, "both bounds", {F64(4, 5), F64(4, 5)}, 0, 0, build_clamp_bounds},
    {OP_clamp,
     "scalar bounds",
     {F64_SCALAR, F64(4, 5), F64_SCALAR},
     0,
     0,
     build_clamp_scalar_bounds},
    {OP_convert, "f64 to f64", {F64(2, 3)}, 0, 0, build_convert},
    {OP_power, "x^2", {F64(2, 3)}, 0, 0, build_square},
    {OP_power, "x^3", {F64(2, 3)}, 0, 0, build_cube},
    {OP_power, "x^0", {F64(2, 3)}, 0, 0, build_power_zero},
    {OP_power, "x^-2", {F64(2, 3)}, 0.5, 2, build_power_negative},
    {OP_chlo_digamma, "between poles", {F64(2, 3)}, -2.8, -2.2, NULL},
    {OP_chlo_digamma, "around one half", {F64(3, 4)}, 0.3, 0.7, NULL},
    {OP_chlo_digamma, "large", {F64(2, 3)}, 40, 70, NULL},
    {OP_chlo_lgamma, "between poles", {F64(2, 3)}, -1.8, -1.2, NULL},
    {OP_chlo_top_k, "k = 2", {F64(3, 5)}, 0, 0, build_top_k},
    {OP_custom_call, "Sharding", {F64(2, 3)}, 0, 0, build_sharding},
    {OP_optimization_barrier, "two values", {F64(2, 3), F64(4)}, 0, 0, build_barrier},
};
const int n_gradient_cases_map = (int)(sizeof gradient_cases_map / sizeof *gradient_cases_map);
