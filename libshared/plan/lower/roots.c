/* Which values get storage. Always: arguments, results, reductions, matrix products, scatters,
 * dense constants. By cost: maps that several users would recompute at greater expense than one
 * store and the loads. Everything else is inlined. */
#include <limits.h>
#include <string.h>

#include "ir/build.h"
#include "plan/lower/attention.h"
#include "plan/lower/branches.h"
#include "plan/lower/joined.h"
#include "plan/lower/loops.h"
#include "plan/lower/lower.h"
#include "plan/lower/stream.h"

/* Masks are mostly comparisons of positions, which the loops around hoist or fold. */
enum { MASK_COST = 2 };

/* Reads beyond are not counted: programs that square and square again have more than any number. Times
 * a cost they fit an int64_t. */
static const int64_t MOST_READS = (int64_t)1 << 46;

/* A scalar that cost so much is stored before it is broadcast, where threads are without number: each of them would compute it again
 * for its few elements. */
enum { SCALAR_COST = 16 };

/* Each round counts reads anew: a user that has become a root asks its operands only once. */
enum { COST_ROUNDS = 3 };

static int64_t count_of(const lower_t *self, ir_val_t v)
{
    return ir_type_count(ir_type_of(self->fn, v));
}

int roots_cost(const ir_op_t *op)
{
    switch (op->code) {
    case OP_divide:
    case OP_sqrt:
    case OP_rsqrt:
    case OP_remainder: return 4;
    case OP_exponential:
    case OP_exponential_minus_one: return 8;
    case OP_log:
    case OP_log_plus_one:
    case OP_logistic:
    case OP_tanh: return 12;
    case OP_sine:
    case OP_cosine:
    case OP_chlo_erf: return 16;
    case OP_power: return 30;
    case OP_gather:
    case OP_pad:
    case OP_concatenate: return 2;
    default: break;
    }
    const op_def_t *def = op_def(op->code);
    if (def->kind == K_VIEW || def->kind == K_LITERAL) return 0;
    return strncmp(def->name, "chlo.", 5) == 0 ? 16 : 1;
}

/* A few elements of what is only there by parts: they are picked where its rows are worked on. */
static bool picks_from_large(const lower_t *self, const ir_op_t *op)
{
    const ir_op_t *from = ir_def(self->fn, op->in[0]);
    return from && from->code != OP_constant && lower_is_large(self, op->in[0]) &&
           !lower_is_large(self, op->out);
}

/* Roots whatever they cost. */
static bool always_root(lower_t *self, const ir_op_t *op)
{
    switch (op->code) {
    case OP_dot_general:
    case OP_reduce: return true;
    case OP_scatter: return !inline_scatter_is_direct(self, op);
    case OP_gather: return picks_from_large(self, op);
    case OP_constant: {
        const tensor_t *t = ir_const_of(self->fn, op->out);
        int64_t slope[IR_MAX_RANK];
        return !t->splat && ir_type_count(&t->type) > 1 && !inline_constant_slopes(t, slope);
    }
    default: return false;
    }
}

/* Trailing dimensions that a broadcast adds cost nothing: the loop over them hoists its operand. */
static bool adds_trailing(const lower_t *self, const ir_op_t *op)
{
    const ir_type_t *from = ir_type_of(self->fn, op->in[0]), *to = ir_type_of(self->fn, op->out);
    int n, last = to->rank - 1, inner = from->rank - 1;
    const int64_t *dims = attr_ints(&op->attrs, "broadcast_dimensions", &n);
    while (last > 0 && to->dim[last] == 1) last--;
    while (inner >= 0 && from->dim[inner] == 1) inner--;
    return inner < 0 || dims[inner] < last;
}

static void add_some(lower_t *self, ir_val_t v, int64_t n)
{
    int64_t *reads = &self->value[v].reads;
    *reads = n < MOST_READS - *reads ? *reads + n : MOST_READS;
}

