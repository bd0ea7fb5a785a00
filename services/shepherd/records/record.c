/* Records: a table from kind to the store's function. */
#include "shepherd/records/record.h"

#include <stdlib.h>

#include "base/mem.h"

record_t *record_new(record_kind_t kind, uint64_t round)
{
    record_t *self = mem_calloc(1, sizeof *self);
    self->kind = kind;
    self->round = round;
    return self;
}

void record_destroy(record_t **self_p)
{
    record_t *self = *self_p;
    if (!self) return;
    free(self->text);
    free(self->detail);
    free(self->worker);
    free(self->key);
    free(self->joined);
    free(self->leases);
    free(self->ranges);
    free(self->entries);
    free(self);
    *self_p = NULL;
}

typedef int write_fn(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err);

static int write_run(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    return store_run_move(store, leader->run, r->text, r->detail, leader, err);
}

static int write_objects(const record_t *r, store_t *store, const store_leader_t *leader,
                         err_t *err)
{
    return store_run_objects(store, leader, &r->objects, err);
}

static int write_data(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    return store_run_data(store, leader, r->windows, err);
}

static int write_open(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    return store_round_open(store, leader, r->round, &r->cursor, r->leases, r->n_lease, err);
}

static int write_issue(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    return store_lease_issue(store, leader, r->round, r->replica, r->fence, r->text, r->detail,
                             err);
}

static int write_done(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    store_done_t done = r->done;
    done.round = r->round;
    done.replica = r->replica;
    done.fence = r->fence;
    done.state_out = r->state;
    return store_lease_done(store, leader, &done, err);
}

static int write_reopen(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    return store_lease_reopen(store, leader, r->round, r->replica, r->fence, err);
}

static int write_decide(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    return store_round_decide(store, leader, r->round, r->entries, r->n_entry, err);
}

static int write_commit(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    store_commit_t commit = r->commit;
    commit.round = r->round;
    commit.entries = r->entries;
    commit.n_entry = r->n_entry;
    return store_round_commit(store, leader, &commit, err);
}

static int write_validation(const record_t *r, store_t *store, const store_leader_t *leader,
                            err_t *err)
{
    return store_round_validation(store, leader, r->round, r->loss, err);
}

static int write_waits(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    return store_round_waits(store, leader, r->round, r->text, err);
}

static int write_written(const record_t *r, store_t *store, const store_leader_t *leader,
                         err_t *err)
{
    return store_text_add(store, leader, r->round, r->text, r->detail, err);
}

static int write_rejection(const record_t *r, store_t *store, const store_leader_t *leader,
                           err_t *err)
{
    store_rejection_t rejection = {.round = r->round,
                                   .replica = r->replica,
                                   .fence = r->fence,
                                   .worker = r->worker,
                                   .reason = r->text,
                                   .detail = r->detail};
    return store_rejection_add(store, leader->run, &rejection, err);
}

static int write_checkpoint(const record_t *r, store_t *store, const store_leader_t *leader,
                            err_t *err)
{
    return store_checkpoint_add(store, leader, r->round, r->state, r->text, (int64_t)r->tokens,
                                err);
}

/* One that the store has never heard of (it is a newer one) is none of its business. */
static int write_pruned(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    err_t fault = {0};
    if (store_checkpoint_mark(store, leader->run, r->state, "pruned", r->text, &fault) == 0 ||
        fault.code == ERR_STATE)
        return 0;
    return err_set(err, fault.code, "%s", fault.text);
}

static int write_rewind(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    store_rewind_t to = {.round = r->round,
                         .tokens = r->tokens,
                         .cursor = r->cursor,
                         .returned = r->ranges,
                         .n_returned = r->n_range};
    return store_run_rewind(store, leader, &to, err);
}

static int write_back(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    store_rewinding_t what = {
        .from = r->from, .to = r->round, .checkpoint = r->text, .reason = r->detail};
    return store_rewind_begin(store, leader, &what, err);
}

static int write_init(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    return store_run_init(store, leader, r->state, err);
}

