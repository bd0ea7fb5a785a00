/* pcp.fused: type rule, evaluation and gradient by its region, and the kinds there are. */
#include "ops/fused.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/common.h"
#include "ops/eval.h"

bool fused_is(const ir_op_t *op, const char *kind)
{
    return op->code == OP_pcp_fused && strcmp(attr_text(&op->attrs, "kind", ""), kind) == 0;
}

/* --- Any group -------------------------------------------------------------------------------- */

static int infer_fused(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (op->n_region != 1)
        return err_set(err, ERR_SHAPE, "pcp.fused: %d regions, want 1", op->n_region);
    const ir_region_t *region = op->region[0];
    size_t n = (size_t)(op->n_in + region->n_result) + 1;
    ir_type_t *types = mem_calloc(n, sizeof *types), *results = types + op->n_in;
    for (int i = 0; i < op->n_in; i++) types[i] = *op_in_type(fn, op, i);
    for (int i = 0; i < region->n_result; i++) results[i] = *ir_type_of(fn, region->result[i]);
    int status = infer_region(fn, op, 0, op->n_in, types, op->n_out, results, err);
    for (int i = 0; i < op->n_out && status == 0; i++)
        status = infer_result(op, i, out, &results[i], err);
    free(types);
    return status;
}

static int eval_fused(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    tensor_t *results = mem_calloc((size_t)op->n_out + 1, sizeof *results);
    int status = eval_region(ev, op->region[0], in, results, err);
    for (int i = 0; i < op->n_out && status == 0; i++) {
        tensor_fini(&out[i]);
        out[i] = results[i];
    }
    free(results);
    return status;
}

/* A group of `kind` around what `build` makes of its arguments. */
typedef void build_fn(ir_fn_t *fn, ir_val_t arg, const void *how, ir_val_t *results);

static ir_op_t *emit_group(ir_fn_t *fn, int n_in, const ir_val_t *in, int n_out,
                           const ir_attrs_t *attrs, build_fn *build, const void *how)
{
    enum { MAX = 8 };
    ir_type_t types[MAX];
    ir_val_t results[MAX];
    if (fn->err.code) return NULL;
    for (int i = 0; i < n_in; i++) {
        if (in[i] == IR_NONE) return NULL;
        types[i] = *ir_type_of(fn, in[i]);
    }
    ir_region_t *saved, *region = ir_region_begin(fn, n_in, types, &saved);
    build(fn, region->arg, how, results);
    ir_region_end(fn, region, n_out, results, saved);
    return ir_emit(fn, OP_pcp_fused, n_in, in, attrs, n_out, NULL, 1, &region);
}

/* --- attention -------------------------------------------------------------------------------- */

static const ir_dot_t rows_by_rows = {1, 1, {0}, {0}, {2}, {2}};    /* [n,t,d] [n,s,d] -> [n,t,s] */
static const ir_dot_t rows_by_columns = {1, 1, {0}, {0}, {2}, {1}}; /* [n,t,s] [n,s,d] -> [n,t,d] */
static const ir_dot_t columns_by_rows = {1, 1, {0}, {0}, {1}, {1}}; /* [n,t,s] [n,t,d] -> [n,s,d] */

static const int64_t last[] = {2};

/* A value per row, [n, t], along a new last axis. */
static ir_val_t along(ir_fn_t *fn, ir_val_t row, ir_val_t like)
{
    if (row == IR_NONE || like == IR_NONE) return IR_NONE;
    ir_type_t type = *ir_type_of(fn, like);
    return ir_broadcast(fn, row, &type, (int64_t[]){0, 1});
}

/* scale q k^T, hidden positions at -inf. */
static ir_val_t scores_of(ir_fn_t *fn, ir_val_t q, ir_val_t k, const fused_attention_t *how)
{
    ir_val_t s = ir_dot(fn, q, k, &rows_by_rows, DT_NONE);
    s = ir_op2(fn, OP_multiply, s, ir_scalar_like(fn, s, how->scale));
    if (!how->causal || s == IR_NONE) return s;
    ir_type_t type = *ir_type_of(fn, s);
    ir_type_t square = ir_type(DT_I64, 2, &type.dim[1]);
    ir_val_t row = ir_iota(fn, &square, 0), column = ir_iota(fn, &square, 1);
    row = ir_op2(fn, OP_add, row, ir_scalar_like(fn, row, (double)how->offset));
    ir_val_t seen = ir_broadcast(fn, ir_compare(fn, "LE", column, row), &type, (int64_t[]){1, 2});
    return ir_select(fn, seen, s, ir_scalar_like(fn, s, -INFINITY));
}

