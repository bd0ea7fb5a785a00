/* Which programs there are, and their inputs and results as tensors of the plan. */
#include "infer/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "codegen/target.h"
#include "infer/plans.h"
#include "model/family.h"
#include "runtime/exec.h"

enum {
    SHORT = 16,  /* tokens of a chunk whose products read each weight once ... */
    LONG = 128,  /* ... and of one whose products are worth packing */
    NEAR = 256,  /* positions: a shorter span is not worth a program */
    FURTHER = 4, /* spans grow by this factor */
    MOST = 64,   /* programs */
    NAME = 48,
};

typedef struct {
    model_step_t how;
    char name[NAME];
    int tokens, first, slot, last, from, logits, hidden; /* tensors; -1: none */
} program_t;

struct steps {
    model_steps_t how;
    bool rounded; /* activations as matrices are kept */
    model_step_t list[MOST];
    program_t program[MOST];
    plan_t *plan;
    plans_place_t place;
    exec_t *exec;
    int64_t vocab, width;
    const program_t *ran;      /* in the last call */
    int32_t *token, *position; /* of a call */
    float *hidden;             /* [slots, width] */
};

/* --- programs --- */

static void add_program(steps_t *self, const char *kind, int64_t rows, int64_t time, int64_t span)
{
    if (self->how.n_program == MOST) return;
    program_t *p = &self->program[self->how.n_program];
    snprintf(p->name, NAME, "%s%lldx%lld", kind, (long long)(time > 1 ? time : rows),
             (long long)span);
    p->how = (model_step_t){.name = p->name, .rows = rows, .time = time, .span = span};
    p->how.one_slot = time > 1 && self->how.slots > 1;
    self->list[self->how.n_program++] = p->how;
}

/* From a slot to another. */
static void add_copy(steps_t *self, int64_t span)
{
    if (self->how.n_program == MOST || self->how.slots == 1) return;
    program_t *p = &self->program[self->how.n_program];
    snprintf(p->name, NAME, "copy%lld", (long long)span);
    p->how = (model_step_t){.name = p->name, .span = span, .copies = true};
    self->list[self->how.n_program++] = p->how;
}

/* For each span, the shortest first, programs for one token of 1, 2, 4, ... slots, for chunks of one
 * sequence, and to copy. */
static void list_programs(steps_t *self)
{
    int64_t length = self->how.length, span = length;
    while (span > NEAR) span = (span + FURTHER - 1) / FURTHER;
    for (;; span = span * FURTHER < length ? span * FURTHER : length) {
        for (int64_t rows = 1;; rows = 2 * rows < self->how.slots ? 2 * rows : self->how.slots) {
            add_program(self, "next", rows, 1, span);
            if (rows == self->how.slots) break;
        }
        if (length > 1) add_program(self, "read", 1, length < SHORT ? length : SHORT, span);
        if (length >= LONG) add_program(self, "read", 1, LONG, span);
        add_copy(self, span);
        if (span == length) break;
    }
    self->how.program = self->list;
}

/* The first program that reaches `end`, for so many rows or tokens, or (time 0) to copy; NULL: none. */
static program_t *find_program(steps_t *self, int64_t rows, int64_t time, int64_t end)
{
    for (int i = 0; i < self->how.n_program; i++) {
        program_t *p = &self->program[i];
        bool fits = time == 0  ? p->how.copies
                    : time > 1 ? p->how.time >= time
                               : p->how.time == 1 && p->how.rows >= rows;
        if (fits && p->how.span >= end) return p;
    }
    return NULL;
}

static int find_tensor(const steps_t *self, const program_t *p, plan_role_t role, const char *what)
{
    char name[2 * NAME];
    snprintf(name, sizeof name, "%s.%s", p->name, what);
    return plan_find_tensor(self->plan, role, name);
}

/* What a program reads and writes goes through buffers of ours: a plan that was kept under this name and is
 * another one must not have larger tensors than those. tensor -1: none. */
static bool holds(const steps_t *self, int tensor, dtype_t dtype, int64_t rows, int64_t columns)
{
    const plan_tensor_t *t = tensor < 0 ? NULL : &self->plan->tensor[tensor];
    return !t || (t->type.dtype == dtype &&
                  t->n_bytes == (uint64_t)(rows * columns) * dtype_bytes(dtype));
}

/* The last dimension of [rows, columns]; 0: it is none such, or there is no tensor. */
static int64_t columns_of(const steps_t *self, int tensor)
{
    enum { MOST_COLUMNS = 1 << 24 };
    if (tensor < 0) return 0;
    const ir_type_t *type = &self->plan->tensor[tensor].type;
    return type->rank == 2 && type->dim[1] <= MOST_COLUMNS ? type->dim[1] : 0;
}

