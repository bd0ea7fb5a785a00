/* chlo.ragged_dot: a dimension of lhs is cut into groups, one behind the other, of the sizes given;
 * what lies behind the last group counts as zero.
 *   cut along a free dimension:        y[.., m, .., n] = sum_k lhs[m, k] rhs[group of m, k, n]
 *   cut along a contracting dimension: y[g, m, n] = sum over k in group g of lhs[m, k] rhs[k, n]
 * Each group's product is computed in full and what belongs to others is left out of it. */
#include <string.h>

#include "parse/other_op.h"

typedef struct {
    parser_t *p;
    const draft_t *d;
    ir_type_t lhs, rhs;
    ir_dot_t dot;
    int64_t n_group;
    int ragged; /* of lhs */
    int group;  /* of rhs; -1: none */
} ragged_t;

static int read_list(ragged_t *r, const char *name, int rank, int64_t *out, int *n)
{
    const int64_t *list = attr_ints(&r->d->attrs, name, n);
    for (int i = 0; i < *n; i++) {
        if (i >= rank || list[i] < 0 || list[i] >= rank)
            return other_fail(r->p, r->d, ERR_SHAPE, "%s has a dimension outside rank %d", name,
                              rank);
        out[i] = list[i];
    }
    return 0;
}

static int read_dims(ragged_t *r)
{
    int64_t one[IR_MAX_RANK];
    int n_lhs, n_rhs;
    if (read_list(r, "lhs_batching_dimensions", r->lhs.rank, r->dot.lhs_batch, &n_lhs) < 0 ||
        read_list(r, "rhs_batching_dimensions", r->rhs.rank, r->dot.rhs_batch, &n_rhs) < 0)
        return -1;
    r->dot.n_batch = n_lhs;
    bool fits = n_lhs == n_rhs;
    if (read_list(r, "lhs_contracting_dimensions", r->lhs.rank, r->dot.lhs_contract, &n_lhs) < 0 ||
        read_list(r, "rhs_contracting_dimensions", r->rhs.rank, r->dot.rhs_contract, &n_rhs) < 0)
        return -1;
    r->dot.n_contract = n_lhs;
    fits = fits && n_lhs == n_rhs;
    if (read_list(r, "lhs_ragged_dimensions", r->lhs.rank, one, &n_lhs) < 0) return -1;
    r->ragged = n_lhs == 1 ? (int)one[0] : -1;
    if (read_list(r, "rhs_group_dimensions", r->rhs.rank, one, &n_rhs) < 0) return -1;
    r->group = n_rhs == 1 ? (int)one[0] : -1;
    if (fits && n_lhs == 1 && n_rhs <= 1) return 0;
    return other_fail(r->p, r->d, ERR_SHAPE,
                      "lhs and rhs have as many batching and contracting dimensions, lhs one "
                      "ragged dimension and rhs at most one group dimension");
}

static bool has(const int64_t *list, int n, int64_t value)
{
    for (int i = 0; i < n; i++)
        if (list[i] == value) return true;
    return false;
}

/* i1 of `like`: is the place along dimension `along` in the group that dimension `group` names? */
static ir_val_t in_group(const ragged_t *r, const ir_type_t *like, int group, int along)
{
    ir_fn_t *fn = r->p->fn;
    ir_val_t sizes = ir_convert(fn, r->d->in.at[2], DT_I64);
    ir_type_t pairs = {.dtype = DT_I64, .rank = 2, .dim = {r->n_group, r->n_group}};
    int64_t second = 1, to = group;
    /* begin[g] = the sum of the sizes before g */
    ir_val_t before = ir_compare(fn, "LT", ir_iota(fn, &pairs, 1), ir_iota(fn, &pairs, 0));
    ir_val_t wide = ir_broadcast(fn, sizes, &pairs, &second);
    ir_val_t begin = ir_reduce(fn, OP_add, ir_select(fn, before, wide, ir_scalar_like(fn, wide, 0)),
                               &second, 1);
    ir_val_t end = ir_op2(fn, OP_add, begin, sizes);
    ir_type_t index = ir_type_with(*like, DT_I64);
    ir_val_t at = ir_iota(fn, &index, along);
    return ir_op2(fn, OP_and, ir_compare(fn, "GE", at, ir_broadcast(fn, begin, &index, &to)),
                  ir_compare(fn, "LT", at, ir_broadcast(fn, end, &index, &to)));
}

/* The place of lhs's or rhs's free dimension `dim` among those of one side. */
static int free_place(const ragged_t *r, bool is_rhs, int dim)
{
    const ir_dot_t *dot = &r->dot;
    int place = 0;
    for (int i = 0; i < dim; i++)
        place += !has(is_rhs ? dot->rhs_batch : dot->lhs_batch, dot->n_batch, i) &&
                 !has(is_rhs ? dot->rhs_contract : dot->lhs_contract, dot->n_contract, i);
    return place;
}

