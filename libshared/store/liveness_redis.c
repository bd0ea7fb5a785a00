/* Liveness in Redis: SET key text PX ttl, DEL, and SCAN with GET. */
#include <hiredis.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "store/liveness_driver.h"

typedef struct {
    char *host, *user, *password; /* user and password NULL: none */
    int port;
    int64_t database, timeout_ms;
    redisContext *context; /* NULL: not connected */
} redis_t;

static void redis_destroy(void *state)
{
    redis_t *self = state;
    if (self->context) redisFree(self->context);
    free(self->host);
    free(self->user);
    free(self->password);
    free(self);
}

static char *take(const char *text, size_t n)
{
    str_t s = {0};
    str_addn(&s, text, n);
    return s.at;
}

/* Decimal digits up to `end`, at most `most`; -1: not so. */
static int64_t number(const char *text, size_t n, int64_t most)
{
    int64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || value > most) return -1;
        value = 10 * value + (text[i] - '0');
    }
    return n > 0 && value <= most ? value : -1;
}

/* [[USER:]PASSWORD@]HOST[:PORT][/DATABASE] */
static int parse_url(redis_t *self, const char *rest)
{
    size_t n = strcspn(rest, "/");
    const char *database = rest + n;
    const char *at = memchr(rest, '@', n);
    if (at) {
        const char *colon = memchr(rest, ':', (size_t)(at - rest));
        const char *password = colon ? colon + 1 : rest;
        if (colon > rest) self->user = take(rest, (size_t)(colon - rest));
        self->password = take(password, (size_t)(at - password));
        n -= (size_t)(at + 1 - rest);
        rest = at + 1;
    }
    const char *colon = memchr(rest, ':', n);
    size_t n_host = colon ? (size_t)(colon - rest) : n;
    self->port = colon ? (int)number(colon + 1, n - n_host - 1, 65535) : 6379;
    self->database = database[0] && database[1] ? number(database + 1, strlen(database + 1), 9999)
                                                : 0;
    self->host = take(rest, n_host);
    return n_host > 0 && self->port > 0 && self->database >= 0 ? 0 : -1;
}

static void *redis_open(const char *url, int64_t timeout_ms, err_t *err)
{
    redis_t *self = mem_calloc(1, sizeof *self);
    self->timeout_ms = timeout_ms;
    if (parse_url(self, url + strlen("redis://")) < 0) {
        err_set(err, ERR_ARG,
                "liveness: the Redis URL is malformed; write redis://HOST:PORT/DATABASE");
        redis_destroy(self);
        return NULL;
    }
    return self;
}

static int lost(redis_t *self, const char *why, err_t *err)
{
    err_set(err, ERR_NET, "liveness: Redis at %s:%d: %s", self->host, self->port, why);
    if (self->context) redisFree(self->context);
    self->context = NULL;
    return -1;
}

/* Errors that pass by themselves; after them a new connection is the safest start. */
static bool passing(const char *text)
{
    static const char *const words[] = {"LOADING",  "MASTERDOWN", "CLUSTERDOWN",
                                        "TRYAGAIN", "READONLY",   "MISCONF",
                                        "BUSY",     "OOM",        "max number of clients"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i])) return true;
    return false;
}

static redisReply *ask(redis_t *self, int n, const char **words, err_t *err)
{
    redisReply *reply = redisCommandArgv(self->context, n, words, NULL);
    if (!reply) { /* EAGAIN: the socket's time-out */
        bool late = self->context->err == REDIS_ERR_IO && errno == EAGAIN;
        lost(self, late ? "no answer within the time-out" : self->context->errstr, err);
        return NULL;
    }
    if (reply->type != REDIS_REPLY_ERROR) return reply;
    if (passing(reply->str))
        lost(self, reply->str, err);
    else
        err_set(err, ERR_STATE, "liveness: Redis refuses %s: %s", words[0], reply->str);
    freeReplyObject(reply);
    return NULL;
}

static int tell(redis_t *self, int n, const char **words, err_t *err)
{
    redisReply *reply = ask(self, n, words, err);
    if (!reply) return -1;
    freeReplyObject(reply);
    return 0;
}

static int log_in(redis_t *self, err_t *err)
{
    char database[24];
    snprintf(database, sizeof database, "%" PRId64, self->database);
    const char *select[] = {"SELECT", database};
    const char *with_user[] = {"AUTH", self->user, self->password};
    const char *without[] = {"AUTH", self->password};
    if (self->password &&
        (self->user ? tell(self, 3, with_user, err) : tell(self, 2, without, err)) < 0)
        return -1;
    return tell(self, 2, select, err);
}

