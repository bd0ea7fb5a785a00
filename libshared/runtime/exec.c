/* The executor: programs run step by step on a device. What a training step needs (which tensors
 * are batch, lr, step and loss) is found when the plan is loaded, so that stepping looks nothing
 * up. */
#include "runtime/exec.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "codegen/target.h"
#include "ir/tensor.h"
#include "plan/format/check.h"
#include "runtime/device.h"

struct exec {
    const plan_t *plan;
    const device_ops_t *ops;
    device_t *device;
    int lr, step, draw_seed, loss; /* tensors of a training plan; -1: absent */
    uint64_t seed;
    int n_batch;
    int *batch; /* tensors of role batch, in the order of the module's arguments */
    int threads;
    exec_watch_fn *watch; /* NULL: nobody watches */
    void *watch_user;
    exec_event_t now; /* the step, or first of a sweep, that runs, while somebody watches */
    int longest;      /* steps of a sweep */
    double *busy;     /* [threads][longest]: seconds in each step of the sweep that runs */
};

static int find_tensor(const plan_t *plan, plan_role_t role, const char *name, dtype_t dtype)
{
    for (int i = 0; i < plan->n_tensor; i++) {
        const plan_tensor_t *t = &plan->tensor[i];
        if (t->role == role && strcmp(t->name, name) == 0 && t->type.rank == 0 &&
            (dtype == DT_NONE || t->type.dtype == dtype))
            return i;
    }
    return -1;
}

static const plan_program_t *find_program(const exec_t *self, const char *name, err_t *err)
{
    const plan_t *plan = self->plan;
    for (int i = 0; i < plan->n_program; i++) {
        if (strcmp(plan->program[i].name, name) == 0) return &plan->program[i];
    }
    err_set(err, ERR_ARG, "the plan has no program \"%s\"", name);
    return NULL;
}

static void find_training_tensors(exec_t *self)
{
    const plan_t *plan = self->plan;
    self->lr = find_tensor(plan, ROLE_SCALAR, "lr", DT_F32);
    self->step = find_tensor(plan, ROLE_SCALAR, "step", DT_I64);
    self->draw_seed = find_tensor(plan, ROLE_SCALAR, "seed", DT_UI64);
    self->loss = find_tensor(plan, ROLE_RESULT, "loss", DT_NONE);
    self->batch = mem_calloc((size_t)plan->n_tensor, sizeof *self->batch);
    for (int i = 0; i < plan->n_tensor; i++) {
        if (plan_trains_on(plan, i)) self->batch[self->n_batch++] = i;
    }
}

static int load_plan(exec_t *self, err_t *err)
{
    const plan_t *plan = self->plan;
    if (self->ops->load(self->device, plan, err) < 0 ||
        self->ops->alloc(self->device, plan->arena_bytes, plan->alignment, err) < 0)
        return -1;
    for (int i = 0; i < plan->n_constant; i++) {
        if (self->ops->upload(self->device, plan->constant[i].offset, plan->constant[i].bytes,
                              (size_t)plan->constant[i].n_bytes, err) < 0)
            return -1;
    }
    return self->ops->sync(self->device, err);
}

/* Others' code comes last: before it the process may give up what it needed to get ready. */
static int link_plan(exec_t *self, const exec_options_t *options, err_t *err)
{
    if (options->enclose && options->enclose(options->user, err) < 0) return -1;
    return self->ops->link ? self->ops->link(self->device, self->plan, err) : 0;
}

static void make_room(exec_t *self)
{
    self->longest = 1;
    for (int p = 0; p < self->plan->n_program; p++) {
        const plan_program_t *program = &self->plan->program[p];
        for (int i = 0; i < program->n_sweep; i++)
            if (program->sweep[i].n > self->longest) self->longest = program->sweep[i].n;
    }
    self->busy = mem_calloc((size_t)self->threads * (size_t)self->longest, sizeof *self->busy);
}

exec_t *exec_new(const plan_t *plan, const exec_options_t *options, err_t *err)
{
    exec_options_t wanted = options ? *options : (exec_options_t){0};
    const device_ops_t *ops = device_find(plan->target, err);
    if (!ops || target_runs_here(plan->target, err) < 0 || plan_check(plan, err) < 0) return NULL;
    if (wanted.runners && ops->in_runner) ops = &device_in_runner;
    device_t *device = ops->open(&wanted, err);
    if (!device) return NULL;
    exec_t *self = mem_calloc(1, sizeof *self);
    *self = (exec_t){.plan = plan, .ops = ops, .device = device};
    self->threads = ops->threads(device);
    make_room(self);
    find_training_tensors(self);
    if (load_plan(self, err) < 0 || link_plan(self, &wanted, err) < 0) exec_destroy(&self);
    return self;
}

