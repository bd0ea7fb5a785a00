/* The next round's parameters before they are committed: what is guessed is what the commit makes, bit for bit, unless
 * the commit is of other updates; then the checks tell. */
#include "aggregator_rig.h"

static wire_type_t ask(rig_t *rig, wire_type_t type, uint32_t round, int chunk)
{
    wire_header_t header = chunk_header(type, chunk);
    header.round = round;
    header.codec = way_down ? (uint8_t)codec_find(way_down, NULL)->id : 0;
    return data(rig, header, NULL, 0);
}

static void not_yet(rig_t *rig, uint32_t round, int chunk, uint64_t ready)
{
    assert_int_equal(ask(rig, WIRE_GET_AHEAD, round, chunk), WIRE_NACK);
    assert_int_equal(rig->answer.code, NACK_NOT_READY);
    assert_int_equal(rig->answer.total, ready);
}

typedef struct {
    uint8_t *bytes;
    size_t n;
} guess_t;

static guess_t take_payload(const rig_t *rig)
{
    guess_t guess = {malloc(rig->n_payload), rig->n_payload};
    memcpy(guess.bytes, rig->payload, guess.n);
    return guess;
}

static guess_t guess(rig_t *rig, uint32_t round, int chunk, uint64_t ready)
{
    assert_int_equal(ask(rig, WIRE_GET_AHEAD, round, chunk), WIRE_DATA);
    assert_int_equal(rig->answer.total, ready);
    assert_int_equal(wire_check(&rig->answer, rig->payload, rig->n_payload, NULL), 0);
    return take_payload(rig);
}

static bool same(const guess_t *a, const guess_t *b)
{
    return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

/* What the commit has made of that chunk. */
static guess_t truth(rig_t *rig, uint32_t round, int chunk)
{
    assert_int_equal(ask(rig, way_down ? WIRE_GET_CHANGE : WIRE_GET_PARAMS, round, chunk),
                     WIRE_DATA);
    return take_payload(rig);
}

static void is_true(rig_t *rig, uint32_t round, int chunk, guess_t *guessed)
{
    guess_t right = truth(rig, round, chunk);
    if (!same(&right, guessed)) fail_msg("%s, chunk %d", way_down ? way_down : "f32", chunk);
    free(right.bytes);
    free(guessed->bytes);
}

static void put_chunk(rig_t *rig, uint32_t round, int chunk)
{
    for (uint32_t k = 0; k < K; k++)
        assert_int_equal(put_delta(rig, round, k, 1, weights[k], chunk, "bf16"), WIRE_ACK);
}

static rig_t *new_rig(const char *rule)
{
    rig_t *rig = rig_new();
    rig->rule = rule;
    rig->of = K;
    assign(rig, 0, N);
    put_init(rig);
    return rig;
}

static void two_rounds(const char *rule)
{
    rig_t *rig = new_rig(rule);
    for (uint32_t round = 0; round < 2; round++) {
        not_yet(rig, round + 1, 0, 0);
        for (uint32_t k = 0; k + 1 < K; k++) put_delta(rig, round, k, 1, weights[k], 0, "bf16");
        not_yet(rig, round + 1, 0, 0);
        put_chunk(rig, round, 0); /* some twice */
        guess_t first = guess(rig, round + 1, 0, 1);
        not_yet(rig, round + 1, 1, 1);
        put_chunk(rig, round, 1);
        guess_t second = guess(rig, round + 1, 1, 2), again = guess(rig, round + 1, 0, 2);
        assert_true(same(&first, &again));
        assert_int_equal(ask(rig, WIRE_GET_PARAMS, round + 1, 0), WIRE_NACK); /* it is a guess */
        commit(rig, round, all, weights);
        assert_string_equal(rig->error, "");
        is_true(rig, round + 1, 0, &first);
        is_true(rig, round + 1, 1, &second);
        guess_t late = guess(rig, round + 1, 0, 2); /* of the committed round */
        assert_true(same(&late, &again));
        free(late.bytes);
        free(again.bytes);
    }
    rig_free(rig);
}

static void it_is_what_the_commit_makes(void **unused)
{
    (void)unused;
    static const char *const codecs[] = {NULL, "bf16", "int8", "e3m0"};
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        way_down = codecs[c];
        two_rounds("nesterov");
        two_rounds("average");
    }
    way_down = NULL;
}

