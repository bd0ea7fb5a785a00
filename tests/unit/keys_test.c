/* Keys: what is written is read back, and nothing else is; cards that were changed, have expired or
 * are another authority's; who may join as what; files that others may read; lists of revoked keys. */
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
#include <unistd.h>

#include "msg/keys.h"

enum { NOW = 1700000000, END = NOW + 1000 };

static keys_authority_t authority;
static keys_t shepherd, worker;

static int make(void **state)
{
    (void)state;
    keys_authority_new(&authority, END, &shepherd);
    return keys_issue(&authority, KEYS_WORKER, "alpha", END, &worker, NULL);
}

static void files_round_trip(void **state)
{
    (void)state;
    char *text = keys_write(&worker), *signs = keys_authority_write(&authority);
    keys_t again;
    keys_authority_t authority_again;
    assert_int_equal(keys_read(text, strlen(text), &again, NULL), 0);
    assert_memory_equal(&again, &worker, sizeof again);
    assert_int_equal(keys_authority_read(signs, strlen(signs), &authority_again, NULL), 0);
    assert_memory_equal(&authority_again, &authority, sizeof authority);
    assert_int_equal(keys_read(signs, strlen(signs), &again, NULL), -1);
    assert_memory_equal(worker.server, shepherd.card.public_key, KEYS_BYTES);
    free(text);
    free(signs);
}

/* Every line missing, doubled, cut or longer; a byte more or less. */
static void other_files_are_refused(void **state)
{
    (void)state;
    char *text = keys_write(&worker), bad[4096];
    size_t n = strlen(text);
    keys_t out = {.card.name = "untouched"};
    for (size_t from = 0; from < n;) {
        size_t to = (size_t)(strchr(text + from, '\n') - text) + 1;
        err_t err = {0};
        snprintf(bad, sizeof bad, "%.*s%s", (int)from, text, text + to); /* missing */
        assert_int_equal(keys_read(bad, strlen(bad), &out, &err), -1);
        assert_non_null(strstr(err.text, "line "));
        snprintf(bad, sizeof bad, "%.*s%s", (int)to, text, text + from); /* twice */
        assert_int_equal(keys_read(bad, strlen(bad), &out, NULL), -1);
        snprintf(bad, sizeof bad, "%.*s%s", (int)to - 2, text, text + to - 1); /* a byte less */
        assert_int_equal(keys_read(bad, strlen(bad), &out, NULL),
                         strncmp(text + from, "name", 4) && strncmp(text + from, "expires", 7) ? -1
                                                                                               : 0);
        snprintf(bad, sizeof bad, "%.*s0\n%s", (int)to - 1, text, text + to); /* one more */
        int rc = keys_read(bad, strlen(bad), &out, NULL);
        if (rc == 0) assert_int_equal(keys_card_check(&out.card, &out.trust, NOW, NULL), -1);
        from = to;
    }
    assert_int_equal(keys_read(text, n - 1, &out, NULL), -1);
    assert_int_equal(keys_read("", 0, &out, NULL), -1);
    char *upper = strstr(text, "public ") + 7;
    snprintf(bad, sizeof bad, "%s", text);
    char *at = bad + (upper - text);
    *at = 'A';
    assert_int_equal(keys_read(bad, n, &out, NULL), -1); /* one way to write a number */
    snprintf(bad, sizeof bad, "%s", text);
    bad[n - 3] = '\0';
    assert_int_equal(keys_read(bad, n, &out, NULL), -1);
    free(text);
}

static void changed_cards_are_refused(void **state)
{
    (void)state;
    keys_authority_t other;
    keys_t others;
    err_t err = {0};
    keys_authority_new(&other, END, &others);
    assert_int_equal(keys_card_check(&worker.card, &authority.trust, NOW, NULL), 0);
    assert_int_equal(keys_card_check(&worker.card, &authority.trust, END - 1, NULL), 0);
    assert_int_equal(keys_card_check(&worker.card, &authority.trust, END, &err), -1);
    assert_non_null(strstr(err.text, "expired"));
    assert_int_equal(keys_card_check(&worker.card, &other.trust, NOW, &err), -1);
    assert_non_null(strstr(err.text, "not signed"));
    keys_card_t card = worker.card;
    card.role = KEYS_OPERATOR;
    assert_int_equal(keys_card_check(&card, &authority.trust, NOW, NULL), -1);
    card = worker.card;
    card.expires_s++;
    assert_int_equal(keys_card_check(&card, &authority.trust, NOW, NULL), -1);
    card = worker.card;
    card.name[0] = 'b';
    assert_int_equal(keys_card_check(&card, &authority.trust, NOW, NULL), -1);
    for (size_t i = 0; i < KEYS_BYTES; i++) { /* another's public key under his card */
        card = worker.card;
        card.public_key[i] ^= 1;
        assert_int_equal(keys_card_check(&card, &authority.trust, NOW, NULL), -1);
    }
}

