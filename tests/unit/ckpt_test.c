/* ckpt: safetensors (format by hand, every lie a header can tell, damaged bytes), objects, full
 * disks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/str.h"
#include "ckpt/object.h"
#include "ckpt/safetensors.h"
#include "ckpt_samples.h"
#include "temp.h"

/* ---- safetensors ---- */

static void test_round_trip(void **state)
{
    const char *path = temp_path(*state, "a.safetensors");
    static const safetensors_meta_t meta[] = {{"run", "demo \"x\""}, {"format", "pcp"}};
    err_t err = {0};
    assert_int_equal(safetensors_write(path, tensors, N_TENSORS, meta, 2, &err), 0);
    safetensors_t *file = safetensors_open(path, &err);
    assert_non_null(file);
    assert_int_equal(safetensors_count(file), N_TENSORS);
    for (int i = 0; i < N_TENSORS; i++) {
        const safetensor_t *t = safetensors_find(file, tensors[i].name);
        assert_non_null(t);
        assert_int_equal(t->dtype, tensors[i].dtype);
        assert_int_equal(t->rank, tensors[i].rank);
        assert_memory_equal(t->dims, tensors[i].dims, sizeof t->dims);
        assert_int_equal(t->n_bytes, tensors[i].n_bytes);
        if (t->n_bytes) assert_memory_equal(t->data, tensors[i].data, t->n_bytes);
    }
    assert_string_equal(safetensors_at(file, 0)->name, "h.0.weight"); /* order of the bytes */
    assert_string_equal(safetensors_at(file, 3)->name, "bytes");
    assert_null(safetensors_at(file, 4));
    assert_null(safetensors_find(file, "__metadata__"));
    assert_string_equal(safetensors_meta(file, "run"), "demo \"x\"");
    assert_null(safetensors_meta(file, "absent"));
    safetensors_close(&file);
    assert_null(file);
    safetensors_close(&file);
    assert_int_equal(safetensors_write(path, NULL, 0, NULL, 0, &err), 0); /* no tensor at all */
    file = safetensors_open(path, &err);
    assert_int_equal(safetensors_count(file), 0);
    assert_null(safetensors_meta(file, "run"));
    safetensors_close(&file);
    assert_int_equal(temp_count(*state), 1);
}

/* Every element type the format names keeps its name; integers and floats of less than a byte,
 * which it packs, have none here. */
static void test_element_types(void **state)
{
    const char *path = temp_path(*state, "types.safetensors");
    static const struct {
        dtype_t dtype;
        const char *name;
    } want[] = {{DT_F8E4M3FN, "\"F8_E4M3\""},
                {DT_F8E5M2, "\"F8_E5M2\""},
                {DT_F8E8M0FNU, "\"F8_E8M0\""},
                {DT_C64, "\"C64\""}};
    static const char bytes[16] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        err_t err = {0};
        size_t n;
        safetensor_t t = {"x", want[i].dtype, 1, {2}, bytes, 2 * dtype_bytes(want[i].dtype)};
        assert_int_equal(safetensors_write(path, &t, 1, NULL, 0, &err), 0);
        char *text = file_read(path, &n, &err);
        assert_non_null(text);
        assert_non_null(strstr(text + 8, want[i].name));
        free(text);
        safetensors_t *file = safetensors_open(path, &err);
        assert_non_null(file);
        assert_int_equal(safetensors_find(file, "x")->dtype, want[i].dtype);
        assert_memory_equal(safetensors_find(file, "x")->data, bytes, t.n_bytes);
        safetensors_close(&file);
        t.dtype = i % 2 ? DT_F4E2M1FN : DT_C128;
        assert_int_equal(safetensors_write(path, &t, 1, NULL, 0, &err), -1);
    }
}

/* A file from header text and a number of data bytes 0, 1, 2, ... */
static void write_raw(const char *path, const char *header, size_t n_data)
{
    str_t all = {0};
    size_t n = strlen(header);
    for (int i = 0; i < 8; i++) str_addn(&all, &(char){(char)(n >> 8 * i)}, 1);
    str_add(&all, header);
    for (size_t i = 0; i < n_data; i++) str_addn(&all, &(char){(char)i}, 1);
    temp_write(path, all.at, all.n);
    str_fini(&all);
}

