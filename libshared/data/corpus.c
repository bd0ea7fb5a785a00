/* Names of files: lists, directories, patterns. */
#include "data/corpus.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

enum { MAX_DEPTH = 32 }; /* of directories: a link to one above never ends */

typedef VEC(char *) names_t;

static void names_fini(names_t *self)
{
    for (size_t i = 0; i < self->n; i++) free(self->at[i]);
    VEC_FREE(self);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(names_t *self)
{
    if (self->n) qsort(self->at, self->n, sizeof *self->at, by_bytes);
}

/* --- kinds --- */

static const struct {
    const char *suffix;
    corpus_kind_t kind;
} kinds[] = {{".txt", CORPUS_TEXT}, {".jsonl", CORPUS_JSONL}, {".bin", CORPUS_BIN}};
#define KNOWN ".txt, .jsonl and .bin, each also with .gz or .zst behind it"

/* -1: none of the endings. */
static int kind_of(const char *name)
{
    static const char *const packed[] = {"", ".gz", ".zst"};
    for (size_t p = 0; p < sizeof packed / sizeof *packed; p++)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            char ending[16];
            snprintf(ending, sizeof ending, "%s%s", kinds[i].suffix, packed[p]);
            if (str_ends(name, ending)) return (int)kinds[i].kind;
        }
    return -1;
}

/* --- what a part names --- */

static int add_file(corpus_t *self, const char *name, const struct stat *info, err_t *err)
{
    int kind = kind_of(name);
    corpus_file_t file = {.fd = -1, .kind = kind < 0 ? CORPUS_TEXT : (corpus_kind_t)kind};
    if (file_readable(name, err) < 0) return -1;
    if (S_ISREG(info->st_mode)) file.n_bytes = (uint64_t)info->st_size;
    file.name = mem_strdup(name);
    VEC_PUSH(&self->file, file);
    self->n_bytes += file.n_bytes;
    return 0;
}

/* The files below `dir` with a known ending. */
static int list_dir(const char *dir, int depth, names_t *out, err_t *err)
{
    if (depth == MAX_DEPTH)
        return err_set(err, ERR_ARG, "%s: %d directories deep: does a link lead back up?", dir,
                       depth);
    DIR *open = opendir(dir);
    if (!open) return err_set_errno(err, "%s", dir);
    int rc = 0;
    for (const struct dirent *entry; rc == 0 && (entry = readdir(open));) {
        if (*entry->d_name == '.') continue;
        struct stat info;
        char *path = mem_printf("%s%s%s", dir, str_ends(dir, "/") ? "" : "/", entry->d_name);
        if (stat(path, &info) < 0)
            rc = err_set_errno(err, "%s", path);
        else if (S_ISDIR(info.st_mode))
            rc = list_dir(path, depth + 1, out, err);
        else if (S_ISREG(info.st_mode) && kind_of(path) >= 0)
            VEC_PUSH(out, mem_strdup(path));
        free(path);
    }
    closedir(open);
    return rc;
}

static int add_dir(corpus_t *self, const char *dir, err_t *err)
{
    names_t names = {0};
    int rc = list_dir(dir, 0, &names, err);
    sort(&names);
    if (rc == 0 && names.n == 0)
        rc = err_set(err, ERR_ARG, "%s: no file of it has an ending that is known: " KNOWN, dir);
    for (size_t i = 0; rc == 0 && i < names.n; i++) {
        struct stat info;
        rc = stat(names.at[i], &info) < 0 ? err_set_errno(err, "%s", names.at[i])
                                          : add_file(self, names.at[i], &info, err);
    }
    names_fini(&names);
    return rc;
}

static int add_path(corpus_t *self, const char *path, err_t *err)
{
    struct stat info;
    if (stat(path, &info) < 0) return err_set_errno(err, "%s", path);
    return S_ISDIR(info.st_mode) ? add_dir(self, path, err) : add_file(self, path, &info, err);
}

