/* Zip archives, whole and damaged: places outside, sizes that lie, bombs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "data/zip.h"

typedef struct {
    uint8_t at[8192];
    size_t n;
} bytes_t;

static void put(bytes_t *b, uint64_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++) b->at[b->n++] = (uint8_t)(value >> 8 * i);
}

static void put_bytes(bytes_t *b, const void *bytes, size_t n)
{
    memcpy(b->at + b->n, bytes, n);
    b->n += n;
}

/* A member as it stands in the archive; sizes of 0xFFFFFFFF with the true ones in a ZIP64 field. */
typedef struct {
    const char *name;
    uint8_t packed[1024];
    size_t n_packed, n_bytes;
    uint32_t crc;
    int method, flags;
    bool zip64;
} member_t;

static member_t stored(const char *name, const void *bytes, size_t n)
{
    member_t m = {.name = name, .n_packed = n, .n_bytes = n};
    memcpy(m.packed, bytes, n);
    m.crc = (uint32_t)crc32(0, bytes, (unsigned)n);
    return m;
}

static member_t deflated(const char *name, const void *bytes, size_t n)
{
    member_t m = {.name = name, .n_bytes = n, .method = 8};
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)bytes, z.avail_in = (unsigned)n;
    z.next_out = m.packed, z.avail_out = sizeof m.packed;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    m.n_packed = z.total_out;
    deflateEnd(&z);
    m.crc = (uint32_t)crc32(0, bytes, (unsigned)n);
    return m;
}

static void put_sizes(bytes_t *b, const member_t *m)
{
    put(b, m->crc, 4);
    put(b, m->zip64 ? 0xFFFFFFFF : m->n_packed, 4);
    put(b, m->zip64 ? 0xFFFFFFFF : m->n_bytes, 4);
    put(b, strlen(m->name), 2);
    put(b, m->zip64 ? 20 : 0, 2);
}

static void put_extra(bytes_t *b, const member_t *m)
{
    put_bytes(b, m->name, strlen(m->name));
    if (!m->zip64) return;
    put(b, 1, 2), put(b, 16, 2), put(b, m->n_bytes, 8), put(b, m->n_packed, 8);
}

/* The end record: `zip64`, with one of ZIP64's in front. */
static void put_end(bytes_t *b, size_t n, size_t directory, bool zip64)
{
    size_t end = b->n;
    if (zip64) {
        put(b, 0x06064B50, 4), put(b, 44, 8), put(b, 45, 2), put(b, 45, 2), put(b, 0, 8);
        put(b, n, 8), put(b, n, 8), put(b, end - directory, 8), put(b, directory, 8);
        put(b, 0x07064B50, 4), put(b, 0, 4), put(b, end, 8), put(b, 1, 4);
    }
    put(b, 0x06054B50, 4), put(b, 0, 4);
    put(b, zip64 ? 0xFFFF : n, 2), put(b, zip64 ? 0xFFFF : n, 2);
    put(b, zip64 ? 0xFFFFFFFF : end - directory, 4), put(b, zip64 ? 0xFFFFFFFF : directory, 4);
    put(b, 4, 2), put_bytes(b, "note", 4);
}

static bytes_t archive(const member_t *m, size_t n, bool zip64)
{
    bytes_t b = {0};
    size_t place[8];
    for (size_t i = 0; i < n; i++) {
        place[i] = b.n;
        put(&b, 0x04034B50, 4), put(&b, 20, 2), put(&b, (uint64_t)m[i].flags, 2);
        put(&b, (uint64_t)m[i].method, 2), put(&b, 0, 4);
        put_sizes(&b, &m[i]), put_extra(&b, &m[i]), put_bytes(&b, m[i].packed, m[i].n_packed);
    }
    size_t directory = b.n;
    for (size_t i = 0; i < n; i++) {
        put(&b, 0x02014B50, 4), put(&b, 20, 2), put(&b, 20, 2), put(&b, (uint64_t)m[i].flags, 2);
        put(&b, (uint64_t)m[i].method, 2), put(&b, 0, 4), put_sizes(&b, &m[i]);
        put(&b, 0, 2), put(&b, 0, 4), put(&b, 0, 4), put(&b, place[i], 4), put_extra(&b, &m[i]);
    }
    put_end(&b, n, directory, zip64);
    return b;
}

static char text[3000];

static void fill_text(void)
{
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i % 7 * 31);
}

/* The member, `some` bytes at a time. */
static void check_pieces(const zip_member_t *m, const char *want, size_t some)
{
    err_t err = {0};
    char got[8192];
    zip_stream_t *stream = zip_stream_new(m, &err);
    assert_non_null(stream);
    for (size_t at = 0, n; at < m->n_bytes; at += n) {
        n = m->n_bytes - at < some ? m->n_bytes - at : some;
        if (zip_stream_read(stream, got + at, n, &err) < 0) fail_msg("%s", err.text);
    }
    assert_memory_equal(got, want, m->n_bytes);
    assert_int_equal(zip_stream_packed(stream), m->n_packed);
    assert_int_equal(zip_stream_read(stream, got, 1, &err), -1); /* nothing is left */
    zip_stream_close(&stream);
}

