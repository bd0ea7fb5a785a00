/* Recomputation of maps behind the loss. A forward value that the backward pass reads is *dropped*
 * when maps and views lead to it from values that are kept anyway, arguments and small ones. Unlike
 * remat.c this needs no budget and repeats no kernel: the copies are ops like any other and become
 * part of the kernels that read them. What is made of a parameter alone, such as weights rounded
 * for products, is there again at any time: its readers wait for nothing. */
#include "plan/lower/recompute.h"

#include <string.h>

#include "base/vec.h"
#include "ir/build.h"

enum {
    LEAST = 4096, /* elements of a value that is worth it */
    FAR = 3,      /* products between the last forward use and the first backward one */
    WAIT = 4,     /* products that the gradient of a weight may wait for */
    CHEAP = 8,    /* cost of an element, by roots_cost, that reading a stored one has as well */
    DEAR = 48,    /* ... that may pay for memory */
    SHARE = 800,  /* dear ones may cost 1/800 as many additions as products have operations; ... */
    SHARE_MANY = 100, /* ... threads without number have time while they wait for memory */
    LIGHT = 2400, /* weights may cost 1/2400: each is read from memory and written for few rows */
    SMALL = 16,   /* a value of 1/16 of the bytes may be kept instead */
};

typedef struct {
    int op, next; /* index into the body; next use of the value, -1: none */
} use_t;

typedef struct {
    bool late;     /* a forward value that is read behind the loss */
    bool pinned;   /* read by who cannot be told to read another value */
    bool dropped;  /* made again behind the loss */
    bool emitted;  /* its op has its place in the new order */
    bool counted;  /* in late_t.work */
    int at;        /* op that makes it, -1: an argument */
    int use;       /* first in uses, -1: none */
    ir_val_t base; /* dropped: a kept value of its size that it is made of, or IR_NONE; an argument
                    * only when there is no other */
    ir_val_t copy; /* behind the loss, or IR_NONE */
} fate_t;

typedef struct {
    lower_t *lower;
    ir_fn_t *fn;
    int n_op, turn;
    VEC(fate_t) fate; /* by value */
    VEC(use_t) uses;
    int *products;  /* by op: how many come before it */
    int *until;     /* by op: the one that it comes right behind, 0: its own place */
    double work;    /* additions of all copies */
    uint64_t saved; /* bytes of what is dropped and read by products, at least */
    VEC(ir_op_t *) order;
} late_t;

/* What may be dropped. */
typedef struct {
    int dearest;        /* cost of an element, by roots_cost */
    bool rows, weights; /* made of what the forward pass made; of a parameter alone */
} choice_t;

static const ir_op_t *op_at(const late_t *self, int i)
{
    return self->fn->body->op[i];
}

static int64_t bytes_of(const late_t *self, ir_val_t v)
{
    return ir_type_bytes(ir_type_of(self->fn, v));
}

static bool is_argument(const late_t *self, ir_val_t v)
{
    return v != IR_NONE && !ir_def(self->fn, v);
}

static bool is_product(const ir_op_t *op)
{
    return op->code == OP_dot_general || op->code == OP_pcp_fused;
}

static bool is_view(const ir_op_t *op)
{
    return op_def(op->code)->kind == K_VIEW && op->n_out == 1 && op->n_region == 0;
}

static bool is_elementwise(const ir_op_t *op)
{
    bool map = op_def(op->code)->kind == K_MAP && op->n_out == 1 && op->n_region == 0;
    return map || is_view(op);
}

/* --- Who reads what --------------------------------------------------------------------------- */

static void note_use(late_t *self, ir_val_t v, int i)
{
    fate_t *fate = &self->fate.at[v];
    VEC_PUSH(&self->uses, ((use_t){i, fate->use}));
    fate->use = (int)self->uses.n - 1;
    fate->late = fate->late || (i > self->turn && fate->at <= self->turn);
}

static void pin_region(late_t *self, const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        for (int k = 0; k < op->n_in; k++) self->fate.at[op->in[k]].pinned = true;
        for (int r = 0; r < op->n_region; r++) pin_region(self, op->region[r]);
    }
    for (int i = 0; i < region->n_result; i++) self->fate.at[region->result[i]].pinned = true;
}

