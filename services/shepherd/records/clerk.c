/* The clerk's life: open, lead, tell, write until told to stop. */
#include "shepherd/records/clerk.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hand_over.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "shepherd/actor.h"

enum { BACK_OFF_MS = 50, BACK_OFF_MAX_MS = 2000 };

typedef struct {
    const clerk_options_t *options;
    zsock_t *pipe;
    store_t *store;
    store_leader_t front;
    int64_t renew_ms; /* when to renew next */
    int64_t wait_ms;  /* present back-off; 0: the database answers */
    VEC(clerk_note_t *) queue;
    bool stopped;
} clerk_t;

static clerk_result_t *result_new(clerk_event_t event, const err_t *err)
{
    clerk_result_t *result = mem_calloc(1, sizeof *result);
    result->event = event;
    if (err) result->err = *err;
    return result;
}

void clerk_result_destroy(clerk_result_t **self_p)
{
    if (!*self_p) return;
    store_submissions_fini(&(*self_p)->runs);
    store_hashes_fini(&(*self_p)->objects);
    free(*self_p);
    *self_p = NULL;
}

static void tell(clerk_t *self, clerk_result_t *result)
{
    zsock_send(self->pipe, "p", hand_over(result));
}

static void note_destroy(clerk_note_t *note)
{
    free(note->row.reason);
    store_hashes_fini(&note->objects);
    free(note);
}

/* Take notes for at most timeout_ms, at once when there are some; false: leave. */
static bool hear(clerk_t *self, int64_t timeout_ms)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(self->pipe), .events = ZMQ_POLLIN};
    while (!self->stopped && zmq_poll(&item, 1, timeout_ms > 0 ? (long)timeout_ms : 0) > 0) {
        char *command = NULL;
        void *pointer = NULL;
        int rc = zsock_recv(self->pipe, "sp", &command, &pointer);
        self->stopped = rc < 0 || strcmp(command, "NOTE") != 0;
        free(command);
        if (!self->stopped) VEC_PUSH(&self->queue, take_over(pointer));
        timeout_ms = 0;
    }
    return !self->stopped;
}

static bool rest(clerk_t *self, int64_t ms)
{
    int64_t until = clock_mono_ms() + ms;
    while (hear(self, until - clock_mono_ms()))
        if (clock_mono_ms() >= until) return true;
    return false;
}

/* The database did not answer: say so once, wait longer each time, but so that a leader is back
 * within its term. */
static bool back_off(clerk_t *self, const err_t *err)
{
    int64_t most = self->options->ttl_ms / 3 + 1;
    if (self->wait_ms == 0) tell(self, result_new(CLERK_LOST, err));
    self->wait_ms = self->wait_ms ? 2 * self->wait_ms : BACK_OFF_MS;
    if (self->wait_ms > BACK_OFF_MAX_MS) self->wait_ms = BACK_OFF_MAX_MS;
    if (self->wait_ms > most) self->wait_ms = most;
    double jitter = rng_uniform((uint64_t)clock_mono_ms(), 0) / 4;
    return rest(self, self->wait_ms + (int64_t)((double)self->wait_ms * jitter));
}

/* It will do again later: the database is gone, or its disk is full; or, once we lead and so have
 * written, its file has become unwritable. */
static bool may_pass(const clerk_t *self, const err_t *err)
{
    return err->code == ERR_NET || (err->code == ERR_IO && self->front.fence > 0);
}

/* One attempt at a step; 1: done, 0: the database did not answer and the wait is over, -1: leave.
 */
static int settle(clerk_t *self, int rc, const err_t *err)
{
    if (rc == 0) {
        if (self->wait_ms > 0) tell(self, result_new(CLERK_BACK, NULL));
        self->wait_ms = 0;
        return 1;
    }
    if (may_pass(self, err)) return back_off(self, err) ? 0 : -1;
    tell(self, result_new(CLERK_FAILED, err));
    return -1;
}

static int prepare(clerk_t *self, err_t *err)
{
    if (self->options->migrate && store_migrate(self->store, 0, err) < 0) return -1;
    return store_check(self->store, err);
}

static bool lead(clerk_t *self)
{
    for (bool told = false;;) {
        err_t err = {0};
        bool won = false;
        store_leader_t front;
        const clerk_options_t *o = self->options;
        int64_t begin = clock_mono_ms();
        int done = settle(
            self, store_front_acquire(self->store, o->holder, o->ttl_ms, &won, &front, &err), &err);
        if (done < 0) return false;
        if (done > 0 && won) {
            self->front = front;
            self->renew_ms = begin + o->ttl_ms / 3;
            return true;
        }
        if (done > 0 && !told) {
            clerk_result_t *result = result_new(CLERK_STANDBY, NULL);
            memcpy(result->holder, front.holder, sizeof result->holder);
            tell(self, result);
            told = true;
        }
        /* Who led when the database went gets a term to come back. */
        int64_t wait_ms = done > 0 ? o->ttl_ms / 6 + 1 : o->ttl_ms;
        if ((done > 0 || told) && !rest(self, wait_ms)) return false;
    }
}