static void test_members(void **state)
{
    (void)state;
    fill_text();
    for (int zip64 = 0; zip64 < 2; zip64++) {
        err_t err = {0};
        member_t m[3] = {stored("a.npy", "hello", 5), deflated("b.npy", text, sizeof text),
                         deflated("none.npy", "", 0)};
        for (int i = 0; i < 3; i++) m[i].zip64 = zip64;
        bytes_t b = archive(m, 3, zip64);
        zip_t *zip = zip_view(b.at, b.n, &err);
        if (!zip) fail_msg("%s", err.text);
        char got[sizeof text];
        assert_int_equal(zip_count(zip), 3);
        assert_true(zip_find(zip, "a.npy")->stored);
        assert_int_equal(zip_read(zip_find(zip, "a.npy"), got, 5, &err), 0);
        assert_memory_equal(got, "hello", 5);
        for (size_t n = 0; n <= sizeof text; n += 100) { /* the first bytes, and all */
            memset(got, 0, sizeof got);
            if (zip_read(zip_find(zip, "b.npy"), got, n, &err) < 0) fail_msg("%s", err.text);
            assert_memory_equal(got, text, n);
        }
        check_pieces(zip_find(zip, "a.npy"), "hello", 1);
        for (size_t some = 1; some <= sizeof text; some *= 3)
            check_pieces(zip_find(zip, "b.npy"), text, some);
        assert_int_equal(zip_read(zip_find(zip, "none.npy"), got, 0, &err), 0);
        assert_int_equal(zip_read(zip_find(zip, "a.npy"), got, 6, &err), -1);
        assert_null(zip_find(zip, "c.npy"));
        zip_close(&zip);
    }
}

/* What zip_view or zip_read say of an archive of this member. */
static void refused(const member_t *m, const char *words)
{
    err_t err = {0};
    char got[sizeof text + 100];
    bytes_t b = archive(m, 1, false);
    zip_t *zip = zip_view(b.at, b.n, &err);
    if (zip) {
        size_t n = (size_t)zip_at(zip, 0)->n_bytes;
        assert_true(n <= sizeof got);
        if (zip_read(zip_at(zip, 0), got, n, &err) == 0) fail_msg("not refused: want %s", words);
        zip_close(&zip);
    }
    if (!strstr(err.text, words)) fail_msg("want %s, got %s", words, err.text);
}

static void test_refused(void **state)
{
    (void)state;
    fill_text();
    member_t m = deflated("b.npy", text, sizeof text);
    m.crc++;
    refused(&m, "its CRC");
    m = deflated("b.npy", text, sizeof text);
    m.n_bytes++;
    refused(&m, "not as many as it says");
    m.n_bytes -= 2;
    refused(&m, "not as many as it says");
    m = deflated("b.npy", text, sizeof text);
    m.n_packed--;
    refused(&m, "not as many as it says");
    m = deflated("b.npy", text, sizeof text);
    m.n_bytes = (uint64_t)1 << 40; /* a bomb says so, and is not unpacked */
    m.zip64 = true;
    refused(&m, "cannot unpack to the size");
    m = stored("a", "hello", 5);
    m.n_bytes = 6;
    refused(&m, "cannot unpack to the size");
    m = stored("a", "hello", 5);
    m.flags = 1;
    refused(&m, "encrypted");
    m = stored("a", "hello", 5);
    m.method = 14;
    refused(&m, "method 14");
    err_t err = {0};
    assert_null(zip_view("PK", 2, &err));
    assert_int_equal(err.code, ERR_PARSE);
}

/* Any byte may be wrong, any byte the last: no reading out of bounds (asan), and what is unpacked is
 * what the directory says. */
static void test_damaged(void **state)
{
    (void)state;
    fill_text();
    char got[1 << 16];
    int n_read = 0;
    for (uint64_t k = 0; k < 20000; k++) {
        err_t err = {0};
        member_t m[2] = {stored("a.npy", "hello", 5), deflated("b.npy", text, 100)};
        m[0].zip64 = k % 2;
        bytes_t b = archive(m, 2, k % 4 >= 2);
        size_t n = k % 8 == 7 ? rng_bits(3, k) % b.n : b.n;
        b.at[rng_bits(1, k) % b.n] = (uint8_t)(k % 3 ? rng_bits(2, k) : 0xFF);
        uint8_t *exact = malloc(n ? n : 1);
        memcpy(exact, b.at, n);
        zip_t *zip = zip_view(exact, n, &err);
        for (size_t i = 0; zip && i < zip_count(zip); i++)
            if (zip_at(zip, i)->n_bytes <= sizeof got)
                n_read += zip_read(zip_at(zip, i), got, (size_t)zip_at(zip, i)->n_bytes, &err) == 0;
        zip_close(&zip);
        free(exact);
    }
    assert_true(n_read > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
