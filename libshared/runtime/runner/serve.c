/* Calls are carried out in their order; the first error ends a message. The plan's bytes come first, then one exec is
 * made of them, which is all that there is to this process. */
#include "runtime/runner/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cage.h"
#include "base/mem.h"
#include "plan/format/plan.h"
#include "runtime/exec.h"

typedef struct {
    int channel;
    window_t *window;
    uint8_t *bytes; /* of the plan, while they come */
    size_t n_bytes;
    plan_t *plan;
    exec_t *exec;
    device_t *device; /* the exec's */
    const device_ops_t *ops;
} runner_t;

/* Without the process that asks there is nothing to do. */
static void reply(runner_t *self, const err_t *err)
{
    const run_reply_t reply = {.code = (int32_t)err->code};
    memcpy(self->window->error, err->text, sizeof self->window->error);
    if (write(self->channel, &reply, sizeof reply) != sizeof reply) _exit(1);
}

/* What OpenBLAS maps for each thread that multiplies, and what the C library reserves for each. */
static uint64_t address_room(int threads)
{
    return ((uint64_t)256 << 20) * ((uint64_t)threads + 1);
}

/* All is ready but the code: whatever is said from now on, the code may have said. */
static int enclose(void *user, err_t *err)
{
    runner_t *self = user;
    const make_t *make = (const make_t *)self->window->room;
    bool entered;
    uint64_t room = address_room(make->threads ? make->threads : pool_cores());
    reply(self, &(err_t){0});
    if (cage_code_enter(room, &self->window->refusals, &entered, err) < 0) return -1;
    if (cage_possible() && !entered) return err_set(err, ERR_STATE, "the runner got no cage");
    return 0;
}

static int take_plan(runner_t *self, const run_call_t *call, err_t *err)
{
    if (call->offset != self->n_bytes) return err_set(err, ERR_ARG, "a plan with a gap");
    self->bytes = mem_realloc(self->bytes, self->n_bytes + (size_t)call->n);
    memcpy(self->bytes + self->n_bytes, self->window->room + call->at, (size_t)call->n);
    self->n_bytes += (size_t)call->n;
    return 0;
}

static int make(runner_t *self, const run_call_t *call, err_t *err)
{
    make_t make;
    memcpy(&make, self->window->room + call->at, sizeof make);
    if (call->at != 0 || call->n != self->n_bytes || self->exec)
        return err_set(err, ERR_ARG, "a plan of %zu bytes instead of %llu", self->n_bytes,
                       (unsigned long long)call->n);
    self->plan = plan_unpack(self->bytes, self->n_bytes, err);
    free(self->bytes);
    self->bytes = NULL;
    if (!self->plan) return -1;
    const exec_options_t options = {.threads = make.threads,
                                    .pin = make.pin,
                                    .memory_limit = make.memory_limit,
                                    .enclose = enclose,
                                    .user = self};
    self->exec = exec_new(self->plan, &options, err);
    if (self->exec) self->device = exec_device(self->exec, &self->ops);
    return self->exec ? 0 : -1;
}

static int run_program(runner_t *self, int program, err_t *err)
{
    int rc = exec_serve_run(self->exec, program, err);
    cage_code_count_memory(&self->window->refusals);
    return rc;
}

static int carry_out(runner_t *self, const run_call_t *call, err_t *err)
{
    char *at = self->window->room + call->at;
    uint64_t arena = self->exec ? self->plan->arena_bytes : 0;
    bool moves = call->verb == RUN_UPLOAD || call->verb == RUN_DOWNLOAD || call->verb == RUN_PLAN;
    bool touches = moves ? call->verb != RUN_PLAN : call->verb == RUN_ZERO;
    if (moves && (call->at > ROOM || call->n > ROOM - call->at))
        return err_set(err, ERR_ARG, "bytes beyond the window");
    if (touches && (call->offset > arena || call->n > arena - call->offset))
        return err_set(err, ERR_ARG, "bytes beyond the arena");
    switch ((run_verb_t)call->verb) {
    case RUN_PLAN: return take_plan(self, call, err);
    case RUN_MAKE: return make(self, call, err);
    case RUN_UPLOAD: return self->ops->upload(self->device, call->offset, at, (size_t)call->n, err);
    case RUN_DOWNLOAD:
        return self->ops->download(self->device, call->offset, at, (size_t)call->n, err);
    case RUN_ZERO: return self->ops->zero(self->device, call->offset, (size_t)call->n, err);
    case RUN_PROGRAM:
        if (self->exec) return run_program(self, (int)call->n, err);
        break;
    }
    return err_set(err, ERR_ARG, "verb %u", call->verb);
}

_Noreturn void runner_serve(int channel, window_t *window)
{
    runner_t self = {.channel = channel, .window = window};
    run_call_t call[MOST_CALLS];
    for (;;) {
        ssize_t n = read(channel, call, sizeof call);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0 || (size_t)n % sizeof *call) _exit(n == 0 ? 0 : 1);
        err_t err = {0};
        for (size_t i = 0; i < (size_t)n / sizeof *call; i++)
            if (carry_out(&self, &call[i], &err) < 0) break;
        reply(&self, &err);
    }
}
