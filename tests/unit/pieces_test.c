/* base/pieces and what passes through it: bits as if all had been in memory, whatever the pieces; faults of either
 * end are told. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pieces.h"
#include "base/rng.h"
#include "ckpt/safetensors.h"
#include "ckpt_samples.h"
#include "temp.h"

enum { PIECE = SOURCE_PIECE_BYTES };

static uint8_t *random_bytes(size_t n)
{
    uint8_t *bytes = mem_calloc(n + 1, 1);
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)rng_bits(7, i);
    return bytes;
}

/* Gives n_good bytes, then fails. */
typedef struct {
    const uint8_t *bytes;
    uint64_t n_good;
} broken_t;

static int read_broken(void *user, uint64_t at, void *into, size_t n, err_t *err)
{
    const broken_t *self = user;
    if (at + n > self->n_good)
        return err_set(err, ERR_NET, "broken off at %llu", (unsigned long long)at);
    memcpy(into, self->bytes + at, n);
    return 0;
}

static void saved_as_they_are(void **state)
{
    static const size_t sizes[] = {0, 1, PIECE - 1, PIECE, 2 * PIECE + 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *path = temp_path(*state, "saved");
        uint8_t *bytes = random_bytes(sizes[i]);
        char want[HASH_HEX], hash[HASH_HEX], again[HASH_HEX];
        err_t err = {0};
        hash_content(bytes, sizes[i], want);
        file_part_t part = {
            .fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), .path = path, .begin = 5};
        const source_t from = source_of_bytes(bytes, sizes[i]);
        const sink_t to = sink_to_file(&part);
        assert_int_equal(source_save(&from, &to, hash, &err), 0);
        assert_string_equal(hash, want);
        const source_t back = source_of_file(&part, sizes[i]);
        assert_int_equal(source_hash(&back, again, &err), 0);
        assert_string_equal(again, want);
        uint8_t *taken = source_take(&back, &err);
        assert_memory_equal(taken, bytes, sizes[i]);
        free(taken);
        /* What is not there is no byte. */
        uint8_t one;
        assert_int_equal(source_read(&back, sizes[i], &one, 1, &err), -1);
        assert_int_equal(err.code, ERR_CORRUPT);
        const source_t longer = source_of_file(&part, sizes[i] + 1);
        assert_int_equal(source_read(&longer, sizes[i], &one, 1, &err), -1);
        assert_int_equal(err.code, ERR_IO);
        close(part.fd);
        free(bytes);
    }
}

static void faults_are_told(void **state)
{
    const char *path = temp_path(*state, "cut");
    uint8_t *bytes = random_bytes(2 * PIECE);
    char hash[HASH_HEX] = "as before";
    err_t err = {0};
    broken_t broken = {bytes, PIECE + 1};
    const source_t from = {.n = 2 * PIECE, .read = read_broken, .user = &broken};
    file_part_t part = {.fd = open(path, O_RDWR | O_CREAT, 0600), .path = path};
    const sink_t to = sink_to_file(&part);
    assert_int_equal(source_save(&from, &to, hash, &err), -1);
    assert_int_equal(err.code, ERR_NET);
    assert_string_equal(hash, "as before");
    assert_null(source_take(&from, &err));
    close(part.fd);
    /* A disk without room. */
    const source_t good = source_of_bytes(bytes, 2 * PIECE);
    file_part_t full = {.fd = open(path, O_RDWR | O_TRUNC), .path = path};
    const sink_t no_room = sink_to_file(&full);
    temp_disk_full(PIECE / 2);
    int rc = source_save(&good, &no_room, hash, &err);
    temp_disk_free();
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, path));
    close(full.fd);
    free(bytes);
}

/* --- safetensors --- */

/* Tensors, the last first, and each in two halves. */
static int fill_backwards(void *user, const sink_t *to, err_t *err)
{
    const int *n = user;
    for (int i = *n; i-- > 0;) {
        uint64_t at = 0;
        for (int j = 0; j < i; j++) at += tensors[j].n_bytes;
        size_t half = tensors[i].n_bytes / 2, rest = tensors[i].n_bytes - half;
        const uint8_t *bytes = tensors[i].data;
        if (rest && to->write(to->user, at + half, bytes + half, rest, err) < 0) return -1;
        if (half && to->write(to->user, at, bytes, half, err) < 0) return -1;
    }
    return *n == N_TENSORS ? 0 : err_set(err, ERR_NET, "broken off");
}

static void files_filled_in_any_order(void **state)
{
    static const safetensors_meta_t meta[] = {{"run", "demo"}};
    char *whole = mem_strdup(temp_path(*state, "whole")),
         *filled = mem_strdup(temp_path(*state, "filled"));
    err_t err = {0};
    int all = N_TENSORS, some = 2;
    assert_int_equal(safetensors_write(whole, tensors, N_TENSORS, meta, 1, &err), 0);
    assert_int_equal(
        safetensors_write_by(filled, tensors, N_TENSORS, meta, 1, fill_backwards, &all, &err), 0);
    size_t n = 0, m = 0, at;
    char *a = file_read(whole, &n, NULL), *b = file_read(filled, &m, NULL);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    uint8_t *packed = safetensors_pack(tensors, N_TENSORS, meta, 1, &m, &at, &err);
    assert_int_equal(n, m);
    assert_memory_equal(a, packed, n);
    free(packed);
    free(b);
    /* One that is not filled to its end leaves what was there. */
    assert_int_equal(
        safetensors_write_by(filled, tensors, N_TENSORS, meta, 1, fill_backwards, &some, &err), -1);
    assert_int_equal(err.code, ERR_NET);
    b = file_read(filled, &m, NULL);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    assert_int_equal(temp_count(*state), 2);
    free(a);
    free(b);
    free(whole);
    free(filled);
}

static void looked_at_without_data(void **state)
{
    (void)state;
    static const safetensors_meta_t meta[] = {{"run", "demo"}};
    size_t n, at;
    err_t err = {0};
    uint8_t *bytes = safetensors_pack(tensors, N_TENSORS, meta, 1, &n, &at, &err);
    source_t file = source_of_bytes(bytes, n);
    safetensors_t *look = safetensors_look(&file, &err), *view = safetensors_view(bytes, n, &err);
    assert_non_null(look);
    assert_int_equal(safetensors_count(look), safetensors_count(view));
    assert_string_equal(safetensors_meta(look, "run"), "demo");
    for (size_t i = 0; i < safetensors_count(look); i++) {
        const safetensor_t *mine = safetensors_at(look, i), *whole = safetensors_at(view, i);
        assert_string_equal(mine->name, whole->name);
        assert_null(mine->data);
        assert_int_equal(mine->n_bytes, whole->n_bytes);
        assert_ptr_equal(bytes + safetensors_place(look, mine), whole->data);
        assert_int_equal(safetensors_place(view, whole), safetensors_place(look, mine));
    }
    safetensors_close(&look);
    safetensors_close(&view);
    for (file.n = 0; file.n < n; file.n++) {
        err = (err_t){0};
        assert_null(safetensors_look(&file, &err));
        assert_int_equal(err.code, ERR_CORRUPT);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test_setup_teardown(saved_as_they_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(faults_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_filled_in_any_order, set_up, tear_down),
        cmocka_unit_test(looked_at_without_data),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
