/* Ops defined by others; see expand.h. */
#include "ops/expand.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ops/eval.h"

int expand_op(ir_fn_t *fn, const ir_fn_t *from, const ir_op_t *op, const ir_val_t *in,
              ir_val_t *out, err_t *err)
{
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    ir_type_t *types = mem_calloc((size_t)op->n_out + 1, sizeof *types);
    for (int i = 0; i < op->n_out; i++) {
        types[i] = *ir_type_of(from, op->out + (ir_val_t)i);
        out[i] = IR_NONE;
    }
    op_def(op->code)->expand(fn, op, types, in, out);
    int status = fn->err.code ? err_set(err, fn->err.code, "%s", fn->err.text) : 0;
    for (int i = 0; status == 0 && i < op->n_out; i++)
        if (!ir_type_equal(ir_type_of(fn, out[i]), &types[i]))
            status = err_set(err, ERR_TYPE, "%s stands for %s, its result is %s", op_name(op),
                             ir_type_text(ir_type_of(fn, out[i]), a), ir_type_text(&types[i], b));
    free(types);
    return status;
}

/* A function of the operands in a module of its own. */
static ir_fn_t *expanded_fn(ir_module_t *module, const ir_op_t *op, const tensor_t *in,
                            const tensor_t *out, err_t *err)
{
    size_t n = (size_t)(op->n_in + op->n_out) + 1;
    ir_type_t *types = mem_calloc(n, sizeof *types);
    ir_val_t *args = mem_calloc(n, sizeof *args), *results = args + op->n_in;
    for (int i = 0; i < op->n_in; i++) types[i] = in[i].type;
    for (int i = 0; i < op->n_out; i++) types[op->n_in + i] = out[i].type;
    ir_fn_t *fn = ir_fn_new(module, "expanded", op->n_in, types);
    for (int i = 0; i < op->n_in; i++) args[i] = ir_fn_param(fn, i);
    op_def(op->code)->expand(fn, op, types + op->n_in, args, results);
    int status = ir_fn_finish(fn, op->n_out, results, err);
    free(types);
    free(args);
    return status < 0 ? NULL : fn;
}

int eval_expanded(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    ir_module_t *module = ir_module_new();
    const ir_fn_t *fn = expanded_fn(module, op, in, out, err);
    tensor_t *y = mem_calloc((size_t)op->n_out + 1, sizeof *y);
    eval_options_t options = *eval_options(ev);
    options.max_bytes = eval_bytes_left(ev);
    int status = fn ? eval_fn(module, fn, in, y, &options, err) : -1;
    for (int i = 0; status == 0 && i < op->n_out; i++) {
        tensor_fini(&out[i]);
        out[i] = y[i];
    }
    free(y);
    ir_module_destroy(&module);
    return status;
}

int vjp_expanded(vjp_t *v, err_t *err)
{
    const ir_op_t *op = v->op;
    ir_fn_t *fn = v->fn;
    size_t n = (size_t)(op->n_in + op->n_out) + 1;
    ir_type_t *types = mem_calloc(n, sizeof *types);
    ir_val_t *args = mem_calloc(n, sizeof *args), *results = args + op->n_in;
    ir_val_t *ct = mem_calloc(n, sizeof *ct);
    for (int i = 0; i < op->n_in; i++) types[i] = *op_in_type(fn, op, i);
    ir_region_t *saved, *region = ir_region_begin(fn, op->n_in, types, &saved);
    for (int i = 0; i < op->n_in; i++) args[i] = region->arg + (ir_val_t)i;
    int status = expand_op(fn, fn, op, args, results, err);
    if (status == 0) ir_region_end(fn, region, op->n_out, results, saved);
    fn->cursor = saved;
    if (status == 0) status = v->region_vjp(v, region, op->in, v->ct, ct, err);
    for (int i = 0; status == 0 && i < op->n_in; i++)
        if (v->need[i]) v->in_ct[i] = ct[i];
    free(types);
    free(args);
    free(ct);
    return status < 0 ? -1 : vjp_done(v, err);
}
