/* Kernels of the loop-IR as C functions of the plan's ABI (plan/format/plan.h, plan_kernel_fn). Loops over
 * columns carry `omp simd` (compiled with -fopenmp-simd: no run time): the order of a reduction is
 * then the compiler's choice for the target, the same in every run and for every number of threads.
 * */
#include "codegen/render.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/attention.h"
#include "codegen/c/pack_amx.h"
#include "codegen/c/product.h"
#include "codegen/c/render_cold.h"
#include "codegen/c/stream.h"
#include "codegen/c/stream_panels.h"
#include "codegen/c/tile.h"
#include "codegen/c/tile_amx.h"
#include "codegen/c/weave.h"
#include "codegen/narrow.h"
#include "codegen/prelude/prelude_text.h"
#include "codegen/render/render_expr.h"
#include "ir/op.h"

/* Maxima and minima of floats run on integer keys in the same order (prelude): NaN and signed zeros
 * come out right in any order of folding, and the lanes meet in a few instructions. */
static bool is_keyed(const kacc_t *a)
{
    return dtype_is_float(a->dtype) && (a->op == OP_maximum || a->op == OP_minimum);
}

static const char *key_of(const kacc_t *a)
{
    return a->op == OP_maximum ? "max" : "min";
}

static void write_reduction(render_t *self, int acc)
{
    const kacc_t *a = &self->kernel->acc.at[acc];
    const char *sign = NULL;
    switch (a->op) {
    case OP_add: sign = a->dtype == DT_I1 ? "|" : "+"; break;
    case OP_multiply: sign = a->dtype == DT_I1 ? "&" : "*"; break;
    case OP_and: sign = "&"; break;
    case OP_or: sign = "|"; break;
    case OP_xor: sign = "^"; break;
    case OP_maximum: sign = "max"; break;
    case OP_minimum: sign = "min"; break;
    default: break;
    }
    if (is_keyed(a))
        str_addf(self->out, " reduction(%s : key%d)", key_of(a), acc);
    else
        str_addf(self->out, " reduction(%s : acc%d)", sign, acc);
}

/* Reductions that `omp simd` can split into lanes. It puts these together by the plain operator,
 * which does not wrap integers of less than a byte. */
static bool has_lanes(const kacc_t *a)
{
    op_code_t op = a->op;
    if (dtype_is_int(a->dtype) && dtype_bits(a->dtype) < 8) return false;
    return op == OP_add || op == OP_multiply || op == OP_and || op == OP_or || op == OP_xor ||
           op == OP_maximum || op == OP_minimum;
}

/* A block of its own, since several loops of one block may fold into the same accumulator. */
static void write_keys(render_t *self, const bool *folds)
{
    bool any = false;
    for (size_t i = 0; i < self->kernel->acc.n; i++) {
        const kacc_t *a = &self->kernel->acc.at[i];
        if (!folds[i] || !is_keyed(a)) continue;
        const char *t = render_suffix(a->dtype);
        render_indent(self);
        str_addf(self->out, "%sint%s_t key%zu = pcp_%s_key_%s(acc%zu);\n", any ? "" : "{ ", t + 1,
                 i, key_of(a), t, i);
        self->keyed.at[i] = any = true;
    }
}

/* After the loop: accumulators are themselves again. */
static void write_keys_end(render_t *self)
{
    bool any = false;
    for (size_t i = 0; i < self->kernel->acc.n; i++) {
        if (!self->keyed.at[i]) continue;
        render_indent(self);
        str_addf(self->out, "acc%zu = pcp_of_key_%s(key%zu);\n", i,
                 render_suffix(self->kernel->acc.at[i].dtype), i);
        self->keyed.at[i] = false;
        any = true;
    }
    if (!any) return;
    render_indent(self);
    str_add(self->out, "}\n");
}

static void write_simd(render_t *self, const kstmt_t *loop)
{
    size_t n = self->kernel->acc.n;
    bool *folds = mem_calloc(n + 1, sizeof *folds), lanes = true;
    render_find_folds(&loop->body, folds);
    for (size_t i = 0; i < n; i++)
        lanes = lanes && (!folds[i] || has_lanes(&self->kernel->acc.at[i]));
    if (lanes) {
        write_keys(self, folds);
        str_add(self->out, "#pragma omp simd");
        for (size_t i = 0; i < n; i++)
            if (folds[i]) write_reduction(self, (int)i);
        str_add(self->out, "\n");
    }
    free(folds);
}

/* f32 sums over long loops go by blocks: of 65,536 columns each lane would add 4,096 numbers one by
 * one, and the rounding of each step adds up. With two levels the error is that of a block. */
enum { SUM_BLOCK = 1024, MOST_SUM = 4096 /* by one level */ };

static bool is_block_sum(const kacc_t *a)
{
    return a->op == OP_add && a->dtype == DT_F32;
}

