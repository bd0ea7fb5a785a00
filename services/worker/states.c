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
#include "base/entries.h"
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

static bool in_file(const state_t *state)
{
    return !state->bytes && state->source.read;
}

void states_done(states_t *self)
{
    if (in_file(&self->read)) close(self->read.file.fd);
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

static int copy(state_t *state, const source_t *from, err_t *err)
{
    state->bytes = source_take(from, err);
    if (!state->bytes) return -1;
    state->source = source_of_bytes(state->bytes, (size_t)from->n);
    return 0;
}

/* --- The directory --- */

static void prune_replica(const states_t *self, const char *prefix)
{
    entries_t list = entries_list(self->dir, prefix, SUFFIX);
    if (list.n) qsort(list.at, list.n, sizeof *list.at, entries_newest_first);
    for (size_t i = STATES_KEEP; i < list.n; i++) unlink(list.at[i].path);
    entries_fini(&list);
}

/* What other runs left a week ago, and what writers left that were killed. */
static void prune_old(const states_t *self)
{
    enum { WEEK_S = 7 * 24 * 3600 };
    time_t now = time(NULL);
    entries_t list = entries_list(self->dir, "", SUFFIX);
    for (size_t i = 0; i < list.n; i++)
        if (now - list.at[i].used.tv_sec > WEEK_S) unlink(list.at[i].path);
    entries_fini(&list);
    file_sweep_temporaries(self->dir);
}

/* All of it to a file and its hash, which becomes the file's name, in one pass. It is written also where such a
 * file is there: after a power cut its name and size would prove nothing. */
static int write_state(const char *beside, const source_t *from, char hash[HASH_HEX],
                       char **temporary, err_t *err)
{
    file_part_t part = {.fd = file_open_temporary(beside, 0600, temporary, err), .path = beside};
    if (part.fd < 0) return -1;
    const sink_t to = sink_to_file(&part);
    if (source_save(from, &to, hash, err) == 0) return part.fd;
    close(part.fd);
    unlink(*temporary);
    return -1;
}

static int write_file(const states_t *self, const Msg__Lease *lease, const source_t *from,
                      char hash[HASH_HEX], err_t *err)
{
    char *prefix = mem_printf("%016llx-%u-", (unsigned long long)lease->run_hash, lease->replica);
    char *beside = mem_printf("%s/%s%u", self->dir, prefix, lease->round + 1), *temporary = NULL;
    int fd = write_state(beside, from, hash, &temporary, err), rc = -1;
    if (fd >= 0) {
        char *path = mem_printf("%s-%s" SUFFIX, beside, hash);
        rc = file_commit(fd, temporary, path, err);
        free(path);
    }
    prune_replica(self, prefix);
    prune_old(self);
    free(temporary);
    free(prefix);
    free(beside);
    return rc;
}

/* --- Reading one --- */

/* An open file is the state of that name: then it is its source, and `state` has the descriptor. */
static int take_file(state_t *state, int fd, const char *path, err_t *err)
{
    char found[HASH_HEX];
    struct stat info;
    if (fstat(fd, &info) < 0) return err_set_errno(err, "%s", path);
    state->file = (file_part_t){.fd = fd, .path = "inner state"};
    const source_t source = source_of_file(&state->file, (uint64_t)info.st_size);
    if (source_hash(&source, found, err) < 0) return -1;
    if (strcmp(found, state->hash) != 0)
        return err_set(err, ERR_CORRUPT, "%s: its hash is %.12s, not %.12s", path, found,
                       state->hash);
    state->source = source;
    return 0;
}

static bool open_file(state_t *state, const char *path, size_t limit)
{
    err_t err = {0};
    int fd = file_size(path) <= (int64_t)limit ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return false;
    if (take_file(state, fd, path, &err) == 0) {
        entries_touch(path); /* its use counts, not its age */
        return true;
    }
    close(fd);
    if (err.code == ERR_CORRUPT) {
        log_event(LOG_WARN, "state_damaged", "path=%s", path);
        unlink(path);
    }
    return false;
}

static bool find_file(const states_t *self, state_t *state, size_t limit)
{
    bool found = false;
    char *end = mem_printf("-%s" SUFFIX, state->hash);
    entries_t list = entries_list(self->dir, "", end);
    for (size_t i = 0; i < list.n && !found; i++) found = open_file(state, list.at[i].path, limit);
    entries_fini(&list);
    free(end);
    return found;
}

/* By way of a file without a name. */
static int fetch_to_file(const states_t *self, state_t *state, data_client_t *client, uint64_t n,
                         err_t *err)
{
    char *beside = mem_printf("%s/fetched", self->dir), *temporary = NULL;
    file_part_t part = {.fd = file_open_temporary(beside, 0600, &temporary, err), .path = beside};
    const sink_t to = sink_to_file(&part);
    int rc = part.fd < 0 ? -1 : 0;
    if (rc == 0) unlink(temporary);
    if (rc == 0) rc = data_get_object_to(client, state->hash, n, &to, err);
    if (rc == 0) rc = take_file(state, part.fd, beside, err);
    if (rc < 0 && part.fd >= 0) close(part.fd);
    free(temporary);
    free(beside);
    return rc;
}

static int fetch_object(const states_t *self, state_t *state, data_client_t *client, size_t limit,
                        err_t *err)
{
    uint64_t n = 0;
    size_t n_bytes = 0;
    err_t fault = {0};
    if (data_object_size(client, state->hash, &n, err) < 0) return -1;
    if (n > limit)
        return err_set(err, ERR_SHAPE, "it has %llu bytes there, a state of this plan at most %zu",
                       (unsigned long long)n, limit);
    if (fetch_to_file(self, state, client, n, &fault) == 0) return 0;
    if (fault.code == ERR_NET || fault.code == ERR_STATE)
        return err_set(err, fault.code, "%s", fault.text);
    /* The directory has no room for it. */
    state->bytes = (uint8_t *)data_get_object(client, state->hash, limit, &n_bytes, err);
    state->source = source_of_bytes(state->bytes, n_bytes);
    return state->bytes ? 0 : -1;
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
    state_t *state = &self->read; /* its source points into it */
    double begin = clock_mono_s();
    *state = (state_t){.replica = lease->replica, .round = lease->round};
    memcpy(state->hash, lease->state, HASH_HEX);
    bool here = find_file(self, state, limit);
    if (!here && fetch_object(self, state, client, limit, err) < 0) {
        *state = (state_t){0};
        return -1;
    }
    *found = state;
    log_event(LOG_INFO, "state_restored",
              "replica=%u round=%u state=%.12s from=%s bytes=%llu seconds=%.3f", lease->replica,
              lease->round, state->hash, here ? "file" : "object",
              (unsigned long long)state->source.n, clock_mono_s() - begin);
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
    if (named && !hash_is_name(lease->state))
        return err_set(err, ERR_NET, "state \"%.64s\" is no content hash", lease->state);
    if (named || memory) *found = held_as(self, lease);
    if (*found) return 0;
    if (!named) {
        *fresh = memory && lease->round > lease->lag;
        if (*fresh) tell_fresh(self, lease);
        return 0;
    }
    if (fetch(self, lease, client, limit, found, &reason) == 0) return 0;
    if (reason.code != ERR_IO && reason.code != ERR_CORRUPT && reason.code != ERR_SHAPE)
        return err_set(err, reason.code, "inner state: %s", reason.text);
    memcpy(self->lost, lease->state, HASH_HEX);
    return err_set(err, ERR_STATE,
                   "inner state %.12s of replica %u is not in %s, and not in the object service: "
                   "%.300s",
                   lease->state, lease->replica, self->dir, reason.text);
}

void states_unfit(states_t *self, const Msg__Lease *lease, err_t *err)
{
    if (!*lease->state) return; /* this worker's own, from memory */
    memcpy(self->lost, lease->state, HASH_HEX);
    err_prefix(err,
               "what replica %u is to begin with, %.12s, is no state of this run: ", lease->replica,
               lease->state);
    err->code = ERR_STATE;
}

const state_t *states_open(states_t *self, const char *hash, err_t *err)
{
    states_done(self);
    if (hash_is_name(hash)) memcpy(self->read.hash, hash, HASH_HEX);
    if (hash_is_name(hash) && find_file(self, &self->read, INT64_MAX)) return &self->read;
    self->read = (state_t){0};
    err_set(err, ERR_IO, "inner state %.12s is not in %s", hash, self->dir);
    return NULL;
}

static bool in_memory(const Msg__Lease *lease)
{
    return lease->keep_state == MSG__STATE_KEEP__STATE_MEMORY;
}

int states_write(const states_t *self, const Msg__Lease *lease, const source_t *from,
                 states_made_t *made, err_t *err)
{
    *made = (states_made_t){.state = {.replica = lease->replica, .round = lease->round + 1}};
    state_t *state = &made->state;
    double begin = clock_mono_s();
    if (in_memory(lease) && copy(state, from, err) < 0) return -1;
    if (!in_memory(lease))
        made->in_dir = write_file(self, lease, from, state->hash, &made->fault) == 0;
    log_event(LOG_DEBUG, "state_written", "replica=%u round=%u state=%.12s bytes=%llu seconds=%.3f",
              lease->replica, state->round, state->hash, (unsigned long long)from->n,
              clock_mono_s() - begin);
    return 0;
}

void states_drop(states_made_t *made)
{
    free(made->state.bytes);
    *made = (states_made_t){0};
}

/* In the object service, or else in memory. */
static int keep_elsewhere(states_t *self, states_made_t *made, const source_t *from,
                          data_client_t *client, bool must_put, err_t *err)
{
    err_t put_err = {0};
    state_t *state = &made->state;
    if (source_hash(from, state->hash, err) < 0) return -1;
    bool put = client && data_put_object_from(client, state->hash, from, &put_err) == 0;
    if (!put && must_put) return err_set(err, put_err.code, "%s", put_err.text);
    if (!put && copy(state, from, err) < 0) return -1;
    if (!put) hold(self, state);
    self->degraded = true;
    snprintf(self->fault, sizeof self->fault,
             "inner state %.12s of replica %u is in %s only: %s; free space there", state->hash,
             state->replica, put ? "the object service" : "memory", made->fault.text);
    log_event(LOG_ERROR, "degraded", "text=\"%s\"", self->fault);
    return 0;
}

int states_keep(states_t *self, const Msg__Lease *lease, const source_t *from,
                data_client_t *client, states_made_t *made, char hash[HASH_HEX], err_t *err)
{
    bool must_put = lease->keep_state == MSG__STATE_KEEP__STATE_OBJECT;
    int rc = 0;
    if (in_memory(lease)) {
        hold(self, &made->state);
    } else if (!made->in_dir) {
        rc = keep_elsewhere(self, made, from, client, must_put, err);
    } else {
        self->degraded = false;
        if (must_put) rc = data_put_object_from(client, made->state.hash, from, err);
    }
    if (rc == 0) memcpy(hash, made->state.hash, HASH_HEX);
    return rc;
}
