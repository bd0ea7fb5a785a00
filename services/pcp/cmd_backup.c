/* pcp backup: a copy of records and runs that a cluster can be made again from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"
#include "pcp/backup_options.h"
#include "pcp/backup_runs.h"
#include "pcp/cmd.h"

static const config_field_t fields[] = {
    BACKUP_FIELDS("the front's directory of runs, or the directory of one run of pcp train",
                  "URL of the records")};
static const config_table_t table = {
    .purpose = "copy records and runs to where a cluster can be made again from",
    .usage =
        "usage: pcp backup DIR --runs-dir RUNS [--store URL]\n"
        "       pcp backup verify DIR\n\n"
        "Copies the database and the runs' directories (configuration, model, tokens, "
        "checkpoints,\n"
        "logs) to DIR, which is new or empty. Runs may train meanwhile: the records are those of\n"
        "one moment, each run goes on from its newest checkpoint in DIR, to the same bits.\n"
        "verify  checks every file against its SHA-256, as `sha256sum -c SHA256SUMS` does\n"
        "`pcp restore` brings it back.\n"
        "Exit status: 0 well, 1 it cannot be copied or is damaged, 2 usage.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

/* The file that an sqlite URL names, else NULL. Borrowed. */
static const char *sqlite_file(const char *url)
{
    const char *scheme = "sqlite://";
    return str_starts(url, scheme) ? url + strlen(scheme) : NULL;
}

static int copy_records(store_t *store, backup_t *backup, const char *dir, err_t *err)
{
    char *records = mem_printf("%s/records", dir);
    int rc = file_make_dirs(records, err);
    if (rc == 0) rc = store_dump(store, records, &backup->records, err);
    free(records);
    return rc == 0 ? backup_take_dir(backup, dir, "records", err) : -1;
}

/* Runs before records, which then know of everything that was copied; and the runs that came in
 * between, which the records know, after them. */
static int copy_all(store_t *store, const backup_runs_t *job, backup_t *backup, err_t *err)
{
    if (backup_runs_copy(job, backup, err) < 0) return -1;
    if (copy_records(store, backup, job->to, err) < 0) return -1;
    if (backup_runs_copy(job, backup, err) < 0) return -1;
    return backup_write(backup, job->to, err);
}

static int check_room(store_t *store, const backup_runs_t *job, err_t *err)
{
    int64_t runs = 0, records = 0;
    if (backup_runs_size(job, &runs, err) < 0 || store_dump_size(store, &records, err) < 0)
        return -1;
    return backup_fits(job->to, runs + records, "the backup", err);
}

static void tell(const backup_t *backup, const char *dir, const char *how)
{
    size_t n_run = backup_runs(backup);
    printf("%s: %s%zu run%s, %zu files, %.1f MB; records of %s, schema %d\n", dir, how, n_run,
           n_run == 1 ? "" : "s", backup->files.n, (double)backup->n_bytes / 1e6,
           backup->records.kind, backup->records.version);
}

/* A backup in what it copies would copy itself. */
static int check_apart(const char *runs, const char *dir, err_t *err)
{
    char *made = realpath(dir, NULL);
    size_t n = strlen(runs);
    bool inside = made && strncmp(made, runs, n) == 0 && (made[n] == '/' || !made[n]);
    free(made);
    if (!inside) return 0;
    rmdir(dir); /* where we have made it */
    return err_set(err, ERR_ARG, "%s: lies in --runs-dir %s: give another directory", dir, runs);
}

static int make(store_t *store, const backup_options_t *o, const char *dir, const char *skip,
                err_t *err)
{
    char *runs = realpath(o->runs_dir, NULL);
    if (!runs) return err_set_errno(err, "--runs-dir %s", o->runs_dir);
    backup_t backup = {.made_ms = clock_wall_ms(), .runs_dir = runs};
    const backup_runs_t job = {.from = runs, .to = dir, .skip = skip};
    int rc = check_room(store, &job, err);
    if (rc == 0) rc = file_make_dirs(dir, err);
    if (rc == 0) rc = check_apart(runs, dir, err);
    if (rc == 0 && (rc = copy_all(store, &job, &backup, err)) < 0) {
        err_t why = {0};
        if (backup_clear(dir, &why) < 0) fprintf(stderr, "pcp backup: %s\n", why.text);
    }
    if (rc == 0) tell(&backup, dir, "");
    backup_fini(&backup);
    return rc;
}

static int verify(const char *dir, err_t *err)
{
    backup_t backup = {0};
    int rc = backup_read(&backup, dir, err);
    if (rc == 0) tell(&backup, dir, "whole: ");
    backup_fini(&backup);
    return rc;
}

static int run(const void *options, const config_args_t *args, err_t *err)
{
    const backup_options_t *o = options;
    if (args->n_operands == 2 && strcmp(args->operands[0], "verify") == 0)
        return verify(args->operands[1], err);
    if (args->n_operands != 1) return err_set(err, ERR_ARG, "say where to: pcp backup DIR");
    const char *dir = args->operands[0];
    char *url = backup_store_url(o);
    const char *file = sqlite_file(url);
    const store_options_t limits = {.statement_ms = o->wait_ms, .read_only = true};
    char *skip = file ? realpath(file, NULL) : NULL;
    store_t *store = NULL;
    int rc = backup_vacant(dir, err);
    if (rc == 0 && file && !skip) rc = err_set_errno(err, "the records, --store %s", url);
    if (rc == 0) rc = (store = store_open(url, &limits, err)) ? 0 : -1;
    if (rc == 0) rc = make(store, o, dir, skip, err);
    store_destroy(&store);
    free(skip);
    free(url);
    return rc;
}

int cmd_backup(int argc, char **argv)
{
    backup_options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, run, &err);
}
