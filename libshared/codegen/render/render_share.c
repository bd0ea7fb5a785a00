/* Which threads do a piece of a kernel's work: a question of how its columns depend on each other. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/render/render_share.h"
#include "ir/op.h"

enum { MANY_TIMES = 32 };

/* Loops over columns that are not inside another one, and what lies between them. */
typedef struct {
    int n;
    kx_t lo, hi;     /* of the first */
    bool same;       /* bounds of all */
    bool folds;      /* accumulators that live on behind a loop */
    bool known;      /* how to fold what others have folded */
    bool branches;   /* not all threads would come by */
    bool searches;   /* a loop around them is a search */
    int64_t rounds;  /* of the loops around them: at most so many, or more than MANY_TIMES */
    bool keeps;      /* arrays are written, or arguments that are read, outside of the loops */
    int64_t columns; /* of the longest, as far as it is known */
    bool *used;      /* by node: it is computed */
    bool *is_column; /* by variable: it counts the columns of such a loop */
} columns_t;

static const kx_node_t *node(const kernel_t *kernel, kx_t x)
{
    return &kernel->graph.node.at[x];
}

/* --- What is computed --- */

static void find_roots(const kernel_t *kernel, const kblock_t *block, bool *used)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        bool loop = s->kind == KS_FOR, stores = s->kind == KS_STORE || s->kind == KS_KEEP;
        if (loop && s->lo != KX_NONE) used[s->lo] = used[s->hi] = true;
        if (stores) used[s->index] = true;
        if (!loop && s->kind != KS_SET) used[s->value] = true;
        for (size_t k = 0; k < s->set.n; k++) used[s->set.at[k].value] = true;
        find_roots(kernel, &s->body, used);
    }
}

void share_find_used(const kernel_t *kernel, bool *used)
{
    find_roots(kernel, &kernel->body, used);
    for (size_t i = kernel->graph.node.n; i-- > 0;) /* operands come before what they are in */
        for (int k = 0; used[i] && k < kernel->graph.node.at[i].n_in; k++)
            used[kernel->graph.node.at[i].in[k]] = true;
}

static bool has_neutral(const kacc_t *a)
{
    return a->op == OP_add || a->op == OP_multiply || a->op == OP_and || a->op == OP_or ||
           a->op == OP_xor || a->op == OP_maximum || a->op == OP_minimum;
}

static void find_starts(const kblock_t *block, bool *starts)
{
    for (size_t i = 0; i < block->n; i++) {
        if (block->at[i]->kind == KS_START) starts[block->at[i]->target] = true;
        find_starts(&block->at[i]->body, starts);
    }
}

void share_find_folds(const kernel_t *kernel, const kstmt_t *loop, bool *folds)
{
    bool *starts = mem_calloc(kernel->acc.n + 1, sizeof *starts);
    find_starts(&loop->body, starts);
    render_find_folds(&loop->body, folds);
    for (size_t i = 0; i < kernel->acc.n; i++) folds[i] = folds[i] && !starts[i];
    free(starts);
}

/* b - a where they differ by a constant alone; -1 else. */
static int64_t distance(const kernel_t *kernel, kx_t a, kx_t b)
{
    const kx_node_t *x = node(kernel, a), *y = node(kernel, b);
    bool x_sum = x->kind == KX_AFFINE, y_sum = y->kind == KX_AFFINE;
    if (a == b) return 0;
    if (x_sum && y_sum && x->n_in == y->n_in) {
        for (int t = 0; t < x->n_in; t++)
            if (x->in[t] != y->in[t] || x->coef[t] != y->coef[t]) return -1;
        return y->i - x->i;
    }
    if (!x_sum && y_sum && y->n_in == 1 && y->in[0] == a && y->coef[0] == 1) return y->i;
    return -1;
}