static void find_uses(late_t *self)
{
    const ir_region_t *body = self->fn->body;
    for (uint32_t v = 0; v < self->fn->n_value; v++)
        VEC_PUSH(&self->fate, ((fate_t){.at = -1, .use = -1, .base = IR_NONE, .copy = IR_NONE}));
    for (int i = 0; i < self->n_op; i++)
        for (int k = 0; k < op_at(self, i)->n_out; k++)
            self->fate.at[op_at(self, i)->out + (ir_val_t)k].at = i;
    for (int i = 0, n = 0; i < self->n_op; i++) {
        const ir_op_t *op = op_at(self, i);
        self->products[i] = n;
        n += is_product(op);
        for (int k = 0; k < op->n_in; k++) note_use(self, op->in[k], i);
        for (int r = 0; r < op->n_region; r++) pin_region(self, op->region[r]);
    }
    for (int i = 0; i < body->n_result; i++) self->fate.at[body->result[i]].pinned = true;
}

/* Are there enough products between the uses before and behind the loss for the memory to matter?
 */
static bool is_far(const late_t *self, ir_val_t v)
{
    int before = self->fate.at[v].at, behind = self->n_op - 1;
    for (int u = self->fate.at[v].use; u >= 0; u = self->uses.at[u].next) {
        int i = self->uses.at[u].op;
        if (i <= self->turn && i > before) before = i;
        if (i > self->turn && i < behind) behind = i;
    }
    return self->products[behind] - self->products[before] >= FAR;
}

/* --- What it is made of ----------------------------------------------------------------------- */

typedef struct {
    ir_val_t top;
    int cost;
    int64_t bytes; /* of values that would be kept for this alone */
    ir_val_t base;
    VEC(ir_val_t) seen;
} walk_t;

/* Is x read as it is where `top` is made again? */
static bool is_leaf(const late_t *self, ir_val_t top, ir_val_t x)
{
    const ir_op_t *op = ir_def(self->fn, x);
    const fate_t *fate = &self->fate.at[x];
    if (!op || op_def(op->code)->kind == K_LITERAL || !is_elementwise(op)) return true;
    if (x == top || fate->dropped) return false;
    return fate->late || bytes_of(self, x) * SMALL <= bytes_of(self, top);
}

static void walk(const late_t *self, walk_t *w, ir_val_t x)
{
    const ir_op_t *op = ir_def(self->fn, x);
    for (size_t i = 0; i < w->seen.n; i++)
        if (w->seen.at[i] == x) return;
    VEC_PUSH(&w->seen, x);
    if (!is_leaf(self, w->top, x)) {
        w->cost += roots_cost(op);
        for (int k = 0; k < op->n_in && w->cost <= DEAR; k++) walk(self, w, op->in[k]);
        return;
    }
    if (op && op_def(op->code)->kind == K_LITERAL) return;
    if (op && !self->fate.at[x].late) w->bytes += bytes_of(self, x);
    bool first = w->base == IR_NONE || (op && is_argument(self, w->base));
    if (first && bytes_of(self, x) * SMALL > bytes_of(self, w->top)) w->base = x;
}

/* --- Who would read it ------------------------------------------------------------------------ */

/* What x, seen through views, is made of, when it is dropped or a base itself. */
static ir_val_t base_of(const late_t *self, ir_val_t x)
{
    const ir_op_t *op = ir_def(self->fn, x);
    while (op && is_view(op) && !self->fate.at[x].dropped && !self->fate.at[x].late) {
        x = op->in[0];
        op = ir_def(self->fn, x);
    }
    return self->fate.at[x].dropped ? self->fate.at[x].base : x;
}

/* The product behind the first row pass after product i that reads `base`; 0: not soon. */
static int next_product(const late_t *self, int i, ir_val_t base)
{
    bool *made = mem_calloc(self->fn->n_value, sizeof *made); /* by that pass */
    int found = 0;
    for (int k = i + 1; k < self->n_op && found == 0; k++) {
        const ir_op_t *op = op_at(self, k);
        bool reads = false;
        if (self->products[k] - self->products[i] > WAIT) break;
        for (int a = 0; a < op->n_in; a++)
            reads = reads || made[op->in[a]] ||
                    (!is_product(op) && !is_view(op) && base_of(self, op->in[a]) == base);
        if (!reads) continue;
        if (is_product(op)) found = k;
        for (int o = 0; o < op->n_out; o++) made[op->out + (ir_val_t)o] = true;
    }
    free(made);
    return found;
}

/* Behind the loss: may every reader of v read a copy? Products among them come to wait, when
 * `commit`, and are counted in *n. */
