/* Loop kernels as CUDA. */
#include "codegen/cuda/render_cuda.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/attention.h"
#include "codegen/narrow.h"
#include "codegen/prelude/prelude_text.h"
#include "codegen/render.h"
#include "codegen/render/render_fours.h"
#include "ir/op.h"

static const kx_node_t *node(const kernel_t *kernel, kx_t x)
{
    return &kernel->graph.node.at[x];
}

/* --- Expressions ------------------------------------------------------------------------------ */

static const char *node_type(const render_t *self, const kx_node_t *n)
{
    return render_is_small(self, n) ? "int" : render_type(n->dtype);
}

static void write_value(render_t *self, kx_t x, str_t *out)
{
    if (render_is_small(self, node(self->kernel, x))) str_add(out, "(int64_t)");
    render_use(self, x, out);
}

static void write_index(render_t *self, kx_t x, str_t *out)
{
    bool small = render_is_small(self, node(self->kernel, x));
    str_add(out, small ? "" : "int(");
    render_use(self, x, out);
    str_add(out, small ? "" : ")");
}

/* A sum that int has no room for: of large indices, whose terms are int; of a model's own numbers, which may wrap (write_op). */
static void write_wide_sum(render_t *self, const kx_node_t *n, str_t *out)
{
    str_add(out, "int64_t(");
    for (int t = 0; t < n->n_in; t++) {
        str_add(out, t ? " + uint64_t(" : "uint64_t(");
        render_use(self, n->in[t], out);
        str_add(out, ")");
        if (n->coef[t] != 1) str_addf(out, " * UINT64_C(%" PRIu64 ")", (uint64_t)n->coef[t]);
    }
    if (n->i) str_addf(out, " + UINT64_C(%" PRIu64 ")", (uint64_t)n->i);
    str_add(out, ")");
}

static void write_sum(render_t *self, const kx_node_t *n, str_t *out)
{
    if (!render_is_small(self, n)) {
        (n->n_in > 0 ? write_wide_sum : render_sum)(self, n, out);
        return;
    }
    if (n->n_in == 0) {
        str_addf(out, "%" PRId64, n->i);
        return;
    }
    str_add(out, "(");
    for (int t = 0; t < n->n_in; t++) {
        str_add(out, t ? " + " : "");
        write_index(self, n->in[t], out);
        if (n->coef[t] != 1) str_addf(out, " * %" PRId64, n->coef[t]);
    }
    if (n->i) str_addf(out, " + %" PRId64, n->i);
    str_add(out, ")");
}

/* The prelude's function for an operation on integers that C's operators do not wrap; NULL: there is no need of one. */
static const char *wrapping(op_code_t op, dtype_t operand)
{
    if (!dtype_is_int(operand) || dtype_bits(operand) < 16)
        return NULL; /* computed as int, which is wider */
    switch (op) {
    case OP_subtract: return "sub";
    case OP_multiply:
    case OP_chlo_square: return "mul";
    case OP_negate: return "neg";
    default: return NULL;
    }
}

/* render_op, for a compiler that takes it that signed numbers do not overflow: nvcc makes of x + 1 > x what is always true, and has
 * no -fwrapv. */
static void write_op(str_t *out, op_code_t op, dtype_t result, dtype_t operand, int n_in,
                     const char *const *in)
{
    const char *name = wrapping(op, operand);
    if (!name) {
        render_op(out, op, result, operand, n_in, in);
        return;
    }
    str_addf(out, "pcp_%s_%s(%s", name, render_suffix(operand), in[0]);
    if (op != OP_negate) str_addf(out, ", %s", in[n_in - 1]);
    str_add(out, ")");
}

