/* Tokens are kept and compared as their hashes, all of them each time. */
#include "http/access.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/str.h"
#include "base/vec.h"

enum { LEAST_BYTES = 16, MOST_BYTES = 1 << 20, PASSWORD_BYTES = 1024 };

typedef struct {
    char *name;
    char hash[HASH_HEX];
} entry_t;

struct access {
    VEC(entry_t) entry;
};

static int add_line(access_t *self, char *line, const char *path, int number, err_t *err)
{
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
    entry_t entry = {.name = mem_strdup(name)};
    hash_content(token, strlen(token), entry.hash);
    VEC_PUSH(&self->entry, entry);
    return 0;
}

access_t *access_open(const char *path, err_t *err)
{
    size_t n = 0;
    char *text = secret_file(path, MOST_BYTES, &n, err), *next = text;
    if (!text) return NULL;
    access_t *self = mem_calloc(1, sizeof *self);
    int status = 0;
    for (int number = 1; status == 0 && next; number++) {
        char *line = strsep(&next, "\n");
        status = add_line(self, line, path, number, err);
    }
    if (status == 0 && self->entry.n == 0)
        status = err_set(err, ERR_ARG, "%s has no token: write lines NAME TOKEN", path);
    explicit_bzero(text, n);
    free(text);
    if (status < 0) access_destroy(&self);
    return self;
}

void access_destroy(access_t **self_p)
{
    access_t *self = *self_p;
    if (!self) return;
    for (size_t i = 0; i < self->entry.n; i++) free(self->entry.at[i].name);
    VEC_FREE(&self->entry);
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
