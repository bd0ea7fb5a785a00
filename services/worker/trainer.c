/* A lease: H steps from the parameters of its round, the pseudo-gradient up, the inner state kept. */
#include "worker/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "worker/delta.h"
#include "worker/ready.h"
#include "worker/schedule.h"
#include "worker/upload.h"

bool trainer_is_fatal(err_code_t code)
{
    return code == ERR_ARG || code == ERR_SHAPE || code == ERR_TYPE || code == ERR_NUMERIC;
}

typedef struct {
    uint64_t steps; /* done */
    double sum, last;
    uint64_t tokens;
    double begin;    /* on the monotonic clock, s */
    int64_t told_ms; /* when the hook last heard of a step */
} progress_t;

static void tell_step(const trainer_t *self, const Msg__Lease *lease, progress_t *progress)
{
    if (!self->hooks.stepped || lease->audit) return; /* its steps were told of before */
    progress->told_ms = clock_mono_ms();
    self->hooks.stepped(self->hooks.user, lease->step_base + progress->steps - 1,
                        (float)progress->last,
                        (double)progress->tokens / (clock_mono_s() - progress->begin));
}

static int train_step(trainer_t *self, const Msg__Lease *lease, feed_t *feed, progress_t *progress,
                      err_t *err)
{
    float loss = 0;
    uint64_t step = lease->step_base + progress->steps;
    uint64_t seed = ready_source(lease->tokens, lease->wide_tokens)->seed;
    uint64_t draws = rng_bits(rng_derive(seed, "draws"), lease->replica);
    if (feed_step(feed, tokens_at(self->train), progress->steps, err) < 0) return -1;
    engine_seed(self->engine, rng_bits(draws, step));
    if (engine_step(self->engine, (const void *const *)feed->args,
                    schedule_lr(lease->schedule, step), &loss, err) < 0)
        return -1;
    if (!isfinite(loss))
        return err_set(err, ERR_NUMERIC,
                       "replica %u, step %llu: the loss is %f; "
                       "a lower learning rate or a warm-up may help",
                       lease->replica, (unsigned long long)step + 1, (double)loss);
    progress->steps++;
    progress->sum += loss;
    progress->last = loss;
    progress->tokens += feed->layout->tokens * (uint64_t)feed->n_micro;
    return 0;
}

static bool draining(const trainer_t *self)
{
    return self->hooks.draining && self->hooks.draining(self->hooks.user);
}

static int train(trainer_t *self, const Msg__Lease *lease, feed_t *feed, progress_t *progress,
                 err_t *err)
{
    enum { NEWS_MS = 500 };
    progress->begin = clock_mono_s();
    progress->told_ms = clock_mono_ms();
    while (progress->steps < lease->inner_steps) {
        if (ready_stopped(self)) return err_set(err, ERR_STATE, "stopped");
        if (draining(self)) break;
        if (train_step(self, lease, feed, progress, err) < 0) return -1;
        if (clock_mono_ms() - progress->told_ms >= NEWS_MS) tell_step(self, lease, progress);
    }
    if (progress->steps == 0) return err_set(err, ERR_STATE, "drained before the first step");
    tell_step(self, lease, progress); /* the last one in any case: short leases report too */
    return 0;
}

/* What a lease is said to begin with is no state of this plan (engine_begin): no fault of ours. */
static bool is_unfit(err_code_t code)
{
    return code == ERR_CORRUPT || code == ERR_SHAPE || code == ERR_UNSUPPORTED;
}

static int begin(trainer_t *self, const Msg__Lease *lease, bool *fresh, err_t *err)
{
    const state_t *state = NULL;
    bool there = *lease->state && strcmp(lease->state, self->in_engine) == 0;
    *self->in_engine = '\0';
    *fresh = false;
    if (there) return engine_load(self->engine, self->start, err);
    double asked = clock_mono_s();
    int found = states_find(&self->states, lease, self->client, engine_state_limit(self->engine),
                            &state, fresh, err);
    self->fetch_s += clock_mono_s() - asked;
    if (found < 0) return -1;
    if (*fresh && self->hooks.degraded)
        self->hooks.degraded(self->hooks.user, self->states.fault, false);
    if (self->codec->feedback > 0 && !self->error)
        self->error = mem_calloc((size_t)engine_params(self->engine) + 1, sizeof *self->error);
    int rc = engine_begin(self->engine, self->start, state ? &state->source : NULL,
                          self->codec->feedback > 0 ? self->error : NULL, err);
    states_done(&self->states);
    if (rc < 0 && state && is_unfit(err->code)) states_unfit(&self->states, lease, err);
    return rc;
}

/* `start` becomes the pseudo-gradient, once: the result may be handed in again (is_here). */
static int need_delta(trainer_t *self, err_t *err)
{
    if (self->result.has_delta) return 0;
    if (engine_fall(self->engine, self->start, err) < 0) return -1;
    if (self->codec->feedback > 0)
        codec_feedback(self->codec, self->error, self->start, (size_t)engine_params(self->engine));
    self->result.has_delta = true;
    return 0;
}

