/* Changes where they are to be had, else the parameters. */
#include "worker/params.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "outer/change.h"

void params_forget(params_t *self)
{
    free(self->base);
    free(self->round);
    free(self->bounds);
    *self = (params_t){0};
}

static void set_all(params_t *self, uint32_t round)
{
    for (size_t i = 0; i < self->n_round; i++) self->round[i] = round;
}

uint32_t params_round(const params_t *self)
{
    for (size_t i = 1; i < self->n_round; i++)
        if (self->round[i] != self->round[0]) return PARAMS_NONE;
    return self->n_round ? self->round[0] : PARAMS_NONE;
}

/* --- What is at hand --- */

bool params_follow(const params_t *self, const data_ahead_t *ahead)
{
    uint32_t round = params_round(self);
    return ahead->change.codec && round != PARAMS_NONE && round + 1 == ahead->round;
}

int params_advance(params_t *self, data_client_t *client, data_ahead_t *ahead, err_t *err)
{
    uint64_t used = 0;
    int rc = data_end_ahead(client, ahead, self->base, &used, err);
    self->used += used;
    if (rc == 0) set_all(self, ahead->round);
    if (rc < 0 && (err->code == ERR_CORRUPT || err->code == ERR_SHAPE)) set_all(self, PARAMS_NONE);
    return rc;
}

/* --- Chunks --- */

typedef struct {
    params_t *self;
    data_client_t *client;
    const params_which_t *which;
    change_t change;
    uint8_t *wanted; /* by chunk */
} fetch_t;

/* Chunks of round `from`, which become those of round `to`; where they are other ones: of none. */
static int get(fetch_t *f, const change_t *change, uint32_t from, uint32_t to, err_t *err)
{
    uint32_t *round = f->self->round;
    bool any = false;
    for (size_t i = 0; i < f->self->n_round; i++) any |= (f->wanted[i] = round[i] == from);
    if (!any) return 0;
    int rc = data_get_wanted(f->client, f->which->bounds, to, change, f->wanted, f->self->base,
                             err);
    bool spoilt = rc < 0 && (err->code == ERR_CORRUPT || err->code == ERR_SHAPE);
    for (size_t i = 0; i < f->self->n_round; i++) {
        if (round[i] != from) continue;
        if (!f->wanted[i])
            round[i] = to;
        else if (spoilt)
            round[i] = PARAMS_NONE;
    }
    return rc;
}

static void forget_far(fetch_t *f, uint32_t most)
{
    uint32_t *round = f->self->round, to = f->which->round;
    for (size_t i = 0; i < f->self->n_round; i++)
        if (round[i] > to || to - round[i] > most) round[i] = PARAMS_NONE;
}

static uint32_t oldest(const fetch_t *f)
{
    uint32_t found = f->which->round;
    for (size_t i = 0; i < f->self->n_round; i++)
        if (f->self->round[i] < found) found = f->self->round[i];
    return found;
}

/* Does it end the work, whatever else may be tried? */
static bool is_final(const fetch_t *f, uint32_t round, const err_t *why)
{
    const params_which_t *which = f->which;
    return why->code == ERR_NET || (why->code == ERR_STATE && round == which->round) ||
           (which->stopped && which->stopped(which->user));
}

/* Chunks of that round get no further by changes: they are asked for as parameters. */
static void give_up_changes(fetch_t *f, uint32_t from, const err_t *why)
{
    params_t *self = f->self;
    for (size_t i = 0; i < self->n_round; i++)
        if (self->round[i] == from) self->round[i] = PARAMS_NONE;
    log_event(LOG_INFO, "parameters_whole", "round=%u reason=\"%s\"", f->which->round, why->text);
}

static int follow(fetch_t *f, err_t *err)
{
    params_t *self = f->self;
    data_ahead_t *ahead = f->which->ahead;
    err_t why = {0};
    if (ahead && ahead->round <= f->which->round && params_follow(self, ahead) &&
        params_advance(self, f->client, ahead, &why) < 0) {
        if (is_final(f, ahead->round, &why)) return *err = why, -1;
        give_up_changes(f, ahead->round - 1, &why);
    }
    why = (err_t){0};
    forget_far(f, change_rounds(f->change.codec));
    if (get(f, NULL, PARAMS_NONE, f->which->round, err) < 0) return -1;
    for (uint32_t from = oldest(f); from < f->which->round; from++) {
        if (get(f, &f->change, from, from + 1, &why) == 0) continue;
        if (is_final(f, from + 1, &why)) return *err = why, -1;
        give_up_changes(f, from, &why);
        why = (err_t){0};
    }
    return get(f, NULL, PARAMS_NONE, f->which->round, err);
}

static void need_base(params_t *self, const params_which_t *which)
{
    size_t n_bounds = (which->n_shard + 1) * sizeof *self->bounds;
    if (self->base && self->n_shard == which->n_shard &&
        memcmp(self->bounds, which->bounds, n_bounds) == 0)
        return;
    params_forget(self);
    self->base = mem_large(which->n * sizeof *self->base + 1);
    self->n_round = data_chunks(which->bounds, which->n_shard);
    self->round = mem_calloc(self->n_round + 1, sizeof *self->round);
    set_all(self, PARAMS_NONE);
    self->n_shard = which->n_shard;
    self->bounds = memcpy(mem_calloc(1, n_bounds), which->bounds, n_bounds);
}

int params_fetch(params_t *self, data_client_t *client, const params_which_t *which, float *out,
                 err_t *err)
{
    err_t why = {0};
    const codec_t *codec = change_codec(which->down_codec, &why);
    if (why.code) return err_set(err, why.code, "%s", why.text);
    if (!codec && which->ahead) return data_end_ahead(client, which->ahead, out, &self->used, err);
    if (!codec) return data_get_params(client, which->bounds, which->round, out, err);
    fetch_t fetch = {
        .self = self, .client = client, .which = which, .change = {codec, which->down_exact_from}};
    need_base(self, which);
    fetch.wanted = mem_calloc(self->n_round + 1, 1);
    int rc = follow(&fetch, err);
    free(fetch.wanted);
    if (rc == 0) memcpy(out, self->base, which->n * sizeof *out);
    return rc;
}
