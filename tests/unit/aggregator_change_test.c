/* The way down with a codec: what an aggregator gives as a round's change makes of the parameters before just what it gives
 * as those of the round, also behind a restart; what it has not is refused. */
#include <math.h>

#include "aggregator_rig.h"

static const char *const codecs[] = {"bf16", "int8", "e3m0"};

static wire_type_t ask(rig_t *rig, uint32_t round, int chunk, const char *codec)
{
    wire_header_t header = chunk_header(WIRE_GET_CHANGE, chunk);
    header.round = round;
    const change_t change = {codec_find(codec, NULL), exact_from};
    header.codec = change_word(&change);
    return data(rig, header, NULL, 0);
}

/* theta of the round before becomes that of the round: `want`. */
static void add_change(rig_t *rig, uint32_t round, float *theta, const float *want)
{
    float *scratch = calloc(MSG_CHUNK_FLOATS, sizeof *scratch);
    for (int chunk = 0; chunk < 2; chunk++) {
        err_t err = {0};
        wire_header_t header = chunk_header(WIRE_GET_CHANGE, chunk);
        assert_int_equal(ask(rig, round, chunk, way_down), WIRE_DATA);
        assert_int_equal(wire_check(&rig->answer, rig->payload, rig->n_payload, NULL), 0);
        const change_place_t to = {header.begin, header.count, theta + header.begin, scratch};
        if (change_apply(&rig->state.down, rig->payload, rig->n_payload, &to, &err) < 0)
            fail_msg("%s: %s", way_down, err.text);
    }
    free(scratch);
    assert_memory_equal(theta, want, N * sizeof *want);
}

static void follow(rig_t *rig, uint32_t round, float *theta)
{
    float *want = get_params(rig, round);
    assert_non_null(want);
    add_change(rig, round, theta, want);
    free(want);
}

static void one_round(rig_t *rig, uint32_t round)
{
    put_deltas(rig, round);
    commit(rig, round, all, weights);
    assert_string_equal(rig->error, "");
}

static void changes_make_the_parameters(void **unused)
{
    (void)unused;
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        char *root = new_root();
        way_down = codecs[c];
        rig_t *rig = rig_open(root, true);
        assign(rig, 0, N);
        put_init(rig);
        float *theta = get_params(rig, 0);
        for (uint32_t round = 0; round < 4; round++) {
            one_round(rig, round);
            if (round == 1) {
                rig_close(rig);
                rig = rig_open(root, true);
            }
            follow(rig, round + 1, theta);
        }
        rig_close(rig);
        remove_root(root);
        free(theta);
    }
    way_down = NULL;
}

/* States in the second chunk, at its beginning, and in both: they become what they do where nothing is encoded, also behind
 * a restart. Who does not know that gets no change. */
static void states_go_down_as_they_are(void **unused)
{
    static const uint64_t from[] = {N - 3, MSG_CHUNK_FLOATS, 100};
    (void)unused;
    for (size_t c = 0; c < 3; c++) {
        char *root = new_root();
        rig_t *plain = rig_new(), *rig = rig_open(root, true);
        plain->states = rig->states = from[c];
        assign(plain, 0, N);
        put_init(plain);
        way_down = codecs[c];
        exact_from = from[c];
        assign(rig, 0, N);
        put_init(rig);
        float *theta = get_params(rig, 0);
        for (uint32_t round = 0; round < 4; round++) {
            one_round(plain, round);
            one_round(rig, round);
            if (round == 1) {
                rig_close(rig);
                rig = rig_open(root, true);
                rig->states = from[c];
            }
            follow(rig, round + 1, theta);
            float *want = get_params(plain, round + 1);
            assert_memory_equal(theta + from[c], want + from[c], (N - from[c]) * sizeof *want);
            free(want);
        }
        exact_from = 0;
        assert_int_equal(ask(rig, 4, 0, way_down), WIRE_NACK);
        assert_int_equal(rig->answer.code, NACK_NO_CHANGE);
        /* A shepherd of before takes them as they are. */
        assign_as(rig, 0, N, 4, true);
        assert_string_equal(rig->error, "");
        way_down = NULL;
        rig_close(rig);
        rig_free(plain);
        remove_root(root);
        free(theta);
    }
}

/* Who is behind by as many rounds as take the bytes of the parameters has their changes one after the other; nobody has
 * those before. */
static void older_changes_are_there(void **unused)
{
    (void)unused;
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        enum { ROUNDS = 12 };
        char *root = new_root();
        float *theta[ROUNDS + 1];
        way_down = codecs[c];
        rig_t *rig = rig_open(root, true);
        assign(rig, 0, N);
        put_init(rig);
        theta[0] = get_params(rig, 0);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            one_round(rig, round);
            theta[round + 1] = get_params(rig, round + 1);
        }
        uint32_t kept = change_rounds(rig->state.down.codec), first = ROUNDS - kept;
        assert_int_equal(kept, c == 0 ? 2 : c == 1 ? 4 : 8);
        float *behind = memcpy(malloc(N * sizeof *behind), theta[first], N * sizeof *behind);
        for (uint32_t round = first + 1; round <= ROUNDS; round++)
            add_change(rig, round, behind, theta[round]);
        assert_int_equal(ask(rig, first, 0, way_down), WIRE_NACK);
        rig_close(rig);
        rig = rig_open(root, true);
        assert_int_equal(ask(rig, ROUNDS, 0, way_down), WIRE_DATA);
        if (kept > 2) assert_int_equal(ask(rig, first + 1, 0, way_down), WIRE_NACK);
        rig_close(rig);
        remove_root(root);
        free(behind);
        for (size_t i = 0; i <= ROUNDS; i++) free(theta[i]);
    }
    way_down = NULL;
}

