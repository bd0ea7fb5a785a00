/* Plans to bytes: proto/plan.proto. Messages borrow from the plan; only arrays of pointers are
 * made. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "plan/format/plan.h"
#include "plan/format/wire.h"
#include "proto/plan.pb-c.h"

static char *borrow(const char *text)
{
    return (char *)(text ? text : "");
}

static Pcp__PlanTensor *pack_tensor(arena_t *a, const plan_tensor_t *t)
{
    Pcp__PlanTensor *m = ARENA_NEW(a, Pcp__PlanTensor);
    pcp__plan_tensor__init(m);
    m->name = borrow(t->name);
    m->role = (uint32_t)t->role;
    m->dtype = borrow(dtype_name(t->type.dtype));
    m->n_dim = (size_t)t->type.rank;
    m->dim = arena_copy(a, t->type.dim, sizeof t->type.dim);
    m->offset = t->offset;
    m->n_bytes = t->n_bytes;
    return m;
}

static Pcp__PlanKernelStep *pack_kernel(arena_t *a, const plan_kernel_step_t *k)
{
    Pcp__PlanKernelStep *m = ARENA_NEW(a, Pcp__PlanKernelStep);
    pcp__plan_kernel_step__init(m);
    m->kernel = k->kernel;
    m->begin = k->begin;
    m->extent = k->extent;
    m->grain = k->grain;
    m->n_arg = (size_t)k->n_arg;
    m->arg = k->arg;
    return m;
}

static Pcp__PlanGemmStep *pack_gemm(arena_t *a, const plan_gemm_step_t *g)
{
    Pcp__PlanGemmStep *m = ARENA_NEW(a, Pcp__PlanGemmStep);
    pcp__plan_gemm_step__init(m);
    m->dtype = borrow(dtype_name(g->dtype));
#define FIELD(type, name) m->name = g->name;
    WIRE_GEMM_FIELDS(FIELD)
#undef FIELD
    return m;
}

static Pcp__PlanCopyStep *pack_copy(arena_t *a, const plan_copy_step_t *c)
{
    Pcp__PlanCopyStep *m = ARENA_NEW(a, Pcp__PlanCopyStep);
    pcp__plan_copy_step__init(m);
    m->from = c->from;
    m->to = c->to;
    m->n_bytes = c->n_bytes;
    return m;
}

static Pcp__PlanLoopStep *pack_loop(arena_t *a, const plan_loop_step_t *l)
{
    Pcp__PlanLoopStep *m = ARENA_NEW(a, Pcp__PlanLoopStep);
    pcp__plan_loop_step__init(m);
    m->condition = l->condition;
    m->body = l->body;
    m->more = l->more;
    return m;
}

static Pcp__PlanStep *pack_step(arena_t *a, const plan_step_t *s)
{
    Pcp__PlanStep *m = ARENA_NEW(a, Pcp__PlanStep);
    pcp__plan_step__init(m);
    m->label = borrow(s->label);
    m->flops = s->flops;
    m->bytes = s->bytes;
    if (s->kind == STEP_KERNEL) {
        m->what_case = PCP__PLAN_STEP__WHAT_KERNEL;
        m->kernel = pack_kernel(a, &s->kernel);
    } else if (s->kind == STEP_GEMM) {
        m->what_case = PCP__PLAN_STEP__WHAT_GEMM;
        m->gemm = pack_gemm(a, &s->gemm);
    } else if (s->kind == STEP_LOOP) {
        m->what_case = PCP__PLAN_STEP__WHAT_LOOP;
        m->loop = pack_loop(a, &s->loop);
    } else {
        m->what_case = PCP__PLAN_STEP__WHAT_COPY;
        m->copy = pack_copy(a, &s->copy);
    }
    return m;
}

static Pcp__PlanSweep *pack_sweep(arena_t *a, const plan_sweep_t *s)
{
    Pcp__PlanSweep *m = ARENA_NEW(a, Pcp__PlanSweep);
    pcp__plan_sweep__init(m);
    m->first = (uint32_t)s->first;
    m->n = (uint32_t)s->n;
    m->strips = s->strips;
    return m;
}

static Pcp__PlanProgram *pack_program(arena_t *a, const plan_program_t *p)
{
    Pcp__PlanProgram *m = ARENA_NEW(a, Pcp__PlanProgram);
    pcp__plan_program__init(m);
    m->name = borrow(p->name);
    m->n_step = (size_t)p->n_step;
    m->step = ARENA_ARRAY(a, Pcp__PlanStep *, p->n_step + 1);
    for (int i = 0; i < p->n_step; i++) m->step[i] = pack_step(a, &p->step[i]);
    m->n_sweep = (size_t)p->n_sweep;
    m->sweep = ARENA_ARRAY(a, Pcp__PlanSweep *, p->n_sweep + 1);
    for (int i = 0; i < p->n_sweep; i++) m->sweep[i] = pack_sweep(a, &p->sweep[i]);
    m->n_tensor = (size_t)p->n_tensor;
    m->tensor = p->tensor;
    m->temporary_bytes = p->temporary_bytes;
    m->peak = p->peak;
    return m;
}

static Pcp__PlanConstant *pack_constant(arena_t *a, const struct plan_constant *c)
{
    Pcp__PlanConstant *m = ARENA_NEW(a, Pcp__PlanConstant);
    pcp__plan_constant__init(m);
    m->offset = c->offset;
    m->data = (ProtobufCBinaryData){c->n_bytes, c->bytes};
    return m;
}

static void pack_tables(arena_t *a, const plan_t *self, Pcp__Plan *m)
{
    m->n_tensor = (size_t)self->n_tensor;
    m->tensor = ARENA_ARRAY(a, Pcp__PlanTensor *, self->n_tensor + 1);
    for (int i = 0; i < self->n_tensor; i++) m->tensor[i] = pack_tensor(a, &self->tensor[i]);
    m->n_program = (size_t)self->n_program;
    m->program = ARENA_ARRAY(a, Pcp__PlanProgram *, self->n_program + 1);
    for (int i = 0; i < self->n_program; i++) m->program[i] = pack_program(a, &self->program[i]);
    m->n_constant = (size_t)self->n_constant;
    m->constant = ARENA_ARRAY(a, Pcp__PlanConstant *, self->n_constant + 1);
    for (int i = 0; i < self->n_constant; i++)
        m->constant[i] = pack_constant(a, &self->constant[i]);
    m->n_kernel_name = (size_t)self->n_kernel;
    m->kernel_name = self->kernel_name;
}

/* A file into room of its size, where its body stands already: nothing large is held twice. */
typedef struct {
    ProtobufCBuffer base;
    uint8_t *at;
} placed_t;

