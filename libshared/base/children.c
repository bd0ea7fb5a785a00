/* Child processes with logs and parent-death signals. */
#include "base/children.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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
    int death_signal;
    int64_t log_bytes, look_ms; /* when logs are looked at next */
    VEC(child_t) list;
};

children_t *children_new(const char *log_dir, int death_signal)
{
    children_t *self = mem_calloc(1, sizeof *self);
    self->log_dir = mem_strdup(log_dir);
    self->death_signal = death_signal;
    self->log_bytes = CHILDREN_LOG_BYTES;
    return self;
}

void children_limit_logs(children_t *self, int64_t n_bytes)
{
    self->log_bytes = n_bytes;
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

/* What was sent since the fork takes effect now, as the new program's defaults have it: the
 * parent's handlers would tell the parent of it. */
static void default_signals(void)
{
    for (int i = 1; i < NSIG; i++) {
        struct sigaction was;
        if (sigaction(i, NULL, &was) == 0 && was.sa_handler != SIG_IGN) signal(i, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child: never returns. `parent` tells whether the parent died before prctl took effect. */
static _Noreturn void become(char *const argv[], int log, int kept, pid_t parent, int death_signal)
{
    prctl(PR_SET_PDEATHSIG, (unsigned long)death_signal);
    if (getppid() != parent) _exit(127);
    setpgid(0, 0); /* the terminal's Ctrl-C reaches only the parent, which then stops us in order */
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, 0);
    dup2(log, 1);
    dup2(log, 2);
    if (kept == CHILDREN_KEPT_FD) fcntl(kept, F_SETFD, 0);
    if (kept >= 0 && kept != CHILDREN_KEPT_FD) dup2(kept, CHILDREN_KEPT_FD);
    default_signals();
    execv(argv[0], argv);
    dprintf(2, "cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static child_t *find(const children_t *self, const char *name)
{
    for (size_t i = 0; i < self->list.n; i++)
        if (strcmp(self->list.at[i].name, name) == 0) return &self->list.at[i];
    return NULL;
}

static char *log_path(const children_t *self, const char *name, const char *end)
{
    return mem_printf("%s/%s.log%s", self->log_dir, name, end);
}

int children_spawn(children_t *self, const char *name, char *const argv[], err_t *err)
{
    return children_spawn_with(self, name, argv, -1, err);
}

int children_spawn_with(children_t *self, const char *name, char *const argv[], int kept,
                        err_t *err)
{
    char *path = log_path(self, name, "");
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) {
        err_set_errno(err, "%s", path);
        free(path);
        return -1;
    }
    free(path);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) become(argv, log, kept, parent, self->death_signal);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(log);
    if (pid < 0) return err_set_errno(err, "cannot start %s", name);
    child_t *old = find(self, name);
    if (old) {
        old->pid = pid;
        return 0;
    }
    child_t child = {.name = mem_strdup(name), .pid = pid};
    VEC_PUSH(&self->list, child);
    return 0;
}

/* --- Logs --- */

static int copy_all(int from, int to)
{
    char piece[1 << 16];
    for (off_t at = 0;;) {
        ssize_t n = pread(from, piece, sizeof piece, at);
        if (n <= 0) return (int)n;
        if (file_write_all(to, piece, (size_t)n, "log", NULL) < 0) return -1;
        at += n;
    }
}

/* Children and theirs hold the file open: it is emptied, and they go on writing at its end, which is its beginning then.
 * Room for the copy is what the one before had. -1: it stays as it is. */
static int begin_anew(const children_t *self, const char *name)
{
    char *path = log_path(self, name, ""), *older = log_path(self, name, ".1");
    int log = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW), copy = -1, rc = 0;
    struct stat info;
    if (log >= 0 && fstat(log, &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_size > self->log_bytes) {
        unlink(older);
        copy = open(older, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        rc = copy >= 0 && copy_all(log, copy) == 0 ? ftruncate(log, 0) : -1;
        if (rc < 0) unlink(older);
    }
    if (copy >= 0) close(copy);
    if (log >= 0) close(log);
    free(older);
    free(path);
    return rc;
}

static void look_at_logs(children_t *self)
{
    enum { EVERY_MS = 1000, FAILED_MS = 60000 };
    int64_t now = clock_mono_ms();
    if (now < self->look_ms) return;
    self->look_ms = now + EVERY_MS;
    for (size_t i = 0; i < self->list.n; i++)
        if (self->list.at[i].pid && begin_anew(self, self->list.at[i].name) < 0)
            self->look_ms = now + FAILED_MS;
}

bool children_reap(children_t *self, child_end_t *end)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid <= 0) {
            look_at_logs(self);
            return false;
        }
        for (size_t i = 0; i < self->list.n; i++) {
            child_t *child = &self->list.at[i];
            if (child->pid != pid) continue;
            child->pid = 0;
            end->name = child->name;
            end->pid = (int)pid;
            end->signalled = WIFSIGNALED(status);
            end->code = end->signalled ? WTERMSIG(status) : WEXITSTATUS(status);
            return true;
        }
    }
}

const char *child_end_text(const child_end_t *end, char text[64])
{
    if (end->signalled)
        snprintf(text, 64, "was killed by signal %d (%s)", end->code, strsignal(end->code));
    else
        snprintf(text, 64, "ended with status %d", end->code);
    return text;
}

int children_pid(const children_t *self, const char *name)
{
    const child_t *child = find(self, name);
    return child ? (int)child->pid : 0;
}

bool children_running(const children_t *self, const char *name)
{
    return children_pid(self, name) != 0;
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

void children_signal_one(children_t *self, const char *name, int signal)
{
    int pid = children_pid(self, name);
    if (pid) kill(pid, signal);
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

static char *tail_of(char *path, size_t most)
{
    size_t n = 0;
    char *text = file_read(path, &n, NULL);
    free(path);
    if (!text) return mem_strdup("");
    size_t from = n > most ? n - most : 0;
    while (from > 0 && from < n && text[from - 1] != '\n') from++;
    char *tail = mem_strdup(text + from);
    free(text);
    return tail;
}

char *children_log_tail(const children_t *self, const char *name, int n_bytes)
{
    size_t most = (size_t)n_bytes;
    char *tail = tail_of(log_path(self, name, ""), most);
    char *before = tail_of(log_path(self, name, ".1"), most - strlen(tail));
    char *both = mem_printf("%s%s", before, tail);
    free(before);
    free(tail);
    return both;
}