/* What would be sent has these names. It stays here, for the shepherd may ask for it next. */
static int audit(trainer_t *self, const Msg__Lease *lease, const source_t *state, err_t *err)
{
    if (source_hash(state, self->state, err) < 0) return -1;
    return delta_digest(self->codec, lease, self->start, self->digest, err);
}

static work_t work_of(const Msg__Lease *lease)
{
    return (work_t){.data = lease->data,
                    .n_data = lease->n_data,
                    .bounds = lease->bounds,
                    .n_bounds = lease->n_bounds,
                    .run = lease->run_hash,
                    .round = lease->round - lease->lag,
                    .down_codec = lease->down_codec,
                    .down_exact_from = lease->down_exact_from,
                    .plan = lease->plan,
                    .seal = lease->seal,
                    .tokens = ready_source(lease->tokens, lease->wide_tokens),
                    .training = true};
}

/* The pseudo-gradient goes up while the inner state is written down: neither waits for the other. What was written counts
 * when the update has arrived. */
static int send_off(trainer_t *self, const Msg__Lease *lease, uint64_t steps, const source_t *state,
                    err_t *err)
{
    upload_t upload;
    states_made_t made;
    err_t fault = {0};
    upload_begin(&upload, self, lease, steps);
    int wrote = states_write(&self->states, lease, state, &made, &fault);
    int sent = upload_end(&upload, err);
    if (sent == 0 && wrote < 0) err_set(err, fault.code, "%s", fault.text);
    if (sent < 0 || wrote < 0) {
        states_drop(&made);
        return -1;
    }
    double begin = clock_mono_s();
    int kept = states_keep(&self->states, lease, state, self->client, &made, self->state, err);
    self->send_s = upload.seconds + clock_mono_s() - begin;
    return kept;
}

/* The pseudo-gradient up, the inner state to where the lease wishes. */
static int hand_in(trainer_t *self, const Msg__Lease *lease, uint64_t steps, err_t *err)
{
    size_t n_param = (size_t)engine_params(self->engine);
    float *error = NULL;
    source_t state;
    if (need_delta(self, err) < 0) return -1;
    if (!lease->audit && ready_outdated(self))
        return err_set(err, ERR_STATE, "round %u closed without it", lease->round);
    if (self->codec->feedback > 0 &&
        !(error = delta_error(self->codec, lease, self->start, n_param, err)))
        return -1;
    const work_t work = work_of(lease);
    if (lease->ahead && !lease->audit) ready_ahead(self, &work, lease->round + 1);
    bool degraded = self->states.degraded;
    int rc = engine_state(self->engine, error, &state, err);
    if (rc == 0 && lease->audit)
        rc = audit(self, lease, &state, err);
    else if (rc == 0)
        rc = send_off(self, lease, steps, &state, err);
    free(error);
    if (degraded != self->states.degraded && self->hooks.degraded)
        self->hooks.degraded(self->hooks.user, self->states.fault, degraded);
    /* What a codec left out is not in the engine. */
    if (rc == 0 && self->codec->feedback == 0) memcpy(self->in_engine, self->state, HASH_HEX);
    return rc;
}

/* Since the lease before: its own, and what was asked for in between. */
static void tell_traffic(trainer_t *self, Msg__LeaseDone *done)
{
    uint64_t sent, received;
    data_client_traffic(self->client, &sent, &received);
    done->sent_bytes = sent - self->told.sent;
    done->received_bytes = received - self->told.received + self->told.ahead;
    done->ahead_bytes = self->result.ahead_bytes;
    self->told.ahead = 0;
    self->told.sent = sent;
    self->told.received = received;
}

static void remember(trainer_t *self, const Msg__Lease *lease, const progress_t *progress,
                     bool fresh)
{
    data_sent_clear(&self->sent);
    self->result = (trainer_result_t){.here = true,
                                      .audit = lease->audit,
                                      .fresh = fresh,
                                      .run = lease->run_hash,
                                      .epoch = lease->epoch,
                                      .first = lease->start,
                                      .count = lease->count,
                                      .round = lease->round - lease->lag,
                                      .replica = lease->replica,
                                      .inner_steps = lease->inner_steps,
                                      .steps = progress->steps,
                                      .tokens = progress->tokens,
                                      .mean_loss = progress->sum / (double)progress->steps,
                                      .last_loss = progress->last,
                                      .compute_s = clock_mono_s() - progress->begin,
                                      .fetch_s = self->fetch_s,
                                      .ahead_bytes = self->ahead_bytes};
    snprintf(self->result.state, HASH_HEX, "%s", lease->state);
}