static void place(ProtobufCBuffer *buffer, size_t n, const uint8_t *data)
{
    placed_t *self = (placed_t *)buffer;
    if (data != self->at) memcpy(self->at, data, n);
    self->at += n;
}

uint8_t *plan_pack(const plan_t *self, size_t *n_bytes, char hash[HASH_HEX])
{
    arena_t *a = arena_new();
    Pcp__Plan m = PCP__PLAN__INIT;
    Pcp__PlanFile file = PCP__PLAN_FILE__INIT;
    char own[HASH_HEX];
    m.target = borrow(self->target);
    m.module_hash = borrow(self->module_hash);
    m.spec = borrow(self->spec);
    m.accumulate = self->accumulate;
    m.arena_bytes = self->arena_bytes;
    m.fixed_bytes = self->fixed_bytes;
    m.alignment = self->alignment;
    m.code = (ProtobufCBinaryData){self->n_code, self->code};
    pack_tables(a, self, &m);

    size_t n = pcp__plan__get_packed_size(&m);
    hash_content("", 0, own); /* for its length */
    file.version = WIRE_VERSION;
    file.hash = own;
    file.body.len = n;
    *n_bytes = pcp__plan_file__get_packed_size(&file);
    uint8_t *bytes = mem_calloc(1, *n_bytes + 1);
    file.body.data = bytes + (*n_bytes - n); /* the last field */
    pcp__plan__pack(&m, file.body.data);
    hash_content(file.body.data, n, own);
    placed_t placed = {.base = {.append = place}, .at = bytes};
    pcp__plan_file__pack_to_buffer(&file, &placed.base);
    if (hash) memcpy(hash, own, HASH_HEX);
    arena_destroy(&a);
    return bytes;
}
