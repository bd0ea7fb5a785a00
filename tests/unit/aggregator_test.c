/* The aggregator's handlers without sockets. aggregator_client_test.c has them behind real ones. */
#include "aggregator_rig.h"

#include <fcntl.h>
#include <math.h>

#include "base/log.h"

static void refused(rig_t *rig, wire_nack_t code, wire_header_t header, const void *payload,
                    size_t n)
{
    assert_int_equal(data(rig, header, payload, n), WIRE_NACK);
    if (rig->answer.code != code)
        fail_msg("refused as \"%s\" (%s), not \"%s\"", wire_nack_name(rig->answer.code),
                 rig->payload, wire_nack_name(code));
}

/* Two rounds against the formula in f64: D = sum(w d) / sum(w); v = mu v + D; theta -= lr (D + mu
 * v). */
static void rounds_follow_the_formula(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    assign(rig, 0, N);
    assert_string_equal(rig->error, "");
    put_init(rig);
    static const uint32_t fences[K] = {1, 1, 1};
    static const uint64_t weights[K] = {10, 20, 30};
    double *theta = calloc(N, sizeof *theta), *v = calloc(N, sizeof *v), worst = 0;
    for (uint64_t i = 0; i < N; i++) theta[i] = value(9, i);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t k = 0; k < K; k++)
            for (int chunk = 0; chunk < 2; chunk++)
                assert_int_equal(put_delta(rig, round, k, 1, weights[k], chunk, "f32"), WIRE_ACK);
        commit(rig, round, fences, weights);
        assert_string_equal(rig->error, "");
        float *have = get_params(rig, round + 1);
        for (uint64_t i = 0; i < N; i++) {
            double d = 0;
            for (uint32_t k = 0; k < K; k++)
                d += (double)weights[k] / 60 * value(100 * round + k, i);
            v[i] = MU * v[i] + d;
            theta[i] -= LR * (d + MU * v[i]);
            double off = fabs(have[i] - theta[i]);
            if (!(off <= worst)) worst = off;
        }
        free(have);
    }
    /* f32 results of magnitude below 4: half a unit in the last place is 1.2e-7, twice. */
    if (!(worst < 5e-7)) fail_msg("largest deviation %g", worst);
    float *before = get_params(rig, 1);
    assert_non_null(before);
    free(before);
    assert_null(get_params(rig, 0)); /* only the present round and the one before */
    assert_int_equal(rig->answer.code, NACK_WRONG_ROUND);
    free(theta);
    free(v);
    rig_free(rig);
}

/* The same round disturbed: any order, chunks twice, another holder's chunks withdrawn by FENCE or
 * by the arrival of a higher fence, a replica that is not committed. */
static float *disturbed_round(int variant, const char *codec)
{
    rig_t *rig = rig_new();
    assign(rig, 0, N);
    put_init(rig);
    static const uint64_t weights[K] = {10, 20, 30};
    uint32_t fences[K] = {2, 1, 1};
    if (variant == 0) {
        fence(rig, 0, 0, 2);
        for (uint32_t k = 0; k < K; k++)
            for (int chunk = 0; chunk < 2; chunk++)
                put_delta(rig, 0, k, fences[k], weights[k], chunk, codec);
    } else {
        put_delta(rig, 0, 0, 1, 17, 1, codec); /* the lost worker's, with another weight */
        put_delta(rig, 0, 2, 1, 30, 1, codec);
        put_delta(rig, 0, 0, 1, 17, 0, codec);
        if (variant == 1) fence(rig, 0, 0, 2);
        put_delta(rig, 0, 0, 2, 10, 1, codec);
        assert_int_equal(put_delta(rig, 0, 0, 1, 17, 0, codec), WIRE_NACK);
        assert_int_equal(rig->answer.code, NACK_OLD_FENCE);
        put_delta(rig, 0, 1, 1, 20, 1, codec);
        put_delta(rig, 0, 2, 1, 30, 0, codec);
        put_delta(rig, 0, 1, 1, 20, 0, codec);
        put_delta(rig, 0, 1, 1, 20, 0, codec); /* once more */
        put_delta(rig, 0, 0, 2, 10, 0, codec);
    }
    commit(rig, 0, fences, weights);
    assert_string_equal(rig->error, "");
    float *theta = get_params(rig, 1);
    rig_free(rig);
    return theta;
}

