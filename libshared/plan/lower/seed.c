/* custom_call @pcp.seed becomes a parameter. */
#include "plan/lower/seed.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ops/draw_rule.h"

static bool reads_seed(const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        if (draw_is_seed(op)) return true;
        for (int r = 0; r < op->n_region; r++)
            if (reads_seed(op->region[r])) return true;
    }
    return false;
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    (void)err;
    if (!draw_is_seed(op)) return 0;
    self->map[op->out] = ir_fn_param(self->to, self->from->body->n_arg);
    return 1;
}

/* Names, roles and results as in fn. */
static int finish(ir_fn_t *to, const ir_clone_t *clone, err_t *err)
{
    const ir_fn_t *fn = clone->from;
    arena_t *arena = to->module->arena;
    int n = fn->body->n_arg, n_result = fn->body->n_result;
    ir_val_t *results = mem_calloc((size_t)n_result + 1, sizeof *results);
    for (int i = 0; i < n_result; i++) results[i] = clone->map[fn->body->result[i]];
    int status = ir_fn_finish(to, n_result, results, err);
    free(results);
    for (int i = 0; i < n; i++) to->param_attrs[i] = fn->param_attrs[i];
    attr_set_text(arena, &to->param_attrs[n], "pcp.role", ATTR_STRING, "scalar");
    attr_set_text(arena, &to->param_attrs[n], "pcp.name", ATTR_STRING, "seed");
    for (int i = 0; status == 0 && fn->result_attrs && i < n_result; i++)
        to->result_attrs[i] = fn->result_attrs[i];
    to->is_private = true;
    return status;
}

const ir_fn_t *seed_parameter(ir_module_t *module, const ir_fn_t *fn, err_t *err)
{
    if (!reads_seed(fn->body)) return fn;
    int n = fn->body->n_arg;
    ir_type_t *types = mem_calloc((size_t)n + 1, sizeof *types);
    for (int i = 0; i < n; i++) types[i] = *ir_type_of(fn, ir_fn_param(fn, i));
    types[n] = ir_type_scalar(DT_UI64);
    ir_fn_t *to = ir_fn_new(module, fn->name, n + 1, types);
    free(types);
    ir_clone_t clone = {.from = fn, .to = to, .rewrite = rewrite};
    clone.map = mem_calloc(fn->n_value + 1u, sizeof *clone.map);
    for (uint32_t v = 0; v < fn->n_value; v++) clone.map[v] = IR_NONE;
    for (int i = 0; i < n; i++) clone.map[ir_fn_param(fn, i)] = ir_fn_param(to, i);
    int status = ir_clone_ops(&clone, fn->body, err);
    if (status == 0) status = finish(to, &clone, err);
    free(clone.map);
    return status < 0 ? NULL : to;
}
