/* The clerk's life: open, lead, tell, write until told to stop. */
#include "shepherd/records/clerk.h"

#include <stdlib.h>
#include <string.h>

#include "base/hand_over.h"
#include "base/mem.h"
#include "base/vec.h"
#include "shepherd/actor.h"
#include "shepherd/records/leadership.h"
#include "shepherd/roster/revoked.h"

typedef struct {
    const clerk_options_t *options;
    zsock_t *pipe;
    store_t *store;
    store_leader_t front;      /* we */
    char other[STORE_ID];      /* who leads instead */
    clerk_result_t *knowledge; /* what runs there are, on its way to the owner */
    VEC(clerk_note_t *) queue;
    bool ended;    /* the note at the head needs no more slices ... */
    err_t refusal; /* ... for the store refuses it; ERR_OK: it is in */
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
    store_ids_fini(&(*self_p)->deleted);
    store_hashes_fini(&(*self_p)->objects);
    free(*self_p);
    *self_p = NULL;
}

static void answer(clerk_t *self, clerk_result_t *result)
{
    zsock_send(self->pipe, "p", hand_over(result));
}

static void note_destroy(clerk_note_t *note)
{
    free(note->row.reason);
    store_hashes_fini(&note->objects);
    free(note);
}

static int prepare(clerk_t *self, err_t *err)
{
    if (self->options->migrate && store_migrate(self->store, 0, err) < 0) return -1;
    return store_check(self->store, err);
}

static int open_store(clerk_t *self, err_t *err)
{
    store_options_t options = {.connect_ms = 2000, .statement_ms = 5000};
    self->store = store_open(self->options->url, &options, err);
    return self->store ? 0 : -1;
}

static int acquire(clerk_t *self, leadership_went_t *went, err_t *err)
{
    const clerk_options_t *o = self->options;
    bool won = false;
    store_leader_t front;
    if (store_front_acquire(self->store, o->holder, o->ttl_ms, &won, &front, err) < 0) return -1;
    if (won)
        self->front = front;
    else
        memcpy(self->other, front.holder, sizeof self->other);
    *went = won ? WENT_WELL : WENT_OTHER;
    return 0;
}

static int load(clerk_t *self, err_t *err)
{
    clerk_result_destroy(&self->knowledge); /* of the attempt before */
    self->knowledge = result_new(CLERK_LEADS, NULL);
    if (store_submissions_deleted(self->store, &self->knowledge->deleted, err) < 0) return -1;
    return store_submission_list(self->store, &self->knowledge->runs, err);
}

/* --- Writing --- */

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

/* What it is called in the trail, and what it was done to. */
static store_deed_t deed_of(const clerk_note_t *note)
{
    const store_submission_t *row = &note->row;
    const char *reason = row->reason && *row->reason ? row->reason : "{}";
    store_deed_t deed = {.who = note->actor.id,
                         .key_name = note->actor.key_name,
                         .public_key = note->actor.public_key,
                         .object = row->id,
                         .detail = "{}"};
    switch (note->verb) {
    case CLERK_ADD: deed.action = "submit"; break;
    case CLERK_DELETE: deed.action = "delete"; break;
    case CLERK_MOVE:
        deed.action = strcmp(row->state, "paused") == 0   ? "pause"
                      : strcmp(row->state, "queued") == 0 ? "resume"
                                                          : "cancel";
        break;
    default:
        deed.action = row->key;
        deed.object = note->name;
        deed.detail = reason;
    }
    return deed;
}

static int put_alone(clerk_t *self, clerk_note_t *note, bool *done, err_t *err)
{
    const store_submission_t *row = &note->row;
    *done = true;
    switch (note->verb) {
    case CLERK_ADD: return store_submission_add(self->store, &self->front, row, err);
    case CLERK_DELETE: return put_delete(self, note, done, err);
    case CLERK_TRUST:
        if (store_quarantine_lift(self->store, NULL, note->name, row->id, &note->lifted, err) < 0)
            return -1;
        return put_event(self, row, err);
    case CLERK_TELL: return put_event(self, row, err);
    case CLERK_MOVE: break;
    }
    return store_submission_move(self->store, &self->front, row->id, row->state, row->reason, err);
}

