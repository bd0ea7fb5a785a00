/* pcp restore: a backup's records and runs to a place where there are none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "pcp/backup_list.h"
#include "pcp/backup_options.h"
#include "pcp/cmd.h"

static const config_field_t fields[] = {BACKUP_FIELDS("directory for the runs: new or empty",
                                                      "URL of an empty database for the records")};
static const config_table_t table = {
    .purpose = "bring back what pcp backup has copied",
    .usage =
        "usage: pcp restore DIR --runs-dir RUNS [--store URL]\n\n"
        "Checks every file of the backup DIR, then fills RUNS and the database, which must be\n"
        "empty, and brings the database to this program's schema. Services may be started then:\n"
        "runs that trained go on from their newest checkpoint. An error leaves both empty.\n"
        "Exit status: 0 well, 1 the backup is damaged or does not fit, 2 usage, 4 it is of a "
        "newer\n"
        "program.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

#define UNDER "runs/"

static int copy_runs(const backup_t *backup, const char *dir, const char *runs, err_t *err)
{
    backup_t copied = {0};
    int rc = file_make_dirs(runs, err);
    for (size_t i = 0; rc == 0 && i < backup->files.n; i++) {
        const backup_file_t *file = &backup->files.at[i];
        if (!str_starts(file->path, UNDER)) continue;
        char *from = mem_printf("%s/%s", dir, file->path);
        rc = backup_copy(&copied, from, runs, file->path + strlen(UNDER), err);
        if (rc == 0 && strcmp(copied.files.at[copied.files.n - 1].hash, file->hash) != 0)
            rc = err_set(err, ERR_CORRUPT, "%s: it was changed while it was copied", from);
        free(from);
    }
    for (size_t i = 0; rc == 0 && i < backup->links.n; i++) {
        const backup_link_t *link = &backup->links.at[i];
        if (!str_starts(link->path, UNDER)) continue;
        char *at = mem_printf("%s/%s", runs, link->path + strlen(UNDER));
        if (symlink(link->target, at) < 0) rc = err_set_errno(err, "%s", at);
        free(at);
    }
    backup_fini(&copied);
    return rc;
}

static int load(store_t *store, const backup_t *backup, const char *dir, const char *runs,
                err_t *err)
{
    char *records = mem_printf("%s/records", dir), *now = realpath(runs, NULL);
    int rc = now ? store_load(store, records, &backup->records, err)
                 : err_set_errno(err, "%s", runs);
    if (rc == 0) rc = store_load_moved(store, backup->runs_dir, now, err);
    free(now);
    free(records);
    return rc;
}

static int fill(store_t *store, const backup_t *backup, const char *dir, const char *runs,
                err_t *err)
{
    if (store_load_check(store, &backup->records, err) < 0) return -1;
    if (copy_runs(backup, dir, runs, err) < 0) return -1;
    return load(store, backup, dir, runs, err);
}

static int restore(store_t *store, const backup_options_t *o, const char *dir, err_t *err)
{
    const char *runs = o->runs_dir;
    backup_t backup = {0};
    bool was_there = file_exists(runs);
    int rc = backup_read(&backup, dir, err);
    if (rc == 0) rc = backup_fits(runs, backup.n_bytes, "the backup", err);
    if (rc == 0) rc = file_make_dirs(runs, err); /* the database may lie there, too */
    if (rc == 0 && (rc = fill(store, &backup, dir, runs, err)) < 0) {
        err_t why = {0};
        if (backup_clear(runs, &why) < 0 || (!was_there && rmdir(runs) < 0))
            fprintf(stderr, "pcp restore: %s is not empty: %s\n", runs, why.text);
    }
    if (rc == 0)
        printf("%s: %zu files, %.1f MB; the records are in the database\n", runs, backup.files.n,
               (double)backup.n_bytes / 1e6);
    backup_fini(&backup);
    return rc;
}

static int run(const void *options, const config_args_t *args, err_t *err)
{
    const backup_options_t *o = options;
    if (args->n_operands != 1) return err_set(err, ERR_ARG, "say from where: pcp restore DIR");
    const store_options_t limits = {.statement_ms = o->wait_ms};
    char *url = backup_store_url(o);
    store_t *store = NULL;
    int rc = backup_vacant(o->runs_dir, err);
    if (rc == 0) rc = (store = store_open(url, &limits, err)) ? 0 : -1;
    if (rc == 0) rc = restore(store, o, args->operands[0], err);
    store_destroy(&store);
    free(url);
    return rc;
}

int cmd_restore(int argc, char **argv)
{
    backup_options_t options = {0};
    err_t err = {0};
    int status = cmd_run(&table, &options, argc, argv, run, &err);
    return err.code == ERR_SCHEMA ? STORE_EXIT_SCHEMA : status;
}