static void add_reads(lower_t *self, const ir_op_t *op)
{
    lvalue_t *out = &self->value[op->out];
    int64_t evaluations = out->root ? count_of(self, op->out) : out->reads;
    bool broadcast = op->code == OP_broadcast_in_dim || op->code == OP_dynamic_broadcast_in_dim;
    for (int i = 0; i < op->n_in; i++) {
        int64_t n = evaluations, own = count_of(self, op->in[i]);
        if (i > 0 && op->in[i] == op->in[i - 1]) continue;
        bool index = i > 0 && (op->code == OP_gather || op->code == OP_scatter);
        if (op->code == OP_reduce || op->code == OP_dot_general || op->code == OP_pcp_fused ||
            index)
            n = own;
        else if (broadcast && adds_trailing(self, op) && n > own)
            n = own;
        add_some(self, op->in[i], n);
    }
}

static void count_reads(lower_t *self)
{
    const ir_region_t *body = self->fn->body;
    for (uint32_t v = 0; v < self->fn->n_value; v++) self->value[v].reads = 0;
    for (int i = 0; i < body->n_result; i++)
        add_some(self, body->result[i], count_of(self, body->result[i]));
    for (int i = body->n_op - 1; i >= 0; i--) add_reads(self, body->op[i]);
}

static void choose_scalars(lower_t *self)
{
    const ir_region_t *body = self->fn->body;
    for (int i = 0; self->caps.many && i < body->n_op; i++) {
        const ir_op_t *op = body->op[i];
        if (op->code != OP_broadcast_in_dim || count_of(self, op->out) == 1) continue;
        const ir_op_t *from = ir_def(self->fn, op->in[0]);
        bool map = from && from->n_out == 1 && op_def(from->code)->kind == K_MAP;
        if (map && count_of(self, op->in[0]) == 1 && self->value[op->in[0]].cost >= SCALAR_COST)
            self->value[op->in[0]].root = true;
    }
}

static void choose_by_cost(lower_t *self)
{
    const ir_region_t *body = self->fn->body;
    for (int i = 0; i < body->n_op; i++) {
        const ir_op_t *op = body->op[i];
        lvalue_t *lv = &self->value[op->out];
        int64_t cost = roots_cost(op), n = count_of(self, op->out), reads = lv->reads;
        if (n > MOST_READS) n = MOST_READS;
        for (int k = 0; k < op->n_in; k++)
            cost += self->value[op->in[k]].root ? 1 : self->value[op->in[k]].cost;
        if (ir_type_of(self->fn, op->out)->dtype == DT_I1 && cost > MASK_COST) cost = MASK_COST;
        lv->cost = cost < 10000 ? (int)cost : 10000;
        bool is_map = op_def(op->code)->kind == K_MAP;
        if (!is_map || n == 1 || (lv->root && !lv->chosen)) continue;
        lv->root = lv->chosen = lv->cost * (reads - n) > 3 * (reads + n);
    }
}

/* Scatters fold with one operation, or keep the last update. */
static bool knows_scatter(const ir_op_t *op)
{
    const ir_region_t *r = op->region[0];
    if (op->n_in != 3) return false;
    bool replaces = r->n_op == 0 && r->n_result == 1 && r->result[0] == r->arg + 1;
    return replaces || ir_reducer_op(r) != OP_invalid;
}

static int check_ops(lower_t *self)
{
    const ir_region_t *body = self->fn->body;
    for (int i = 0; i < body->n_op; i++) {
        const ir_op_t *op = body->op[i];
        if (op->code == OP_while) {
            while_mark(self, op);
            continue;
        }
        if (attention_knows(&self->caps, self->fn, op)) {
            attention_mark(self, op);
            continue;
        }
        if (loops_knows(self->fn, op)) {
            loops_mark(self, op);
            continue;
        }
        bool root = !loops_has_form(self->fn, op) && always_root(self, op);
        bool known = op->n_out == 1 && (op->code != OP_scatter || knows_scatter(op));
        if (root && known)
            self->value[op->out].root = true;
        else if (!known || !inline_knows(op))
            return err_set(self->err, ERR_UNSUPPORTED,
                           "@%s, line %d: the plan compiler has no kernel for %s", self->fn->name,
                           op->line, op_def(op->code)->name);
    }
    return 0;
}

/* --- Layouts ---------------------------------------------------------------------------------- */