/* The replicas' number is not told, or not the same by all. */
static void without_a_number_nothing_is_guessed(void **unused)
{
    (void)unused;
    for (int odd = 0; odd < 2; odd++) {
        rig_t *rig = new_rig("nesterov");
        for (uint32_t k = 0; k < K; k++) {
            rig->of = odd ? K + k : 0;
            put_delta(rig, 0, k, 1, weights[k], 0, "bf16");
        }
        not_yet(rig, 1, 0, 0);
        rig->of = K;
        put_chunk(rig, 0, 1);
        not_yet(rig, 1, 1, 0);
        rig_free(rig);
    }
}

/* Its lease is given again, and what it made then is another update; or nothing counts of it. */
static void another_update_is_another_guess(void **unused)
{
    (void)unused;
    way_down = "int8";
    rig_t *rig = new_rig("nesterov");
    put_chunk(rig, 0, 0);
    put_chunk(rig, 0, 1);
    guess_t before = guess(rig, 1, 0, 2);
    fence(rig, 0, 1, 2);
    not_yet(rig, 1, 0, 0);
    put_delta(rig, 0, 1, 2, weights[1], 0, "bf16");
    guess_t after = guess(rig, 1, 0, 1);
    assert_false(same(&before, &after));
    put_delta(rig, 0, 1, 2, weights[1], 1, "bf16");
    commit(rig, 0, (const uint32_t[K]){1, 2, 1}, weights);
    assert_string_equal(rig->error, "");
    is_true(rig, 1, 0, &after);
    free(before.bytes);

    put_chunk(rig, 1, 0);
    wire_header_t header = chunk_header(WIRE_PUT_DELTA, 1);
    header.round = 1;
    header.replica = 2;
    header.fence = 1;
    header.weight = weights[2];
    header.codec = (uint8_t)codec_find("f32", NULL)->id;
    data(rig, header, "nonsense", 8); /* marks the update: it will not be admitted */
    not_yet(rig, 2, 0, 0);
    fence(rig, 1, 2, 2);
    put_delta(rig, 1, 2, 2, weights[2], 0, "bf16");
    free(guess(rig, 2, 0, 1).bytes);
    rig_free(rig);
    way_down = NULL;
}

/* A commit of fewer updates than it was made of. */
static void the_checks_tell_a_wrong_guess(void **unused)
{
    (void)unused;
    static const uint32_t two[K] = {1, 1, 0};
    char *root = new_root();
    rig_t *rig = rig_open(root, true);
    rig->of = K;
    assign(rig, 0, N);
    put_init(rig);
    put_chunk(rig, 0, 0);
    put_chunk(rig, 0, 1);
    guess_t wrong = guess(rig, 1, 0, 2);
    commit(rig, 0, two, weights);
    for (int restarted = 0; restarted < 2; restarted++) {
        float *theta = get_params(rig, 1);
        wire_header_t header = {.type = WIRE_GET_CHECKS, .run = RUN, .round = 1, .count = N};
        assert_int_equal(data(rig, header, NULL, 0), WIRE_DATA);
        assert_int_equal(rig->n_payload, 2 * sizeof(uint64_t));
        uint64_t check[2];
        memcpy(check, rig->payload, sizeof check);
        assert_true(check[0] == hash_fast(theta, MSG_CHUNK_BYTES));
        assert_true(check[1] == hash_fast(theta + MSG_CHUNK_FLOATS, 5000 * sizeof *theta));
        assert_false(check[0] == hash_fast(wrong.bytes, wrong.n));
        header.count--;
        assert_int_equal(data(rig, header, NULL, 0), WIRE_NACK);
        assert_int_equal(rig->answer.code, NACK_BAD_RANGE);
        free(theta);
        rig_close(rig);
        rig = rig_open(root, true);
    }
    free(wrong.bytes);
    rig_close(rig);
    remove_root(root);
}

