/* An update that its round closed without: what had come of it counts under its new name, bit for bit as if it had been sent
 * again; but only where its worker says that it is the same, and is the same. */
#include "aggregator_rig.h"

static const uint32_t two[K] = {1, 1, 0};

/* A chunk of the update that replica k has trained from that round on, under the name of `round`. */
static wire_type_t put(rig_t *rig, uint32_t trained, uint32_t round, uint32_t k, int chunk,
                       uint32_t held, bool late)
{
    return put_trained(rig, trained, round, k, held, weights[k], chunk, "int8",
                       late ? WIRE_LATE : 0);
}

/* Of the update of round 0 of the third replica, in its name of that round: so many chunks are here. */
static void late_chunk(rig_t *rig, uint32_t round, int chunk, uint32_t held, uint64_t here)
{
    assert_int_equal(put(rig, 0, round, 2, chunk, held, true), WIRE_ACK);
    assert_int_equal(rig->answer.vector, WIRE_HERE);
    assert_int_equal(rig->answer.total, here);
}

static void others(rig_t *rig, uint32_t round)
{
    for (uint32_t k = 0; k < 2; k++)
        for (int chunk = 0; chunk < 2; chunk++)
            assert_int_equal(put(rig, round, round, k, chunk, 1, false), WIRE_ACK);
}

/* Round 0 has closed without the third replica, of which its first chunk had come. */
static rig_t *closed(const char *root)
{
    rig_t *rig = rig_open(root, true);
    assign(rig, 0, N);
    put_init(rig);
    others(rig, 0);
    assert_int_equal(put(rig, 0, 0, 2, 0, 1, false), WIRE_ACK);
    assert_int_equal(rig->answer.vector, WIRE_HERE);
    assert_int_equal(rig->answer.total, 1);
    commit(rig, 0, two, weights);
    assert_string_equal(rig->error, "");
    return rig;
}

typedef struct {
    char root[64];
    rig_t *rig;
} case_t;

static case_t begin(void)
{
    case_t self = {.root = "/tmp/pcp-aggregator-test.XXXXXX"};
    assert_non_null(mkdtemp(self.root));
    self.rig = closed(self.root);
    return self;
}

static void end(case_t *self)
{
    rig_free(self->rig);
}

/* The parameters of the round after that of the third replica's whole update, however it came. */
static float *result(uint32_t round, bool kept, double *norm2)
{
    case_t it = begin();
    for (uint32_t r = 1; r < round; r++) {
        others(it.rig, r);
        commit(it.rig, r, two, weights);
    }
    others(it.rig, round);
    if (!kept) put(it.rig, 0, round, 2, 0, 1, false);
    late_chunk(it.rig, round, 1, 1, 2);
    commit(it.rig, round, all, weights);
    assert_string_equal(it.rig->error, "");
    *norm2 = it.rig->norm2;
    float *theta = get_params(it.rig, round + 1);
    end(&it);
    return theta;
}

static void what_had_come_counts(void **unused)
{
    (void)unused;
    for (uint32_t round = 1; round < 4; round++) {
        double norm2[2];
        float *kept = result(round, true, &norm2[0]), *sent = result(round, false, &norm2[1]);
        assert_memory_equal(kept, sent, N * sizeof *kept);
        assert_true(norm2[0] == norm2[1]);
        free(kept);
        free(sent);
    }
}

/* It is in the journal like what is sent: a restart has it. */
static void once_it_counts_it_outlives_the_process(void **unused)
{
    (void)unused;
    case_t it = begin();
    late_chunk(it.rig, 1, 1, 1, 2);
    while (aggregator_work(&it.rig->state)) continue;
    rig_close(it.rig);
    it.rig = rig_open(it.root, true);
    others(it.rig, 1);
    commit(it.rig, 1, all, weights);
    assert_string_equal(it.rig->error, "");
    end(&it);
}

static void is_incomplete(rig_t *rig, uint32_t held)
{
    const uint32_t fences[K] = {1, 1, held};
    others(rig, 1);
    commit(rig, 1, fences, weights);
    assert_int_equal(rig->n_missing, 1);
    assert_int_equal(rig->missing[0], 2);
}

static void another_update_has_nothing_of_it(void **unused)
{
    (void)unused;
    case_t it = begin();
    assert_int_equal(put(it.rig, 1, 1, 2, 1, 1, false), WIRE_ACK);
    assert_int_equal(it.rig->state.late.all.n, 0);
    late_chunk(it.rig, 1, 1, 1, 1);
    is_incomplete(it.rig, 1);
    end(&it);
}

static void after_a_restart_it_is_sent_again(void **unused)
{
    (void)unused;
    case_t it = begin();
    rig_close(it.rig);
    it.rig = rig_open(it.root, true);
    late_chunk(it.rig, 1, 1, 1, 1);
    is_incomplete(it.rig, 1);
    late_chunk(it.rig, 1, 0, 1, 2);
    end(&it);
}

static void a_higher_fence_has_nothing_of_it(void **unused)
{
    (void)unused;
    case_t it = begin();
    late_chunk(it.rig, 1, 1, 1, 2);
    while (aggregator_work(&it.rig->state)) continue;
    fence(it.rig, 1, 2, 2);
    late_chunk(it.rig, 1, 1, 2, 1);
    is_incomplete(it.rig, 2);
    end(&it);
}

/* The lease has gone to another worker. */
static void another_worker_has_nothing_of_it(void **unused)
{
    (void)unused;
    for (int same = 0; same < 2; same++) {
        rig_t *rig = rig_new();
        rig->holders = true;
        assign(rig, 0, N);
        put_init(rig);
        for (uint32_t k = 0; k < K; k++) announce(rig, 0, k, 1, "a");
        others(rig, 0);
        put(rig, 0, 0, 2, 0, 1, false);
        commit(rig, 0, two, weights);
        for (uint32_t k = 0; k < K; k++) announce(rig, 1, k, 1, same ? "a" : "b");
        late_chunk(rig, 1, 1, 1, same ? 2 : 1);
        rig_free(rig);
    }
}

/* Its worker learns that the round is over; of one that counted it does not matter. */
static void what_comes_too_late_is_told_so(void **unused)
{
    (void)unused;
    case_t it = begin();
    assert_int_equal(put(it.rig, 0, 0, 2, 1, 1, false), WIRE_NACK);
    assert_int_equal(it.rig->answer.code, NACK_WRONG_ROUND);
    assert_int_equal(put(it.rig, 0, 0, 1, 1, 1, false), WIRE_ACK);
    assert_int_equal(it.rig->answer.total, 0);
    end(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_had_come_counts),
        cmocka_unit_test(once_it_counts_it_outlives_the_process),
        cmocka_unit_test(another_update_has_nothing_of_it),
        cmocka_unit_test(after_a_restart_it_is_sent_again),
        cmocka_unit_test(a_higher_fence_has_nothing_of_it),
        cmocka_unit_test(another_worker_has_nothing_of_it),
        cmocka_unit_test(what_comes_too_late_is_told_so),
    };
    return cmocka_run_group_tests_name("aggregator_late", tests, NULL, NULL);
}
