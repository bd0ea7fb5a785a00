/* Getting ready for a lease or an evaluation, and what is kept from one to the next. */
#include "worker/ready.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/exit.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/limits.h"
#include "msg/vouch.h"
#include "outer/change.h"

int trainer_init(trainer_t *self, const char *cache_dir, const char *state_dir, int threads,
                 err_t *err)
{
    *self = (trainer_t){.cache_dir = cache_dir,
                        .device = {.threads = threads},
                        .ahead = ahead_new(),
                        .windows_ahead = ahead_new()};
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

void ready_drop_engine(trainer_t *self)
{
    engine_destroy(&self->engine);
    data_sent_clear(&self->sent);
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
    ahead_forget(self->ahead);
    drop_client(self);
    ready_drop_engine(self);
    states_forget(&self->states);
    tokens_destroy(&self->train);
    tokens_destroy(&self->validation);
}

void trainer_fini(trainer_t *self)
{
    trainer_forget(self);
    ahead_destroy(&self->ahead);
    ahead_destroy(&self->windows_ahead);
}

bool ready_stopped(void *user)
{
    const trainer_t *self = user;
    if (self->hooks.stopped && self->hooks.stopped(self->hooks.user)) return true;
    return self->sends && ready_outdated(self);
}

bool ready_outdated(const trainer_t *self)
{
    return self->hooks.outdated && self->hooks.outdated(self->hooks.user);
}

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
                              .pack_below = MSG_PACK_BYTES,
                              .stopped = ready_stopped,
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
    if (rc < 0) ready_drop_engine(self);
    return rc;
}

