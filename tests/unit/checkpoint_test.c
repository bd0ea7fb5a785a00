/* Checkpoints: what is written is read, what is damaged is refused by name, the newest whole one is
 * taken. */
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

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ckpt/checkpoint.h"
#include "ckpt/ledger.h"
#include "ckpt/safetensors.h"
#include "ckpt_samples.h"
#include "temp.h"

static int make_state(const checkpoint_file_t *file, const char *path, err_t *err)
{
    (void)file;
    return file_write_atomic(path, "inner", 5, err);
}

static int save(const char *root, int64_t round, char **path, err_t *err)
{
    const checkpoint_info_t info = {.run = "demo",
                                    .round = round,
                                    .tokens = 1000 * round,
                                    .loss = 2.5,
                                    .validation = (double)NAN,
                                    .module_hash = "m0",
                                    .config = "{\"lr\": 0.5}",
                                    .tokenizer = "{\"kind\": \"byte\"}"};
    const checkpoint_file_t files[] = {{.name = "model.mlir", .bytes = "module {}", .n = 9},
                                       {.name = "empty", .bytes = ""},
                                       {.name = "replica-0.state", .make = make_state}};
    const safetensor_t momentum = {"v", DT_F32, 1, {6}, weights, 24};
    return checkpoint_write(root, &info, tensors, N_TENSORS, &momentum, 1, files, 3, path, err);
}

static void test_checkpoint(void **state)
{
    const char *root = temp_path(*state, "checkpoint");
    err_t err = {0};
    char *path = NULL;
    size_t n;
    assert_null(checkpoint_open(root, &err));
    assert_int_equal(save(root, 3, &path, &err), 0);
    assert_non_null(strstr(path, "checkpoint/round-000003"));
    const char *places[2] = {root, path};
    for (int i = 0; i < 2; i++) {
        checkpoint_t *c = checkpoint_open(places[i], &err);
        assert_non_null(c);
        const checkpoint_info_t *info = checkpoint_info(c);
        assert_string_equal(info->run, "demo");
        assert_true(info->round == 3 && info->tokens == 3000 && info->loss == 2.5);
        assert_true(isnan(info->validation));
        assert_string_equal(info->module_hash, "m0");
        assert_string_equal(info->config, "{\"lr\":0.5}");
        assert_string_equal(info->tokenizer, "{\"kind\":\"byte\"}");
        const safetensor_t *t = safetensors_find(checkpoint_params(c), "h.0.weight");
        assert_memory_equal(t->data, weights, sizeof weights);
        assert_string_equal(safetensors_meta(checkpoint_params(c), "round"), "3");
        assert_null(safetensors_meta(checkpoint_params(c), "run")); /* equal values, equal files */
        assert_non_null(safetensors_find(checkpoint_state(c), "v"));
        assert_string_equal(checkpoint_file(c, "model.mlir", &n), "module {}");
        assert_int_equal(n, 9);
        assert_string_equal(checkpoint_file(c, "empty", &n), "");
        assert_null(checkpoint_file(c, "model.safetensors", &n));
        assert_null(checkpoint_file(c, "replica-0.state", &n)); /* opaque */
        assert_true(checkpoint_bytes(c) > 14);
        assert_int_equal(strlen(checkpoint_hash(c)), HASH_HEX - 1);
        checkpoint_close(&c);
        assert_null(c);
    }
    free(path);
    assert_int_equal(temp_count(root), 2);
}

static void test_checkpoint_minimal(void **state)
{
    const checkpoint_info_t info = {.loss = (double)NAN, .validation = (double)INFINITY};
    err_t err = {0};
    assert_int_equal(checkpoint_write(*state, &info, NULL, 0, NULL, 0, NULL, 0, NULL, &err), 0);
    checkpoint_t *c = checkpoint_open(*state, &err);
    assert_non_null(c);
    assert_string_equal(checkpoint_info(c)->run, "");
    assert_null(checkpoint_info(c)->config);
    assert_null(checkpoint_state(c));
    assert_true(isnan(checkpoint_info(c)->validation));
    checkpoint_close(&c);
}

