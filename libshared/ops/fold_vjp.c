/* Reverse of a fold with any element-wise region: see fold_vjp.h. */
#include "ops/fold_vjp.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "ops/common.h"
#include "ops/dims.h"

typedef struct {
    vjp_t *v;
    ir_fn_t *fn;
    const ir_region_t *region;
    ir_type_t shape; /* of every piece */
    uint32_t n_map;
    ir_val_t *map; /* value of the region (or around it) -> whole-tensor value */
    VEC(const ir_op_t *) tape;
    VEC(ir_val_t) outer; /* values from around the region that it reads */
    ir_val_t *ct;        /* per value: its cotangent so far */
} tape_t;

static int unsupported(const tape_t *t, const ir_op_t *op, err_t *err)
{
    return err_set(err, ERR_UNSUPPORTED,
                   "%s: no gradient of a region that holds %s; element-wise ops only",
                   op_name(t->v->op), op_name(op));
}

static ir_val_t record(tape_t *t, const ir_op_t *op)
{
    if (!op) return IR_NONE;
    VEC_PUSH(&t->tape, op);
    return op->out;
}

/* The whole-tensor value of a region's operand. A scalar from around the region is broadcast once.
 */
static ir_val_t lookup(tape_t *t, ir_val_t v)
{
    if (t->map[v] != IR_NONE) return t->map[v];
    ir_val_t whole = ir_broadcast_scalar(t->fn, v, &t->shape);
    if (whole == IR_NONE) return whole;
    if (whole != v) record(t, ir_def(t->fn, whole));
    VEC_PUSH(&t->outer, v);
    return t->map[v] = whole;
}

static int emit(tape_t *t, const ir_op_t *op, err_t *err)
{
    ir_fn_t *fn = t->fn;
    ir_type_t type = ir_type_with(t->shape, ir_type_of(fn, op->out)->dtype);
    if (op->code == OP_constant) {
        tensor_t whole = *ir_const_of(fn, op->out);
        whole.type = type;
        whole.splat = true;
        t->map[op->out] = ir_const(fn, &whole);
        return 0;
    }
    if (op_def(op->code)->kind != K_MAP || op->n_region > 0 || op->n_out != 1)
        return unsupported(t, op, err);
    ir_val_t in[MAP_MAX_IN];
    if (op->n_in > MAP_MAX_IN) return unsupported(t, op, err);
    for (int i = 0; i < op->n_in; i++) in[i] = lookup(t, op->in[i]);
    t->map[op->out] = record(t, ir_emit(fn, op->code, op->n_in, in, &op->attrs, 1, &type, 0, NULL));
    return 0;
}

/* One application: acc becomes region(acc, x). */
static int apply(tape_t *t, int n, ir_val_t *acc, const ir_val_t *x, err_t *err)
{
    const ir_region_t *region = t->region;
    for (int k = 0; k < n; k++) {
        t->map[region->arg + (ir_val_t)k] = acc[k];
        t->map[region->arg + (ir_val_t)(n + k)] = x[k];
    }
    for (int i = 0; i < region->n_op; i++)
        if (emit(t, region->op[i], err) < 0) return -1;
    for (int k = 0; k < n; k++) acc[k] = lookup(t, region->result[k]);
    return 0;
}

static void add_ct(tape_t *t, ir_val_t v, ir_val_t ct)
{
    if (ct == IR_NONE || v == IR_NONE) return;
    t->ct[v] = t->ct[v] == IR_NONE ? ct : ir_op2(t->fn, OP_add, t->ct[v], ct);
}

static int reverse_op(tape_t *t, const ir_op_t *op, err_t *err)
{
    bool need[MAP_MAX_IN];
    ir_val_t in_ct[MAP_MAX_IN], ct = t->ct[op->out];
    if (ct == IR_NONE) return 0;
    const op_def_t *def = op_def(op->code);
    if (!def->vjp) return unsupported(t, op, err);
    for (int i = 0; i < op->n_in; i++) {
        in_ct[i] = IR_NONE;
        need[i] = dtype_is_inexact(op_in_type(t->fn, op, i)->dtype) &&
                  !ir_const_of(t->fn, op->in[i]);
    }
    vjp_t sub = *t->v;
    sub.op = op, sub.ct = &ct, sub.need = need, sub.in_ct = in_ct;
    if (def->vjp(&sub, err) < 0) return -1;
    for (int i = 0; i < op->n_in; i++) add_ct(t, op->in[i], in_ct[i]);
    return 0;
}