/* An operation that write_op writes otherwise than render_node would; false: it is none. */
static bool write_wrapping(render_t *self, const kx_node_t *n, str_t *out)
{
    dtype_t operand = n->n_in > 0 ? node(self->kernel, n->in[0])->dtype : n->dtype;
    if (n->kind != KX_MAP || !wrapping(n->op, operand)) return false;
    str_t in[2] = {{0}};
    const char *text[2] = {0};
    for (int t = 0; t < n->n_in; t++) {
        render_value(self, n->in[t], &in[t]);
        text[t] = str_text(&in[t]);
    }
    write_op(out, n->op, n->dtype, operand, n->n_in, text);
    for (int t = 0; t < n->n_in; t++) str_fini(&in[t]);
    return true;
}

static void write_node(render_t *self, kx_t x, str_t *out)
{
    const kx_node_t *n = node(self->kernel, x);
    if (fours_load(self, x, out) || write_wrapping(self, n, out)) return;
    if ((n->kind != KX_DIV && n->kind != KX_MOD) || !render_is_small(self, n)) {
        render_node(self, x, out);
        return;
    }
    str_add(out, "int(uint("); /* both >= 0 where it is used */
    write_index(self, n->in[0], out);
    str_addf(out, ") %c %" PRId64 "u)", n->kind == KX_DIV ? '/' : '%', n->i);
}

/* --- Statements ------------------------------------------------------------------------------- */

static void write_store(render_t *self, const kstmt_t *s, const char *base, dtype_t dtype)
{
    turns_store_begin(self);
    if (!fours_store(self, s, dtype)) render_store(self, s, base, dtype);
    turns_store_end(self);
}

/* First within each warp, from register to register: the shares are those of warps. */
static void write_share(render_t *self, int acc)
{
    const kacc_t *a = &self->kernel->acc.at[acc];
    char part[24];
    snprintf(part, sizeof part, "part%d", acc);
    str_addf(self->out, "for (int k = PCP_WARP / 2; k > 0; k >>= 1) { const %s other = ",
             render_type(a->dtype));
    str_addf(self->out, "pcp_of_neighbour(%s, k); %s = ", part, part);
    write_op(self->out, a->op, a->dtype, a->dtype, 2, (const char *const[]){part, "other"});
    str_add(self->out, "; }\n");
    render_indent(self);
    str_addf(self->out, "if (lane %% PCP_WARP == 0u) shares%d[lane / PCP_WARP] = part%d;\n", acc,
             acc);
}

static const turns_lang_t turns = {
    .index = write_index,
    .op = write_op,
    .share = write_share,
    .n_share = "LANES / PCP_WARP",
    .unroll = "#pragma unroll\n",
    .barrier = "pcp_sync_lanes(LANES);\n",
    .visible = "pcp_sync_lanes(LANES);\n",
    .all = "__syncthreads();\n",
    .fetches = true,
    .fours = true,
};

static const render_lang_t lang = {
    .type = node_type,
    .cell_type = render_type,
    .sum = write_sum,
    .number = render_number,
    .node = write_node,
    .loop = turns_loop,
    .store = write_store,
    .accumulate = turns_accumulate,
    .value = write_value,
    .wide = "(int64_t)",
};

/* --- The kernel ------------------------------------------------------------------------------- */

/* Threads of a group: about four columns for each, in whole warps, or as many turns of four as it takes. Long rows have many
 * threads: there are fewer rows at a time then, and what is read of them again is still near. */
static int group_of(const cuda_dialect_t *dialect, const kernel_t *k, const share_plan_t *plan)
{
    enum { EACH = 4, LONG = 16384, FEW_ARGUMENTS = 10 }; /* more than these want many registers */
    int64_t most = CUDA_BLOCK, fours = (plan->columns + EACH - 1) / EACH;
    if (plan->columns >= LONG) most = k->arg.n > FEW_ARGUMENTS ? CUDA_MOST / 2 : CUDA_MOST;
    int64_t turns = (fours + most - 1) / most, n = turns > 0 ? (fours + turns - 1) / turns : 1;
    return (int)((n + dialect->warp - 1) / dialect->warp * dialect->warp);
}