static bool suits(const steps_t *self, const program_t *p)
{
    int64_t rows = p->how.time > 1 ? 1 : p->how.rows;
    bool numbers = holds(self, p->slot, DT_I32, 1, 1) && holds(self, p->last, DT_I32, 1, 1) &&
                   holds(self, p->from, DT_I32, 1, 1);
    if (p->how.copies) return numbers;
    return numbers && self->vocab > 0 && holds(self, p->tokens, DT_I32, rows, p->how.time) &&
           holds(self, p->first, DT_I32, rows, 1) &&
           holds(self, p->logits, DT_F32, rows, self->vocab) &&
           holds(self, p->hidden, DT_F32, rows, self->width) &&
           (p->hidden >= 0) == (self->width > 0);
}

static int find_tensors(steps_t *self, err_t *err)
{
    for (int i = 0; i < self->how.n_program; i++) {
        program_t *p = &self->program[i];
        p->tokens = find_tensor(self, p, ROLE_BATCH, "tokens");
        p->first = find_tensor(self, p, ROLE_BATCH, "first");
        p->slot = find_tensor(self, p, ROLE_BATCH, "slot");
        p->last = find_tensor(self, p, ROLE_BATCH, "last");
        p->from = find_tensor(self, p, ROLE_BATCH, "from");
        p->logits = find_tensor(self, p, ROLE_RESULT, "logits");
        p->hidden = find_tensor(self, p, ROLE_RESULT, "hidden");
        bool there = p->how.copies ? p->from >= 0 && p->slot >= 0
                                   : p->tokens >= 0 && p->first >= 0 && p->logits >= 0;
        if (!there) return err_set(err, ERR_CORRUPT, "the plan lacks the program %s", p->name);
        if (!p->how.copies) {
            self->vocab = columns_of(self, p->logits);
            self->width = columns_of(self, p->hidden);
        }
    }
    for (int i = 0; i < self->how.n_program; i++)
        if (!suits(self, &self->program[i]))
            return err_set(err, ERR_CORRUPT,
                           "the plan's program %s is not for this model: remove the file of the "
                           "plan, and it is compiled again",
                           self->program[i].name);
    return 0;
}

/* --- the plan --- */

typedef struct {
    const steps_from_t *from;
    steps_t *steps;
} making_t;

static ir_module_t *make_module(void *user, err_t *err)
{
    making_t *m = user;
    const model_steps_t *how = &m->steps->how;
    const family_run_t run = {.block = how->length, .batch = 1, .steps = how};
    ir_module_t *module = m->from->derived ? derive_steps(m->from->derived, how, err)
                                           : family_build(m->from->config, &run, err);
    if (module) attr_set_int(module->arena, &module->attrs, "pcp.stream", how->slots);
    if (module && m->steps->rounded) attr_set_int(module->arena, &module->attrs, "pcp.rounded", 1);
    return module;
}

/* Everything that the module depends on. */
static char *describe(const steps_t *self, const steps_from_t *from)
{
    str_t text = {0};
    str_addf(&text, "%s %s, %lld slots of %lld, %s%s, kept %s:",
             from->derived ? "derived steps of" : "steps of", from->config,
             (long long)self->how.slots, (long long)self->how.length, dtype_name(self->how.weights),
             self->rounded ? " rounded" : "", dtype_name(self->how.kept));
    for (int i = 0; i < self->how.n_program; i++) str_addf(&text, " %s", self->program[i].name);
    char *out = mem_strdup(str_text(&text));
    str_fini(&text);
    return out;
}

steps_t *steps_new(const steps_from_t *from, int64_t length, const infer_source_t *source,
                   const infer_options_t *o, bool *compiled, err_t *err)
{
    steps_t *self = mem_calloc(1, sizeof *self);
    exec_options_t run = {.threads = o->threads};
    self->how = (model_steps_t){.slots = o->slots > 0 ? o->slots : 1, .length = length};
    self->how.weights = o->weights == INFER_BF16 ? DT_BF16
                        : o->weights == INFER_I8 ? DT_I8
                                                 : DT_F32;
    self->how.kept = o->keep == INFER_KEEP_BF16 ? DT_BF16 : DT_F32;
    self->how.panels = target_caps(target_host()).panels;
    self->rounded = self->how.panels && self->how.weights != DT_F32 &&
                    o->activations == INFER_ACTIVATIONS_AS_WEIGHTS;
    list_programs(self);
    making_t making = {from, self};
    char *what = describe(self, from);
    self->place = (plans_place_t){.dir = o->cache_dir, .limit = o->cache_limit};
    self->plan = plans_get(what, make_module, &making, &self->place, compiled, err);
    free(what);
    int status = self->plan ? find_tensors(self, err) : -1;
    if (status == 0 && !(self->exec = exec_new(self->plan, &run, err))) status = -1;
    if (status == 0)
        status = plans_load(self->plan, self->exec, source->params, source->adapters, err);
    int64_t most = self->how.slots > LONG ? self->how.slots : LONG;
    self->token = mem_calloc((size_t)most, sizeof *self->token);
    self->position = mem_calloc((size_t)most, sizeof *self->position);
    self->hidden = mem_calloc((size_t)(self->how.slots * self->width) + 1, sizeof *self->hidden);
    if (status < 0) steps_destroy(&self);
    return self;
}

