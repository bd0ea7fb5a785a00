/* A root's checkpoints: which there are, the newest that is whole, pruning, and copies. */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "ckpt/checkpoint.h"
#include "ckpt/checkpoint_files.h"
#include "ckpt/ledger.h"

/* What the manifest says; with `verify`, whether all files are as it says. */
static checkpoint_entry_t look(const char *root, const char *name, bool verify)
{
    checkpoint_entry_t self = {.name = mem_strdup(name), .path = mem_printf("%s/%s", root, name)};
    err_t err = {0};
    json_t *m = ckpt_read_manifest(self.path, &err);
    if (sscanf(name, "round-%lld-%lld", &self.round, &self.copy) < 2) self.copy = 1;
    if (m) {
        json_t *loss = json_object_get(m, "loss"), *val = json_object_get(m, "validation");
        const char *run = json_string_value(json_object_get(m, "run"));
        self.run = mem_strdup(run ? run : "");
        self.round = json_integer_value(json_object_get(m, "round"));
        self.serial = json_integer_value(json_object_get(m, "serial"));
        self.tokens = json_integer_value(json_object_get(m, "tokens"));
        self.loss = json_is_number(loss) ? json_number_value(loss) : (double)NAN;
        self.validation = json_is_number(val) ? json_number_value(val) : (double)NAN;
        self.n_bytes = ckpt_sum_bytes(m);
        ckpt_manifest_check(m, self.hash);
        const char *seal = json_string_value(json_object_get(m, "seal"));
        self.seal = seal ? mem_strdup(seal) : NULL;
        self.has_state = json_object_get(json_object_get(m, "files"), CKPT_STATE) != NULL;
    }
    if (m && verify) {
        checkpoint_t *whole = checkpoint_open(self.path, &err);
        checkpoint_close(&whole);
    }
    json_decref(m);
    if (err.code) self.fault = mem_strdup(err.text);
    if (!self.run) self.run = mem_strdup("");
    return self;
}

/* The one written last first. Manifests of version 1 have no serial: by round, then by copy. */
static int compare_newest_first(const void *a, const void *b)
{
    const checkpoint_entry_t *x = a, *y = b;
    if (x->serial != y->serial) return x->serial > y->serial ? -1 : 1;
    if (x->round != y->round) return x->round > y->round ? -1 : 1;
    return (x->copy < y->copy) - (x->copy > y->copy);
}

int checkpoint_list(const char *root, bool verify, checkpoint_list_t *out, err_t *err)
{
    DIR *dir = opendir(root);
    if (!dir) return err_set_errno(err, "%s", root);
    *out = (checkpoint_list_t){0};
    for (struct dirent *e; (e = readdir(dir));)
        if (ckpt_is_round_name(e->d_name)) VEC_PUSH(out, look(root, e->d_name, verify));
    closedir(dir);
    if (out->n) qsort(out->at, out->n, sizeof *out->at, compare_newest_first);
    return 0;
}

void checkpoint_list_fini(checkpoint_list_t *self)
{
    for (size_t i = 0; i < self->n; i++) {
        free(self->at[i].name);
        free(self->at[i].path);
        free(self->at[i].run);
        free(self->at[i].fault);
        free(self->at[i].seal);
    }
    VEC_FREE(self);
}

int checkpoint_none(const char *root, err_t *err)
{
    char *within = mem_printf("%s/checkpoint", root);
    bool is_run = file_exists(within);
    err_set(err, ERR_IO, "%s: no checkpoint in it%s%s", root, is_run ? ": a run's are in " : "",
            is_run ? within : "");
    free(within);
    return -1;
}

checkpoint_t *checkpoint_open_newest(const char *root, err_t *err)
{
    checkpoint_list_t list;
    checkpoint_t *found = NULL;
    err_t first = {0}, next = {0};
    if (checkpoint_list(root, false, &list, err) < 0) return NULL;
    for (size_t i = 0; i < list.n && !found; i++) {
        found = checkpoint_open(list.at[i].path, i ? &next : &first);
        if (!found)
            log_event(LOG_WARN, "checkpoint_refused", "reason=\"%s\"", (i ? next : first).text);
    }
    if (!found && list.n == 0) checkpoint_none(root, err);
    if (!found && list.n > 0)
        err_set(err, first.code, "%s%s", first.text,
                list.n > 1 ? "; and none of the earlier ones is whole" : "");
    checkpoint_list_fini(&list);
    return found;
}

/* --- Pruning --- */

int checkpoint_sweep(const char *root, err_t *err)
{
    DIR *dir = opendir(root);
    if (!dir) return err_set_errno(err, "%s", root);
    int rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(dir));) {
        bool link = str_starts(e->d_name, "latest.tmp.");
        if (!link && (!str_starts(e->d_name, "round-") || !strstr(e->d_name, ".tmp."))) continue;
        char *path = mem_printf("%s/%s", root, e->d_name);
        if (link)
            unlink(path);
        else
            rc = ckpt_remove_dir(path, err);
        free(path);
    }
    closedir(dir);
    return rc;
}

