/* Plans at work: tensors in, steps, tensors out. */
#include "worker/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "ckpt/safetensors.h"
#include "ir/tensor.h"
#include "plan/format/plan.h"
#include "runtime/exec.h"

#define STEPS "steps"       /* the state file's metadata key */
#define ERROR "codec.error" /* its tensor besides the plan's */

typedef VEC(int) ints_t;

struct engine {
    plan_t *plan;
    exec_t *exec;
    ints_t params, batch; /* tensors by role, in the plan's order */
    ints_t states;        /* by name: the same order for every target */
    int loss;             /* tensor of role result */
    uint64_t n_param;
    long steps;     /* since the moments were zero: the bias correction counts these */
    uint8_t *piece; /* room for SOURCE_PIECE_BYTES: there is none for a tensor a second time */
    struct {        /* engine_state's file */
        uint8_t *head;
        size_t n_head;
        const float *error; /* behind the tensors; NULL: none */
    } image;
};

static int by_name(const void *a, const void *b, void *plan)
{
    const int x = *(const int *)a, y = *(const int *)b;
    const plan_tensor_t *all = ((const plan_t *)plan)->tensor;
    int order = strcmp(all[x].name, all[y].name);
    return order ? order : (x > y) - (x < y);
}

static int sort_tensors(engine_t *self, err_t *err)
{
    for (int i = 0; i < self->plan->n_tensor; i++) {
        const plan_tensor_t *tensor = &self->plan->tensor[i];
        switch (tensor->role) {
        case ROLE_PARAM:
            if (tensor->type.dtype != DT_F32 && tensor->type.dtype != DT_F64)
                return err_set(err, ERR_UNSUPPORTED, "parameter \"%s\" is %s; f32 and f64 travel",
                               tensor->name, dtype_name(tensor->type.dtype));
            VEC_PUSH(&self->params, i);
            self->n_param += (uint64_t)ir_type_count(&tensor->type);
            break;
        case ROLE_STATE: VEC_PUSH(&self->states, i); break;
        case ROLE_BATCH:
            if (plan_trains_on(self->plan, i)) VEC_PUSH(&self->batch, i);
            break;
        default: break;
        }
    }
    if (self->states.n > 0)
        qsort_r(self->states.at, self->states.n, sizeof *self->states.at, by_name, self->plan);
    self->loss = plan_find_tensor(self->plan, ROLE_RESULT, "loss");
    const char *train = self->plan->accumulate > 1 ? "accumulate" : "train";
    if (!plan_find_program(self->plan, train) || !plan_find_program(self->plan, "loss") ||
        self->loss < 0)
        return err_set(err, ERR_UNSUPPORTED, "the plan has no programs \"%s\" and \"loss\"", train);
    return 0;
}

engine_t *engine_new(uint8_t *plan, size_t n, const exec_options_t *options, err_t *err)
{
    engine_t *self = mem_calloc(1, sizeof *self);
    self->piece = mem_calloc(SOURCE_PIECE_BYTES, 1);
    self->plan = plan_unpack(plan, n, err);
    free(plan);
    if (self->plan && sort_tensors(self, err) == 0) self->exec = exec_new(self->plan, options, err);
    if (!self->exec) engine_destroy(&self);
    const char *library = self ? exec_library(self->exec) : NULL;
    if (library)
        log_event(LOG_INFO, "products", "target=%s library=\"%s\"", self->plan->target, library);
    return self;
}

void engine_destroy(engine_t **self_p)
{
    engine_t *self = *self_p;
    if (!self) return;
    exec_destroy(&self->exec);
    plan_destroy(&self->plan);
    VEC_FREE(&self->params);
    VEC_FREE(&self->states);
    VEC_FREE(&self->batch);
    free(self->piece);
    free(self->image.head);
    free(self);
    *self_p = NULL;
}

uint64_t engine_params(const engine_t *self)
{
    return self->n_param;
}

