/* What the courier reads of files: vectors stored as tensors in any order, inner states that lie on this machine. */
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
#include "shepherd/bulk/at_hand.h"
#include "shepherd/bulk/stored.h"
#include "temp.h"

static layout_tensor_t params[] = {
    {"a", {.dtype = DT_F32, .rank = 2, .dim = {2, 3}}, 0, 6},
    {"none", {.dtype = DT_F32, .rank = 1, .dim = {0}}, 6, 0},
    {"b", {.dtype = DT_F64, .rank = 1, .dim = {4}}, 6, 4},
    {"c", {.dtype = DT_F32, .rank = 0}, 10, 1},
};
static const layout_t layout = {.n = 4, .tensor = params, .total = 11};

/* In another order than the layout's, and in a file: what was read is given back to it. */
static void vectors_of_tensors(void **unused)
{
    (void)unused;
    char *dir = temp_dir();
    const float a[6] = {1, 2, 3, 4, 5, 6}, b[4] = {7, 8, 9, 10}, c = 11;
    const safetensor_t written[] = {{"c", DT_F32, 0, {0}, &c, 4},
                                    {"b", DT_F32, 1, {4}, b, 16},
                                    {"none", DT_F32, 1, {0}, NULL, 0},
                                    {"a", DT_F32, 2, {2, 3}, a, 24}};
    const char *path = temp_path(dir, "x.safetensors");
    err_t err = {0};
    assert_int_equal(safetensors_write(path, written, 4, NULL, 0, &err), 0);
    safetensors_t *file = safetensors_open(path, &err);
    stored_t stored;
    stored_init(&stored, &layout);
    float out[11];
    source_t source = stored_source(&stored);
    assert_int_equal(source.n, sizeof out);
    memset(out, 1, sizeof out);
    assert_int_equal(source_read(&source, 0, out, sizeof out, &err), 0);
    for (int i = 0; i < 11; i++) assert_true(out[i] == 0);
    for (size_t i = 0; i < layout.n; i++)
        assert_int_equal(
            stored_take(&stored, i, safetensors_find(file, params[i].name), path, &err), 0);
    for (size_t piece = 1; piece <= 11; piece++) {
        memset(out, 0, sizeof out);
        for (size_t i = 0; i < 11; i += piece)
            assert_int_equal(
                source_read(&source, i * 4, out + i, (11 - i < piece ? 11 - i : piece) * 4, &err),
                0);
        for (int i = 0; i < 11; i++) assert_true(out[i] == (float)(i + 1));
    }
    assert_int_equal(source_read(&source, 2, out, 4, &err), -1); /* no whole value */
    assert_int_equal(stored_take(&stored, 0, NULL, path, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    assert_int_equal(stored_take(&stored, 0, safetensors_find(file, "b"), path, &err), -1);
    assert_int_equal(err.code, ERR_SHAPE);
    stored_fini(&stored);
    safetensors_close(&file);
    temp_remove(&dir);
}

static void write_state(const char *dir, const char *begin, const char *hash, const char *text)
{
    char name[160];
    snprintf(name, sizeof name, "%s-%s.safetensors", begin, hash);
    temp_write(temp_path(dir, name), text, strlen(text));
}

static void is_taken(int fd, const char *path, const char *text)
{
    err_t err = {0};
    size_t n;
    if (at_hand_take(fd, path, &err) < 0) fail_msg("%s", err.text);
    char *bytes = file_read(path, &n, &err);
    assert_string_equal(bytes, text);
    free(bytes);
}

static void states_on_this_machine(void **unused)
{
    (void)unused;
    char *dir = temp_dir(), state[4][HASH_HEX] = {"", "", "", ""};
    hash_content("one", 3, state[0]);
    hash_content("two", 3, state[1]);
    hash_content("two", 3, state[3]); /* equal states have one name */
    ledger_t ledger = {.n_state = 4, .state = state};
    write_state(dir, "0123456789abcdef-0-7", state[0], "one");
    assert_false(at_hand_all(dir, &ledger));
    write_state(dir, "0123456789abcdef-1-7", state[1], "two");
    temp_write(temp_path(dir, "short.safetensors"), "x", 1);
    assert_true(at_hand_all(dir, &ledger));
    assert_false(at_hand_all(NULL, &ledger));
    assert_false(at_hand_all(temp_path(dir, "nowhere"), &ledger));
    int *fd = at_hand_open(dir, &ledger);
    assert_true(fd[0] >= 0 && fd[1] >= 0 && fd[2] == -1 && fd[3] >= 0);
    is_taken(fd[1], temp_path(dir, "linked"), "two");
    /* Its worker needs the room: it is a copy then. */
    char gone[160];
    snprintf(gone, sizeof gone, "0123456789abcdef-0-7-%s.safetensors", state[0]);
    assert_int_equal(unlink(temp_path(dir, gone)), 0);
    is_taken(fd[0], temp_path(dir, "copied"), "one");
    err_t err = {0};
    assert_int_equal(at_hand_take(fd[0], temp_path(dir, "copied"), &err),
                     -1); /* nothing is replaced */
    assert_int_equal(err.code, ERR_IO);
    at_hand_close(&fd, &ledger);
    assert_null(fd);
    assert_false(at_hand_all(dir, &ledger));
    ledger.n_state = 0;
    assert_false(at_hand_all(dir, &ledger)); /* nothing is known of where workers keep theirs */
    temp_remove(&dir);
}

/* The largest state that a plan of these parameters can have, and what a worker could name instead. */
static void no_state_is_larger(void **unused)
{
    (void)unused;
    const layout_t gpt2 = {.total = 124000000};
    uint64_t adamw_topk_f64 = gpt2.total * (2 * sizeof(double) + sizeof(float));
    assert_true(layout_state_most(&gpt2) > adamw_topk_f64 + (1 << 20));
    assert_true(layout_state_most(&gpt2) < 6e9);
    assert_true(layout_state_most(&layout) < 100e6);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(vectors_of_tensors),
        cmocka_unit_test(states_on_this_machine),
        cmocka_unit_test(no_state_is_larger),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
