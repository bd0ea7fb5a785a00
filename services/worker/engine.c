/* Plans at work: tensors in, steps, tensors out. */
#include "worker/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    long steps;      /* since the moments were zero: the bias correction counts these */
    uint8_t *buffer; /* the largest param in its own type, when that is not f32 */
};

static void push_by_name(engine_t *self, int tensor)
{
    const plan_tensor_t *all = self->plan->tensor;
    VEC_PUSH(&self->states, tensor);
    for (size_t i = self->states.n - 1; i > 0; i--) {
        int *at = &self->states.at[i];
        if (strcmp(all[at[-1]].name, all[at[0]].name) <= 0) break;
        at[0] = at[-1];
        at[-1] = tensor;
    }
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
        case ROLE_STATE: push_by_name(self, i); break;
        case ROLE_BATCH:
            if (plan_trains_on(self->plan, i)) VEC_PUSH(&self->batch, i);
            break;
        default: break;
        }
    }
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
    self->plan = plan_unpack(plan, n, err);
    free(plan);
    if (self->plan && sort_tensors(self, err) == 0) self->exec = exec_new(self->plan, options, err);
    if (!self->exec) engine_destroy(&self);
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
    free(self->buffer);
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

/* Room for a parameter that is not f32. */
static void *room(engine_t *self, size_t n_bytes)
{
    self->buffer = mem_realloc(self->buffer, n_bytes ? n_bytes : 1);
    return self->buffer;
}

int engine_load(engine_t *self, const float *theta, err_t *err)
{
    for (size_t i = 0; i < self->params.n; i++) {
        int index = self->params.at[i];
        const plan_tensor_t *tensor = &self->plan->tensor[index];
        size_t n = (size_t)ir_type_count(&tensor->type);
        const void *bytes = theta;
        if (tensor->type.dtype == DT_F64) {
            double *wide = room(self, tensor->n_bytes);
            for (size_t j = 0; j < n; j++) wide[j] = theta[j];
            bytes = wide;
        }
        if (exec_write(self->exec, index, bytes, tensor->n_bytes, err) < 0) return -1;
        theta += n;
    }
    return 0;
}

/* Tensor by tensor: there is no room for all of them a second time. */
int engine_fall(engine_t *self, float *values, err_t *err)
{
    for (size_t i = 0; i < self->params.n; i++) {
        int index = self->params.at[i];
        const plan_tensor_t *tensor = &self->plan->tensor[index];
        size_t n = (size_t)ir_type_count(&tensor->type);
        bool wide = tensor->type.dtype == DT_F64;
        const void *now = room(self, tensor->n_bytes);
        if (exec_read(self->exec, index, self->buffer, tensor->n_bytes, err) < 0) return -1;
        for (size_t j = 0; j < n; j++)
            values[j] -= wide ? (float)((const double *)now)[j] : ((const float *)now)[j];
        values += n;
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

static int load_tensor(engine_t *self, int index, const safetensors_t *file, err_t *err)
{
    safetensor_t want = describe(&self->plan->tensor[index]);
    const safetensor_t *have = safetensors_find(file, want.name);
    if (!have || have->dtype != want.dtype || have->rank != want.rank ||
        memcmp(have->dims, want.dims, (size_t)want.rank * sizeof *want.dims) != 0)
        return err_set(err, ERR_SHAPE, "inner state: \"%s\" is %s there", want.name,
                       have ? "of another type or shape" : "not");
    return exec_write(self->exec, index, have->data, have->n_bytes, err);
}

static int load_state(engine_t *self, const safetensors_t *file, err_t *err)
{
    const char *text = safetensors_meta(file, STEPS);
    char *end = NULL;
    long steps = text && *text ? strtol(text, &end, 10) : -1;
    if (steps < 0 || *end) return err_set(err, ERR_CORRUPT, "inner state: no number of steps");
    size_t n = safetensors_count(file) - (safetensors_find(file, ERROR) != NULL);
    if (n != self->states.n)
        return err_set(err, ERR_SHAPE, "inner state: %zu tensors, the plan has %zu", n,
                       self->states.n);
    for (size_t i = 0; i < self->states.n; i++)
        if (load_tensor(self, self->states.at[i], file, err) < 0) return -1;
    self->steps = steps;
    return 0;
}

static int load_error(const engine_t *self, const safetensors_t *file, float *error, err_t *err)
{
    const safetensor_t *have = safetensors_find(file, ERROR);
    if (!have) return 0; /* of a codec without feedback: nothing was left out */
    if (have->dtype != DT_F32 || have->n_bytes != engine_params(self) * sizeof *error)
        return err_set(err, ERR_SHAPE, "inner state: \"" ERROR "\" is of another type or shape");
    memcpy(error, have->data, have->n_bytes);
    for (uint64_t i = 0; i < engine_params(self); i++)
        if (!isfinite(error[i]))
            return err_set(err, ERR_CORRUPT, "inner state: \"" ERROR "\" has %g", (double)error[i]);
    return 0;
}

int engine_begin(engine_t *self, const float *theta, const uint8_t *state, size_t n, float *error,
                 err_t *err)
{
    if (engine_load(self, theta, err) < 0) return -1;
    self->steps = 0;
    if (error) memset(error, 0, (size_t)engine_params(self) * sizeof *error);
    if (!state) return exec_zero(self->exec, ROLE_STATE, err);
    safetensors_t *file = safetensors_view(state, n, err);
    if (!file) return err_prefix(err, "inner state: ");
    int rc = load_state(self, file, err);
    if (rc == 0 && error) rc = load_error(self, file, error, err);
    safetensors_close(&file);
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

uint8_t *engine_state(engine_t *self, const float *error, size_t *n, err_t *err)
{
    size_t n_tensor = self->states.n, n_error = (size_t)engine_params(self);
    safetensor_t *tensors = mem_calloc(n_tensor + 1, sizeof *tensors);
    for (size_t i = 0; i < self->states.n; i++)
        tensors[i] = describe(&self->plan->tensor[self->states.at[i]]);
    if (error)
        tensors[n_tensor++] = (safetensor_t){.name = ERROR,
                                             .dtype = DT_F32,
                                             .rank = 1,
                                             .dims = {(int64_t)n_error},
                                             .data = error,
                                             .n_bytes = n_error * sizeof *error};
    char steps[24];
    snprintf(steps, sizeof steps, "%ld", self->steps);
    safetensors_meta_t meta = {STEPS, steps};
    size_t n_bytes, at;
    uint8_t *bytes = safetensors_pack(tensors, n_tensor, &meta, 1, &n_bytes, &at, err);
    for (size_t i = 0; bytes && i < self->states.n; i++) {
        if (exec_read(self->exec, self->states.at[i], bytes + at, tensors[i].n_bytes, err) < 0) {
            free(bytes);
            bytes = NULL;
        }
        at += tensors[i].n_bytes;
    }
    free(tensors);
    if (bytes) *n = n_bytes;
    return bytes;
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