/* What may take the place of a key in a process that runs, and each thing that may not. */
static void keys_are_renewed(void **state)
{
    (void)state;
    enum { ROLE, NAME, SECRET, SIGNS, SERVER, CARD, SOONER, N };
    static const char *const why[] = {"role is",         "name is",    "secret's", "secret's",
                                      "other shepherds", "not signed", "sooner"};
    keys_t next = worker;
    err_t err = {0};
    assert_true(keys_whole(&worker));
    keys_renew(&authority, END + 5, &next);
    assert_int_equal(next.card.expires_s, END + 5);
    assert_memory_equal(next.secret, worker.secret, KEYS_BYTES);
    assert_int_equal(keys_succeeds(&worker, &next, NOW, NULL), 0);
    assert_int_equal(keys_succeeds(&worker, &worker, NOW, NULL), 0);
    assert_int_equal(keys_succeeds(&worker, &next, END + 5, &err), -1);
    assert_non_null(strstr(err.text, "expired"));
    keys_t pair;
    assert_int_equal(keys_issue(&authority, KEYS_WORKER, "alpha", END, &pair, NULL), 0);
    assert_int_equal(keys_succeeds(&worker, &pair, NOW, NULL), 0);
    for (int i = 0; i < N; i++) {
        keys_t bad = next;
        if (i == ROLE) bad.card.role = KEYS_OPERATOR;
        if (i == NAME) bad.card.name[0] = 'b';
        if (i == SECRET) bad.secret[9] ^= 1;
        if (i == SIGNS) bad.card.signs[9] ^= 1;
        if (i == SERVER) bad.server[9] ^= 1;
        if (i == SOONER) bad.card.expires_s = END - 1;
        if (i != CARD)
            keys_renew(&authority, bad.card.expires_s, &bad); /* by the authority itself */
        if (i == CARD) bad.card.expires_s++;
        err = (err_t){0};
        assert_int_equal(keys_succeeds(&worker, &bad, NOW, &err), -1);
        assert_non_null(strstr(err.text, why[i]));
    }
    keys_t server = shepherd;
    assert_int_equal(keys_issue(&authority, KEYS_SHEPHERD, "shepherd", END, &server, NULL), 0);
    assert_int_equal(keys_succeeds(&shepherd, &server, NOW, &err), -1);
    assert_non_null(strstr(err.text, "public key"));
    keys_t gateway, another;
    keys_issue(&authority, KEYS_GATEWAY, "alpha", END, &gateway, NULL);
    keys_issue(&authority, KEYS_GATEWAY, "alpha", END, &another, NULL);
    assert_int_equal(keys_succeeds(&gateway, &gateway, NOW, &err), 0);
    err = (err_t){0};
    assert_int_equal(keys_succeeds(&gateway, &another, NOW, &err), -1);
    assert_non_null(strstr(err.text, "public key"));
}

/* Trust is changed in steps that overlap; nobody jumps. */
static void authorities_take_turns(void **state)
{
    (void)state;
    keys_authority_t old = authority, next;
    keys_t both = worker, by_next = worker, alone = worker, again;
    keys_authority_next(&old, &next);
    assert_memory_equal(old.trust.at[0], authority.trust.at[0], KEYS_BYTES);
    assert_memory_equal(old.trust.at[1], next.trust.at[0], KEYS_BYTES);
    assert_memory_equal(next.trust.at[1], old.trust.at[0], KEYS_BYTES);
    assert_memory_equal(next.server, old.server, KEYS_BYTES);
    keys_renew(&old, END, &both);
    keys_renew(&next, END, &by_next);
    keys_authority_t last = next;
    last.trust.n = 1;
    keys_renew(&last, END, &alone);
    assert_int_equal(keys_succeeds(&worker, &both, NOW, NULL), 0);
    assert_int_equal(keys_succeeds(&both, &by_next, NOW, NULL), 0);
    assert_int_equal(keys_succeeds(&by_next, &alone, NOW, NULL), 0);
    assert_int_equal(keys_succeeds(&worker, &by_next, NOW, NULL), -1);
    assert_int_equal(keys_succeeds(&worker, &alone, NOW, NULL), -1);
    assert_int_equal(keys_succeeds(&alone, &worker, NOW, NULL), -1);
    assert_int_equal(keys_card_check(&by_next.card, &both.trust, NOW, NULL), 0);
    assert_int_equal(keys_card_check(&both.card, &by_next.trust, NOW, NULL), 0);
    assert_int_equal(keys_card_check(&both.card, &alone.trust, NOW, NULL), -1);
    char *text = keys_write(&both), *signs = keys_authority_write(&next);
    assert_ptr_equal(strstr(text, "pcp-key 3\n"), text);
    assert_int_equal(keys_read(text, strlen(text), &again, NULL), 0);
    assert_memory_equal(&again, &both, sizeof again);
    assert_int_equal(keys_authority_read(signs, strlen(signs), &last, NULL), 0);
    assert_memory_equal(&last, &next, sizeof last);
    text[8] = '2'; /* a second authority that the version does not know */
    assert_int_equal(keys_read(text, strlen(text), &again, NULL), -1);
    free(text);
    free(signs);
}