/* What the codec leaves out is the vector behind the rule's, and no step is lost but for it. */
static void what_is_left_out_is_kept(void **unused)
{
    (void)unused;
    rig_t *plain = rig_new();
    assign(plain, 0, N);
    put_init(plain);
    one_round(plain, 0);
    float *exact = get_params(plain, 1);
    rig_free(plain);
    way_down = "e3m0";
    rig_t *rig = rig_new();
    assign(rig, 0, N);
    put_init(rig);
    one_round(rig, 0);
    float *theta = get_params(rig, 1);
    double most = 0;
    for (int chunk = 0; chunk < 2; chunk++) {
        wire_header_t header = chunk_header(WIRE_GET_OUTER, chunk);
        header.round = 1;
        header.vector = 1;
        assert_int_equal(data(rig, header, NULL, 0), WIRE_DATA);
        for (uint64_t i = 0; i < header.count; i++) {
            float left = ((float *)rig->payload)[i];
            double off = (double)theta[header.begin + i] + (double)left;
            assert_true(fabs(off - (double)exact[header.begin + i]) < 1e-6);
            most = fabs((double)left) > most ? fabs((double)left) : most;
        }
    }
    assert_true(most > 1e-3); /* e3m0 leaves much out */
    free(exact);
    free(theta);
    rig_free(rig);
    way_down = NULL;
}

static void refused(rig_t *rig, wire_nack_t code, const char *text)
{
    assert_int_equal(rig->answer.type, WIRE_NACK);
    assert_int_equal(rig->answer.code, code);
    if (!strstr((char *)rig->payload, text)) fail_msg("%s", (char *)rig->payload);
}

static void what_is_not_there_is_refused(void **unused)
{
    (void)unused;
    way_down = "int8";
    rig_t *rig = rig_new();
    assign(rig, 0, N);
    ask(rig, 0, 0, "int8");
    refused(rig, NACK_NOT_READY, "round 0");
    put_init(rig);
    ask(rig, 0, 0, "int8");
    refused(rig, NACK_NO_CHANGE, "of round 0");
    one_round(rig, 0);
    ask(rig, 1, 0, "bf16");
    refused(rig, NACK_NO_CHANGE, "as codec 2");
    ask(rig, 2, 0, "int8");
    refused(rig, NACK_WRONG_ROUND, "round 1 is open");
    wire_header_t header = chunk_header(WIRE_GET_CHANGE, 0);
    header.round = 1;
    header.codec = 3;
    header.count--;
    data(rig, header, NULL, 0);
    refused(rig, NACK_BAD_RANGE, "by chunks");
    rig_free(rig);
    way_down = NULL;
    rig = rig_new(); /* without a way down */
    assign(rig, 0, N);
    put_init(rig);
    one_round(rig, 0);
    ask(rig, 1, 0, "int8");
    refused(rig, NACK_NO_CHANGE, "of round 1");
    way_down = "topk";
    assign(rig, 0, N);
    assert_non_null(strstr(rig->error, "codec topk"));
    way_down = NULL;
    rig_free(rig);
}

static wire_type_t ask_packed(rig_t *rig, uint32_t round, int chunk, uint8_t flags)
{
    wire_header_t header = chunk_header(WIRE_GET_CHANGE, chunk);
    header.round = round;
    header.codec = rig->state.down.codec->id;
    header.flags = flags;
    return data(rig, header, NULL, 0);
}

/* Who knows of it and is far away gets fewer bytes that are the same; nobody else notices. */
static void changes_are_packed_where_they_may(void **unused)
{
    (void)unused;
    way_down = "bf16";
    rig_t *rig = rig_new();
    assign(rig, 0, N);
    put_init(rig);
    packer_t *packer = packer_new();
    for (uint32_t round = 0; round < 3; round++) {
        one_round(rig, round);
        for (int turn = 0; turn < 4; turn++) {
            int chunk = turn % 2;
            assert_int_equal(ask(rig, round + 1, chunk, "bf16"), WIRE_DATA);
            assert_int_equal(rig->answer.flags, 0);
            size_t n = rig->n_payload;
            uint8_t *plain = memcpy(malloc(n), rig->payload, n), *back = malloc(n);
            ask_packed(rig, round + 1, chunk, WIRE_KNOWS);
            assert_int_equal(rig->answer.flags, WIRE_TAKES);
            assert_int_equal(rig->n_payload, n);
            assert_int_equal(ask_packed(rig, round + 1, chunk, WIRE_KNOWS | WIRE_PACK), WIRE_DATA);
            assert_int_equal(rig->answer.flags, WIRE_TAKES | WIRE_PACKED);
            assert_true(rig->n_payload < n - n / 16);
            assert_int_equal(wire_check(&rig->answer, rig->payload, rig->n_payload, NULL), 0);
            assert_int_equal(packer_unpack(packer, rig->payload, rig->n_payload, back, n, NULL), 0);
            assert_memory_equal(back, plain, n);
            free(plain);
            free(back);
        }
    }
    packer_destroy(&packer);
    rig_free(rig);
    way_down = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_make_the_parameters),
        cmocka_unit_test(states_go_down_as_they_are),
        cmocka_unit_test(older_changes_are_there),
        cmocka_unit_test(what_is_left_out_is_kept),
        cmocka_unit_test(what_is_not_there_is_refused),
        cmocka_unit_test(changes_are_packed_where_they_may),
    };
    return cmocka_run_group_tests_name("aggregator_change", tests, NULL, NULL);
}