/* Can a run go on from it? */
static bool has_ledger(const checkpoint_entry_t *entry)
{
    char *path = mem_printf("%s/" LEDGER_FILE, entry->path);
    bool there = file_exists(path);
    free(path);
    return there;
}

int checkpoint_prune(const char *root, int keep, checkpoint_list_t *removed, err_t *err)
{
    if (removed) *removed = (checkpoint_list_t){0};
    checkpoint_list_t list;
    if (checkpoint_sweep(root, err) < 0 || checkpoint_list(root, false, &list, err) < 0) return -1;
    char *link = mem_printf("%s/latest", root), *latest = realpath(link, NULL);
    const char *latest_name = latest && strrchr(latest, '/') ? strrchr(latest, '/') + 1 : "";
    int rc = 0;
    bool resumable = false; /* one that stays is */
    for (size_t i = 0, n = 0; rc == 0 && i < list.n; i++) {
        checkpoint_entry_t *entry = &list.at[i];
        n += entry->fault == NULL; /* one without a manifest is no checkpoint to keep */
        bool first = !entry->fault && !resumable && has_ledger(entry);
        bool stays = first || (!entry->fault && n <= (size_t)(keep < 1 ? 1 : keep));
        resumable |= first;
        if (stays || strcmp(entry->name, latest_name) == 0) continue;
        rc = ckpt_remove_dir(entry->path, err);
        if (rc < 0 || !removed) continue;
        VEC_PUSH(removed, *entry);
        *entry = (checkpoint_entry_t){0};
    }
    checkpoint_list_fini(&list);
    free(latest);
    free(link);
    return rc;
}

/* --- Copies --- */

/* To a device or a pipe, which takes it as it stands. */
static int copy_to_special(const char *from, const char *to, err_t *err)
{
    file_map_t map;
    if (file_map(from, &map, err) < 0) return -1;
    int rc = file_write_atomic(to, map.at, map.n, err);
    file_unmap(&map);
    return rc;
}

/* Piece by piece: it may be larger than memory. */
static int copy_to_file(file_part_t *in, const char *to, err_t *err)
{
    char *temporary = NULL;
    struct stat info;
    if (fstat(in->fd, &info) < 0) return err_set_errno(err, "%s", in->path);
    file_part_t out = {.fd = file_open_temporary(to, 0644, &temporary, err), .path = to};
    if (out.fd < 0) return -1;
    const source_t source = source_of_file(in, (uint64_t)info.st_size);
    const sink_t sink = sink_to_file(&out);
    int rc = source_save(&source, &sink, NULL, err);
    if (rc == 0) {
        rc = file_commit(out.fd, temporary, to, err);
    } else {
        close(out.fd);
        unlink(temporary);
    }
    free(temporary);
    return rc;
}

static int copy_file(const char *from, const char *to, err_t *err)
{
    if (file_is_special(to)) return copy_to_special(from, to, err);
    file_part_t in = {.fd = open(from, O_RDONLY | O_CLOEXEC), .path = from};
    if (in.fd < 0) return err_set_errno(err, "%s", from);
    int rc = copy_to_file(&in, to, err);
    close(in.fd);
    return rc;
}

int checkpoint_export(const checkpoint_t *self, const char *file, err_t *err)
{
    char *from = mem_printf("%s/" CKPT_PARAMS, checkpoint_path(self));
    int rc = copy_file(from, file, err);
    free(from);
    return rc;
}

/* The file `name` of a checkpoint's directory into another one. */
static int copy_named(const char *source, const char *name, const char *dir, err_t *err)
{
    char *from = mem_printf("%s/%s", source, name), *to = mem_printf("%s/%s", dir, name);
    int rc = copy_file(from, to, err);
    free(from);
    free(to);
    return rc;
}

int checkpoint_copy(const checkpoint_t *self, const char *dir, err_t *err)
{
    const char *source = checkpoint_path(self), *name;
    char *manifest = mem_printf("%s/" CKPT_MANIFEST, dir);
    json_t *files = json_object_get(ckpt_manifest(self), "files"), *entry;
    int rc = 0;
    if (file_exists(manifest)) rc = err_set(err, ERR_ARG, "%s: a checkpoint is there already", dir);
    if (rc == 0) rc = file_make_dirs(dir, err);
    json_object_foreach(files, name, entry)
    {
        if (rc == 0) rc = copy_named(source, name, dir, err);
    }
    /* It makes the copy a checkpoint. */
    if (rc == 0) rc = copy_named(source, CKPT_MANIFEST, dir, err);
    free(manifest);
    return rc;
}