static ir_val_t cut_free(const ragged_t *r, dtype_t to)
{
    ir_fn_t *fn = r->p->fn;
    ir_val_t all = ir_dot(fn, r->d->in.at[0], r->d->in.at[1], &r->dot, to);
    if (all == IR_NONE) return all;
    const ir_type_t type = *ir_type_of(fn, all);
    int n_free = r->lhs.rank - r->dot.n_batch - r->dot.n_contract;
    int along = r->dot.n_batch + free_place(r, false, r->ragged);
    int64_t group = r->dot.n_batch + n_free + free_place(r, true, r->group);
    ir_val_t own = in_group(r, &type, (int)group, along);
    ir_val_t kept = ir_select(fn, own, all, ir_scalar_like(fn, all, 0));
    return ir_reduce(fn, OP_add, kept, &group, 1);
}

/* One copy of x per group, as a new first dimension, with what belongs to others zero. */
static ir_val_t per_group(const ragged_t *r, ir_val_t x, int along)
{
    ir_fn_t *fn = r->p->fn;
    ir_type_t from = *ir_type_of(fn, x), type = {.dtype = from.dtype, .rank = from.rank + 1};
    int64_t dims[IR_MAX_RANK];
    if (type.rank > IR_MAX_RANK) return IR_NONE;
    type.dim[0] = r->n_group;
    for (int i = 0; i < from.rank; i++) {
        type.dim[i + 1] = from.dim[i];
        dims[i] = i + 1;
    }
    if (ir_type_check(&type, &fn->err) < 0) return IR_NONE;
    ir_val_t all = ir_broadcast(fn, x, &type, dims);
    return ir_select(fn, in_group(r, &type, 0, along + 1), all, ir_scalar_like(fn, all, 0));
}

static ir_val_t cut_contracting(const ragged_t *r, dtype_t to)
{
    ir_dot_t dot = {.n_batch = 1, .n_contract = r->dot.n_contract};
    int rhs_along = 0;
    for (int i = 0; i < r->dot.n_batch; i++, dot.n_batch++) {
        dot.lhs_batch[dot.n_batch] = r->dot.lhs_batch[i] + 1;
        dot.rhs_batch[dot.n_batch] = r->dot.rhs_batch[i] + 1;
    }
    for (int i = 0; i < dot.n_contract; i++) {
        dot.lhs_contract[i] = r->dot.lhs_contract[i] + 1;
        dot.rhs_contract[i] = r->dot.rhs_contract[i] + 1;
        if (r->dot.lhs_contract[i] == r->ragged) rhs_along = (int)r->dot.rhs_contract[i];
    }
    ir_val_t lhs = per_group(r, r->d->in.at[0], r->ragged);
    ir_val_t rhs = per_group(r, r->d->in.at[1], rhs_along);
    if (lhs == IR_NONE || rhs == IR_NONE) return IR_NONE;
    return ir_dot(r->p->fn, lhs, rhs, &dot, to);
}

static ir_val_t build_ragged_dot(parser_t *p, const draft_t *d)
{
    ir_fn_t *fn = p->fn;
    ragged_t r = {.p = p, .d = d};
    r.lhs = *ir_type_of(fn, d->in.at[0]);
    r.rhs = *ir_type_of(fn, d->in.at[1]);
    const ir_type_t sizes = *ir_type_of(fn, d->in.at[2]);
    char text[IR_TYPE_TEXT];
    if (read_dims(&r) < 0) return IR_NONE;
    bool is_free = !has(r.dot.lhs_batch, r.dot.n_batch, r.ragged) &&
                   !has(r.dot.lhs_contract, r.dot.n_contract, r.ragged);
    bool contracts = has(r.dot.lhs_contract, r.dot.n_contract, r.ragged);
    r.n_group = sizes.dim[0];
    if (sizes.rank != 1 || !dtype_is_int(sizes.dtype)) {
        other_fail(p, d, ERR_UNSUPPORTED, "group_sizes is %s, expected integers of rank 1",
                   ir_type_text(&sizes, text));
    } else if (is_free && r.group >= 0 && r.rhs.dim[r.group] == r.n_group &&
               !has(r.dot.rhs_batch, r.dot.n_batch, r.group) &&
               !has(r.dot.rhs_contract, r.dot.n_contract, r.group)) {
        return cut_free(&r, d->out.at[0].dtype);
    } else if (contracts && r.group < 0) {
        return cut_contracting(&r, d->out.at[0].dtype);
    } else {
        other_fail(p, d, ERR_UNSUPPORTED,
                   "lhs_ragged_dimensions is a free dimension with a group dimension of rhs as "
                   "long as group_sizes, or a contracting one with none");
    }
    return IR_NONE;
}

int finish_ragged_dot(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    return other_build(p, d, into, first, build_ragged_dot);
}
