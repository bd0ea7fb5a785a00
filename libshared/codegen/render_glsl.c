/* Kernels of the loop-IR as GLSL. A piece of the kernel's extent is the work of one thread; of SHARE
 * threads, which take turns at the columns; or of a group of threads, which also put together what
 * each has folded (glsl_share_t). Sums of f32 over columns are carried in two floats, so that one
 * thread's long sum is as good as many short ones. */
#include "codegen/render_glsl.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/prelude_text.h"
#include "ir/op.h"

static const kx_node_t *node(const kernel_t *kernel, kx_t x)
{
    return &kernel->graph.node.at[x];
}

static const char *precise_type(dtype_t dtype)
{
    if (dtype == DT_F64) return "precise double";
    return dtype_is_float(dtype) ? "precise float" : glsl_type(dtype);
}

/* --- Loops ------------------------------------------------------------------------------------ */

enum { SHORT_SUM = 32 }; /* columns whose sum needs no second float */

/* What is known while a kernel is written. */
typedef struct {
    glsl_plan_t plan;
    bool inside; /* a loop over columns that threads share */
    int loops;   /* around it, other than that over pieces */
    bool *part;  /* by accumulator: the thread's share of it is being folded */
    bool *used;  /* by accumulator: its place for shares was */
} own_t;

static own_t *own(render_t *self)
{
    return self->own;
}

static bool is_long(const kernel_t *kernel, const kstmt_t *s)
{
    const kx_node_t *lo = node(kernel, s->lo), *hi = node(kernel, s->hi);
    return lo->lo != lo->hi || hi->lo != hi->hi || hi->hi - lo->lo > SHORT_SUM;
}

static bool is_sum(const kacc_t *a)
{
    return a->op == OP_add && a->dtype == DT_F32;
}

/* What folding begins with, so that it changes nothing. */
static void write_neutral(str_t *out, const kacc_t *a)
{
    dtype_t t = a->dtype;
    bool is_float = dtype_is_float(t), up = a->op == OP_minimum;
    int bits = dtype_bits(t);
    kx_node_t n = {.kind = KX_NUMBER, .dtype = t};
    if (a->op == OP_multiply) n.f = 1, n.i = 1;
    if (a->op == OP_and) n.i = t == DT_I1 ? 1 : -1;
    if (a->op == OP_and && dtype_is_unsigned(t) && bits < 64) n.i = (INT64_C(1) << bits) - 1;
    if (a->op == OP_minimum || a->op == OP_maximum) {
        n.f = up ? INFINITY : -INFINITY;
        if (t == DT_I1)
            n.i = up;
        else if (dtype_is_unsigned(t))
            n.i = !up ? 0 : bits == 64 ? -1 : (INT64_C(1) << bits) - 1;
        else if (!is_float)
            n.i = up ? (int64_t)(UINT64_MAX >> (65 - bits))
                     : -(int64_t)(UINT64_MAX >> (65 - bits)) - 1;
    }
    glsl_number(&n, out);
}

static void write_line(render_t *self, const char *text)
{
    render_indent(self);
    str_add(self->out, text);
}

static void name_acc(render_t *self, int acc, char *name, size_t n)
{
    snprintf(name, n, "%s%d", own(self)->part[acc] ? "part" : "acc", acc);
}

/* Before a loop: folded accumulators get a share of this thread, sums a second float. sums: which
 * of them this loop began. */
static void begin_folds(render_t *self, const kstmt_t *s, bool shares, bool *folds, bool *sums)
{
    bool lengthy = s->simd && is_long(self->kernel, s);
    if (s->simd) glsl_find_folds(self->kernel, s, folds);
    for (size_t i = 0; i < self->kernel->acc.n; i++) {
        const kacc_t *a = &self->kernel->acc.at[i];
        if (!folds[i]) continue;
        if (shares) {
            render_indent(self);
            str_addf(self->out, "%s part%zu = ", precise_type(a->dtype), i);
            write_neutral(self->out, a);
            str_add(self->out, ";\n");
            own(self)->part[i] = true;
        }
        sums[i] = lengthy && is_sum(a) && !self->keyed.at[i];
        if (!sums[i]) continue;
        self->keyed.at[i] = true;
        render_indent(self);
        str_addf(self->out, "float lost%zu = 0.0;\n", i);
    }
}