static void the_sum_knows_no_order(void **unused)
{
    (void)unused;
#define CODEC_NAME(word, ...) #word,
    static const char *const codecs[] = {CODECS(CODEC_NAME)};
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        float *calm = disturbed_round(0, codecs[c]);
        for (int variant = 1; variant < 3; variant++) {
            float *other = disturbed_round(variant, codecs[c]);
            assert_memory_equal(calm, other, N * sizeof *calm);
            free(other);
        }
        free(calm);
    }
}

static void a_replica_that_is_not_named_is_left_out(void **unused)
{
    (void)unused;
    static const uint64_t weights[K] = {10, 20, 30};
    static const uint32_t two[K] = {1, 0, 1};
    float *theta[2];
    for (int with = 0; with < 2; with++) {
        rig_t *rig = rig_new();
        assign(rig, 0, N);
        put_init(rig);
        for (uint32_t k = 0; k < K; k++)
            for (int chunk = 0; chunk < 2; chunk++)
                if (k != 1 || with) put_delta(rig, 0, k, 1, weights[k], chunk, "f32");
        commit(rig, 0, two, weights);
        theta[with] = get_params(rig, 1);
        rig_free(rig);
    }
    assert_memory_equal(theta[0], theta[1], N * sizeof(float));
    free(theta[0]);
    free(theta[1]);
}

static void commits_that_do_not_fit(void **unused)
{
    (void)unused;
    static const uint64_t weights[K] = {10, 20, 30}, others[K] = {10, 20, 31};
    static const uint32_t all[K] = {1, 1, 1}, newer[K] = {1, 2, 1}, none[K] = {0};
    rig_t *rig = rig_new();
    assign(rig, 0, N);
    put_init(rig);
    for (uint32_t k = 0; k < K; k++)
        for (int chunk = 0; chunk < 2; chunk++)
            if (k < 2 || chunk == 0) put_delta(rig, 0, k, 1, weights[k], chunk, "f32");
    commit(rig, 0, all, weights);
    assert_non_null(strstr(rig->error, "replica 2"));
    put_delta(rig, 0, 2, 1, 30, 1, "f32");
    commit(rig, 0, newer, weights);
    assert_non_null(strstr(rig->error, "replica 1"));
    commit(rig, 0, all, others);
    assert_non_null(strstr(rig->error, "replica 2"));
    commit(rig, 5, all, weights);
    assert_non_null(strstr(rig->error, "round 5"));
    commit(rig, 0, none, weights);
    assert_string_not_equal(rig->error, "");
    rig_free(rig);
}

static void requests_that_do_not_fit(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    float *zeros = calloc(MSG_CHUNK_FLOATS, sizeof *zeros);
    wire_header_t good = chunk_header(WIRE_PUT_DELTA, 1), bad;
    size_t n = good.count * 4;
    good.fence = good.weight = 1;
    good.codec = 1;
    refused(rig, NACK_NOT_READY, good, zeros, n); /* before ASSIGN */
    assign(rig, 0, N);
    refused(rig, NACK_WRONG_ROUND, good, zeros, n); /* before the first values */
    refused(rig, NACK_NOT_READY, chunk_header(WIRE_GET_PARAMS, 0), NULL, 0);
    put_init(rig);
    assert_int_equal(data(rig, good, zeros, n), WIRE_ACK);
    bad = good, bad.run++;
    refused(rig, NACK_WRONG_RUN, bad, zeros, n);
    bad = good, bad.round++;
    refused(rig, NACK_WRONG_ROUND, bad, zeros, n);
    bad = good, bad.fence = 0;
    refused(rig, NACK_OLD_FENCE, bad, zeros, n);
    bad = good, bad.replica = K;
    refused(rig, NACK_BAD_MESSAGE, bad, zeros, n);
    bad = good, bad.weight = 101;
    refused(rig, NACK_BAD_MESSAGE, bad, zeros, n);
    bad = chunk_header(WIRE_GET_PARAMS, 1), bad.count++;
    refused(rig, NACK_BAD_RANGE, bad, NULL, 0);
    refused(rig, NACK_BAD_MESSAGE, (wire_header_t){.type = WIRE_ACK}, NULL, 0);
    /* A payload damaged on the way, and bytes that are no header at all. */
    uint8_t bytes[WIRE_HEADER_BYTES] = {0};
    wire_pack(&good, bytes);
    aggregator_on_data(&rig->state, &peer, bytes, sizeof bytes, "damaged", 7);
    assert_int_equal(rig->answer.code, NACK_DAMAGED);
    aggregator_on_data(&rig->state, &peer, "junk", 4, NULL, 0);
    assert_int_equal(rig->state.data_dropped, 1);
    free(zeros);
    rig_free(rig);
}