/* A group's threads are known here, and with them who has which columns. */
static void plan_group(const kernel_t *kernel, share_plan_t *plan, int group)
{
    enum { MOST = 16 }; /* elements of an array that are in registers */
    if (plan->share != SHARE_GROUP) return;
    int64_t each = plan->fours ? 4 : 1, turn = group * each;
    int64_t turns = (plan->columns + turn - 1) / turn * each;
    plan->lanes = group;
    slices_choose_rows(kernel, plan, group);
    if (plan->own && turns <= MOST && plan->slices < 2) plan->turns = turns;
    if (plan->apart_by >= 0 && plan->apart_by % turn == 0) plan->apart = true;
}

/* Of a block, where groups do not say: fewer where threads are, so that all processors have some. */
static int block_of(const kernel_t *k, const share_plan_t *plan, int group)
{
    enum { LEAST = 64, WANTED = 256 }; /* threads, blocks */
    int64_t threads = k->extent * (plan->share == SHARE_COLUMNS ? plan->lanes : 1);
    int block = CUDA_BLOCK;
    int slices = plan->slices > 1 ? plan->slices : 1;
    if (plan->share == SHARE_GROUP) return group * slices;
    if (slices > 1) return plan->lanes * slices;
    while (block > LEAST && threads < (int64_t)block * WANTED) block /= 2;
    return block;
}

static void write_launch(const kernel_t *k, const share_plan_t *plan, int group, str_t *out)
{
    int block = block_of(k, plan, group);
    bool whole = plan->share == SHARE_GROUP || plan->slices > 1;
    int threads = plan->share == SHARE_ALONE ? 1 : whole ? block : plan->lanes;
    str_addf(out, "// threads %d, block %d, blocks 0, arguments %zu\n", threads, block, k->arg.n);
}

static void write_place(const share_plan_t *plan, int group_size, str_t *out)
{
    static const char alone[] = "    const uint thread = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                "    if (thread >= uint(extent)) return;\n"
                                "    const int piece = begin + int(thread);\n";
    /* All threads of a step may be more than 2^32. */
    static const char columns[] =
        "    const uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    const uint lane = uint(thread % LANES);\n"
        "    if (thread / LANES >= uint(extent)) return;\n"
        "    const int piece = begin + int(thread / LANES);\n";
    static const char group[] = "    const uint lane = threadIdx.x;\n"
                                "    const int piece = begin + int(blockIdx.x);\n";
    static const char slices[] =
        "    const uint lane = threadIdx.x % LANES, slice = threadIdx.x / LANES;\n"
        "    const int piece = begin + int(blockIdx.x);\n";
    static const char *const places[] = {
        [SHARE_ALONE] = alone, [SHARE_COLUMNS] = columns, [SHARE_GROUP] = group};
    int lanes = plan->share == SHARE_GROUP ? group_size : plan->lanes;
    str_add(out, "(char *arena, const int64_t *arg, int begin, int extent)\n{\n");
    if (plan->share != SHARE_ALONE) str_addf(out, "    const uint LANES = %du;\n", lanes);
    if (plan->slices > 1) str_addf(out, "    const uint SLICES = %du;\n", plan->slices);
    str_add(out, plan->slices > 1 ? slices : places[plan->share]);
}

/* Of a group, arrays and places for shares are seen by all its threads. */
static void write_arguments(const kernel_t *k, const share_plan_t *plan, str_t *out)
{
    bool group = plan->share == SHARE_GROUP, slices = plan->slices > 1;
    for (size_t i = 0; i < k->arg.n; i++) {
        const char *type = render_storage(k->arg.at[i].dtype);
        const char *is_const = k->arg.at[i].written ? "" : "const ";
        str_addf(out, "    %s%s *const a%zu = (%s%s *)(arena + arg[%zu]);\n", is_const, type, i,
                 is_const, type, i);
    }
    for (size_t i = 0; i < k->array.n && !(group && slices); i++)
        str_addf(out, "    %s%s l%zu[%" PRId64 "];\n",
                 group && !plan->turns ? "alignas(16) __shared__ " : "",
                 render_storage(k->array.at[i].dtype), i,
                 plan->turns ? plan->turns : k->array.at[i].n);
    for (size_t i = 0; group && !slices && i < k->acc.n; i++)
        str_addf(out, "    __shared__ %s shares%zu[LANES / PCP_WARP];\n",
                 render_type(k->acc.at[i].dtype), i);
    if (plan->searches) turns_search_room(out, CUDA_BLOCK);
    if (slices) slices_room(k, plan, out);
}

