/* Checks, the back-off, and the backend in this process's memory. */
#include "store/liveness.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/rng.h"
#include "base/secret.h"
#include "base/str.h"
#include "store/liveness_driver.h"

enum { FIRST_BACKOFF_MS = 200, MAX_BACKOFF_MS = 5000 };

struct liveness {
    const liveness_driver_t *driver;
    void *state;
    bool down;
    int64_t backoff_ms, next_ms; /* while down: when to try again */
    uint64_t seed, n_backoff;    /* of the jitter */
};

liveness_t *liveness_open(const char *url, int64_t timeout_ms, err_t *err)
{
    const liveness_driver_t *driver = NULL;
    if (strcmp(url, "memory:") == 0) driver = &liveness_memory;
    if (str_starts(url, "redis://")) driver = &liveness_redis;
    if (!driver || timeout_ms < 0 || timeout_ms > 60000) {
        err_set(err, ERR_ARG,
                "liveness: no backend for \"%.*s...\"; give redis://HOST:PORT/DATABASE or "
                "memory:, and at most 60,000 ms",
                secret_kind(url), url);
        return NULL;
    }
    void *state = driver->open(url, timeout_ms ? timeout_ms : 500, err);
    if (!state) return NULL;
    liveness_t *self = mem_calloc(1, sizeof *self);
    self->driver = driver;
    self->state = state;
    self->seed = random_u64();
    return self;
}

void liveness_destroy(liveness_t **self_p)
{
    liveness_t *self = *self_p;
    if (!self) return;
    self->driver->destroy(self->state);
    free(self);
    *self_p = NULL;
}

bool liveness_is_up(const liveness_t *self)
{
    return !self->down;
}

static int check_names(const char *kind, const char *id, err_t *err)
{
    size_t n = kind ? strlen(kind) : 0;
    if (n == 0 || n > 31 || strspn(kind, "abcdefghijklmnopqrstuvwxyz") != n)
        return err_set(err, ERR_ARG,
                       "liveness: a kind is 1 to 31 lower-case letters, not \"%.40s\"",
                       kind ? kind : "");
    if (!id) return 0;
    n = strlen(id);
    bool bad = n == 0 || n > 127;
    for (size_t i = 0; i < n; i++) bad = bad || (unsigned char)id[i] < ' ' || id[i] == 0x7f;
    if (!bad) return 0;
    return err_set(err, ERR_ARG, "liveness: an id is 1 to 127 bytes without control characters");
}

/* May the backend be asked now? */
static int may_try(const liveness_t *self, err_t *err)
{
    int64_t wait = self->next_ms - clock_mono_ms();
    if (!self->down || wait <= 0) return 0;
    return err_set(err, ERR_NET, "liveness: Redis is gone; next try in %" PRId64 " ms", wait);
}

/* Only ERR_NET says that the backend is gone; other errors are answers. */
static int note(liveness_t *self, int rc, const err_t *why, err_t *err)
{
    if (rc < 0 && err) *err = *why;
    if (rc == 0 || why->code != ERR_NET) {
        self->down = false;
        return rc;
    }
    self->backoff_ms = self->down ? 2 * self->backoff_ms : FIRST_BACKOFF_MS;
    if (self->backoff_ms > MAX_BACKOFF_MS) self->backoff_ms = MAX_BACKOFF_MS;
    double jitter = rng_uniform(self->seed, self->n_backoff++) * (double)self->backoff_ms / 4;
    self->next_ms = clock_mono_ms() + self->backoff_ms + (int64_t)jitter;
    self->down = true;
    return rc;
}

int liveness_announce(liveness_t *self, const char *kind, const char *id, int64_t ttl_ms,
                      const char *capabilities, err_t *err)
{
    err_t why = {0};
    if (check_names(kind, id ? id : "", err) < 0) return -1;
    if (ttl_ms < 1 || ttl_ms > 86400000 || !capabilities || strlen(capabilities) > 65536)
        return err_set(err, ERR_ARG,
                       "liveness: %s lives %" PRId64 " ms, not in [1, 86400000], or its "
                       "capabilities are over 64 KiB",
                       id, ttl_ms);
    if (may_try(self, err) < 0) return -1;
    char *key = mem_printf("pcp:%s:%s", kind, id);
    int rc = self->driver->announce(self->state, key, ttl_ms, capabilities, &why);
    free(key);
    return note(self, rc, &why, err);
}

