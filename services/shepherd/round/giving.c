/* One piece of work to one worker: what its message says. Who gets which is dispatch.c. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "data/token_bytes.h"
#include "shepherd/round/work.h"
#include "shepherd/shepherd.h"

bool work_free(const shepherd_t *self, const member_row_t *row)
{
    return row->credit > 0 && !blame_rests(row, self->now_ms) && work_ready(self, row);
}

static void fill_tokens(const shepherd_t *self, bool training, Msg__TokenSource *tokens)
{
    tokens->object = (char *)(training ? self->bulk.train_hash : self->bulk.validation_hash);
    tokens->n_tokens = training ? self->bulk.train_tokens : self->bulk.validation_tokens;
    tokens->layout = self->config->layout;
    tokens->shuffle = training && self->config->shuffle;
    tokens->block = training ? (uint64_t)self->config->shuffle_block : 0;
    tokens->seed = (uint64_t)self->config->seed;
    tokens->vocab = (uint32_t)self->config->vocab;
    int bytes = token_bytes_named(training ? self->config->train_tokens
                                           : self->config->validation_tokens);
    if (bytes != 2) tokens->token_bytes = (uint32_t)bytes;
}

static void fill_schedule(const shepherd_t *self, Msg__Schedule *schedule)
{
    const shepherd_config_t *config = self->config;
    schedule->kind = config->schedule;
    schedule->lr = config->lr;
    schedule->min_lr = config->min_lr;
    schedule->warmup = (uint64_t)config->warmup;
    schedule->total_steps = (uint64_t)config->rounds * (uint64_t)config->inner_steps;
    schedule->decay_fraction = config->decay_fraction;
}

static void issued(shepherd_t *self, work_t *work, member_row_t *worker)
{
    work_move(self, work, WORK_ISSUED, worker->serial);
    work->given_ms = self->now_ms;
    if (worker->credit) worker->credit--; /* none: it goes on with what it has (late.c) */
    worker->issued_ms = self->now_ms;
    worker->issued_beat = worker->beat;
}

/* Of how many updates the next round's parameters are made, for who fetches them while these arrive; nobody
 * begins with those behind the last round. */
static uint32_t ahead(const shepherd_t *self)
{
    bool last = self->round.number + 1 >= self->config->rounds;
    return self->shards.ahead && !last ? (uint32_t)self->round.replicas : 0;
}

/* Where the states begin that no codec may touch; 0: there are none, or the codec leaves all as it is. */
static uint64_t exact_from(const shepherd_t *self)
{
    bool codes = strcmp(self->config->codec, "f32") != 0;
    return codes && self->shards.exact ? (uint64_t)self->config->averaged_from : 0;
}

typedef struct {
    uint32_t codec;
    uint64_t exact_from;
} way_down_t;

/* How parameters get to that worker: one that knows no exact states takes them whole where the shards have such. */
static way_down_t way_down(const shepherd_t *self, const member_row_t *worker)
{
    way_down_t down = {.codec = self->down_codec};
    bool exact = down.codec && self->config->averaged_from && members_down_exact(&self->roster);
    if (exact && worker->down_exact)
        down.exact_from = (uint64_t)self->config->averaged_from;
    else if (exact)
        down.codec = 0;
    return down;
}

/* Its range and what it begins with are the store's. */
static void fill_lease(const shepherd_t *self, uint32_t replica, const member_row_t *worker,
                       Msg__Lease *lease)
{
    const work_t *work = &self->round.lease[replica];
    lease->round = self->round.number;
    lease->replica = replica;
    lease->fence = work->fence;
    lease->epoch = work->range.epoch;
    lease->start = work->range.start;
    lease->count = work->want;
    lease->inner_steps = ranges_steps(self, work->want);
    lease->weight = lease->inner_steps;
    lease->lag = work->lag;
    data_range_t next = ranges_next(self, replica);
    lease->next_epoch = next.epoch;
    lease->next_start = next.start;
    lease->next_count = next.count;
    lease->step_base = (uint64_t)(self->round.number - work->lag) *
                       (uint64_t)self->config->inner_steps;
    lease->state = (char *)work->state_in;
    lease->keep_state = work_keep_state(self, worker);
    lease->hand_over = lease->keep_state == MSG__STATE_KEEP__STATE_LOCAL &&
                       !self->checkpoints.at_hand;
    lease->codec = self->codec;
    lease->exact_from = exact_from(self);
    const way_down_t down = way_down(self, worker);
    lease->down_codec = down.codec;
    lease->down_exact_from = down.exact_from;
    lease->ahead = ahead(self);
    lease->run_hash = self->run_hash;
}