static int need_engine(trainer_t *self, const work_t *work, err_t *err)
{
    if (judge_plan(self, work, err) < 0) return -1;
    if (self->engine && strcmp(self->plan, work->plan) == 0) return 0;
    if (!hash_is_name(work->plan))
        return err_set(err, ERR_NET, "plan \"%.64s\" is no content hash", work->plan);
    ready_drop_engine(self);
    size_t n = 0;
    uint8_t *bytes = fetch_plan(self, work->plan, &n, err);
    if (!bytes) return -1;
    self->device.stopped = ready_stopped;
    self->device.user = self;
    self->engine = engine_new(bytes, n, &self->device, err);
    if (!self->engine) {
        if (err->code == ERR_MEMORY) self->leave = EXIT_DEVICE_MEMORY;
        return -1;
    }
    memcpy(self->plan, work->plan, HASH_HEX);
    self->start = mem_large((engine_params(self->engine) + 1) * sizeof *self->start);
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

static int token_bytes(const Msg__TokenSource *tokens)
{
    return tokens->token_bytes ? (int)tokens->token_bytes : 2;
}

static int need_tokens(trainer_t *self, const work_t *work, err_t *err)
{
    tokens_t **at = work->training ? &self->train : &self->validation;
    int bytes = token_bytes(work->tokens);
    if (*at && strcmp(tokens_hash(*at), work->tokens->object) == 0 && tokens_bytes(*at) == bytes)
        return 0;
    tokens_destroy(at);
    const tokens_which_t which = {work->tokens->object, work->tokens->n_tokens, bytes,
                                  self->cache_limit};
    *at = tokens_new(self->cache_dir, &which, err);
    return *at ? 0 : -1;
}

static ahead_which_t ahead_of(const work_t *work, uint32_t round)
{
    return (ahead_which_t){.endpoints = work->data,
                           .n_endpoint = work->n_data,
                           .bounds = work->bounds,
                           .run = work->run,
                           .round = round,
                           .down_codec = work->down_codec,
                           .down_exact_from = work->down_exact_from};
}

static void used_ahead(trainer_t *self, const data_ahead_t *ahead)
{
    self->told.ahead += ahead->received;
    ahead_used(self->ahead);
}

/* A change that has come whole is added at once, so that the next one can come. False: it is still on its way, or there is
 * nothing that changes could be added to. */
static bool next_change(trainer_t *self, ahead_which_t *which)
{
    bool busy = false;
    err_t err = {0};
    which->round--;
    data_ahead_t *came = ahead_look(self->ahead, which, &busy);
    if (busy) return false;
    if (came && data_ahead_whole(came) && params_follow(&self->params, came)) {
        if (params_advance(&self->params, self->client, came, &err) < 0) {
            log_event(LOG_INFO, "not_ahead", "round=%u reason=\"%s\"", came->round, err.text);
            return false;
        }
        used_ahead(self, came);
    }
    uint32_t here = params_round(&self->params);
    which->round = here + 1;
    return here != PARAMS_NONE;
}

void ready_ahead(trainer_t *self, const work_t *work, uint32_t round)
{
    ahead_which_t which = ahead_of(work, round);
    if (!self->fetch_ahead) return;
    if (change_codec(work->down_codec, NULL) && !next_change(self, &which)) return;
    ahead_begin(self->ahead, &which);
}

void ready_windows(trainer_t *self, const work_t *work, const feed_t *feed)
{
    const ahead_which_t from = ahead_of(work, 0);
    tokens_fetch_ahead(self->train, feed, self->windows_ahead, &from);
}

static int need_params(trainer_t *self, const work_t *work, err_t *err)
{
    double asked = clock_mono_s();
    const ahead_which_t here = ahead_of(work, work->round);
    data_ahead_t *ahead = ahead_take(self->ahead, &here, ready_stopped, self);
    const params_which_t which = {.bounds = work->bounds,
                                  .n_shard = work->n_data,
                                  .n = (size_t)engine_params(self->engine),
                                  .round = work->round,
                                  .down_codec = work->down_codec,
                                  .down_exact_from = work->down_exact_from,
                                  .ahead = ahead,
                                  .stopped = ready_stopped,
                                  .user = self};
    int rc = params_fetch(&self->params, self->client, &which, self->start, err);
    self->ahead_bytes = self->params.used;
    self->params.used = 0;
    if (ahead && (rc == 0 || !params_follow(&self->params, ahead))) used_ahead(self, ahead);
    self->fetch_s += clock_mono_s() - asked;
    return rc;
}

int ready(trainer_t *self, const work_t *work, err_t *err)
{
    if (work->n_data == 0 || work->n_data > MSG_MAX_SHARDS || !work->tokens || work->n_bounds == 0)
        return err_set(err, ERR_NET, "work without aggregators or tokens");
    if (need_client(self, work, err) < 0 || need_engine(self, work, err) < 0) return -1;
    if (check_bounds(self, work, err) < 0 || need_tokens(self, work, err) < 0) return -1;
    self->result.here = false;
    bool here = !work->training && self->start_here && self->start_round == work->round;
    if (here) return 0;
    self->start_here = false;
    if (need_params(self, work, err) < 0) return -1;
    self->start_here = !work->training;
    self->start_round = work->round;
    return 0;
}

int ready_to_hand_in(trainer_t *self, const work_t *work, err_t *err)
{
    return need_client(self, work, err) < 0 || check_bounds(self, work, err) < 0 ? -1 : 0;
}

const Msg__TokenSource *ready_source(const Msg__TokenSource *tokens, const Msg__TokenSource *wide)
{
    return tokens ? tokens : wide;
}

int ready_layout(const trainer_t *self, const Msg__TokenSource *tokens, batch_layout_t *out,
                 err_t *err)
{
    data_kind_t kind = batch_kind(tokens->layout);
    if (engine_layout(self->engine, kind, out, err) < 0) return -1;
    if (kind == DATA_ROWS && token_bytes(tokens) != 2)
        return err_set(err, ERR_ARG, "records in units of %u bytes", tokens->token_bytes);
    out->token_bytes = token_bytes(tokens);
    return 0;
}

data_order_t ready_order(const Msg__TokenSource *tokens, const batch_layout_t *layout)
{
    return (data_order_t){.seed = tokens->seed,
                          .sequential = !tokens->shuffle,
                          .block = tokens->block,
                          .n_units = batch_units(layout, tokens->n_tokens)};
}