/* Where peers have keys, their role says what they may ask; without keys everybody may. */
static void keys_give_rights(void **unused)
{
    (void)unused;
    static const struct {
        wire_type_t type;
        const char *roles;
    } rows[] = {
        {WIRE_GET_OBJECT, "compiler worker supervisor shepherd"},
        {WIRE_PUT_OBJECT, "compiler worker supervisor shepherd"},
        {WIRE_GET_PARAMS, "worker supervisor shepherd compiler"},
        {WIRE_PUT_DELTA, "worker supervisor"},
        {WIRE_PUT_INIT, "shepherd"},
        {WIRE_GET_OUTER, "shepherd"},
        {WIRE_PUT_OUTER, "shepherd"},
    };
    rig_t *rig = rig_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (keys_role_t role = KEYS_NONE; role < KEYS_ROLES; role++) {
            uint8_t bytes[WIRE_HEADER_BYTES];
            const keys_card_t card = {.role = role, .name = "one"};
            const msg_peer_t from = {.n = 5, .card = role ? &card : NULL};
            wire_header_t header = {.type = rows[i].type, .check = hash_fast("", 0)};
            wire_pack(&header, bytes);
            int before = rig->n_answer;
            aggregator_on_data(&rig->state, &from, bytes, sizeof bytes, "", 0);
            assert_int_equal(rig->n_answer, before + 1);
            bool may = role == KEYS_NONE || strstr(rows[i].roles, keys_role_name(role));
            if ((rig->answer.code != NACK_NOT_ALLOWED) != may)
                fail_msg("%s of %s", wire_type_name(rows[i].type), keys_role_name(role));
        }
    assert_true(rig->state.data_refused > 20);
    rig_free(rig);
}

static void an_assignment_said_again_changes_nothing(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    rig->attempt = 5;
    assign(rig, 0, N);
    put_init(rig);
    assert_true(rig->state.ready);
    assign(rig, 0, N);
    assert_string_equal(rig->error, "");
    assert_true(rig->state.ready);
    rig->attempt = 6; /* a new beginning */
    assign(rig, 0, N);
    assert_false(rig->state.ready);
    rig->attempt = 0; /* a shepherd that does not number them */
    assign(rig, 0, N);
    put_init(rig);
    assign(rig, 0, N);
    assert_false(rig->state.ready);
    rig_free(rig);
}

/* They are acknowledged, so that the worker comes to its end, and marked; nothing of them counts.
 */
static void updates_that_cannot_be_admitted(void **unused)
{
    (void)unused;
    enum { WHOLE, CODEC, PLACE, SHORT, BEHIND, BYTES, NOT_A_NUMBER, HUGE_VALUE, DAMAGED, CASES };
    static const char *const reasons[CASES] = {"",      "shape",  "shape",   "shape", "shape",
                                               "shape", "finite", "outlier", "hash"};
    float *values = calloc(MSG_CHUNK_FLOATS, sizeof *values);
    for (int i = 0; i < CASES; i++) {
        rig_t *rig = rig_new();
        assign(rig, 0, N);
        put_init(rig);
        assert_int_equal(put_delta(rig, 0, 1, 1, 10, 0, "f32"), WIRE_ACK);
        wire_header_t header = chunk_header(WIRE_PUT_DELTA, 1);
        size_t n = header.count * 4;
        header.replica = header.fence = 1;
        header.weight = 10;
        header.codec = i == CODEC ? 99 : 1;
        header.begin += i == PLACE ? 1 : i == BEHIND ? N : 0;
        header.count -= i == SHORT;
        values[7] = i == NOT_A_NUMBER ? NAN : i == HUGE_VALUE ? 65 : 0.5F;
        if (i == BYTES || i == SHORT) n -= 4;
        uint8_t bytes[WIRE_HEADER_BYTES];
        header.check = hash_fast(values, n) + (i == DAMAGED);
        wire_pack(&header, bytes);
        int sent = 0;
        do {
            aggregator_on_data(&rig->state, &peer, bytes, sizeof bytes, values, n);
        } while (rig->answer.type == WIRE_NACK && rig->answer.code == NACK_DAMAGED && ++sent < 999);
        if (rig->answer.type != WIRE_ACK) fail_msg("case %d: %s", i, (char *)rig->payload);
        assert_int_equal(rig->answer.code, i == WHOLE ? ACK_TAKEN : ACK_REFUSED);
        assert_string_equal(inspect(rig, 1, 1, 10)->reason, reasons[i]);
        assert_int_equal(rig->inspected.complete, i == WHOLE);
        assert_int_equal(inspect(rig, 1, 1, 11)->complete, false);
        assert_string_equal(inspect(rig, 1, 2, 10)->reason, ""); /* another lease */
        /* Given again under the next fence it is judged afresh. */
        for (int chunk = 0; chunk < 2; chunk++)
            assert_int_equal(put_delta(rig, 0, 1, 2, 10, chunk, "f32"), WIRE_ACK);
        assert_int_equal(inspect(rig, 1, 2, 10)->complete, true);
        assert_string_equal(rig->inspected.reason, "");
        rig_free(rig);
    }
    free(values);
}

