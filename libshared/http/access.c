/* Tokens are kept and compared as their hashes, all of them each time. */
#include "http/access.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/str.h"
#include "base/vec.h"

enum { LEAST_BYTES = 16, MOST_BYTES = 1 << 20, PASSWORD_BYTES = 1024 };

typedef struct {
    const char *name;
    char hash[HASH_HEX];
} entry_t;

typedef VEC(entry_t) entries_t;

struct access {
    char *path;
    struct stat seen;  /* the file, as it was read or could not be */
    entries_t entry;   /* names are borrowed from `names` */
    VEC(char *) names; /* all that ever were: who asks is told by them */
};

static const char *keep_name(access_t *self, const char *name)
{
    for (size_t i = 0; i < self->names.n; i++)
        if (strcmp(self->names.at[i], name) == 0) return self->names.at[i];
    VEC_PUSH(&self->names, mem_strdup(name));
    return self->names.at[self->names.n - 1];
}

static int add_line(access_t *self, entries_t *to, char *line, int number, err_t *err)
{
    const char *path = self->path;
    static const char blanks[] = " \t\r";
    char *rest = NULL, *name = strtok_r(line, blanks, &rest),
         *token = strtok_r(NULL, blanks, &rest);
    if (!name || *name == '#') return 0;
    if (!token || strtok_r(NULL, blanks, &rest))
        return err_set(err, ERR_ARG, "%s, line %d: expected NAME TOKEN", path, number);
    if (strlen(token) < LEAST_BYTES)
        return err_set(err, ERR_ARG,
                       "%s, line %d: the token of %s has fewer than %d characters: take those of "
                       "`openssl rand -hex 24`",
                       path, number, name, LEAST_BYTES);
    entry_t entry = {.name = keep_name(self, name)};
    hash_content(token, strlen(token), entry.hash);
    VEC_PUSH(to, entry);
    return 0;
}

/* Those of the file in the place of those that count; -1: they stay. */
static int read_entries(access_t *self, err_t *err)
{
    size_t n = 0;
    entries_t entry = {0};
    err_t fault = {0};
    char *text = secret_file(self->path, MOST_BYTES, &n, &fault), *next = text;
    int status =
        text ? 0 : err_set(err, fault.code, "%s (write lines NAME TOKEN, mode 0600)", fault.text);
    for (int number = 1; status == 0 && next; number++) {
        char *line = strsep(&next, "\n");
        status = add_line(self, &entry, line, number, err);
    }
    if (status == 0 && entry.n == 0)
        status = err_set(err, ERR_ARG, "%s has no token: write lines NAME TOKEN", self->path);
    if (text) explicit_bzero(text, n);
    free(text);
    entries_t old = status == 0 ? self->entry : entry;
    if (status == 0) self->entry = entry;
    VEC_FREE(&old);
    return status;
}

/* Another file, or the same written to, since it was looked at last. */
static bool has_changed(access_t *self)
{
    struct stat now = {0}, *seen = &self->seen;
    if (stat(self->path, &now) < 0) now = (struct stat){0};
    bool same = now.st_ino == seen->st_ino && now.st_dev == seen->st_dev &&
                now.st_size == seen->st_size && now.st_mode == seen->st_mode &&
                now.st_uid == seen->st_uid && now.st_gid == seen->st_gid &&
                now.st_ctim.tv_sec == seen->st_ctim.tv_sec &&
                now.st_ctim.tv_nsec == seen->st_ctim.tv_nsec;
    *seen = now;
    return !same;
}

access_t *access_open(const char *path, err_t *err)
{
    access_t *self = mem_calloc(1, sizeof *self);
    self->path = mem_strdup(path);
    has_changed(self);
    if (read_entries(self, err) < 0) access_destroy(&self);
    return self;
}

bool access_refresh(access_t *self)
{
    err_t err = {0};
    if (!self || !has_changed(self)) return false;
    if (read_entries(self, &err) < 0)
        log_event(LOG_ERROR, "tokens_not_read", "error=\"%s: those of before count\"", err.text);
    else
        log_event(LOG_INFO, "tokens_read", "tokens=%zu", self->entry.n);
    return err.code == 0;
}

bool access_has(const access_t *self, const char *name)
{
    for (size_t i = 0; i < self->entry.n; i++)
        if (strcmp(self->entry.at[i].name, name) == 0) return true;
    return false;
}

void access_destroy(access_t **self_p)
{
    access_t *self = *self_p;
    if (!self) return;
    for (size_t i = 0; i < self->names.n; i++) free(self->names.at[i]);
    VEC_FREE(&self->names);
    VEC_FREE(&self->entry);
    free(self->path);
    free(self);
    *self_p = NULL;
}

static const char *find(const access_t *self, const char *token)
{
    char hash[HASH_HEX];
    const char *found = NULL;
    hash_content(token, strlen(token), hash);
    for (size_t i = 0; i < self->entry.n; i++) {
        unsigned char differs = 0;
        for (int k = 0; k < HASH_HEX; k++)
            differs |= (unsigned char)(hash[k] ^ self->entry.at[i].hash[k]);
        if (!differs) found = self->entry.at[i].name;
    }
    return found;
}

/* What stands behind a scheme's name; NULL: another scheme's. */
static const char *behind(const char *authorization, const char *scheme)
{
    size_t n = strlen(scheme);
    return strncasecmp(authorization, scheme, n) == 0 ? authorization + n : NULL;
}

/* The password of "NAME:PASSWORD" in base64. */
static const char *find_password(const access_t *self, const char *text)
{
    char plain[PASSWORD_BYTES];
    size_t n = 0;
    int rc = sodium_base642bin((unsigned char *)plain, sizeof plain - 1, text, strlen(text), NULL,
                               &n, NULL, sodium_base64_VARIANT_ORIGINAL);
    plain[rc == 0 ? n : 0] = '\0';
    char *colon = strchr(plain, ':');
    const char *found = colon ? find(self, colon + 1) : NULL;
    explicit_bzero(plain, sizeof plain);
    return found;
}

const char *access_name(const access_t *self, const char *authorization)
{
    const char *rest;
    if (!authorization) return NULL;
    if ((rest = behind(authorization, "Bearer "))) return find(self, rest);
    if ((rest = behind(authorization, "Basic "))) return find_password(self, rest);
    return NULL;
}
