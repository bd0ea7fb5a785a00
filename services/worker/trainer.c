/* A lease: plan, parameters, data, H steps, pseudo-gradient up. */
#include "worker/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/exit.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "msg/limits.h"
#include "msg/vouch.h"
#include "worker/delta.h"
#include "worker/schedule.h"

/* What leases and evaluations have in common. */
typedef struct {
    char *const *data;
    size_t n_data;
    const uint64_t *bounds;
    size_t n_bounds;
    uint64_t run;
    uint32_t round, down_codec;
    const char *plan, *seal;
    const Msg__TokenSource *tokens;
    bool training;
} work_t;

int trainer_init(trainer_t *self, const char *cache_dir, const char *state_dir, int threads,
                 err_t *err)
{
    *self = (trainer_t){.cache_dir = cache_dir, .device = {.threads = threads}};
    if (file_make_dirs(cache_dir, err) < 0) return -1;
    file_sweep_temporaries(cache_dir); /* of workers that were killed */
    return states_init(&self->states, state_dir, err);
}

static void drop_client(trainer_t *self)
{
    data_client_destroy(&self->client);
    self->told.sent = self->told.received = 0;
    for (size_t i = 0; i < self->n_endpoint; i++) free(self->endpoints[i]);
    free(self->endpoints);
    self->endpoints = NULL;
    self->n_endpoint = 0;
}

static void drop_engine(trainer_t *self)
{
    engine_destroy(&self->engine);
    free(self->start);
    free(self->error);
    params_forget(&self->params);
    self->start = self->error = NULL;
    self->result.here = self->start_here = false;
    *self->in_engine = '\0';
    *self->plan = '\0';
}

void trainer_forget(trainer_t *self)
{
    drop_client(self);
    drop_engine(self);
    states_forget(&self->states);
    tokens_destroy(&self->train);
    tokens_destroy(&self->validation);
}

void trainer_fini(trainer_t *self)
{
    trainer_forget(self);
}

bool trainer_is_fatal(err_code_t code)
{
    return code == ERR_ARG || code == ERR_SHAPE || code == ERR_TYPE || code == ERR_NUMERIC;
}

static bool stopped(void *user)
{
    const trainer_t *self = user;
    return self->hooks.stopped && self->hooks.stopped(self->hooks.user);
}

/* --- Getting ready; each is at hand already in most leases. --- */

static int need_client(trainer_t *self, const work_t *work, err_t *err)
{
    bool same = self->client && self->run == work->run && self->n_endpoint == work->n_data;
    for (size_t i = 0; same && i < work->n_data; i++)
        same = strcmp(self->endpoints[i], work->data[i]) == 0;
    if (same) return 0;
    drop_client(self);
    data_options_t options = {.endpoints = work->data,
                              .n_endpoint = work->n_data,
                              .run = work->run,
                              .stopped = stopped,
                              .user = self};
    self->client = data_client_new(&options, err);
    if (!self->client) return -1;
    self->start_here = false;
    if (self->run != work->run) { /* they belong to another run */
        states_forget(&self->states);
        params_forget(&self->params);
    }
    self->run = work->run;
    self->n_endpoint = work->n_data;
    self->endpoints = mem_calloc(work->n_data, sizeof *self->endpoints);
    for (size_t i = 0; i < work->n_data; i++) self->endpoints[i] = mem_strdup(work->data[i]);
    return 0;
}

/* The plan's bytes from the cache directory or the object service; verified either way. */
static uint8_t *fetch_plan(trainer_t *self, const char *hash, size_t *n, err_t *err)
{
    char *path = mem_printf("%s/%s.plan", self->cache_dir, hash);
    char *bytes = file_exists(path) ? file_read(path, n, NULL) : NULL;
    char found[HASH_HEX] = "";
    if (bytes) hash_content(bytes, *n, found);
    if (bytes && strcmp(found, hash) != 0) {
        log_event(LOG_WARN, "cache_damaged", "path=%s", path);
        free(bytes);
        bytes = NULL;
    }
    if (!bytes) {
        err_t write_err = {0};
        bytes = data_get_object(self->client, hash, TRAINER_PLAN_BYTES, n, err);
        if (bytes && file_write_atomic(path, bytes, *n, &write_err) < 0)
            log_event(LOG_WARN, "cache_not_written", "error=\"%s\"", write_err.text);
    }
    free(path);
    return (uint8_t *)bytes;
}