static void end_sums(render_t *self, const bool *sums)
{
    for (size_t i = 0; i < self->kernel->acc.n; i++) {
        if (!sums[i]) continue;
        char name[24];
        self->keyed.at[i] = false;
        name_acc(self, (int)i, name, sizeof name);
        render_indent(self);
        str_addf(self->out, "%s = pcp_end_sum(%s, lost%zu);\n", name, name, i);
    }
}

/* All threads of the group fold all shares in their order: all have the same bits. */
static void fold_shares(render_t *self, const bool *folds)
{
    const kernel_t *k = self->kernel;
    bool any = false, again = own(self)->loops > 0;
    for (size_t i = 0; i < k->acc.n; i++) {
        any = any || folds[i];
        again = again || (folds[i] && own(self)->used[i]);
    }
    if (!any) return;
    if (again) write_line(self, "barrier();\n");
    for (size_t i = 0; i < k->acc.n; i++) {
        if (!folds[i]) continue;
        own(self)->part[i] = false;
        own(self)->used[i] = true;
        render_indent(self);
        str_addf(self->out, "shares%zu[lane] = part%zu;\n", i, i);
    }
    write_line(self, "barrier();\n");
    write_line(self, "for (uint k = 0u; k < gl_WorkGroupSize.x; k++) {\n");
    for (size_t i = 0; i < k->acc.n; i++) {
        char acc[24], share[32];
        const kacc_t *a = &k->acc.at[i];
        if (!folds[i]) continue;
        snprintf(acc, sizeof acc, "acc%zu", i);
        snprintf(share, sizeof share, "shares%zu[k]", i);
        render_indent(self);
        str_addf(self->out, "    %s = ", acc);
        glsl_op(self->out, a->op, a->dtype, a->dtype, 2, (const char *const[]){acc, share});
        str_add(self->out, ";\n");
    }
    write_line(self, "}\n");
}

/* The caller's range: this thread's piece of it. */
static void write_piece(render_t *self, const kstmt_t *s)
{
    render_indent(self);
    str_addf(self->out, "{ const int i%d = piece;\n", self->loop.at[s->var]);
    render_block(self, &s->body);
    write_line(self, "}\n");
}

static void write_bounds(render_t *self, const kstmt_t *s, bool shares)
{
    int v = self->loop.at[s->var];
    render_indent(self);
    str_addf(self->out, "for (int i%d = ", v);
    glsl_index(self, s->lo, self->out);
    str_addf(self->out, "%s; i%d < ", shares ? " + int(lane)" : "", v);
    glsl_index(self, s->hi, self->out);
    if (shares)
        str_addf(self->out, "; i%d += int(LANES)) {\n", v);
    else
        str_addf(self->out, "; i%d++) {\n", v);
}

static void write_for(render_t *self, const kstmt_t *s)
{
    if (s->lo == KX_NONE) {
        write_piece(self, s);
        return;
    }
    own_t *o = own(self);
    size_t n = self->kernel->acc.n;
    bool *folds = mem_calloc(n + 1, sizeof *folds), *sums = mem_calloc(n + 1, sizeof *sums);
    bool shares = s->simd && !o->inside && o->plan.share != GLSL_ALONE;
    write_line(self, "{\n");
    begin_folds(self, s, shares, folds, sums);
    write_bounds(self, s, shares);
    o->inside = o->inside || shares;
    o->loops += !s->simd;
    render_block(self, &s->body);
    o->loops -= !s->simd;
    write_line(self, "}\n");
    end_sums(self, sums);
    if (shares) {
        o->inside = false;
        fold_shares(self, folds);
        if (!o->plan.apart) write_line(self, "memoryBarrierBuffer(); barrier();\n");
    }
    write_line(self, "}\n");
    free(folds);
    free(sums);
}

/* --- Stores and accumulators ------------------------------------------------------------------ */