kx_t layout_index(kx_graph_t *graph, const lvalue_t *value, kx_t linear)
{
    const layout_t *l = &value->layout;
    if (l->rank == 0) return linear;
    kx_t digit[IR_MAX_RANK], at = kx_int(graph, 0);
    kx_unlinear(graph, linear, l->rank, l->dim, digit);
    for (int d = 0; d < l->rank; d++)
        at = kx_add(graph, at, kx_scale(graph, digit[d], l->stride[d]));
    return at;
}

/* By value: its only user in the function, when there is one and it is not returned. Groups, which
 * read through any strides, do not count. */
static const ir_op_t **find_only_users(const lower_t *self)
{
    const ir_region_t *body = self->fn->body;
    const ir_op_t **user = mem_calloc((size_t)self->fn->n_value + 1, sizeof(ir_op_t *));
    bool *several = mem_calloc((size_t)self->fn->n_value + 1, sizeof *several);
    for (int i = 0; i < body->n_result; i++) several[body->result[i]] = true;
    for (int i = 0; i < body->n_op; i++)
        for (int k = 0; k < body->op[i]->n_in && body->op[i]->code != OP_pcp_fused; k++) {
            ir_val_t v = body->op[i]->in[k];
            several[v] = several[v] || (user[v] && user[v] != body->op[i]);
            user[v] = body->op[i];
        }
    for (uint32_t v = 0; v < self->fn->n_value; v++)
        if (several[v]) user[v] = NULL;
    free(several);
    return user;
}

/* A product that is only read transposed is stored transposed. */
static void choose_layout(lower_t *self, const ir_op_t *const *only_user, ir_val_t v)
{
    if (self->value[v].plain) return;
    const ir_op_t *user = only_user[v];
    while (user && user->n_out == 1 &&
           (user->code == OP_reshape || (user->n_in == 1 && op_def(user->code)->kind == K_MAP)))
        user = only_user[user->out];
    if (!user || user->code != OP_transpose) return;
    const ir_type_t *from = ir_type_of(self->fn, user->in[0]),
                    *to = ir_type_of(self->fn, user->out);
    layout_t *l = &self->value[v].layout;
    int n;
    const int64_t *perm = attr_ints(&user->attrs, "permutation", &n);
    int64_t stride[IR_MAX_RANK];
    ir_type_strides(to, stride);
    l->rank = from->rank;
    for (int d = 0; d < n; d++) {
        l->dim[d] = from->dim[d];
        l->stride[perm[d]] = stride[d];
    }
}

int roots_choose(lower_t *self)
{
    ir_region_t *body = self->fn->body;
    for (uint32_t v = 0; v < self->fn->n_value; v++)
        self->value[v] = (lvalue_t){.order = INT_MAX, .group = -1, .over = IR_NONE};
    for (int i = 0; i < body->n_arg; i++) self->value[body->arg + (ir_val_t)i].root = true;
    if (check_ops(self) < 0) return -1;
    for (int i = 0; i < body->n_result; i++) self->value[body->result[i]].root = true;
    for (int round = 0; round < COST_ROUNDS; round++) {
        count_reads(self);
        choose_by_cost(self);
    }
    choose_scalars(self);
    roots_bound(self);
    joined_choose(self);
    for (int i = 0; i < body->n_arg; i++) self->value[body->arg + (ir_val_t)i].order = BEFORE;
    const ir_op_t **only_user = find_only_users(self);
    for (int i = 0; i < body->n_op; i++) {
        lvalue_t *lv = &self->value[body->op[i]->out];
        if (body->op[i]->code == OP_constant && always_root(self, body->op[i])) lv->order = BEFORE;
        bool products = body->op[i]->code == OP_dot_general ||
                        attention_knows(&self->caps, self->fn, body->op[i]);
        for (int k = 0; k < body->op[i]->n_out && products; k++)
            choose_layout(self, only_user, body->op[i]->out + (ir_val_t)k);
    }
    free(only_user);
    for (int i = 0; i < body->n_op; i++) {
        const ir_op_t *op = body->op[i];
        if (attention_knows(&self->caps, self->fn, op) && attention_prepare(self, op) < 0)
            return -1;
        if (op->code != OP_dot_general || stream_prepare(self, op)) continue;
        if (gemm_prepare(self, op) < 0) return -1;
    }
    return 0;
}