static void cards_round_trip(void **state)
{
    (void)state;
    char text[KEYS_CARD_TEXT], bad[2 * KEYS_CARD_TEXT];
    keys_card_t card;
    keys_card_write(&worker.card, text);
    assert_int_equal(keys_card_read(text, worker.card.public_key, &card, NULL), 0);
    assert_memory_equal(&card, &worker.card, sizeof card);
    static const char *const shapes[] = {"", "2", "1%s", " %s", "%s ", "%s1", "2 worker a 1 x"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
        snprintf(bad, sizeof bad, shapes[i], text + (i == 2));
#pragma GCC diagnostic pop
        assert_int_equal(keys_card_read(bad, worker.card.public_key, &card, NULL), -1);
    }
}

static void names_and_roles(void **state)
{
    (void)state;
    static const struct {
        keys_role_t role;
        Msg__Kind kind;
        const char *id;
        bool may;
    } rows[] = {
        {KEYS_WORKER, MSG__KIND__KIND_WORKER, "alpha", true},
        {KEYS_WORKER, MSG__KIND__KIND_WORKER, "alpha-w0", true},
        {KEYS_WORKER, MSG__KIND__KIND_WORKER, "alphabet", false},
        {KEYS_WORKER, MSG__KIND__KIND_WORKER, "alph", false},
        {KEYS_WORKER, MSG__KIND__KIND_WORKER, "beta-alpha", false},
        {KEYS_WORKER, MSG__KIND__KIND_CLI, "alpha", false},
        {KEYS_WORKER, MSG__KIND__KIND_AGGREGATOR, "alpha", false},
        {KEYS_SUPERVISOR, MSG__KIND__KIND_WORKER, "alpha-w0", true},
        {KEYS_SUPERVISOR, MSG__KIND__KIND_SUPERVISOR, "alpha", true},
        {KEYS_SUPERVISOR, MSG__KIND__KIND_CLI, "alpha", false},
        {KEYS_OPERATOR, MSG__KIND__KIND_CLI, "alpha-1", true},
        {KEYS_VIEWER, MSG__KIND__KIND_CLI, "alpha-1", true},
        {KEYS_VIEWER, MSG__KIND__KIND_WORKER, "alpha-1", false},
        {KEYS_VIEWER, MSG__KIND__KIND_SUPERVISOR, "alpha", false},
        {KEYS_METRICS, MSG__KIND__KIND_CLI, "alpha", false},
        {KEYS_SHEPHERD, MSG__KIND__KIND_CLI, "alpha", false},
        {KEYS_METRICS, (Msg__Kind)KEYS_METRICS, "alpha", true}, /* no HELLO has such a kind */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        keys_t key;
        assert_int_equal(keys_issue(&authority, rows[i].role, "alpha", END, &key, NULL), 0);
        if ((keys_may_be(&key.card, rows[i].kind, rows[i].id) == NULL) != rows[i].may)
            fail_msg("row %zu", i);
    }
    static const char *const bad[] = {
        "", "a-b", "a b", "a/b", "\xc3\xbc", "a\n", "123456789012345678901234567890123"};
    keys_t key;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(keys_issue(&authority, KEYS_WORKER, bad[i], END, &key, NULL), -1);
}