/* Which accumulators the loop sums by blocks; false when none. sums[kernel->acc.n], zeroed. */
static bool find_block_sums(const render_t *self, const kstmt_t *s, bool *sums)
{
    if (!s->simd || s->lo == KX_NONE) return false;
    const kx_node_t *lo = &self->kernel->graph.node.at[s->lo];
    const kx_node_t *hi = &self->kernel->graph.node.at[s->hi];
    bool is_long = lo->n_in == 0 && hi->n_in == 0 && hi->i - lo->i > MOST_SUM; /* constants */
    bool any = false;
    if (is_long) render_find_folds(&s->body, sums);
    for (size_t i = 0; i < self->kernel->acc.n; i++) {
        sums[i] = sums[i] && is_block_sum(&self->kernel->acc.at[i]);
        any |= sums[i];
    }
    return any;
}

/* Open the loop over blocks of [lo, hi), which become the bounds of one block. */
static void write_blocks_begin(render_t *self, int v, int block, const bool *sums, str_t *lo,
                               str_t *hi)
{
    render_indent(self);
    str_addf(self->out, "for (int64_t b%d = %s; b%d < %s; b%d += %d) {\n", v, str_text(lo), v,
             str_text(hi), v, block);
    render_indent(self);
    str_addf(self->out, "const int64_t e%d = b%d + %d < %s ? b%d + %d : %s;\n", v, v, block,
             str_text(hi), v, block, str_text(hi));
    for (size_t i = 0; i < self->kernel->acc.n; i++) {
        if (!sums[i]) continue;
        render_indent(self);
        str_addf(self->out, "const float part%zu = acc%zu; acc%zu = 0;\n", i, i, i);
    }
    str_fini(lo);
    str_fini(hi);
    str_addf(lo, "b%d", v);
    str_addf(hi, "e%d", v);
}

static void write_blocks_end(render_t *self, const bool *sums)
{
    for (size_t i = 0; i < self->kernel->acc.n; i++) {
        if (!sums[i]) continue;
        render_indent(self);
        str_addf(self->out, "acc%zu = pcp_add_f32(part%zu, acc%zu);\n", i, i, i);
    }
    render_indent(self);
    str_add(self->out, "}\n");
}

static void write_for(render_t *self, const kstmt_t *s)
{
    bool *sums = mem_calloc(self->kernel->acc.n + 1, sizeof *sums);
    bool blocks = find_block_sums(self, s, sums);
    const int block = blocks ? SUM_BLOCK : COLD_BLOCK;
    cold_t cold;
    bool is_cold = cold_find(self, s, &cold);
    str_t lo = {0}, hi = {0};
    if (s->lo == KX_NONE) {
        str_add(&lo, "begin");
        str_add(&hi, "end");
    } else {
        render_use(self, s->lo, &lo);
        render_use(self, s->hi, &hi);
    }
    int v = self->loop.at[s->var];
    if (blocks || is_cold) write_blocks_begin(self, v, block, sums, &lo, &hi);
    if (is_cold) cold_write_begin(self, &cold);
    self->own = is_cold && cold.past >= 0 ? &cold : NULL;
    if (s->simd) write_simd(self, s);
    render_indent(self);
    str_addf(self->out, "for (int64_t i%d = %s; i%d < %s; i%d++) {\n", v, str_text(&lo), v,
             str_text(&hi), v);
    str_fini(&lo);
    str_fini(&hi);
    render_block(self, &s->body);
    render_indent(self);
    str_add(self->out, "}\n");
    self->own = NULL;
    if (s->simd) write_keys_end(self);
    if (is_cold) cold_write_end(self, &cold);
    if (blocks || is_cold) write_blocks_end(self, sums);
    free(sums);
}

static void write_store(render_t *self, const kstmt_t *s, const char *base, dtype_t dtype)
{
    const cold_t *cold = self->own;
    render_indent(self);
    if (!cold || base[0] != 'a' || s->target != cold->past) {
        render_store(self, s, base, dtype);
        return;
    }
    int v = self->loop.at[cold->var];
    str_addf(self->out, "o%d[i%d - b%d]", cold->past, v, v);
    render_stored(self, s, dtype);
}

static void write_accumulate(render_t *self, const kstmt_t *s)
{
    const kacc_t *a = &self->kernel->acc.at[s->target];
    str_t value = {0};
    char name[24];
    render_use(self, s->value, &value);
    snprintf(name, sizeof name, "acc%d", s->target);
    render_indent(self);
    if (s->kind == KS_START) {
        str_addf(self->out, "%s %s = %s;\n", render_type(a->dtype), name, str_text(&value));
    } else if (self->keyed.at[s->target]) {
        const char *t = render_suffix(a->dtype), *more = a->op == OP_maximum ? ">" : "<";
        str_addf(self->out,
                 "{ const int%s_t k = pcp_%s_key_%s(%s); key%d = k %s key%d ? k : key%d; }\n",
                 t + 1, key_of(a), t, str_text(&value), s->target, more, s->target, s->target);
    } else {
        str_addf(self->out, "%s = ", name);
        render_op(self->out, a->op, a->dtype, a->dtype, 2,
                  (const char *const[]){name, str_text(&value)});
        str_add(self->out, ";\n");
    }
    str_fini(&value);
}

