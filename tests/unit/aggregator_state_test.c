/* What an aggregator's state directory survives: kill -9 at any instant, torn and damaged files. */
#include "aggregator_rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "temp.h"

enum { ROUNDS = 4 };
/* What a shepherd and its workers do, beginning wherever the shard is. */
static void go_on(rig_t *rig)
{
    if (!rig->state.ready) {
        assign(rig, 0, N);
        put_init(rig);
    }
    for (uint32_t round = rig->state.meta.round; round < ROUNDS; round++) {
        assign_as(rig, 0, N, round, true);
        assert_string_equal(rig->error, "");
        if (round > 0) { /* the answer may have been lost */
            commit(rig, round - 1, all, weights);
            assert_string_equal(rig->error, "");
        }
        put_deltas(rig, round);
        commit(rig, round, all, weights);
        assert_string_equal(rig->error, "");
    }
}

static float *final_values(rig_t *rig, float **momentum)
{
    *momentum = get_values(rig, WIRE_GET_OUTER, ROUNDS);
    return get_params(rig, ROUNDS);
}

/* The undisturbed run. */
static float *calm(float **momentum)
{
    rig_t *rig = rig_new();
    go_on(rig);
    float *theta = final_values(rig, momentum);
    assert_non_null(theta);
    rig_free(rig);
    return theta;
}

static void assert_same_end(const char *root)
{
    float *momentum, *v, *want = calm(&momentum);
    rig_t *rig = rig_open(root, true);
    go_on(rig);
    float *theta = final_values(rig, &v);
    assert_memory_equal(theta, want, N * sizeof *theta);
    assert_memory_equal(v, momentum, N * sizeof *v);
    rig_close(rig);
    free(momentum);
    free(v);
    free(want);
    free(theta);
}

/* A life of the shard that ends by SIGKILL after so many microseconds, if it is not done before;
 * negative: undisturbed. */
static bool live(const char *root, int64_t us)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        rig_t *rig = rig_open(root, true);
        go_on(rig);
        _exit(rig->state.meta.round == ROUNDS ? 0 : 1);
    }
    if (us >= 0) {
        usleep((useconds_t)us);
        kill(child, SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) assert_int_equal(WEXITSTATUS(status), 0);
    return WIFEXITED(status);
}

static void kill_at_any_moment(void **unused)
{
    (void)unused;
    enum { RUNS = 4, KILLS = 12 };
    char *root = new_root();
    int64_t begin = clock_mono_ms();
    assert_true(live(root, -1));
    int64_t whole_us = (clock_mono_ms() - begin) * 1000 + 1000;
    remove_root(root);
    int killed = 0;
    for (int run = 0; run < RUNS; run++) {
        root = new_root();
        for (int i = 0; i < KILLS; i++)
            killed += !live(root, (int64_t)(rng_uniform(77, (uint64_t)(run * KILLS + i)) *
                                            (double)whole_us / 3));
        assert_same_end(root);
        remove_root(root);
    }
    print_message("# killed %d times\n", killed);
    assert_true(killed > RUNS);
}

/* The slots have changes, and what their codec has left out, as well. */
static void kill_at_any_moment_with_changes(void **unused)
{
    way_down = "int8";
    kill_at_any_moment(unused);
    way_down = NULL;
}

/* A shard in round 1 with two and a half contributions; its root. */
static char *half_a_round(void)
{
    char *root = new_root();
    rig_t *rig = rig_open(root, true);
    assign(rig, 0, N);
    put_init(rig);
    put_deltas(rig, 0);
    commit(rig, 0, all, weights);
    put_deltas(rig, 1);
    rig_close(rig);
    return root;
}