static void files_are_for_their_owner(void **state)
{
    (void)state;
    char path[] = "/tmp/pcp-keys.XXXXXX";
    char *text = keys_write(&worker);
    int fd = mkstemp(path);
    keys_t key;
    err_t err = {0};
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(keys_load(path, &key, NULL), 0);
    for (mode_t mode = 1; mode < 0100; mode <<= 1) {
        assert_int_equal(fchmod(fd, 0600 | mode), 0);
        assert_int_equal(keys_load(path, &key, &err), -1);
        assert_non_null(strstr(err.text, "chmod 600"));
    }
    assert_int_equal(fchmod(fd, 0600), 0);
    assert_int_equal(ftruncate(fd, 100000), 0);
    assert_int_equal(keys_load(path, &key, &err), -1);
    assert_non_null(strstr(err.text, "has more than"));
    assert_int_equal(keys_load("/tmp", &key, &err), -1);
    assert_int_equal(keys_load("/dev/null", &key, &err), -1);
    assert_int_equal(keys_load("/no/such/key", &key, &err), -1);
    assert_non_null(strstr(err.text, "/no/such/key"));
    close(fd);
    unlink(path);
    free(text);
}

/* As Kubernetes hands secrets to a user who is not root: root's, and readable by the user's group. */
static void files_of_root_are_for_a_group(void **state)
{
    (void)state;
    if (geteuid() != 0) skip();
    static const struct {
        mode_t mode;
        uid_t owner, reader;
        bool good;
    } rows[] = {{0440, 0, 10001, true},      {0640, 0, 10001, true},    {0460, 0, 10001, false},
                {0441, 0, 10001, false},     {0444, 0, 10001, false},   {0440, 0, 0, false},
                {0440, 10001, 10001, false}, {0600, 10001, 10001, true}};
    char path[] = "/tmp/pcp-keys.XXXXXX", *text = keys_write(&worker);
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    gid_t before = getegid();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        keys_t key;
        assert_int_equal(fchown(fd, rows[i].owner, 10001), 0);
        assert_int_equal(fchmod(fd, rows[i].mode), 0);
        assert_int_equal(setegid(rows[i].reader ? 10001 : before), 0);
        assert_int_equal(seteuid(rows[i].reader), 0);
        bool good = keys_load(path, &key, NULL) == 0;
        assert_int_equal(seteuid(0), 0);
        assert_int_equal(setegid(before), 0);
        if (good != rows[i].good) fail_msg("row %zu", i);
    }
    close(fd);
    unlink(path);
    free(text);
}

static void revoked_lists(void **state)
{
    (void)state;
    uint8_t two[2][KEYS_BYTES];
    memcpy(two[0], worker.card.public_key, KEYS_BYTES);
    memset(two[1], 7, KEYS_BYTES);
    for (size_t n = 0; n <= 2; n++) {
        const keys_revoked_t list = {two, n};
        keys_revoked_t again;
        char *text = keys_revoked_write(&authority, &list);
        size_t length = strlen(text);
        assert_int_equal(keys_revoked_read(text, length, &authority.trust, &again, NULL), 0);
        assert_int_equal(again.n, n);
        if (n) assert_memory_equal(again.at, two, n * KEYS_BYTES);
        free(again.at);
        for (size_t i = 0; i < length; i++) { /* no byte may change */
            text[i] ^= 1;
            assert_int_equal(keys_revoked_read(text, length, &authority.trust, &again, NULL), -1);
            assert_null(again.at);
            text[i] ^= 1;
        }
        assert_int_equal(keys_revoked_read(text, length - 1, &authority.trust, &again, NULL), -1);
        keys_trust_t other = {.n = 1};
        memcpy(other.at[0], shepherd.card.public_key, KEYS_BYTES);
        assert_int_equal(keys_revoked_read(text, length, &other, &again, NULL), -1);
        other.n = 2; /* one of two will do */
        memcpy(other.at[1], authority.trust.at[0], KEYS_BYTES);
        assert_int_equal(keys_revoked_read(text, length, &other, &again, NULL), 0);
        free(again.at);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_round_trip),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(keys_are_renewed),
        cmocka_unit_test(authorities_take_turns),
        cmocka_unit_test(cards_round_trip),
        cmocka_unit_test(changed_cards_are_refused),
        cmocka_unit_test(names_and_roles),
        cmocka_unit_test(files_are_for_their_owner),
        cmocka_unit_test(files_of_root_are_for_a_group),
        cmocka_unit_test(revoked_lists),
    };
    return cmocka_run_group_tests_name("keys", tests, make, NULL);
}
