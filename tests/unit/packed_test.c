/* Packed payloads: what codecs make comes back bit for bit in fewer bytes, noise is left alone, and bytes that are no packed
 * payload of the wanted size are refused without a byte beyond it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "msg/limits.h"
#include "msg/packed.h"
#include "outer/codec.h"

enum { N = MSG_CHUNK_FLOATS, MARK = 0xa5 };

static float *normal(void)
{
    float *values = malloc(N * sizeof *values);
    for (uint64_t i = 0; i < N; i++) values[i] = (float)(1e-3 * rng_normal(7, i));
    return values;
}

static void what_codecs_make(void **unused)
{
    (void)unused;
    static const struct {
        const char *codec;
        double most; /* of its bytes that are left */
    } rows[] = {{"f32", 0.95}, {"bf16", 0.85}, {"int8", 0.94}, {"e3m0", 0.90}};
    packer_t *packer = packer_new();
    float *values = normal();
    uint8_t *bytes = malloc(MSG_PAYLOAD_BYTES), *packed = malloc(MSG_PAYLOAD_BYTES);
    uint8_t *back = malloc(MSG_PAYLOAD_BYTES);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n;
        err_t err = {0};
        const codec_t *codec = codec_find(rows[i].codec, NULL);
        assert_int_equal(codec_encode(codec, values, N, bytes, MSG_PAYLOAD_BYTES, &n, &err), 0);
        size_t got = packer_pack(packer, bytes, n, packed);
        if (got == 0 || (double)got > rows[i].most * (double)n)
            fail_msg("%s: %zu of %zu bytes", rows[i].codec, got, n);
        memset(back, MARK, MSG_PAYLOAD_BYTES);
        assert_int_equal(packer_unpack(packer, packed, got, back, n, &err), 0);
        assert_memory_equal(back, bytes, n);
        assert_int_equal(back[n], MARK);
        memset(back, MARK, MSG_PAYLOAD_BYTES);
        assert_int_equal(packer_unpack_most(packer, packed, got, back, MSG_PAYLOAD_BYTES, &err), n);
        assert_memory_equal(back, bytes, n);
    }
    free(values);
    free(bytes);
    free(packed);
    free(back);
    packer_destroy(&packer);
}

static void noise_is_not_worth_it(void **unused)
{
    (void)unused;
    packer_t *packer = packer_new();
    uint8_t bytes[4096], packed[4096];
    for (uint64_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(rng_uniform(3, i) * 256);
    assert_int_equal(packer_pack(packer, bytes, sizeof bytes, packed), 0);
    assert_int_equal(packer_pack(packer, bytes, 1, packed), 0);
    packer_destroy(&packer);
}

/* Of what the library would open by itself: a second frame behind the first, one to be skipped, a format of before
 * 2016, and a frame with a byte behind it. */
static void one_frame_alone(void **unused)
{
    (void)unused;
    enum { ROOM = 4096 };
    static const uint8_t skipped[] = {0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 7};
    static const uint8_t version_7[] = {0x27, 0xb5, 0x2f, 0xfd};
    packer_t *packer = packer_new();
    uint8_t zeros[ROOM] = {0}, packed[ROOM], two[2 * ROOM], room[2 * ROOM];
    size_t n = packer_pack(packer, zeros, sizeof zeros, packed);
    assert_int_equal(packer_unpack_most(packer, packed, n, room, sizeof room, NULL), ROOM);
    const struct {
        const char *what;
        const void *before, *behind;
        size_t n_before, n_behind;
    } rows[] = {{"two frames", packed, packed, n, n},
                {"a frame behind one to be skipped", skipped, packed, sizeof skipped, n},
                {"a frame before one to be skipped", packed, skipped, n, sizeof skipped},
                {"a byte behind it", packed, zeros, n, 1},
                {"an old format", version_7, packed + 4, sizeof version_7, n - 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err_t err = {0};
        memcpy(two, rows[i].before, rows[i].n_before);
        memcpy(two + rows[i].n_before, rows[i].behind, rows[i].n_behind);
        n = rows[i].n_before + rows[i].n_behind;
        if (packer_unpack_most(packer, two, n, room, sizeof room, &err) != 0)
            fail_msg("%s is opened", rows[i].what);
        assert_int_equal(err.code, ERR_CORRUPT);
    }
    packer_destroy(&packer);
}

/* More than there is room for, less than is wanted, cut off, no frame at all. */
static void others_are_refused(void **unused)
{
    (void)unused;
    enum { BIG = 1 << 20, ROOM = 1 << 10 };
    packer_t *packer = packer_new();
    uint8_t *zeros = calloc(1, BIG), *packed = malloc(BIG), room[ROOM + 1];
    size_t n = packer_pack(packer, zeros, BIG, packed);
    assert_true(n > 0 && n < ROOM);
    err_t err = {0};
    room[ROOM] = MARK;
    assert_int_equal(packer_unpack(packer, packed, n, room, ROOM, &err), -1);
    assert_int_equal(err.code, ERR_CORRUPT);
    assert_int_equal(packer_unpack_most(packer, packed, n, room, ROOM, &err), 0);
    assert_int_equal(room[ROOM], MARK);
    assert_int_equal(packer_unpack(packer, packed, n, room, 0, NULL), -1); /* no room at all */
    n = packer_pack(packer, zeros, ROOM / 2, packed);
    assert_int_equal(packer_unpack(packer, packed, n, room, ROOM, &err), -1);
    if (!strstr(err.text, "512 bytes instead of 1024")) fail_msg("%s", err.text);
    for (size_t cut = 0; cut < n; cut++) {
        err = (err_t){0};
        assert_int_equal(packer_unpack(packer, packed, cut, room, ROOM / 2, &err), -1);
        assert_int_equal(err.code, ERR_CORRUPT);
    }
    for (uint64_t seed = 0; seed < 1000; seed++) {
        uint8_t noise[64];
        for (uint64_t i = 0; i < sizeof noise; i++)
            noise[i] = (uint8_t)(rng_uniform(seed, i) * 256);
        memcpy(noise, packed, seed % 8); /* with the head of a frame, or some of it */
        packer_unpack_most(packer, noise, sizeof noise, room, ROOM, NULL);
        assert_int_equal(room[ROOM], MARK);
    }
    free(zeros);
    free(packed);
    packer_destroy(&packer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_codecs_make),
        cmocka_unit_test(noise_is_not_worth_it),
        cmocka_unit_test(one_frame_alone),
        cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests_name("packed", tests, NULL, NULL);
}