int engine_accumulate(const engine_t *self)
{
    return self->plan->accumulate;
}

int engine_layout(const engine_t *self, data_kind_t kind, batch_layout_t *out, err_t *err)
{
    ir_type_t types[BATCH_MAX_ARGS];
    if (self->batch.n > BATCH_MAX_ARGS)
        return err_set(err, ERR_SHAPE, "%zu batch arguments, limit %d", self->batch.n,
                       BATCH_MAX_ARGS);
    for (size_t i = 0; i < self->batch.n; i++)
        types[i] = self->plan->tensor[self->batch.at[i]].type;
    return batch_layout(kind, types, (int)self->batch.n, out, err);
}

/* So many of n elements at once as there is room for. */
static size_t elements(size_t n, size_t n_bytes)
{
    return n < SOURCE_PIECE_BYTES / n_bytes ? n : SOURCE_PIECE_BYTES / n_bytes;
}

static int load_param(engine_t *self, int index, const float *values, err_t *err)
{
    const plan_tensor_t *tensor = &self->plan->tensor[index];
    size_t count = (size_t)ir_type_count(&tensor->type);
    if (tensor->type.dtype == DT_F32)
        return exec_write(self->exec, index, values, tensor->n_bytes, err);
    double *wide = (double *)(void *)self->piece;
    for (size_t i = 0, n; i < count; i += n) {
        n = elements(count - i, sizeof *wide);
        for (size_t j = 0; j < n; j++) wide[j] = values[i + j];
        if (exec_write_part(self->exec, index, i * sizeof *wide, wide, n * sizeof *wide, err) < 0)
            return -1;
    }
    return 0;
}

int engine_load(engine_t *self, const float *theta, err_t *err)
{
    for (size_t i = 0; i < self->params.n; i++) {
        int index = self->params.at[i];
        if (load_param(self, index, theta, err) < 0) return -1;
        theta += ir_type_count(&self->plan->tensor[index].type);
    }
    return 0;
}

static int fall_param(engine_t *self, int index, float *values, err_t *err)
{
    const plan_tensor_t *tensor = &self->plan->tensor[index];
    bool wide = tensor->type.dtype == DT_F64;
    size_t count = (size_t)ir_type_count(&tensor->type),
           size = wide ? sizeof(double) : sizeof(float);
    const void *now = self->piece;
    for (size_t i = 0, n; i < count; i += n) {
        n = elements(count - i, size);
        if (exec_read_part(self->exec, index, i * size, self->piece, n * size, err) < 0) return -1;
        for (size_t j = 0; j < n; j++)
            values[i + j] -= wide ? (float)((const double *)now)[j] : ((const float *)now)[j];
    }
    return 0;
}

int engine_fall(engine_t *self, float *values, err_t *err)
{
    for (size_t i = 0; i < self->params.n; i++) {
        int index = self->params.at[i];
        if (fall_param(self, index, values, err) < 0) return -1;
        values += ir_type_count(&self->plan->tensor[index].type);
    }
    return 0;
}

/* --- The inner state as a safetensors file: named tensors and the number of steps. --- */

static safetensor_t describe(const plan_tensor_t *tensor)
{
    safetensor_t out = {.name = tensor->name,
                        .dtype = tensor->type.dtype,
                        .rank = tensor->type.rank,
                        .n_bytes = (size_t)tensor->n_bytes};
    if (out.rank > SAFETENSORS_MAX_RANK) {
        out.rank = 1;
        out.dims[0] = ir_type_count(&tensor->type);
    } else {
        memcpy(out.dims, tensor->type.dim, (size_t)out.rank * sizeof *out.dims);
    }
    return out;
}

/* A state on its way in: what its header says, and where the rest is. */
typedef struct {
    const source_t *bytes;
    safetensors_t *file;
} state_file_t;

