/* Bytes to plans. Nothing is believed: the hash first, then every count while copying, then offsets
 * and indices by plan_check. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "plan/format/check.h"
#include "plan/format/plan.h"
#include "plan/format/wire.h"
#include "proto/plan.pb-c.h"

static int corrupt(err_t *err, const char *what)
{
    return err_set(err, ERR_CORRUPT, "plan: %s out of bounds", what);
}

static int unpack_tensor(const Pcp__PlanTensor *m, plan_tensor_t *t, err_t *err)
{
    if (m->n_dim > IR_MAX_RANK || m->role < ROLE_PARAM || m->role > ROLE_TEMPORARY)
        return corrupt(err, "tensor");
    dtype_t dtype = dtype_parse(m->dtype, strlen(m->dtype));
    if (dtype == DT_NONE) return corrupt(err, "element type");
    t->name = mem_strdup(m->name);
    t->role = (plan_role_t)m->role;
    t->type = ir_type(dtype, (int)m->n_dim, m->dim);
    t->offset = m->offset;
    t->n_bytes = m->n_bytes;
    return 0;
}

static int unpack_kernel(const Pcp__PlanKernelStep *m, plan_kernel_step_t *k, err_t *err)
{
    if (m->n_arg > WIRE_MAX_ARGS) return corrupt(err, "operand count");
    *k = (plan_kernel_step_t){m->kernel, m->begin, m->extent, m->grain, (int)m->n_arg, NULL};
    k->arg = mem_calloc(m->n_arg + 1, sizeof *k->arg);
    if (m->n_arg) memcpy(k->arg, m->arg, m->n_arg * sizeof *k->arg);
    return 0;
}

static void unpack_gemm(const Pcp__PlanGemmStep *m, plan_gemm_step_t *g)
{
    g->dtype = dtype_parse(m->dtype, strlen(m->dtype));
#define FIELD(type, name) g->name = m->name;
    WIRE_GEMM_FIELDS(FIELD)
#undef FIELD
}

static int unpack_step(const Pcp__PlanStep *m, plan_step_t *s, err_t *err)
{
    switch (m->what_case) {
    case PCP__PLAN_STEP__WHAT_KERNEL:
        s->kind = STEP_KERNEL;
        if (unpack_kernel(m->kernel, &s->kernel, err) < 0) return -1;
        break;
    case PCP__PLAN_STEP__WHAT_GEMM:
        s->kind = STEP_GEMM;
        unpack_gemm(m->gemm, &s->gemm);
        break;
    case PCP__PLAN_STEP__WHAT_COPY:
        s->kind = STEP_COPY;
        s->copy = (plan_copy_step_t){m->copy->from, m->copy->to, m->copy->n_bytes};
        break;
    case PCP__PLAN_STEP__WHAT_LOOP:
        s->kind = STEP_LOOP;
        s->loop = (plan_loop_step_t){m->loop->condition, m->loop->body, m->loop->more};
        break;
    default: return corrupt(err, "step kind");
    }
    s->label = mem_strdup(m->label);
    s->flops = m->flops;
    s->bytes = m->bytes;
    return 0;
}

static int unpack_program(const Pcp__PlanProgram *m, plan_program_t *p, err_t *err)
{
    if (m->n_step > WIRE_MAX_STEPS || m->n_sweep > m->n_step || m->n_tensor > WIRE_MAX_TENSORS)
        return corrupt(err, "step count");
    p->name = mem_strdup(m->name);
    p->sweep = mem_calloc(m->n_sweep + 1, sizeof *p->sweep);
    p->step = mem_calloc(m->n_step + 1, sizeof *p->step);
    p->tensor = mem_calloc(m->n_tensor + 1, sizeof *p->tensor);
    p->n_tensor = (int)m->n_tensor;
    p->temporary_bytes = m->temporary_bytes;
    p->peak = m->peak;
    if (m->n_tensor) memcpy(p->tensor, m->tensor, m->n_tensor * sizeof *p->tensor);
    for (size_t i = 0; i < m->n_step; i++) {
        p->n_step = (int)i + 1;
        if (unpack_step(m->step[i], &p->step[i], err) < 0) return -1;
    }
    for (size_t i = 0; i < m->n_sweep; i++) {
        const Pcp__PlanSweep *s = m->sweep[i];
        if (s->first > m->n_step || s->n > m->n_step) return corrupt(err, "sweep");
        p->sweep[p->n_sweep++] = (plan_sweep_t){(int)s->first, (int)s->n, s->strips};
    }
    return 0;
}

static uint8_t *copy_bytes(const ProtobufCBinaryData *data)
{
    uint8_t *bytes = mem_calloc(1, data->len + 1);
    if (data->len) memcpy(bytes, data->data, data->len);
    return bytes;
}

static int unpack_tables(const Pcp__Plan *m, plan_t *plan, err_t *err)
{
    int n_batch = 0;
    plan->tensor = mem_calloc(m->n_tensor + 1, sizeof *plan->tensor);
    plan->program = mem_calloc(m->n_program + 1, sizeof *plan->program);
    plan->kernel_name = mem_calloc(m->n_kernel_name + 1, sizeof *plan->kernel_name);
    plan->constant = mem_calloc(m->n_constant + 1, sizeof *plan->constant);
    for (size_t i = 0; i < m->n_tensor; i++) {
        plan->n_tensor = (int)i + 1;
        if (unpack_tensor(m->tensor[i], &plan->tensor[i], err) < 0) return -1;
        if (plan->tensor[i].role == ROLE_BATCH && ++n_batch > WIRE_MAX_BATCH)
            return corrupt(err, "number of batch tensors");
    }
    for (size_t i = 0; i < m->n_program; i++) {
        plan->n_program = (int)i + 1;
        if (unpack_program(m->program[i], &plan->program[i], err) < 0) return -1;
    }
    for (size_t i = 0; i < m->n_kernel_name; i++)
        plan->kernel_name[i] = mem_strdup(m->kernel_name[i]);
    plan->n_kernel = (int)m->n_kernel_name;
    for (size_t i = 0; i < m->n_constant; i++)
        plan->constant[i] = (struct plan_constant){m->constant[i]->offset, m->constant[i]->data.len,
                                                   copy_bytes(&m->constant[i]->data)};
    plan->n_constant = (int)m->n_constant;
    return 0;
}

static int unpack_plan(const Pcp__Plan *m, plan_t *plan, err_t *err)
{
    if (m->n_tensor > WIRE_MAX_TENSORS || m->n_program > WIRE_MAX_PROGRAMS ||
        m->n_kernel_name > WIRE_MAX_TENSORS || m->n_constant > WIRE_MAX_TENSORS)
        return corrupt(err, "table size");
    if (m->arena_bytes > WIRE_MAX_ARENA) return corrupt(err, "arena size");
    plan->target = mem_strdup(m->target);
    plan->module_hash = mem_strdup(m->module_hash);
    plan->spec = mem_strdup(m->spec);
    plan->accumulate = m->accumulate;
    plan->arena_bytes = m->arena_bytes;
    plan->fixed_bytes = m->fixed_bytes;
    plan->alignment = m->alignment;
    plan->code = copy_bytes(&m->code);
    plan->n_code = m->code.len;
    if (unpack_tables(m, plan, err) < 0) return -1;
    return plan_check(plan, err);
}

/* The file's body when version and hash are right, else NULL. */
static Pcp__Plan *open_file(const Pcp__PlanFile *file, err_t *err)
{
    char hash[HASH_HEX];
    if (file->version != WIRE_VERSION) {
        err_set(err, ERR_UNSUPPORTED, "plan: version %u, this program reads %d", file->version,
                WIRE_VERSION);
        return NULL;
    }
    hash_content(file->body.data, file->body.len, hash);
    if (strcmp(hash, file->hash) != 0) {
        err_set(err, ERR_CORRUPT, "plan: content hash is %.16s..., the file says %.16s...", hash,
                file->hash);
        return NULL;
    }
    Pcp__Plan *m = pcp__plan__unpack(NULL, file->body.len, file->body.data);
    if (!m) err_set(err, ERR_CORRUPT, "plan: the body does not follow plan.proto");
    return m;
}

plan_t *plan_unpack(const uint8_t *bytes, size_t n_bytes, err_t *err)
{
    Pcp__PlanFile *file = pcp__plan_file__unpack(NULL, n_bytes, bytes);
    if (!file) {
        err_set(err, ERR_CORRUPT, "plan: %zu bytes that do not follow plan.proto", n_bytes);
        return NULL;
    }
    Pcp__Plan *m = open_file(file, err);
    plan_t *plan = m ? mem_calloc(1, sizeof *plan) : NULL;
    if (plan && unpack_plan(m, plan, err) < 0) plan_destroy(&plan);
    if (m) pcp__plan__free_unpacked(m, NULL);
    pcp__plan_file__free_unpacked(file, NULL);
    return plan;
}