void exec_destroy(exec_t **self_p)
{
    exec_t *self = *self_p;
    if (!self) return;
    self->ops->close(&self->device);
    free(self->batch);
    free(self->busy);
    free(self);
    *self_p = NULL;
}

static const plan_tensor_t *tensor_at(const exec_t *self, int tensor, size_t n_bytes, err_t *err)
{
    if (tensor < 0 || tensor >= self->plan->n_tensor) {
        err_set(err, ERR_ARG, "tensor %d: the plan has %d", tensor, self->plan->n_tensor);
        return NULL;
    }
    const plan_tensor_t *t = &self->plan->tensor[tensor];
    if (n_bytes != t->n_bytes) {
        err_set(err, ERR_ARG, "tensor %s has %llu bytes, %zu given", t->name,
                (unsigned long long)t->n_bytes, n_bytes);
        return NULL;
    }
    return t;
}

int exec_write(exec_t *self, int tensor, const void *bytes, size_t n_bytes, err_t *err)
{
    const plan_tensor_t *t = tensor_at(self, tensor, n_bytes, err);
    return t ? self->ops->upload(self->device, t->offset, bytes, n_bytes, err) : -1;
}

int exec_read(exec_t *self, int tensor, void *bytes, size_t n_bytes, err_t *err)
{
    const plan_tensor_t *t = tensor_at(self, tensor, n_bytes, err);
    return t ? self->ops->download(self->device, t->offset, bytes, n_bytes, err) : -1;
}

static const plan_tensor_t *part_of(exec_t *self, int tensor, uint64_t at, size_t n_bytes,
                                    err_t *err)
{
    bool known = tensor >= 0 && tensor < self->plan->n_tensor;
    const plan_tensor_t *t = known ? &self->plan->tensor[tensor] : NULL;
    if (t && at <= t->n_bytes && n_bytes <= t->n_bytes - at) return t;
    err_set(err, ERR_ARG, "tensor %d (%s) has %llu bytes, not %llu + %zu", tensor,
            t ? t->name : "none", (unsigned long long)(t ? t->n_bytes : 0), (unsigned long long)at,
            n_bytes);
    return NULL;
}

int exec_write_part(exec_t *self, int tensor, uint64_t at, const void *bytes, size_t n_bytes,
                    err_t *err)
{
    const plan_tensor_t *t = part_of(self, tensor, at, n_bytes, err);
    return t ? self->ops->upload(self->device, t->offset + at, bytes, n_bytes, err) : -1;
}

int exec_read_part(exec_t *self, int tensor, uint64_t at, void *bytes, size_t n_bytes, err_t *err)
{
    const plan_tensor_t *t = part_of(self, tensor, at, n_bytes, err);
    return t ? self->ops->download(self->device, t->offset + at, bytes, n_bytes, err) : -1;
}

const void *exec_peek(exec_t *self, int tensor, uint64_t at, size_t n_bytes)
{
    const plan_tensor_t *t = part_of(self, tensor, at, n_bytes, NULL);
    return t && self->ops->peek ? self->ops->peek(self->device, t->offset + at) : NULL;
}

int exec_zero(exec_t *self, plan_role_t role, err_t *err)
{
    for (int i = 0; i < self->plan->n_tensor; i++) {
        const plan_tensor_t *t = &self->plan->tensor[i];
        if (t->role == role &&
            self->ops->zero(self->device, t->offset, (size_t)t->n_bytes, err) < 0)
            return -1;
    }
    return 0;
}

static int run_program(exec_t *self, const plan_program_t *program, err_t *err);

/* plan_check bounds how deep loops nest. */
static int run_loop(exec_t *self, const plan_loop_step_t *loop, err_t *err)
{
    for (;;) {
        uint8_t more = 0;
        if (run_program(self, &self->plan->program[loop->condition], err) < 0 ||
            self->ops->download(self->device, (uint64_t)loop->more, &more, 1, err) < 0)
            return -1;
        if (!more) return 0;
        if (run_program(self, &self->plan->program[loop->body], err) < 0) return -1;
    }
}

