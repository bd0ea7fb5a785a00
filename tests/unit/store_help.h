/* Databases for the store's tests: SQLite in a scratch directory, or a schema of its own on the
 * PostgreSQL server that the environment variable PCP_TEST_STORE names (tests/cluster/store.sh). */
#ifndef TESTS_STORE_HELP_H
#define TESTS_STORE_HELP_H

#include "store/store.h"

/* A new empty database's URL; freed by store_help_drop, with the database. */
char *store_help_new(void);
void store_help_drop(char **url_p);
bool store_help_postgres(void);

/* A store on it; with all migrations when `migrated`. Fails the test on error. */
store_t *store_help_open(const char *url, bool migrated);

/* A running run "r" of epochs of n_windows, led by "boss". */
store_leader_t store_help_run(store_t *store, uint64_t n_windows);

/* Kill this process (SIGKILL) in the middle of a transaction of the leader that has added a row to
 * the ledger. */
void store_help_abandon(store_t *store, const store_leader_t *leader);

/* Run SQL that the store does not offer. */
void store_help_script(const char *url, const char *text);
bool store_help_refused(const char *url, const char *text); /* ERR_STATE: the database forbids it */
int64_t store_help_count(const char *url, const char *query); /* first cell */

/* What tests without rounds share: a new database with all migrations. */
typedef struct {
    char *url;
    store_t *store;
} store_test_t;
int store_set_up(void **state);
int store_tear_down(void **state);

/* What tests of rounds share: a run of LEDGER_EPOCH windows an epoch, whose round r has one lease
 * (replica 0, fence 1) of windows [10 r, 10 r + 10). */
enum { LEDGER_EPOCH = 100 };
typedef struct {
    char *url;
    store_t *store;
    store_leader_t boss;
} ledger_test_t;
int ledger_set_up(void **state);
int ledger_tear_down(void **state);
void ledger_open(ledger_test_t *self, uint64_t r);
store_commit_t ledger_commit(uint64_t r); /* of the whole lease */
uint64_t ledger_windows(store_t *store);  /* windows in the ledger, none of them doubled */

/* A lease of round 0 is done: loss 1.5, 640 tokens, three steps of norm 1 + replica in half a
 * second.
 */
int store_help_done(store_t *store, const store_leader_t *leader, uint32_t replica, uint32_t fence,
                    uint64_t windows, const char *state, err_t *err);

/* Fails the test, showing the error, unless rc is 0. */
#define STORE_OK(call)                                                 \
    do {                                                               \
        err_t store_ok_err = {0};                                      \
        err_t *err = &store_ok_err;                                    \
        if ((call) != 0) fail_msg("%s: %s", #call, store_ok_err.text); \
    } while (0)

/* Fails the test unless the call fails with this code. */
#define STORE_REFUSED(expected, call)                                                 \
    do {                                                                              \
        err_t store_no_err = {0};                                                     \
        err_t *err = &store_no_err;                                                   \
        if ((call) != -1) fail_msg("%s succeeded", #call);                            \
        if (store_no_err.code != (expected))                                          \
            fail_msg("%s: code %d: %s", #call, store_no_err.code, store_no_err.text); \
    } while (0)

#endif