void steps_destroy(steps_t **self_p)
{
    steps_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    exec_destroy(&self->exec);
    plan_destroy(&self->plan);
    plans_done(&self->place);
    free(self->token);
    free(self->position);
    free(self->hidden);
    free(self);
}

int64_t steps_vocab(const steps_t *self)
{
    return self->vocab;
}

int64_t steps_width(const steps_t *self)
{
    return self->width;
}

const plan_t *steps_plan(const steps_t *self)
{
    return self->plan;
}

exec_t *steps_exec(steps_t *self)
{
    return self->exec;
}

/* --- calls --- */

static int write(steps_t *self, int tensor, const int32_t *values, err_t *err)
{
    if (tensor < 0) return 0;
    return exec_write(self->exec, tensor, values, (size_t)self->plan->tensor[tensor].n_bytes, err);
}

static int run(steps_t *self, const program_t *p, err_t *err)
{
    if (exec_run(self->exec, p->name, err) < 0) return -1;
    self->ran = p;
    return 0;
}

int64_t steps_chunk(const steps_t *self, int64_t n)
{
    int64_t most = self->how.length < SHORT ? self->how.length : SHORT;
    if (self->how.length >= LONG && n > SHORT) most = LONG;
    return n < most ? n : most;
}

int steps_read(steps_t *self, int slot, const uint32_t *tokens, int64_t n, int64_t first,
               float *scores, err_t *err)
{
    program_t *p = find_program(self, 1, n > 1 ? n : 2, first + n);
    const int32_t place = slot, last = (int32_t)n - 1, at = (int32_t)first;
    if (!p) return err_set(err, ERR_STATE, "no program reads %lld tokens", (long long)n);
    for (int64_t i = 0; i < p->how.time; i++) self->token[i] = i < n ? (int32_t)tokens[i] : 0;
    if (write(self, p->tokens, self->token, err) < 0 || write(self, p->first, &at, err) < 0 ||
        write(self, p->slot, &place, err) < 0 || write(self, p->last, &last, err) < 0)
        return -1;
    return run(self, p, err) < 0 ? -1 : steps_scores(self, 0, scores, err);
}

int steps_copy(steps_t *self, int from, int to, int64_t n, err_t *err)
{
    const program_t *p = find_program(self, 1, 0, n);
    const int32_t source = from, place = to;
    if (!p) return err_set(err, ERR_STATE, "no program copies %lld tokens", (long long)n);
    if (write(self, p->from, &source, err) < 0 || write(self, p->slot, &place, err) < 0) return -1;
    return exec_run(self->exec, p->name, err);
}

int steps_next(steps_t *self, int n, const uint32_t *tokens, const int64_t *at, err_t *err)
{
    int64_t end = 0, rows = 1;
    while (rows < n) rows *= 2;
    if (rows > self->how.slots) rows = self->how.slots;
    for (int64_t i = 0; i < rows; i++) /* one that stands at the end reads nothing that counts */
        if (at[i] >= end && at[i] < self->how.length) end = at[i] + 1;
    program_t *p = find_program(self, n, 1, end);
    if (!p)
        return err_set(err, ERR_STATE, "no program reads a token of %d sequences at %lld", n,
                       (long long)end);
    for (int i = 0; i < p->how.rows; i++) {
        self->token[i] = i < n ? (int32_t)tokens[i] : 0;
        self->position[i] = (int32_t)at[i]; /* of those beyond n, too: something is written there */
    }
    if (write(self, p->tokens, self->token, err) < 0 ||
        write(self, p->first, self->position, err) < 0)
        return -1;
    return run(self, p, err);
}

int steps_scores(steps_t *self, int slot, float *scores, err_t *err)
{
    const size_t n_bytes = (size_t)self->vocab * sizeof *scores;
    return exec_read_part(self->exec, self->ran->logits, (uint64_t)slot * n_bytes, scores, n_bytes,
                          err);
}

const float *steps_peek(steps_t *self, int slot)
{
    const size_t n_bytes = (size_t)self->vocab * sizeof(float);
    return exec_peek(self->exec, self->ran->logits, (uint64_t)slot * n_bytes, n_bytes);
}

const float *steps_hidden(steps_t *self, err_t *err)
{
    int tensor = self->ran->hidden;
    size_t n_bytes = (size_t)self->plan->tensor[tensor].n_bytes;
    return exec_read(self->exec, tensor, self->hidden, n_bytes, err) < 0 ? NULL : self->hidden;
}