static void build_attention(ir_fn_t *fn, ir_val_t arg, const void *user, ir_val_t *results)
{
    const fused_attention_t *how = user;
    dtype_t dtype = ir_type_of(fn, arg)->dtype;
    ir_val_t s = scores_of(fn, vjp_wide(fn, arg), vjp_wide(fn, arg + 1), how);
    ir_val_t max = ir_reduce(fn, OP_maximum, s, last, 1);
    ir_val_t e = ir_op1(fn, OP_exponential, ir_op2(fn, OP_subtract, s, along(fn, max, s)));
    ir_val_t sum = ir_reduce(fn, OP_add, e, last, 1);
    ir_val_t p = ir_op2(fn, OP_divide, e, along(fn, sum, e));
    ir_val_t o = ir_dot(fn, p, vjp_wide(fn, arg + 2), &rows_by_columns, DT_NONE);
    results[0] = o == IR_NONE ? o : ir_convert(fn, o, dtype);
    results[1] = ir_op2(fn, OP_add, max, ir_op1(fn, OP_log, sum));
}

/* Softmax over the last axis. */
static ir_val_t softmax_of(ir_fn_t *fn, ir_val_t s)
{
    ir_val_t max = ir_reduce(fn, OP_maximum, s, last, 1);
    ir_val_t e = ir_op1(fn, OP_exponential, ir_op2(fn, OP_subtract, s, along(fn, max, s)));
    return ir_op2(fn, OP_divide, e, along(fn, ir_reduce(fn, OP_add, e, last, 1), e));
}

/* A text's last position, along scores [r h, g, s]. */
static ir_val_t own_position(ir_fn_t *fn, ir_val_t at, const ir_type_t *scores)
{
    int64_t texts = ir_type_of(fn, at)->dim[0], heads = scores->dim[0] / texts, n = texts * heads;
    ir_type_t square = ir_type(DT_I32, 2, (int64_t[]){texts, heads}), row = ir_type(DT_I32, 1, &n);
    ir_val_t inside = ir_compare(fn, "LT", at, ir_scalar_like(fn, at, (double)scores->dim[2]));
    at = ir_select(fn, inside, at, ir_scalar_like(fn, at, 0));
    at = ir_reshape(fn, ir_broadcast(fn, at, &square, (int64_t[]){0}), &row);
    ir_type_t each = ir_type_with(*scores, DT_I32);
    return ir_broadcast(fn, at, &each, (int64_t[]){0});
}

static void build_kept(ir_fn_t *fn, ir_val_t arg, const void *user, ir_val_t *results)
{
    const fused_attention_t *how = user;
    ir_val_t s = scores_of(fn, arg, vjp_wide(fn, arg + 1), how);
    results[0] = IR_NONE;
    if (s == IR_NONE) return;
    const ir_type_t type = *ir_type_of(fn, s), index = ir_type_with(type, DT_I32);
    ir_val_t seen = ir_compare(fn, "LE", ir_iota(fn, &index, 2), own_position(fn, arg + 3, &type));
    s = ir_select(fn, seen, s, ir_scalar_like(fn, s, -INFINITY));
    results[0] = ir_dot(fn, softmax_of(fn, s), vjp_wide(fn, arg + 2), &rows_by_columns, DT_NONE);
}

/* p = e^(s - lse), dv = p^T g, ds = p (g v^T - rowsum(g o)) scale, dq = ds k, dk = ds^T q. */
static void build_gradient(ir_fn_t *fn, ir_val_t arg, const void *user, ir_val_t *results)
{
    const fused_attention_t *how = user;
    dtype_t dtype = ir_type_of(fn, arg)->dtype;
    ir_val_t q = vjp_wide(fn, arg), k = vjp_wide(fn, arg + 1), v = vjp_wide(fn, arg + 2);
    ir_val_t o = vjp_wide(fn, arg + 3), g = vjp_wide(fn, arg + 5);
    ir_val_t s = scores_of(fn, q, k, how);
    ir_val_t p = ir_op1(fn, OP_exponential, ir_op2(fn, OP_subtract, s, along(fn, arg + 4, s)));
    ir_val_t dp = ir_dot(fn, g, v, &rows_by_rows, DT_NONE);
    ir_val_t delta = ir_reduce(fn, OP_add, ir_op2(fn, OP_multiply, g, o), last, 1);
    ir_val_t ds = ir_op2(fn, OP_multiply, p, ir_op2(fn, OP_subtract, dp, along(fn, delta, dp)));
    ds = ir_op2(fn, OP_multiply, ds, ir_scalar_like(fn, ds, how->scale));
    results[0] = ir_dot(fn, ds, k, &rows_by_columns, DT_NONE);
    results[1] = ir_dot(fn, ds, q, &columns_by_rows, DT_NONE);
    results[2] = ir_dot(fn, p, g, &columns_by_rows, DT_NONE);
    for (int i = 0; i < 3; i++)
        if (results[i] != IR_NONE) results[i] = ir_convert(fn, results[i], dtype);
}