static bool begin(clerk_t *self)
{
    err_t err = {0};
    store_options_t options = {.connect_ms = 2000, .statement_ms = 5000};
    self->store = store_open(self->options->url, &options, &err);
    if (!self->store) {
        tell(self, result_new(CLERK_FAILED, &err));
        return false;
    }
    int done;
    while ((done = settle(self, prepare(self, &err), &err)) == 0) continue;
    if (done < 0 || !lead(self)) return false;
    clerk_result_t *result = result_new(CLERK_LEADS, NULL);
    while ((done = settle(self, store_submission_list(self->store, &result->runs, &err), &err)) ==
           0)
        continue;
    if (done < 0)
        clerk_result_destroy(&result);
    else
        tell(self, result);
    return done > 0;
}

static bool renew(clerk_t *self)
{
    err_t err = {0};
    int64_t now = clock_mono_ms();
    if (now < self->renew_ms) return true;
    int done = settle(
        self, store_front_renew(self->store, &self->front, self->options->ttl_ms, &err), &err);
    if (done > 0) self->renew_ms = now + self->options->ttl_ms / 3;
    return done >= 0;
}

/* One slice of it; *done: it was the last. */
static int put_delete(clerk_t *self, clerk_note_t *note, bool *done, err_t *err)
{
    const char *id = note->row.id;
    *done = false;
    if (!note->looked && store_submission_objects(self->store, id, &note->objects, err) < 0)
        return -1;
    note->looked = true;
    return store_submission_delete(self->store, &self->front, id, done, err);
}

static int put_event(clerk_t *self, const store_submission_t *row, err_t *err)
{
    store_event_t event = {.time_ms = row->created_ms,
                           .level = "info",
                           .service = "front",
                           .member = row->id,
                           .name = row->key,
                           .round = -1,
                           .detail = row->reason};
    return store_event_add(self->store, NULL, &event, err);
}

static int put(clerk_t *self, clerk_note_t *note, bool *done, err_t *err)
{
    const store_submission_t *row = &note->row;
    *done = true;
    switch (note->verb) {
    case CLERK_ADD: return store_submission_add(self->store, &self->front, row, err);
    case CLERK_DELETE: return put_delete(self, note, done, err);
    case CLERK_TELL: return put_event(self, row, err);
    case CLERK_MOVE: break;
    }
    return store_submission_move(self->store, &self->front, row->id, row->state, row->reason, err);
}

/* The note at the head; one that the store refuses for good is told, and does not end us. */
static bool write_note(clerk_t *self)
{
    if (self->queue.n == 0) return true;
    err_t err = {0};
    clerk_note_t *note = self->queue.at[0];
    bool last = false;
    int rc = put(self, note, &last, &err);
    bool refused = rc < 0 && (err.code == ERR_STATE || err.code == ERR_ARG);
    int done = refused ? 1 : settle(self, rc, &err);
    if (done <= 0) return done == 0;
    if (!last && !refused) return true; /* the rest of it, after the term is renewed */
    clerk_result_t *result = result_new(CLERK_WRITTEN, refused ? &err : NULL);
    result->ticket = note->ticket;
    result->objects = note->objects;
    note->objects = (store_hashes_t){0};
    tell(self, result);
    note_destroy(note);
    self->queue.n--;
    memmove(self->queue.at, self->queue.at + 1, self->queue.n * sizeof *self->queue.at);
    return true;
}

/* What is queued is tried once more; then others may lead at once. */
static void finish(clerk_t *self)
{
    err_t err = {0};
    bool last;
    for (size_t i = 0; err.code != ERR_NET && i < self->queue.n; i++)
        put(self, self->queue.at[i], &last, &err); /* a deletion goes on under the next front */
    if (self->front.fence > 0 && err.code != ERR_NET)
        store_front_release(self->store, &self->front, &err);
}

static void clerk_main(zsock_t *pipe, void *arg)
{
    clerk_t self = {.options = arg, .pipe = pipe};
    zsock_signal(pipe, 0);
    bool going = begin(&self);
    while (going) {
        int64_t wait = self.queue.n > 0 ? 0 : self.renew_ms - clock_mono_ms();
        going = hear(&self, wait) && renew(&self) && write_note(&self);
    }
    if (self.stopped && self.store) finish(&self);
    while (!self.stopped) hear(&self, 1000); /* failed: told, waiting for the end */
    for (size_t i = 0; i < self.queue.n; i++) note_destroy(self.queue.at[i]);
    VEC_FREE(&self.queue);
    store_destroy(&self.store);
    actor_last(pipe);
    hand_over(arg);
}

/* --- Its owner's side --- */

zactor_t *clerk_new(const clerk_options_t *options)
{
    return zactor_new(clerk_main, (void *)options);
}

void clerk_write(zactor_t *self, clerk_note_t *note)
{
    zsock_send(self, "sp", "NOTE", hand_over(note));
}

clerk_result_t *clerk_take(zactor_t *self)
{
    return actor_take(self);
}

static void drop(void *answer)
{
    clerk_result_t *result = answer;
    clerk_result_destroy(&result);
}

void clerk_destroy(zactor_t **self_p)
{
    actor_end(self_p, drop);
}