/* Of round 1, and no packed payloads: damage, and in the end the update's. */
static void damaged_again_and_again(rig_t *rig, const codec_t *codec, const uint8_t *bytes)
{
    wire_header_t header = chunk_header(WIRE_PUT_DELTA, 0);
    header.round = header.replica = header.fence = 1;
    header.weight = 10;
    header.codec = (uint8_t)codec->id;
    header.flags = WIRE_KNOWS | WIRE_PACKED;
    for (int i = 0; i < 63; i++) assert_int_equal(data(rig, header, bytes, 1000), WIRE_NACK);
    assert_int_equal(data(rig, header, bytes, 1000), WIRE_ACK);
    assert_int_equal(rig->answer.code, ACK_REFUSED);
}

/* Packed on the line an update is what it was before; bytes that are no packed payload are damage. */
static void packed_updates(void **unused)
{
    (void)unused;
    rig_t *plain = rig_new(), *rig = rig_new();
    rig_t *const both[] = {plain, rig};
    for (int i = 0; i < 2; i++) {
        assign(both[i], 0, N);
        put_init(both[i]);
    }
    const codec_t *codec = codec_find("bf16", NULL);
    packer_t *packer = packer_new();
    uint8_t *bytes = malloc(MSG_PAYLOAD_BYTES), *packed = malloc(MSG_PAYLOAD_BYTES);
    float *values = calloc(MSG_CHUNK_FLOATS, sizeof *values);
    for (int chunk = 0; chunk < 2; chunk++) {
        wire_header_t header = chunk_header(WIRE_PUT_DELTA, chunk);
        header.replica = header.fence = 1;
        header.weight = 10;
        header.codec = (uint8_t)codec->id;
        for (uint64_t i = 0; i < header.count; i++)
            values[i] = (float)rng_normal(5, header.begin + i);
        size_t n;
        codec_encode(codec, values, header.count, bytes, MSG_PAYLOAD_BYTES, &n, NULL);
        assert_int_equal(data(plain, header, bytes, n), WIRE_ACK);
        header.flags = WIRE_KNOWS | WIRE_PACKED;
        if (chunk) { /* before it */
            for (int i = 0; i < 9; i++) data(rig, header, bytes, n);
            refused(rig, NACK_DAMAGED, header, bytes, n);
        }
        size_t got = packer_pack(packer, bytes, n, packed);
        assert_true(got > 0 && got < n);
        for (int twice = 0; twice < 2; twice++) {
            assert_int_equal(data(rig, header, packed, got), WIRE_ACK);
            assert_int_equal(rig->answer.code, ACK_TAKEN);
            assert_int_equal(rig->answer.flags, WIRE_TAKES);
        }
    }
    assert_true(inspect(rig, 1, 1, 10)->complete);
    assert_string_equal(rig->inspected.reason, "");
    assert_true(inspect(rig, 1, 1, 10)->norm2 == inspect(plain, 1, 1, 10)->norm2);
    const uint32_t fences[K] = {0, 1};
    const uint64_t of[K] = {0, 10};
    float *theta[2];
    for (int i = 0; i < 2; i++) {
        commit(both[i], 0, fences, of);
        assert_string_equal(both[i]->error, "");
        theta[i] = get_params(both[i], 1);
    }
    assert_memory_equal(theta[0], theta[1], N * sizeof *theta[0]);
    damaged_again_and_again(rig, codec, bytes);
    for (int i = 0; i < 2; i++) {
        free(theta[i]);
        rig_free(both[i]);
    }
    free(values);
    free(bytes);
    free(packed);
    packer_destroy(&packer);
}