static void write_store(render_t *self, const kstmt_t *s, const char *base, dtype_t dtype)
{
    const kx_node_t *n = node(self->kernel, s->value);
    bool is_local = base[0] == 'l', rounded = n->kind == KX_CONVERT;
    str_t value = {0};
    glsl_value(self, s->value, &value);
    bool one = own(self)->plan.share != GLSL_ALONE && !own(self)->inside;
    render_indent(self);
    if (one) str_add(self->out, "if (lane == 0u) ");
    if (is_local)
        str_addf(self->out, "l%d[", s->target);
    else
        str_addf(self->out, "%s[a%d + ", glsl_memory(dtype, NULL), s->target);
    glsl_index(self, s->index, self->out);
    str_add(self->out, "] = ");
    if (!is_local)
        glsl_stored(self->out, dtype, n->dtype, rounded, str_text(&value));
    else if (dtype_is_narrow(dtype) && dtype_is_float(n->dtype))
        str_addf(self->out, "pcp_%s_from_f32(%s)", dtype_name(dtype), str_text(&value));
    else
        str_addf(self->out, "%s(%s)", dtype_is_narrow(dtype) ? "uint" : glsl_type(dtype),
                 str_text(&value));
    str_add(self->out, ";\n");
    if (one && !own(self)->plan.apart) write_line(self, "memoryBarrierBuffer(); barrier();\n");
    str_fini(&value);
}

static void write_accumulate(render_t *self, const kstmt_t *s)
{
    const kacc_t *a = &self->kernel->acc.at[s->target];
    str_t value = {0};
    char name[24];
    glsl_value(self, s->value, &value);
    name_acc(self, s->target, name, sizeof name);
    render_indent(self);
    if (s->kind == KS_START) {
        str_addf(self->out, "%s %s = %s;\n", precise_type(a->dtype), name, str_text(&value));
    } else if (self->keyed.at[s->target]) {
        str_addf(self->out, "pcp_fold_sum(%s, lost%d, %s);\n", name, s->target, str_text(&value));
    } else {
        str_addf(self->out, "%s = ", name);
        glsl_op(self->out, a->op, a->dtype, a->dtype, 2,
                (const char *const[]){name, str_text(&value)});
        str_add(self->out, ";\n");
    }
    str_fini(&value);
}

static const render_lang_t lang = {
    .type = glsl_node_type,
    .cell_type = precise_type,
    .sum = glsl_sum,
    .number = glsl_number,
    .node = glsl_node,
    .loop = write_for,
    .store = write_store,
    .accumulate = write_accumulate,
};

/* --- What a kernel touches -------------------------------------------------------------------- */

typedef struct {
    bool reads, writes, anywhere;
    int64_t lo, hi; /* elements */
} reach_t;

static void reach(const kernel_t *kernel, reach_t *r, kx_t index)
{
    const kx_node_t *n = node(kernel, index);
    bool first = r->lo > r->hi;
    if (n->lo < INT32_MIN || n->hi > INT32_MAX) r->anywhere = true;
    r->lo = first || n->lo < r->lo ? n->lo : r->lo;
    r->hi = first || n->hi > r->hi ? n->hi : r->hi;
}

static void find_stores(const kernel_t *kernel, const kblock_t *block, reach_t *r)
{
    for (size_t i = 0; i < block->n; i++) {
        const kstmt_t *s = block->at[i];
        if (s->kind == KS_STORE) {
            r[s->target].writes = true;
            reach(kernel, &r[s->target], s->index);
        }
        find_stores(kernel, &s->body, r);
    }
}

/* For the device, in words that codegen/shaders.c reads: what the step reads and writes, in bytes
 * from its arguments on. "*": anywhere. */
static void write_reach(const kernel_t *kernel, const glsl_plan_t *plan, str_t *out)
{
    size_t n = kernel->arg.n;
    reach_t *r = mem_calloc(n + 1, sizeof *r);
    for (size_t i = 0; i < n; i++) r[i] = (reach_t){.lo = 0, .hi = -1};
    for (size_t i = 0; i < kernel->graph.node.n; i++) {
        const kx_node_t *x = &kernel->graph.node.at[i];
        if (x->kind != KX_LOAD || (size_t)x->i >= n) continue;
        r[x->i].reads = true;
        reach(kernel, &r[x->i], x->in[0]);
    }
    find_stores(kernel, &kernel->body, r);
    int64_t rounds = glsl_rounds(kernel, plan);
    if (plan->share == GLSL_GROUP)
        str_addf(out, "// groups of 0, rounds %" PRId64 ", arguments %zu\n", rounds, n);
    else
        str_addf(out, "// threads %d, rounds %" PRId64 ", arguments %zu\n",
                 plan->share == GLSL_SHARED ? plan->lanes : 1, rounds, n);
    for (size_t i = 0; i < n; i++) {
        int64_t size = (int64_t)dtype_bytes(kernel->arg.at[i].dtype);
        bool any = r[i].anywhere || r[i].lo > r[i].hi;
        str_addf(out, "// %c%c %" PRId64 " %" PRId64 " %" PRId64 "\n", r[i].reads ? 'r' : '-',
                 r[i].writes ? 'w' : '-', size, any ? 0 : r[i].lo * size,
                 any ? -1 : (r[i].hi + 1) * size);
    }
    free(r);
}

