/* The recorder's life: open, lead, tell, write until told to stop. */
#include "shepherd/records/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hand_over.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "shepherd/actor.h"

enum { BACK_OFF_MS = 50, BACK_OFF_MAX_MS = 2000, GROUP = 256, TERM_FENCES = 4096 };

typedef struct {
    const recorder_options_t *options;
    zsock_t *pipe;
    store_t *store;
    store_leader_t leader;
    int64_t renew_ms; /* when to renew next */
    VEC(record_t *) queue;
    int64_t number;  /* of the group at the queue's head */
    size_t n_group;  /* records in it; 0: not made yet */
    int64_t wait_ms; /* present back-off; 0: the database answers */
    bool stopped;
} recorder_t;

uint32_t recorder_fence(const store_leader_t *leader)
{
    return (uint32_t)((uint64_t)(leader->fence - 1) * TERM_FENCES);
}

static recorder_result_t *result_new(recorder_event_t event)
{
    recorder_result_t *result = mem_calloc(1, sizeof *result);
    result->event = event;
    return result;
}

void recorder_result_destroy(recorder_result_t **self_p)
{
    if (!*self_p) return;
    store_run_fini(&(*self_p)->run);
    store_resume_fini(&(*self_p)->resume);
    free(*self_p);
    *self_p = NULL;
}

static void tell(recorder_t *self, recorder_event_t event, const err_t *err)
{
    recorder_result_t *result = result_new(event);
    if (err) result->err = *err;
    zsock_send(self->pipe, "p", hand_over(result));
}

/* --- The pipe --- */

/* Take what waits, for at most timeout_ms; false: leave. */
static bool hear(recorder_t *self, int64_t timeout_ms)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(self->pipe), .events = ZMQ_POLLIN};
    while (!self->stopped && zmq_poll(&item, 1, timeout_ms > 0 ? (long)timeout_ms : 0) > 0) {
        char *command = NULL;
        void *pointer = NULL;
        int rc = zsock_recv(self->pipe, "sp", &command, &pointer);
        self->stopped = rc < 0 || strcmp(command, "RECORD") != 0;
        free(command);
        if (!self->stopped) VEC_PUSH(&self->queue, take_over(pointer));
        timeout_ms = 0;
    }
    return !self->stopped;
}

/* Nothing is to be heard but the end, for so long. */
static bool rest(recorder_t *self, int64_t ms)
{
    int64_t until = clock_mono_ms() + ms;
    while (hear(self, until - clock_mono_ms()))
        if (clock_mono_ms() >= until) return true;
    return false;
}

/* The database did not answer: say so once, wait longer each time, but so that a leader is back
 * within its term. */
static bool back_off(recorder_t *self, const err_t *err)
{
    int64_t most = self->options->ttl_ms / 3 + 1;
    if (self->wait_ms == 0) tell(self, RECORDER_LOST, err);
    self->wait_ms = self->wait_ms ? 2 * self->wait_ms : BACK_OFF_MS;
    if (self->wait_ms > BACK_OFF_MAX_MS) self->wait_ms = BACK_OFF_MAX_MS;
    if (self->wait_ms > most) self->wait_ms = most;
    double jitter = rng_uniform((uint64_t)clock_mono_ms(), 0) / 4;
    return rest(self, self->wait_ms + (int64_t)((double)self->wait_ms * jitter));
}

static void answered(recorder_t *self)
{
    if (self->wait_ms > 0) tell(self, RECORDER_BACK, NULL);
    self->wait_ms = 0;
}

/* --- Becoming the leader --- */

static int prepare(recorder_t *self, err_t *err)
{
    const recorder_options_t *o = self->options;
    store_run_spec_t spec = {.id = o->run, .config = o->config, .n_rounds = o->n_rounds};
    char id[STORE_ID];
    if (o->migrate && store_migrate(self->store, 0, err) < 0) return -1;
    if (store_check(self->store, err) < 0) return -1;
    if (o->lengthen && store_run_lengthen(self->store, &spec, err) < 0) return -1;
    return store_run_submit(self->store, &spec, id, NULL, err);
}

static int try_to_lead(recorder_t *self, bool *won, store_leader_t *leader, err_t *err)
{
    const recorder_options_t *o = self->options;
    return store_leader_acquire(self->store, o->run, o->holder, o->ttl_ms, won, leader, err);
}

/* What we lead now: pending, paused and failed runs begin, others are as they are. */
static int load(recorder_t *self, recorder_result_t *result, err_t *err)
{
    if (store_run_get(self->store, self->options->run, &result->run, err) < 0) return -1;
    bool begins = strcmp(result->run.state, "pending") == 0 ||
                  strcmp(result->run.state, "paused") == 0 ||
                  strcmp(result->run.state, "failed") == 0;
    if (begins &&
        store_run_move(self->store, self->options->run, "running", "", &self->leader, err) < 0)
        return -1;
    return store_resume(self->store, &self->leader, &result->resume, err);
}

/* It will do again later: the database is gone, or its disk is full; or, once we lead and so have
 * written, its file has become unwritable. */
static bool may_pass(const recorder_t *self, const err_t *err)
{
    return err->code == ERR_NET || (err->code == ERR_IO && self->leader.fence > 0);
}

/* One attempt at a step; 1: done, 0: the database did not answer and the wait is over, -1: leave.
 */
static int settle(recorder_t *self, int rc, const err_t *err)
{
    if (rc == 0) {
        answered(self);
        return 1;
    }
    if (may_pass(self, err)) return back_off(self, err) ? 0 : -1;
    tell(self, RECORDER_FAILED, err);
    return -1;
}

