/* Kernels of the loop-IR as GLSL: stores, what a kernel touches, the shader around it. How threads share
 * its loops is in render_turns.c. */
#include "codegen/vulkan/render_glsl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/prelude/prelude_text.h"
#include "codegen/render/render_share.h"
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

/* --- Stores --------------------------------------------------------------------------------- */

static bool is_loaded(const render_t *self, int arg)
{
    for (size_t i = 0; i < self->kernel->graph.node.n; i++) {
        const kx_node_t *n = &self->kernel->graph.node.at[i];
        if (n->kind == KX_LOAD && n->i == arg) return true;
    }
    return false;
}

/* To memory: the arena's element, or the thread's own array's. */
static void write_target(render_t *self, const kstmt_t *s, bool is_local, dtype_t dtype)
{
    if (is_local)
        str_addf(self->out, "l%d[", s->target);
    else
        str_addf(self->out, "%s(g%d)[a%d + ", glsl_memory(dtype, NULL), s->target, s->target);
    if (!is_local || !render_turn(self, self->out)) glsl_index(self, s->index, self->out);
    str_add(self->out, "] = ");
}

static void write_store(render_t *self, const kstmt_t *s, const char *base, dtype_t dtype)
{
    const kx_node_t *n = node(self->kernel, s->value);
    bool is_local = base[0] == 'l', rounded = n->kind == KX_CONVERT;
    str_t value = {0};
    glsl_value(self, s->value, &value);
    turns_store_begin(self);
    if (!is_local && dtype == DT_F32 && !is_loaded(self, s->target)) {
        str_addf(self->out, "pcp_put_f32(g%d, a%d + ", s->target, s->target);
        glsl_index(self, s->index, self->out);
        str_addf(self->out, ", %s);\n", str_text(&value));
        turns_store_end(self);
        str_fini(&value);
        return;
    }
    write_target(self, s, is_local, dtype);
    if (!is_local)
        glsl_stored(self->out, dtype, n->dtype, rounded, str_text(&value));
    else if (dtype_is_narrow(dtype) && dtype_is_float(n->dtype))
        str_addf(self->out, "pcp_%s_from_f32(%s)", dtype_name(dtype), str_text(&value));
    else
        str_addf(self->out, "%s(%s)", dtype_is_narrow(dtype) ? "uint" : glsl_type(dtype),
                 str_text(&value));
    str_add(self->out, ";\n");
    turns_store_end(self);
    str_fini(&value);
}

static void write_share(render_t *self, int acc)
{
    str_addf(self->out, "shares%d[lane] = part%d;\n", acc, acc);
}

static const turns_lang_t turns = {
    .index = glsl_index,
    .op = glsl_op,
    .share = write_share,
    .n_share = "LANES",
    .unroll = "[[unroll]]\n",
    .barrier = "barrier();\n",
    .together = "TOGETHER",
    /* Made visible by who wrote it, then looked at anew by who reads it. */
    .visible = "memoryBarrierBuffer(); barrier(); memoryBarrierBuffer();\n",
};

