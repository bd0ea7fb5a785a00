/* The recorder's life: open, lead, tell, write until told to stop. */
#include "shepherd/records/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/hand_over.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/vec.h"
#include "shepherd/actor.h"
#include "shepherd/records/leadership.h"
#include "shepherd/roster/revoked.h"

enum { GROUP = 256, TERM_FENCES = 4096 };

typedef struct {
    const recorder_options_t *options;
    zsock_t *pipe;
    store_t *store;
    store_leader_t leader;        /* we */
    char other[STORE_ID];         /* who leads instead */
    recorder_result_t *knowledge; /* what the store knows, on its way to the owner */
    VEC(record_t *) queue;
    int64_t number; /* of the group at the queue's head */
    size_t n_group; /* records in it; 0: not made yet */
    char *names;    /* in quarantine, as told last */
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
    free((*self_p)->names);
    free(*self_p);
    *self_p = NULL;
}

static void answer(recorder_t *self, recorder_result_t *result)
{
    zsock_send(self->pipe, "p", hand_over(result));
}

static void answer_event(recorder_t *self, recorder_event_t event, const err_t *err)
{
    recorder_result_t *result = result_new(event);
    if (err) result->err = *err;
    answer(self, result);
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

static int open_store(recorder_t *self, err_t *err)
{
    store_options_t options = {
        .connect_ms = 2000, .statement_ms = 5000, .relaxed = self->options->relaxed};
    self->store = store_open(self->options->url, &options, err);
    return self->store ? 0 : -1;
}

static int acquire(recorder_t *self, leadership_went_t *went, err_t *err)
{
    const recorder_options_t *o = self->options;
    bool won = false;
    store_leader_t leader;
    if (store_leader_acquire(self->store, o->run, o->holder, o->ttl_ms, &won, &leader, err) < 0)
        return -1;
    if (won)
        self->leader = leader;
    else
        memcpy(self->other, leader.holder, sizeof self->other);
    *went = won ? WENT_WELL : WENT_OTHER;
    return 0;
}

/* Who is in quarantine by now: others may trust them again, or find more. */
static int read_names(recorder_t *self, err_t *err)
{
    char *names = NULL;
    if (store_quarantine_names(self->store, &names, err) < 0) return -1;
    if (self->names && strcmp(self->names, names) == 0) {
        free(names);
        return 0;
    }
    free(self->names);
    self->names = names;
    recorder_result_t *result = result_new(RECORDER_QUARANTINE);
    result->names = mem_strdup(names);
    answer(self, result);
    return 0;
}

static int read_seed(recorder_t *self, err_t *err)
{
    char fresh[HASH_HEX];
    random_hex(fresh, HASH_HEX - 1);
    return store_audit_seed(self->store, &self->leader, fresh, self->knowledge->audit_seed, err);
}

/* What we lead now: pending, paused and failed runs begin, others are as they are. */
static int load(recorder_t *self, err_t *err)
{
    recorder_result_destroy(&self->knowledge); /* of the attempt before */
    recorder_result_t *result = self->knowledge = result_new(RECORDER_LEADS);
    result->leader = self->leader;
    if (store_run_get(self->store, self->options->run, &result->run, err) < 0) return -1;
    bool begins = strcmp(result->run.state, "pending") == 0 ||
                  strcmp(result->run.state, "paused") == 0 ||
                  strcmp(result->run.state, "failed") == 0;
    if (begins &&
        store_run_move(self->store, self->options->run, "running", "", &self->leader, err) < 0)
        return -1;
    if (read_seed(self, err) < 0 || read_names(self, err) < 0) return -1;
    return store_resume(self->store, &self->leader, &result->resume, err);
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
        answer(self, result);
        record_destroy(&record);
    }
    self->queue.n -= self->n_group;
    memmove(self->queue.at, self->queue.at + self->n_group, self->queue.n * sizeof *self->queue.at);
    self->n_group = 0;
    self->number++;
}

/* Write what waits. A group keeps its number and records until it is in. */
static int write_queue(recorder_t *self, leadership_went_t *went, err_t *err)
{
    if (self->queue.n == 0) {
        *went = WENT_IDLE;
        return 0;
    }
    if (self->n_group == 0) self->n_group = self->queue.n < GROUP ? self->queue.n : GROUP;
    return write_group(self, err);
}

/* --- As the owner of a store --- */

static int take(void *user, leadership_step_t step, leadership_went_t *went, err_t *err)
{
    recorder_t *self = user;
    switch (step) {
    case LEADERSHIP_OPEN: return open_store(self, err);
    case LEADERSHIP_PREPARE: return prepare(self, err);
    case LEADERSHIP_ACQUIRE: return acquire(self, went, err);
    case LEADERSHIP_LOAD: return revoked_read(self->store, err) < 0 ? -1 : load(self, err);
    case LEADERSHIP_RENEW:
        if (store_leader_renew(self->store, &self->leader, self->options->ttl_ms, err) < 0)
            return -1;
        return revoked_read(self->store, err) < 0 ? -1 : read_names(self, err);
    default: return write_queue(self, went, err);
    }
}

static void tell(void *user, const leadership_news_t *news, const err_t *err)
{
    recorder_t *self = user;
    if (news->lost || news->why) answer_event(self, RECORDER_LOST, err);
    if (news->back) answer_event(self, RECORDER_BACK, NULL);
    if (news->failed) answer_event(self, RECORDER_FAILED, err);
    if (news->standby) {
        recorder_result_t *result = result_new(RECORDER_STANDBY);
        memcpy(result->holder, self->other, sizeof result->holder);
        answer(self, result);
    }
    if (news->leads) {
        answer(self, self->knowledge);
        self->knowledge = NULL;
    }
}

static void took(void *user, leadership_step_t step)
{
    recorder_t *self = user;
    if (step == LEADERSHIP_WRITE && self->n_group > 0) written(self);
}

static void queue(void *user, void *item)
{
    VEC_PUSH(&((recorder_t *)user)->queue, item);
}

static bool has_work(void *user)
{
    return ((recorder_t *)user)->queue.n > 0;
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
    leadership_t leadership = {.ttl_ms = self.options->ttl_ms};
    const leadership_owner_t owner = {take, tell, took, queue, has_work, &self};
    zsock_signal(pipe, 0);
    if (leadership_run(&leadership, &owner, pipe) && self.store) finish(&self);
    for (size_t i = 0; i < self.queue.n; i++) record_destroy(&self.queue.at[i]);
    VEC_FREE(&self.queue);
    recorder_result_destroy(&self.knowledge);
    store_destroy(&self.store);
    free(self.names);
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
    leadership_hand(self, record);
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
