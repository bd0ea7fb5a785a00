/* Child processes with logs and parent-death signals. */
#include "pcp/children.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

typedef struct {
    char *name;
    pid_t pid; /* 0: ended */
} child_t;

struct children {
    char *log_dir;
    VEC(child_t) list;
};

children_t *children_new(const char *log_dir)
{
    children_t *self = mem_calloc(1, sizeof *self);
    self->log_dir = mem_strdup(log_dir);
    return self;
}

void children_destroy(children_t **self_p)
{
    children_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    children_signal(self, "", SIGKILL);
    children_wait(self, 5000);
    for (size_t i = 0; i < self->list.n; i++) free(self->list.at[i].name);
    VEC_FREE(&self->list);
    free(self->log_dir);
    free(self);
    *self_p = NULL;
}

/* In the child: never returns. `parent` tells whether the parent died before prctl took effect. */
static _Noreturn void become(char *const argv[], int log, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    setpgid(0, 0); /* the terminal's Ctrl-C reaches only pcp, which then stops us in order */
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, 0);
    dup2(log, 1);
    dup2(log, 2);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(argv[0], argv);
    dprintf(2, "cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

int children_spawn(children_t *self, const char *name, char *const argv[], err_t *err)
{
    char *path = mem_printf("%s/%s.log", self->log_dir, name);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) {
        err_set_errno(err, "%s", path);
        free(path);
        return -1;
    }
    free(path);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) become(argv, log, parent);
    close(log);
    if (pid < 0) return err_set_errno(err, "cannot start %s", name);
    child_t child = {.name = mem_strdup(name), .pid = pid};
    VEC_PUSH(&self->list, child);
    return 0;
}

bool children_reap(children_t *self, child_end_t *end)
{
    for (size_t i = 0; i < self->list.n; i++) {
        child_t *child = &self->list.at[i];
        int status;
        if (!child->pid || waitpid(child->pid, &status, WNOHANG) <= 0) continue;
        child->pid = 0;
        end->name = child->name;
        end->signalled = WIFSIGNALED(status);
        end->code = end->signalled ? WTERMSIG(status) : WEXITSTATUS(status);
        return true;
    }
    return false;
}

bool children_running(const children_t *self, const char *name)
{
    for (size_t i = 0; i < self->list.n; i++)
        if (self->list.at[i].pid && strcmp(self->list.at[i].name, name) == 0) return true;
    return false;
}

int children_count(const children_t *self, const char *prefix)
{
    int n = 0;
    for (size_t i = 0; i < self->list.n; i++)
        n += self->list.at[i].pid && str_starts(self->list.at[i].name, prefix);
    return n;
}

void children_signal(children_t *self, const char *prefix, int signal)
{
    for (size_t i = 0; i < self->list.n; i++)
        if (self->list.at[i].pid && str_starts(self->list.at[i].name, prefix))
            kill(self->list.at[i].pid, signal);
}

bool children_wait(children_t *self, int timeout_ms)
{
    int64_t limit = clock_mono_ms() + timeout_ms;
    for (;;) {
        child_end_t end;
        while (children_reap(self, &end)) continue;
        if (children_count(self, "") == 0) return true;
        if (clock_mono_ms() >= limit) return false;
        usleep(5000);
    }
}

char *children_log_tail(const children_t *self, const char *name, int n_bytes)
{
    char *path = mem_printf("%s/%s.log", self->log_dir, name);
    size_t n = 0;
    char *text = file_read(path, &n, NULL);
    free(path);
    if (!text) return mem_strdup("");
    size_t from = n > (size_t)n_bytes ? n - (size_t)n_bytes : 0;
    while (from > 0 && from < n && text[from - 1] != '\n') from++;
    char *tail = mem_strdup(text + from);
    free(text);
    return tail;
}
