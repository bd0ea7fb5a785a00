/* Plain loops that put elements into order: sort, top_k. */
#include <stdlib.h>

#include "base/mem.h"
#include "plan/kernel/kx_node.h"
#include "plan/lower/loops_in.h"

static kx_t op2(kx_graph_t *g, op_code_t op, kx_t a, kx_t b)
{
    return kx_map(g, op, DT_I64, 2, (kx_t[]){a, b});
}

/* --- sort: a stable merge sort of positions, one line at a time (ops/sort.c) ------------------ */

typedef struct {
    loops_t *l;
    int64_t n, stride;
    kx_t base;     /* of the line's elements */
    kx_t from, to; /* of its positions in the scratch, in order so far, and merged */
} sort_t;

static kx_t position(const sort_t *s, kx_t order, kx_t at)
{
    return kx_load(s->l->g, s->l->scratch, DT_I64, kx_add(s->l->g, order, at));
}

static void set_position(const sort_t *s, kx_t order, kx_t at, kx_t value)
{
    kstmt_t *store = kernel_stmt(s->l->block, KS_STORE);
    store->target = s->l->scratch;
    store->index = kx_add(s->l->g, order, at);
    store->value = value;
}

/* Does element number a of the line come before element number b? */
static kx_t comes_before(const sort_t *s, kx_t a, kx_t b)
{
    loops_t *l = s->l;
    int n = l->op->n_in;
    kx_t *args = mem_calloc(2 * (size_t)n, sizeof *args), result;
    kx_t at[2] = {kx_add(l->g, s->base, kx_scale(l->g, a, s->stride)),
                  kx_add(l->g, s->base, kx_scale(l->g, b, s->stride))};
    for (int k = 0; k < 2 * n; k++) args[k] = loops_load(l, l->op->in[k / 2], at[k % 2]);
    loops_region(l, l->op->region[0], args, &result);
    free(args);
    return result;
}

/* to[at] = the next position of a run, of which `next` is the cell. */
static void take(const sort_t *s, kx_t condition, kx_t next, kx_t at)
{
    loops_t *l = s->l;
    kblock_t *outside = loops_if(l, condition);
    set_position(s, s->to, at, position(s, s->from, next));
    loops_set(l, 1, &next, (kx_t[]){kx_addi(l->g, next, 1)});
    l->block = outside;
}

/* The runs [low, mid) and [mid, high) become one. */
static void merge(const sort_t *s, kx_t low, kx_t mid, kx_t high)
{
    loops_t *l = s->l;
    kx_graph_t *g = l->g;
    kx_t a = loops_let(l, low), b = loops_let(l, mid), at;
    kblock_t *outside = loops_for(l, s->n, low, high, &at);
    kx_t second = loops_let(l, kx_compare(g, CMP_EQ, a, mid));
    kx_t both = kx_and(g, kx_compare(g, CMP_LT, a, mid), kx_compare(g, CMP_LT, b, high));
    kblock_t *within = loops_if(l, both);
    kx_t before = comes_before(s, position(s, s->from, b), position(s, s->from, a));
    loops_set(l, 1, &second, &before);
    l->block = within;
    take(s, second, b, at);
    take(s, kx_not(g, second), a, at);
    l->block = outside;
}

/* Runs of `width` become runs of twice that. */
static void merge_all(const sort_t *s, kx_t width)
{
    loops_t *l = s->l;
    kx_graph_t *g = l->g;
    kx_t n = kx_int(g, s->n), two = kx_add(g, width, width), pair;
    kx_t n_pair = op2(g, OP_divide, kx_addi(g, kx_add(g, n, two), -1), two);
    kblock_t *outside = loops_for(l, s->n, kx_int(g, 0), loops_let(l, n_pair), &pair);
    kx_t low = loops_let(l, op2(g, OP_multiply, pair, two));
    kx_t mid = loops_let(l, op2(g, OP_minimum, kx_add(g, low, width), n));
    kx_t high = loops_let(l, op2(g, OP_minimum, kx_add(g, low, two), n));
    merge(s, low, mid, high);
    l->block = outside;
}

/* Elements of the operands in the order that the last merge has left. */
static void move_line(const sort_t *s)
{
    loops_t *l = s->l;
    kx_graph_t *g = l->g;
    kx_t i;
    for (int k = 0; k < l->op->n_in; k++) {
        kblock_t *outside = loops_for(l, s->n, kx_int(g, 0), kx_int(g, s->n), &i);
        kx_t from = kx_add(g, s->base, kx_scale(g, position(s, s->from, i), s->stride));
        kx_t to = kx_add(g, s->base, kx_scale(g, i, s->stride));
        loops_move(l, l->op->out + (ir_val_t)k, to, l->op->in[k], from);
        l->block = outside;
    }
}

