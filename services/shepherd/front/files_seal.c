/* A submission that has arrived: checked, and put where runs are. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "shepherd/config.h"
#include "shepherd/front/files.h"

static int check_file(const char *dir, const front_file_t *file, err_t *err)
{
    char *path = mem_printf("%s/%s", dir, file->name), hash[HASH_HEX];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int rc = fd < 0 ? err_set_errno(err, "%s", path) : 0;
    if (rc == 0 && file_size(path) != (int64_t)file->size)
        rc = err_set(err, ERR_CORRUPT, "%s has %lld bytes, not %llu", file->name,
                     (long long)file_size(path), (unsigned long long)file->size);
    if (rc == 0) rc = hash_file(path, hash, err);
    if (rc == 0 && strcmp(hash, file->hash) != 0)
        rc = err_set(err, ERR_CORRUPT, "%s has another content than was announced", file->name);
    if (rc == 0 && fsync(fd) < 0) rc = err_set_errno(err, "%s", path);
    if (fd >= 0) close(fd);
    free(path);
    return rc;
}

/* --- run.json --- */

static int check_name(const front_job_t *job, const char *key, const char *name, err_t *err)
{
    if (!name) return 0;
    for (size_t i = 0; i < job->n_file; i++)
        if (strcmp(job->files[i].name, name) == 0) return 0;
    return err_set(err, ERR_ARG, "run.json: \"%s\" is \"%s\", which is no file of the submission",
                   key, name);
}

/* What is the cluster's to say. */
static int check_free(const char *key, const char *value, err_t *err)
{
    if (!value) return 0;
    return err_set(err, ERR_ARG, "run.json: \"%s\" is the cluster's to set: leave it out", key);
}

static int check_config(front_job_t *job, const shepherd_config_t *config, err_t *err)
{
    const char *names[][2] = {{"model", config->model},
                              {"init", config->init},
                              {"train_tokens", config->train_tokens},
                              {"validation_tokens", config->validation_tokens},
                              {"tokenizer", config->tokenizer}};
    const char *unset[][2] = {{"bind", config->bind},
                              {"telemetry", config->telemetry},
                              {"events", config->events},
                              {"store", config->store},
                              {"liveness", config->liveness},
                              {"id", config->id},
                              {"resume", config->resume},
                              {"checkpoint", config->checkpoint},
                              {"state_dir", config->state_dir},
                              {"health", config->common.health},
                              {"probe", config->common.probe ? "true" : NULL},
                              {"key", config->common.key},
                              {"revoked", config->common.revoked},
                              {"insecure", config->common.insecure ? "true" : NULL}};
    if (shepherd_config_check(config, err) < 0) return -1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (check_name(job, names[i][0], names[i][1], err) < 0) return -1;
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        if (check_free(unset[i][0], unset[i][1], err) < 0) return -1;
    job->n_workers = (uint64_t)(shepherd_is_auto(config) ? shepherd_most(config) : config->workers);
    job->n_shards = (uint64_t)config->aggregators;
    job->n_rounds = (uint64_t)config->rounds;
    return 0;
}

static int read_config(front_job_t *job, err_t *err)
{
    config_table_t table = shepherd_table;
    table.no_env = true;
    shepherd_config_t config = {0};
    char *path = mem_printf("%s/run.json", job->dir), *argv[] = {"run.json", NULL};
    int rc = config_load(&table, &config, path, 1, argv, NULL, err);
    if (rc == 0) rc = check_config(job, &config, err);
    config_fini(&table, &config);
    free(path);
    return rc;
}

/* --- Its place --- */

/* A directory without a run in the records: of a front that died before it wrote the row, or of a
 * run whose records are lost. With the very files of this submission it is that run's, and keeps
 * its checkpoints; any other is not ours to touch. */
static int adopt(front_job_t *job, err_t *err)
{
    err_t other = {0};
    struct stat info;
    if (lstat(job->to, &info) < 0 || !S_ISDIR(info.st_mode))
        err_set(&other, ERR_STATE, "it is no directory");
    for (size_t i = 0; i < job->n_file && !other.code; i++)
        check_file(job->to, &job->files[i], &other);
    if (other.code)
        return err_set(err, ERR_STATE,
                       "%s is there already, is of no run that this cluster knows, and is not of "
                       "this one: %.300s. It is left as it is. Choose another --name, or move it "
                       "aside on the cluster's machine: mv %s %s.old; submitted with the very "
                       "files that it holds, it would be adopted with its checkpoints",
                       job->to, other.text, job->to, job->to);
    job->adopted = true;
    file_remove_tree(job->dir); /* this submission's own copy */
    return 0;
}

/* A directory's rename takes the place of nothing, or of an empty directory, and follows no link.
 */
static int put_in_place(front_job_t *job, err_t *err)
{
    if (rename(job->dir, job->to) == 0) return 0;
    bool occupied = errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR;
    return occupied ? adopt(job, err) : err_set_errno(err, "%s", job->to);
}

int files_seal(front_job_t *job, err_t *err)
{
    for (size_t i = 0; i < job->n_file; i++)
        if (check_file(job->dir, &job->files[i], err) < 0) return -1;
    if (read_config(job, err) < 0 || file_sync_dir(job->dir, err) < 0 || put_in_place(job, err) < 0)
        return -1;
    char *parent = mem_strdup(job->to);
    *strrchr(parent, '/') = '\0';
    int rc = file_sync_dir(parent, err);
    free(parent);
    return rc;
}