static const render_lang_t lang = {
    .type = glsl_node_type,
    .cell_type = precise_type,
    .sum = glsl_sum,
    .number = glsl_number,
    .node = glsl_node,
    .loop = turns_loop,
    .store = write_store,
    .accumulate = turns_accumulate,
    .value = glsl_value,
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

/* For the device, in words that codegen/vulkan/shaders.c reads: what the step reads and writes, in bytes
 * from its arguments on. "*": anywhere. */
static void write_reach(const kernel_t *kernel, const share_plan_t *plan, str_t *out)
{
    size_t n = kernel->arg.n;
    reach_t *r = mem_calloc(n + 1, sizeof *r);
    bool *used = mem_calloc(kernel->graph.node.n + 1, sizeof *used);
    share_find_used(kernel, used);
    for (size_t i = 0; i < n; i++) r[i] = (reach_t){.lo = 0, .hi = -1};
    for (size_t i = 0; i < kernel->graph.node.n; i++) {
        const kx_node_t *x = &kernel->graph.node.at[i];
        if (!used[i] || x->kind != KX_LOAD || (size_t)x->i >= n) continue;
        r[x->i].reads = true;
        reach(kernel, &r[x->i], x->in[0]);
    }
    find_stores(kernel, &kernel->body, r);
    int64_t rounds = share_rounds(kernel, plan);
    if (plan->share == SHARE_GROUP)
        str_addf(out, "// groups of 0, rounds %" PRId64 ", arguments %zu\n", rounds, n);
    else
        str_addf(out, "// threads %d, rounds %" PRId64 ", arguments %zu\n",
                 plan->share == SHARE_COLUMNS ? plan->lanes : 1, rounds, n);
    for (size_t i = 0; i < n; i++) {
        int64_t size = (int64_t)dtype_bytes(kernel->arg.at[i].dtype);
        bool any = r[i].anywhere || r[i].lo > r[i].hi;
        str_addf(out, "// %c%c %" PRId64 " %" PRId64 " %" PRId64 "\n", r[i].reads ? 'r' : '-',
                 r[i].writes ? 'w' : '-', size, any ? 0 : r[i].lo * size,
                 any ? -1 : (r[i].hi + 1) * size);
    }
    free(used);
    free(r);
}

/* --- The shader ------------------------------------------------------------------------------- */

/* Of a group, arrays and places for shares are seen by all its threads. */
static void write_arrays(const kernel_t *k, const share_plan_t *plan, str_t *out)
{
    bool shared = plan->share == SHARE_GROUP;
    for (size_t i = 0; i < k->array.n; i++) {
        dtype_t dtype = k->array.at[i].dtype;
        str_addf(out, "%s%s l%zu[%" PRId64 "];\n", shared ? "shared " : "    ",
                 dtype_is_narrow(dtype) ? "uint" : glsl_type(dtype), i,
                 plan->turns ? plan->turns : k->array.at[i].n);
    }
    for (size_t i = 0; shared && i < k->acc.n; i++)
        str_addf(out, "shared %s shares%zu[gl_WorkGroupSize.x];\n", glsl_type(k->acc.at[i].dtype),
                 i);
}

static void write_place(const share_plan_t *plan, str_t *out)
{
    static const char *const places[] = {
        [SHARE_ALONE] = "    const uint thread = pcp_thread();\n"
                        "    if (thread >= uint(work.extent)) return;\n"
                        "    const int piece = work.begin + int(thread);\n",
        [SHARE_COLUMNS] = "    const uint thread = pcp_thread(), lane = thread % LANES;\n"
                          "    if (thread / LANES >= uint(work.extent)) return;\n"
                          "    const int piece = work.begin + int(thread / LANES);\n",
        [SHARE_GROUP] =
            "    const uint LANES = gl_WorkGroupSize.x, lane = gl_LocalInvocationIndex;\n"
            "    if (pcp_group() >= uint(work.extent)) return;\n"
            "    const int piece = work.begin + int(pcp_group());\n",
    };
    str_add(out, "void main()\n{\n");
    if (plan->share == SHARE_COLUMNS) str_addf(out, "    const uint LANES = %du;\n", plan->lanes);
    str_add(out, places[plan->share]);
}

void glsl_argument(int i, int n, str_t *out)
{
    str_addf(out,
             "    const int a%d = args[work.at + %d];\n"
             "    const uint g%d = pcp_segment(%d);\n",
             i, i, i, n + i);
}

void glsl_define(str_t *out, const char *name, int64_t value)
{
    str_addf(out, "#define %s %" PRId64 "\n", name, value);
}

void glsl_define_bool(str_t *out, const char *name, bool value)
{
    str_addf(out, "#define %s %s\n", name, value ? "true" : "false");
}

void render_glsl(const kernel_t *kernel, helpers_t *helpers, str_t *out)
{
    (void)helpers;
    if (kernel->kind == KERNEL_PRODUCT) {
        render_glsl_product(kernel->product, out);
        return;
    }
    if (kernel->kind == KERNEL_ATTENTION) {
        render_glsl_attention(kernel, out);
        return;
    }
    render_t self;
    turns_t o;
    turns_begin(&o, kernel, &turns, 0);
    bool group = o.plan.share == SHARE_GROUP;
    write_reach(kernel, &o.plan, out);
    render_begin(&self, kernel, &lang, out);
    self.own = &o;
    if (group) write_arrays(kernel, &o.plan, out);
    write_place(&o.plan, out);
    for (size_t i = 0; i < kernel->arg.n; i++) glsl_argument((int)i, (int)kernel->arg.n, out);
    if (!group) write_arrays(kernel, &o.plan, out);
    render_block(&self, &kernel->body);
    str_add(out, "}\n");
    render_end(&self);
    turns_end(&o);
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
    "#extension GL_EXT_control_flow_attributes : require\n"
    "#extension GL_KHR_shader_subgroup_basic : require\n"
    "#extension GL_KHR_shader_subgroup_shuffle : require\n"
    "layout(local_size_x_id = 0) in;\n"
    "// Arguments from args[at] on, in elements of their types, and behind them the arena's "
    "segments that they\n"
    "// lie in; pieces of work.\n"
    "layout(push_constant) uniform Work { int at, begin, extent; } work;\n"
    "layout(binding = 1, std430) readonly buffer Args { int args[]; };\n"
    "layout(constant_id = 4) const uint SEGMENTS = 1u;\n"
    "uint pcp_segment(int at) { return SEGMENTS == 1u ? 0u : uint(args[work.at + at]); }\n"
    "uint pcp_group() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }\n"
    "uint pcp_thread() { return pcp_group() * gl_WorkGroupSize.x + gl_LocalInvocationIndex; }\n";

/* GPUs have larger groups, and are not asked for whole subgroups. The shuffle comes by itself: an
 * argument would read the shared memory in any case. */
static const char share_head[] =
    "layout(constant_id = 1) const uint SUBGROUP = 8u;\n"
    "const bool TOGETHER = gl_WorkGroupSize.x == 8u && SUBGROUP == 8u;\n"
    "#define pcp_share(part, share, k) (TOGETHER ? subgroupShuffle(part, k) : share)\n";

/* TEXELS: the driver is faster with texels than with elements of buffers. What a kernel both reads and
 * writes goes by elements alone. */
static const char texel_head[] =
    "layout(constant_id = 3) const bool TEXELS = false;\n"
    "layout(binding = 2) uniform usamplerBuffer t_one;\n"
    "layout(binding = 3) uniform usamplerBuffer t_four;\n"
    "layout(binding = 4, r32ui) uniform writeonly uimageBuffer i_one;\n"
    "layout(binding = 5, rgba32ui) uniform writeonly uimageBuffer i_four;\n"
    "void pcp_put_f32(uint g, int at, float x)\n"
    "{\n"
    "    if (TEXELS)\n"
    "        imageStore(i_one, at, uvec4(floatBitsToUint(x)));\n"
    "    else\n"
    "        m_f32(g)[at] = x;\n"
    "}\n"
    "float pcp_f32(uint g, int at)\n"
    "{\n"
    "    float x;\n"
    "    if (TEXELS)\n"
    "        x = uintBitsToFloat(texelFetch(t_one, at).x);\n"
    "    else\n"
    "        x = m_f32(g)[at];\n"
    "    return x;\n"
    "}\n";

/* The arena's segments as elements of a type: name(segment)[element]. */
static void write_view(str_t *out, const char *type, const char *name)
{
    str_addf(out,
             "layout(binding = 0, std430) buffer V_%s { %s at[]; } v_%s[SEGMENTS];\n"
             "#define %s(g) v_%s[g].at\n",
             name, type, name, name, name);
}

/* The arena, as the types of element see it that the kernel has. */
static void write_memory(str_t *out, const char *text)
{
    static const dtype_t each[] = {DT_F32,  DT_F64, DT_I64,  DT_UI64, DT_I32,
                                   DT_UI32, DT_I16, DT_UI16, DT_I8,   DT_UI8};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        const char *type, *name = glsl_memory(each[i], &type);
        if (each[i] == DT_F32 || strstr(text, name)) write_view(out, type, name);
    }
}

void render_glsl_head(str_t *out, int n, char *const *text)
{
    str_add(out, head);
    for (int i = 0; i < n; i++) {
        bool product = strstr(text[i], "// lanes ") != NULL;
        write_memory(out, text[i]);
        str_add(out, texel_head);
        if (product) str_add(out, render_glsl_product_head());
        if (strstr(text[i], "pcp_share(")) str_add(out, share_head);
    }
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
    const char *why = share_refuses(kernel);
    for (size_t i = 0; !why && i < kernel->graph.node.n; i++) {
        const kx_node_t *n = &kernel->graph.node.at[i];
        bool narrow = dtype_is_small(n->dtype);
        if ((n->dtype == DT_F64 || n->kind == KX_ROUND || narrow) && !f64) return "f64";
        if (n->kind == KX_MAP) why = refuse_op(kernel, n, f64, room, size);
    }
    return why;
}
