/* A backup's lists, and the files they are of. */
#include "pcp/backup_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"

#define SUMS "SHA256SUMS"
#define MANIFEST "manifest.json"
enum { FORMAT = 1 };

void backup_cut(backup_t *self, size_t n_files, size_t n_links, int64_t n_bytes)
{
    while (self->files.n > n_files) free(self->files.at[--self->files.n].path);
    while (self->links.n > n_links) {
        backup_link_t *link = &self->links.at[--self->links.n];
        free(link->path);
        free(link->target);
    }
    self->n_bytes = n_bytes;
}

void backup_fini(backup_t *self)
{
    backup_cut(self, 0, 0, 0);
    VEC_FREE(&self->files);
    VEC_FREE(&self->links);
    free(self->made_by);
    free(self->runs_dir);
    *self = (backup_t){0};
}

void backup_add(backup_t *self, const char *path, const char hash[HASH_HEX], int64_t n_bytes)
{
    backup_file_t file = {.path = mem_strdup(path)};
    memcpy(file.hash, hash, HASH_HEX);
    VEC_PUSH(&self->files, file);
    self->n_bytes += n_bytes;
}

/* --- Files --- */

static int make_parent(const char *path, err_t *err)
{
    char *copy = mem_strdup(path); /* dirname writes to its argument */
    int rc = file_make_dirs(dirname(copy), err);
    free(copy);
    return rc;
}

/* A name that SHA256SUMS can hold as it stands. */
static bool plain(const char *path)
{
    for (const char *c = path; *c; c++)
        if (*c == '\\' || (unsigned char)*c < ' ') return false;
    return true;
}

int backup_copy(backup_t *self, const char *from, const char *dir, const char *path, err_t *err)
{
    if (!plain(path))
        return err_set(err, ERR_ARG, "%s: a name with \\ or control characters: rename the file",
                       from);
    char hash[HASH_HEX], *to = mem_printf("%s/%s", dir, path);
    int64_t n_bytes = 0;
    int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), out = -1;
    int rc = in < 0 ? err_set_errno(err, "%s", from) : make_parent(to, err);
    if (rc == 0) out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (rc == 0 && out < 0) rc = err_set_errno(err, "%s", to);
    if (rc == 0) rc = hash_sha256(in, from, out, to, hash, &n_bytes, err);
    if (rc == 0 && fsync(out) < 0) rc = err_set_errno(err, "%s: fsync", to);
    if (in >= 0) close(in);
    if (out >= 0 && close(out) < 0 && rc == 0) rc = err_set_errno(err, "%s: close", to);
    if (rc == 0) backup_add(self, path, hash, n_bytes);
    free(to);
    return rc;
}

static int hash_at(const char *path, char hash[HASH_HEX], int64_t *n_bytes, err_t *err)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return err_set_errno(err, "%s", path);
    int rc = hash_sha256(fd, path, -1, NULL, hash, n_bytes, err);
    close(fd);
    return rc;
}

int backup_take(backup_t *self, const char *dir, const char *path, err_t *err)
{
    char hash[HASH_HEX], *at = mem_printf("%s/%s", dir, path);
    int64_t n_bytes = 0;
    int rc = hash_at(at, hash, &n_bytes, err);
    if (rc == 0) backup_add(self, path, hash, n_bytes);
    free(at);
    return rc;
}

int backup_take_dir(backup_t *self, const char *dir, const char *under, err_t *err)
{
    char *at = mem_printf("%s/%s", dir, under);
    DIR *entries = opendir(at);
    struct dirent *entry;
    int rc = entries ? 0 : err_set_errno(err, "%s", at);
    while (rc == 0 && (entry = readdir(entries))) {
        if (*entry->d_name == '.') continue;
        char *path = mem_printf("%s/%s", under, entry->d_name);
        rc = backup_take(self, dir, path, err);
        free(path);
    }
    if (entries) closedir(entries);
    free(at);
    return rc;
}

