/* Where a worker keeps inner states: in memory, in files that others find, on a full disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "temp.h"
#include "worker/states.h"

static void keep(states_t *states, Msg__Lease *lease, const char *text, char hash[HASH_HEX])
{
    const source_t state = source_of_bytes(text, strlen(text));
    states_made_t made;
    assert_int_equal(states_write(states, lease, &state, &made, NULL), 0);
    assert_int_equal(states_keep(states, lease, &state, NULL, &made, hash, NULL), 0);
}

/* What a lease that names `hash` begins with is `text`; NULL: zero moments. */
static void begins_with(states_t *states, Msg__Lease *lease, const char *hash, const char *text)
{
    const state_t *found = NULL;
    bool fresh = true;
    lease->state = (char *)hash;
    assert_int_equal(states_find(states, lease, NULL, 1000, &found, &fresh, NULL), 0);
    assert_int_equal(found != NULL, text != NULL);
    if (!text) return;
    assert_false(fresh);
    assert_int_equal(found->source.n, strlen(text));
    uint8_t *bytes = source_take(&found->source, NULL);
    assert_non_null(bytes);
    assert_memory_equal(bytes, text, strlen(text));
    free(bytes);
}

static void states_in_memory(void **unused)
{
    (void)unused;
    char *dir = temp_dir(), hash[HASH_HEX];
    states_t states = {0};
    assert_int_equal(states_init(&states, dir, NULL), 0);
    Msg__Lease lease = MSG__LEASE__INIT;
    lease.round = 4, lease.replica = 1;
    begins_with(&states, &lease, "", NULL);
    keep(&states, &lease, "after 4", hash);
    assert_string_equal(hash, "");
    begins_with(&states, &lease, "", NULL); /* this is the state after the round, not before */
    lease.round = 5;
    begins_with(&states, &lease, "", "after 4");
    lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    begins_with(&states, &lease, "", NULL); /* a run that names its states means: zero */
    lease.keep_state = MSG__STATE_KEEP__STATE_MEMORY;
    lease.replica = 2;
    begins_with(&states, &lease, "", NULL);
    keep(&states, &lease, "after 5", hash);
    lease.round = 9;
    keep(&states, &lease, "after 9", hash);
    assert_int_equal(states.held.n, 1); /* what is left behind is not kept for ever */
    assert_int_equal(temp_count(dir), 0);
    states_forget(&states);
    temp_remove(&dir);
}

static void states_in_files(void **unused)
{
    (void)unused;
    char *dir = temp_dir(), hash[8][HASH_HEX], text[8][16];
    states_t writer = {0}, reader = {0};
    assert_int_equal(states_init(&writer, dir, NULL), 0);
    assert_int_equal(states_init(&reader, dir, NULL), 0);
    Msg__Lease lease = MSG__LEASE__INIT;
    lease.run_hash = 77;
    lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    for (uint32_t round = 0; round < 8; round++) {
        snprintf(text[round], sizeof text[round], "state %u", round);
        lease.round = round;
        keep(&writer, &lease, text[round], hash[round]);
        char want[HASH_HEX];
        hash_content(text[round], strlen(text[round]), want);
        assert_string_equal(hash[round], want);
        if (round == 6) begins_with(&reader, &lease, hash[3], text[3]); /* used again: it stays */
    }
    lease.replica = 1;
    keep(&writer, &lease, "of another replica", hash[0]);
    assert_int_equal(temp_count(dir), STATES_KEEP + 1);
    lease.replica = 0;
    states_forget(&reader);
    begins_with(&reader, &lease, hash[7], text[7]);
    begins_with(&reader, &lease, hash[3], text[3]);
    begins_with(&writer, &lease, hash[7], text[7]); /* from memory */
    states_forget(&writer);
    states_forget(&reader);
    temp_remove(&dir);
}

/* A power cut may leave a file with the right name and size, and other bytes. */
static void states_half_written(void **unused)
{
    (void)unused;
    char *dir = temp_dir(), hash[HASH_HEX];
    states_t writer = {0}, reader = {0};
    assert_int_equal(states_init(&writer, dir, NULL), 0);
    assert_int_equal(states_init(&reader, dir, NULL), 0);
    Msg__Lease lease = MSG__LEASE__INIT;
    lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    keep(&writer, &lease, "a state", hash);
    char *path = mem_printf("%s/%016x-0-1-%s.safetensors", dir, 0, hash);
    assert_int_equal(file_size(path), 7);
    temp_write(path, "\0\0\0\0\0\0\0", 7);
    keep(&writer, &lease, "a state", hash); /* trained again */
    begins_with(&reader, &lease, hash, "a state");
    free(path);
    states_forget(&writer);
    states_forget(&reader);
    temp_remove(&dir);
}

/* The state is still there for the next lease of this worker, and the fault is told. */
static void states_on_a_full_disk(void **unused)
{
    (void)unused;
    char *dir = temp_dir(), hash[HASH_HEX];
    states_t states = {0};
    assert_int_equal(states_init(&states, dir, NULL), 0);
    Msg__Lease lease = MSG__LEASE__INIT;
    lease.keep_state = MSG__STATE_KEEP__STATE_LOCAL;
    temp_disk_full(3);
    keep(&states, &lease, "after 0", hash);
    temp_disk_free();
    assert_int_equal(strlen(hash), HASH_HEX - 1);
    assert_true(states.degraded);
    assert_non_null(strstr(states.fault, "is in memory only: "));
    assert_non_null(strstr(states.fault, dir));
    lease.round = 1;
    begins_with(&states, &lease, hash, "after 0");
    keep(&states, &lease, "after 1", hash);
    assert_false(states.degraded);
    states_forget(&states);
    temp_remove(&dir);
}

int main(void)
{
    log_init("worker_states_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_in_memory),
        cmocka_unit_test(states_in_files),
        cmocka_unit_test(states_half_written),
        cmocka_unit_test(states_on_a_full_disk),
    };
    return cmocka_run_group_tests_name("worker_states", tests, NULL, NULL);
}
