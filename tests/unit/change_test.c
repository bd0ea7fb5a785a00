/* outer/change: both ends have the same parameters to the bit; what a codec leaves out is not lost; bytes that are none of
 * its. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "outer/change.h"

enum { N = CHANGE_GRAIN + CODEC_BLOCK + 77, CHUNK = 2 * CHANGE_GRAIN };

typedef struct {
    change_t change;
    float *theta, *error, *x, *error_next, *scratch, *worker;
    size_t n_bytes;
    uint8_t *bytes;
} rig_t;

static float *values(size_t n, uint64_t stream, double size)
{
    float *out = mem_calloc(n, sizeof *out);
    for (size_t i = 0; i < n; i++) out[i] = (float)(size * (rng_uniform(stream, i) - 0.5));
    return out;
}

static rig_t rig_from(const char *codec, uint64_t exact_from)
{
    rig_t rig = {.change = {change_codec_named(codec, NULL), exact_from}};
    rig.theta = values(N, 1, 2);
    rig.worker = values(N, 1, 2);
    rig.error = mem_calloc(N, sizeof(float));
    rig.error_next = mem_calloc(N, sizeof(float));
    rig.scratch = mem_calloc(CHUNK, sizeof(float));
    rig.x = mem_calloc(N, sizeof(float));
    rig.n_bytes = change_bytes(&rig.change, 0, N);
    rig.bytes = mem_calloc(rig.n_bytes, 1);
    return rig;
}

static rig_t rig_new(const char *codec)
{
    return rig_from(codec, 0);
}

static void rig_free(rig_t *rig)
{
    float *all[] = {rig->theta, rig->error, rig->x, rig->error_next, rig->scratch, rig->worker};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(rig->bytes);
}

/* A round whose outer step adds `step`; theta and error are those of the next one then. */
static void make(rig_t *rig, const float *step)
{
    uint8_t *at = rig->bytes + CHANGE_HEAD;
    err_t err = {0};
    for (size_t i = 0; i < N; i++) rig->x[i] = rig->theta[i] + step[i];
    for (size_t first = 0; first < N; first += CHANGE_GRAIN) {
        size_t n = N - first < CHANGE_GRAIN ? N - first : CHANGE_GRAIN;
        const change_grain_t grain = {.begin = first,
                                      .n = n,
                                      .theta = rig->theta + first,
                                      .error = rig->error + first,
                                      .x = rig->x + first,
                                      .error_next = rig->error_next + first,
                                      .scratch = rig->scratch};
        if (change_make(&rig->change, &grain, at, &err) < 0) fail_msg("%s", err.text);
        at += change_bytes(&rig->change, first, n) - CHANGE_HEAD;
    }
    assert_int_equal(at - rig->bytes, rig->n_bytes);
    change_seal(rig->x, N, rig->bytes);
    memcpy(rig->theta, rig->x, N * sizeof(float));
    memcpy(rig->error, rig->error_next, N * sizeof(float));
}

static int apply(rig_t *rig, err_t *err)
{
    const change_place_t to = {0, N, rig->worker, rig->scratch};
    return change_apply(&rig->change, rig->bytes, rig->n_bytes, &to, err);
}

/* Eight rounds: the same bits at both ends, and all of the steps arrive but for the last error, which is what one
 * encoding may leave out of a step and its own error. */
static void both_ends_agree(void **state)
{
    static const struct {
        const char *codec;
        double most; /* of the largest step: error, as codec.h promises of a value, summed up */
    } rows[] = {{"bf16", 0.005}, {"int8", 0.005}, {"e3m0", 0.6}};
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        rig_t rig = rig_new(rows[r].codec);
        float *first = values(N, 1, 2);
        double *sum = mem_calloc(N, sizeof *sum), worst = 0;
        for (uint64_t round = 0; round < 8; round++) {
            float *step = values(N, 10 + round, 0.02);
            make(&rig, step);
            for (size_t i = 0; i < N; i++) sum[i] += (double)step[i];
            free(step);
            err_t err = {0};
            if (apply(&rig, &err) < 0) fail_msg("%s: %s", rows[r].codec, err.text);
            assert_memory_equal(rig.worker, rig.theta, N * sizeof(float));
        }
        for (size_t i = 0; i < N; i++) {
            double off = fabs((double)first[i] + sum[i] - (double)rig.worker[i]);
            assert_true(fabs(off - fabs((double)rig.error[i])) < 1e-5);
            worst = off > worst ? off : worst;
        }
        if (worst > rows[r].most * 0.01) fail_msg("%s: %g", rows[r].codec, worst);
        free(first);
        free(sum);
        rig_free(&rig);
    }
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    rig_t rig = rig_new("int8");
    float *step = values(N, 5, 0.02);
    err_t err = {0};
    make(&rig, step);
    rig.n_bytes--;
    assert_int_equal(apply(&rig, &err), -1);
    assert_int_equal(err.code, ERR_SHAPE);
    rig.n_bytes++;
    rig.worker[N / 2] += 1; /* of another run */
    assert_int_equal(apply(&rig, &err), -1);
    assert_int_equal(err.code, ERR_CORRUPT);
    assert_non_null(strstr(err.text, "for other parameters"));
    for (uint64_t i = 0; i < 200; i++) {
        memcpy(rig.worker, rig.theta, N * sizeof(float));
        size_t at = rng_bits(3, i) % rig.n_bytes;
        rig.bytes[at] ^= (uint8_t)(1u << i % 8);
        assert_int_equal(apply(&rig, &err), -1);
        rig.bytes[at] ^= (uint8_t)(1u << i % 8);
    }
    step[7] = NAN;
    for (size_t i = 0; i < N; i++) rig.x[i] = rig.theta[i] + step[i];
    const change_grain_t grain = {.n = CODEC_BLOCK,
                                  .theta = rig.theta,
                                  .error = rig.error,
                                  .x = rig.x,
                                  .error_next = rig.error_next,
                                  .scratch = rig.scratch};
    assert_int_equal(change_make(&rig.change, &grain, rig.bytes + CHANGE_HEAD, &err), -1);
    assert_int_equal(err.code, ERR_NUMERIC);
    free(step);
    rig_free(&rig);
}