typedef struct {
    float *theta;
    double norm2;
} result_t;

/* Two rounds of the updates that `fences` name, of all or of some replicas. */
static result_t committed(const uint32_t *fences, bool guessed)
{
    rig_t *rig = new_rig("nesterov");
    for (uint32_t round = 0; round < 2; round++) {
        put_chunk(rig, round, 0);
        if (guessed) free(guess(rig, round + 1, 0, 1).bytes);
        put_chunk(rig, round, 1);
        if (guessed && round == 0) free(guess(rig, round + 1, 1, 2).bytes);
        commit(rig, round, fences, weights);
        assert_string_equal(rig->error, "");
    }
    result_t out = {get_params(rig, 2), rig->norm2};
    rig_free(rig);
    return out;
}

/* The commit goes on with what was made of its updates, and makes again what was not: the same bits as if nobody had asked. */
static void asking_changes_nothing(void **unused)
{
    (void)unused;
    static const uint32_t two[K] = {1, 1, 0};
    const uint32_t *const of[] = {all, two};
    static const char *const codecs[] = {NULL, "int8"};
    for (int i = 0; i < 4; i++) {
        way_down = codecs[i / 2];
        result_t asked = committed(of[i % 2], true), unasked = committed(of[i % 2], false);
        assert_memory_equal(asked.theta, unasked.theta, N * sizeof(float));
        assert_true(asked.norm2 == unasked.norm2);
        free(asked.theta);
        free(unasked.theta);
    }
    way_down = NULL;
}

/* However often somebody makes it compute one chunk anew. */
static void asking_costs_no_more_than_this(void **unused)
{
    (void)unused;
    rig_t *rig = new_rig("nesterov");
    put_chunk(rig, 0, 0);
    for (int time = 0; time < MSG_AHEAD_TIMES; time++) {
        for (int again = 0; again < 20; again++) free(guess(rig, 1, 0, 1).bytes);
        fence(rig, 0, 1, (uint32_t)(time + 2));
        put_delta(rig, 0, 1, (uint32_t)(time + 2), weights[1], 0, "bf16");
    }
    not_yet(rig, 1, 0, 1);
    ask(rig, WIRE_GET_AHEAD, 2, 0); /* nobody is there yet */
    assert_int_equal(rig->answer.code, NACK_WRONG_ROUND);
    way_down = "int8"; /* which this range has not */
    ask(rig, WIRE_GET_AHEAD, 1, 0);
    assert_int_equal(rig->answer.code, NACK_NO_CHANGE);
    way_down = NULL;
    rig_free(rig);
}

/* Of the round in which it was started again it guesses nothing: the journal has not kept what it would need. */
static void after_a_restart_it_guesses_from_the_next_round_on(void **unused)
{
    (void)unused;
    char *root = new_root();
    rig_t *rig = rig_open(root, true);
    rig->of = K;
    assign(rig, 0, N);
    put_init(rig);
    put_chunk(rig, 0, 0);
    free(guess(rig, 1, 0, 1).bytes);
    rig_close(rig);
    rig = rig_open(root, true);
    rig->of = K;
    put_chunk(rig, 0, 1);
    not_yet(rig, 1, 0, 0);
    not_yet(rig, 1, 1, 0);
    commit(rig, 0, all, weights);
    assert_string_equal(rig->error, "");
    put_chunk(rig, 1, 0);
    guess_t first = guess(rig, 2, 0, 1);
    put_chunk(rig, 1, 1);
    commit(rig, 1, all, weights);
    is_true(rig, 2, 0, &first);
    rig_close(rig);
    remove_root(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_what_the_commit_makes),
        cmocka_unit_test(without_a_number_nothing_is_guessed),
        cmocka_unit_test(another_update_is_another_guess),
        cmocka_unit_test(the_checks_tell_a_wrong_guess),
        cmocka_unit_test(asking_changes_nothing),
        cmocka_unit_test(asking_costs_no_more_than_this),
        cmocka_unit_test(after_a_restart_it_guesses_from_the_next_round_on),
    };
    return cmocka_run_group_tests_name("aggregator_guess", tests, NULL, NULL);
}