static ir_attrs_t attention_attrs(ir_fn_t *fn, const char *kind, const fused_attention_t *how)
{
    ir_attrs_t attrs = {0};
    arena_t *arena = fn->module->arena;
    attr_set_text(arena, &attrs, "kind", ATTR_STRING, kind);
    attr_set(arena, &attrs, (ir_attr_t){.name = "scale", .kind = ATTR_FLOAT, .f = how->scale});
    if (how->causal) attr_set_int(arena, &attrs, "offset", how->offset);
    return attrs;
}

fused_attention_t fused_attention_of(const ir_op_t *op)
{
    const ir_attr_t *scale = attr_find(&op->attrs, "scale");
    int64_t offset = attr_int(&op->attrs, "offset", -1);
    return (fused_attention_t){.scale = scale && scale->kind == ATTR_FLOAT ? scale->f : 1,
                               .causal = offset >= 0,
                               .offset = offset >= 0 ? offset : 0};
}

ir_op_t *fused_attention(ir_fn_t *fn, ir_val_t q, ir_val_t k, ir_val_t v,
                         const fused_attention_t *how)
{
    ir_val_t in[] = {q, k, v};
    ir_attrs_t attrs = attention_attrs(fn, FUSED_ATTENTION, how);
    return emit_group(fn, 3, in, 2, &attrs, build_attention, how);
}

ir_op_t *fused_attention_gradient(ir_fn_t *fn, const ir_val_t in[6], const fused_attention_t *how)
{
    ir_attrs_t attrs = attention_attrs(fn, FUSED_ATTENTION_GRADIENT, how);
    return emit_group(fn, 6, in, 3, &attrs, build_gradient, how);
}

ir_op_t *fused_kept_attention(ir_fn_t *fn, ir_val_t q, ir_val_t k, ir_val_t v, ir_val_t at,
                              double scale)
{
    const fused_attention_t how = {.scale = scale};
    ir_val_t in[] = {q, k, v, at};
    ir_attrs_t attrs = attention_attrs(fn, FUSED_KEPT_ATTENTION, &how);
    return emit_group(fn, 4, in, 1, &attrs, build_kept, &how);
}

/* --- Reverse rules ---------------------------------------------------------------------------- */

/* Of the region, which is written out once more. */
static int vjp_by_region(vjp_t *v, err_t *err)
{
    const ir_op_t *op = v->op;
    ir_val_t *arg_ct = mem_calloc((size_t)op->n_in + 1, sizeof *arg_ct);
    int status = v->region_vjp(v, op->region[0], op->in, v->ct, arg_ct, err);
    for (int i = 0; i < op->n_in && status == 0; i++)
        if (v->need[i]) v->in_ct[i] = arg_ct[i];
    free(arg_ct);
    return status < 0 ? -1 : vjp_done(v, err);
}

/* The log-sum-exp is kept for the gradient; where a program reads it as well, the region's rule
 * holds. */
static int vjp_fused(vjp_t *v, err_t *err)
{
    const ir_op_t *op = v->op;
    if (!fused_is(op, FUSED_ATTENTION) || v->ct[0] == IR_NONE || v->ct[1] != IR_NONE)
        return vjp_by_region(v, err);
    fused_attention_t how = fused_attention_of(op);
    ir_val_t in[6] = {op->in[0], op->in[1], op->in[2], op->out, op->out + 1, v->ct[0]};
    const ir_op_t *back = fused_attention_gradient(v->fn, in, &how);
    for (int i = 0; back && i < 3; i++)
        if (v->need[i]) v->in_ct[i] = back->out + (ir_val_t)i;
    return vjp_done(v, err);
}

const op_def_t op_pcp_fused = {
    .name = "pcp.fused",
    .kind = K_CONTROL,
    .n_in = -1,
    .n_out = -1,
    .n_region = 1,
    .infer = infer_fused,
    .eval = eval_fused,
    .vjp = vjp_fused,
};
