/* The aggregator's outer step by rule and by fragment: what it keeps, what it steps, what a restart finds. */
#include "aggregator_rig.h"

#include <math.h>
#include <sys/stat.h>

#include "base/log.h"
#include "temp.h"

static const char PROGRAM[] = "aggregator_outer_test";
/* A rule without state: a slot has room for parameters alone, and goes on as any other. */
static void a_rule_that_keeps_nothing(void **unused)
{
    (void)unused;
    char *root = new_root();
    rig_t *rig = rig_open(root, true);
    rig->rule = "average";
    assign(rig, 0, N);
    assert_string_equal(rig->error, "");
    wire_header_t header = chunk_header(WIRE_PUT_OUTER, 0);
    float *zeros = calloc(MSG_CHUNK_FLOATS, sizeof *zeros);
    assert_int_equal(data(rig, header, zeros, MSG_CHUNK_BYTES), WIRE_NACK);
    assert_non_null(strstr((char *)rig->payload, "the outer rule average has 0"));
    free(zeros);
    put_init(rig);
    put_deltas(rig, 0);
    commit(rig, 0, all, weights);
    assert_string_equal(rig->error, "");
    assert_null(get_values(rig, WIRE_GET_OUTER, 1));
    put_deltas(rig, 1);
    rig_close(rig);

    char *slot = state_file(root, "slot-1");
    struct stat st;
    assert_int_equal(stat(slot, &st), 0);
    assert_int_equal(st.st_size, 4096 + 4 * (off_t)N);
    rig = rig_open(root, true);
    assert_int_equal(aggregator_holds(&rig->state)->n_shares, K);
    assign_as(rig, 0, N, 1, true); /* by a shepherd that wants Nesterov's */
    assert_non_null(strstr(rig->error, "under other options is held here"));
    rig->rule = "average";
    assign_as(rig, 0, N, 1, true);
    assert_string_equal(rig->error, "");
    commit(rig, 1, all, weights);
    float *theta = get_params(rig, 2);
    for (uint64_t i = 0; i < N; i += 997) { /* theta - the two rounds' means */
        double want = (double)value(9, i);
        for (uint32_t round = 0; round < 2; round++)
            for (uint32_t k = 0; k < K; k++)
                want -= (double)weights[k] / 60 * (double)value(100 * round + k, i);
        /* Deltas up to 0.5 are bf16, half a unit of 2^-9 each. */
        assert_true(fabs(want - (double)theta[i]) < 2 * 0x1p-10 + 0x1p-22);
    }
    free(theta);
    free(slot);
    rig_close(rig);
    remove_root(root);
}

/* Whatever the codec of updates, states become the mean of the replicas', also when a chunk was taken out of the sum again, and of
 * what a restart reads back. */
static void states_are_exact(void **unused)
{
    (void)unused;
    static const char *const codecs[] = {"topk", "int8", "f32"};
    char *root = new_root();
    rig_t *rig = rig_open(root, true);
    rig->states = MSG_CHUNK_FLOATS - 5000; /* in both chunks */
    assign(rig, 0, N);
    put_init(rig);
    for (uint32_t k = 0; k < K; k++)
        for (int chunk = 0; chunk < 2; chunk++)
            assert_int_equal(put_delta(rig, 0, k, 1, weights[k], chunk, codecs[k]), WIRE_ACK);
    assert_true(inspect(rig, 0, 1, weights[0])->complete);
    assert_string_equal(rig->inspected.reason, "");
    fence(rig, 0, 0, 2); /* what came is taken out; half of it comes again */
    for (int chunk = 0; chunk < 2; chunk++)
        assert_int_equal(put_delta(rig, 0, 0, 2, weights[0], chunk, "topk"), WIRE_ACK);
    rig_close(rig);

    rig = rig_open(root, true);
    rig->states = MSG_CHUNK_FLOATS - 5000;
    assert_int_equal(aggregator_holds(&rig->state)->n_shares, K);
    commit(rig, 0, (const uint32_t[]){2, 1, 1}, weights);
    assert_string_equal(rig->error, "");
    float *theta = get_params(rig, 1);
    for (uint64_t i = rig->states; i < N; i++) {
        double want = (double)value(9, i);
        for (uint32_t k = 0; k < K; k++)
            want -= (double)weights[k] / 60 * (double)value(k, i) / (k == 0 ? 2 : 1);
        assert_true(fabs(want - (double)theta[i]) < 0x1p-22);
    }
    free(theta);
    rig_close(rig);
    remove_root(root);
}

/* COMMIT of a replica and fragment each, as numbers in tens and ones. */
static void commit_fragments(rig_t *rig, uint32_t round, const uint32_t *which, size_t n)
{
    Msg__Share share[2 * K], *list[2 * K];
    for (size_t i = 0; i < n; i++) {
        list[i] = &share[i];
        msg__share__init(&share[i]);
        share[i].replica = which[i] / 10;
        share[i].fragment = which[i] % 10;
        share[i].fence = 1;
        share[i].weight = weights[which[i] / 10];
    }
    Msg__Commit body = MSG__COMMIT__INIT;
    body.round = round;
    body.shares = list;
    body.n_shares = n;
    SAY(rig, COMMIT, commit, &body);
    while (aggregator_work(&rig->state)) continue;
}

/* theta - lr (1 + mu) of the mean delta of the round 0, of some replicas, at element i. */
static double stepped(uint64_t i, const uint32_t *replicas, size_t n)
{
    double sum = 0, weight = 0;
    for (size_t k = 0; k < n; k++) {
        sum += (double)weights[replicas[k]] * (double)value(replicas[k], i);
        weight += (double)weights[replicas[k]];
    }
    return (double)value(9, i) - LR * (1 + MU) * sum / weight;
}

