/* Whole leases against a small aggregator: the same lease gives the same pseudo-gradient and the
 * same inner state wherever it is trained and however the state came there; drained leases; answers
 * that wait to be acknowledged. */
#include <glob.h>
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

static void a_repeated_lease_gives_the_same(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    rig->lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    trainer_t *first = trainer_make(rig, "a"), *neighbour = trainer_make(rig, "a");
    outcome_t r0 = train(rig, first, 0, ""), r1 = train(rig, first, 1, r0.state);
    assert_int_equal(strlen(r0.state), HASH_HEX - 1);
    assert_false(r0.fresh);
    assert_string_not_equal(r0.state, r1.state);
    outcome_t again = train(rig, first, 1, r0.state); /* it has the later one in memory */
    same(&r1, &again);
    again = train(rig, neighbour, 1, r0.state); /* from the machine's directory */
    same(&r1, &again);
    outcome_t r2 = train(rig, first, 2, r1.state); /* from memory */
    again = train(rig, neighbour, 2, r1.state);
    same(&r2, &again);
    assert_int_equal(data_server_objects(rig->server), 0);
    trainer_free(first);
    trainer_free(neighbour);
    rig_free(rig);
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

static void a_late_lease_is_trained_once(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    int n_step = 0;
    rig->lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    trainer_t *first = trainer_make(rig, "a"), *neighbour = trainer_make(rig, "a");
    outcome_t r0 = train(rig, first, 0, ""), r1 = train(rig, first, 1, r0.state);
    outcome_t late = hand_in_late(rig, first, r0.state, &n_step);
    same(&r1, &late);
    assert_int_equal(n_step, 0);
    late = hand_in_late(rig, first, r0.state, &n_step); /* asked for once more */
    same(&r1, &late);
    assert_int_equal(n_step, 0);
    late = hand_in_late(rig, neighbour, r0.state, &n_step); /* who has not got it trains it */
    same(&r1, &late);
    assert_true(n_step > 0);
    train(rig, first, 0, ""); /* something else since */
    rig->lease.start = rig->lease.count;
    rig->lease.step_base = STEPS;
    late = hand_in_late(rig, first, r0.state, &n_step);
    same(&r1, &late);
    assert_true(n_step > 0);
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    err_t err = {0};
    rig->lease.lag = 3;
    assert_int_equal(trainer_lease(first, &rig->lease, &done, &err), -1);
    rig->lease.round = 0, rig->lease.lag = 1;
    assert_int_equal(trainer_lease(first, &rig->lease, &done, &err), -1);
    trainer_free(first);
    trainer_free(neighbour);
    rig_free(rig);
}

static bool yes(void *user)
{
    (void)user;
    return true;
}

/* Its round closes while it is trained: nothing is sent under that name, and all of it under the next one. */
static void an_outdated_lease_is_sent_once(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    int n_step = 0;
    server_delta_t delta;
    err_t err = {0};
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    rig->lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    trainer_t *first = trainer_make(rig, "a"), *late = trainer_make(rig, "b");
    outcome_t r1 = train(rig, first, 0, "");
    int sent = data_server_delta(rig->server, &delta);
    late->hooks = (trainer_hooks_t){.outdated = yes};
    assert_int_equal(trainer_lease(late, &rig->lease, &done, &err), -1);
    assert_int_equal(err.code, ERR_STATE);
    assert_int_equal(data_server_delta(rig->server, &delta), sent);
    outcome_t handed = hand_in_late_by(rig, late, "", 1, &n_step);
    same(&r1, &handed);
    assert_int_equal(n_step, 0);
    assert_int_equal(data_server_delta(rig->server, &delta), sent + 1);
    trainer_free(first);
    trainer_free(late);
    rig_free(rig);
}

/* Error feedback by its equations, in f64: a = 0.95 e + d, e <- a - what was sent. With three values
 * topk sends one. What was left out is in the inner state: whoever trains the lease, and as often as
 * it is handed in, it is the same. `e` in and out. */
static void check_feedback(rig_t *rig, const outcome_t *got, const float *d, double *e)
{
    int n_sent = 0;
    for (int i = 0; i < N_PARAM; i++) {
        double a = 0.95 * e[i] + (double)d[i], sent = (double)got->delta[i];
        n_sent += sent != 0;
        if (sent != 0) assert_true(fabs(sent - a) <= 1e-6 * fabs(a)); /* alone: its own magnitude */
        e[i] = a - sent;
    }
    assert_int_equal(n_sent, 1);
    char *find = mem_printf("%s/a/*-%s.safetensors", rig->dir, got->state);
    glob_t files;
    assert_int_equal(glob(find, 0, NULL, &files), 0);
    safetensors_t *state = safetensors_open(files.gl_pathv[0], NULL);
    const safetensor_t *error = safetensors_find(state, "codec.error");
    assert_non_null(error);
    assert_int_equal(error->n_bytes, sizeof(float) * N_PARAM);
    for (int i = 0; i < N_PARAM; i++)
        assert_true(fabs((double)((const float *)error->data)[i] - e[i]) <= 1e-6);
    safetensors_close(&state);
    globfree(&files);
    free(find);
}

static int count_of(const float *values, const outcome_t *sent)
{
    int n = 0;
    for (int i = 0; i < N_PARAM; i++) n += values[i] != 0 && sent->delta[i] != 0;
    return n;
}

static void what_a_codec_leaves_out_is_part_of_the_state(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    rig->lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    trainer_t *plain = trainer_make(rig, "b"), *first = trainer_make(rig, "a");
    trainer_t *neighbour = trainer_make(rig, "a");
    outcome_t d[3], got[3];
    double e[N_PARAM] = {0};
    for (uint32_t r = 0; r < 3; r++) /* the server's parameters are the same in every round */
        d[r] = train(rig, plain, r, r ? d[r - 1].state : "");
    rig->lease.codec = codec_find("topk", NULL)->id;
    for (uint32_t r = 0; r < 3; r++) {
        got[r] = train(rig, first, r, r ? got[r - 1].state : "");
        assert_int_equal(count_of(d[r].delta, &got[r]), 1);
        check_feedback(rig, &got[r], d[r].delta, e);
    }
    for (uint32_t r = 1; r < 3; r++) {
        outcome_t again = train(rig, neighbour, r,
                                got[r - 1].state); /* a lease that is given again */
        same(&got[r], &again);
        again = train(rig, first, r, got[r - 1].state);
        same(&got[r], &again);
    }
    int n_step = 0; /* round 1's once more, under round 2's name, then by who has not trained it */
    outcome_t r1 = train(rig, first, 1, got[0].state);
    same(&got[1], &r1);
    for (int turn = 0; turn < 3; turn++) {
        trainer_t *by = turn < 2 ? first : neighbour;
        outcome_t late = hand_in_late(rig, by, got[0].state, &n_step);
        same(&got[1], &late);
        assert_true((n_step > 0) == (turn == 2));
    }
    /* A codec that keeps nothing goes on from such a state, and leaves none. */
    rig->lease.codec = codec_find("f32", NULL)->id;
    outcome_t f32 = train(rig, first, 2, got[1].state);
    same(&d[2], &f32);
    trainer_free(plain);
    trainer_free(first);
    trainer_free(neighbour);
    rig_free(rig);
}

static void states_travel_by_the_object_service(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    rig->lease.keep_state = MSG__STATE_KEEP__STATE_OBJECT;
    trainer_t *first = trainer_make(rig, "a"), *far = trainer_make(rig, "b");
    outcome_t r0 = train(rig, first, 0, ""), r1 = train(rig, first, 1, r0.state);
    assert_int_equal(data_server_objects(rig->server), 2);
    outcome_t again = train(rig, far, 1, r0.state);
    same(&r1, &again);
    /* A damaged file is seen, and the object taken instead. */
    char *command = mem_printf("for f in %s/a/*; do printf x | dd of=$f bs=1 seek=99 conv=notrunc "
                               "status=none; done",
                               rig->dir);
    assert_int_equal(system(command), 0);
    free(command);
    trainer_t *third = trainer_make(rig, "a");
    again = train(rig, third, 1, r0.state);
    same(&r1, &again);
    trainer_free(first);
    trainer_free(far);
    trainer_free(third);
    rig_free(rig);
}

static void a_lost_state_is_refused_by_name(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    rig->lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    trainer_t *first = trainer_make(rig, "a"), *far = trainer_make(rig, "b");
    outcome_t r0 = train(rig, first, 0, "");
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    server_delta_t delta;
    err_t err = {0};
    rig->lease.round = 1;
    rig->lease.state = r0.state;
    assert_int_equal(trainer_lease(far, &rig->lease, &done, &err), -1);
    assert_string_equal(far->states.lost, r0.state);             /* told to the shepherd */
    assert_int_equal(data_server_delta(rig->server, &delta), 1); /* nothing was trained instead */
    assert_false(trainer_is_fatal(err.code));
    train(rig, first, 1, r0.state); /* who has it goes on */
    rig->lease.state = "not a hash";
    assert_int_equal(trainer_lease(far, &rig->lease, &done, &err), -1);
    assert_string_equal(far->states.lost, "");
    /* The bytes of something else under a good name: no training on that, anywhere. */
    temp_write(temp_path(rig->dir, "junk"), "junk", 4);
    char hash[HASH_HEX], *path;
    hash_content("junk", 4, hash);
    path = mem_printf("%s/b/1-2-3-%s.safetensors", rig->dir, hash);
    temp_write(path, "junk", 4);
    free(path);
    rig->lease.state = hash;
    assert_int_equal(trainer_lease(far, &rig->lease, &done, &err), -1);
    assert_int_equal(err.code, ERR_CORRUPT);
    trainer_free(first);
    trainer_free(far);
    rig_free(rig);
}

static void memory_alone(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    trainer_t *first = trainer_make(rig, "a"), *other = trainer_make(rig, "b");
    rig->lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    outcome_t n0 = train(rig, other, 0, ""), n1 = train(rig, other, 1, n0.state);
    rig->lease.keep_state = MSG__STATE_KEEP__STATE_MEMORY;
    outcome_t r0 = train(rig, first, 0, ""), r1 = train(rig, first, 1, "");
    assert_string_equal(r0.state, "");
    assert_memory_equal(r1.delta, n1.delta, sizeof r1.delta);
    assert_false(r1.fresh);
    outcome_t r3 = train(rig, first, 3, ""); /* somebody else had round 2 */
    assert_true(r3.fresh);
    rig->lease.run_hash = 8; /* another run's states are not ours */
    outcome_t o4 = train(rig, first, 4, "");
    assert_true(o4.fresh);
    trainer_free(first);
    trainer_free(other);
    rig_free(rig);
}

/* --- draining --- */

typedef struct {
    int n_told, wanted; /* steps told of; drain after so many asked */
    int asked;
    uint64_t last_step;
} drain_t;

static bool never(void *user)
{
    (void)user;
    return false;
}

static bool draining(void *user)
{
    drain_t *drain = user;
    return drain->asked++ >= drain->wanted;
}

static void stepped(void *user, uint64_t step, float loss, double tokens_per_s)
{
    (void)loss;
    drain_t *drain = user;
    assert_true(tokens_per_s > 0);
    drain->n_told++;
    drain->last_step = step;
}

static void a_drained_lease_hands_in_its_steps(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    rig->lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    trainer_t *worker = trainer_make(rig, "a"), *short_lease = trainer_make(rig, "b");
    drain_t drain = {.wanted = 2};
    worker->hooks = (trainer_hooks_t){
        .stopped = never, .draining = draining, .stepped = stepped, .user = &drain};
    outcome_t part = train(rig, worker, 0, "");
    assert_int_equal(part.steps, 2);
    assert_int_equal(part.done_count, 2 * UNITS);
    assert_int_equal(part.weight, 2);
    assert_int_equal(drain.n_told, 1); /* a short lease reports too */
    assert_int_equal(drain.last_step, 1);
    /* The same as a lease of two steps, the inner state with it. */
    rig->lease.inner_steps = rig->lease.weight = 2;
    rig->lease.count = 2 * UNITS;
    outcome_t whole = train(rig, short_lease, 0, "");
    same(&whole, &part);
    /* Before the first step there is nothing to hand in. */
    drain = (drain_t){.wanted = 0};
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    err_t err = {0};
    assert_int_equal(trainer_lease(worker, &rig->lease, &done, &err), -1);
    assert_int_equal(err.code, ERR_STATE);
    trainer_free(worker);
    trainer_free(short_lease);
    rig_free(rig);
}

/* --- answers --- */

static msg_envelope_t *an_answer(uint32_t round, uint32_t replica, uint32_t fence)
{
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    done.round = round, done.replica = replica, done.fence = fence;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.version = MSG_VERSION;
    message.body_case = MSG__ENVELOPE__BODY_LEASE_DONE;
    message.lease_done = &done;
    size_t n;
    uint8_t *bytes = msg_pack(&message, &n);
    msg_envelope_t *copy = msg_unpack(bytes, n, NULL);
    free(bytes);
    return copy;
}

static void count(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    (void)to;
    assert_int_equal(message->body_case, MSG__ENVELOPE__BODY_LEASE_DONE);
    ++*(int *)user;
}

static void answers_wait_for_their_acknowledgement(void **unused)
{
    (void)unused;
    answers_t answers = {0};
    int n_said = 0;
    msg_out_t out = {count, &n_said};
    lease_id_t a = {7, 3, 0, 1, 0}, b = {7, 3, 1, 2, 0}, c = {8, 1, 2, 1, 0};
    answers_add(&answers, &a, an_answer(3, 0, 1), 1000);
    answers_say(&answers, out, 1000, false);
    assert_int_equal(n_said, 1);
    answers_say(&answers, out, 1000 + ANSWERS_EVERY_MS - 1, false);
    assert_int_equal(n_said, 1);
    answers_say(&answers, out, 1000 + ANSWERS_EVERY_MS, false);
    assert_int_equal(n_said, 2);
    answers_add(&answers, &b, an_answer(3, 1, 2), 5000);
    answers_add(&answers, &c, an_answer(1, 2, 1), 5000);
    answers_say(&answers, out, 5000, true);
    assert_int_equal(n_said, 5);
    assert_non_null(answers_find(&answers, &b));
    assert_int_equal(answers_drop(&answers, 3, 1, 1), 0); /* an older fence's */
    assert_int_equal(answers_drop(&answers, 2, 1, 9), 0); /* another round's */
    assert_int_equal(answers_drop(&answers, 3, 1, 2), 1);
    assert_null(answers_find(&answers, &b));
    assert_int_equal(answers_drop_others(&answers, 7), 1);
    assert_int_equal(answers.list.n, 1);
    assert_int_equal(answers_drop_replica(&answers, 1), 0);
    assert_int_equal(answers_drop_replica(&answers, 0), 1);
    answers_add(&answers, &a, an_answer(3, 0, 1), 1000);
    answers_fini(&answers);
}

/* Parameters that come slowly are time of transfer as updates that leave slowly are. */
static void transfer_is_both_ways(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    trainer_t *trainer = trainer_make(rig, "a");
    train(rig, trainer, 0, ""); /* plan and tokens are here */
    const double each_s = 0.4;
    data_server_pace(rig->server, sizeof THETA / each_s);
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    err_t err = {0};
    rig->lease.round = 1;
    rig->lease.start = rig->lease.count;
    rig->lease.step_base = STEPS;
    if (trainer_lease(trainer, &rig->lease, &done, &err) < 0) fail_msg("%s", err.text);
    print_message("# transfer_s %.3f, compute_s %.3f\n", done.transfer_s, done.compute_s);
    assert_true(done.transfer_s > 1.8 * each_s);
    trainer_free(trainer);
    rig_free(rig);
}

int main(void)
{
    log_init("worker_lease_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repeated_lease_gives_the_same),
        cmocka_unit_test(a_late_lease_is_trained_once),
        cmocka_unit_test(an_outdated_lease_is_sent_once),
        cmocka_unit_test(what_a_codec_leaves_out_is_part_of_the_state),
        cmocka_unit_test(states_travel_by_the_object_service),
        cmocka_unit_test(a_lost_state_is_refused_by_name),
        cmocka_unit_test(memory_alone),
        cmocka_unit_test(a_drained_lease_hands_in_its_steps),
        cmocka_unit_test(answers_wait_for_their_acknowledgement),
        cmocka_unit_test(transfer_is_both_ways),
    };
    int failed = cmocka_run_group_tests_name("worker_lease", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