static void flip(const char *path, int64_t at)
{
    int fd = open(path, O_RDWR);
    uint8_t byte;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void a_restart_holds_the_round(void **unused)
{
    (void)unused;
    char *root = half_a_round();
    rig_t *rig = rig_open(root, true);
    const Msg__ShardState *holds = aggregator_holds(&rig->state);
    assert_non_null(holds);
    assert_int_equal(holds->run_hash, RUN);
    assert_int_equal(holds->round, 1);
    assert_int_equal(holds->end, N);
    assert_int_equal(holds->n_shares, K);
    assert_int_equal(holds->shares[2]->weight, 30);
    float *before = get_params(rig, 0), *now = get_params(rig, 1);
    assert_non_null(before); /* an evaluation may still want it */
    assert_non_null(now);
    free(before);
    free(now);
    assign_as(rig, 0, N, 1, true);
    assert_string_equal(rig->error, "");
    assert_true(rig->has_state);
    assert_int_equal(rig->state_round, 1);
    assert_int_equal(rig->n_shares, K);
    rig_close(rig);
    assert_same_end(root);
    remove_root(root);
}

static void commits_are_repeatable(void **unused)
{
    (void)unused;
    static const uint32_t others[K] = {1, 0, 1}, again[K] = {1, 7, 1};
    char *root = half_a_round();
    rig_t *rig = rig_open(root, true);
    commit(rig, 1, all, weights);
    double norm2 = rig->norm2;
    for (int restart = 0; restart < 2; restart++) {
        commit(rig, 1, all, weights);
        assert_string_equal(rig->error, "");
        assert_int_equal(rig->committed_round, 1);
        assert_true(rig->norm2 == norm2);
        assert_int_equal(rig->state.meta.round, 2);
        commit(rig, 1, again, weights); /* given again, for another shard had lost it */
        assert_string_equal(rig->error, "");
        assert_int_equal(put_delta(rig, 1, 1, 7, 20, 0, "bf16"), WIRE_ACK);
        commit(rig, 1, others, weights);
        assert_non_null(strstr(rig->error, "other shares"));
        commit(rig, 0, all, weights);
        assert_non_null(strstr(rig->error, "round 0"));
        rig_close(rig);
        rig = rig_open(root, true);
    }
    /* Repeated while it is being applied: one answer. */
    put_deltas(rig, 2);
    commit_begin(rig, 2, all, weights, false);
    commit_begin(rig, 2, all, weights, false);
    assert_int_equal(rig->n_committed, 0);
    while (aggregator_work(&rig->state)) continue;
    assert_int_equal(rig->n_committed, 1);
    rig_close(rig);
    assert_same_end(root);
    remove_root(root);
}

/* Cut the journal anywhere, or damage it: what lies before counts, the rest is named as missing. */
static void torn_journals(void **unused)
{
    (void)unused;
    enum { CASES = 8 };
    for (int i = 0; i < CASES; i++) {
        char *root = half_a_round(), *path = state_file(root, "journal");
        int64_t size = file_size(path), at = (int64_t)(rng_uniform(5, (uint64_t)i) * (double)size);
        if (i % 2)
            flip(path, at);
        else
            assert_int_equal(truncate(path, at), 0);
        rig_t *rig = rig_open(root, true);
        uint32_t n = (uint32_t)aggregator_holds(&rig->state)->n_shares;
        assert_in_range(n, 0, K - 1);
        commit(rig, 1, all, weights);
        assert_int_equal(rig->n_missing, K - n);
        for (uint32_t k = 0; k < K - n; k++) assert_int_equal(rig->missing[k], n + k);
        assert_int_equal(rig->state.meta.round, 1);
        rig_close(rig);
        assert_same_end(root);
        free(path);
        remove_root(root);
    }
}

/* Damage in the newest slot: the one before it is taken; in both: nothing is held. */
static void damaged_slots(void **unused)
{
    (void)unused;
    static const int64_t places[] = {0, 20, 100, 4096, 4096 + 4 * N + 5, 4096 + 8 * N - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char *root = half_a_round(), *new = state_file(root, "slot-1");
        char *old = state_file(root, "slot-0");
        flip(new, places[i]);
        rig_t *rig = rig_open(root, true);
        assert_int_equal(aggregator_holds(&rig->state)->round, 0);
        assert_int_equal(aggregator_holds(&rig->state)->n_shares, 0); /* deltas of another round */
        assign_as(rig, 0, N, 1, true);
        assert_non_null(strstr(rig->error, "round 0 is open here, not 1"));
        rig_close(rig);
        assert_int_equal(truncate(old, places[i]), 0);
        rig = rig_open(root, true);
        assert_null(aggregator_holds(&rig->state));
        assign_as(rig, 0, N, 1, true);
        assert_non_null(strstr(rig->error, "nothing of this run"));
        assert_false(rig->has_state);
        rig_close(rig);
        free(new);
        free(old);
        remove_root(root);
    }
}

static void other_ranges_are_not_kept(void **unused)
{
    (void)unused;
    char *root = half_a_round();
    rig_t *rig = rig_open(root, true);
    assign_as(rig, 0, N - 4096, 1, true);
    assert_non_null(strstr(rig->error, "is held here"));
    assert_int_equal(aggregator_holds(&rig->state)->n_shares, K); /* nothing changed */
    assign_as(rig, 0, N, 3, true);
    assert_non_null(strstr(rig->error, "round 1 is open here, not 3"));
    assign_as(rig, 0, N, 0, true); /* the shepherd does not know yet that round 0 is applied */
    assert_string_equal(rig->error, "");
    assert_int_equal(rig->state_round, 1);
    assign(rig, 0, 5000); /* another run: everything is forgotten */
    rig_close(rig);
    rig = rig_open(root, true);
    assert_null(aggregator_holds(&rig->state));
    rig_close(rig);
    remove_root(root);
}

static void fences_survive(void **unused)
{
    (void)unused;
    char *root = half_a_round();
    rig_t *rig = rig_open(root, true);
    fence(rig, 1, 1, 3);
    rig_close(rig);
    rig = rig_open(root, true);
    assert_int_equal(aggregator_holds(&rig->state)->n_shares, K - 1);
    assert_int_equal(put_delta(rig, 1, 1, 2, 20, 0, "bf16"), WIRE_NACK);
    assert_int_equal(rig->answer.code, NACK_OLD_FENCE);
    rig_close(rig);
    remove_root(root);
}

static void a_held_result_stays_readable(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    assign(rig, 0, N);
    put_init(rig);
    for (uint32_t round = 0; round < 5; round++) {
        put_deltas(rig, round);
        commit_begin(rig, round, all, weights, round == 1);
        while (aggregator_work(&rig->state)) continue;
        assert_string_equal(rig->error, "");
    }
    float *theta = get_params(rig, 2), *v = get_values(rig, WIRE_GET_OUTER, 2);
    assert_non_null(theta);
    assert_non_null(v);
    assert_null(get_params(rig, 3));
    Msg__Forget body = MSG__FORGET__INIT;
    body.hold = true;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_FORGET;
    message.forget = &body;
    control(rig, &message);
    assert_null(get_params(rig, 2));
    /* From them, elsewhere, the same end. */
    rig_t *other = rig_new();
    assign_as(other, 0, N, 2, false);
    for (int outer = 1; outer >= 0; outer--)
        for (int chunk = 0; chunk < 2; chunk++) {
            wire_header_t header = chunk_header(outer ? WIRE_PUT_OUTER : WIRE_PUT_INIT, chunk);
            header.round = 2;
            header.weight = 77; /* by a courier whose shepherd is gone: it never mixes with ours */
            assert_int_equal(data(other, header, theta + header.begin, header.count * 4),
                             WIRE_NACK);
            header.weight = 0;
            assert_int_equal(
                data(other, header, (outer ? v : theta) + header.begin, header.count * 4),
                WIRE_ACK);
        }
    for (uint32_t round = 2; round < 5; round++) {
        put_deltas(other, round);
        commit(other, round, all, weights);
        assert_string_equal(other->error, "");
    }
    float *here = get_params(rig, 5), *there = get_params(other, 5);
    assert_memory_equal(here, there, N * sizeof *here);
    free(theta);
    free(v);
    free(here);
    free(there);
    rig_free(rig);
    rig_free(other);
}

static bool has_params(rig_t *rig, uint32_t round)
{
    float *theta = get_params(rig, round);
    bool has = theta != NULL;
    free(theta);
    return has;
}

/* As long as a lease of the next round begins with them, by a process that was started again, too;
 * then their files are of use for others, or go. */
static void parameters_of_late_leases_are_kept(void **unused)
{
    (void)unused;
    enum { FIRST = 1, LAG = STATE_LATE };
    char *root = new_root();
    rig_t *rig = rig_open(root, true);
    assign(rig, 0, N);
    put_init(rig);
    put_deltas(rig, 0);
    commit(rig, 0, all, weights);
    float *want = get_params(rig, FIRST), *theta;
    for (uint32_t lag = 1; lag <= LAG; lag++) { /* round FIRST + lag - 1 closes without it */
        put_deltas(rig, FIRST + lag - 1);
        rig->lag = lag;
        commit(rig, FIRST + lag - 1, all, weights);
        assert_string_equal(rig->error, "");
        if (lag % 2 == 0) {
            rig_close(rig);
            rig = rig_open(root, true);
        }
        theta = get_params(rig, FIRST);
        assert_non_null(theta);
        assert_memory_equal(theta, want, N * sizeof *theta);
        free(theta);
    }
    assert_true(has_params(rig, FIRST + 1) && has_params(rig, FIRST + LAG));
    uint32_t open = rig->state.meta.round;
    rig->lag = 2;
    put_deltas(rig, open);
    commit(rig, open, all, weights);
    assert_true(has_params(rig, open) && has_params(rig, open - 1));
    assert_false(has_params(rig, open - 2) || has_params(rig, FIRST));
    for (int i = 0; i < 2; i++) {
        rig->lag = i ? 99 : 0; /* more than there are asks for all that are left */
        put_deltas(rig, ++open);
        commit(rig, open, all, weights);
        assert_string_equal(rig->error, "");
    }
    assert_true(has_params(rig, open - 1) && !has_params(rig, open - 2));
    for (size_t i = STATE_READ; i < STATE_SLOTS; i++) assert_null(rig->state.disk.slots[i]);
    free(want);
    rig_close(rig);
    remove_root(root);
}

/* The disk is full while a round is open: everything goes on in memory, the shard says so, and the
 * next round is on the disk again. */
static void a_full_disk(void **unused)
{
    (void)unused;
    char *root = new_root();
    rig_t *rig = rig_open(root, true);
    assign(rig, 0, N);
    put_init(rig);
    temp_disk_full(100);
    put_deltas(rig, 0);
    assert_true(rig->state.degraded);
    assert_non_null(strstr(rig->state.degraded_text, "/journal"));
    assert_non_null(strstr(rig->state.degraded_text, "free space"));
    fence(rig, 0, 1, 2); /* taken out of the sum again, from memory */
    for (int chunk = 0; chunk < 2; chunk++)
        assert_int_equal(put_delta(rig, 0, 1, 2, weights[1], chunk, "bf16"), WIRE_ACK);
    fence(rig, 0, 1, 3);
    assert_false(rig->state.broken);
    temp_disk_free();
    rig_close(rig);
    /* What was in memory is lost with the process, and the shard knows it: these leases are given
     * again. */
    rig = rig_open(root, true);
    assign_as(rig, 0, N, 0, true);
    assert_int_equal(rig->n_shares, 0);
    temp_disk_full(100);
    put_deltas(rig, 0);
    commit(rig, 0, all, weights);
    assert_string_equal(rig->error, "");
    assert_true(rig->state.degraded && rig->state.now->in_memory);
    put_deltas(rig, 1);
    commit(rig, 1, all, weights); /* into the file of round 0, which nobody reads any more */
    assert_false(rig->state.now->in_memory);
    assert_true(rig->state.before[0]->in_memory);
    temp_disk_free();
    put_deltas(rig, 2);
    commit(rig, 2, all, weights);
    assert_false(rig->state.degraded || rig->state.now->in_memory);
    rig_close(rig);
    assert_same_end(root); /* the next process goes on from there */
    remove_root(root);
}

static void one_process_a_directory(void **unused)
{
    (void)unused;
    char *root = new_root(), *dir = mem_printf("%s.state", root);
    state_t first, second;
    err_t err = {0};
    assert_int_equal(state_open(&first, dir, &err), 0);
    assert_int_equal(state_open(&second, dir, &err), -1);
    assert_int_equal(err.code, ERR_STATE);
    assert_non_null(strstr(err.text, "another process"));
    state_close(&second);
    state_close(&first);
    assert_int_equal(state_open(&first, dir, &err), 0);
    state_close(&first);
    free(dir);
    remove_root(root);
}

int main(void)
{
    log_init("aggregator_state_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_holds_the_round),
        cmocka_unit_test(commits_are_repeatable),
        cmocka_unit_test(torn_journals),
        cmocka_unit_test(damaged_slots),
        cmocka_unit_test(other_ranges_are_not_kept),
        cmocka_unit_test(fences_survive),
        cmocka_unit_test(a_held_result_stays_readable),
        cmocka_unit_test(parameters_of_late_leases_are_kept),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(one_process_a_directory),
        cmocka_unit_test(kill_at_any_moment),
        cmocka_unit_test(kill_at_any_moment_with_changes),
    };
    return cmocka_run_group_tests_name("aggregator_state", tests, NULL, NULL);
}