static int load_tensor(engine_t *self, int index, const state_file_t *state, err_t *err)
{
    safetensor_t want = describe(&self->plan->tensor[index]);
    const safetensor_t *have = safetensors_find(state->file, want.name);
    if (!have || have->dtype != want.dtype || have->rank != want.rank ||
        memcmp(have->dims, want.dims, (size_t)want.rank * sizeof *want.dims) != 0)
        return err_set(err, ERR_SHAPE, "inner state: \"%s\" is %s there", want.name,
                       have ? "of another type or shape" : "not");
    uint64_t begin = safetensors_place(state->file, have);
    for (size_t at = 0, n; at < have->n_bytes; at += n) {
        n = elements(have->n_bytes - at, 1);
        if (source_read(state->bytes, begin + at, self->piece, n, err) < 0 ||
            exec_write_part(self->exec, index, at, self->piece, n, err) < 0)
            return -1;
    }
    return 0;
}

static int load_tensors(engine_t *self, const state_file_t *state, err_t *err)
{
    const safetensors_t *file = state->file;
    const char *text = safetensors_meta(file, STEPS);
    char *end = NULL;
    long steps = text && *text ? strtol(text, &end, 10) : -1;
    if (steps < 0 || *end) return err_set(err, ERR_CORRUPT, "inner state: no number of steps");
    size_t n = safetensors_count(file) - (safetensors_find(file, ERROR) != NULL);
    if (n != self->states.n)
        return err_set(err, ERR_SHAPE, "inner state: %zu tensors, the plan has %zu", n,
                       self->states.n);
    for (size_t i = 0; i < self->states.n; i++)
        if (load_tensor(self, self->states.at[i], state, err) < 0) return -1;
    self->steps = steps;
    return 0;
}

static int load_error(const engine_t *self, const state_file_t *state, float *error, err_t *err)
{
    const safetensor_t *have = safetensors_find(state->file, ERROR);
    if (!have) return 0; /* of a codec without feedback: nothing was left out */
    if (have->dtype != DT_F32 || have->n_bytes != engine_params(self) * sizeof *error)
        return err_set(err, ERR_SHAPE, "inner state: \"" ERROR "\" is of another type or shape");
    uint64_t begin = safetensors_place(state->file, have);
    if (source_read(state->bytes, begin, error, have->n_bytes, err) < 0) return -1;
    for (uint64_t i = 0; i < engine_params(self); i++)
        if (!isfinite(error[i]))
            return err_set(err, ERR_CORRUPT, "inner state: \"" ERROR "\" has %g", (double)error[i]);
    return 0;
}

int engine_begin(engine_t *self, const float *theta, const source_t *state, float *error,
                 err_t *err)
{
    if (engine_load(self, theta, err) < 0) return -1;
    self->steps = 0;
    if (error) memset(error, 0, (size_t)engine_params(self) * sizeof *error);
    if (!state) return exec_zero(self->exec, ROLE_STATE, err);
    state_file_t in = {.bytes = state, .file = safetensors_look(state, err)};
    if (!in.file) return err_prefix(err, "inner state: ");
    int rc = load_tensors(self, &in, err);
    if (rc == 0 && error) rc = load_error(self, &in, error, err);
    safetensors_close(&in.file);
    return rc;
}

size_t engine_state_limit(const engine_t *self)
{
    enum { HEADER_BYTES = 1 << 16, ENTRY_BYTES = 1 << 10 };
    size_t n = HEADER_BYTES + ENTRY_BYTES + (size_t)engine_params(self) * sizeof(float);
    for (size_t i = 0; i < self->states.n; i++) {
        const plan_tensor_t *tensor = &self->plan->tensor[self->states.at[i]];
        n += ENTRY_BYTES + 2 * strlen(tensor->name) + (size_t)tensor->n_bytes;
    }
    return n;
}

/* What of [at, at + n) lies in a part of n_part bytes that begins at *begin, which moves on: how much,
 * *from its place in the part. */