/* Before a byte of it is looked at; and each time, for a key may have been revoked since. */
static int judge_plan(trainer_t *self, const work_t *work, err_t *err)
{
    int rc = vouch_check_plan(work->seal, &(vouch_plan_t){.plan = work->plan}, err);
    self->plan_refused = rc < 0;
    if (rc < 0) drop_engine(self);
    return rc;
}

static int need_engine(trainer_t *self, const work_t *work, err_t *err)
{
    if (judge_plan(self, work, err) < 0) return -1;
    if (self->engine && strcmp(self->plan, work->plan) == 0) return 0;
    if (strlen(work->plan) != HASH_HEX - 1 ||
        strspn(work->plan, "0123456789abcdef") != HASH_HEX - 1)
        return err_set(err, ERR_NET, "plan \"%.64s\" is no content hash", work->plan);
    drop_engine(self);
    size_t n = 0;
    uint8_t *bytes = fetch_plan(self, work->plan, &n, err);
    if (!bytes) return -1;
    self->engine = engine_new(bytes, n, &self->device, err);
    if (!self->engine) {
        if (err->code == ERR_MEMORY) self->leave = EXIT_DEVICE_MEMORY;
        return -1;
    }
    memcpy(self->plan, work->plan, HASH_HEX);
    self->start = mem_calloc(engine_params(self->engine) + 1, sizeof *self->start);
    return 0;
}

static int check_bounds(const trainer_t *self, const work_t *work, err_t *err)
{
    bool good = work->n_bounds == work->n_data + 1 && work->bounds[0] == 0 &&
                work->bounds[work->n_data] == engine_params(self->engine);
    for (size_t s = 0; good && s < work->n_data; s++) good = work->bounds[s] <= work->bounds[s + 1];
    if (good) return 0;
    return err_set(err, ERR_SHAPE, "the shards' ranges do not cover the plan's %llu parameters",
                   (unsigned long long)engine_params(self->engine));
}

static int need_tokens(trainer_t *self, const work_t *work, err_t *err)
{
    tokens_t **at = work->training ? &self->train : &self->validation;
    if (*at && strcmp(tokens_hash(*at), work->tokens->object) == 0) return 0;
    tokens_destroy(at);
    *at = tokens_new(self->cache_dir, work->tokens->object, work->tokens->n_tokens, err);
    return *at ? 0 : -1;
}

static int prepare(trainer_t *self, const work_t *work, err_t *err)
{
    if (work->n_data == 0 || work->n_data > MSG_MAX_SHARDS || !work->tokens || work->n_bounds == 0)
        return err_set(err, ERR_NET, "work without aggregators or tokens");
    if (need_client(self, work, err) < 0 || need_engine(self, work, err) < 0) return -1;
    if (check_bounds(self, work, err) < 0 || need_tokens(self, work, err) < 0) return -1;
    self->result.here = false;
    bool here = !work->training && self->start_here && self->start_round == work->round;
    if (here) return 0;
    self->start_here = false;
    double asked = clock_mono_s();
    const params_which_t which = {.bounds = work->bounds,
                                  .round = work->round,
                                  .down_codec = work->down_codec,
                                  .n = (size_t)engine_params(self->engine)};
    if (params_fetch(&self->params, self->client, &which, self->start, err) < 0) return -1;
    self->fetch_s += clock_mono_s() - asked;
    self->start_here = !work->training;
    self->start_round = work->round;
    return 0;
}

static data_kind_t kind_of(const Msg__TokenSource *tokens)
{
    return batch_kind(tokens->layout);
}

static data_order_t order_of(const Msg__TokenSource *tokens, const batch_layout_t *layout)
{
    return (data_order_t){.seed = tokens->seed,
                          .sequential = !tokens->shuffle,
                          .block = tokens->block,
                          .n_units = batch_units(layout, tokens->n_tokens)};
}

/* --- A lease --- */

typedef struct {
    uint64_t steps; /* done */
    double sum, last;
    uint64_t tokens;
    double begin;    /* on the monotonic clock, s */
    int64_t told_ms; /* when the hook last heard of a step */
} progress_t;

static void tell_step(const trainer_t *self, const Msg__Lease *lease, progress_t *progress)
{
    if (!self->hooks.stepped) return;
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
    uint64_t draws = rng_bits(rng_derive(lease->tokens->seed, "draws"), lease->replica);
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
        if (stopped(self)) return err_set(err, ERR_STATE, "stopped");
        if (draining(self)) break;
        if (train_step(self, lease, feed, progress, err) < 0) return -1;
        if (clock_mono_ms() - progress->told_ms >= NEWS_MS) tell_step(self, lease, progress);
    }
    if (progress->steps == 0) return err_set(err, ERR_STATE, "drained before the first step");
    tell_step(self, lease, progress); /* the last one in any case: short leases report too */
    return 0;
}