static int add_pattern(corpus_t *self, const char *pattern, err_t *err)
{
    glob_t found;
    int rc = glob(pattern, GLOB_NOSORT, NULL, &found);
    if (rc == GLOB_NOMATCH) return err_set(err, ERR_IO, "%s: no file has such a name", pattern);
    if (rc != 0) return err_set_errno(err, "%s", pattern);
    qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_bytes);
    for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++)
        rc = add_path(self, found.gl_pathv[i], err);
    globfree(&found);
    return rc;
}

static int add_part(corpus_t *self, const char *part, err_t *err)
{
    if (file_exists(part)) return add_path(self, part, err);
    if (strpbrk(part, "*?[")) return add_pattern(self, part, err);
    return err_set(err, ERR_IO, "%s: no such file (--data)", part);
}

/* The parts of `data`: itself, or what stands between its commas. */
static names_t parts_of(const char *data)
{
    names_t parts = {0};
    const char *end = file_exists(data) ? NULL : strchr(data, ',');
    for (; end; data = end + 1, end = strchr(data, ',')) {
        char *part = mem_printf("%.*s", (int)(end - data), data);
        VEC_PUSH(&parts, part);
    }
    VEC_PUSH(&parts, mem_strdup(data));
    return parts;
}

int corpus_find(const char *data, corpus_t *out, err_t *err)
{
    int rc = 0;
    names_t parts = parts_of(data);
    *out = (corpus_t){0};
    for (size_t i = 0; rc == 0 && i < parts.n; i++) rc = add_part(out, parts.at[i], err);
    names_fini(&parts);
    return rc;
}

char *corpus_absolute(const char *data, corpus_path_fn *absolute)
{
    str_t all = {0};
    if (!data) return NULL;
    names_t parts = parts_of(data);
    for (size_t i = 0; i < parts.n; i++) {
        char *path = absolute(parts.at[i]);
        str_addf(&all, "%s%s", i ? "," : "", path);
        free(path);
    }
    names_fini(&parts);
    return all.at;
}

/* --- pipes --- */

static int copy_all(int from, int to, const char *name, const char *dir, uint64_t *n, err_t *err)
{
    enum { SOME = 1 << 16 };
    char some[SOME];
    for (*n = 0;;) {
        ssize_t got = read(from, some, sizeof some);
        if (got < 0) return err_set_errno(err, "%s", name);
        if (got == 0) return 0;
        if (file_write_all(to, some, (size_t)got, dir, err) < 0) return -1;
        *n += (uint64_t)got;
    }
}

static int store_pipe(corpus_file_t *file, const char *dir, err_t *err)
{
    char *temporary = NULL, *path = mem_printf("%s/pipe", dir);
    int from = open(file->name, O_RDONLY | O_CLOEXEC);
    int rc = from < 0 ? err_set_errno(err, "%s", file->name) : 0;
    if (rc == 0) file->fd = file_open_temporary(path, 0600, &temporary, err);
    if (rc == 0 && file->fd < 0) rc = -1;
    if (temporary) unlink(temporary);
    if (rc == 0) rc = copy_all(from, file->fd, file->name, dir, &file->n_bytes, err);
    if (rc == 0) file->path = mem_printf("/proc/self/fd/%d", file->fd);
    if (from >= 0) close(from);
    free(temporary);
    free(path);
    return rc;
}

int corpus_store_pipes(corpus_t *self, const char *dir, err_t *err)
{
    for (size_t i = 0; i < self->file.n; i++) {
        struct stat info;
        corpus_file_t *file = &self->file.at[i];
        if (stat(file->name, &info) < 0) return err_set_errno(err, "%s", file->name);
        if (S_ISREG(info.st_mode) || file->path) continue;
        if (store_pipe(file, dir, err) < 0) return -1;
        self->n_bytes += file->n_bytes;
    }
    return 0;
}

void corpus_fini(corpus_t *self)
{
    for (size_t i = 0; i < self->file.n; i++) {
        corpus_file_t *file = &self->file.at[i];
        free(file->name);
        free(file->path);
        if (file->fd >= 0) close(file->fd);
    }
    VEC_FREE(&self->file);
    *self = (corpus_t){0};
}