/* Rounds of a loop at most, as far as its bounds tell. */
static int64_t rounds_of(const kernel_t *kernel, const kstmt_t *s)
{
    const kx_node_t *lo = node(kernel, s->lo), *hi = node(kernel, s->hi);
    int64_t most = kernel->graph.var.at[s->var].extent, d = distance(kernel, s->lo, s->hi);
    if (lo->lo > INT32_MIN && hi->hi < INT32_MAX && hi->hi - lo->lo < most) most = hi->hi - lo->lo;
    if (d >= 0) most = d < most ? d : most;
    for (int t = 0; hi->kind == KX_MAP && hi->op == OP_minimum && t < hi->n_in; t++) {
        d = distance(kernel, s->lo, hi->in[t]);
        if (d >= 0 && d < most) most = d;
    }
    return most < 0 ? 0 : most;
}

static void look_at_loop(const kernel_t *kernel, const kstmt_t *s, columns_t *c)
{
    bool *folds = mem_calloc(kernel->acc.n + 1, sizeof *folds);
    share_find_folds(kernel, s, folds);
    for (size_t i = 0; i < kernel->acc.n; i++) {
        if (!folds[i]) continue;
        c->folds = true;
        c->known = c->known && has_neutral(&kernel->acc.at[i]);
    }
    free(folds);
    if (c->n++ == 0) c->lo = s->lo, c->hi = s->hi;
    c->is_column[s->var] = true;
    c->same = c->same && c->lo == s->lo && c->hi == s->hi;
    int64_t columns = rounds_of(kernel, s);
    c->columns = columns > c->columns ? columns : c->columns;
}

static bool is_read(const kernel_t *kernel, const bool *used, kx_kind_t kind, int target)
{
    for (size_t i = 0; i < kernel->graph.node.n; i++) {
        const kx_node_t *n = &kernel->graph.node.at[i];
        if (used[i] && n->kind == kind && n->i == target) return true;
    }
    return false;
}

bool share_is_search(const kstmt_t *s)
{
    return s->kind == KS_FOR && !s->simd && s->lo != KX_NONE && s->body.n == 1 &&
           s->body.at[0]->kind == KS_IF;
}

static void find_columns(const kernel_t *kernel, const kblock_t *block, int64_t rounds,
                         columns_t *c)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        if (s->kind == KS_FOR && s->simd) {
            look_at_loop(kernel, s, c);
            c->rounds = rounds > c->rounds ? rounds : c->rounds;
            continue;
        }
        c->branches = c->branches || s->kind == KS_IF || s->kind == KS_WHILE || s->kind == KS_LET ||
                      s->kind == KS_SET;
        c->keeps = c->keeps || s->kind == KS_KEEP ||
                   (s->kind == KS_STORE && is_read(kernel, c->used, KX_LOAD, s->target));
        bool loop = s->kind == KS_FOR && s->lo != KX_NONE && rounds <= MANY_TIMES;
        bool search = share_is_search(s);
        c->searches = c->searches || search;
        find_columns(kernel, search ? &s->body.at[0]->body : &s->body,
                     loop ? rounds * rounds_of(kernel, s) : rounds, c);
    }
}

/* Is there a store to the target at just this index? */
static bool is_stored(const kblock_t *block, kstmt_kind_t kind, int target, kx_t index)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        if (s->kind == kind && s->target == target && s->index == index) return true;
        if (is_stored(&s->body, kind, target, index)) return true;
    }
    return false;
}

/* Just that, counted from the same number in each round of what is around the loops. */
static bool is_column(const kernel_t *kernel, const columns_t *c, kx_t index)
{
    const kx_node_t *n = node(kernel, index), *lo = node(kernel, c->lo);
    return n->kind == KX_VAR && c->is_column[n->i] && lo->lo == lo->hi;
}

/* Is whatever is kept in the array kept at the loop's own column? */
static bool is_kept_by_column(const kernel_t *kernel, const kblock_t *block, const columns_t *c,
                              int array)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        if (s->kind == KS_KEEP && s->target == array && !is_column(kernel, c, s->index))
            return false;
        if (!is_kept_by_column(kernel, &s->body, c, array)) return false;
    }
    return true;
}

/* Whatever is read of what the kernel writes is read at the index at which it is written, or at the
 * same column: with the same bounds for all loops, by the same thread. */