/* --- The shader ------------------------------------------------------------------------------- */

/* Of a group, arrays and places for shares are seen by all its threads. */
static void write_arrays(const kernel_t *k, bool shared, str_t *out)
{
    for (size_t i = 0; i < k->array.n; i++) {
        dtype_t dtype = k->array.at[i].dtype;
        str_addf(out, "%s%s l%zu[%" PRId64 "];\n", shared ? "shared " : "    ",
                 dtype_is_narrow(dtype) ? "uint" : glsl_type(dtype), i, k->array.at[i].n);
    }
    for (size_t i = 0; shared && i < k->acc.n; i++)
        str_addf(out, "shared %s shares%zu[gl_WorkGroupSize.x];\n", glsl_type(k->acc.at[i].dtype),
                 i);
}

static void write_place(const glsl_plan_t *plan, str_t *out)
{
    static const char *const places[] = {
        [GLSL_ALONE] = "    const uint thread = pcp_thread();\n"
                       "    if (thread >= uint(work.extent)) return;\n"
                       "    const int piece = work.begin + int(thread);\n",
        [GLSL_SHARED] = "    const uint thread = pcp_thread(), lane = thread % LANES;\n"
                        "    if (thread / LANES >= uint(work.extent)) return;\n"
                        "    const int piece = work.begin + int(thread / LANES);\n",
        [GLSL_GROUP] =
            "    const uint LANES = gl_WorkGroupSize.x, lane = gl_LocalInvocationIndex;\n"
            "    if (pcp_group() >= uint(work.extent)) return;\n"
            "    const int piece = work.begin + int(pcp_group());\n",
    };
    str_add(out, "void main()\n{\n");
    if (plan->share == GLSL_SHARED) str_addf(out, "    const uint LANES = %du;\n", plan->lanes);
    str_add(out, places[plan->share]);
}

void render_glsl(const kernel_t *kernel, helpers_t *helpers, str_t *out)
{
    (void)helpers;
    if (kernel->kind == KERNEL_PRODUCT) {
        render_glsl_product(kernel->product, out);
        return;
    }
    render_t self;
    own_t o = {.plan = glsl_choose_share(kernel)};
    bool group = o.plan.share == GLSL_GROUP;
    o.part = mem_calloc(kernel->acc.n + 1, sizeof *o.part);
    o.used = mem_calloc(kernel->acc.n + 1, sizeof *o.used);
    write_reach(kernel, &o.plan, out);
    render_begin(&self, kernel, &lang, out);
    self.own = &o;
    if (group) write_arrays(kernel, true, out);
    write_place(&o.plan, out);
    for (size_t i = 0; i < kernel->arg.n; i++)
        str_addf(out, "    const int a%zu = args[work.at + %zu];\n", i, i);
    if (!group) write_arrays(kernel, false, out);
    render_block(&self, &kernel->body);
    str_add(out, "}\n");
    render_end(&self);
    free(o.part);
    free(o.used);
}

/* Conversions of floats of a byte and less, and neighbours of all narrow ones, that the text names. */
static void write_narrow(str_t *out, const char *text)
{
    for (dtype_t dtype = DT_NONE + 1; dtype < DT_COUNT; dtype++) {
        const char *name = dtype_name(dtype);
        const dtype_format_t *f = dtype_format(dtype);
        char row[96];
        if (!dtype_is_narrow(dtype) || !strstr(text, name)) continue;
        snprintf(row, sizeof row, "%d, %d, %d, %d", f->exp_bits, f->man_bits, f->bias, f->kind);
        if (dtype_is_small(dtype))
            str_addf(out,
                     "float pcp_f32_from_%s(uint x) { return pcp_small_float_value(x, %s); }\n"
                     "uint pcp_%s_from_f32(float x) { return pcp_small_float_code(x, %s); }\n"
                     "float kc_round_%s(float x) { return "
                     "pcp_f32_from_%s(pcp_%s_from_f32(x)); }\n",
                     name, row, name, row, name, name, name);
        str_addf(out,
                 "float kc_next_%s(float a, float b) { return pcp_small_float_next(a, b, %s); }\n",
                 name, row);
    }
}