static size_t overlap(uint64_t *begin, uint64_t n_part, uint64_t at, size_t n, uint64_t *from)
{
    uint64_t end = *begin + n_part, first = at > *begin ? at : *begin;
    uint64_t last = at + n < end ? at + n : end;
    *from = last > first ? first - *begin : 0;
    *begin = end;
    return last > first ? (size_t)(last - first) : 0;
}

/* Head, tensors, error: what lies in the piece of each. */
static int read_image(void *user, uint64_t at, void *into, size_t n, err_t *err)
{
    engine_t *self = user;
    uint8_t *to = into;
    uint64_t begin = 0, from;
    size_t part = overlap(&begin, self->image.n_head, at, n, &from);
    memcpy(to, self->image.head + from, part);
    to += part;
    for (size_t i = 0; i < self->states.n; i++) {
        int index = self->states.at[i];
        part = overlap(&begin, self->plan->tensor[index].n_bytes, at, n, &from);
        if (part && exec_read_part(self->exec, index, from, to, part, err) < 0) return -1;
        to += part;
    }
    if (!self->image.error) return 0;
    part = overlap(&begin, engine_params(self) * sizeof(float), at, n, &from);
    memcpy(to, (const uint8_t *)self->image.error + from, part);
    return 0;
}

int engine_state(engine_t *self, const float *error, source_t *out, err_t *err)
{
    size_t n = self->states.n, n_error = error ? (size_t)engine_params(self) * sizeof *error : 0;
    safetensor_t *tensors = mem_calloc(n + 1, sizeof *tensors);
    uint64_t n_data = n_error;
    for (size_t i = 0; i < n; i++) {
        tensors[i] = describe(&self->plan->tensor[self->states.at[i]]);
        n_data += tensors[i].n_bytes;
    }
    if (error)
        tensors[n++] = (safetensor_t){.name = ERROR,
                                      .dtype = DT_F32,
                                      .rank = 1,
                                      .dims = {(int64_t)engine_params(self)},
                                      .n_bytes = n_error};
    char steps[24];
    snprintf(steps, sizeof steps, "%ld", self->steps);
    safetensors_meta_t meta = {STEPS, steps};
    size_t n_head;
    uint8_t *head = safetensors_head(tensors, n, &meta, 1, &n_head, err);
    free(tensors);
    if (!head) return -1;
    free(self->image.head);
    self->image.head = head;
    self->image.n_head = n_head;
    self->image.error = error;
    *out = (source_t){.n = n_head + n_data, .read = read_image, .user = self};
    return 0;
}

void engine_seed(engine_t *self, uint64_t seed)
{
    exec_seed(self->exec, seed);
}

int engine_step(engine_t *self, const void *const *batch, double lr, float *loss, err_t *err)
{
    if (exec_train_step(self->exec, batch, lr, self->steps + 1, loss, err) < 0) return -1;
    self->steps++;
    return 0;
}

/* The result "loss" has the module's own float type. */
static int read_loss(engine_t *self, float *loss, err_t *err)
{
    const plan_tensor_t *tensor = &self->plan->tensor[self->loss];
    double value = 0; /* room for an element of any type */
    tensor_t element = {.type = ir_type_scalar(tensor->type.dtype), .data = &value};
    if (tensor->n_bytes > sizeof value || !dtype_is_float(tensor->type.dtype))
        return err_set(err, ERR_TYPE, "a loss of type %s", dtype_name(tensor->type.dtype));
    if (exec_read(self->exec, self->loss, &value, (size_t)tensor->n_bytes, err) < 0) return -1;
    *loss = (float)tensor_get_f64(&element, 0);
    return 0;
}

int engine_loss(engine_t *self, const void *const *batch, float *loss, err_t *err)
{
    for (size_t i = 0; i < self->batch.n; i++) {
        int index = self->batch.at[i];
        size_t n = (size_t)self->plan->tensor[index].n_bytes;
        if (exec_write(self->exec, index, batch[i], n, err) < 0) return -1;
    }
    if (exec_run(self->exec, "loss", err) < 0) return -1;
    return read_loss(self, loss, err);
}
