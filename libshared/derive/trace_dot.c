/* Products: with parameters; of positions with positions, which are scores; of scores' shares with what lies at the
 * keys' positions. */
#include <string.h>

#include "derive/trace.h"

typedef struct {
    trace_t *trace;
    const ir_op_t *op;
    ir_dot_t dims;
    layout_t at[2]; /* of the operands */
    bool free[2][IR_MAX_RANK];
    int keys; /* the operand that is kept, or -1 */
} pair_t;

static const int64_t *batch_of(const pair_t *p, int side)
{
    return side ? p->dims.rhs_batch : p->dims.lhs_batch;
}

static const int64_t *contract_of(const pair_t *p, int side)
{
    return side ? p->dims.rhs_contract : p->dims.lhs_contract;
}

static void find_free(pair_t *p)
{
    for (int side = 0; side < 2; side++) {
        for (int d = 0; d < p->at[side].rank; d++) p->free[side][d] = true;
        for (int i = 0; i < p->dims.n_batch; i++) p->free[side][batch_of(p, side)[i]] = false;
        for (int i = 0; i < p->dims.n_contract; i++) p->free[side][contract_of(p, side)[i]] = false;
    }
}

static axes_t without(const axes_t *axes, axis_kind_t kind)
{
    axes_t out = {0};
    for (int i = 0; i < axes->n; i++)
        if (axes->at[i].kind != kind) axes_add(&out, axes->at[i]);
    return out;
}

/* With one sequence the row may stand anywhere: beside the keys it is that of the other operand. */
static void drop_single_row(pair_t *p, int side)
{
    for (int d = 0; d < p->at[side].rank && p->trace->rows == 1; d++)
        p->at[side].dim[d] = without(&p->at[side].dim[d], AXIS_ROW);
}

static bool is_only(const axes_t *axes, axis_kind_t kind)
{
    return axes->n == 1 && axes->at[0].kind == kind;
}

static bool has_free(const pair_t *p, int side, axis_kind_t kind)
{
    for (int d = 0; d < p->at[side].rank; d++)
        if (p->free[side][d] && axes_have(&p->at[side].dim[d], kind)) return true;
    return false;
}

/* Do the contracted dimensions i meet as shares of keys and what lies there? Sets the side of the latter. */
static bool meets_keys(pair_t *p, int i)
{
    for (int side = 0; side < 2; side++) {
        axes_t other = p->at[side].dim[contract_of(p, side)[i]];
        if (p->trace->rows == 1) other = without(&other, AXIS_ROW);
        const axes_t *shares = &p->at[1 - side].dim[contract_of(p, 1 - side)[i]];
        const traced_t *x = trace_of(p->trace, p->op->in[1 - side]);
        if (!is_only(shares, AXIS_SPAN) || !is_only(&other, AXIS_TIME)) continue;
        if (x->later != LATER_ZERO || shares->at[0].size != other.at[0].size) return false;
        p->keys = side;
        return true;
    }
    return false;
}

static int check_contracted(pair_t *p)
{
    for (int i = 0; i < p->dims.n_contract; i++) {
        const axes_t *a = &p->at[0].dim[p->dims.lhs_contract[i]];
        const axes_t *b = &p->at[1].dim[p->dims.rhs_contract[i]];
        axes_t joined;
        if (axes_are_plain(a) && axes_are_plain(b) && axes_join(a, b, &joined)) continue;
        if (!meets_keys(p, i)) {
            bool scores = axes_have(a, AXIS_SPAN) || axes_have(b, AXIS_SPAN);
            for (int side = 0; side < 2; side++) {
                const traced_t *x = trace_of(p->trace, p->op->in[side]);
                if (x->product != IR_NONE && axes_have(side ? b : a, AXIS_TIME))
                    p->trace->turn = x->product;
            }
            return trace_refuse(p->trace, p->op,
                                scores ? "sums over later positions" : "sums over positions");
        }
    }
    return 0;
}

/* Positions on both sides that are not the same ones: those of one side become the keys'. */
static void find_scores(pair_t *p)
{
    if (p->keys < 0 && has_free(p, 0, AXIS_TIME) && has_free(p, 1, AXIS_TIME))
        p->keys = p->trace->turned[p->op->out] ? 0 : 1;
}

