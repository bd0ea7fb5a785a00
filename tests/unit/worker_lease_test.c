/* Whole leases against a small aggregator: the same lease gives the same pseudo-gradient and the
 * same inner state wherever it is trained and however the state came there; drained leases; answers
 * that wait to be acknowledged. */
#include "worker_rig.h"

#include <glob.h>

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
    trainer_free(first);
    trainer_free(far);
    rig_free(rig);
}

/* Whoever trained a replica before may name what it likes, and leave: the bytes of something else, a state of another model,
 * something large. No training on that anywhere, and it is no fault of who finds out: the state is lost. */
static void what_is_no_state_is_lost(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    rig->lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    rig->lease.round = 1;
    trainer_t *far = trainer_make(rig, "b");
    static const float values[4] = {1, 2, 3, 4};
    const safetensor_t other = {"somebody else's", DT_F32, 1, {4}, values, sizeof values};
    const safetensors_meta_t meta = {"steps", "3"};
    enum { LARGE = 1 << 20 };
    size_t n_other, at, n[3] = {4, 0, LARGE};
    uint8_t *state = safetensors_pack(&other, 1, &meta, 1, &n_other, &at, NULL);
    const void *bytes[3] = {"junk", state, mem_calloc(1, LARGE)};
    n[1] = n_other;
    const data_options_t options = {.endpoints = rig->endpoints, .n_endpoint = 1};
    data_client_t *client = data_client_new(&options, NULL);
    for (int i = 0; i < 3; i++) {
        Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
        err_t err = {0};
        char hash[HASH_HEX];
        hash_content(bytes[i], n[i], hash);
        assert_int_equal(data_put_object(client, hash, bytes[i], n[i], NULL), 0);
        rig->lease.state = hash;
        assert_int_equal(trainer_lease(far, &rig->lease, &done, &err), -1);
        assert_string_equal(far->states.lost, hash);
        assert_int_equal(err.code, ERR_STATE);
        assert_false(trainer_is_fatal(err.code));
    }
    data_client_destroy(&client);
    free(state);
    free((void *)bytes[2]);
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
        cmocka_unit_test(what_a_codec_leaves_out_is_part_of_the_state),
        cmocka_unit_test(states_travel_by_the_object_service),
        cmocka_unit_test(a_lost_state_is_refused_by_name),
        cmocka_unit_test(what_is_no_state_is_lost),
        cmocka_unit_test(memory_alone),
        cmocka_unit_test(a_drained_lease_hands_in_its_steps),
        cmocka_unit_test(answers_wait_for_their_acknowledgement),
        cmocka_unit_test(transfer_is_both_ways),
    };
    int failed = cmocka_run_group_tests_name("worker_lease", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
