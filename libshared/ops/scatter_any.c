/* The reverse rule of a scatter whose region is any element-wise expression: the scatter as ops
 * that have rules, in a region of its own, which the reverse walk differentiates. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/common.h"
#include "ops/dims.h"
#include "ops/fold_vjp.h"
#include "ops/scatter.h"

typedef struct {
    vjp_t *v;
    ir_fn_t *fn;
    int n; /* inputs */
    ir_gather_t dims;
    ir_val_t *map; /* value of the scatter's region (or around it) -> whole-tensor value */
    uint32_t n_map;
    int64_t rounds[IR_MAX_RANK]; /* per dimension of the index: how many, 1 where it stays whole */
} any_t;

/* --- The region on whole tensors ---------------------------------------------------------------
 */

static ir_val_t lookup(any_t *a, ir_val_t v, const ir_type_t *shape)
{
    ir_val_t x = v < a->n_map && a->map[v] != IR_NONE ? a->map[v] : v;
    if (ir_shape_equal(ir_type_of(a->fn, x), shape)) return x;
    ir_type_t type = ir_type_with(*shape, ir_type_of(a->fn, x)->dtype);
    return ir_broadcast_scalar(a->fn, x, &type);
}

static int widen(any_t *a, const ir_op_t *op, const ir_type_t *shape, err_t *err)
{
    ir_fn_t *fn = a->fn;
    ir_type_t type = ir_type_with(*shape, ir_type_of(fn, op->out)->dtype);
    ir_val_t in[MAP_MAX_IN];
    if (op->code == OP_constant) {
        a->map[op->out] = ir_const(fn, ir_const_of(fn, op->out));
        return vjp_done(a->v, err);
    }
    if (op_def(op->code)->kind != K_MAP || op->n_region > 0 || op->n_out != 1 ||
        op->n_in > MAP_MAX_IN)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: no gradient of a region that holds %s; element-wise ops only",
                       op_name(a->v->op), op_name(op));
    for (int i = 0; i < op->n_in; i++) {
        in[i] = lookup(a, op->in[i], shape);
        if (in[i] == IR_NONE) return vjp_done(a->v, err);
    }
    const ir_op_t *wide = ir_emit(fn, op->code, op->n_in, in, &op->attrs, 1, &type, 0, NULL);
    if (!wide) return vjp_done(a->v, err);
    a->map[op->out] = wide->out;
    return 0;
}

/* y[k] = result k of the region on x[n] and u[n]. */
static int combine(any_t *a, const ir_val_t *x, const ir_val_t *u, ir_val_t *y, err_t *err)
{
    const ir_region_t *region = a->v->op->region[0];
    const ir_type_t shape = *ir_type_of(a->fn, u[0]);
    for (int k = 0; k < a->n; k++) {
        a->map[region->arg + (ir_val_t)k] = x[k];
        a->map[region->arg + (ir_val_t)(a->n + k)] = u[k];
    }
    for (int i = 0; i < region->n_op; i++)
        if (widen(a, region->op[i], &shape, err) < 0) return -1;
    for (int k = 0; k < a->n; k++) y[k] = lookup(a, region->result[k], &shape);
    return vjp_done(a->v, err);
}

/* --- Rounds ------------------------------------------------------------------------------------
 */

/* Places that may coincide: those that differ in other than batching dimensions. */
static int64_t count_rounds(any_t *a)
{
    const ir_type_t *index = op_in_type(a->fn, a->v->op, a->n);
    for (int d = 0; d < IR_MAX_RANK; d++) a->rounds[d] = 1;
    for (int d = 0; d < index->rank && !a->dims.unique; d++) {
        bool whole = d == a->dims.index_vector_dim;
        for (int i = 0; i < a->dims.n_batch; i++) whole |= a->dims.index_batch[i] == d;
        if (!whole) a->rounds[d] = index->dim[d];
    }
    return dims_count(index->rank, a->rounds);
}

/* x with each dimension d that from[d] >= 0 names a dimension of the index cut to round at[]. */
static ir_val_t cut(any_t *a, ir_val_t x, const int *from, const int64_t *at)
{
    const ir_type_t *t = ir_type_of(a->fn, x);
    int64_t start[IR_MAX_RANK] = {0}, limit[IR_MAX_RANK];
    for (int d = 0; d < t->rank; d++) {
        limit[d] = t->dim[d];
        if (from[d] < 0 || a->rounds[from[d]] <= 1) continue;
        start[d] = at[from[d]];
        limit[d] = start[d] + 1;
    }
    return ir_slice(a->fn, x, start, limit, NULL);
}