static int check_keys(pair_t *p)
{
    if (p->keys < 0) return 0;
    const layout_t *at = &p->at[p->keys];
    if (layout_count(at, AXIS_SPAN) > 0)
        return trace_refuse(p->trace, p->op, "looks at positions twice");
    for (int i = 0; i < p->dims.n_contract; i++)
        if (axes_have(&at->dim[contract_of(p, p->keys)[i]], AXIS_SAME))
            return trace_refuse(p->trace, p->op, "sums over copies");
    for (int d = 0; d < at->rank; d++)
        if (p->free[p->keys][d] && axes_have(&at->dim[d], AXIS_SAME))
            return trace_refuse(p->trace, p->op, "makes copies");
    drop_single_row(p, p->keys);
    return 0;
}

static void add_free(pair_t *p, int side, layout_t *out)
{
    for (int d = 0; d < p->at[side].rank; d++) {
        if (!p->free[side][d]) continue;
        axes_t axes = p->at[side].dim[d];
        for (int i = 0; side == p->keys && i < axes.n; i++)
            if (axes.at[i].kind == AXIS_TIME) axes.at[i].kind = AXIS_SPAN;
        out->dim[out->rank++] = axes;
    }
}

/* The other operand's row was in a dimension that is summed over, or none has it. */
static void keep_row(pair_t *p, layout_t *out)
{
    if (p->trace->rows != 1 || out->rank == 0 || layout_count(out, AXIS_ROW) > 0) return;
    axes_t axes = {0};
    axes_add(&axes, (axis_t){AXIS_ROW, 1});
    for (int i = 0; i < out->dim[0].n; i++) axes_add(&axes, out->dim[0].at[i]);
    out->dim[0] = axes;
}

static int join_batch(pair_t *p, layout_t *out)
{
    for (int i = 0; i < p->dims.n_batch; i++) {
        axes_t a = p->at[0].dim[p->dims.lhs_batch[i]], b = p->at[1].dim[p->dims.rhs_batch[i]];
        if (p->keys >= 0 && p->trace->rows == 1) { /* one of them has lost it above */
            axes_t *other = p->keys ? &a : &b;
            axes_t had = *other, joined;
            *other = without(other, AXIS_ROW);
            if (!axes_join(&a, &b, &joined))
                return trace_refuse(p->trace, p->op, "brings positions together with others");
            axes_t whole = {0};
            if (axes_have(&had, AXIS_ROW)) axes_add(&whole, (axis_t){AXIS_ROW, 1});
            for (int k = 0; k < joined.n; k++) axes_add(&whole, joined.at[k]);
            out->dim[out->rank++] = whole;
            continue;
        }
        if (!axes_join(&a, &b, &out->dim[out->rank++]))
            return trace_refuse(p->trace, p->op, "brings positions together with others");
        if (p->keys >= 0 && axes_have(&a, AXIS_TIME))
            return trace_refuse(p->trace, p->op, "looks at positions twice");
    }
    return 0;
}

int trace_dot(trace_t *self, const ir_op_t *op, traced_t *out)
{
    pair_t p = {.trace = self, .op = op, .keys = -1};
    ir_dot_dims(op, &p.dims);
    later_t later = LATER_COUNT;
    for (int side = 0; side < 2; side++) {
        const traced_t *x = trace_of(self, op->in[side]);
        bool is_static = x->origin == FROM_NOTHING;
        p.at[side] = is_static ? layout_plain(ir_type_of(self->fn, op->in[side])) : x->at;
        if (!is_static && x->later == LATER_ZERO) later = LATER_ZERO;
    }
    find_free(&p);
    if (check_contracted(&p) < 0) return -1;
    bool both = !trace_is_static(self, op->in[0]) && !trace_is_static(self, op->in[1]);
    if (both) find_scores(&p);
    if (check_keys(&p) < 0 || join_batch(&p, &out->at) < 0) return -1;
    add_free(&p, 0, &out->at);
    add_free(&p, 1, &out->at);
    if (p.keys >= 0) keep_row(&p, &out->at);
    out->keys = (int8_t)p.keys;
    bool scores = p.keys >= 0 && layout_count(&out->at, AXIS_SPAN) > 0;
    if (scores) out->product = op->out;
    out->later = scores ? LATER_COUNT : later;
    return 0;
}
