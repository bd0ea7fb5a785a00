/* See ops_help.h. */
#include "ops_help.h"

#include "base/rng.h"

tensor_t help_floats(dtype_t dtype, int n, const double *values)
{
    ir_type_t type = ir_type(dtype, 1, (const int64_t[]){n});
    tensor_t t = tensor_new(&type);
    for (int i = 0; i < n; i++) tensor_set_f64(&t, i, values[i]);
    return t;
}

tensor_t help_ints(dtype_t dtype, int n, const int64_t *values)
{
    ir_type_t type = ir_type(dtype, 1, (const int64_t[]){n});
    tensor_t t = tensor_new(&type);
    for (int i = 0; i < n; i++) tensor_set_i64(&t, i, values[i]);
    return t;
}

static int run(ir_module_t *module, op_code_t code, int n_in, const tensor_t *in,
               const ir_attrs_t *attrs, int n_out, const ir_type_t *declared, tensor_t *out,
               err_t *err)
{
    ir_type_t types[8] = {0};
    ir_val_t values[8];
    for (int i = 0; i < n_in; i++) types[i] = in[i].type;
    ir_fn_t *fn = ir_fn_new(module, "main", n_in, types);
    for (int i = 0; i < n_in; i++) values[i] = ir_fn_param(fn, i);
    const ir_op_t *op = ir_emit(fn, code, n_in, values, attrs, n_out, declared, 0, NULL);
    for (int i = 0; op && i < n_out; i++) values[i] = op->out + (ir_val_t)i;
    if (ir_fn_finish(fn, op ? n_out : 0, values, err) < 0) return -1;
    if (ir_verify(module, err) < 0) return -1;
    return eval_fn(module, fn, in, out, NULL, err);
}

tensor_t help_random(const ir_type_t *type, uint64_t seed)
{
    tensor_t t = tensor_new(type);
    for (int64_t i = 0; i < ir_type_count(type); i++) {
        double re = rng_uniform(seed, 2 * (uint64_t)i) - 0.5;
        if (dtype_is_complex(type->dtype))
            tensor_set_complex(&t, i, re, rng_uniform(seed, 2 * (uint64_t)i + 1) - 0.5);
        else
            tensor_set_f64(&t, i, re);
    }
    return t;
}

int help_run(op_code_t code, int n_in, const tensor_t *in, int n_attr, const help_attr_t *attrs,
             int n_out, const ir_type_t *declared, tensor_t *out, err_t *err)
{
    ir_module_t *module = ir_module_new();
    ir_attrs_t set = {0};
    for (int i = 0; i < n_attr; i++) {
        if (attrs[i].text)
            attr_set_text(module->arena, &set, attrs[i].name, ATTR_ENUM, attrs[i].text);
        else
            attr_set_int(module->arena, &set, attrs[i].name, attrs[i].i);
    }
    int rc = run(module, code, n_in, in, &set, n_out, declared, out, err);
    ir_module_destroy(&module);
    return rc;
}
