/* Where inner states are kept and found. The directory is pruned by use, not by round: a run that
 * goes back to a checkpoint uses old rounds again. */
#include "worker/states.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"

#define SUFFIX ".safetensors"

int states_init(states_t *self, const char *dir, err_t *err)
{
    self->dir = dir;
    return file_make_dirs(dir, err);
}

void states_forget(states_t *self)
{
    for (size_t i = 0; i < self->held.n; i++) free(self->held.at[i].bytes);
    VEC_FREE(&self->held);
    states_done(self);
}

void states_done(states_t *self)
{
    free(self->read.bytes);
    self->read = (state_t){0};
}

/* A replica's newer state replaces the one before it; what was left behind rounds ago will not be
 * asked for. */
static void hold(states_t *self, const state_t *state)
{
    for (size_t i = self->held.n; i-- > 0;) {
        state_t *old = &self->held.at[i];
        if (old->replica != state->replica && old->round + 1 >= state->round) continue;
        free(old->bytes);
        *old = self->held.at[--self->held.n];
    }
    VEC_PUSH(&self->held, *state);
}

/* --- The directory --- */

typedef struct {
    char *path;
    struct timespec used;
} entry_t;
typedef VEC(entry_t) entries_t;

static void entries_fini(entries_t *list)
{
    for (size_t i = 0; i < list->n; i++) free(list->at[i].path);
    VEC_FREE(list);
}

/* Files whose names begin and end so. */
static entries_t list_files(const char *dir, const char *begin, const char *end)
{
    entries_t list = {0};
    DIR *at = opendir(dir);
    for (struct dirent *e; at && (e = readdir(at));) {
        struct stat st;
        if (!str_starts(e->d_name, begin) || !str_ends(e->d_name, end)) continue;
        entry_t entry = {.path = mem_printf("%s/%s", dir, e->d_name)};
        if (stat(entry.path, &st) == 0) entry.used = st.st_mtim;
        VEC_PUSH(&list, entry);
    }
    if (at) closedir(at);
    return list;
}