/* Summed over the chunks in their order, whatever the order in which they came. */
static void norms_are_of_what_arrived(void **unused)
{
    (void)unused;
    double norm2[2] = {0}, expected = 0;
    for (uint64_t i = 0; i < N; i++) expected += (double)value(1, i) * value(1, i);
    for (int last = 0; last < 2; last++) {
        rig_t *rig = rig_new();
        assign(rig, 0, N);
        put_init(rig);
        put_delta(rig, 0, 1, 1, 10, 1 - last, "f32");
        assert_int_equal(inspect(rig, 1, 1, 10)->complete, false);
        put_delta(rig, 0, 1, 1, 10, last, "f32");
        norm2[last] = inspect(rig, 1, 1, 10)->norm2;
        rig_free(rig);
    }
    assert_true(norm2[0] == norm2[1]);
    assert_true(fabs(norm2[0] - expected) < 1e-9 * expected); /* f64 sums of N terms */
}

static void assignments_that_do_not_fit(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    assign(rig, 10, 5);
    assert_string_not_equal(rig->error, "");
    assign(rig, 0, (uint64_t)1 << 50);
    assert_non_null(strstr(rig->error, "MB"));
    assert_false(rig->state.assigned);
    assign(rig, 7, 7); /* a shard without parameters serves its run all the same */
    assert_string_equal(rig->error, "");
    static const uint32_t fences[K] = {1, 1, 1};
    static const uint64_t weights[K] = {1, 1, 1};
    commit(rig, 0, fences, weights);
    assert_string_equal(rig->error, "");
    assert_int_equal(rig->state.meta.round, 1);
    rig_free(rig);
}

static void objects(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new();
    enum { SIZE = MSG_CHUNK_BYTES + 100 };
    uint8_t *bytes = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (uint8_t)rng_bits(1, i);
    char hash[HASH_HEX];
    hash_content(bytes, SIZE, hash);
    wire_header_t head = {.type = WIRE_PUT_OBJECT, .count = MSG_CHUNK_BYTES, .total = SIZE};
    wire_hash_parse(hash, head.object, NULL);
    wire_header_t tail = head, get = head, wrong;
    tail.begin = MSG_CHUNK_BYTES;
    tail.count = 100;
    get.type = WIRE_GET_OBJECT;
    refused(rig, NACK_UNKNOWN_OBJECT, get, NULL, 0);
    wrong = tail, wrong.begin += 1;
    refused(rig, NACK_BAD_RANGE, wrong, bytes, 100);
    wrong = tail, wrong.total = 0;
    refused(rig, NACK_BAD_RANGE, wrong, bytes, 100);
    /* Out of order and twice. */
    assert_int_equal(data(rig, tail, bytes + MSG_CHUNK_BYTES, 100), WIRE_ACK);
    assert_int_equal(data(rig, tail, bytes + MSG_CHUNK_BYTES, 100), WIRE_ACK);
    assert_int_equal(rig->answer.code, 0);
    assert_int_equal(data(rig, head, bytes, MSG_CHUNK_BYTES), WIRE_ACK);
    assert_int_equal(rig->answer.code, 1);
    assert_int_equal(data(rig, head, bytes, MSG_CHUNK_BYTES), WIRE_ACK); /* there already */
    assert_int_equal(rig->answer.code, 1);
    get.begin = MSG_CHUNK_BYTES - 10;
    assert_int_equal(data(rig, get, NULL, 0), WIRE_DATA);
    assert_int_equal(rig->answer.total, SIZE);
    assert_int_equal(rig->n_payload, 110); /* short at the end */
    assert_memory_equal(rig->payload, bytes + get.begin, 110);
    get.begin = SIZE + 1;
    refused(rig, NACK_BAD_RANGE, get, NULL, 0);
    /* Other bytes than the name says are not kept under it. */
    wire_header_t lie = {.type = WIRE_PUT_OBJECT, .count = 4, .total = 4};
    memset(lie.object, 5, sizeof lie.object);
    refused(rig, NACK_STORAGE, lie, "1234", 4);
    lie.type = WIRE_GET_OBJECT;
    refused(rig, NACK_UNKNOWN_OBJECT, lie, NULL, 0);
    assert_int_equal(rig->state.uploads.n, 0);
    free(bytes);
    rig_free(rig);
}