int liveness_forget(liveness_t *self, const char *kind, const char *id, err_t *err)
{
    err_t why = {0};
    if (check_names(kind, id ? id : "", err) < 0 || may_try(self, err) < 0) return -1;
    char *key = mem_printf("pcp:%s:%s", kind, id);
    int rc = self->driver->forget(self->state, key, &why);
    free(key);
    return note(self, rc, &why, err);
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const liveness_member_t *)a)->id, ((const liveness_member_t *)b)->id);
}

int liveness_list(liveness_t *self, const char *kind, liveness_list_t *out, err_t *err)
{
    err_t why = {0};
    if (check_names(kind, NULL, err) < 0 || may_try(self, err) < 0) return -1;
    liveness_members_t members = {0};
    char *prefix = mem_printf("pcp:%s:", kind);
    int rc = self->driver->list(self->state, prefix, &members, &why);
    free(prefix);
    liveness_list_t list = {.n = members.n, .at = members.at};
    if (rc < 0) {
        liveness_list_fini(&list);
        return note(self, rc, &why, err);
    }
    if (list.n) qsort(list.at, list.n, sizeof *list.at, by_id);
    *out = list;
    return note(self, 0, &why, err);
}

void liveness_list_fini(liveness_list_t *self)
{
    for (size_t i = 0; i < self->n; i++) {
        free(self->at[i].id);
        free(self->at[i].capabilities);
    }
    free(self->at);
    *self = (liveness_list_t){0};
}

/* --- memory: --- */
typedef struct {
    char *key, *text;
    int64_t until_ms;
} entry_t;
typedef struct {
    VEC(entry_t) entries;
} memory_t;

static void *memory_open(const char *url, int64_t timeout_ms, err_t *err)
{
    (void)url;
    (void)timeout_ms;
    (void)err;
    return mem_calloc(1, sizeof(memory_t));
}

static void memory_remove(memory_t *self, size_t i)
{
    free(self->entries.at[i].key);
    free(self->entries.at[i].text);
    self->entries.at[i] = self->entries.at[--self->entries.n];
}

static int memory_forget(void *state, const char *key, err_t *err)
{
    (void)err;
    memory_t *self = state;
    for (size_t i = self->entries.n; i-- > 0;)
        if (strcmp(self->entries.at[i].key, key) == 0) memory_remove(self, i);
    return 0;
}

static int memory_announce(void *state, const char *key, int64_t ttl_ms, const char *text,
                           err_t *err)
{
    memory_t *self = state;
    memory_forget(self, key, err);
    entry_t entry = {mem_strdup(key), mem_strdup(text), clock_mono_ms() + ttl_ms};
    VEC_PUSH(&self->entries, entry);
    return 0;
}

static int memory_list(void *state, const char *prefix, liveness_members_t *out, err_t *err)
{
    memory_t *self = state;
    int64_t now = clock_mono_ms();
    for (size_t i = self->entries.n; i-- > 0;)
        if (self->entries.at[i].until_ms <= now) memory_remove(self, i);
    for (size_t i = 0; i < self->entries.n; i++) {
        const entry_t *e = &self->entries.at[i];
        if (!str_starts(e->key, prefix)) continue;
        if (out->n == LIVENESS_MOST)
            return err_set(err, ERR_MEMORY, "liveness: more than %d members", LIVENESS_MOST);
        liveness_member_t member = {mem_strdup(e->key + strlen(prefix)), mem_strdup(e->text)};
        VEC_PUSH(out, member);
    }
    return 0;
}

static void memory_destroy(void *state)
{
    memory_t *self = state;
    while (self->entries.n) memory_remove(self, self->entries.n - 1);
    VEC_FREE(&self->entries);
    free(self);
}

const liveness_driver_t liveness_memory = {
    .open = memory_open,
    .announce = memory_announce,
    .forget = memory_forget,
    .list = memory_list,
    .destroy = memory_destroy,
};