static bool readers_fit(late_t *self, ir_val_t v, ir_val_t base, bool commit, int *n)
{
    if (self->fate.at[v].pinned) return false;
    for (int u = self->fate.at[v].use; u >= 0; u = self->uses.at[u].next) {
        int i = self->uses.at[u].op;
        const ir_op_t *op = op_at(self, i);
        if (i <= self->turn) continue;
        if (is_view(op)) {
            if (!readers_fit(self, op->out, base, commit, n)) return false;
        } else if (op->code == OP_dot_general && is_argument(self, base)) {
            *n += 1;
        } else if (op->code == OP_dot_general) {
            int until = base == IR_NONE ? 0 : next_product(self, i, base);
            if (until == 0) return false;
            if (commit && until > self->until[i]) self->until[i] = until;
            *n += 1;
        } else if (!is_elementwise(op) && op->code != OP_reduce) {
            return false;
        }
    }
    return true;
}

/* What the copies cost that v needs and no other before it. */
static void count_work(late_t *self, const walk_t *w)
{
    for (size_t i = 0; i < w->seen.n; i++) {
        ir_val_t x = w->seen.at[i];
        if (self->fate.at[x].counted || is_leaf(self, w->top, x)) continue;
        self->fate.at[x].counted = true;
        self->work += (double)roots_cost(ir_def(self->fn, x)) *
                      (double)ir_type_count(ir_type_of(self->fn, x));
    }
}

/* A view of a parameter costs nothing to keep; one of what is dropped goes with it. */
static bool is_wanted(const late_t *self, const walk_t *w, const choice_t *choice)
{
    bool weight = is_argument(self, w->base);
    if (w->cost > choice->dearest || w->bytes * 2 > bytes_of(self, w->top)) return false;
    return weight ? w->cost > 0 : choice->rows;
}

static void consider(late_t *self, ir_val_t v, const choice_t *choice)
{
    fate_t *fate = &self->fate.at[v];
    const ir_op_t *op = ir_def(self->fn, v);
    int n_product = 0;
    if (!op || !fate->late || fate->at > self->turn || !is_elementwise(op)) return;
    if (ir_type_count(ir_type_of(self->fn, v)) < LEAST || !is_far(self, v)) return;
    walk_t w = {.top = v, .base = IR_NONE};
    walk(self, &w, v);
    if (!choice->weights && is_argument(self, w.base)) w.base = IR_NONE;
    if (is_wanted(self, &w, choice) && readers_fit(self, v, w.base, false, &n_product)) {
        count_work(self, &w);
        bool again = is_argument(self, w.base) && is_view(op); /* counted with its operand */
        if (n_product > 0 && !again) self->saved += (uint64_t)bytes_of(self, v);
        readers_fit(self, v, w.base, true, &n_product);
        fate->dropped = true;
        fate->base = w.base;
    }
    VEC_FREE(&w.seen);
}

static void choose(late_t *self, choice_t choice)
{
    self->work = 0;
    self->saved = 0;
    memset(self->until, 0, (size_t)self->n_op * sizeof *self->until);
    for (size_t v = 0; v < self->fate.n; v++)
        self->fate.at[v].dropped = self->fate.at[v].counted = false;
    for (int i = 0; i <= self->turn; i++)
        if (op_at(self, i)->n_out == 1) consider(self, op_at(self, i)->out, &choice);
}

/* Additions and multiplications of all products, those of bf16 as half: they take half the time. */
static double product_work(const late_t *self)
{
    double work = 0;
    for (int i = 0; i < self->n_op; i++) {
        const ir_op_t *op = op_at(self, i);
        if (op->code != OP_dot_general) continue;
        ir_dot_t dims;
        ir_dot_dims(op, &dims);
        bool bf16 = ir_type_of(self->fn, op->in[0])->dtype == DT_BF16;
        double one = (bf16 ? 1.0 : 2.0) * (double)ir_type_count(ir_type_of(self->fn, op->out));
        for (int k = 0; k < dims.n_contract; k++)
            one *= (double)ir_type_of(self->fn, op->in[0])->dim[dims.lhs_contract[k]];
        work += one;
    }
    return work;
}

/* --- The new order ---------------------------------------------------------------------------- */

static void emit(late_t *self, ir_op_t *op);

