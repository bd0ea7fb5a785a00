#include "codegen/c/render_cold.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { LINE = 64, AHEAD = 512 /* turns */, SHORTEST = 512 };

const char cold_head[] =
    "/* Past the caches where whole lines are written. */\n"
    "static inline void kc_past(void *to, const void *from, int64_t n)\n"
    "{\n"
    "    if ((uintptr_t)to % 64 || n % 64) {\n"
    "        __builtin_memcpy(to, from, (uint64_t)n);\n"
    "        return;\n"
    "    }\n"
    "    for (int64_t i = 0; i < n; i += 64) KC_STREAM((char *)to + i, (const char *)from + i);\n"
    "}\n";

bool cold_is_in(const char *text)
{
    return strstr(text, "kc_past(") != NULL;
}

static const kx_node_t *node(const render_t *self, kx_t x)
{
    return &self->kernel->graph.node.at[x];
}

/* Does variable u grow by one with v, the last of the parts that it was split into? */
static bool var_steps(const render_t *self, int u, int v)
{
    while (u >= 0 && u != v) u = self->kernel->graph.var.at[u].lo;
    return u == v;
}

/* Does the index grow by one with v, and is the rest of it known before v's loop? */
static bool steps(render_t *self, kx_t index, int v)
{
    const kx_node_t *n = node(self, index);
    int found = 0;
    if (n->kind == KX_VAR) return var_steps(self, (int)n->i, v);
    if (n->kind != KX_AFFINE) return false;
    for (int t = 0; t < n->n_in; t++) {
        const kx_node_t *in = node(self, n->in[t]);
        if (n->coef[t] == 1 && in->kind == KX_VAR && in->i == v)
            found++;
        else if (render_level(self, n->in[t]) > self->depth)
            return false;
    }
    return found == 1;
}

static void find_loads(render_t *self, kx_t x, bool *seen, cold_t *cold)
{
    const kx_node_t *n = node(self, x);
    if (seen[x]) return;
    seen[x] = true;
    for (int t = 0; t < n->n_in; t++) find_loads(self, n->in[t], seen, cold);
    if (n->kind == KX_LOAD && cold->n_load < COLD_LOADS && steps(self, n->in[0], cold->var))
        cold->load[cold->n_load++] = x;
}

/* The one result of two bytes where nothing of two bytes is read: no operand lies in its place. */
static void find_past(render_t *self, const kstmt_t *loop, cold_t *cold)
{
    const kernel_t *k = self->kernel;
    for (size_t i = 0; i < k->arg.n; i++)
        if (!k->arg.at[i].written && dtype_is_narrow(k->arg.at[i].dtype)) return;
    const kstmt_t *store = NULL;
    for (size_t i = 0; i < loop->body.n; i++) {
        const kstmt_t *s = loop->body.at[i];
        if (!dtype_is_narrow(k->arg.at[s->target].dtype)) continue;
        if (store) return;
        store = s;
    }
    if (!store || !steps(self, store->index, cold->var)) return;
    cold->past = store->target;
    cold->past_index = store->index;
}

bool cold_find(render_t *self, const kstmt_t *loop, cold_t *cold)
{
    *cold = (cold_t){.var = loop->var, .past = -1};
    if (!self->kernel->cold || !loop->simd || loop->lo == KX_NONE) return false;
    const kx_node_t *lo = node(self, loop->lo), *hi = node(self, loop->hi);
    if (lo->n_in > 0 || hi->n_in > 0 || hi->i - lo->i < SHORTEST) return false; /* constants */
    for (size_t i = 0; i < loop->body.n; i++)
        if (loop->body.at[i]->kind != KS_STORE) return false;
    bool *seen = mem_calloc(self->kernel->graph.node.n, sizeof *seen);
    self->walk++;
    for (size_t i = 0; i < loop->body.n; i++) find_loads(self, loop->body.at[i]->value, seen, cold);
    free(seen);
    if (self->kernel->past) find_past(self, loop, cold);
    return cold->n_load > 0;
}

static void write_index(render_t *self, kx_t index)
{
    const kx_node_t *n = node(self, index);
    if (n->kind == KX_VAR)
        render_var(self, (int)n->i, self->out);
    else
        render_use(self, index, self->out);
}

/* The beginning of a block where the loop's variable is so much later than the loop's block. */
static void write_at(render_t *self, const cold_t *cold, int later)
{
    int v = self->loop.at[cold->var];
    render_indent(self);
    str_addf(self->out, "{ const int64_t i%d = b%d + %d; ", v, v, later);
}

void cold_write_begin(render_t *self, const cold_t *cold)
{
    for (int i = 0; i < cold->n_load; i++) {
        const kx_node_t *load = node(self, cold->load[i]);
        write_at(self, cold, AHEAD);
        str_addf(self->out, "for (int p = 0; p < %d; p += %d) __builtin_prefetch(&a%d[", COLD_BLOCK,
                 (int)(LINE / dtype_bytes(load->dtype)), (int)load->i);
        write_index(self, load->in[0]);
        str_add(self->out, " + p]); }\n");
    }
    if (cold->past < 0) return;
    render_indent(self);
    str_addf(self->out, "uint16_t o%d[%d] __attribute__((aligned(64)));\n", cold->past, COLD_BLOCK);
}

void cold_write_end(render_t *self, const cold_t *cold)
{
    if (cold->past < 0) return;
    int v = self->loop.at[cold->var];
    write_at(self, cold, 0);
    str_addf(self->out, "kc_past(&a%d[", cold->past);
    write_index(self, cold->past_index);
    str_addf(self->out, "], o%d, 2 * (e%d - b%d)); }\n", cold->past, v, v);
}
