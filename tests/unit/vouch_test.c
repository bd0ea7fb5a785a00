/* Signatures of plans and checkpoints: what a compiler of ours has signed is taken, and nothing that
 * differs in a bit, is unsigned, or is signed by another role, another cluster, or a key that is
 * revoked. The process has a compiler's key, then checkpoints are signed by a shepherd's. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/checkpoint.h"
#include "msg/keyring.h"
#include "msg/refusals.h"
#include "msg/seal.h"
#include "msg/vouch.h"

enum { NOW = 1800000000, NEVER = INT32_MAX };
static const char hash[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
static const vouch_plan_t plan = {hash, "cpu:x86-64-v3", hash, "{\"rule\": \"adamw\"}"};

static char dir[] = "/tmp/pcp-vouch.XXXXXX";
static keys_authority_t authority;
static keys_t shepherd, compiler, worker, gone, foreign;

static int load(void **state)
{
    (void)state;
    err_t err = {0};
    keys_authority_t other;
    keys_t unused;
    log_init("test", LOG_OFF, LOG_LOGFMT);
    assert_non_null(mkdtemp(dir));
    keys_authority_new(&authority, NEVER, &shepherd);
    keys_authority_new(&other, NEVER, &unused);
    keys_issue(&authority, KEYS_COMPILER, "c0", NEVER, &compiler, NULL);
    keys_issue(&authority, KEYS_COMPILER, "c1", NEVER, &gone, NULL);
    keys_issue(&authority, KEYS_WORKER, "w0", NEVER, &worker, NULL);
    keys_issue(&other, KEYS_COMPILER, "c2", NEVER, &foreign, NULL);
    char *path = mem_printf("%s/key", dir), *text = keys_write(&compiler);
    assert_int_equal(file_write_as(path, 0600, text, strlen(text), &err), 0);
    assert_int_equal(keyring_load(&(keyring_options_t){.key = path}, &err), 0);
    free(path);
    free(text);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    char *command = mem_printf("rm -rf %s", dir);
    int rc = system(command);
    free(command);
    return rc;
}

/* The plan's statement in the name of another key. */
static char *sealed_by(const keys_t *key)
{
    char spec[HASH_HEX];
    hash_content(plan.spec, strlen(plan.spec), spec);
    char *statement = mem_printf("pcp plan 1\nplan %s\ntarget %s\nmodule %s\nspec %s\n", plan.plan,
                                 plan.target, plan.module, spec);
    char *seal = seal_make(key, statement, NOW);
    free(statement);
    return seal;
}

/* Refused with these words, and counted. */
static void refused(const char *seal, const vouch_plan_t *what, const char *why)
{
    err_t err = {0};
    uint64_t before = vouch_refused(), counted = refusals_of(REFUSAL_SIGNATURE);
    assert_int_equal(vouch_check_plan(seal, what, &err), -1);
    assert_int_equal(err.code, ERR_STATE);
    if (!strstr(err.text, why)) fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    assert_int_equal(vouch_refused(), before + 1);
    assert_int_equal(refusals_of(REFUSAL_SIGNATURE), counted + 1);
}

static void ours_is_taken(void **state)
{
    (void)state;
    char *seal = vouch_plan(&plan);
    assert_int_equal(vouch_check_plan(seal, &plan, NULL), 0);
    assert_int_equal(vouch_check_plan(seal, &(vouch_plan_t){.plan = hash}, NULL), 0);
    assert_null(vouch_checkpoint(hash)); /* a compiler signs none */
    free(seal);
}

static void others_are_not(void **state)
{
    (void)state;
    refused("", &plan, "is not signed");
    refused("nonsense", &plan, "not as one is written");
    char *seal = sealed_by(&worker);
    refused(seal, &plan, "\"w0\", whose role is worker");
    free(seal);
    seal = sealed_by(&foreign);
    refused(seal, &plan, "not signed by this cluster's authority");
    free(seal);
    keys_t claims = foreign; /* a card of ours, and a secret that is not its */
    claims.card = compiler.card;
    seal = sealed_by(&claims);
    refused(seal, &plan, "in the name of \"c0\" is wrong");
    free(seal);
    seal = seal_make(&compiler, "pcp checkpoint 1\nmanifest x\n", NOW);
    refused(seal, &plan, "something else");
    free(seal);
    seal = seal_make(&compiler, "pcp plan 1\nplan x\n", (int64_t)NEVER);
    refused(seal, &(vouch_plan_t){.plan = "x"}, "after its certificate had expired");
    free(seal);
}

static void another_plan_is_not(void **state)
{
    (void)state;
    char *seal = vouch_plan(&plan);
    char other[] = "10112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    vouch_plan_t what = plan;
    what.plan = other;
    refused(seal, &what, "something else");
    what = plan;
    what.target = "cpu:x86-64-v4";
    refused(seal, &what, "something else");
    what = plan;
    what.module = other;
    refused(seal, &what, "something else");
    what = plan;
    what.spec = "{\"rule\": \"sgd\"}";
    refused(seal, &what, "something else");
    free(seal);
}