static int connected(redis_t *self, err_t *err)
{
    if (self->context) return 0;
    struct timeval time = {.tv_sec = self->timeout_ms / 1000,
                           .tv_usec = self->timeout_ms % 1000 * 1000};
    self->context = redisConnectWithTimeout(self->host, self->port, time);
    if (!self->context) return lost(self, "out of memory", err);
    if (self->context->err) return lost(self, self->context->errstr, err);
    if (redisSetTimeout(self->context, time) != REDIS_OK) return lost(self, "no time-outs", err);
    if (log_in(self, err) == 0) return 0;
    /* A refused password must not leave a half-made connection behind. */
    if (self->context) redisFree(self->context);
    self->context = NULL;
    return -1;
}

static int redis_announce(void *state, const char *key, int64_t ttl_ms, const char *text,
                          err_t *err)
{
    redis_t *self = state;
    char ttl[24];
    snprintf(ttl, sizeof ttl, "%" PRId64, ttl_ms);
    const char *words[] = {"SET", key, text, "PX", ttl};
    return connected(self, err) < 0 ? -1 : tell(self, 5, words, err);
}

static int redis_forget(void *state, const char *key, err_t *err)
{
    redis_t *self = state;
    const char *words[] = {"DEL", key};
    return connected(self, err) < 0 ? -1 : tell(self, 2, words, err);
}

static int nonsense(redis_t *self, err_t *err)
{
    return lost(self, "an answer that is none to our question", err);
}

/* The values of the keys that one SCAN found; those that ended meanwhile are left out. */
static int add_members(redis_t *self, const redisReply *keys, size_t n_prefix,
                       liveness_members_t *out, err_t *err)
{
    if (keys->elements == 0) return 0;
    const char **words = mem_calloc(keys->elements + 1, sizeof *words);
    redisReply *values = NULL;
    int rc = 0;
    words[0] = "MGET";
    for (size_t i = 0; i < keys->elements; i++) {
        words[i + 1] = keys->element[i]->str;
        if (keys->element[i]->type != REDIS_REPLY_STRING || strlen(words[i + 1]) < n_prefix)
            rc = nonsense(self, err);
    }
    if (rc == 0) values = ask(self, (int)keys->elements + 1, words, err);
    if (rc == 0 && !values) rc = -1;
    if (rc == 0 && (values->type != REDIS_REPLY_ARRAY || values->elements != keys->elements))
        rc = nonsense(self, err);
    for (size_t i = 0; rc == 0 && i < values->elements; i++) {
        if (values->element[i]->type != REDIS_REPLY_STRING) continue;
        liveness_member_t member = {mem_strdup(words[i + 1] + n_prefix),
                                    mem_strdup(values->element[i]->str)};
        VEC_PUSH(out, member);
    }
    if (values) freeReplyObject(values);
    free(words);
    return rc;
}

/* SCAN may name a key twice while the table grows. */
static int by_id(const void *a, const void *b)
{
    return strcmp(((const liveness_member_t *)a)->id, ((const liveness_member_t *)b)->id);
}
static void drop_twins(liveness_members_t *self)
{
    size_t kept = 0;
    if (self->n) qsort(self->at, self->n, sizeof *self->at, by_id);
    for (size_t i = 0; i < self->n; i++) {
        if (kept > 0 && strcmp(self->at[kept - 1].id, self->at[i].id) == 0) {
            free(self->at[i].id);
            free(self->at[i].capabilities);
        } else {
            self->at[kept++] = self->at[i];
        }
    }
    self->n = kept;
}

static int redis_list(void *state, const char *prefix, liveness_members_t *out, err_t *err)
{
    redis_t *self = state;
    char cursor[24] = "0", pattern[64];
    snprintf(pattern, sizeof pattern, "%s*", prefix);
    int64_t deadline = clock_mono_ms() + self->timeout_ms;
    int rc = connected(self, err);
    do {
        const char *words[] = {"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"};
        redisReply *reply = rc == 0 ? ask(self, 6, words, err) : NULL;
        if (!reply) return -1;
        if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
            reply->element[0]->type != REDIS_REPLY_STRING ||
            reply->element[1]->type != REDIS_REPLY_ARRAY) {
            rc = nonsense(self, err);
        } else {
            snprintf(cursor, sizeof cursor, "%s", reply->element[0]->str);
            rc = add_members(self, reply->element[1], strlen(prefix), out, err);
        }
        freeReplyObject(reply);
        if (rc == 0 && out->n > LIVENESS_MOST)
            rc = err_set(err, ERR_MEMORY, "liveness: more than %d members", LIVENESS_MOST);
        if (rc == 0 && strcmp(cursor, "0") != 0 && clock_mono_ms() > deadline)
            rc = lost(self, "listing takes too long", err);
    } while (rc == 0 && strcmp(cursor, "0") != 0);
    if (rc == 0) drop_twins(out);
    return rc;
}

const liveness_driver_t liveness_redis = {
    .open = redis_open,
    .announce = redis_announce,
    .forget = redis_forget,
    .list = redis_list,
    .destroy = redis_destroy,
};
