/* The keeper, as who started it sees it: one question at a time, by one thread at a time. */
#include "runtime/runner/runners.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cage.h"
#include "base/mem.h"

struct runners {
    pid_t keeper;
    int fd;
    pthread_mutex_t lock; /* of a question and its answer */
    bool caged;
    atomic_uint_least64_t refusals;
    atomic_int call, last;
};

/* --- Starting --- */

extern char **environ;

/* What libraries and checkers read; nothing that may be a secret. Returns, caller frees the list. */
static char **plain_environment(void)
{
    static const char *const prefixes[] = {"OPENBLAS_",        "GOTO_",          "MALLOC_",
                                           "LD_LIBRARY_PATH=", "LD_PRELOAD=",    "ASAN_OPTIONS=",
                                           "LSAN_OPTIONS=",    "UBSAN_OPTIONS=", "TSAN_OPTIONS=",
                                           "VALGRIND_",        "PATH=",          "GLIBC_TUNABLES="};
    size_t n = 0, kept = 0;
    while (environ[n]) n++;
    char **out = mem_calloc(n + 1, sizeof *out);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
            if (strncmp(environ[i], prefixes[k], strlen(prefixes[k])) == 0) {
                out[kept++] = environ[i];
                break;
            }
    return out;
}

/* This program's file; the link itself where that was replaced. */
static const char *own_program(char path[4096])
{
    ssize_t n = readlink("/proc/self/exe", path, 4095);
    if (n > 0) path[n] = '\0';
    return n > 0 && access(path, X_OK) == 0 ? path : "/proc/self/exe";
}

static _Noreturn void become_keeper(int fd, const char *program, char *const *environment,
                                    pid_t parent)
{
    char *const argv[] = {"pcp-runners", KEEPER_FLAG, NULL};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    if (fd == KEEPER_FD)
        fcntl(fd, F_SETFD, 0);
    else
        dup2(fd, KEEPER_FD);
    if (close_range(KEEPER_FD + 1, ~0u, 0) <
        0) /* telling others that we live is none of its business */
        for (int i = KEEPER_FD + 1; i < 4096; i++) close(i);
    execve(program, argv, environment);
    _exit(127);
}

static int say_hello(runners_t *self, err_t *err)
{
    keeper_hello_t hello = {0};
    struct timeval patience = {60, 0};
    setsockopt(self->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ssize_t n = recv(self->fd, &hello, sizeof hello, 0);
    patience.tv_sec = 0;
    setsockopt(self->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (n != sizeof hello)
        return err_set(err, ERR_UNSUPPORTED, "the keeper of runners did not start");
    self->caged = hello.filter;
    if (cage_possible() && !hello.filter)
        return err_set(err, ERR_UNSUPPORTED, "this kernel has no filter of system calls");
    if (!hello.code) return err_set(err, ERR_UNSUPPORTED, "code may not run from memory here");
    return 0;
}

runners_t *runners_start(err_t *err)
{
    int ends[2];
    char path[4096];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        err_set_errno(err, "runners");
        return NULL;
    }
    const char *program = own_program(path);
    char **environment = plain_environment();
    pid_t self_pid = getpid(), pid = fork();
    if (pid == 0) become_keeper(ends[1], program, environment, self_pid);
    close(ends[1]);
    free(environment);
    runners_t *self = mem_calloc(1, sizeof *self);
    self->fd = ends[0];
    self->keeper = pid;
    pthread_mutex_init(&self->lock, NULL);
    if (pid < 0) err_set_errno(err, "runners: fork");
    if (pid < 0 || say_hello(self, err) < 0) runners_stop(&self);
    return self;
}

void runners_stop(runners_t **self_p)
{
    runners_t *self = *self_p;
    if (!self) return;
    close(self->fd);
    if (self->keeper > 0)
        while (waitpid(self->keeper, NULL, 0) < 0 && errno == EINTR) continue;
    pthread_mutex_destroy(&self->lock);
    free(self);
    *self_p = NULL;
}

bool runners_caged(const runners_t *self)
{
    return self->caged;
}

int runners_last(const runners_t *self)
{
    return atomic_load(&((runners_t *)self)->last);
}

/* --- Asking --- */

/* fds: of KEEPER_OPEN, three. */
static bool ask(runners_t *self, const keeper_call_t *call, keeper_reply_t *reply, int fds[3])
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(3 * sizeof *fds)];
    } control = {0};
    struct iovec body = {reply, sizeof *reply};
    struct msghdr message = {.msg_iov = &body,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = -1;
    pthread_mutex_lock(&self->lock);
    if (send(self->fd, call, sizeof *call, MSG_NOSIGNAL) == sizeof *call) do
            n = recvmsg(self->fd, &message, MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
    pthread_mutex_unlock(&self->lock);
    if (n != sizeof *reply) return false;
    if (reply->pid < 0 || call->verb != KEEPER_OPEN) return true;
    if (message.msg_controllen < CMSG_LEN(3 * sizeof *fds)) return false;
    memcpy(fds, CMSG_DATA(&control.head), 3 * sizeof *fds);
    return true;
}

int runners_open(runners_t *self, runner_end_t *out, err_t *err)
{
    const keeper_call_t call = {.verb = KEEPER_OPEN};
    keeper_reply_t reply;
    int fds[3];
    if (!ask(self, &call, &reply, fds))
        return err_set(err, ERR_DEVICE, "the keeper of runners is gone");
    if (reply.pid < 0) {
        errno = reply.error;
        err_set_errno(err, "cannot start a runner");
        if (err) err->code = ERR_MEMORY;
        return -1;
    }
    *out = (runner_end_t){.pid = reply.pid, .channel = fds[0], .said = fds[2]};
    out->window = mmap(NULL, sizeof *out->window, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
    close(fds[1]);
    atomic_store(&self->last, reply.pid);
    if (out->window != MAP_FAILED) return 0;
    out->window = NULL;
    runners_end(self, out, &reply.status);
    return err_set(err, ERR_MEMORY, "cannot map a runner's window");
}

/* The code may write there what it likes: a number that falls is no news, one that leaps is a bounded one. */
void runners_count(runners_t *self, runner_end_t *end)
{
    enum { MOST = 1 << 20 };
    uint64_t now = atomic_load_explicit(&end->window->refusals.count, memory_order_relaxed);
    if (now <= end->refusals) return;
    uint64_t more = now - end->refusals;
    atomic_fetch_add(&self->refusals, more < MOST ? more : MOST);
    atomic_store(&self->call,
                 atomic_load_explicit(&end->window->refusals.call, memory_order_relaxed));
    end->refusals = now;
}

uint64_t runners_refusals(const runners_t *self, int *call)
{
    runners_t *counts = (runners_t *)self;
    if (call) *call = atomic_load(&counts->call);
    return atomic_load(&counts->refusals);
}

void runners_end(runners_t *self, runner_end_t *end, int *status)
{
    const keeper_call_t call = {KEEPER_END, end->pid};
    keeper_reply_t reply = {0};
    int none[3];
    *status = SIGKILL; /* without a keeper it is ended all the same */
    if (ask(self, &call, &reply, none) && reply.pid == end->pid) *status = reply.status;
    if (end->window) {
        runners_count(self, end);
        munmap(end->window, sizeof *end->window);
    }
    close(end->channel);
    close(end->said);
    *end = (runner_end_t){.channel = -1, .said = -1};
}