/* A reader sees the newest complete one, whatever became of writers after it. */
static void test_checkpoint_latest(void **state)
{
    const char *root = *state;
    err_t err = {0};
    char *path = NULL;
    assert_int_equal(save(root, 1, NULL, &err), 0);
    assert_int_equal(save(root, 2, NULL, &err), 0);
    assert_int_equal(save(root, 2, &path, &err), 0); /* a resumed run passes round 2 again */
    assert_non_null(strstr(path, "round-000002-2"));
    free(path);
    temp_disk_full(100);
    int rc = save(root, 3, NULL, &err);
    temp_disk_free();
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, "/round-000003/model.safetensors: writing"));
    assert_int_equal(temp_count(root), 4); /* three rounds and latest */
    checkpoint_t *c = checkpoint_open(root, &err);
    assert_int_equal(checkpoint_info(c)->round, 2);
    checkpoint_close(&c);

    assert_int_equal(mkdir(temp_path(root, "round-000004.tmp.1"), 0755), 0);
    temp_write(temp_path(root, "round-000004.tmp.1/model.safetensors"), "half", 4);
    temp_write(temp_path(root, "notes.txt"), "mine", 4);
    c = checkpoint_open(temp_path(root, "round-000001"), &err);
    char hash[HASH_HEX];
    memcpy(hash, checkpoint_hash(c), HASH_HEX);
    checkpoint_close(&c);
    checkpoint_list_t removed;
    assert_int_equal(checkpoint_prune(root, 1, &removed, &err), 0);
    assert_int_equal(removed.n, 2); /* rounds 2 and 1, by the names the store has */
    assert_string_equal(removed.at[0].name, "round-000002");
    assert_string_equal(removed.at[1].hash, hash);
    checkpoint_list_fini(&removed);
    assert_int_equal(temp_count(root), 3); /* round-000002-2, latest, notes.txt */
    c = checkpoint_open(root, &err);
    assert_non_null(c);
    checkpoint_close(&c);
    /* The newest is the one written last, whatever its round. */
    assert_int_equal(save(root, 9, NULL, &err), 0);
    assert_int_equal(save(root, 5, NULL, &err), 0);
    assert_int_equal(checkpoint_prune(root, 1, NULL, &err), 0);
    c = checkpoint_open(root, &err);
    assert_int_equal(checkpoint_info(c)->round, 5);
    checkpoint_close(&c);
    assert_false(file_exists(temp_path(root, "round-000009")));
    assert_int_equal(checkpoint_prune(temp_path(root, "absent"), 1, NULL, &err), -1);
}

/* The newest that a run can go on from outlives younger ones that none can. */
static void test_prune_ledger(void **state)
{
    const char *root = *state;
    err_t err = {0};
    for (int round = 1; round <= 4; round++) assert_int_equal(save(root, round, NULL, &err), 0);
    temp_write(temp_path(root, "round-000001/ledger.json"), "{}", 2);
    temp_write(temp_path(root, "round-000002/ledger.json"), "{}", 2);
    assert_int_equal(checkpoint_prune(root, 2, NULL, &err), 0);
    assert_int_equal(temp_count(root), 4); /* rounds 4, 3 and 2, latest */
    assert_false(file_exists(temp_path(root, "round-000001")));
    assert_int_equal(save(root, 5, NULL, &err), 0);
    temp_write(temp_path(root, "round-000005/ledger.json"), "{}", 2);
    assert_int_equal(checkpoint_prune(root, 1, NULL, &err), 0);
    assert_int_equal(temp_count(root), 2); /* round 5 and latest */
}

/* A round that is kept elsewhere, and a link to it. */
static void test_prune_links(void **state)
{
    const char *root = *state;
    char *kept = mem_printf("%s-kept", root);
    err_t err = {0};
    assert_int_equal(save(root, 1, NULL, &err), 0);
    assert_int_equal(rename(temp_path(root, "round-000001"), kept), 0);
    assert_int_equal(symlink(kept, temp_path(root, "round-000001")), 0);
    assert_int_equal(save(root, 2, NULL, &err), 0);
    assert_int_equal(checkpoint_prune(root, 1, NULL, &err), 0);
    checkpoint_t *c = checkpoint_open(kept, &err);
    assert_non_null(c);
    checkpoint_close(&c);
    assert_int_equal(temp_count(root), 2); /* round 2 and latest */
    temp_remove(&kept);
}