static bool is_apart(const kernel_t *kernel, const columns_t *c)
{
    for (size_t i = 0; i < kernel->graph.node.n; i++) {
        const kx_node_t *n = &kernel->graph.node.at[i];
        if (!c->used[i]) continue;
        bool written = n->kind == KX_LOAD && (size_t)n->i < kernel->arg.n &&
                       kernel->arg.at[n->i].written;
        if (written && !is_stored(&kernel->body, KS_STORE, (int)n->i, n->in[0])) return false;
        if (n->kind == KX_LOCAL && !is_stored(&kernel->body, KS_KEEP, (int)n->i, n->in[0]) &&
            !(is_column(kernel, c, n->in[0]) &&
              is_kept_by_column(kernel, &kernel->body, c, (int)n->i)))
            return false;
    }
    return true;
}

static bool has_term(const kx_node_t *sum, kx_t x, int64_t coef)
{
    for (int t = 0; t < sum->n_in; t++)
        if (sum->in[t] == x && sum->coef[t] == coef) return true;
    return false;
}

/* How far a column of the loops is from the first one: another place for each turn of a thread. */
static bool is_place(const kernel_t *kernel, const columns_t *c, kx_t index)
{
    const kx_node_t *n = node(kernel, index), *lo = node(kernel, c->lo);
    bool column = false, plain = lo->kind != KX_AFFINE;
    if (is_column(kernel, c, index)) return lo->lo == 0;
    if (n->kind != KX_AFFINE || n->n_in != (plain ? 2 : lo->n_in + 1)) return false;
    if (n->i != (plain ? 0 : -lo->i) || (plain && !has_term(n, c->lo, -1))) return false;
    for (int t = 0; t < n->n_in; t++) {
        const kx_node_t *x = node(kernel, n->in[t]);
        column = column || (n->coef[t] == 1 && x->kind == KX_VAR && c->is_column[x->i]);
    }
    for (int t = 0; !plain && t < lo->n_in; t++)
        if (!has_term(n, lo->in[t], -lo->coef[t])) return false;
    return column;
}

static bool is_kept_in_place(const kernel_t *kernel, const kblock_t *block, const columns_t *c)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        if (s->kind == KS_KEEP && !is_place(kernel, c, s->index)) return false;
        if (!is_kept_in_place(kernel, &s->body, c)) return false;
    }
    return true;
}

/* share_plan_t.turns: each thread keeps and reads what is its own columns'. */
static int64_t count_turns(const kernel_t *kernel, const columns_t *c, int lanes)
{
    enum { MOST = 16, MOST_OF_SEARCH = 32 };
    int64_t turns = (c->columns + lanes - 1) / lanes;
    if (kernel->array.n == 0 || turns > (c->searches ? MOST_OF_SEARCH : MOST) ||
        !is_kept_in_place(kernel, &kernel->body, c))
        return 0;
    for (size_t i = 0; i < kernel->graph.node.n; i++) {
        const kx_node_t *n = &kernel->graph.node.at[i];
        if (c->used[i] && n->kind == KX_LOCAL && !is_place(kernel, c, n->in[0])) return 0;
    }
    return turns;
}

int64_t share_columns(const kernel_t *kernel, const kstmt_t *loop)
{
    return distance(kernel, loop->lo, loop->hi);
}

