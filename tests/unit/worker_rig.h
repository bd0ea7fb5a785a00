/* A trainer against a data server, with a plan, tokens and parameters of its own. For tests of leases. */
#ifndef WORKER_RIG_H
#define WORKER_RIG_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/safetensors.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "data_server.h"
#include "msg/service.h"
#include "outer/codec.h"
#include "temp.h"
#include "worker/answers.h"
#include "worker/trainer.h"
#include "worker_model.h"

/* Not every test program uses everything. */
#pragma GCC diagnostic ignored "-Wunused-function"

enum { N_PARAM = 3, N_TOKEN = 400, STEPS = 5, UNITS = 2 /* a step's */ };
static const float THETA[N_PARAM] = {0.5f, -1, 2};

/* A plan and tokens in the cache directory, an aggregator, and the lease about them. */
typedef struct {
    char *dir, endpoint[128], plan[HASH_HEX], tokens[HASH_HEX];
    char *endpoints[1];
    uint64_t bounds[2];
    data_server_t *server;
    Msg__Schedule schedule;
    Msg__TokenSource source;
    Msg__Lease lease;
} rig_t;

static void put_plan(rig_t *rig)
{
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    size_t n = 0;
    err_t err = {0};
    uint8_t *plan = compile_text(MODEL, strlen(MODEL), "m", &spec, target_host(), &n, &err);
    if (!plan) fail_msg("%s", err.text);
    hash_content(plan, n, rig->plan);
    char *path = mem_printf("%s/%s.plan", rig->dir, rig->plan);
    temp_write(path, plan, n);
    free(path);
    free(plan);
}

static void put_tokens(rig_t *rig)
{
    uint16_t tokens[N_TOKEN];
    for (uint16_t i = 0; i < N_TOKEN; i++) tokens[i] = i * 7 % 5;
    hash_content(tokens, sizeof tokens, rig->tokens);
    char *path = mem_printf("%s/%s.u16", rig->dir, rig->tokens);
    temp_write(path, tokens, sizeof tokens);
    free(path);
}

static rig_t *rig_new(void)
{
    rig_t *rig = mem_calloc(1, sizeof *rig);
    rig->dir = temp_dir();
    snprintf(rig->endpoint, sizeof rig->endpoint, "ipc://%s/data", rig->dir);
    rig->server = data_server_new(rig->endpoint, THETA, N_PARAM);
    put_plan(rig);
    put_tokens(rig);
    msg__schedule__init(&rig->schedule);
    rig->schedule.kind = "constant";
    rig->schedule.lr = 0.01;
    msg__token_source__init(&rig->source);
    rig->source.object = rig->tokens;
    rig->source.n_tokens = N_TOKEN;
    rig->source.layout = "windows";
    rig->source.shuffle = true;
    rig->endpoints[0] = rig->endpoint;
    rig->bounds[1] = N_PARAM;
    Msg__Lease *lease = &rig->lease;
    msg__lease__init(lease);
    lease->inner_steps = lease->weight = STEPS;
    lease->count = STEPS * UNITS;
    lease->schedule = &rig->schedule;
    lease->plan = rig->plan;
    lease->data = rig->endpoints;
    lease->n_data = 1;
    lease->bounds = rig->bounds;
    lease->n_bounds = 2;
    lease->tokens = &rig->source;
    lease->codec = codec_find("f32", NULL)->id;
    lease->run_hash = 7;
    lease->fence = 1;
    return rig;
}

static void rig_free(rig_t *rig)
{
    data_server_destroy(&rig->server);
    temp_remove(&rig->dir);
    free(rig);
}

/* A worker's trainer; its inner states lie in DIR/NAME. */
static trainer_t *trainer_make(rig_t *rig, const char *states)
{
    trainer_t *trainer = mem_calloc(1, sizeof *trainer);
    char *dir = mem_strdup(temp_path(rig->dir, states));
    assert_int_equal(trainer_init(trainer, rig->dir, dir, 1, NULL), 0);
    return trainer;
}

static void trainer_free(trainer_t *trainer)
{
    char *dir = (char *)trainer->states.dir;
    trainer_fini(trainer);
    free(dir);
    free(trainer);
}

/* What a lease came to. */
typedef struct {
    float delta[N_PARAM];
    char state[HASH_HEX];
    uint64_t weight;
    uint32_t steps;
    uint64_t done_count;
    bool fresh;
} outcome_t;

static outcome_t train(rig_t *rig, trainer_t *trainer, uint32_t round, const char *state)
{
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    err_t err = {0};
    server_delta_t delta;
    outcome_t out = {0};
    Msg__Lease *lease = &rig->lease;
    lease->round = round;
    lease->start = round * lease->count;
    lease->step_base = round * STEPS;
    lease->state = (char *)state;
    int before = data_server_delta(rig->server, &delta);
    if (trainer_lease(trainer, lease, &done, &err) < 0) fail_msg("%s", err.text);
    assert_int_equal(data_server_delta(rig->server, &delta), before + 1);
    assert_int_equal(delta.round, round);
    memcpy(out.delta, delta.values, sizeof out.delta);
    snprintf(out.state, sizeof out.state, "%s", done.state);
    out.weight = delta.weight;
    out.steps = done.steps;
    out.done_count = done.done_count;
    out.fresh = done.fresh_state;
    return out;
}

static void same(const outcome_t *a, const outcome_t *b)
{
    assert_memory_equal(a->delta, b->delta, sizeof a->delta);
    assert_string_equal(a->state, b->state);
    assert_int_equal(a->steps, b->steps);
    assert_int_equal(a->weight, b->weight);
    assert_false(b->fresh);
}

static void count_steps(void *user, uint64_t step, float loss, double tokens_per_s)
{
    (void)step, (void)loss, (void)tokens_per_s;
    ++*(int *)user;
}

/* Under the name of a round after its own: the same windows from the same parameters and state. */
static outcome_t hand_in_late_by(rig_t *rig, trainer_t *trainer, const char *state, uint32_t round,
                                 int *n_step)
{
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    err_t err = {0};
    server_delta_t delta;
    outcome_t out = {0};
    rig->lease.round = round;
    rig->lease.lag = 1;
    rig->lease.fence = 9;
    rig->lease.state = (char *)state;
    *n_step = 0;
    trainer->hooks = (trainer_hooks_t){.stepped = count_steps, .user = n_step};
    if (trainer_lease(trainer, &rig->lease, &done, &err) < 0) fail_msg("%s", err.text);
    data_server_delta(rig->server, &delta);
    assert_true(delta.round == round && delta.fence == 9);
    assert_true(done.round == round && done.fence == 9);
    memcpy(out.delta, delta.values, sizeof out.delta);
    snprintf(out.state, sizeof out.state, "%s", done.state);
    out.weight = delta.weight;
    out.steps = done.steps;
    out.done_count = done.done_count;
    trainer->hooks = (trainer_hooks_t){0};
    rig->lease.lag = 0;
    rig->lease.fence = 1;
    return out;
}

static outcome_t hand_in_late(rig_t *rig, trainer_t *trainer, const char *state, int *n_step)
{
    return hand_in_late_by(rig, trainer, state, 2, n_step);
}

#endif