static void test_checkpoint_refuses(void **state)
{
    err_t err = {0};
    checkpoint_info_t info = {.config = "[1]"};
    static const char *const names[] = {
        "", "a/b", "../x", ".hidden", "manifest.json", "model.safetensors", "state.safetensors"};
    assert_int_equal(checkpoint_write(*state, &info, NULL, 0, NULL, 0, NULL, 0, NULL, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    info.config = NULL;
    info.run = "\xff";
    assert_int_equal(checkpoint_write(*state, &info, NULL, 0, NULL, 0, NULL, 0, NULL, &err), -1);
    info.run = NULL;
    info.round = -1;
    assert_int_equal(checkpoint_write(*state, &info, NULL, 0, NULL, 0, NULL, 0, NULL, &err), -1);
    info.round = 1;
    for (int i = 0; i < 7; i++) {
        const checkpoint_file_t file = {.name = names[i], .bytes = "x", .n = 1};
        assert_int_equal(checkpoint_write(*state, &info, NULL, 0, NULL, 0, &file, 1, NULL, &err),
                         -1);
        assert_non_null(strstr(err.text, "cannot be named"));
    }
    assert_int_equal(temp_count(*state), 0);
}

/* Every file in turn: a flipped byte, a missing byte, no file. The error names the file. */
static void test_checkpoint_damage(void **state)
{
    static const char *const names[] = {"model.safetensors", "state.safetensors", "model.mlir",
                                        "replica-0.state"};
    err_t err = {0};
    char *path = NULL;
    assert_int_equal(save(*state, 1, &path, &err), 0);
    for (int i = 0; i < 4; i++) {
        const char *file = temp_path(path, names[i]);
        size_t n;
        char *bytes = file_read(file, &n, &err);
        assert_non_null(bytes);
        bytes[n - 1] ^= 1;
        temp_write(file, bytes, n);
        assert_null(checkpoint_open(*state, &err));
        assert_int_equal(err.code, ERR_CORRUPT);
        assert_non_null(strstr(err.text, names[i]));
        assert_non_null(strstr(err.text, "the file is damaged"));
        bytes[n - 1] ^= 1;
        temp_write(file, bytes, n - 1);
        assert_null(checkpoint_open(*state, &err));
        assert_int_equal(err.code, ERR_CORRUPT);
        unlink(file);
        assert_null(checkpoint_open(*state, &err));
        assert_int_equal(err.code, ERR_IO);
        assert_non_null(strstr(err.text, names[i]));
        temp_write(file, bytes, n);
        free(bytes);
    }
    checkpoint_t *c = checkpoint_open(*state, &err);
    assert_non_null(c);
    checkpoint_close(&c);
    free(path);
}

static void test_manifests(void **state)
{
    static const struct {
        const char *json, *says;
    } cases[] = {
        {"", "manifest.json:"},
        {"[]", "the top is no object"},
        {"{}", "\"format\" is missing"},
        {"{\"format\": \"zip\"}", "format \"zip\""},
        {"{\"format\": \"pcp-checkpoint\", \"version\": 3}", "version 3"},
        {"{\"format\": \"pcp-checkpoint\", \"version\": 1, \"run\": 3}",
         "\"run\" is of the wrong type"},
        {"{\"format\": \"pcp-checkpoint\", \"version\": 1, \"run\": \"\", \"round\": 1, "
         "\"tokens\": 1}",
         "\"module_hash\" is missing"},
        {"{\"format\": \"pcp-checkpoint\", \"version\": 1, \"run\": \"\", \"round\": 1, "
         "\"tokens\": 1, "
         "\"module_hash\": \"\"}",
         "\"files\" is missing"},
        {"{\"format\": \"pcp-checkpoint\", \"version\": 1, \"run\": \"\", \"round\": 1, "
         "\"tokens\": 1, "
         "\"module_hash\": \"\", \"files\": {}}",
         "no model.safetensors"},
        {"{\"format\": \"pcp-checkpoint\", \"version\": 1, \"run\": \"\", \"round\": 1, "
         "\"tokens\": 1, "
         "\"module_hash\": \"\", \"files\": {\"../../etc/passwd\": {}}}",
         "is no file name"},
        {"{\"format\": \"pcp-checkpoint\", \"version\": 1, \"run\": \"\", \"round\": 1, "
         "\"tokens\": 1, "
         "\"module_hash\": \"\", \"files\": {\"x\": {\"bytes\": \"1\"}}}",
         "the entry of \"x\" is damaged"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t err = {0};
        temp_write(temp_path(*state, "manifest.json"), cases[i].json, strlen(cases[i].json));
        assert_null(checkpoint_open(*state, &err));
        if (!strstr(err.text, cases[i].says)) fail_msg("%s: %s", cases[i].json, err.text);
    }
}

/* Any damage in any file of the newest: it is refused by name, and the one before is taken. */
static void test_fallback(void **state)
{
    static const char *const names[] = {"model.safetensors", "state.safetensors",
                                        "model.mlir",        "empty",
                                        "replica-0.state",   "manifest.json"};
    err_t err = {0};
    char *path = NULL;
    assert_int_equal(save(*state, 1, NULL, &err), 0);
    assert_int_equal(save(*state, 2, &path, &err), 0);
    for (uint64_t i = 0; i < 120; i++) {
        const char *file = temp_path(path, names[i % 6]);
        size_t n;
        char *bytes = file_read(file, &n, &err);
        size_t at = (size_t)(rng_uniform(3, i) * (double)n);
        char kept = bytes[at];
        if (i % 2 == 0 && n > 0) bytes[at] = (char)(kept ^ 1 << i % 7);
        temp_write(file, bytes, i % 2 && n > 0 ? at : n + (n == 0)); /* cut, or one byte more */
        bool same = i % 2 == 0 && n > 0 && bytes[at] == kept;
        checkpoint_t *c = checkpoint_open(*state, &err);
        if (!c) fail_msg("%s at %zu of %zu: %s", names[i % 6], at, n, err.text);
        if (!same && checkpoint_info(c)->round != 1)
            fail_msg("%s at %zu of %zu: not noticed", names[i % 6], at, n);
        checkpoint_close(&c);
        assert_null(checkpoint_open(path, &err));
        bytes[at] = kept;
        temp_write(file, bytes, n);
        free(bytes);
    }
    unlink(temp_path(path, "manifest.json"));
    checkpoint_t *c = checkpoint_open(*state, &err);
    assert_int_equal(checkpoint_info(c)->round, 1);
    checkpoint_close(&c);
    unlink(temp_path(temp_path(*state, "round-000001"), "model.mlir"));
    assert_null(checkpoint_open(*state, &err));
    assert_non_null(strstr(err.text, "round-000001"));
    assert_non_null(strstr(err.text, "none of the earlier ones"));
    free(path);
}

static void test_list_and_copies(void **state)
{
    const char *root = *state;
    err_t err = {0};
    checkpoint_list_t list;
    assert_int_equal(save(root, 7, NULL, &err), 0);
    assert_int_equal(save(root, 3, NULL, &err), 0); /* a run that went back */
    assert_int_equal(checkpoint_list(root, true, &list, &err), 0);
    assert_int_equal(list.n, 2);
    assert_true(list.at[0].round == 3 && list.at[0].serial == 2 && list.at[1].round == 7);
    assert_true(list.at[0].tokens == 3000 && list.at[0].has_state && list.at[0].loss == 2.5);
    assert_null(list.at[0].fault);
    checkpoint_list_fini(&list);
    checkpoint_t *c = checkpoint_open(root, &err);
    assert_int_equal(checkpoint_export(c, temp_path(root, "out.safetensors"), &err), 0);
    assert_int_equal(checkpoint_copy(c, temp_path(root, "copy"), &err), 0);
    assert_int_equal(checkpoint_copy(c, temp_path(root, "copy"), &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    checkpoint_close(&c);
    c = checkpoint_open(temp_path(root, "copy"), &err);
    assert_int_equal(checkpoint_info(c)->round, 3);
    checkpoint_close(&c);
    safetensors_t *file = safetensors_open(temp_path(root, "out.safetensors"), &err);
    assert_int_equal(safetensors_count(file), N_TENSORS);
    safetensors_close(&file);
    temp_write(temp_path(root, "round-000003/model.mlir"), "other", 5);
    assert_int_equal(checkpoint_list(root, false, &list, &err), 0);
    assert_null(list.at[0].fault); /* the manifest alone is fine */
    checkpoint_list_fini(&list);
    assert_int_equal(checkpoint_list(root, true, &list, &err), 0);
    assert_non_null(strstr(list.at[0].fault, "model.mlir"));
    checkpoint_list_fini(&list);
    assert_int_equal(checkpoint_list(temp_path(root, "absent"), true, &list, &err), -1);
}

/* What the manifest does not name is none of the checkpoint's, a link out of it or a pipe as well; nothing waits for a
 * pipe in the place of a file. */
static void test_other_files(void **state)
{
    const char *root = *state;
    err_t err = {0};
    char *path;
    assert_int_equal(save(root, 1, &path, &err), 0);
    assert_int_equal(symlink("/etc/passwd", temp_path(path, "link")), 0);
    assert_int_equal(mkfifo(temp_path(path, "pipe"), 0600), 0);
    checkpoint_t *c = checkpoint_open(path, &err);
    assert_non_null(c);
    char *copy = mem_printf("%s/copy", root);
    assert_int_equal(checkpoint_copy(c, copy, &err), 0);
    checkpoint_close(&c);
    assert_false(file_exists(temp_path(copy, "link")) || file_exists(temp_path(copy, "pipe")));
    c = checkpoint_open(copy, &err);
    assert_non_null(c);
    checkpoint_close(&c);
    static const char *const names[] = {"model.mlir", "replica-0.state", "manifest.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *file = temp_path(copy, names[i]), *aside = temp_path(copy, "aside");
        rename(file, aside);
        assert_int_equal(mkfifo(file, 0600), 0);
        assert_null(checkpoint_open(copy, &err));
        assert_non_null(strstr(err.text, file));
        assert_non_null(strstr(err.text, "regular files"));
        rename(aside, file);
    }
    free(copy);
    free(path);
}

static void test_ledger(void **state)
{
    (void)state;
    data_range_t returned[] = {{0, 5, 3}, {2, 0, 1}};
    char states[2][HASH_HEX] = {""};
    memset(states[1], 'a', HASH_HEX - 1);
    const ledger_t want = {"demo", 12, 98304, 4000, 1337, {3, 7, 0}, 2, returned, 2, states};
    char *text = ledger_print(&want);
    ledger_t have;
    err_t err = {0};
    assert_int_equal(ledger_parse(text, strlen(text), &have, &err), 0);
    assert_string_equal(have.run, "demo");
    assert_true(have.round == 12 && have.tokens == 98304 && have.n_windows == 4000);
    assert_true(have.seed == 1337 && have.cursor.epoch == 3 && have.cursor.start == 7);
    assert_int_equal(have.n_returned, 2);
    assert_memory_equal(have.returned, returned, sizeof returned);
    assert_int_equal(have.n_state, 2);
    assert_string_equal(have.state[1], states[1]);
    assert_string_equal(have.state[0], "");
    char *again = ledger_print(&have);
    assert_string_equal(text, again);
    ledger_fini(&have);
    free(again);
    /* Every prefix of it and every altered byte: taken or refused, never trusted blindly. */
    for (size_t i = 0; i < strlen(text); i++) {
        assert_int_equal(ledger_parse(text, i, &have, &err), -1);
        text[i] ^= 4;
        if (ledger_parse(text, strlen(text), &have, &err) == 0) ledger_fini(&have);
        text[i] ^= 4;
    }
    free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    log_init("checkpoint_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        TEST(test_checkpoint),         TEST(test_checkpoint_minimal), TEST(test_checkpoint_latest),
        TEST(test_checkpoint_refuses), TEST(test_checkpoint_damage),  TEST(test_manifests),
        TEST(test_fallback),           TEST(test_list_and_copies),    TEST(test_ledger),
        TEST(test_prune_links),        TEST(test_prune_ledger),       TEST(test_other_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