static int upload(trainer_t *self, const Msg__Lease *lease, uint64_t steps, err_t *err)
{
    data_delta_t which = {.round = lease->round,
                          .replica = lease->replica,
                          .fence = lease->fence,
                          .weight = steps < lease->inner_steps ? steps : lease->weight,
                          .codec = self->codec->id};
    return data_put_delta(self->client, lease->bounds, &which, self->start, err);
}

static int begin(trainer_t *self, const Msg__Lease *lease, bool *fresh, err_t *err)
{
    const state_t *state = NULL;
    bool there = *lease->state && strcmp(lease->state, self->in_engine) == 0;
    *self->in_engine = '\0';
    *fresh = false;
    if (there) return engine_load(self->engine, self->start, err);
    if (states_find(&self->states, lease, self->client, engine_state_limit(self->engine), &state,
                    fresh, err) < 0)
        return -1;
    if (*fresh && self->hooks.degraded)
        self->hooks.degraded(self->hooks.user, self->states.fault, false);
    if (self->codec->feedback > 0 && !self->error)
        self->error = mem_calloc((size_t)engine_params(self->engine) + 1, sizeof *self->error);
    int rc = engine_begin(self->engine, self->start, state ? state->bytes : NULL,
                          state ? state->n : 0, self->codec->feedback > 0 ? self->error : NULL,
                          err);
    states_done(&self->states);
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

/* The pseudo-gradient up, then the inner state to where the lease wishes. */
static int hand_in(trainer_t *self, const Msg__Lease *lease, uint64_t steps, err_t *err)
{
    size_t n = 0, n_param = (size_t)engine_params(self->engine);
    float *error = NULL;
    if (need_delta(self, err) < 0) return -1;
    if (self->codec->feedback > 0 &&
        !(error = delta_error(self->codec, lease, self->start, n_param, err)))
        return -1;
    uint8_t *state = engine_state(self->engine, error, &n, err);
    free(error);
    if (!state) return -1;
    if (upload(self, lease, steps, err) < 0) {
        free(state);
        return -1;
    }
    bool degraded = self->states.degraded;
    int rc = states_keep(&self->states, lease, state, n, self->client, self->state, err);
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
    done->received_bytes = received - self->told.received;
    self->told.sent = sent;
    self->told.received = received;
}

static void remember(trainer_t *self, const Msg__Lease *lease, const progress_t *progress,
                     bool fresh)
{
    self->result = (trainer_result_t){.here = true,
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
                                      .compute_s = clock_mono_s() - progress->begin};
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
    if (hand_in(self, lease, result->steps, err) < 0) return -1;
    done->round = lease->round;
    done->replica = lease->replica;
    done->fence = lease->fence;
    done->steps = (uint32_t)result->steps;
    done->done_count = result->steps * (lease->count / lease->inner_steps);
    done->mean_loss = result->mean_loss;
    done->last_loss = result->last_loss;
    done->tokens = result->tokens;
    done->compute_s = result->compute_s;
    done->download_s = self->fetch_s;
    done->upload_s = clock_mono_s() - trained;
    done->transfer_s = done->download_s + done->upload_s;
    done->fresh_state = result->fresh;
    done->state = self->state;
    tell_traffic(self, done);
    return 0;
}

static int run_lease(trainer_t *self, const Msg__Lease *lease, feed_t *feed, Msg__LeaseDone *done,
                     err_t *err)
{
    progress_t progress = {0};
    bool fresh = false;
    double asked = clock_mono_s();
    if (tokens_fetch_feed(self->train, feed, self->client, err) < 0 ||
        begin(self, lease, &fresh, err) < 0)
        return -1;
    self->fetch_s += clock_mono_s() - asked;
    if (train(self, lease, feed, &progress, err) < 0) return -1;
    remember(self, lease, &progress, fresh);
    return deliver(self, lease, done, err);
}

int trainer_lease(trainer_t *self, const Msg__Lease *lease, Msg__LeaseDone *done, err_t *err)
{
    *self->states.lost = '\0';
    self->plan_refused = false;
    self->fetch_s = 0;
    work_t work = {.data = lease->data,
                   .n_data = lease->n_data,
                   .bounds = lease->bounds,
                   .n_bounds = lease->n_bounds,
                   .run = lease->run_hash,
                   .round = lease->round - lease->lag,
                   .down_codec = lease->down_codec,
                   .plan = lease->plan,
                   .seal = lease->seal,
                   .tokens = lease->tokens,
                   .training = true};
    if (lease->inner_steps == 0 || !lease->schedule)
        return err_set(err, ERR_NET, "a lease without steps or schedule");
    if (lease->lag > 1 || lease->lag > lease->round)
        return err_set(err, ERR_NET, "round %u, %u late", lease->round, lease->lag);
    self->codec = codec_find_id(lease->codec, err);
    if (!self->codec) return -1;
    if (lease->lag && is_here(self, lease))
        return need_client(self, &work, err) < 0 || check_bounds(self, &work, err) < 0
                   ? -1
                   : deliver(self, lease, done, err);
    if (schedule_check(lease->schedule, err) < 0 || prepare(self, &work, err) < 0) return -1;
    batch_layout_t layout;
    if (engine_layout(self->engine, kind_of(lease->tokens), &layout, err) < 0) return -1;
    data_order_t order = order_of(lease->tokens, &layout);
    data_range_t range = {lease->epoch, lease->start, lease->count};
    int n_micro = engine_accumulate(self->engine);
    feed_t feed;
    if (feed_init(&feed, &layout, &order, &range, lease->tokens->vocab, n_micro, err) < 0)
        return -1;
    int rc = 0;
    if (lease->count != lease->inner_steps * layout.units * (uint64_t)n_micro)
        rc = err_set(err, ERR_NET, "a lease of %llu units for %u steps",
                     (unsigned long long)lease->count, lease->inner_steps);
    if (rc == 0) rc = run_lease(self, lease, &feed, done, err);
    feed_fini(&feed);
    return rc;
}

/* --- An evaluation: batches in order, each counted once. --- */

static int run_eval(trainer_t *self, const Msg__Eval *eval, feed_t *feed, Msg__EvalDone *done,
                    err_t *err)
{
    double sum = 0;
    uint64_t draws = rng_bits(rng_derive(eval->tokens->seed, "validation"), eval->part);
    if (tokens_fetch_feed(self->validation, feed, self->client, err) < 0 ||
        engine_load(self->engine, self->start, err) < 0)
        return -1;
    for (uint64_t i = 0; i < eval->n_batch; i++) {
        float loss = 0;
        if (stopped(self)) return err_set(err, ERR_STATE, "stopped");
        engine_seed(self->engine, rng_bits(draws, i)); /* the same in every round */
        if (feed_step(feed, tokens_at(self->validation), i, err) < 0 ||
            engine_loss(self->engine, (const void *const *)feed->args, &loss, err) < 0)
            return -1;
        sum += loss;
    }
    done->round = eval->round;
    done->part = eval->part;
    done->fence = eval->fence;
    done->loss = sum / (double)eval->n_batch;
    done->tokens = eval->n_batch * feed->layout->tokens;
    return 0;
}

int trainer_eval(trainer_t *self, const Msg__Eval *eval, Msg__EvalDone *done, err_t *err)
{
    work_t work = {.data = eval->data,
                   .n_data = eval->n_data,
                   .bounds = eval->bounds,
                   .n_bounds = eval->n_bounds,
                   .run = eval->run_hash,
                   .round = eval->round,
                   .down_codec = eval->down_codec,
                   .plan = eval->plan,
                   .seal = eval->seal,
                   .tokens = eval->tokens};
    self->plan_refused = false;
    if (eval->n_batch == 0) return err_set(err, ERR_NET, "an evaluation without batches");
    if (prepare(self, &work, err) < 0) return -1;
    batch_layout_t layout;
    if (engine_layout(self->engine, kind_of(eval->tokens), &layout, err) < 0) return -1;
    data_order_t order = order_of(eval->tokens, &layout);
    uint64_t n_batch = order.n_units / layout.units;
    if (eval->first_batch > n_batch || eval->n_batch > n_batch - eval->first_batch)
        return err_set(err, ERR_NET, "batches %llu + %llu of %llu",
                       (unsigned long long)eval->first_batch, (unsigned long long)eval->n_batch,
                       (unsigned long long)n_batch);
    data_range_t range = {0, eval->first_batch * layout.units, eval->n_batch * layout.units};
    feed_t feed;
    if (feed_init(&feed, &layout, &order, &range, eval->tokens->vocab, 1, err) < 0) return -1;
    int rc = run_eval(self, eval, &feed, done, err);
    feed_fini(&feed);
    return rc;
}
