/* Which threads of a group see what: loops over columns that keep what is their own at a distance, as those of a
 * concatenation do, need not wait for each other where the distance is a multiple of the group's size. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "codegen/render/render_share.h"

/* Columns of a loop, as they are kept or read: element first + x for column x < n. */
typedef struct {
    int array;
    int64_t first, n;
} span_t;
typedef VEC(span_t) spans_t;

typedef struct {
    const kernel_t *kernel;
    int64_t *lo, *n; /* by variable: of the loop over columns, n 0: it has none */
    spans_t kept, read;
    bool known;
} apart_t;

static const kx_node_t *node(const kernel_t *kernel, kx_t x)
{
    return &kernel->graph.node.at[x];
}

static void find_loops(apart_t *self, const kblock_t *block)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        find_loops(self, &s->body);
        if (s->kind != KS_FOR || !s->simd) continue;
        const kx_node_t *lo = node(self->kernel, s->lo);
        int64_t n = share_columns(self->kernel, s);
        self->known = self->known && lo->lo == lo->hi && n > 0;
        self->known = self->known && (self->n[s->var] == 0 ||
                                      (self->n[s->var] == n && self->lo[s->var] == lo->lo));
        self->lo[s->var] = lo->lo;
        self->n[s->var] = n;
    }
}

static void add(apart_t *self, spans_t *spans, int array, kx_t index)
{
    const kx_node_t *n = node(self->kernel, index), *column = n;
    bool sum = n->kind == KX_AFFINE && n->n_in == 1 && n->coef[0] == 1;
    if (sum) column = node(self->kernel, n->in[0]);
    self->known = self->known && column->kind == KX_VAR && self->n[column->i] > 0;
    if (!self->known) return;
    span_t span = {array, (sum ? n->i : 0) + self->lo[column->i], self->n[column->i]};
    VEC_PUSH(spans, span);
}

static void find_kept(apart_t *self, const kblock_t *block)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        if (s->kind == KS_KEEP) add(self, &self->kept, s->target, s->index);
        find_kept(self, &s->body);
    }
}

/* What the kernel has written to memory may be anybody's. */
static void find_read(apart_t *self, const bool *used)
{
    for (size_t i = 0; i < self->kernel->graph.node.n; i++) {
        const kx_node_t *n = node(self->kernel, (kx_t)i);
        if (!used[i]) continue;
        if (n->kind == KX_LOCAL) add(self, &self->read, (int)n->i, n->in[0]);
        if (n->kind == KX_LOAD && self->kernel->arg.at[n->i].written) self->known = false;
    }
}

static int64_t common(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The greatest common divisor of distances between columns of the same element, 0: there is none. */
static int64_t distances(const span_t *kept, const spans_t *spans, int64_t so_far)
{
    for (size_t i = 0; i < spans->n; i++) {
        const span_t *s = &spans->at[i];
        bool meet = s->array == kept->array && s->first < kept->first + kept->n &&
                    kept->first < s->first + s->n;
        if (meet) so_far = common(so_far, llabs(kept->first - s->first));
    }
    return so_far;
}

int64_t share_apart_by(const kernel_t *kernel, const bool *used)
{
    apart_t self = {.kernel = kernel, .known = true};
    int64_t by = 0;
    self.lo = mem_calloc(kernel->graph.var.n + 1, sizeof *self.lo);
    self.n = mem_calloc(kernel->graph.var.n + 1, sizeof *self.n);
    find_loops(&self, &kernel->body);
    find_kept(&self, &kernel->body);
    find_read(&self, used);
    for (size_t i = 0; i < self.kept.n; i++) {
        by = distances(&self.kept.at[i], &self.kept, by);
        by = distances(&self.kept.at[i], &self.read, by);
    }
    bool known = self.known;
    VEC_FREE(&self.kept);
    VEC_FREE(&self.read);
    free(self.lo);
    free(self.n);
    return known ? by : -1;
}