/* A counter among parameters of other sizes, and running statistics: they arrive as they became, and neither they nor their
 * neighbours have an error of theirs. */
static void states_arrive_as_they_are(void **state)
{
    static const char *const all[] = {"bf16", "int8", "e3m0"};
    static const uint64_t from[] = {N - 1, CHANGE_GRAIN, CHANGE_GRAIN - 5, 3};
    (void)state;
    for (size_t r = 0; r < 12; r++) {
        uint64_t states = from[r % 4];
        rig_t rig = rig_from(all[r / 4], states);
        for (uint64_t round = 0; round < 4; round++) {
            float *step = values(N, 10 + round, 0.02);
            err_t err = {0};
            step[N - 1] = 1e6f;
            float *want = mem_calloc(N, sizeof *want);
            for (size_t i = 0; i < N; i++) want[i] = rig.theta[i] + step[i];
            make(&rig, step);
            if (apply(&rig, &err) < 0) fail_msg("%s: %s", all[r / 4], err.text);
            assert_memory_equal(rig.worker, rig.theta, N * sizeof(float));
            assert_memory_equal(rig.worker + states, want + states, (N - states) * sizeof(float));
            for (size_t i = states; i < N; i++) assert_true(rig.error[i] == 0);
            free(step);
            free(want);
        }
        rig_free(&rig);
    }
}

/* All chunks of a range together have the bytes that each has. */
static void room_is_the_sum_of_chunks(void **state)
{
    (void)state;
    enum { LONG = 4 * CHUNK + 100 };
    static const uint64_t begins[] = {0, 1000},
                          from[] = {0, 1, CHUNK, CHUNK + 1000, 2 * CHUNK + 7, LONG + 999};
    for (size_t r = 0; r < 12; r++) {
        const change_t change = {change_codec_named("int8", NULL), from[r / 2]};
        size_t sum = 0;
        for (uint64_t at = 0; at < LONG; at += CHUNK) {
            assert_int_equal(change_room(&change, begins[r % 2], at, CHUNK), sum);
            sum += change_bytes(&change, begins[r % 2] + at, LONG - at < CHUNK ? LONG - at : CHUNK);
        }
        assert_int_equal(change_room(&change, begins[r % 2], LONG, CHUNK), sum);
    }
}

static void codecs(void **state)
{
    (void)state;
    err_t err = {0};
    assert_null(change_codec(0, &err));
    assert_null(change_codec_named("f32", &err));
    assert_int_equal(err.code, ERR_OK);
    assert_null(change_codec_named("topk", &err));
    assert_int_equal(err.code, ERR_ARG);
    err = (err_t){0};
    assert_null(change_codec(99, &err));
    assert_int_equal(err.code, ERR_ARG);
    const change_t int8 = {change_codec_named("int8", NULL), 0};
    assert_int_equal(change_bytes(&int8, 0, CODEC_BLOCK + 1), 8 + CODEC_BLOCK + 1 + 2 * 4);
    assert_int_equal(change_room(&int8, 0, 2 * CHUNK + 3, CHUNK),
                     2 * (8 + CHUNK + CHUNK / 1024) + 15);
    assert_int_equal(change_room(&int8, 0, 0, CHUNK), 0);
    change_t same = {0};
    const change_t exact = {int8.codec, 5};
    assert_int_equal(change_word(&exact), 0x83);
    assert_int_equal(change_of_word(0x83, 5, &same, &err), 0);
    assert_true(same.codec == int8.codec && same.exact_from == 5);
    assert_int_equal(change_of_word(3, 5, &same, &err), 0);
    assert_true(same.codec == int8.codec && same.exact_from == 0);
    assert_int_equal(change_word(&same), 3);
    err = (err_t){0};
    assert_int_equal(change_of_word(99, 5, &same, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_agree),
        cmocka_unit_test(what_is_none_is_refused),
        cmocka_unit_test(states_arrive_as_they_are),
        cmocka_unit_test(room_is_the_sum_of_chunks),
        cmocka_unit_test(codecs),
    };
    return cmocka_run_group_tests_name("change", tests, NULL, NULL);
}