static bool needs_f64(const char *text)
{
    static const char *const words[] = {"double", "f64",  "asin",  "acos",   "atan",
                                        "acosh",  "cbrt", "pow_f", "sinh",   "cosh",
                                        "f4E",    "f6E",  "f8E",   "kc_next"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i])) return true;
    return false;
}

static const char head[] =
    "#version 450\n"
    "#extension GL_EXT_shader_8bit_storage : require\n"
    "#extension GL_EXT_shader_16bit_storage : require\n"
    "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n"
    "layout(local_size_x_id = 0) in;\n"
    "// Arguments from args[at] on, in elements of their types; pieces of work.\n"
    "layout(push_constant) uniform Work { int at, begin, extent; } work;\n"
    "layout(binding = 1, std430) readonly buffer Args { int args[]; };\n"
    "uint pcp_group() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }\n"
    "uint pcp_thread() { return pcp_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex; }\n";

/* The arena, as the types of element see it that the kernel has. */
static void write_memory(str_t *out, const char *text)
{
    static const dtype_t each[] = {DT_F32,  DT_F64, DT_I64,  DT_UI64, DT_I32,
                                   DT_UI32, DT_I16, DT_UI16, DT_I8,   DT_UI8};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        const char *type, *name = glsl_memory(each[i], &type);
        if (strstr(text, name))
            str_addf(out, "layout(binding = 0, std430) buffer M%zu { %s %s[]; };\n", i, type, name);
    }
}

void render_glsl_head(str_t *out, int n, char *const *text)
{
    str_add(out, head);
    for (int i = 0; i < n; i++) write_memory(out, text[i]);
    str_add(out, prelude_glsl_text());
    for (int i = 0; i < n; i++) {
        if (!needs_f64(text[i])) continue;
        str_add(out, prelude_glsl_f64_text());
        write_narrow(out, text[i]);
        return; /* a unit has one kernel */
    }
}

/* --- What it cannot do ------------------------------------------------------------------------ */

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strstr(text, *words)) return true;
    return false;
}

static const char *refuse_op(const kernel_t *kernel, const kx_node_t *n, bool f64, char *room,
                             size_t size)
{
    static const char *const never[] = {"lgamma", "digamma", "erf_inv", "complex",
                                        "cabs",   "_real_",  "_imag_",  NULL};
    static const char *const not_f64[] = {"erf", "pcp_rem", "nextafter", NULL};
    static const char *const by_f64[] = {"pow",  "cbrt", "atan", "asin",
                                         "acos", "sinh", "cosh", NULL};
    const char *text = n->op == OP_compare ? "" : op_def(n->op)->expr;
    dtype_t operand = node(kernel, n->in[0])->dtype;
    bool wide = operand == DT_F64;
    if (!text || is_one_of(text, never) || (wide && is_one_of(text, not_f64)) ||
        (!f64 && dtype_is_float(operand) && is_one_of(text, by_f64))) {
        snprintf(room, size, "%s of %s", op_def(n->op)->name, dtype_name(operand));
        return room;
    }
    return NULL;
}

const char *render_glsl_refuses(const kernel_t *kernel, bool f64, char *room, size_t size)
{
    enum { MAX_ARRAYS = 1 << 16 };
    int64_t arrays = 0;
    const char *why = NULL;
    for (size_t i = 0; i < kernel->array.n; i++)
        arrays += kernel->array.at[i].n * (int64_t)dtype_bytes(kernel->array.at[i].dtype);
    if (arrays > MAX_ARRAYS || arrays < 0) return "rows of more than 64 KiB in one kernel";
    if (kernel->extent > INT32_MAX) return "more than 2^31 pieces of work";
    for (size_t i = 0; i < kernel->graph.var.n; i++)
        if (kernel->graph.var.at[i].extent > INT32_MAX) return "loops of more than 2^31 rounds";
    for (size_t i = 0; !why && i < kernel->graph.node.n; i++) {
        const kx_node_t *n = &kernel->graph.node.at[i];
        bool narrow = dtype_is_small(n->dtype);
        if ((n->dtype == DT_F64 || n->kind == KX_ROUND || narrow) && !f64) return "f64";
        if (n->kind == KX_MAP) why = refuse_op(kernel, n, f64, room, size);
    }
    return why;
}