static void test_foreign_file(void **state)
{
    /* As another writer would: other order, blanks, metadata last. */
    const char *path = temp_path(*state, "b.safetensors");
    write_raw(path,
              "{ \"b\": {\"shape\":[2], \"data_offsets\":[4,6], \"dtype\":\"I8\"}, "
              "\"a\": {\"dtype\":\"F16\",\"shape\":[1,2],\"data_offsets\":[0,4]}, "
              "\"__metadata__\":{\"k\":\"v\"}}   ",
              6);
    err_t err = {0};
    safetensors_t *file = safetensors_open(path, &err);
    assert_non_null(file);
    assert_string_equal(safetensors_at(file, 0)->name, "a");
    assert_int_equal(((const uint8_t *)safetensors_find(file, "b")->data)[1], 5);
    assert_int_equal(safetensors_find(file, "a")->dims[1], 2);
    assert_string_equal(safetensors_meta(file, "k"), "v");
    safetensors_close(&file);
}

#define ENTRY(name, shape, from, to) \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to "]}"

static void test_lying_headers(void **state)
{
    static const struct {
        const char *header;
        size_t n_data;
        const char *says;
    } cases[] = {
        {"", 0, "header"},
        {"[]", 0, "no object"},
        {"{", 0, "header byte"},
        {"{" ENTRY("a", "[1]", 0, 4) "}", 3, "lie outside the 3 data bytes"},
        {"{" ENTRY("a", "[1]", 0, 4) "}", 5, "tensors end at data byte 4 of 5"},
        {"{" ENTRY("a", "[1]", 1, 5) "}", 5, "gap"},
        {"{" ENTRY("a", "[2]", 0, 4) "}", 4, "span 4 bytes, the shape needs 8"},
        {"{" ENTRY("a", "[1]", 4, 0) "}", 4, "lie outside"},
        {"{" ENTRY("a", "[1]", -4, 0) "}", 4, "lie outside"},
        {"{" ENTRY("a", "[1]", 0, 4) "," ENTRY("b", "[1]", 0, 4) "}", 4, "overlap"},
        {"{" ENTRY("a", "[2]", 0, 8) "," ENTRY("b", "[1]", 4, 8) "}", 8, "overlap"},
        {"{" ENTRY("a", "[1]", 0, 4) "," ENTRY("b", "[1]", 8, 12) "}", 12, "gap"},
        {"{" ENTRY("a", "[1]", 0, 4) "," ENTRY("a", "[1]", 4, 8) "}", 8, "header byte"},
        {"{" ENTRY("a", "[-1]", 0, 4) "}", 4, "a dimension is no size"},
        {"{" ENTRY("a", "[1.0]", 0, 4) "}", 4, "a dimension is no size"},
        {"{" ENTRY("a", "1", 0, 4) "}", 4, "shape is missing or no list"},
        {"{" ENTRY("a", "[4611686018427387904,2]", 0, 4) "}", 4, "does not fit into 64 bits"},
        {"{" ENTRY("a", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, "rank 9 is above 8"},
        {"{\"a\":{\"dtype\":\"F8_E4M4\",\"shape\":[],\"data_offsets\":[0,1]}}", 1, "dtype F8_E4M4"},
        {"{\"a\":{\"dtype\":4,\"shape\":[],\"data_offsets\":[0,4]}}", 4, "dtype is missing"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0]}}", 4, "not [begin, end]"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4.0]}}", 4,
         "not [begin, end]"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 4, "not {dtype, shape, data_offsets}"},
        {"{\"a\":7}", 0, "not {dtype, shape, data_offsets}"},
        {"{\"__metadata__\":[]}", 0, "__metadata__ is no object"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "__metadata__ \"a\" is no text"},
        {"{\"a\\u0000b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4,
         "header byte"},
    };
    const char *path = temp_path(*state, "lie.safetensors");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t err = {0};
        write_raw(path, cases[i].header, cases[i].n_data);
        assert_null(safetensors_open(path, &err));
        if (!strstr(err.text, cases[i].says)) fail_msg("%s: %s", cases[i].header, err.text);
        assert_non_null(strstr(err.text, "lie.safetensors"));
        assert_true(err.code == ERR_CORRUPT || err.code == ERR_UNSUPPORTED);
    }
    err_t err = {0};
    static const uint8_t long_header[] = {255, 255, 255, 255, 255, 255, 255, 255, '{', '}'};
    static const uint8_t longer_than_file[] = {3, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    temp_write(path, long_header, sizeof long_header);
    assert_null(safetensors_open(path, &err));
    temp_write(path, longer_than_file, sizeof longer_than_file);
    assert_null(safetensors_open(path, &err));
    assert_non_null(strstr(err.text, "a header of 3 bytes in a file of 10"));
    for (size_t n = 0; n < 8; n++) {
        temp_write(path, long_header, n);
        assert_null(safetensors_open(path, &err));
    }
    assert_null(safetensors_open(temp_path(*state, "absent"), &err));
    assert_int_equal(err.code, ERR_IO);
}

