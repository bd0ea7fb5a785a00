/* Plans at work: tensors in, steps, tensors out. */
#include "worker/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/mem.h"
#include "base/vec.h"
#include "plan/plan.h"
#include "runtime/exec.h"

typedef struct {
    uint32_t replica, round; /* of its last finished lease */
    long steps;              /* since its moments were zero: the bias correction counts these */
    uint8_t *state;          /* every tensor of role state, end to end */
} replica_t;

typedef VEC(int) ints_t;

struct engine {
    plan_t *plan;
    exec_t *exec;
    ints_t params, states, batch; /* tensors by role, in the plan's order */
    int loss;                     /* tensor of role result */
    uint64_t n_param;
    size_t n_state; /* bytes */
    VEC(replica_t) replicas;
    uint32_t replica, round; /* of the open lease */
    long steps;
    uint8_t *buffer; /* the largest param in its own type, when that is not f32 */
};

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
        case ROLE_STATE:
            VEC_PUSH(&self->states, i);
            self->n_state += (size_t)tensor->n_bytes;
            break;
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

engine_t *engine_new(uint8_t *plan, size_t n, int threads, err_t *err)
{
    engine_t *self = mem_calloc(1, sizeof *self);
    exec_options_t options = {.threads = threads};
    self->plan = plan_unpack(plan, n, err);
    free(plan);
    if (self->plan && sort_tensors(self, err) == 0)
        self->exec = exec_new(self->plan, &options, err);
    if (!self->exec) engine_destroy(&self);
    return self;
}

void engine_destroy(engine_t **self_p)
{
    engine_t *self = *self_p;
    if (!self) return;
    exec_destroy(&self->exec);
    plan_destroy(&self->plan);
    for (size_t i = 0; i < self->replicas.n; i++) free(self->replicas.at[i].state);
    VEC_FREE(&self->replicas);
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

static int unload(engine_t *self, float *theta, err_t *err)
{
    for (size_t i = 0; i < self->params.n; i++) {
        int index = self->params.at[i];
        const plan_tensor_t *tensor = &self->plan->tensor[index];
        size_t n = (size_t)ir_type_count(&tensor->type);
        bool wide = tensor->type.dtype == DT_F64;
        void *bytes = wide ? room(self, tensor->n_bytes) : theta;
        if (exec_read(self->exec, index, bytes, tensor->n_bytes, err) < 0) return -1;
        for (size_t j = 0; wide && j < n; j++) theta[j] = (float)((double *)bytes)[j];
        theta += n;
    }
    return 0;
}

static replica_t *find_replica(engine_t *self, uint32_t replica)
{
    for (size_t i = 0; i < self->replicas.n; i++)
        if (self->replicas.at[i].replica == replica) return &self->replicas.at[i];
    return NULL;
}

static int move_state(engine_t *self, uint8_t *state, bool in, err_t *err)
{
    for (size_t i = 0; i < self->states.n; i++) {
        int index = self->states.at[i];
        size_t n = (size_t)self->plan->tensor[index].n_bytes;
        int rc = in ? exec_write(self->exec, index, state, n, err)
                    : exec_read(self->exec, index, state, n, err);
        if (rc < 0) return -1;
        state += n;
    }
    return 0;
}

int engine_begin(engine_t *self, uint32_t replica, uint32_t round, const float *theta, bool *fresh,
                 err_t *err)
{
    replica_t *known = find_replica(self, replica);
    bool keeps = known && known->round + 1 == round;
    if (engine_load(self, theta, err) < 0) return -1;
    int rc = keeps ? move_state(self, known->state, true, err)
                   : exec_zero(self->exec, ROLE_STATE, err);
    if (rc < 0) return -1;
    self->replica = replica;
    self->round = round;
    self->steps = keeps ? known->steps : 0;
    *fresh = !keeps;
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

int engine_finish(engine_t *self, float *theta, err_t *err)
{
    if (unload(self, theta, err) < 0) return -1;
    replica_t *known = find_replica(self, self->replica);
    if (!known) {
        replica_t fresh = {.replica = self->replica,
                           .state = mem_calloc(self->n_state ? self->n_state : 1, 1)};
        VEC_PUSH(&self->replicas, fresh);
        known = &self->replicas.at[self->replicas.n - 1];
    }
    if (move_state(self, known->state, false, err) < 0) return -1;
    known->round = self->round;
    known->steps = self->steps;
    return 0;
}

/* The result "loss" has the module's own float type. */
static int read_loss(engine_t *self, float *loss, err_t *err)
{
    const plan_tensor_t *tensor = &self->plan->tensor[self->loss];
    union {
        float f32;
        double f64;
        uint16_t half;
    } value = {0};
    if (tensor->n_bytes > sizeof value || !dtype_is_float(tensor->type.dtype))
        return err_set(err, ERR_TYPE, "a loss of type %s", dtype_name(tensor->type.dtype));
    if (exec_read(self->exec, self->loss, &value, (size_t)tensor->n_bytes, err) < 0) return -1;
    switch (tensor->type.dtype) {
    case DT_F32: *loss = value.f32; break;
    case DT_F64: *loss = (float)value.f64; break;
    case DT_BF16: *loss = half_from_bf16(value.half); break;
    default: *loss = half_from_f16(value.half); break;
    }
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