static share_plan_t choose(const kernel_t *kernel, columns_t *c, int warp)
{
    enum { ENOUGH = 4096, MANY_COLUMNS = 256, MAX_SHARED = 30 << 10, PER_ACC = 8 * 64 };
    enum { FEW = 8, MOST = 1 << 20, ANY = INT32_MAX }; /* lanes */
    /* Columns of one; it has one that it comes to MANY_TIMES. Fewer, until there are FEW_THREADS. */
    enum { EACH = 8, FEW_THREADS = 1 << 16 };
    share_plan_t plan = {.share = SHARE_ALONE};
    int64_t shared = (int64_t)kernel->acc.n * PER_ACC;
    find_columns(kernel, &kernel->body, 1, c);
    for (size_t i = 0; i < kernel->array.n; i++)
        shared += kernel->array.at[i].n * (int64_t)dtype_bytes(kernel->array.at[i].dtype);
    if (c->n == 0 || c->branches) return plan;
    plan.apart = c->same && !c->keeps && is_apart(kernel, c);
    bool waits = c->folds || !plan.apart;
    if (waits && kernel->extent >= ENOUGH && c->columns < MANY_COLUMNS) return plan;
    if (!waits) {
        plan.share = SHARE_COLUMNS;
        plan.columns = c->columns;
        plan.lanes = FEW;
        int64_t each = c->rounds > MANY_TIMES ? 1 : EACH;
        while (warp > 0 && each > 1 && kernel->extent * c->columns < each * FEW_THREADS) each /= 2;
        while (plan.lanes < MOST && plan.lanes * each < c->columns) plan.lanes *= 2;
        while (plan.lanes < warp && plan.lanes < c->columns) plan.lanes *= 2; /* neighbours load */
        plan.searches = c->searches && warp > 0;
        if (plan.searches) plan.lanes = warp;
        plan.turns = count_turns(kernel, c, plan.lanes);
        if (warp > 0 && plan.turns > 0 && !plan.searches) slices_choose(kernel, &plan);
    } else if (c->known && shared <= MAX_SHARED) {
        plan.share = SHARE_GROUP;
        plan.columns = c->columns;
        plan.apart_by = c->keeps ? -1 : share_apart_by(kernel, c->used);
        plan.own = plan.apart && count_turns(kernel, c, ANY) > 0;
    }
    return plan;
}

share_plan_t share_choose(const kernel_t *kernel, int warp)
{
    columns_t c = {.same = true, .known = true};
    share_plan_t plan = {.share = SHARE_ALONE};
    if (kernel->in_order) return plan;
    c.is_column = mem_calloc(kernel->graph.var.n + 1, sizeof *c.is_column);
    c.used = mem_calloc(kernel->graph.node.n + 1, sizeof *c.used);
    share_find_used(kernel, c.used);
    plan = choose(kernel, &c, warp);
    free(c.is_column);
    free(c.used);
    return plan;
}

static int64_t add_rounds(const kernel_t *kernel, const kblock_t *block, int64_t lanes)
{
    int64_t sum = 0;
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        int64_t n = 1, inner = s->kind == KS_FOR && s->simd ? 1 : lanes;
        if (s->kind == KS_FOR && s->lo != KX_NONE) n = rounds_of(kernel, s);
        if (s->kind == KS_FOR && s->simd) n = (n + lanes - 1) / lanes;
        int64_t below = add_rounds(kernel, &s->body, inner);
        if (n > INT32_MAX || below > INT32_MAX) return INT64_MAX / 4;
        sum += n * (below + (s->kind == KS_FOR && s->lo != KX_NONE));
        if (sum > INT64_MAX / 4) return INT64_MAX / 4;
    }
    return sum;
}

int64_t share_rounds(const kernel_t *kernel, const share_plan_t *plan)
{
    enum { FEWEST = 8 }; /* threads of a group, of the devices we know */
    int64_t lanes = plan->share == SHARE_GROUP     ? FEWEST
                    : plan->share == SHARE_COLUMNS ? plan->lanes
                                                   : 1;
    int64_t n = add_rounds(kernel, &kernel->body, lanes);
    return n > INT32_MAX ? INT32_MAX : n;
}

const char *share_refuses(const kernel_t *kernel)
{
    enum { MAX_ARRAYS = 1 << 16 };
    int64_t arrays = 0;
    for (size_t i = 0; i < kernel->array.n; i++)
        arrays += kernel->array.at[i].n * (int64_t)dtype_bytes(kernel->array.at[i].dtype);
    if (arrays > MAX_ARRAYS || arrays < 0) return "rows of more than 64 KiB in one kernel";
    if (kernel->extent > INT32_MAX) return "more than 2^31 pieces of work";
    for (size_t i = 0; i < kernel->graph.var.n; i++)
        if (kernel->graph.var.at[i].extent > INT32_MAX) return "loops of more than 2^31 rounds";
    return NULL;
}
