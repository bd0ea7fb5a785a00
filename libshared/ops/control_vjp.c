/* Reverse rules of control flow but while (while_vjp.c). Calls have none: they are inlined before
 * differentiation. */
#include "ops/control.h"

#include <string.h>

#include "ir/build.h"
#include "ops/common.h"
#include "ops/outer.h"

/* --- if, case: the same selector over the reversed branches. A branch's gradient flows into the
 * outer values it reads; the new op returns one cotangent per such value, zero where a branch has
 * none --- */
/* The outer values that any branch has a cotangent for, into a heap array. */
static ir_val_t *outer_values(const outer_t *branch, int n_branch, int *n)
{
    VEC(ir_val_t) all = {0};
    for (int r = 0; r < n_branch; r++)
        for (size_t i = 0; i < branch[r].found.n; i++) {
            bool known = false;
            for (size_t k = 0; k < all.n; k++)
                known = known || all.at[k] == branch[r].found.at[i].value;
            if (!known) VEC_PUSH(&all, branch[r].found.at[i].value);
        }
    *n = (int)all.n;
    return all.at;
}

/* Close branch r: its results are the cotangents of values[n]. */
static void finish_branch(ir_fn_t *fn, const outer_t *branch, ir_region_t *region, int n,
                          const ir_val_t *values)
{
    ir_val_t *results = mem_calloc((size_t)n + 1, sizeof *results);
    fn->cursor = region;
    for (int k = 0; k < n; k++) {
        results[k] = outer_find(branch, values[k]);
        if (results[k] == IR_NONE) results[k] = ir_scalar_like(fn, values[k], 0);
    }
    if (fn->err.code == ERR_OK) ir_region_finish(fn, region, n, results);
    free(results);
}

int vjp_branches(vjp_t *v, err_t *err)
{
    ir_fn_t *fn = v->fn;
    const ir_op_t *op = v->op;
    ir_region_t *home = fn->cursor;
    outer_t *branch = mem_calloc((size_t)op->n_region, sizeof *branch);
    ir_region_t **region = mem_calloc((size_t)op->n_region, sizeof *region);
    ir_val_t *values = NULL;
    int n = 0, rc = 0;
    for (int r = 0; rc == 0 && r < op->n_region; r++) {
        ir_region_t *saved;
        outer_init(&branch[r], v);
        region[r] = ir_region_begin(fn, 0, NULL, &saved);
        rc = v->region_vjp(&branch[r].vjp, op->region[r], NULL, v->ct, NULL, err);
        fn->cursor = home;
    }
    if (rc == 0) values = outer_values(branch, op->n_region, &n);
    if (rc == 0 && n > 0) {
        for (int r = 0; r < op->n_region; r++) finish_branch(fn, &branch[r], region[r], n, values);
        fn->cursor = home;
        const ir_op_t *reverse = ir_emit(fn, op->code, 1, op->in, NULL, n, NULL, op->n_region,
                                         region);
        for (int k = 0; reverse && k < n; k++)
            v->add_outer(v, values[k], reverse->out + (ir_val_t)k);
    }
    for (int r = 0; r < op->n_region; r++) outer_fini(&branch[r]);
    free(branch);
    free(region);
    free(values);
    return rc < 0 ? -1 : vjp_done(v, err);
}

/* --- custom_call: annotations pass g, pcp.stop_gradient stops it, others have no rule --- */
int vjp_custom_call(vjp_t *v, err_t *err)
{
    const char *target = control_target(v->op);
    if (strcmp(target, CONTROL_STOP_GRADIENT) == 0) return 0;
    if (!control_is_identity(target))
        return err_set(err, ERR_UNSUPPORTED, "stablehlo.custom_call @%s has no gradient rule",
                       target);
    for (int i = 0; i < v->op->n_in; i++) vjp_give(v, i, v->ct[i]);
    return vjp_done(v, err);
}

/* --- optimization_barrier: g, kept behind a barrier of its own --- */
int vjp_optimization_barrier(vjp_t *v, err_t *err)
{
    for (int i = 0; i < v->op->n_in; i++)
        if (v->ct[i] != IR_NONE && v->need[i])
            vjp_give(v, i, ir_op1(v->fn, OP_optimization_barrier, v->ct[i]));
    return vjp_done(v, err);
}