static int run_step(exec_t *self, const plan_step_t *step, err_t *err)
{
    switch (step->kind) {
    case STEP_KERNEL: return self->ops->kernel(self->device, &step->kernel, err);
    case STEP_GEMM: return self->ops->gemm(self->device, &step->gemm, err);
    case STEP_COPY: return self->ops->copy(self->device, &step->copy, err);
    case STEP_LOOP: return run_loop(self, &step->loop, err);
    }
    return err_set(err, ERR_CORRUPT, "plan: unknown step kind %d", (int)step->kind);
}

/* A loop's time is that of its bodies' steps. What it takes to hand a device a step is none of the step's, where the
 * device has a clock. */
static int run_watched_step(exec_t *self, const plan_program_t *program, int i, err_t *err)
{
    const plan_step_t *step = &program->step[i];
    if (step->kind == STEP_LOOP) return run_step(self, step, err);
    self->now = (exec_event_t){program, i, -1, clock_mono_s(), 0, -1};
    if (run_step(self, step, err) < 0 || self->ops->sync(self->device, err) < 0) return -1;
    self->now.end = clock_mono_s();
    double took = self->ops->took ? self->ops->took(self->device) : -1;
    if (took >= 0 && took < self->now.end - self->now.begin) self->now.begin = self->now.end - took;
    self->watch(self->watch_user, &self->now);
    return 0;
}

/* What each step of a sweep took is its share of the threads' work. */
static void tell_sweep(exec_t *self, const plan_sweep_t *sweep)
{
    double all = 0, each[2], length = self->now.end - self->now.begin;
    for (int i = 0; i < self->threads * self->longest; i++) all += self->busy[i];
    each[0] = self->now.begin;
    for (int k = 0; k < sweep->n; k++) {
        double busy = 0;
        for (int t = 0; t < self->threads; t++) busy += self->busy[t * self->longest + k];
        each[1] = each[0] + (all > 0 ? length * busy / all : 0);
        exec_event_t event = {self->now.program, sweep->first + k, -1, each[0], each[1], -1};
        self->watch(self->watch_user, &event);
        each[0] = each[1];
    }
}

static int run_sweep(exec_t *self, const plan_program_t *program, const plan_sweep_t *sweep,
                     err_t *err)
{
    const plan_step_t *step = &program->step[sweep->first];
    if (!self->watch) return self->ops->sweep(self->device, step, sweep->n, sweep->strips, err);
    memset(self->busy, 0, (size_t)self->threads * (size_t)self->longest * sizeof *self->busy);
    self->now = (exec_event_t){program, sweep->first, -1, clock_mono_s(), 0, -1};
    if (self->ops->sweep(self->device, step, sweep->n, sweep->strips, err) < 0 ||
        self->ops->sync(self->device, err) < 0)
        return -1;
    self->now.end = clock_mono_s();
    tell_sweep(self, sweep);
    return 0;
}

/* Strips that do not come out even on the threads would leave some of them idle for long; a single
 * thread waits for nobody, and every strip packs operands that all of them share. */
static bool pays(const exec_t *self, const plan_sweep_t *sweep)
{
    int64_t strips = sweep->strips, threads = self->threads;
    if (!self->ops->sweep) return false;
    if (strips == 0) return true;
    if (threads == 1) return false;
    return strips >= 8 * threads || (strips % threads == 0 && strips >= 2 * threads);
}

static int run_program(exec_t *self, const plan_program_t *program, err_t *err)
{
    const plan_sweep_t *sweep = program->sweep, *end = sweep + program->n_sweep;
    for (int i = 0; i < program->n_step;) {
        while (sweep < end && (sweep->first < i || !pays(self, sweep))) sweep++;
        bool sweeps = sweep < end && sweep->first == i;
        int status = sweeps        ? run_sweep(self, program, sweep, err)
                     : self->watch ? run_watched_step(self, program, i, err)
                                   : run_step(self, &program->step[i], err);
        if (status < 0) return -1;
        i += sweeps ? sweep->n : 1;
    }
    return self->ops->sync(self->device, err);
}

/* From the caller's program to those of its loops. Where the device runs it whole, it may be queued: who reads a
 * result waits for it. */
static int run_whole(exec_t *self, const plan_program_t *program, err_t *err)
{
    if (!self->ops->run) return run_program(self, program, err);
    return self->ops->run(self->device, (int)(program - self->plan->program), err);
}

static int write_seed(exec_t *self, uint64_t seed, err_t *err)
{
    return self->draw_seed < 0 ? 0 : exec_write(self, self->draw_seed, &seed, sizeof seed, err);
}

void exec_seed(exec_t *self, uint64_t seed)
{
    self->seed = seed;
}