/* An object so large that it is hashed in several goes. */
static void large_objects(void **unused)
{
    (void)unused;
    enum { CHUNKS = 11, SIZE = (CHUNKS - 1) * MSG_CHUNK_BYTES + 77 };
    char root[] = "/tmp/pcp-aggregator-test.XXXXXX", hash[HASH_HEX];
    assert_non_null(mkdtemp(root));
    rig_t *rig = rig_open(root, false);
    uint8_t *bytes = calloc(1, SIZE);
    for (size_t i = 0; i < SIZE; i += 97) bytes[i] = (uint8_t)rng_bits(1, i);
    hash_content(bytes, SIZE, hash);
    wire_header_t put = {.type = WIRE_PUT_OBJECT, .total = SIZE};
    wire_hash_parse(hash, put.object, NULL);
    wire_header_t get = put;
    get.type = WIRE_GET_OBJECT;
    get.count = 10;
    for (int life = 0; life < 2; life++) {
        /* From behind: nothing can be hashed before the last one comes, and then not all at once.
         */
        for (int i = CHUNKS; i-- > 0;) {
            put.begin = (uint64_t)i * MSG_CHUNK_BYTES;
            put.count = SIZE - put.begin < MSG_CHUNK_BYTES ? SIZE - put.begin : MSG_CHUNK_BYTES;
            wire_type_t type = data(rig, put, bytes + put.begin, put.count);
            assert_int_equal(type, i > 0 ? WIRE_ACK : WIRE_NACK);
        }
        assert_int_equal(rig->answer.code, NACK_NOT_READY);
        assert_true(aggregator_busy(&rig->state));
        while (aggregator_work(&rig->state)) continue;
        assert_int_equal(data(rig, put, bytes, put.count), WIRE_ACK);
        assert_int_equal(rig->answer.code, ACK_COMPLETE);
        assert_int_equal(data(rig, get, NULL, 0), WIRE_DATA);
        /* The next process verifies it before it serves it, a piece at a time. */
        rig_close(rig);
        rig = rig_open(root, false);
        refused(rig, NACK_NOT_READY, get, NULL, 0);
        while (aggregator_work(&rig->state)) continue;
        assert_int_equal(data(rig, get, NULL, 0), WIRE_DATA);
        rig_close(rig);
        rig = rig_open(root, false);
        char *path = mem_printf("%s/%.2s/%s", root, hash, hash);
        int fd = open(path, O_WRONLY);
        assert_int_equal(pwrite(fd, "!", 1, SIZE / 2), 1); /* damaged: it is none, and can be put */
        close(fd);
        free(path);
        refused(rig, NACK_NOT_READY, get, NULL, 0);
        while (aggregator_work(&rig->state)) continue;
        refused(rig, NACK_UNKNOWN_OBJECT, get, NULL, 0);
    }
    free(bytes);
    rig_free(rig);
}

int main(void)
{
    log_init("aggregator_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_follow_the_formula),
        cmocka_unit_test(the_sum_knows_no_order),
        cmocka_unit_test(a_replica_that_is_not_named_is_left_out),
        cmocka_unit_test(commits_that_do_not_fit),
        cmocka_unit_test(requests_that_do_not_fit),
        cmocka_unit_test(keys_give_rights),
        cmocka_unit_test(an_assignment_said_again_changes_nothing),
        cmocka_unit_test(updates_that_cannot_be_admitted),
        cmocka_unit_test(packed_updates),
        cmocka_unit_test(norms_are_of_what_arrived),
        cmocka_unit_test(assignments_that_do_not_fit),
        cmocka_unit_test(objects),
        cmocka_unit_test(large_objects),
    };
    return cmocka_run_group_tests_name("aggregator", tests, NULL, NULL);
}