static int newest_first(const void *a, const void *b)
{
    const struct timespec *x = &((const entry_t *)a)->used, *y = &((const entry_t *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec > y->tv_sec ? -1 : 1;
    return x->tv_nsec > y->tv_nsec ? -1 : x->tv_nsec < y->tv_nsec;
}

static void touch(const char *path)
{
    utimensat(AT_FDCWD, path, NULL, 0); /* its use counts, not its age */
}

static void prune_replica(const states_t *self, const char *prefix)
{
    entries_t list = list_files(self->dir, prefix, SUFFIX);
    if (list.n) qsort(list.at, list.n, sizeof *list.at, newest_first);
    for (size_t i = STATES_KEEP; i < list.n; i++) unlink(list.at[i].path);
    entries_fini(&list);
}

/* What other runs left a week ago, and what writers left that were killed. */
static void prune_old(const states_t *self)
{
    enum { WEEK_S = 7 * 24 * 3600 };
    time_t now = time(NULL);
    entries_t list = list_files(self->dir, "", SUFFIX);
    for (size_t i = 0; i < list.n; i++)
        if (now - list.at[i].used.tv_sec > WEEK_S) unlink(list.at[i].path);
    entries_fini(&list);
    file_sweep_temporaries(self->dir);
}

/* Its name and size alone prove nothing after a power cut. */
static bool is_written(const char *path, const state_t *state)
{
    size_t n = 0;
    char *bytes = file_size(path) == (int64_t)state->n ? file_read(path, &n, NULL) : NULL;
    bool same = bytes && n == state->n && memcmp(bytes, state->bytes, n) == 0;
    free(bytes);
    return same;
}

static int write_file(const states_t *self, const Msg__Lease *lease, const state_t *state,
                      err_t *err)
{
    char *prefix = mem_printf("%016llx-%u-", (unsigned long long)lease->run_hash, lease->replica);
    char *path = mem_printf("%s/%s%u-%s" SUFFIX, self->dir, prefix, state->round, state->hash);
    int rc = 0;
    if (is_written(path, state))
        touch(path); /* the same lease was trained here before */
    else
        rc = file_write_as(path, 0600, state->bytes, state->n, err);
    prune_replica(self, prefix);
    prune_old(self);
    free(prefix);
    free(path);
    return rc;
}

static char *read_file(const states_t *self, const char *hash, size_t limit, size_t *n)
{
    char *bytes = NULL, *end = mem_printf("-%s" SUFFIX, hash), found[HASH_HEX];
    entries_t list = list_files(self->dir, "", end);
    for (size_t i = 0; i < list.n && !bytes; i++) {
        const char *path = list.at[i].path;
        if (file_size(path) > (int64_t)limit || !(bytes = file_read(path, n, NULL))) continue;
        hash_content(bytes, *n, found);
        if (strcmp(found, hash) == 0) {
            touch(path);
            continue;
        }
        log_event(LOG_WARN, "state_damaged", "path=%s", path);
        unlink(path);
        free(bytes);
        bytes = NULL;
    }
    entries_fini(&list);
    free(end);
    return bytes;
}

/* --- Finding and keeping --- */

static const state_t *held_as(const states_t *self, const Msg__Lease *lease)
{
    for (size_t i = 0; i < self->held.n; i++) {
        const state_t *state = &self->held.at[i];
        bool next = state->replica == lease->replica && state->round == lease->round - lease->lag;
        if (*lease->state ? strcmp(state->hash, lease->state) == 0 : next) return state;
    }
    return NULL;
}

/* By its name, from whoever has it. */
static int fetch(states_t *self, const Msg__Lease *lease, data_client_t *client, size_t limit,
                 const state_t **found, err_t *err)
{
    state_t state = {.replica = lease->replica, .round = lease->round};
    const char *from = "file";
    double begin = clock_mono_s();
    memcpy(state.hash, lease->state, HASH_HEX);
    char *bytes = read_file(self, state.hash, limit, &state.n);
    if (!bytes) {
        from = "object";
        bytes = data_get_object(client, state.hash, limit, &state.n, err);
        if (!bytes) return -1;
    }
    state.bytes = (uint8_t *)bytes;
    self->read = state;
    *found = &self->read;
    log_event(LOG_INFO, "state_restored",
              "replica=%u round=%u state=%.12s from=%s bytes=%zu seconds=%.3f", lease->replica,
              lease->round, state.hash, from, state.n, clock_mono_s() - begin);
    return 0;
}

/* Nobody but the replica's worker ever had it: so was it wished for. */
static void tell_fresh(states_t *self, const Msg__Lease *lease)
{
    snprintf(self->fault, sizeof self->fault,
             "replica %u begins round %u with zero moments: keep_state is memory, and the worker "
             "that had its inner state is gone; keep_state local or object keeps the run exact",
             lease->replica, lease->round);
    log_event(LOG_WARN, "state_fresh", "text=\"%s\"", self->fault);
}

int states_find(states_t *self, const Msg__Lease *lease, data_client_t *client, size_t limit,
                const state_t **found, bool *fresh, err_t *err)
{
    bool named = *lease->state, memory = lease->keep_state == MSG__STATE_KEEP__STATE_MEMORY;
    err_t reason = {0};
    *found = NULL;
    *fresh = false;
    states_done(self);
    *self->lost = '\0';
    if (named && (strlen(lease->state) != HASH_HEX - 1 ||
                  strspn(lease->state, "0123456789abcdef") != HASH_HEX - 1))
        return err_set(err, ERR_NET, "state \"%.64s\" is no content hash", lease->state);
    if (named || memory) *found = held_as(self, lease);
    if (*found) return 0;
    if (!named) {
        *fresh = memory && lease->round > lease->lag;
        if (*fresh) tell_fresh(self, lease);
        return 0;
    }
    if (fetch(self, lease, client, limit, found, &reason) == 0) return 0;
    if (reason.code != ERR_IO && reason.code != ERR_CORRUPT)
        return err_set(err, reason.code, "inner state: %s", reason.text);
    memcpy(self->lost, lease->state, HASH_HEX);
    return err_set(err, ERR_STATE,
                   "inner state %.12s of replica %u is not in %s, and not in the object service: "
                   "%.300s",
                   lease->state, lease->replica, self->dir, reason.text);
}

static bool put_instead(states_t *self, const state_t *state, data_client_t *client,
                        const err_t *fault)
{
    err_t err = {0};
    bool put = client && data_put_object(client, state->hash, state->bytes, state->n, &err) == 0;
    self->degraded = true;
    snprintf(self->fault, sizeof self->fault,
             "inner state %.12s of replica %u is in %s only: %s; free space there", state->hash,
             state->replica, put ? "the object service" : "memory", fault->text);
    log_event(LOG_ERROR, "degraded", "text=\"%s\"", self->fault);
    return put;
}

int states_keep(states_t *self, const Msg__Lease *lease, uint8_t *bytes, size_t n,
                data_client_t *client, char hash[HASH_HEX], err_t *err)
{
    state_t state = {.replica = lease->replica, .round = lease->round + 1, .bytes = bytes, .n = n};
    err_t write_err = {0};
    bool put = false, memory = lease->keep_state == MSG__STATE_KEEP__STATE_MEMORY;
    double begin = clock_mono_s();
    if (!memory) {
        hash_content(bytes, n, state.hash);
        put = write_file(self, lease, &state, &write_err) < 0 &&
              put_instead(self, &state, client, &write_err);
        if (!write_err.code) self->degraded = false;
    }
    if (lease->keep_state == MSG__STATE_KEEP__STATE_OBJECT && !put &&
        data_put_object(client, state.hash, bytes, n, err) < 0) {
        free(bytes);
        return -1;
    }
    if (memory || (write_err.code && !put && lease->keep_state != MSG__STATE_KEEP__STATE_OBJECT))
        hold(self, &state);
    else
        free(bytes);
    memcpy(hash, state.hash, HASH_HEX);
    log_event(LOG_DEBUG, "state_kept", "replica=%u round=%u state=%.12s bytes=%zu seconds=%.3f",
              lease->replica, state.round, state.hash, n, clock_mono_s() - begin);
    return 0;
}