static void no_bit_may_differ(void **state)
{
    (void)state;
    char *seal = vouch_plan(&plan);
    size_t n = strlen(seal);
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            seal[i] = (char)(seal[i] ^ 1 << bit);
            assert_int_equal(vouch_check_plan(seal, &plan, NULL), -1);
            seal[i] = (char)(seal[i] ^ 1 << bit);
        }
    for (size_t cut = 0; cut < n; cut++) {
        char *part = mem_printf("%.*s", (int)cut, seal);
        assert_int_equal(vouch_check_plan(part, &plan, NULL), -1);
        free(part);
    }
    assert_int_equal(vouch_check_plan(seal, &plan, NULL), 0);
    free(seal);
}

static void a_revoked_key_signs_no_more(void **state)
{
    (void)state;
    char *seal = sealed_by(&gone);
    assert_int_equal(vouch_check_plan(seal, &plan, NULL), 0);
    uint64_t since = keyring_revoked_since();
    char *list = keys_revoked_write(&authority,
                                    &(keys_revoked_t){(uint8_t(*)[32])gone.card.public_key, 1});
    char *nobody = keys_revoked_write(&authority, &(keys_revoked_t){0});
    char *bad = mem_strdup(list);
    bad[20] = bad[20] == '0' ? '1' : '0';
    assert_int_equal(keyring_take_revoked(bad, strlen(bad), NULL), -1);
    assert_int_equal(vouch_check_plan(seal, &plan, NULL), 0);
    assert_int_equal(keyring_take_revoked(list, strlen(list), NULL), 1);
    assert_int_equal(keyring_take_revoked(list, strlen(list), NULL), 0);
    assert_int_equal(keyring_take_revoked(nobody, strlen(nobody), NULL), 0); /* nobody comes back */
    assert_true(keyring_revoked_since() > since);
    refused(seal, &plan, "\"c1\", whose key is revoked");
    char *kept = keyring_revoked_list();
    assert_string_equal(kept, list);
    free(kept);
    free(bad);
    free(nobody);
    free(list);
    free(seal);
}

/* --- Checkpoints --- */

static const keys_t *signer;

static char *sign(const char *of)
{
    char *statement = mem_printf("pcp checkpoint 1\nmanifest %s\n", of), *seal = NULL;
    if (signer) seal = seal_make(signer, statement, NOW);
    free(statement);
    return seal;
}

static void write_checkpoint(const char *root, const keys_t *by)
{
    static const float values[2] = {1, 2};
    const safetensor_t tensor = {
        .name = "w", .dtype = DT_F32, .rank = 1, .dims = {2}, .data = values, .n_bytes = 8};
    const checkpoint_info_t info = {.run = "r", .module_hash = hash};
    err_t err = {0};
    signer = by;
    assert_int_equal(checkpoint_write(root, &info, &tensor, 1, NULL, 0, NULL, 0, NULL, &err), 0);
}

static void not_opened(const char *path, const char *why)
{
    err_t err = {0};
    assert_null(checkpoint_open(path, &err));
    if (!strstr(err.text, why)) fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void checkpoints_are_judged(void **state)
{
    (void)state;
    static const checkpoint_seals_t seals = {sign, vouch_check_checkpoint};
    char *root = mem_printf("%s/checkpoint", dir), *latest = mem_printf("%s/latest", root);
    write_checkpoint(root, NULL); /* before there were keys */
    checkpoint_use_seals(&seals);
    not_opened(latest, "is not signed");
    assert_int_equal(checkpoint_sign(latest, NULL), -1);
    signer = &shepherd;
    assert_int_equal(checkpoint_sign(latest, NULL), 0);
    checkpoint_t *checkpoint = checkpoint_open(latest, NULL);
    assert_non_null(checkpoint);
    char *who = vouch_tell(checkpoint_seal(checkpoint), checkpoint_hash(checkpoint));
    assert_string_equal(who, "signed by shepherd (shepherd) at 2027-01-15T08:00:00Z");
    free(who);
    checkpoint_close(&checkpoint);
    write_checkpoint(root, &foreign);
    not_opened(latest, "not signed by this cluster's authority");
    checkpoint = checkpoint_open(root, NULL); /* the one before it */
    assert_non_null(checkpoint);
    assert_true(strstr(checkpoint_path(checkpoint), "round-000000") != NULL);
    assert_null(strstr(checkpoint_path(checkpoint), "round-000000-2"));
    checkpoint_close(&checkpoint);
    write_checkpoint(root, &worker);
    not_opened(latest, "whose role is worker, not shepherd or operator");
    write_checkpoint(root, &gone);
    not_opened(latest, "whose role is compiler");
    free(latest);
    free(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ours_is_taken),
        cmocka_unit_test(others_are_not),
        cmocka_unit_test(another_plan_is_not),
        cmocka_unit_test(no_bit_may_differ),
        cmocka_unit_test(a_revoked_key_signs_no_more),
        cmocka_unit_test(checkpoints_are_judged),
    };
    return cmocka_run_group_tests(tests, load, remove_files);
}
