/* Reverse rules of control flow. Calls have none: they are inlined before differentiation. */
#include "ops/control.h"

#include <string.h>

#include "base/vec.h"
#include "ir/build.h"
#include "ops/common.h"

/* --- if, case: the same selector over the reversed branches. A branch's gradient flows into the outer
 * values it reads; the new op returns one cotangent per such value, zero where a branch has none --- */
typedef struct {
    ir_val_t value, ct;
} outer_ct_t;

typedef struct {
    vjp_t vjp; /* first: add_outer gets its address */
    VEC(outer_ct_t) found;
} collector_t;

static void collect(vjp_t *self, ir_val_t value, ir_val_t ct)
{
    collector_t *collector = (collector_t *)self;
    if (ct == IR_NONE) return;
    ct = ir_convert(self->fn, ct, ir_type_of(self->fn, value)->dtype);
    for (size_t i = 0; i < collector->found.n; i++) {
        outer_ct_t *known = &collector->found.at[i];
        if (known->value != value) continue;
        known->ct = ir_op2(self->fn, OP_add, known->ct, ct);
        return;
    }
    VEC_PUSH(&collector->found, ((outer_ct_t){value, ct}));
}

static ir_val_t found_ct(const collector_t *collector, ir_val_t value)
{
    for (size_t i = 0; i < collector->found.n; i++)
        if (collector->found.at[i].value == value) return collector->found.at[i].ct;
    return IR_NONE;
}

/* The outer values that any branch has a cotangent for, into a heap array. */
static ir_val_t *outer_values(const collector_t *branch, int n_branch, int *n)
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
static void finish_branch(ir_fn_t *fn, const collector_t *branch, ir_region_t *region, int n,
                          const ir_val_t *values)
{
    ir_val_t *results = mem_calloc((size_t)n + 1, sizeof *results);
    fn->cursor = region;
    for (int k = 0; k < n; k++) {
        results[k] = found_ct(branch, values[k]);
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
    collector_t *branch = mem_calloc((size_t)op->n_region, sizeof *branch);
    ir_region_t **region = mem_calloc((size_t)op->n_region, sizeof *region);
    ir_val_t *values = NULL;
    int n = 0, rc = 0;
    for (int r = 0; rc == 0 && r < op->n_region; r++) {
        ir_region_t *saved;
        branch[r].vjp = *v;
        branch[r].vjp.add_outer = collect;
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
    for (int r = 0; r < op->n_region; r++) VEC_FREE(&branch[r].found);
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
