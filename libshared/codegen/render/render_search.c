/* A loop that is a search: something is done in some of its rounds alone, in their order. The threads of a warp look at
 * rounds of their own, PCP_LOOKS each before they tell each other, and note which to do; what is noted all do
 * together, so that what it reads is on its way for several rounds at once. */
#include <inttypes.h>

#include "codegen/render/render_share.h"

/* Elements that a thread has on its way while what was found is done, as far as its columns allow. */
enum { ON_THE_WAY = 16, MOST_ROUNDS = 8 };

static const turns_t *own(const render_t *self)
{
    return self->own;
}

void turns_search_room(str_t *out, int threads)
{
    str_addf(out, "    __shared__ int rooms[%d / PCP_WARP][PCP_FOUND];\n", threads);
}

/* Is the loop's length a constant, and all of a warp's looks rounds of it? */
static bool is_whole(const render_t *self, const kstmt_t *s)
{
    enum { LOOKS = 8 * 64 }; /* of the largest warp */
    int64_t n = share_columns(self->kernel, s);
    return n > 0 && n % LOOKS == 0;
}

static void write_bound(render_t *self, kx_t x, const char *behind)
{
    own(self)->lang->index(self, x, self->out);
    str_add(self->out, behind);
}

/* Bit k of `mine`: the thread's k-th look has found something. A look beyond the last round is at that. */
static void write_looks(render_t *self, const kstmt_t *s)
{
    int v = self->loop.at[s->var];
    bool whole = is_whole(self, s);
    kx_t condition = s->body.at[0]->value;
    size_t mark = self->order.n;
    self->depth++;
    render_line(self, "uint mine = 0u;\n");
    render_line(self, own(self)->lang->unroll);
    render_line(self, "for (int k = 0; k < PCP_LOOKS; k++) {\n");
    self->depth++;
    render_line(self, "const int at = first + k * PCP_WARP + int(threadIdx.x) % PCP_WARP;\n");
    render_indent(self);
    str_addf(self->out, "const int i%d = at", v);
    if (!whole) {
        str_add(self->out, " < ");
        write_bound(self, s->hi, " ? at : ");
        write_bound(self, s->hi, " - 1");
    }
    str_add(self->out, ";\n");
    render_declare_here(self, condition);
    render_indent(self);
    str_add(self->out, "mine |= uint(");
    render_use(self, condition, self->out);
    if (!whole) {
        str_add(self->out, " & (at < ");
        write_bound(self, s->hi, ")");
    }
    str_add(self->out, ") << k;\n");
    self->depth--;
    render_line(self, "}\n");
    self->depth--;
    render_leave(self, mark);
}

static void write_found(render_t *self, const kstmt_t *s)
{
    int64_t turns = own(self)->plan.turns, rounds = turns > 0 ? ON_THE_WAY / turns : 1;
    rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    self->depth++;
    render_line(self, "pcp_sync_warp();\n");
    if (rounds > 1) {
        render_indent(self);
        str_addf(self->out, "#pragma unroll %" PRId64 "\n", rounds);
    }
    render_indent(self);
    str_addf(self->out, "for (int k = 0; k < n_found; k++) { const int i%d = found[k];\n",
             self->loop.at[s->var]);
    self->depth--;
    render_block(self, &s->body.at[0]->body);
    self->depth++;
    render_line(self, "}\n");
    render_line(self, "n_found = 0;\n");
    render_line(self, "pcp_sync_warp();\n");
    self->depth--;
}

void turns_search(render_t *self, const kstmt_t *s)
{
    render_line(self, "{\n");
    render_line(self, "int *const found = rooms[threadIdx.x / PCP_WARP];\n");
    render_line(self, "int n_found = 0;\n");
    render_indent(self);
    str_add(self->out, "for (int first = ");
    write_bound(self, s->lo, "; first < ");
    write_bound(self, s->hi, "; first += PCP_LOOKS * PCP_WARP) {\n");
    write_looks(self, s);
    self->depth++;
    render_line(self, "n_found = pcp_find(mine, first, found, n_found);\n");
    render_indent(self);
    str_add(self->out, "if (n_found <= PCP_FOUND / 2 && first + PCP_LOOKS * PCP_WARP < ");
    write_bound(self, s->hi, ") continue;\n");
    self->depth--;
    write_found(self, s);
    render_line(self, "}\n");
    render_line(self, "}\n");
}