size_t backup_runs(const backup_t *self)
{
    size_t n = 0;
    for (size_t i = 0; i < self->files.n; i++)
        n += str_starts(self->files.at[i].path, "runs/") &&
             str_ends(self->files.at[i].path, "/run.json");
    return n;
}

/* --- Writing the lists --- */

static char *manifest_text(const backup_t *self)
{
    json_t *links = json_array();
    for (size_t i = 0; i < self->links.n; i++)
        json_array_append_new(links, json_pack("{s:s, s:s}", "path", self->links.at[i].path,
                                               "target", self->links.at[i].target));
    json_t *root = json_pack("{s:i, s:s, s:I, s:{s:s, s:i}, s:s, s:I, s:I, s:o}", "format", FORMAT,
                             "made_by", pcp_version, "made_ms", (json_int_t)self->made_ms,
                             "records", "kind", self->records.kind, "schema", self->records.version,
                             "runs_dir", self->runs_dir, "files", (json_int_t)self->files.n,
                             "bytes", (json_int_t)self->n_bytes, "links", links);
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    return text;
}

int backup_write(const backup_t *self, const char *dir, err_t *err)
{
    char *manifest = manifest_text(self), *path = mem_printf("%s/" MANIFEST, dir);
    char *sums = mem_printf("%s/" SUMS, dir), hash[HASH_HEX];
    str_t text = {0};
    int rc = manifest ? file_write_as(path, 0600, manifest, strlen(manifest), err)
                      : err_set(err, ERR_ARG, "%s: a name is not UTF-8", path);
    if (rc == 0) rc = hash_at(path, hash, NULL, err);
    if (rc == 0) {
        str_addf(&text, "%s  " MANIFEST "\n", hash);
        for (size_t i = 0; i < self->files.n; i++)
            str_addf(&text, "%s  %s\n", self->files.at[i].hash, self->files.at[i].path);
        rc = file_write_as(sums, 0600, text.at, text.n, err);
    }
    str_fini(&text);
    free(sums);
    free(path);
    free(manifest);
    return rc;
}

/* --- Reading them --- */

/* A path that stays below the directory: no empty part, none that begins with a dot. */
static bool inside(const char *path)
{
    if (!plain(path)) return false;
    for (const char *at = path;; at++) {
        if (*at == '.' || *at == '/' || *at == '\0') return false;
        at += strcspn(at, "/");
        if (!*at) return true;
    }
}

static bool is_hash(const char *text)
{
    return strspn(text, "0123456789abcdef") == HASH_HEX - 1;
}

/* One line of SHA256SUMS: HASH, two spaces, PATH. */
static int read_line(backup_t *self, const char *sums, char *line, size_t number, err_t *err)
{
    size_t n = strlen(line);
    char hash[HASH_HEX] = "";
    bool good = n > HASH_HEX + 1 && line[HASH_HEX - 1] == ' ' && line[HASH_HEX] == ' ';
    if (good) line[HASH_HEX - 1] = '\0';
    if (!good || !is_hash(line) || !inside(line + HASH_HEX + 1))
        return err_set(err, ERR_CORRUPT, "%s: line %zu is damaged", sums, number);
    memcpy(hash, line, HASH_HEX);
    backup_add(self, line + HASH_HEX + 1, hash, 0);
    return 0;
}

static int read_sums(backup_t *self, const char *dir, err_t *err)
{
    char *path = mem_printf("%s/" SUMS, dir);
    size_t n = 0, number = 0;
    char *text = NULL, *rest;
    int rc = 0;
    if (!file_exists(path))
        rc = err_set(err, ERR_IO,
                     "%s: is no backup, or one that was not finished: " SUMS " is missing", dir);
    else if (!(text = file_read(path, &n, err)))
        rc = -1;
    else if (strlen(text) != n || n == 0 || text[n - 1] != '\n')
        rc = err_set(err, ERR_CORRUPT, "%s: is damaged", path);
    rest = text;
    while (rc == 0 && *rest) {
        char *line = strsep(&rest, "\n");
        rc = read_line(self, path, line, ++number, err);
    }
    free(text);
    free(path);
    return rc;
}