void render_cuda(const cuda_dialect_t *dialect, const kernel_t *kernel, str_t *out)
{
    if (kernel->kind == KERNEL_PRODUCT) {
        render_cuda_product(dialect, kernel->product, out);
        return;
    }
    if (kernel->kind == KERNEL_ATTENTION) {
        render_cuda_attention(dialect, kernel, out);
        return;
    }
    render_t self;
    turns_t o;
    turns_begin(&o, kernel, &turns, dialect->warp);
    int group = group_of(dialect, kernel, &o.plan);
    plan_group(kernel, &o.plan, group);
    write_launch(kernel, &o.plan, group, out);
    write_place(&o.plan, group, out);
    write_arguments(kernel, &o.plan, out);
    render_begin(&self, kernel, &lang, out);
    self.own = &o;
    render_block(&self, &kernel->body);
    str_add(out, "}\n");
    render_end(&self);
    turns_end(&o);
}

void render_cuda_symbol(const char *name, const char *body, str_t *out)
{
    const char *rest = strchr(body, '\n'), *block = strstr(body, "block ");
    const char *beside = strstr(body, "beside ");
    int threads = block ? (int)strtol(block + 6, NULL, 10) : CUDA_BLOCK;
    str_addf(out, "\n// kernel %s\n", name);
    str_addn(out, body, (size_t)(rest - body));
    /* Of large groups one is enough for a processor: what its rows read again shall stay in the cache. */
    long at_once = beside && beside < rest ? strtol(beside + 7, NULL, 10) : threads > CUDA_BLOCK;
    str_addf(out, "\nextern \"C\" __global__ void __launch_bounds__(%d", threads);
    if (at_once > 0) str_addf(out, ", %ld", at_once);
    str_addf(out, ") %s%s", name, rest + 1);
}

void render_cuda_head(const cuda_dialect_t *dialect, str_t *out, int n, char *const *text)
{
    str_add(out, dialect->words());
    str_add(out, prelude_text());
    str_add(out, "\n");
    render_c_rounding(out);
    narrow_head(out, n, text);
    str_add(out, prelude_threads_text());
    for (int i = 0; i < n; i++)
        if (attention_is_in(text[i])) {
            str_add(out, prelude_threads_attention_text());
            if (dialect->attention) str_add(out, dialect->attention());
            break;
        }
    for (int i = 0; i < n; i++)
        if (render_cuda_product_is_staged(text[i])) {
            str_addf(out, "#define PCP_TURNS %d\n", CUDA_TURNS);
            str_add(out, dialect->product());
            break;
        }
}

bool render_cuda_supports(kernel_kind_t kind)
{
    return kind == KERNEL_LOOPS || kind == KERNEL_PRODUCT || kind == KERNEL_ATTENTION;
}

/* --- What it cannot do ------------------------------------------------------------------------ */

const char *render_cuda_refuses(const target_t *target, const kernel_t *kernel, char *room,
                                size_t size)
{
    (void)target;
    static const char *const never[] = {"complex", "cabs", "_real_", "_imag_"};
    const char *why = share_refuses(kernel);
    for (size_t i = 0; !why && i < kernel->graph.node.n; i++) {
        const kx_node_t *n = &kernel->graph.node.at[i];
        if (n->kind != KX_MAP || n->op == OP_compare) continue;
        const char *text = op_def(n->op)->expr;
        bool has = text != NULL;
        for (size_t k = 0; has && k < sizeof never / sizeof *never; k++)
            has = !strstr(text, never[k]);
        if (has) continue;
        snprintf(room, size, "%s of %s", op_def(n->op)->name,
                 dtype_name(node(kernel, n->in[0])->dtype));
        why = room;
    }
    return why;
}