/* A valid file with a few bytes changed or its end cut off: refused, or every tensor still lies
 * inside the file (the sanitizer build checks the reads). */
static void test_damaged_files(void **state)
{
    const char *path = temp_path(*state, "a.safetensors"), *bad = temp_path(*state, "b");
    err_t err = {0};
    size_t n, refused = 0, read = 0, sum = 0;
    assert_int_equal(safetensors_write(path, tensors, N_TENSORS, NULL, 0, &err), 0);
    char *good = file_read(path, &n, &err);
    assert_non_null(good);
    for (uint64_t round = 0; round < 3000; round++) {
        char *bytes = malloc(n);
        size_t length = rng_bits(round, 0) % 4 == 0 ? rng_bits(round, 1) % n : n;
        memcpy(bytes, good, n);
        for (uint64_t k = 0; k < rng_bits(round, 2) % 4; k++)
            bytes[rng_bits(round, 3 + 2 * k) % n] = (char)rng_bits(round, 4 + 2 * k);
        temp_write(bad, bytes, length);
        free(bytes);
        safetensors_t *file = safetensors_open(bad, &err);
        if (!file) {
            refused++;
            continue;
        }
        read++;
        for (size_t i = 0; i < safetensors_count(file); i++) {
            const safetensor_t *t = safetensors_at(file, i);
            for (size_t b = 0; b < t->n_bytes; b++) sum += ((const uint8_t *)t->data)[b];
        }
        safetensors_close(&file);
    }
    print_message("# %zu refused, %zu read (byte sum %zu)\n", refused, read, sum);
    assert_true(refused > 100 && read > 100);
    free(good);
}

static void test_write_refuses(void **state)
{
    const char *path = temp_path(*state, "a.safetensors");
    static const safetensor_t doubled[] = {{"a", DT_F32, 1, {1}, weights, 4},
                                           {"a", DT_F32, 1, {1}, weights, 4}};
    static const struct {
        safetensor_t t;
        const char *says;
    } cases[] = {
        {{"", DT_F32, 1, {1}, weights, 4}, "named \"\""},
        {{NULL, DT_F32, 1, {1}, weights, 4}, "named \"\""},
        {{"__metadata__", DT_F32, 1, {1}, weights, 4}, "named"},
        {{"a", DT_F32, 1, {2}, weights, 4}, "4 bytes do not fit its shape"},
        {{"a", DT_F32, 1, {-1}, weights, 4}, "do not fit its shape"},
        {{"a", DT_F32, 9, {1}, weights, 4}, "do not fit its shape"},
        {{"a", DT_I4, 1, {1}, weights, 1}, "no element type i4"},
        {{"\xff", DT_F32, 1, {1}, weights, 4}, "not valid UTF-8"},
    };
    err_t err = {0};
    assert_int_equal(safetensors_write(path, doubled, 2, NULL, 0, &err), -1);
    assert_non_null(strstr(err.text, "two tensors are named \"a\""));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(safetensors_write(path, &cases[i].t, 1, NULL, 0, &err), -1);
        assert_int_equal(err.code, ERR_ARG);
        if (!strstr(err.text, cases[i].says)) fail_msg("%s: %s", cases[i].says, err.text);
    }
    assert_int_equal(temp_count(*state), 0);
    assert_int_equal(safetensors_write(temp_path(*state, "no/dir"), tensors, 1, NULL, 0, &err), -1);
    assert_int_equal(err.code, ERR_IO);
}

static void test_write_full_disk(void **state)
{
    const char *path = temp_path(*state, "a.safetensors");
    err_t err = {0};
    static const float large[4096];
    const safetensor_t big = {"big", DT_F32, 1, {4096}, large, sizeof large};
    assert_int_equal(safetensors_write(path, tensors, N_TENSORS, NULL, 0, &err), 0);
    static const size_t room[] = {0, 4, 20, 8000};
    for (int i = 0; i < 4; i++) {
        temp_disk_full(room[i]);
        int rc = safetensors_write(path, &big, 1, NULL, 0, &err);
        temp_disk_free();
        assert_int_equal(rc, -1);
        assert_int_equal(err.code, ERR_IO);
        assert_non_null(strstr(err.text, "a.safetensors: writing"));
    }
    assert_int_equal(temp_count(*state), 1);
    safetensors_t *file = safetensors_open(path, &err); /* the old one is as it was */
    assert_int_equal(safetensors_count(file), N_TENSORS);
    safetensors_close(&file);
}