static int read_links(backup_t *self, const char *path, json_t *links, err_t *err)
{
    size_t i;
    json_t *one;
    json_array_foreach(links, i, one)
    {
        const char *at = NULL, *target = NULL;
        if (json_unpack(one, "{s:s, s:s}", "path", &at, "target", &target) < 0 || !inside(at) ||
            !inside(target) || strchr(target, '/'))
            return err_set(err, ERR_CORRUPT, "%s: link %zu is none", path, i);
        backup_link_t link = {mem_strdup(at), mem_strdup(target)};
        VEC_PUSH(&self->links, link);
    }
    return 0;
}

static int read_root(backup_t *self, const char *path, json_t *root, err_t *err)
{
    json_int_t made = 0, files = 0, bytes = 0;
    const char *by = "", *kind = "", *runs = "";
    json_t *links = NULL;
    int format = 0, schema = 0;
    if (json_unpack(root, "{s:i}", "format", &format) == 0 && format > FORMAT)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s: the backup has format %d, this program reads %d: update the program",
                       path, format, FORMAT);
    if (json_unpack(root, "{s:s, s:I, s:{s:s, s:i}, s:s, s:I, s:I, s:o}", "made_by", &by, "made_ms",
                    &made, "records", "kind", &kind, "schema", &schema, "runs_dir", &runs, "files",
                    &files, "bytes", &bytes, "links", &links) < 0 ||
        strlen(kind) >= sizeof self->records.kind || schema <= 0 || bytes < 0)
        return err_set(err, ERR_CORRUPT, "%s: is no manifest of a backup", path);
    if ((size_t)files + 1 != self->files.n) /* and itself */
        return err_set(err, ERR_CORRUPT, "%s: the backup has %lld files, " SUMS " names %zu", path,
                       (long long)files, self->files.n - 1);
    strcpy(self->records.kind, kind);
    self->records.version = schema;
    self->made_ms = made;
    self->n_bytes = bytes;
    self->made_by = mem_strdup(by);
    self->runs_dir = mem_strdup(runs);
    return read_links(self, path, links, err);
}

static int read_manifest(backup_t *self, const char *dir, err_t *err)
{
    char *path = mem_printf("%s/" MANIFEST, dir);
    json_error_t why;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    int rc = root ? read_root(self, path, root, err)
                  : err_set(err, ERR_CORRUPT, "%s: %s", path, why.text);
    json_decref(root);
    free(path);
    return rc;
}

/* --- Checking --- */

static int check_files(const backup_t *self, const char *dir, err_t *err)
{
    int64_t total = 0, n_bytes = 0;
    for (size_t i = 0; i < self->files.n; i++) {
        const backup_file_t *file = &self->files.at[i];
        char hash[HASH_HEX], *path = mem_printf("%s/%s", dir, file->path);
        int rc = hash_at(path, hash, &n_bytes, err);
        if (rc < 0 && err) err->code = ERR_CORRUPT;
        if (rc == 0 && strcmp(hash, file->hash) != 0)
            rc = err_set(err, ERR_CORRUPT,
                         "%s: is damaged: its SHA-256 is %.12s..., " SUMS " says %.12s...", path,
                         hash, file->hash);
        free(path);
        if (rc < 0) return -1;
        if (strcmp(file->path, MANIFEST) != 0) total += n_bytes;
    }
    if (total != self->n_bytes)
        return err_set(err, ERR_CORRUPT, "%s: has %lld bytes, its manifest says %lld", dir,
                       (long long)total, (long long)self->n_bytes);
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const backup_file_t *)a)->path, ((const backup_file_t *)b)->path);
}