static void write_arguments(render_t *self)
{
    const kernel_t *k = self->kernel;
    for (size_t i = 0; i < k->arg.n; i++) {
        const char *type = render_storage(k->arg.at[i].dtype);
        const char *is_const = k->arg.at[i].written ? "" : "const ";
        str_addf(self->out, "    %s%s *const a%zu = (%s%s *)(arena + arg[%zu]);\n", is_const, type,
                 i, is_const, type, i);
    }
    for (size_t i = 0; i < k->array.n; i++)
        str_addf(self->out, "    %s l%zu[%" PRId64 "] __attribute__((aligned(64)));\n",
                 render_storage(k->array.at[i].dtype), i, k->array.at[i].n);
}

static const render_lang_t lang = {
    .type = render_node_type,
    .cell_type = render_type,
    .sum = render_sum,
    .number = render_number,
    .node = render_node,
    .loop = write_for,
    .store = write_store,
    .accumulate = write_accumulate,
};

void render_c(const kernel_t *kernel, helpers_t *helpers, str_t *out)
{
    if (kernel->kind == KERNEL_PRODUCT) {
        product_render(kernel->product, helpers, out);
        return;
    }
    render_t self;
    render_begin(&self, kernel, &lang, out);
    str_add(out, "(char *arena, const int64_t *arg, int64_t begin, int64_t end)\n{\n");
    write_arguments(&self);
    if (kernel->kind == KERNEL_ATTENTION && kernel->attention->kept)
        kept_render(kernel, out);
    else if (kernel->kind == KERNEL_ATTENTION)
        attention_render(kernel, out);
    else if (kernel->kind == KERNEL_STREAM)
        stream_render(kernel, out);
    else if (kernel->kind == KERNEL_LINES)
        stream_panels_render_lines(kernel, out);
    else if (kernel->kind == KERNEL_WEAVE)
        weave_render(kernel, out);
    else
        render_block(&self, &kernel->body);
    if (cold_is_in(str_text(out))) str_add(out, "    __builtin_ia32_sfence();\n");
    str_add(out, "}\n");
    render_end(&self);
}

static const char head[] =
    "PCP_FN float kc_round_bf16(float x) { return pcp_f32_from_bf16(pcp_bf16_from_f32(x)); "
    "}\n"
    "PCP_FN float kc_round_f16(float x) { return pcp_f32_from_f16(pcp_f16_from_f32(x)); }\n"
    "PCP_FN int8_t kc_wrap_i2(int8_t x) { return (int8_t)((int8_t)(x << 6) >> 6); }\n"
    "PCP_FN int8_t kc_wrap_i4(int8_t x) { return (int8_t)((int8_t)(x << 4) >> 4); }\n"
    "PCP_FN uint8_t kc_wrap_ui2(uint8_t x) { return x & 3; }\n"
    "PCP_FN uint8_t kc_wrap_ui4(uint8_t x) { return x & 15; }\n"
    "\n";

void render_c_rounding(str_t *out)
{
    str_add(out, head);
}

/* ops/complex_math.h names what it defines so. */
static bool has_complex(const char *text)
{
    return strstr(text, "_real_f") || strstr(text, "_imag_f") || strstr(text, "pcp_cabs_f");
}

static void write_head(str_t *out, bool attends, int n, char *const *text)
{
    bool is_complex = false, keeps = false;
    for (int i = 0; i < n; i++) {
        is_complex = is_complex || has_complex(text[i]);
        keeps = keeps || kept_is_in(text[i]);
    }
    str_add(out, prelude_text());
    str_add(out, "\n");
    if (attends) {
        str_add(out, tile_amx_head);
        str_add(out, prelude_attention_text());
        if (keeps) str_add(out, prelude_kept_text());
    }
    if (is_complex) str_add(out, prelude_complex_text());
    render_c_rounding(out);
    narrow_head(out, n, text);
}

void render_c_head_plain(str_t *out, int n, char *const *text)
{
    write_head(out, false, n, text);
}

void render_c_head(str_t *out, int n, char *const *text)
{
    bool attends = false, streams = false, splits = false, weaves = false, past = false;
    for (int i = 0; i < n; i++) {
        past = past || cold_is_in(text[i]);
        splits = splits || product_splits(text[i]);
        attends = attends || attention_is_in(text[i]);
        streams = streams || stream_is_in(text[i]);
        weaves = weaves || weave_is_in(text[i]);
    }
    write_head(out, attends, n, text);
    str_add(out, tile_head);
    str_add(out, tile_amx_head);
    str_add(out, pack_amx_head);
    if (past) str_add(out, cold_head);
    if (streams) str_add(out, prelude_stream_text());
    if (splits) str_add(out, prelude_split_text());
    if (weaves) str_add(out, prelude_weave_text());
}