int exec_run(exec_t *self, const char *program, err_t *err)
{
    const plan_program_t *found = find_program(self, program, err);
    if (!found || write_seed(self, self->seed, err) < 0) return -1;
    return run_whole(self, found, err) < 0 ? -1 : self->ops->sync(self->device, err);
}

int exec_serve_run(exec_t *self, int program, err_t *err)
{
    if (program < 0 || program >= self->plan->n_program)
        return err_set(err, ERR_ARG, "program %d: the plan has %d", program, self->plan->n_program);
    return run_program(self, &self->plan->program[program], err);
}

device_t *exec_device(const exec_t *self, const device_ops_t **ops)
{
    *ops = self->ops;
    return self->device;
}

/* Values of micro-batch `micro`: each batch tensor's array holds them one after another. */
static int write_batch(exec_t *self, const void *const *batch, int micro, err_t *err)
{
    for (int i = 0; i < self->n_batch; i++) {
        const plan_tensor_t *t = &self->plan->tensor[self->batch[i]];
        const char *bytes = (const char *)batch[i] + (size_t)micro * t->n_bytes;
        if (self->ops->upload(self->device, t->offset, bytes, (size_t)t->n_bytes, err) < 0)
            return -1;
    }
    return 0;
}

/* The loss as the last program left it. */
static int read_loss(exec_t *self, double *loss, err_t *err)
{
    if (self->loss < 0) return err_set(err, ERR_ARG, "the plan has no scalar result \"loss\"");
    const plan_tensor_t *t = &self->plan->tensor[self->loss];
    double value = 0; /* room for an element of any type */
    tensor_t element = {.type = ir_type_scalar(t->type.dtype), .data = &value};
    if (t->n_bytes > sizeof value || !dtype_is_float(t->type.dtype))
        return err_set(err, ERR_TYPE, "result loss is %s, want a float", dtype_name(t->type.dtype));
    if (self->ops->download(self->device, t->offset, &value, (size_t)t->n_bytes, err) < 0)
        return -1;
    *loss = tensor_get_f64(&element, 0);
    return 0;
}

static int write_scalars(exec_t *self, double lr, long step, err_t *err)
{
    float lr_f32 = (float)lr;
    int64_t step_i64 = step;
    if (self->lr >= 0 && exec_write(self, self->lr, &lr_f32, sizeof lr_f32, err) < 0) return -1;
    if (self->step >= 0 && exec_write(self, self->step, &step_i64, sizeof step_i64, err) < 0)
        return -1;
    return 0;
}

int exec_train_step(exec_t *self, const void *const *batch, double lr, long step, float *loss,
                    err_t *err)
{
    int n_micro = self->plan->accumulate;
    double sum = 0, one = 0;
    const plan_program_t *each = find_program(self, n_micro == 1 ? "train" : "accumulate", err);
    const plan_program_t *update = n_micro == 1 ? NULL : find_program(self, "update", err);
    if (!each || (n_micro > 1 && !update)) return -1;
    if (write_scalars(self, lr, step, err) < 0) return -1;
    if (n_micro > 1 && exec_zero(self, ROLE_ACCUMULATOR, err) < 0) return -1;
    for (int micro = 0; micro < n_micro; micro++) {
        uint64_t which = (uint64_t)step * (uint64_t)n_micro + (uint64_t)micro;
        if (write_seed(self, rng_bits(self->seed, which), err) < 0) return -1;
        if (write_batch(self, batch, micro, err) < 0 || run_whole(self, each, err) < 0 ||
            read_loss(self, &one, err) < 0)
            return -1;
        sum += one;
    }
    if (update && (run_whole(self, update, err) < 0 || self->ops->sync(self->device, err) < 0))
        return -1;
    if (loss) *loss = (float)(sum / n_micro);
    return 0;
}

int exec_threads(const exec_t *self)
{
    return self->threads;
}

const char *exec_library(const exec_t *self)
{
    return self->ops->library ? self->ops->library(self->device) : NULL;
}

static void on_range(void *user, int step, int worker, double begin, double end, double cpu)
{
    const exec_t *self = user;
    exec_event_t event = {self->now.program, self->now.step + step, worker, begin, end, cpu};
    self->busy[worker * self->longest + step] += end - begin;
    self->watch(self->watch_user, &event);
}

void exec_watch(exec_t *self, exec_watch_fn *watch, void *user)
{
    self->watch = watch;
    self->watch_user = user;
    if (self->ops->watch) self->ops->watch(self->device, watch ? on_range : NULL, self);
}