/* The copy of x, which `top` is made of, or x itself. */
static ir_val_t copy_of(late_t *self, ir_val_t top, ir_val_t x)
{
    if (is_leaf(self, top, x)) return x;
    if (self->fate.at[x].copy != IR_NONE) return self->fate.at[x].copy;
    ir_op_t *op = ir_def(self->fn, x);
    ir_type_t type = *ir_type_of(self->fn, x);
    ir_val_t *in = mem_calloc((size_t)op->n_in + 1, sizeof *in);
    for (int k = 0; k < op->n_in; k++) in[k] = copy_of(self, top, op->in[k]);
    ir_op_t *copy = ir_op_new(self->fn, op->code, op->n_in, in, 1, &type, 0);
    copy->attrs = op->attrs;
    copy->line = op->line;
    VEC_PUSH(&self->order, copy);
    self->fate.at[x].copy = copy->out;
    free(in);
    return copy->out;
}

/* With all that it reads before it. */
static void emit(late_t *self, ir_op_t *op)
{
    fate_t *fate = op->n_out > 0 ? &self->fate.at[op->out] : NULL;
    if (fate && fate->emitted) return;
    if (fate) fate->emitted = true;
    for (int k = 0; k < op->n_in; k++) {
        ir_val_t x = op->in[k];
        if (self->fate.at[x].dropped)
            op->in[k] = copy_of(self, x, x);
        else if (ir_def(self->fn, x))
            emit(self, ir_def(self->fn, x));
    }
    VEC_PUSH(&self->order, op);
}

static void reorder(late_t *self)
{
    ir_region_t *body = self->fn->body;
    for (int i = 0; i <= self->turn; i++) {
        VEC_PUSH(&self->order, body->op[i]);
        if (body->op[i]->n_out > 0) self->fate.at[body->op[i]->out].emitted = true;
    }
    for (int i = self->turn + 1; i < self->n_op; i++) {
        if (self->until[i] == 0 && !is_view(body->op[i])) emit(self, body->op[i]);
        for (int k = self->turn + 1; k < i && is_product(body->op[i]); k++)
            if (self->until[k] == i) emit(self, body->op[k]);
    }
    for (int i = self->turn + 1; i < self->n_op; i++) emit(self, body->op[i]);
    body->n_op = 0;
    for (size_t i = 0; i < self->order.n; i++)
        ir_region_append(body, self->order.at[i], self->fn->module->arena);
}

/* The op that makes the loss, -1: none. */
static int find_turn(const ir_fn_t *fn)
{
    for (int r = 0; fn->result_attrs && r < fn->body->n_result; r++) {
        const char *role = attr_text(&fn->result_attrs[r], "pcp.role", "");
        const char *name = attr_text(&fn->result_attrs[r], "pcp.name", "");
        if (strcmp(role, "result") != 0 || strcmp(name, "loss") != 0) continue;
        for (int i = 0; i < fn->body->n_op; i++)
            if (fn->body->op[i] == ir_def(fn, fn->body->result[r])) return i;
    }
    return -1;
}

/* Rows and weights are worth it each for itself; false: neither is. */
static bool choose_all(late_t *self, uint64_t keep)
{
    choice_t choice = {.dearest = CHEAP, .weights = true};
    choose(self, choice);
    bool light = keep == 0 || self->work * LIGHT <= product_work(self);
    choice.weights = light && self->saved >= keep;
    choice.rows = true;
    choice.dearest = DEAR;
    choose(self, (choice_t){.dearest = DEAR, .rows = true});
    int share = self->lower->caps.many ? SHARE_MANY : SHARE;
    if (keep > 0 && self->work * share > product_work(self)) {
        choice.dearest = CHEAP;
        choose(self, (choice_t){.dearest = CHEAP, .rows = true});
    }
    choice.rows = self->saved >= keep;
    choose(self, choice);
    return choice.rows || choice.weights;
}

void recompute_late(lower_t *lower, uint64_t keep)
{
    late_t self = {.lower = lower, .fn = lower->fn, .n_op = lower->fn->body->n_op};
    lower->turn = self.turn = find_turn(lower->fn);
    lower->again = lower->fn->n_value;
    if (self.turn < 0) return;
    self.products = mem_calloc((size_t)self.n_op + 1, sizeof *self.products);
    self.until = mem_calloc((size_t)self.n_op + 1, sizeof *self.until);
    find_uses(&self);
    if (choose_all(&self, keep)) reorder(&self);
    VEC_FREE(&self.fate);
    VEC_FREE(&self.uses);
    VEC_FREE(&self.order);
    free(self.products);
    free(self.until);
}
