/* Tokens are kept and compared as their hashes, all of them each time. */
#include "gateway/access.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

enum { LEAST_BYTES = 16, MOST_BYTES = 1 << 20 };

typedef struct {
    char *name;
    char hash[HASH_HEX];
} entry_t;

struct access {
    VEC(entry_t) entry;
};

static int check_mode(const char *path, err_t *err)
{
    struct stat info;
    if (stat(path, &info) < 0) return err_set_errno(err, "%s", path);
    if (!S_ISREG(info.st_mode) || info.st_size > MOST_BYTES)
        return err_set(err, ERR_ARG, "%s is no file of tokens", path);
    if (info.st_mode & 077)
        return err_set(err, ERR_ARG, "%s may be read by others (mode %03o): chmod 600 %s", path,
                       (unsigned)info.st_mode & 0777, path);
    return 0;
}

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
    char *text = check_mode(path, err) < 0 ? NULL : file_read(path, &n, err), *next = text;
    if (!text) return NULL;
    access_t *self = mem_calloc(1, sizeof *self);
    int status = 0;
    for (int number = 1; status == 0 && next; number++) {
        char *line = strsep(&next, "\n");
        status = add_line(self, line, path, number, err);
    }
    if (status == 0 && self->entry.n == 0)
        status = err_set(err, ERR_ARG, "%s has no token: write lines NAME TOKEN", path);
    memset(text, 0, n);
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

const char *access_name(const access_t *self, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    char hash[HASH_HEX];
    const char *found = NULL;
    if (!authorization || strncasecmp(authorization, scheme, strlen(scheme)) != 0) return NULL;
    const char *token = authorization + strlen(scheme);
    hash_content(token, strlen(token), hash);
    for (size_t i = 0; i < self->entry.n; i++) {
        unsigned char differs = 0;
        for (int k = 0; k < HASH_HEX; k++)
            differs |= (unsigned char)(hash[k] ^ self->entry.at[i].hash[k]);
        if (!differs) found = self->entry.at[i].name;
    }
    return found;
}