static bool is_listed(const backup_t *self, const char *path)
{
    const backup_file_t key = {.path = (char *)path};
    if (strcmp(path, SUMS) == 0) return true;
    for (size_t i = 0; i < self->links.n; i++)
        if (strcmp(self->links.at[i].path, path) == 0) return true;
    return bsearch(&key, self->files.at, self->files.n, sizeof key, by_path);
}

/* Nothing lies there that nobody has put there. */
static int check_listed(const backup_t *self, const char *dir, const char *under, err_t *err)
{
    char *at = mem_printf("%s/%s", dir, under);
    DIR *entries = opendir(at);
    struct dirent *entry;
    int rc = entries ? 0 : err_set_errno(err, "%s", at);
    while (rc == 0 && (entry = readdir(entries))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            strcmp(entry->d_name, "lost+found") == 0)
            continue;
        char *path = mem_printf("%s%s%s", under, *under ? "/" : "", entry->d_name);
        char *whole = mem_printf("%s/%s", dir, path);
        struct stat info;
        if (lstat(whole, &info) < 0)
            rc = err_set_errno(err, "%s", whole);
        else if (S_ISDIR(info.st_mode))
            rc = check_listed(self, dir, path, err);
        else if (!is_listed(self, path))
            rc = err_set(err, ERR_CORRUPT,
                         "%s: is no part of the backup: " SUMS " does not name it", whole);
        free(whole);
        free(path);
    }
    if (entries) closedir(entries);
    free(at);
    return rc;
}

int backup_read(backup_t *self, const char *dir, err_t *err)
{
    if (read_sums(self, dir, err) < 0 || read_manifest(self, dir, err) < 0) return -1;
    qsort(self->files.at, self->files.n, sizeof *self->files.at, by_path);
    if (check_files(self, dir, err) < 0) return -1;
    return check_listed(self, dir, "", err);
}

/* --- Where it goes --- */

int backup_fits(const char *path, int64_t n_bytes, const char *what, err_t *err)
{
    struct statvfs info;
    char *at = mem_strdup(path);
    int rc;
    while ((rc = statvfs(at, &info)) < 0 && errno == ENOENT && strcmp(at, "/") != 0 &&
           strcmp(at, ".") != 0) {
        char *up = mem_strdup(dirname(at));
        free(at);
        at = up;
    }
    if (rc < 0)
        rc = err_set_errno(err, "%s", path);
    else if ((double)info.f_bavail * (double)info.f_frsize < (double)n_bytes)
        rc = err_set(err, ERR_IO,
                     "%s: %s needs %.1f MB, its file system has %.1f MB left: make room, or give "
                     "another directory",
                     path, what, (double)n_bytes / 1e6,
                     (double)info.f_bavail * (double)info.f_frsize / 1e6);
    free(at);
    return rc;
}

int backup_vacant(const char *path, err_t *err)
{
    DIR *entries = opendir(path);
    struct dirent *entry;
    int rc = 0;
    if (!entries) return errno == ENOENT ? 0 : err_set_errno(err, "%s", path);
    while (rc == 0 && (entry = readdir(entries)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, "lost+found") != 0)
            rc = err_set(err, ERR_STATE,
                         "%s: is not empty (%s is in it): give a directory that is new or empty",
                         path, entry->d_name);
    closedir(entries);
    return rc;
}

int backup_clear(const char *path, err_t *err)
{
    DIR *entries = opendir(path);
    struct dirent *entry;
    int rc = entries ? 0 : err_set_errno(err, "%s", path);
    while (rc == 0 && (entry = readdir(entries))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "lost+found") == 0)
            continue;
        char *at = mem_printf("%s/%s", path, name);
        if (unlink(at) < 0 && file_remove_tree(at) < 0) rc = err_set_errno(err, "%s", at);
        free(at);
    }
    if (entries) closedir(entries);
    return rc;
}
