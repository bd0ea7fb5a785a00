/* The files actor: its jobs one after the other. */
#include "shepherd/front/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hand_over.h"
#include "base/mem.h"
#include "shepherd/actor.h"

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
    free(self->run);
    for (size_t i = 0; i < self->names.n; i++) free(self->names.at[i]);
    VEC_FREE(&self->names);
    free(self->files);
    free(self->data);
    free(self);
    *self_p = NULL;
}

/* --- Submissions --- */

static int write_piece(const front_job_t *job, err_t *err)
{
    if (file_make_dirs(job->dir, err) < 0) return -1;
    char *path = mem_printf("%s/%s", job->dir, job->files[job->index].name);
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    int rc = fd < 0 || lseek(fd, (off_t)job->offset, SEEK_SET) < 0 ? err_set_errno(err, "%s", path)
                                                                   : 0;
    if (rc == 0) rc = file_write_all(fd, job->data, job->n, path, err);
    if (fd >= 0) close(fd);
    free(path);
    return rc;
}

/* --- Logs --- */

/* What is there from the job's place on; nothing: there is no such file (yet). */
static int read_piece(front_job_t *job, const char *path, err_t *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? 0 : err_set_errno(err, "%s", path);
    ssize_t n = pread(fd, job->data, FRONT_PIECE_BYTES, (off_t)job->offset);
    close(fd);
    if (n < 0) return err_set_errno(err, "%s", path);
    job->n = (size_t)n;
    job->offset += (uint64_t)n;
    return 0;
}

/* Who follows it is behind its end when it has begun anew (base/children.h): the rest of the one before comes first. */
static int read_log(front_job_t *job, err_t *err)
{
    char *older = mem_printf("%s.1", job->dir);
    int rc = 0;
    job->data = mem_calloc(1, FRONT_PIECE_BYTES);
    if (job->older) {
        rc = read_piece(job, older, err);
    } else {
        if (file_size(job->dir) < (int64_t)job->offset) {
            rc = read_piece(job, older, err);
            if (rc == 0 && job->n == 0) job->offset = 0;
        }
        if (rc == 0 && job->n == 0) rc = read_piece(job, job->dir, err);
    }
    free(older);
    return rc;
}

/* --- The actor --- */

void front_files_work(front_job_t *job)
{
    switch (job->kind) {
    case FILES_LOOK: files_look(job); break;
    case FILES_EXPIRE: files_expire(job->dir, NULL, job->offset); break;
    case FILES_PIECE: write_piece(job, &job->err); break;
    case FILES_SEAL: files_seal(job, &job->err); break;
    case FILES_DROP:
        if (file_remove_tree(job->dir) < 0) err_set_errno(&job->err, "%s", job->dir);
        break;
    case FILES_SWEEP: files_sweep(job); break;
    case FILES_LOG: read_log(job, &job->err); break;
    case FILES_MEASURE: files_measure(job); break;
    case FILES_RETIRE: files_retire(job, &job->err); break;
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
        front_files_work(take_over(pointer));
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
