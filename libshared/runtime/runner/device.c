/* A device whose plans run in a runner. Calls are gathered, with what they carry, until somebody waits for one or there
 * is no more room; one message has them all, so that a training step costs one message each way. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "plan/format/plan.h"
#include "runtime/device.h"
#include "runtime/runner/runners.h"

enum {
    LOOK_MS = 100,   /* how often it is asked whether anybody wants the result */
    GRACE_MS = 2000, /* a step may end in this time: loading the plan again costs more */
};

struct device {
    device_options_t options;
    runner_end_t end;
    bool runs, trusted; /* trusted: no code of the plan's has run yet */
    err_t lost;         /* code set: the runner is gone, why */
    run_call_t call[MOST_CALLS];
    size_t n, used; /* calls that wait, bytes of the room that they use */
};

/* --- The end of a runner --- */

/* The beginning of what it wrote, for people: nobody's word but the code's. */
static void tell_said(const device_t *self, char *text, size_t n_text)
{
    ssize_t n = read(self->end.said, text, n_text - 1);
    text[n > 0 ? n : 0] = '\0';
    for (char *c = text; *c; c++)
        if (*c == '\n') *c = c[1] ? ';' : '\0';
    if (*text) log_event(LOG_WARN, "runner_said", "pid=%d text=\"%s\"", (int)self->end.pid, text);
}

static void tell_end(const char *why, int status, err_t *out)
{
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (why)
        err_set(out, ERR_CRASH, "%s", why);
    else if (signal == SIGKILL)
        err_set(out, ERR_CRASH,
                "the plan's runner was killed (signal 9): the machine or the container may be out "
                "of memory, or the code closed its channel");
    else if (signal)
        err_set(out, ERR_CRASH, "the plan's code crashed with signal %d (%s) in its runner", signal,
                strsignal(signal));
    else
        err_set(out, ERR_CRASH, "the plan's code ended its runner with status %d",
                WEXITSTATUS(status));
}

/* why: NULL where the runner went by itself. */
static int lose(device_t *self, const char *why, err_t *err)
{
    char said[1024];
    int status = 0, pid = (int)self->end.pid;
    tell_said(self, said, sizeof said);
    runners_end(self->options.runners, &self->end, &status);
    self->runs = false;
    tell_end(why, status, &self->lost);
    log_event(LOG_WARN, "runner_lost", "pid=%d error=\"%s\"", pid, self->lost.text);
    return err_set(err, self->lost.code, "%s", self->lost.text);
}

/* --- Messages --- */

/* What the runner says went wrong. Once the plan's code runs there, its word decides nothing. */
static int fail(device_t *self, int32_t code, err_t *err)
{
    char text[SAID];
    bool known = self->trusted && code > ERR_OK && code <= ERR_CRASH;
    memcpy(text, self->end.window->error, sizeof text);
    text[sizeof text - 1] = '\0';
    return err_set(err, known ? (err_code_t)code : ERR_CORRUPT, "%s", text);
}

/* The next reply; while it does not come somebody may lose patience. */
static int hear(device_t *self, err_t *err)
{
    run_reply_t reply;
    int64_t stopped_ms = 0;
    for (;;) {
        ssize_t n = recv(self->end.channel, &reply, sizeof reply, MSG_TRUNC);
        if (n == sizeof reply) break;
        if (n == 0 || (n < 0 && errno == ECONNRESET)) return lose(self, NULL, err);
        if (n > 0) return lose(self, "the plan's runner answered out of turn", err);
        if (errno != EAGAIN && errno != EINTR) return lose(self, strerror(errno), err);
        bool stopped = self->options.stopped && self->options.stopped(self->options.user);
        if (stopped && !stopped_ms) stopped_ms = clock_mono_ms();
        if (stopped && clock_mono_ms() - stopped_ms > GRACE_MS)
            return lose(self, "stopped in the middle of a step: its runner was ended", err);
    }
    if (!self->trusted) runners_count(self->options.runners, &self->end);
    return reply.code == ERR_OK ? 0 : fail(self, reply.code, err);
}

static int flush(device_t *self, err_t *err)
{
    if (self->lost.code) return err_set(err, self->lost.code, "%s", self->lost.text);
    if (self->n == 0) return 0;
    size_t n_bytes = self->n * sizeof *self->call;
    self->n = self->used = 0;
    if (send(self->end.channel, self->call, n_bytes, MSG_NOSIGNAL) != (ssize_t)n_bytes)
        return lose(self, NULL, err);
    return hear(self, err);
}

/* One more call; what it carries is at self->used. */
static void push(device_t *self, run_verb_t verb, uint64_t offset, uint64_t n, size_t carried)
{
    self->call[self->n++] = (run_call_t){(uint32_t)verb, (uint32_t)self->used, offset, n};
    self->used += carried;
}