static bool lead(recorder_t *self)
{
    bool told = false;
    for (;;) {
        err_t err = {0};
        bool won = false;
        store_leader_t leader;
        int64_t begin = clock_mono_ms();
        int done = settle(self, try_to_lead(self, &won, &leader, &err), &err);
        if (done < 0) return false;
        if (done > 0 && won) {
            self->leader = leader;
            self->renew_ms = begin + self->options->ttl_ms / 3;
            return true;
        }
        if (done > 0 && !told) {
            recorder_result_t *result = result_new(RECORDER_STANDBY);
            memcpy(result->holder, leader.holder, sizeof result->holder);
            zsock_send(self->pipe, "p", hand_over(result));
            told = true;
        }
        /* When the database was away, the leader from before gets one term to come back. */
        int64_t wait_ms = done > 0 ? self->options->ttl_ms / 6 + 1 : self->options->ttl_ms;
        if ((done > 0 || told) && !rest(self, wait_ms)) return false;
    }
}

static bool begin(recorder_t *self)
{
    err_t err = {0};
    store_options_t options = {
        .connect_ms = 2000, .statement_ms = 5000, .relaxed = self->options->relaxed};
    self->store = store_open(self->options->url, &options, &err);
    if (!self->store) {
        tell(self, RECORDER_FAILED, &err);
        return false;
    }
    int done;
    while ((done = settle(self, prepare(self, &err), &err)) == 0) continue;
    if (done < 0 || !lead(self)) return false;
    recorder_result_t *result = result_new(RECORDER_LEADS);
    result->leader = self->leader;
    while ((done = settle(self, load(self, result, &err), &err)) == 0) store_run_fini(&result->run);
    if (done < 0)
        recorder_result_destroy(&result);
    else
        zsock_send(self->pipe, "p", hand_over(result));
    return done > 0;
}

/* --- Writing --- */

static int write_group(recorder_t *self, err_t *err)
{
    bool written = false;
    if (store_group_begin(self->store, &self->leader, self->number, &written, err) < 0) return -1;
    if (written) return 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < self->n_group; i++) {
        const record_t *record = self->queue.at[i];
        rc = record_write(record, self->store, &self->leader, err);
        if (rc < 0 && err->code != ERR_NET) err_prefix(err, "%s: ", record_name(record->kind));
    }
    return store_group_end(self->store, &self->leader, self->number, rc, err);
}

static void written(recorder_t *self)
{
    for (size_t i = 0; i < self->n_group; i++) {
        record_t *record = self->queue.at[i];
        recorder_result_t *result = result_new(RECORDED);
        result->kind = record->kind;
        result->round = record->round;
        result->replica = record->replica;
        result->fence = record->fence;
        zsock_send(self->pipe, "p", hand_over(result));
        record_destroy(&record);
    }
    self->queue.n -= self->n_group;
    memmove(self->queue.at, self->queue.at + self->n_group, self->queue.n * sizeof *self->queue.at);
    self->n_group = 0;
    self->number++;
}

static bool renew(recorder_t *self)
{
    err_t err = {0};
    int64_t now = clock_mono_ms();
    if (now < self->renew_ms) return true;
    int done = settle(
        self, store_leader_renew(self->store, &self->leader, self->options->ttl_ms, &err), &err);
    if (done > 0) self->renew_ms = now + self->options->ttl_ms / 3;
    return done >= 0;
}

/* Write what waits. A group keeps its number and records until it is in. */
static bool write_queue(recorder_t *self)
{
    if (self->queue.n == 0) return true;
    err_t err = {0};
    if (self->n_group == 0) self->n_group = self->queue.n < GROUP ? self->queue.n : GROUP;
    int done = settle(self, write_group(self, &err), &err);
    if (done > 0) written(self);
    return done >= 0;
}

/* Our last words: what is queued is tried once more; then others may lead at once. */
static void finish(recorder_t *self)
{
    err_t err = {0};
    if (self->queue.n > 0) {
        if (self->n_group == 0) self->n_group = self->queue.n < GROUP ? self->queue.n : GROUP;
        write_group(self, &err);
    }
    if (self->leader.fence > 0 && err.code == ERR_OK)
        store_leader_release(self->store, &self->leader, &err);
}

static void recorder_main(zsock_t *pipe, void *arg)
{
    recorder_t self = {.options = arg, .pipe = pipe, .number = 1};
    zsock_signal(pipe, 0);
    bool going = begin(&self);
    while (going) {
        int64_t wait = self.queue.n > 0 ? 0 : self.renew_ms - clock_mono_ms();
        going = hear(&self, wait) && renew(&self) && write_queue(&self);
    }
    if (self.stopped && self.store) finish(&self);
    while (!self.stopped) hear(&self, 1000); /* failed: told, waiting for the end */
    for (size_t i = 0; i < self.queue.n; i++) record_destroy(&self.queue.at[i]);
    VEC_FREE(&self.queue);
    store_destroy(&self.store);
    actor_last(pipe);
    hand_over(arg);
}

/* --- Its owner's side --- */

zactor_t *recorder_new(const recorder_options_t *options)
{
    return zactor_new(recorder_main, (void *)options);
}

void recorder_write(zactor_t *self, record_t *record)
{
    zsock_send(self, "sp", "RECORD", hand_over(record));
}

recorder_result_t *recorder_take(zactor_t *self)
{
    return actor_take(self);
}

static void drop(void *answer)
{
    recorder_result_t *result = answer;
    recorder_result_destroy(&result);
}

void recorder_destroy(zactor_t **self_p)
{
    actor_end(self_p, drop);
}