/* ---- objects ---- */

static void test_objects(void **state)
{
    err_t err = {0};
    char hash[HASH_HEX], again[HASH_HEX] = "kept";
    object_dir_t *dir = object_dir_open(temp_path(*state, "objects/deep"), &err);
    assert_non_null(dir);
    assert_int_equal(object_put(dir, "abc", 3, hash, &err), 0);
    assert_string_equal(hash, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    assert_true(object_has(dir, hash));
    assert_int_equal(object_put(dir, "abc", 3, again, &err), 0);
    assert_string_equal(hash, again);
    char *path = object_path(dir, hash, &err);
    assert_non_null(strstr(path, "objects/deep/bd/bddd"));
    file_map_t map = {0};
    assert_int_equal(object_map(dir, hash, &map, &err), 0);
    assert_memory_equal(map.at, "abc", 3);
    file_unmap(&map);
    assert_int_equal(object_put(dir, "", 0, again, &err), 0);
    assert_int_equal(object_map(dir, again, &map, &err), 0);
    assert_int_equal(map.n, 0);
    file_unmap(&map);

    temp_write(path, "abd", 3);
    assert_int_equal(object_verify(dir, hash, &err), -1);
    assert_int_equal(err.code, ERR_CORRUPT);
    assert_non_null(strstr(err.text, hash));
    assert_int_equal(object_map(dir, hash, &map, &err), -1);
    assert_int_equal(object_put(dir, "abc", 3, hash, &err), 0); /* putting it again heals it */
    assert_int_equal(object_verify(dir, hash, &err), 0);
    unlink(path);
    assert_false(object_has(dir, hash));
    assert_int_equal(object_verify(dir, hash, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    free(path);

    static const char *const no_hashes[] = {
        "", "../../etc/passwd", "BDDD813C634239723171EF3FEE98579B94964E3BB1CB3E427262C8C068D52319",
        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d523190"};
    for (int i = 0; i < 4; i++) {
        assert_null(object_path(dir, no_hashes[i], &err));
        assert_int_equal(err.code, ERR_ARG);
        assert_false(object_has(dir, no_hashes[i]));
        assert_int_equal(object_map(dir, no_hashes[i], &map, &err), -1);
    }
    static const char zeros[4096];
    strcpy(again, "kept");
    temp_disk_full(100);
    int rc = object_put(dir, zeros, sizeof zeros, again, &err);
    temp_disk_free();
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, ERR_IO);
    assert_string_equal(again, "kept");
    object_dir_close(&dir);
    assert_null(dir);
    temp_write(temp_path(*state, "f"), "abc", 3);
    assert_null(object_dir_open(temp_path(*state, "f/x"), &err));
}

/* All of a file are found in less time than it takes to open it: one after the other they would take a hundred times that. */
static void test_many_tensors(void **state)
{
    enum { MANY = 50000 };
    const char *path = temp_path(*state, "many.safetensors");
    safetensor_t *tensors = calloc(MANY, sizeof *tensors);
    char(*name)[16] = calloc(MANY, sizeof *name);
    err_t err = {0};
    for (int i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "layer.%d", (i * 7919) % MANY);
        tensors[i] = (safetensor_t){.name = name[i], .dtype = DT_F32, .rank = 1, .data = name[i]};
    }
    assert_int_equal(safetensors_write(path, tensors, MANY, NULL, 0, &err), 0);
    double start = clock_thread_s();
    safetensors_t *file = safetensors_open(path, &err);
    double opened = clock_thread_s();
    assert_non_null(file);
    assert_int_equal(safetensors_count(file), MANY);
    for (int i = 0; i < MANY; i++) {
        const safetensor_t *found = safetensors_find(file, name[i]);
        assert_non_null(found);
        assert_string_equal(found->name, name[i]);
    }
    double found = clock_thread_s();
    assert_null(safetensors_find(file, "layer."));
    assert_null(safetensors_find(file, "layer.50000"));
    if (found - opened > opened - start)
        fail_msg("opened in %g s, found in %g", opened - start, found - opened);
    safetensors_close(&file);
    free(name);
    free(tensors);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_element_types),   TEST(test_round_trip),    TEST(test_foreign_file),
        TEST(test_lying_headers),   TEST(test_damaged_files), TEST(test_write_refuses),
        TEST(test_write_full_disk), TEST(test_objects),       TEST(test_many_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