/* Room for a call and up to n bytes of what it carries, n at least 1: how many. */
static int make_way(device_t *self, size_t n, size_t *room, err_t *err)
{
    enum { LITTLE = 4096 }; /* rather all at once than in two messages, and no message for crumbs */
    size_t left = ROOM - self->used;
    if (self->lost.code || self->n == MOST_CALLS || (left < n && left < LITTLE))
        if (flush(self, err) < 0) return -1;
    left = ROOM - self->used;
    *room = n < left ? n : left;
    return 0;
}

static int send_bytes(device_t *self, run_verb_t verb, uint64_t offset, const void *bytes, size_t n,
                      err_t *err)
{
    for (size_t done = 0, room; done < n; done += room) {
        if (make_way(self, n - done, &room, err) < 0) return -1;
        memcpy(self->end.window->room + self->used, (const char *)bytes + done, room);
        push(self, verb, offset + done, room, room);
    }
    return 0;
}

/* --- The device --- */

static void runner_close(device_t **self_p)
{
    device_t *self = *self_p;
    if (!self) return;
    char said[1024];
    int status;
    if (self->runs) {
        tell_said(self, said, sizeof said);
        runners_end(self->options.runners, &self->end, &status);
    }
    free(self);
    *self_p = NULL;
}

static device_t *runner_open(const device_options_t *options, err_t *err)
{
    if (options->ordinal != 0) {
        err_set(err, ERR_ARG, "there is no device %d: a runner has device 0", options->ordinal);
        return NULL;
    }
    device_t *self = mem_calloc(1, sizeof *self);
    struct timeval look = {0, LOOK_MS * 1000};
    self->options = *options;
    self->trusted = true;
    if (runners_open(options->runners, &self->end, err) < 0) {
        free(self);
        return NULL;
    }
    self->runs = true;
    setsockopt(self->end.channel, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof look);
    return self;
}

static int runner_threads(const device_t *self)
{
    return self->options.threads == 0 ? pool_cores() : self->options.threads;
}

/* The runner makes an exec of its own, and with it arena, constants and code. */
static int runner_load(device_t *self, const plan_t *plan, err_t *err)
{
    size_t n = 0;
    const make_t make = {self->options.threads, self->options.pin, self->options.memory_limit};
    uint8_t *bytes = plan_pack(plan, &n, NULL);
    int rc = send_bytes(self, RUN_PLAN, 0, bytes, n, err);
    free(bytes);
    if (rc < 0 || flush(self, err) < 0) return -1;
    memcpy(self->end.window->room, &make, sizeof make);
    push(self, RUN_MAKE, 0, n, sizeof make);
    if (flush(self, err) < 0) return -1;
    self->trusted = false;
    return hear(self, err);
}

static int runner_alloc(device_t *self, uint64_t n_bytes, uint64_t alignment, err_t *err)
{
    (void)self, (void)n_bytes, (void)alignment, (void)err;
    return 0;
}

static int runner_upload(device_t *self, uint64_t offset, const void *bytes, size_t n_bytes,
                         err_t *err)
{
    return send_bytes(self, RUN_UPLOAD, offset, bytes, n_bytes, err);
}

static int runner_download(device_t *self, uint64_t offset, void *bytes, size_t n_bytes, err_t *err)
{
    for (size_t done = 0, room; done < n_bytes; done += room) {
        if (make_way(self, n_bytes - done, &room, err) < 0) return -1;
        size_t at = self->used;
        push(self, RUN_DOWNLOAD, offset + done, room, room);
        if (flush(self, err) < 0) return -1;
        memcpy((char *)bytes + done, self->end.window->room + at, room);
    }
    return 0;
}

static int runner_zero(device_t *self, uint64_t offset, size_t n_bytes, err_t *err)
{
    size_t room;
    if (make_way(self, 1, &room, err) < 0) return -1;
    push(self, RUN_ZERO, offset, n_bytes, 0);
    return 0;
}

static int runner_run(device_t *self, int program, err_t *err)
{
    size_t room;
    if (make_way(self, 1, &room, err) < 0) return -1;
    push(self, RUN_PROGRAM, 0, (uint64_t)program, 0);
    return 0;
}

/* --- Steps are the runner's own. --- */

static int no_step(err_t *err)
{
    return err_set(err, ERR_STATE, "a runner is given whole programs");
}

static int runner_kernel(device_t *self, const plan_kernel_step_t *step, err_t *err)
{
    (void)self, (void)step;
    return no_step(err);
}

static int runner_gemm(device_t *self, const plan_gemm_step_t *step, err_t *err)
{
    (void)self, (void)step;
    return no_step(err);
}

static int runner_copy(device_t *self, const plan_copy_step_t *step, err_t *err)
{
    (void)self, (void)step;
    return no_step(err);
}

const device_ops_t device_in_runner = {
    .prefix = "runner",
    .open = runner_open,
    .close = runner_close,
    .threads = runner_threads,
    .load = runner_load,
    .alloc = runner_alloc,
    .upload = runner_upload,
    .download = runner_download,
    .zero = runner_zero,
    .kernel = runner_kernel,
    .gemm = runner_gemm,
    .copy = runner_copy,
    .sync = flush,
    .run = runner_run,
};