static ir_val_t unslice(ir_fn_t *fn, ir_val_t ct, const ir_type_t *to, const fold_piece_t *piece)
{
    int64_t high[IR_MAX_RANK], interior[IR_MAX_RANK];
    if (ct == IR_NONE) return ct;
    ir_type_t from = *ir_type_of(fn, ct);
    for (int d = 0; d < to->rank; d++) {
        int64_t stride = from.dim[d] > 1 ? piece->stride[d] : 1;
        interior[d] = stride - 1;
        high[d] = to->dim[d] - piece->start[d] - window_extent(from.dim[d], stride);
    }
    return ir_pad(fn, ct, ir_scalar(fn, from.dtype, 0), piece->start, high, interior);
}

/* Values of the fold: acc[k] ends as the result; first[k] and x[piece * n + k] are where it began.
 */
static int walk(tape_t *t, int n, const ir_val_t *source, int n_piece, const fold_piece_t *pieces,
                ir_val_t *first, ir_val_t *x, ir_val_t *acc, err_t *err)
{
    ir_fn_t *fn = t->fn;
    for (int i = 0; i < n_piece * n; i++) {
        const fold_piece_t *p = &pieces[i / n];
        x[i] = ir_slice(fn, source[i % n], p->start, p->limit, p->stride);
    }
    if (fn->err.code) return vjp_done(t->v, err);
    t->shape = n_piece > 0 ? *ir_type_of(fn, x[0]) : *ir_type_of(fn, source[0]);
    for (int k = 0; k < n; k++)
        acc[k] = first[k] = ir_broadcast_scalar(fn, t->v->op->in[n + k], &t->shape);
    for (int i = 0; i < n_piece; i++)
        if (apply(t, n, acc, x + i * n, err) < 0) return -1;
    if (fn->err.code) return vjp_done(t->v, err);

    t->ct = mem_calloc(fn->n_value, sizeof *t->ct);
    memset(t->ct, 0xFF, fn->n_value * sizeof *t->ct);
    for (int k = 0; k < n; k++)
        if (t->v->ct[k] != IR_NONE) add_ct(t, acc[k], ir_reshape(fn, t->v->ct[k], &t->shape));
    for (size_t i = t->tape.n; i-- > 0;)
        if (reverse_op(t, t->tape.at[i], err) < 0) return -1;
    return 0;
}

int fold_vjp(vjp_t *v, int n, const ir_val_t *source, int n_piece, const fold_piece_t *pieces,
             ir_val_t *source_ct, ir_val_t *init_ct, err_t *err)
{
    ir_fn_t *fn = v->fn;
    if (n_piece > FOLD_VJP_MAX)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: no gradient of this region over %d elements (at most %d)",
                       op_name(v->op), n_piece, FOLD_VJP_MAX);
    tape_t t = {.v = v, .fn = fn, .region = v->op->region[0], .n_map = fn->n_value};
    t.map = mem_calloc(t.n_map, sizeof *t.map);
    memset(t.map, 0xFF, t.n_map * sizeof *t.map);
    ir_val_t *first = mem_calloc((size_t)n * ((size_t)n_piece + 2), sizeof *first);
    ir_val_t *acc = first + n, *x = acc + n;
    int status = walk(&t, n, source, n_piece, pieces, first, x, acc, err);
    for (int k = 0; status == 0 && k < n; k++) {
        ir_type_t type = *ir_type_of(fn, source[k]);
        init_ct[k] = ir_reduce_all(fn, OP_add, t.ct[first[k]]);
        source_ct[k] = IR_NONE;
        for (int i = 0; i < n_piece; i++) {
            ir_val_t part = unslice(fn, t.ct[x[i * n + k]], &type, &pieces[i]);
            if (part == IR_NONE) continue;
            source_ct[k] = source_ct[k] == IR_NONE ? part : ir_op2(fn, OP_add, source_ct[k], part);
        }
    }
    for (size_t i = 0; status == 0 && i < t.outer.n; i++)
        if (t.ct[t.outer.at[i]] != IR_NONE && v->add_outer)
            v->add_outer(v, t.outer.at[i], t.ct[t.outer.at[i]]);
    free(t.map);
    free(t.ct);
    free(first);
    VEC_FREE(&t.tape);
    VEC_FREE(&t.outer);
    return status < 0 ? -1 : vjp_done(v, err);
}