/* A chunk under a number that the range has not, or that another chunk has. */
static void other_fragments_are_refused(rig_t *rig)
{
    wire_header_t header = chunk_header(WIRE_PUT_DELTA, 0);
    header.fence = header.weight = header.replica = 2;
    header.codec = 2;
    header.fragment = 2;
    uint8_t *zeros = calloc(MSG_CHUNK_FLOATS, 2);
    assert_int_equal(data(rig, header, zeros, MSG_CHUNK_FLOATS * 2), WIRE_NACK);
    assert_non_null(strstr((char *)rig->payload, "fragment 2: the range has 2"));
    header.fragment = 1; /* the chunk is of the other one */
    assert_int_equal(data(rig, header, zeros, MSG_CHUNK_FLOATS * 2), WIRE_ACK);
    assert_int_equal(rig->answer.code, ACK_REFUSED);
    free(zeros);
}

/* Two fragments of a chunk each: contributions are complete, are weighed and stepped with by
 * fragment, also behind a restart, and one that nobody contributed to stays as it is. */
static void fragments_are_stepped_alone(void **unused)
{
    (void)unused;
    char *root = new_root();
    rig_t *rig = rig_open(root, true);
    rig->fragments = 2;
    assign(rig, 0, N);
    put_init(rig);
    put_delta(rig, 0, 0, 1, weights[0], 0, "f32");
    put_delta(rig, 0, 0, 1, weights[0], 1, "f32");
    put_delta(rig, 0, 1, 1, weights[1], 0, "f32");
    assert_int_equal(aggregator_holds(&rig->state)->n_shares, 3);
    other_fragments_are_refused(rig);
    rig_close(rig);

    rig = rig_open(root, true);
    rig->fragments = 2;
    const Msg__ShardState *held = aggregator_holds(&rig->state);
    assert_int_equal(held->n_shares, 3);
    assert_true(held->shares[1]->replica == 0 && held->shares[1]->fragment == 1);
    commit_fragments(rig, 0, (const uint32_t[]){0, 11}, 2); /* replica 1 has not sent fragment 1 */
    assert_non_null(strstr(rig->error, "replica 1 is not complete"));
    commit_fragments(rig, 0, (const uint32_t[]){2}, 1);
    assert_non_null(strstr(rig->error, "fragment 2"));
    put_delta(rig, 0, 2, 3, weights[2], 1, "f32"); /* not named: not in the sum */
    commit_fragments(rig, 0, (const uint32_t[]){0, 10, 1}, 3);
    assert_string_equal(rig->error, "");
    float *theta = get_params(rig, 1), *before = get_params(rig, 0);
    double worst = 0;
    for (uint64_t i = 0; i < N; i += 7) {
        bool first = i < MSG_CHUNK_FLOATS;
        double want = stepped(i, (const uint32_t[]){0, 1}, first ? 2 : 1);
        double off = fabs(want - (double)theta[i]);
        worst = off > worst ? off : worst;
    }
    assert_true(worst < 0x1p-22); /* rounded to f32 twice, below 4 */
    free(theta);

    put_delta(rig, 1, 1, 1, weights[1], 1, "f32");
    theta = get_params(rig, 1);
    commit_fragments(rig, 1, (const uint32_t[]){11},
                     1); /* nobody has contributed to the first one */
    assert_string_equal(rig->error, "");
    float *next = get_params(rig, 2),
          *v[2] = {get_values(rig, WIRE_GET_OUTER, 1), get_values(rig, WIRE_GET_OUTER, 2)};
    assert_memory_equal(theta, next, MSG_CHUNK_BYTES);
    assert_memory_equal(v[0], v[1], MSG_CHUNK_BYTES);
    assert_memory_not_equal(theta + MSG_CHUNK_FLOATS, next + MSG_CHUNK_FLOATS, 1000);
    free(theta), free(next), free(before), free(v[0]), free(v[1]);
    rig_close(rig);
    remove_root(root);
}

/* What a program of before has left counts as lost, and the log says why. */
static void slots_of_before_are_refused(void **unused)
{
    (void)unused;
    char *root = new_root();
    rig_t *rig = rig_open(root, true);
    assign(rig, 0, N);
    put_init(rig);
    put_deltas(rig, 0);
    commit(rig, 0, all, weights);
    rig_close(rig);
    static const char *const names[] = {"slot-0", "slot-1"};
    for (int i = 0; i < 2; i++) {
        char *path = state_file(root, names[i]);
        FILE *file = fopen(path, "r+");
        assert_non_null(file);
        fputs("PCPSHRD1", file);
        fclose(file);
        free(path);
    }
    char log[] = "/tmp/pcp-aggregator-log.XXXXXX";
    int to = mkstemp(log), kept = dup(2);
    dup2(to, 2);
    log_init(PROGRAM, LOG_WARN, LOG_LOGFMT);
    rig = rig_open(root, true);
    log_init(PROGRAM, LOG_OFF, LOG_LOGFMT);
    dup2(kept, 2);
    assert_null(aggregator_holds(&rig->state));
    rig_close(rig);
    char text[2048] = "";
    assert_true(pread(to, text, sizeof text - 1, 0) > 0);
    assert_non_null(strstr(text, "an older version of this program wrote it"));
    close(to);
    close(kept);
    unlink(log);
    remove_root(root);
}

int main(void)
{
    log_init(PROGRAM, LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_that_keeps_nothing),
        cmocka_unit_test(states_are_exact),
        cmocka_unit_test(fragments_are_stepped_alone),
        cmocka_unit_test(slots_of_before_are_refused),
    };
    return cmocka_run_group_tests_name("aggregator_outer", tests, NULL, NULL);
}