static int write_replicas(const record_t *r, store_t *store, const store_leader_t *leader,
                          err_t *err)
{
    store_replicas_t decided = {.round = r->round, .n = r->replica};
    return store_replicas_set(store, leader, &decided, r->text, err);
}

static int write_event(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    store_event_t event = r->event;
    event.name = r->text;
    event.detail = r->detail;
    event.member = r->worker;
    event.key = r->key;
    event.run = leader->run;
    return store_event_add(store, leader, &event, err);
}

/* A name that no database takes is no reason to fail a run. */
static int tolerate(int rc, const err_t *fault, err_t *err)
{
    if (rc == 0 || fault->code == ERR_ARG) return 0;
    return err_set(err, fault->code, "%s", fault->text);
}

static int write_joined(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    err_t fault = {0};
    (void)leader; /* a part of its group */
    return tolerate(store_worker_join(store, r->joined, &fault), &fault, err);
}

static int write_left(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    err_t fault = {0};
    return tolerate(store_worker_leave(store, leader, r->worker, r->text, r->detail, &fault),
                    &fault, err);
}

static int write_quarantine(const record_t *r, store_t *store, const store_leader_t *leader,
                            err_t *err)
{
    store_liar_t liar = {.name = r->key,
                         .member = r->worker,
                         .round = r->round,
                         .replica = r->replica,
                         .fence = r->fence,
                         .digest = r->text,
                         .agreed = r->state,
                         .witnesses = r->detail};
    err_t fault = {0};
    return tolerate(store_quarantine_add(store, leader, &liar, &fault), &fault, err);
}

static int write_trail(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    store_deed_t deed = {.who = r->worker,
                         .key_name = r->key_name,
                         .public_key = r->public_key,
                         .action = r->text,
                         .object = r->key,
                         .detail = r->detail};
    return store_trail_add(store, leader, &deed, err);
}

/* Both in the transaction of their group. */
static int write_trust(const record_t *r, store_t *store, const store_leader_t *leader, err_t *err)
{
    if (store_quarantine_lift(store, leader, r->key, r->worker, NULL, err) < 0) return -1;
    return write_trail(r, store, leader, err);
}

static const struct {
    const char *name;
    write_fn *write;
} kinds[] = {
    [RECORD_RUN] = {"run", write_run},
    [RECORD_OBJECTS] = {"objects", write_objects},
    [RECORD_DATA] = {"data", write_data},
    [RECORD_OPEN] = {"open", write_open},
    [RECORD_ISSUE] = {"issue", write_issue},
    [RECORD_DONE] = {"done", write_done},
    [RECORD_REOPEN] = {"reopen", write_reopen},
    [RECORD_DECIDE] = {"decide", write_decide},
    [RECORD_COMMIT] = {"commit", write_commit},
    [RECORD_VALIDATION] = {"validation", write_validation},
    [RECORD_WAITS] = {"waits", write_waits},
    [RECORD_REJECTION] = {"rejection", write_rejection},
    [RECORD_CHECKPOINT] = {"checkpoint", write_checkpoint},
    [RECORD_PRUNED] = {"pruned", write_pruned},
    [RECORD_REWIND] = {"rewind", write_rewind},
    [RECORD_BACK] = {"back", write_back},
    [RECORD_REPLICAS] = {"replicas", write_replicas},
    [RECORD_WRITTEN] = {"written", write_written},
    [RECORD_INIT] = {"init", write_init},
    [RECORD_EVENT] = {"event", write_event},
    [RECORD_JOINED] = {"joined", write_joined},
    [RECORD_LEFT] = {"left", write_left},
    [RECORD_QUARANTINE] = {"quarantine", write_quarantine},
    [RECORD_TRUST] = {"trust", write_trust},
    [RECORD_TRAIL] = {"trail", write_trail},
};

int record_write(const record_t *self, store_t *store, const store_leader_t *leader, err_t *err)
{
    return kinds[self->kind].write(self, store, leader, err);
}

const char *record_name(record_kind_t kind)
{
    return kinds[kind].name;
}
