/* Fuzz target: a plan that plan_unpack accepts stays inside its arena and tables, and packs to
 * bytes that read back. The input is the plan's body; the file around it, with the right hash, is
 * made here, since no fuzzer finds hashes. */
#include "plan/format/plan.h"
#include "proto/plan.pb-c.h"

#include "alloc_bound.h"
#include "plan_mutate.h"

enum { PLAN_MULTIPLE = 256, PLAN_CONSTANT = 16 << 10 };

static void plan_inside(const plan_t *p, __int128 from, __int128 n, const char *what)
{
    if (from < 0 || n < 0 || from + n > (__int128)p->arena_bytes) broken("inside the arena", what);
}

/* The first and the last byte of an operand: corners of its batch, inner, row and column ranges. */
static void plan_operand(const plan_t *p, const plan_gemm_step_t *g, int64_t at, int64_t rows,
                         int64_t cols, int64_t ld, int64_t stride, int64_t inner, const char *what)
{
    __int128 size = (__int128)dtype_bytes(g->dtype), low = 0, high = 0;
    __int128 reach[4] = {(__int128)(g->batch - 1) * stride, (__int128)(g->inner - 1) * inner,
                         (__int128)(rows - 1) * ld, cols - 1};
    for (int i = 0; i < 4; i++) {
        low += reach[i] < 0 ? reach[i] : 0;
        high += reach[i] > 0 ? reach[i] : 0;
    }
    plan_inside(p, at + low * size, (high - low + 1) * size, what);
}

/* Loops run programs behind their own only, so that running ends up nowhere twice. */
static void plan_loop(const plan_t *p, uint32_t own, const plan_loop_step_t *s)
{
    plan_inside(p, s->more, 1, "loop condition");
    if (s->condition <= own || s->condition >= (uint32_t)p->n_program || s->body <= own ||
        s->body >= (uint32_t)p->n_program)
        broken("programs of a loop", p->program[own].name);
}

static void plan_step(const plan_t *p, uint32_t program, const plan_step_t *s)
{
    if (s->kind == STEP_COPY) {
        plan_inside(p, s->copy.from, s->copy.n_bytes, "copy from");
        plan_inside(p, s->copy.to, s->copy.n_bytes, "copy to");
    } else if (s->kind == STEP_KERNEL) {
        if (s->kernel.kernel >= (uint32_t)p->n_kernel) broken("kernel number", s->label);
        if (s->kernel.extent < 0 || s->kernel.grain < 1) broken("kernel extent", s->label);
        for (int i = 0; i < s->kernel.n_arg; i++)
            plan_inside(p, s->kernel.arg[i], 0, "kernel argument");
    } else if (s->kind == STEP_GEMM) {
        const plan_gemm_step_t *g = &s->gemm;
        if (g->dtype != DT_F32 && g->dtype != DT_F64) broken("gemm dtype", s->label);
        if (g->parts < 0 || (g->parts > 0 && g->kernel >= (uint32_t)p->n_kernel))
            broken("gemm kernel", s->label);
        if (g->batch < 1 || g->inner < 1) broken("gemm batch", s->label);
        if (g->m < 1 || g->n < 1 || g->k < 1) return; /* reads and writes nothing */
        plan_operand(p, g, g->a, g->trans_a ? g->k : g->m, g->trans_a ? g->m : g->k, g->lda,
                     g->stride_a, g->inner_a, "a");
        plan_operand(p, g, g->b, g->trans_b ? g->n : g->k, g->trans_b ? g->k : g->n, g->ldb,
                     g->stride_b, g->inner_b, "b");
        plan_operand(p, g, g->c, g->m, g->n, g->ldc, g->stride_c, g->inner_c, "c");
    } else if (s->kind == STEP_LOOP) {
        plan_loop(p, program, &s->loop);
    } else {
        broken("kind of step", s->label);
    }
}

static void plan_promises(const plan_t *p)
{
    for (int i = 0; i < p->n_tensor; i++) {
        const plan_tensor_t *t = &p->tensor[i];
        plan_inside(p, t->offset, t->n_bytes, "tensor");
        if ((__int128)ir_type_count(&t->type) * dtype_bytes(t->type.dtype) > t->n_bytes)
            broken("a tensor has room for its type", t->name);
    }
    for (int i = 0; i < p->n_constant; i++)
        plan_inside(p, p->constant[i].offset, p->constant[i].n_bytes, "constant");
    for (int i = 0; i < p->n_program; i++) {
        const plan_program_t *program = &p->program[i];
        for (int s = 0; s < program->n_step; s++) plan_step(p, (uint32_t)i, &program->step[s]);
        for (int t = 0; t < program->n_tensor; t++)
            if (program->tensor[t] >= (uint32_t)p->n_tensor) broken("tensor number", program->name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    Pcp__PlanFile file = PCP__PLAN_FILE__INIT;
    char hash[HASH_HEX];
    err_t err = {0};
    hash_content(data, n, hash);
    file.version = 1;
    file.hash = hash;
    file.body = (ProtobufCBinaryData){n, (uint8_t *)data};
    size_t n_file = pcp__plan_file__get_packed_size(&file), n_again, n_third;
    uint8_t *bytes = malloc(n_file + 1);
    pcp__plan_file__pack(&file, bytes);
    plan_t *p = plan_unpack(data, n, &err); /* no hash: refused, whatever it is */
    if (p) broken("a plan without its hash", "was accepted");
    err_clear(&err);
    alloc_bound_begin("plan", PLAN_MULTIPLE, n_file, PLAN_CONSTANT);
    p = plan_unpack(bytes, n_file, &err);
    alloc_bound_end();
    free(bytes);
    if (!p && err.code == ERR_OK) broken("an error says so", "");
    if (!p) return 0;
    plan_promises(p);
    uint8_t *again = plan_pack(p, &n_again, NULL);
    plan_destroy(&p);
    p = plan_unpack(again, n_again, &err);
    if (!p) broken("a packed plan reads back", err.text);
    uint8_t *third = plan_pack(p, &n_third, NULL);
    if (n_third != n_again || memcmp(again, third, n_again) != 0) broken("to the same bytes", "");
    free(again);
    free(third);
    plan_destroy(&p);
    return 0;
}