/* With its row of the trail: both are in, or neither. A deletion's comes with its first slice. */
static int put(clerk_t *self, clerk_note_t *note, bool *done, err_t *err)
{
    bool begun = note->verb == CLERK_DELETE && note->looked;
    if (!*note->actor.id || begun) return put_alone(self, note, done, err);
    store_deed_t deed = deed_of(note);
    if (store_trail_together(self->store, err) < 0) return -1;
    int rc = put_alone(self, note, done, err);
    if (rc == 0) rc = store_trail_add(self->store, NULL, &deed, err);
    rc = store_trail_end(self->store, rc, err);
    if (rc < 0) note->looked = false;
    return rc;
}

/* The note at the head, or a slice of it; one that the store refuses for good does not end us. */
static int write_note(clerk_t *self, leadership_went_t *went, err_t *err)
{
    self->ended = false;
    self->refusal = (err_t){0};
    if (self->queue.n == 0) {
        *went = WENT_IDLE;
        return 0;
    }
    int rc = put(self, self->queue.at[0], &self->ended, err);
    if (rc == 0 || (err->code != ERR_STATE && err->code != ERR_ARG)) return rc;
    self->ended = true;
    self->refusal = *err;
    *went = WENT_IDLE;
    return 0;
}

/* The note at the head is written or refused: say so. */
static void written(clerk_t *self)
{
    clerk_note_t *note = self->queue.at[0];
    clerk_result_t *result = result_new(CLERK_WRITTEN, &self->refusal);
    result->ticket = note->ticket;
    result->objects = note->objects;
    result->lifted = note->lifted;
    if (note->verb == CLERK_TRUST) memcpy(result->name, note->name, sizeof result->name);
    note->objects = (store_hashes_t){0};
    answer(self, result);
    note_destroy(note);
    self->queue.n--;
    memmove(self->queue.at, self->queue.at + 1, self->queue.n * sizeof *self->queue.at);
}

/* --- As the owner of a store --- */

static int take(void *user, leadership_step_t step, leadership_went_t *went, err_t *err)
{
    clerk_t *self = user;
    switch (step) {
    case LEADERSHIP_OPEN: return open_store(self, err);
    case LEADERSHIP_PREPARE: return prepare(self, err);
    case LEADERSHIP_ACQUIRE: return acquire(self, went, err);
    case LEADERSHIP_LOAD: return revoked_read(self->store, err) < 0 ? -1 : load(self, err);
    case LEADERSHIP_RENEW:
        if (store_front_renew(self->store, &self->front, self->options->ttl_ms, err) < 0) return -1;
        return revoked_read(self->store, err);
    default: return write_note(self, went, err);
    }
}

static void tell(void *user, const leadership_news_t *news, const err_t *err)
{
    clerk_t *self = user;
    if (news->lost || news->why) answer(self, result_new(CLERK_LOST, err));
    if (news->back) answer(self, result_new(CLERK_BACK, NULL));
    if (news->failed) answer(self, result_new(CLERK_FAILED, err));
    if (news->standby) {
        clerk_result_t *result = result_new(CLERK_STANDBY, NULL);
        memcpy(result->holder, self->other, sizeof result->holder);
        answer(self, result);
    }
    if (news->leads) {
        answer(self, self->knowledge);
        self->knowledge = NULL;
    }
}

/* Where a deletion has more slices, they follow after the term is renewed. */
static void took(void *user, leadership_step_t step)
{
    clerk_t *self = user;
    if (step == LEADERSHIP_WRITE && self->ended) written(self);
}

static void queue(void *user, void *item)
{
    VEC_PUSH(&((clerk_t *)user)->queue, item);
}

static bool has_work(void *user)
{
    return ((clerk_t *)user)->queue.n > 0;
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
    leadership_t leadership = {.ttl_ms = self.options->ttl_ms};
    const leadership_owner_t owner = {take, tell, took, queue, has_work, &self};
    zsock_signal(pipe, 0);
    if (leadership_run(&leadership, &owner, pipe) && self.store) finish(&self);
    for (size_t i = 0; i < self.queue.n; i++) note_destroy(self.queue.at[i]);
    VEC_FREE(&self.queue);
    clerk_result_destroy(&self.knowledge);
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
    leadership_hand(self, note);
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