/* It has been trained, and nothing else since. */
static bool is_here(const trainer_t *self, const Msg__Lease *lease)
{
    const trainer_result_t *r = &self->result;
    return r->here && r->run == lease->run_hash && r->epoch == lease->epoch &&
           r->first == lease->start && r->count == lease->count &&
           r->round == lease->round - lease->lag && r->replica == lease->replica &&
           r->inner_steps == lease->inner_steps && strcmp(r->state, lease->state) == 0 &&
           strcmp(self->plan, lease->plan) == 0;
}

static int deliver(trainer_t *self, const Msg__Lease *lease, Msg__LeaseDone *done, err_t *err)
{
    const trainer_result_t *result = &self->result;
    double trained = clock_mono_s();
    self->send_s = 0;
    if (hand_in(self, lease, result->steps, err) < 0) return -1;
    log_event(LOG_DEBUG, "handed_in", "replica=%u hand_in_s=%.3f", lease->replica,
              clock_mono_s() - trained);
    done->round = lease->round;
    done->replica = lease->replica;
    done->fence = lease->fence;
    done->steps = (uint32_t)result->steps;
    done->done_count = result->steps * (lease->count / lease->inner_steps);
    done->mean_loss = result->mean_loss;
    done->last_loss = result->last_loss;
    done->tokens = result->tokens;
    done->compute_s = result->compute_s;
    done->download_s = result->fetch_s;
    done->upload_s = self->send_s;
    done->transfer_s = done->download_s + done->upload_s;
    done->fresh_state = result->fresh;
    done->state = self->state;
    done->audit = lease->audit;
    if (lease->audit) done->digest = self->digest;
    tell_traffic(self, done);
    /* Told: whoever asks for the result once more has fetched nothing since. */
    self->result.fetch_s = 0;
    self->result.ahead_bytes = 0;
    return 0;
}

/* What the replica's next lease is likely to read, if the shepherd told. */
static void fetch_next(trainer_t *self, const Msg__Lease *lease, const feed_t *feed)
{
    feed_t next;
    err_t err = {0};
    const work_t work = work_of(lease);
    const data_range_t range = {lease->next_epoch, lease->next_start, lease->next_count};
    if (!self->fetch_ahead || lease->next_count == 0) return;
    if (feed_init(&next, feed->layout, &feed->order, &range, feed->vocab, feed->n_micro, &err) < 0)
        return;
    ready_windows(self, &work, &next);
    feed_fini(&next);
}

static int run_lease(trainer_t *self, const Msg__Lease *lease, feed_t *feed, Msg__LeaseDone *done,
                     err_t *err)
{
    progress_t progress = {0};
    bool fresh = false;
    double asked = clock_mono_s();
    self->told.ahead += tokens_end_ahead(self->train, ready_stopped, self);
    if (tokens_fetch_feed(self->train, feed, self->client, err) < 0) return -1;
    self->fetch_s += clock_mono_s() - asked;
    if (begin(self, lease, &fresh, err) < 0) return -1;
    fetch_next(self, lease, feed);
    if (train(self, lease, feed, &progress, err) < 0) return -1;
    remember(self, lease, &progress, fresh);
    return deliver(self, lease, done, err);
}

int trainer_lease(trainer_t *self, const Msg__Lease *lease, Msg__LeaseDone *done, err_t *err)
{
    *self->states.lost = '\0';
    self->ahead_bytes = 0;
    self->plan_refused = false;
    self->fetch_s = 0;
    const work_t work = work_of(lease);
    if (lease->inner_steps == 0 || !lease->schedule)
        return err_set(err, ERR_NET, "a lease without steps or schedule");
    if (lease->lag > lease->round)
        return err_set(err, ERR_NET, "round %u, %u late", lease->round, lease->lag);
    self->codec = codec_find_id(lease->codec, err);
    if (!self->codec) return -1;
    if ((lease->lag || self->result.audit) && is_here(self, lease))
        return ready_to_hand_in(self, &work, err) < 0 ? -1 : deliver(self, lease, done, err);
    if (schedule_check(lease->schedule, err) < 0 || ready(self, &work, err) < 0) return -1;
    batch_layout_t layout;
    if (ready_layout(self, work.tokens, &layout, err) < 0) return -1;
    data_order_t order = ready_order(work.tokens, &layout);
    data_range_t range = {lease->epoch, lease->start, lease->count};
    int n_micro = engine_accumulate(self->engine);
    feed_t feed;
    if (feed_init(&feed, &layout, &order, &range, work.tokens->vocab, n_micro, err) < 0) return -1;
    int rc = 0;
    if (lease->count != lease->inner_steps * layout.units * (uint64_t)n_micro)
        rc = err_set(err, ERR_NET, "a lease of %llu units for %u steps",
                     (unsigned long long)lease->count, lease->inner_steps);
    if (rc == 0) rc = run_lease(self, lease, &feed, done, err);
    feed_fini(&feed);
    return rc;
}
