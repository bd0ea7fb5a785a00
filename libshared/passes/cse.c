/* Common subexpression elimination: value numbering by hash over op, operands, attributes, result
 * types and regions, in place. An op in a region may be replaced by one from around it, never the
 * other way: entries made in a region leave the table with it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "passes/effects.h"
#include "passes/passes.h"

typedef struct {
    const ir_op_t *op;
    uint64_t hash;
    int next; /* the entry it hides in its bucket; -1 */
} entry_t;

typedef struct {
    const ir_fn_t *fn;
    ir_val_t *same; /* per value: the value that stands for it */
    int *bucket;    /* newest entry of each bucket; -1 */
    size_t n_bucket;
    VEC(entry_t) entry; /* a stack: newest last */
} cse_t;

/* --- hash --- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

/* Operands of a commutative op in ascending order. */
static void ordered(const ir_op_t *op, ir_val_t in[2])
{
    bool swap = op->in[0] > op->in[1];
    in[0] = op->in[swap];
    in[1] = op->in[!swap];
}

static bool has_order(const ir_op_t *op)
{
    return !(op->n_in == 2 && op_def(op->code)->commutative);
}

static uint64_t op_hash(const ir_op_t *op)
{
    uint64_t h = mix((uint64_t)op->code, attrs_hash(&op->attrs));
    ir_val_t pair[2];
    const ir_val_t *in = op->in;
    if (!has_order(op)) {
        ordered(op, pair);
        in = pair;
    }
    for (int i = 0; i < op->n_in; i++) h = mix(h, in[i]);
    for (int r = 0; r < op->n_region; r++)
        for (int i = 0; i < op->region[r]->n_op; i++) h = mix(h, op->region[r]->op[i]->code);
    return h;
}

/* --- equality --- */

/* Values of two regions that correspond; regions are small, so a list is searched. */
typedef struct {
    VEC(ir_val_t) a;
    VEC(ir_val_t) b;
} pairs_t;

static void pair_up(pairs_t *pairs, ir_val_t a, ir_val_t b, int n)
{
    for (int i = 0; i < n; i++) {
        VEC_PUSH(&pairs->a, a + (ir_val_t)i);
        VEC_PUSH(&pairs->b, b + (ir_val_t)i);
    }
}

static bool values_match(const pairs_t *pairs, int n, const ir_val_t *a, const ir_val_t *b)
{
    for (int i = 0; i < n; i++) {
        bool found = a[i] == b[i];
        for (size_t k = pairs->a.n; k-- > 0 && !found;)
            found = pairs->a.at[k] == a[i] && pairs->b.at[k] == b[i];
        if (!found) return false;
    }
    return true;
}

static bool types_match(const ir_fn_t *fn, int n, ir_val_t a, ir_val_t b)
{
    for (int i = 0; i < n; i++)
        if (!ir_type_equal(ir_type_of(fn, a + (ir_val_t)i), ir_type_of(fn, b + (ir_val_t)i)))
            return false;
    return true;
}

static bool ops_match(const ir_fn_t *fn, const ir_op_t *a, const ir_op_t *b, pairs_t *pairs);

enum { MAX_REGION_OPS = 64 }; /* larger regions count as different: the list above is searched */

static bool regions_match(const ir_fn_t *fn, const ir_region_t *a, const ir_region_t *b,
                          pairs_t *pairs)
{
    if (a->n_arg != b->n_arg || a->n_op != b->n_op || a->n_result != b->n_result) return false;
    if (a->n_op > MAX_REGION_OPS || !types_match(fn, a->n_arg, a->arg, b->arg)) return false;
    pair_up(pairs, a->arg, b->arg, a->n_arg);
    for (int i = 0; i < a->n_op; i++)
        if (!ops_match(fn, a->op[i], b->op[i], pairs)) return false;
    return values_match(pairs, a->n_result, a->result, b->result);
}