static void send_lease(shepherd_t *self, Msg__Lease *lease, const member_row_t *worker,
                       char **endpoints)
{
    Msg__TokenSource tokens = MSG__TOKEN_SOURCE__INIT;
    Msg__Schedule schedule = MSG__SCHEDULE__INIT;
    fill_tokens(self, true, &tokens);
    fill_schedule(self, &schedule);
    lease->schedule = &schedule;
    lease->plan = (char *)plans_ready(&self->plans, worker->target);
    lease->seal = (char *)plans_seal(&self->plans, worker->target);
    lease->data = endpoints;
    lease->n_data = self->bulk.layout.n_shard;
    lease->bounds = self->bulk.layout.bounds;
    lease->n_bounds = self->bulk.layout.n_shard + 1;
    *(tokens.token_bytes ? &lease->wide_tokens : &lease->tokens) = &tokens;
    MSG_SEND(self->ports.out, &worker->peer, 0, LEASE, lease, lease);
    log_event(LOG_DEBUG, "lease", "round=%u replica=%u fence=%u audit=%d worker=%s", lease->round,
              lease->replica, lease->fence, lease->audit, worker->id);
}

/* The part of its range that was trained, and nothing of it counts. */
void work_give_audit(shepherd_t *self, uint32_t replica, member_row_t *worker, char **endpoints)
{
    const work_t *work = &self->round.lease[replica];
    Msg__Lease lease = MSG__LEASE__INIT;
    fill_lease(self, replica, worker, &lease);
    lease.audit = true;
    lease.next_count = 0;
    lease.count = work->done_windows;
    lease.inner_steps = ranges_steps(self, work->done_windows);
    lease.weight = lease.inner_steps;
    if (worker->credit) worker->credit--;
    worker->issued_ms = self->now_ms;
    send_lease(self, &lease, worker, endpoints);
}

void work_give_lease(shepherd_t *self, uint32_t replica, member_row_t *worker, char **endpoints)
{
    work_t *work = &self->round.lease[replica];
    Msg__Lease lease = MSG__LEASE__INIT;
    fill_lease(self, replica, worker, &lease);
    work_home(self, work, worker->serial);
    work->adoptable = work->carry = false;
    work->timed = work->lag == 0; /* a late one may be half done */
    if (!work->first_ms) work->first_ms = self->now_ms;
    snprintf(work->worker, sizeof work->worker, "%s", worker->id);
    work_note_target(self, replica, worker);
    issued(self, work, worker);
    records_issue(self, replica);
    work_announce(self, replica);
    if (work->lag) work_tell(self); /* its update may be on its way at once */
    send_lease(self, &lease, worker, endpoints);
}

void work_give_eval(shepherd_t *self, uint32_t part, member_row_t *worker, char **endpoints)
{
    Msg__TokenSource tokens = MSG__TOKEN_SOURCE__INIT;
    Msg__Eval eval = MSG__EVAL__INIT;
    fill_tokens(self, false, &tokens);
    tokens.shuffle = layout_sample(&self->bulk.layout, self->bulk.validation_tokens,
                                   self->config->validate_tokens)
                         .sampled;
    if (tokens.shuffle) tokens.seed = BATCH_SAMPLE_SEED;
    eval.round = self->round.number;
    eval.part = part;
    eval.fence = self->round.eval.at[part].fence;
    eval.first_batch = self->round.eval.at[part].begin;
    eval.n_batch = self->round.eval.at[part].n;
    eval.plan = (char *)plans_ready(&self->plans, worker->target);
    eval.seal = (char *)plans_seal(&self->plans, worker->target);
    eval.data = endpoints;
    eval.n_data = self->bulk.layout.n_shard;
    eval.bounds = self->bulk.layout.bounds;
    eval.n_bounds = self->bulk.layout.n_shard + 1;
    *(tokens.token_bytes ? &eval.wide_tokens : &eval.tokens) = &tokens;
    eval.run_hash = self->run_hash;
    const way_down_t down = way_down(self, worker);
    eval.down_codec = down.codec;
    eval.down_exact_from = down.exact_from;
    issued(self, &self->round.eval.at[part], worker);
    MSG_SEND(self->ports.out, &worker->peer, 0, EVAL, eval, &eval);
}
