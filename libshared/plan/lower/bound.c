/* Bounds on the expression that stands for one element of a value: how deep it is, and how many
 * elements it reads. A value beyond them gets storage, so that an expression grows neither with the
 * length of a program nor, where views of one value meet again and again, exponentially. */
#include <stdlib.h>

#include "plan/lower/lower.h"

enum {
    MAX_CHAIN = 128, /* ops inlined into one another: expressions are walked by recursion */
    MAX_READS = 256, /* elements that one element is made of */
};

/* Elements are told apart by the value read and the views on the way to it: a hash of both. */
typedef VEC(uint64_t) reads_t;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
    return x ^ x >> 27;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void sort_once(reads_t *reads)
{
    size_t n = 0;
    if (reads->n > 1) qsort(reads->at, reads->n, sizeof *reads->at, by_value);
    for (size_t i = 0; i < reads->n; i++)
        if (n == 0 || reads->at[n - 1] != reads->at[i]) reads->at[n++] = reads->at[i];
    reads->n = n;
}

/* What an element of op's result reads: of a root one element, of another operand what that reads,
 * through a view elsewhere. Up to MAX_READS of each operand. */
static void find_reads(const lower_t *self, const ir_op_t *op, const reads_t *known, reads_t *to)
{
    bool view = op_def(op->code)->kind == K_VIEW;
    for (int k = 0; k < op->n_in && to->n <= 8 * MAX_READS; k++) {
        ir_val_t v = op->in[k];
        if (k > 0 && v == op->in[k - 1]) continue;
        const reads_t *in = &known[v];
        if (self->value[v].root || in->n == 0) VEC_PUSH(to, mix((uint64_t)v + 1));
        for (size_t i = 0; i < in->n && !self->value[v].root; i++) VEC_PUSH(to, in->at[i]);
    }
    if (view)
        for (size_t i = 0; i < to->n; i++) to->at[i] = mix(to->at[i] + 31 * (uint64_t)op->out);
    sort_once(to);
}

static int chain_of(const lower_t *self, const ir_op_t *op)
{
    int chain = 1;
    for (int k = 0; k < op->n_in; k++) {
        const lvalue_t *in = &self->value[op->in[k]];
        if (!in->root && in->chain >= chain) chain = in->chain + 1;
    }
    return chain;
}

void roots_bound(lower_t *self)
{
    const ir_region_t *body = self->fn->body;
    reads_t *known = mem_calloc((size_t)self->fn->n_value + 1, sizeof *known);
    for (int i = 0; i < body->n_op; i++) {
        const ir_op_t *op = body->op[i];
        if (op->n_out != 1) continue;
        lvalue_t *lv = &self->value[op->out];
        lv->chain = chain_of(self, op);
        if (!lv->root) find_reads(self, op, known, &known[op->out]);
        if (lv->chain >= MAX_CHAIN || known[op->out].n > MAX_READS) lv->root = true;
        if (lv->root) VEC_FREE(&known[op->out]);
    }
    for (uint32_t v = 0; v < self->fn->n_value; v++) VEC_FREE(&known[v]);
    free(known);
}
