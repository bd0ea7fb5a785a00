/* One process for each core, with its share of the files. */
#include "codegen/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scratch.h"

extern char **environ;

enum { MAX_PROCESSES = 16, SHOWN = 700 };

static char *path_of(const scratch_t *scratch, int i, const char *end)
{
    return mem_printf("%s/%d%s", scratch->dir, i, end);
}

/* Files first, first + stride, ...; 0 when it could not be started. */
static pid_t start(const batch_t *self, const scratch_t *scratch, int first, int stride, int n,
                   err_t *err)
{
    char *log = path_of(scratch, first, ".txt");
    int at = 0, n_flag = 0, status;
    while (self->flag[n_flag]) n_flag++;
    char **argv = mem_calloc((size_t)(n + n_flag) + 2, sizeof *argv);
    pid_t pid = 0;
    posix_spawn_file_actions_t actions;
    argv[at++] = mem_strdup(self->program);
    for (int i = 0; i < n_flag; i++) argv[at++] = mem_strdup(self->flag[i]);
    for (int i = first; i < n; i += stride) argv[at++] = mem_printf("%d%s", i, self->in);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawn_file_actions_addchdir_np(&actions, scratch->dir);
    status = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (status != 0) {
        pid = 0;
        err_set(err, ERR_IO, "cannot run the %s compiler \"%s\": %s (install %s)", self->language,
                argv[0], strerror(status), self->package);
    }
    for (int i = 0; i < at; i++) free(argv[i]);
    free(argv);
    free(log);
    return pid;
}

static int finish(const batch_t *self, pid_t pid, const scratch_t *scratch, int first, err_t *err)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_set_errno(err, "waiting for the %s compiler", self->language);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    char *log = path_of(scratch, first, ".txt");
    size_t n = 0;
    char *text = file_read(log, &n, NULL);
    err_set(err, ERR_UNSUPPORTED, "the %s compiler failed on generated code:\n%.*s", self->language,
            SHOWN, text ? text : "");
    free(text);
    free(log);
    return -1;
}

static int run_all(const batch_t *self, const scratch_t *scratch, int n, err_t *err)
{
    int cores = cpus_count(), at_once = cores > MAX_PROCESSES ? MAX_PROCESSES : cores, status = 0;
    pid_t pids[MAX_PROCESSES] = {0};
    if (at_once > n) at_once = n;
    for (int i = 0; status == 0 && i < at_once; i++) {
        pids[i] = start(self, scratch, i, at_once, n, err);
        if (pids[i] == 0) status = -1;
    }
    for (int i = 0; i < at_once; i++)
        if (pids[i] && finish(self, pids[i], scratch, i, status == 0 ? err : NULL) < 0) status = -1;
    return status;
}

static int write_sources(const batch_t *self, const scratch_t *scratch, int n,
                         const char *const *source, err_t *err)
{
    int status = 0;
    for (int i = 0; status == 0 && i < n; i++) {
        char *path = path_of(scratch, i, self->in);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        status = fd < 0 ? err_set_errno(err, "%s", path)
                        : file_write_all(fd, source[i], strlen(source[i]), path, err);
        if (fd >= 0) close(fd);
        free(path);
    }
    return status;
}

int batch_run(const batch_t *self, int n, const char *const *source, uint8_t **result, size_t *size,
              err_t *err)
{
    scratch_t scratch = {0};
    int status = scratch_make(&scratch, NULL, self->scratch, err);
    if (status == 0) status = write_sources(self, &scratch, n, source, err);
    if (status == 0) status = run_all(self, &scratch, n, err);
    for (int i = 0; status == 0 && i < n; i++) {
        char *path = path_of(&scratch, i, self->out);
        result[i] = (uint8_t *)file_read(path, &size[i], err);
        if (!result[i]) status = -1;
        free(path);
    }
    scratch_remove(&scratch);
    return status;
}

bool batch_finds(const char *program)
{
    const char *path = getenv("PATH");
    bool found = false;
    for (const char *at = path; at && *at && !found;) {
        size_t n = strcspn(at, ":");
        char *file = mem_printf("%.*s/%s", (int)n, at, program);
        found = access(file, X_OK) == 0;
        free(file);
        at += at[n] ? n + 1 : n;
    }
    return found;
}