void loops_sort(loops_t *l)
{
    const ir_type_t *x = loops_type(l, l->op->in[0]);
    kx_graph_t *g = l->g;
    int64_t at = attr_int(&l->op->attrs, "dimension", -1), stride[IR_MAX_RANK], lines[IR_MAX_RANK];
    int dim = (int)(at < 0 ? at + x->rank : at), n_merge = 0;
    sort_t s = {.l = l, .n = x->dim[dim]};
    kx_t line[IR_MAX_RANK], i;
    ir_type_strides(x, stride);
    s.stride = stride[dim];
    for (int d = 0; d < x->rank; d++) lines[d] = d == dim ? 1 : x->dim[d];
    while ((INT64_C(1) << n_merge) < s.n) n_merge++;
    kx_unlinear(g, l->o, x->rank, lines, line);
    s.base = loops_sum(l, x->rank, line, stride);
    kx_t room = kx_scale(g, l->o, 2 * s.n), other = kx_addi(g, room, s.n);
    kx_t from = loops_let(l, room), to = loops_let(l, other), width = loops_let(l, kx_int(g, 1));
    s.from = from;
    s.to = to;
    kblock_t *outside = loops_for(l, s.n, kx_int(g, 0), kx_int(g, s.n), &i);
    set_position(&s, s.from, i, i);
    l->block = outside;
    loops_for(l, n_merge + 1, kx_int(g, 0), kx_int(g, n_merge), &i);
    merge_all(&s, width);
    loops_set(l, 3, (kx_t[]){from, to, width}, (kx_t[]){to, from, kx_add(g, width, width)});
    l->block = outside;
    move_line(&s);
}

/* --- top_k: insertion into the k best of a row so far; equal keys keep their order ------------ */

static kx_t rank_of(loops_t *l, kx_t x)
{
    return dtype_is_float(l->g->node.at[x].dtype) ? kx_key(l->g, x) : x;
}

/* The m best are in order from y on; element i of the row moves up to its place. */
static void insert(loops_t *l, kx_t row, kx_t i, kx_t y, kx_t m, int64_t k)
{
    kx_graph_t *g = l->g;
    ir_val_t best = l->op->out, index = l->op->out + 1;
    kx_t value = loops_let(l, loops_load(l, l->op->in[0], kx_add(g, row, i)));
    kx_t zero = kx_int(g, 0), at = loops_let(l, m), moves = loops_let(l, kx_number(g, DT_I1, 0, 1));
    kblock_t *outside = loops_while(l, moves);
    kx_t is_first = kx_compare(g, CMP_EQ, at, zero);
    kx_t before = kx_add(g, y, kx_select(g, is_first, zero, kx_addi(g, at, -1)));
    kx_t larger = kx_compare(g, CMP_GT, rank_of(l, value), rank_of(l, loops_load(l, best, before)));
    kx_t next = loops_let(l, kx_and(g, kx_not(g, is_first), larger));
    loops_set(l, 1, &moves, &next);
    kblock_t *within = loops_if(l, next);
    loops_set(l, 1, &at, (kx_t[]){kx_addi(g, at, -1)});
    l->block = within;
    l->block = outside;
    loops_if(l, kx_compare(g, CMP_LT, at, kx_int(g, k)));
    kx_t last = loops_let(l, op2(g, OP_minimum, m, kx_int(g, k - 1))), j = loops_let(l, last);
    loops_set(l, 1, &m, (kx_t[]){kx_addi(g, last, 1)});
    within = loops_while(l, kx_compare(g, CMP_GT, j, at));
    kx_t to = kx_add(g, y, j), from = kx_addi(g, to, -1);
    loops_move(l, best, to, best, from);
    loops_move(l, index, to, index, from);
    loops_set(l, 1, &j, (kx_t[]){kx_addi(g, j, -1)});
    l->block = within;
    loops_move(l, best, kx_add(g, y, at), l->op->in[0], kx_add(g, row, i));
    loops_store(l, index, kx_add(g, y, at), i);
}

void loops_top_k(loops_t *l)
{
    const ir_type_t *x = loops_type(l, l->op->in[0]);
    kx_graph_t *g = l->g;
    int64_t n = x->dim[x->rank - 1], k = attr_int(&l->op->attrs, "k", 0);
    kx_t row = kx_scale(g, l->o, n), y = kx_scale(g, l->o, k), i;
    kx_t m = loops_let(l, kx_int(g, 0));
    loops_for(l, n, kx_int(g, 0), kx_int(g, n), &i);
    insert(l, row, i, y, m, k);
}