static bool ops_match(const ir_fn_t *fn, const ir_op_t *a, const ir_op_t *b, pairs_t *pairs)
{
    if (a->code != b->code || a->n_in != b->n_in || a->n_out != b->n_out ||
        a->n_region != b->n_region || !types_match(fn, a->n_out, a->out, b->out) ||
        !attrs_equal(&a->attrs, &b->attrs))
        return false;
    bool same = values_match(pairs, a->n_in, a->in, b->in);
    if (!same && !has_order(a)) {
        ir_val_t x[2], y[2];
        ordered(a, x);
        ordered(b, y);
        same = values_match(pairs, 2, x, y);
    }
    if (!same) return false;
    for (int r = 0; r < a->n_region; r++)
        if (!regions_match(fn, a->region[r], b->region[r], pairs)) return false;
    pair_up(pairs, a->out, b->out, a->n_out);
    return true;
}

static bool equal(const ir_fn_t *fn, const ir_op_t *a, const ir_op_t *b)
{
    pairs_t pairs = {0};
    bool same = ops_match(fn, a, b, &pairs);
    VEC_FREE(&pairs.a);
    VEC_FREE(&pairs.b);
    return same;
}

/* --- the walk --- */

static const ir_op_t *find(const cse_t *self, const ir_op_t *op, uint64_t hash)
{
    for (int i = self->bucket[hash % self->n_bucket]; i >= 0; i = self->entry.at[i].next) {
        const entry_t *e = &self->entry.at[i];
        if (e->hash == hash && equal(self->fn, e->op, op)) return e->op;
    }
    return NULL;
}

static void insert(cse_t *self, const ir_op_t *op, uint64_t hash)
{
    int *head = &self->bucket[hash % self->n_bucket];
    entry_t e = {.op = op, .hash = hash, .next = *head};
    *head = (int)self->entry.n;
    VEC_PUSH(&self->entry, e);
}

static void leave(cse_t *self, size_t n_before)
{
    while (self->entry.n > n_before) {
        const entry_t *e = &self->entry.at[--self->entry.n];
        self->bucket[e->hash % self->n_bucket] = e->next;
    }
}

static void walk(cse_t *self, ir_region_t *region);

/* True when the op is replaced by an earlier one. */
static bool visit(cse_t *self, ir_op_t *op)
{
    for (int i = 0; i < op->n_in; i++) op->in[i] = self->same[op->in[i]];
    for (int r = 0; r < op->n_region; r++) walk(self, op->region[r]);
    if (!effects_mergeable(op)) return false;
    uint64_t hash = op_hash(op);
    const ir_op_t *twin = find(self, op, hash);
    if (!twin) {
        insert(self, op, hash);
        return false;
    }
    for (int i = 0; i < op->n_out; i++) self->same[op->out + (ir_val_t)i] = twin->out + (ir_val_t)i;
    return true;
}

static void walk(cse_t *self, ir_region_t *region)
{
    size_t n_before = self->entry.n;
    int kept = 0;
    for (int i = 0; i < region->n_op; i++) {
        ir_op_t *op = region->op[i];
        if (!visit(self, op)) region->op[kept++] = op;
    }
    region->n_op = kept;
    for (int i = 0; i < region->n_result; i++) region->result[i] = self->same[region->result[i]];
    leave(self, n_before);
}

static void cse_fn(ir_fn_t *fn)
{
    cse_t self = {.fn = fn, .n_bucket = fn->n_value + 16};
    self.same = mem_calloc(fn->n_value + 1, sizeof *self.same);
    for (ir_val_t v = 0; v < fn->n_value; v++) self.same[v] = v;
    self.bucket = mem_calloc(self.n_bucket, sizeof *self.bucket);
    memset(self.bucket, 0xFF, self.n_bucket * sizeof *self.bucket);
    walk(&self, fn->body);
    VEC_FREE(&self.entry);
    free(self.bucket);
    free(self.same);
}

int pass_cse(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    (void)options;
    (void)err;
    for (int f = 0; f < module->n_fn; f++) cse_fn(module->fn[f]);
    return 0;
}