/* For each dimension of the index and of the updates: the index's dimension that it is, or -1. */
static void find_places(const any_t *a, int rank, int *of_index, int *of_updates)
{
    bool window[IR_MAX_RANK] = {false};
    int next = 0;
    for (int i = 0; i < a->dims.n_offset; i++) window[a->dims.offset_dims[i]] = true;
    for (int d = 0; d < IR_MAX_RANK; d++) of_index[d] = d;
    for (int d = 0; d < rank; d++) {
        of_updates[d] = -1;
        if (window[d]) continue;
        next += next == a->dims.index_vector_dim;
        of_updates[d] = next++;
    }
}

/* One round: acc[k] becomes acc[k] with the round's updates combined in. Outside of the input the
 * region sees ones, which few expressions mind; what it makes of them is dropped. */
static int run_round(any_t *a, const int64_t *at, ir_val_t *acc, const ir_val_t *u, ir_val_t *room,
                     err_t *err)
{
    int of_index[IR_MAX_RANK], of_updates[IR_MAX_RANK], n = a->n;
    ir_val_t *x = room, *part = room + n, *y = room + 2 * n;
    find_places(a, ir_type_of(a->fn, u[0])->rank, of_index, of_updates);
    scatter_at_t to = {.fn = a->fn, .dims = a->dims, .shifted = IR_NONE};
    to.dims.unique = true;
    to.x = *ir_type_of(a->fn, acc[0]);
    to.index = cut(a, a->v->op->in[n], of_index, at);
    for (int k = 0; k < n; k++) {
        x[k] = scatter_target(&to, acc[k], 1);
        part[k] = cut(a, u[k], of_updates, at);
    }
    if (a->fn->err.code) return vjp_done(a->v, err);
    if (combine(a, x, part, y, err) < 0) return -1;
    for (int k = 0; k < n; k++)
        acc[k] = ir_scatter(a->fn, OP_invalid, acc[k], to.index, y[k], &to.dims);
    return vjp_done(a->v, err);
}

/* The region (inputs, updates) -> results. */
static ir_region_t *write_out(any_t *a, err_t *err)
{
    const ir_op_t *op = a->v->op;
    int n = a->n, status = 0;
    int64_t at[IR_MAX_RANK] = {0};
    ir_type_t *types = mem_calloc(2 * (size_t)n, sizeof *types);
    ir_val_t *room = mem_calloc(5 * (size_t)n, sizeof *room), *acc = room, *u = room + n;
    for (int k = 0; k < 2 * n; k++) types[k] = *op_in_type(a->fn, op, k < n ? k : k + 1);
    ir_region_t *saved, *region = ir_region_begin(a->fn, 2 * n, types, &saved);
    for (int k = 0; k < n; k++) {
        acc[k] = region->arg + (ir_val_t)k;
        u[k] = region->arg + (ir_val_t)(n + k);
    }
    do status = run_round(a, at, acc, u, room + 2 * n, err);
    while (status == 0 && dims_next(op_in_type(a->fn, op, n)->rank, a->rounds, at));
    if (status == 0)
        ir_region_end(a->fn, region, n, acc, saved);
    else
        a->fn->cursor = saved;
    free(types);
    free(room);
    return status < 0 ? NULL : region;
}

static int reverse(any_t *a, const ir_region_t *region, err_t *err)
{
    vjp_t *v = a->v;
    int n = a->n;
    ir_val_t *room = mem_calloc(4 * (size_t)n, sizeof *room), *args = room, *ct = room + 2 * n;
    for (int k = 0; k < 2 * n; k++) args[k] = v->op->in[k < n ? k : k + 1];
    int status = v->region_vjp(v, region, args, v->ct, ct, err);
    for (int k = 0; status == 0 && k < 2 * n; k++) {
        int to = k < n ? k : k + 1;
        if (v->need[to]) v->in_ct[to] = ct[k];
    }
    free(room);
    return status;
}

int vjp_scatter_any(vjp_t *v, err_t *err)
{
    const ir_op_t *op = v->op;
    any_t a = {.v = v, .fn = v->fn, .n = scatter_n_inputs(op), .n_map = v->fn->n_value};
    const ir_type_t x = *op_in_type(v->fn, op, 0), u = *op_in_type(v->fn, op, a.n + 1);
    ir_scatter_dims(op, &x, &u, &a.dims);
    int64_t n_round = count_rounds(&a);
    if (n_round > FOLD_VJP_MAX)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: no gradient of this region over %lld updates of which two may meet (at "
                       "most %d; any number when the op says unique_indices)",
                       op_name(op), (long long)n_round, FOLD_VJP_MAX);
    if (ir_type_count(&u) == 0) {
        for (int k = 0; k < a.n; k++) v->in_ct[k] = v->ct[k];
        return vjp_done(v, err);
    }
    a.map = mem_calloc(a.n_map, sizeof *a.map);
    memset(a.map, 0xFF, a.n_map * sizeof *a.map);
    const ir_region_t *region = write_out(&a, err);
    int status = region ? reverse(&a, region, err) : -1;
    free(a.map);
    return status < 0 ? -1 : vjp_done(v, err);
}
