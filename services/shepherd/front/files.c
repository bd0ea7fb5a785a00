/* Pieces of files, and whole submissions. */
#include "shepherd/front/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hand_over.h"
#include "base/mem.h"
#include "base/str.h"
#include "shepherd/actor.h"
#include "shepherd/config.h"

front_job_t *front_job_new(front_job_kind_t kind, uint32_t client, const char *dir)
{
    front_job_t *self = mem_calloc(1, sizeof *self);
    self->kind = kind;
    self->client = client;
    self->dir = mem_strdup(dir);
    return self;
}

void front_job_destroy(front_job_t **self_p)
{
    front_job_t *self = *self_p;
    if (!self) return;
    free(self->dir);
    free(self->to);
    free(self->files);
    free(self->data);
    free(self);
    *self_p = NULL;
}

bool front_name_good(const char *name)
{
    size_t n = strlen(name);
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return n > 0 && n < FRONT_FILE_NAME && *name != '.' && strspn(name, good) == n;
}

/* --- Directories --- */

static void sweep(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir) return;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (!str_starts(entry->d_name, ".upload-")) continue;
        char *inside = mem_printf("%s/%s", path, entry->d_name);
        file_remove_tree(inside);
        free(inside);
    }
    closedir(dir);
}

/* --- Submissions --- */

static int write_piece(const front_job_t *job, err_t *err)
{
    if (file_make_dirs(job->dir, err) < 0) return -1;
    char *path = mem_printf("%s/%s", job->dir, job->files[job->index].name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    int rc = fd < 0 || lseek(fd, (off_t)job->offset, SEEK_SET) < 0 ? err_set_errno(err, "%s", path)
                                                                   : 0;
    if (rc == 0) rc = file_write_all(fd, job->data, job->n, path, err);
    if (fd >= 0) close(fd);
    free(path);
    return rc;
}

static int check_file(const char *dir, const front_file_t *file, err_t *err)
{
    char *path = mem_printf("%s/%s", dir, file->name), hash[HASH_HEX];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
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
    const char *unset[][2] = {{"bind", config->bind},         {"telemetry", config->telemetry},
                              {"events", config->events},     {"store", config->store},
                              {"liveness", config->liveness}, {"id", config->id},
                              {"resume", config->resume},     {"checkpoint", config->checkpoint}};
    if (shepherd_config_check(config, err) < 0) return -1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (check_name(job, names[i][0], names[i][1], err) < 0) return -1;
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        if (check_free(unset[i][0], unset[i][1], err) < 0) return -1;
    job->n_workers = (uint64_t)(shepherd_is_auto(config) ? shepherd_most(config) : config->workers);
    job->n_shards = (uint64_t)config->shards;
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

/* A directory of that name without a run is what a front that died in between has left. */
static int seal(front_job_t *job, err_t *err)
{
    for (size_t i = 0; i < job->n_file; i++)
        if (check_file(job->dir, &job->files[i], err) < 0) return -1;
    if (read_config(job, err) < 0 || file_sync_dir(job->dir, err) < 0) return -1;
    file_remove_tree(job->to);
    if (rename(job->dir, job->to) < 0) return err_set_errno(err, "%s", job->to);
    char *parent = mem_strdup(job->to);
    *strrchr(parent, '/') = '\0';
    int rc = file_sync_dir(parent, err);
    free(parent);
    return rc;
}

/* --- Logs --- */

static int read_log(front_job_t *job, err_t *err)
{
    int fd = open(job->dir, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return 0; /* it has not started yet */
    if (fd < 0) return err_set_errno(err, "%s", job->dir);
    job->data = mem_calloc(1, FRONT_PIECE_BYTES);
    ssize_t n = pread(fd, job->data, FRONT_PIECE_BYTES, (off_t)job->offset);
    close(fd);
    if (n < 0) return err_set_errno(err, "%s", job->dir);
    job->n = (size_t)n;
    job->offset += (uint64_t)n;
    return 0;
}

/* --- The actor --- */

static void work(front_job_t *job)
{
    switch (job->kind) {
    case FILES_PIECE: write_piece(job, &job->err); break;
    case FILES_SEAL: seal(job, &job->err); break;
    case FILES_DROP: file_remove_tree(job->dir); break;
    case FILES_SWEEP: sweep(job->dir); break;
    case FILES_LOG: read_log(job, &job->err); break;
    }
}

static void files_main(zsock_t *pipe, void *arg)
{
    (void)arg;
    zsock_signal(pipe, 0);
    for (;;) {
        char *command = NULL;
        void *pointer = NULL;
        int rc = zsock_recv(pipe, "sp", &command, &pointer);
        bool job = rc == 0 && strcmp(command, "JOB") == 0;
        free(command);
        if (!job) break;
        work(take_over(pointer));
        zsock_send(pipe, "p", hand_over(pointer));
    }
    actor_last(pipe);
}

zactor_t *front_files_new(void)
{
    return zactor_new(files_main, NULL);
}

void front_files_start(zactor_t *self, front_job_t *job)
{
    zsock_send(self, "sp", "JOB", hand_over(job));
}

front_job_t *front_files_take(zactor_t *self)
{
    return actor_take(self);
}

static void drop(void *answer)
{
    front_job_t *job = answer;
    front_job_destroy(&job);
}

void front_files_destroy(zactor_t **self_p)
{
    actor_end(self_p, drop);
}
