/* The keeper: forks runners and ends them, one request at a time. It has no threads, no state but the numbers that
 * the kernel keeps for it, and enters a cage itself: no sockets but pairs, the system's libraries to read, nothing to
 * write. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cage.h"
#include "runtime/runner.h"
#include "runtime/runner/serve.h"

/* Where memory is short the system shall take a runner, which costs a lease, not who asked for it. */
static void go_first(void)
{
    enum { SOONER = 200, MOST = 1000 };
    int now = 0;
    FILE *file = fopen("/proc/self/oom_score_adj", "r+e");
    if (!file) return;
    if (fscanf(file, "%d", &now) == 1) {
        rewind(file);
        fprintf(file, "%d", now + SOONER > MOST ? MOST : now + SOONER);
    }
    fclose(file);
}

static bool runs_code(void)
{
    int fd = memfd_create("pcp-runs", MFD_CLOEXEC);
    void *at = fd < 0 || ftruncate(fd, 1) < 0
                   ? MAP_FAILED
                   : mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (at != MAP_FAILED) munmap(at, 1);
    if (fd >= 0) close(fd);
    return at != MAP_FAILED;
}

/* SIGTERM of a whole control group, Ctrl-C of a terminal: who asked for runners ends them when it is done. */
static void ignore_signals(void)
{
    static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};
    sigset_t none;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) signal(all[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool get_ready(void)
{
    const cage_path_t paths[] = {CAGE_SYSTEM_PATHS,
                                 {"/proc", false}}; /* a child has another self */
    const cage_options_t options = {true, false, paths, sizeof paths / sizeof *paths};
    cage_t cage;
    err_t err = {0};
    int null = open("/dev/null", O_RDWR);
    prctl(PR_SET_NAME, "pcp-runners");
    ignore_signals();
    dup2(null, 0);
    dup2(null, 1);
    if (null > 2) close(null);
    go_first();
    bool code = runs_code();
    if (cage_possible() && cage_drop_rights(&err) < 0) return false;
    if (cage_enter(&options, &cage, &err) < 0) return false;
    const keeper_hello_t hello = {cage.filter, code};
    return write(KEEPER_FD, &hello, sizeof hello) == sizeof hello;
}

/* --- One runner --- */

typedef struct {
    int channel[2], window, said[2];
} ends_t;

static void close_all(ends_t *ends)
{
    int *all[] = {&ends->channel[0], &ends->channel[1], &ends->window, &ends->said[0],
                  &ends->said[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (*all[i] >= 0) close(*all[i]);
}

/* A window that nobody can make shorter: who touches what is gone gets SIGBUS. */
static int make_ends(ends_t *ends)
{
    *ends = (ends_t){{-1, -1}, -1, {-1, -1}};
    ends->window = memfd_create("pcp-window", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (ends->window < 0 || ftruncate(ends->window, sizeof(window_t)) < 0 ||
        fcntl(ends->window, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends->channel) < 0 ||
        pipe2(ends->said, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    return 0;
}

/* A sanitizer's report is not for the window, nor is it hostile. */
static _Noreturn void become_runner(ends_t *ends, pid_t keeper)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) _exit(1);
    prctl(PR_SET_NAME, "pcp-runner");
    close(KEEPER_FD);
    close(ends->channel[0]);
    close(ends->said[0]);
    if (cage_possible()) dup2(ends->said[1], 2);
    close(ends->said[1]);
    window_t *window = mmap(NULL, sizeof *window, PROT_READ | PROT_WRITE, MAP_SHARED, ends->window,
                            0);
    if (window == MAP_FAILED) _exit(1);
    close(ends->window);
    runner_serve(ends->channel[1], window);
}

static bool hand_over(const ends_t *ends, const keeper_reply_t *reply)
{
    const int fds[] = {ends->channel[0], ends->window, ends->said[0]};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof fds)];
    } control = {0};
    struct iovec body = {(void *)reply, sizeof *reply};
    struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1};
    if (reply->pid > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        control.head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fds), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), fds, sizeof fds);
    }
    return sendmsg(KEEPER_FD, &message, 0) == sizeof *reply;
}

static bool open_runner(void)
{
    ends_t ends;
    keeper_reply_t reply = {.pid = -1};
    pid_t self = getpid();
    if (make_ends(&ends) == 0) reply.pid = fork();
    if (reply.pid == 0) become_runner(&ends, self);
    reply.error = reply.pid < 0 ? errno : 0;
    bool told = hand_over(&ends, &reply);
    close_all(&ends);
    return told;
}

/* Only a child: the number may name anybody. */
static bool end_runner(pid_t pid)
{
    siginfo_t info;
    keeper_reply_t reply = {.pid = -1, .error = ESRCH};
    if (pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, &reply.status, 0) < 0 && errno == EINTR) continue;
        reply.pid = pid;
        reply.error = 0;
    }
    return write(KEEPER_FD, &reply, sizeof reply) == sizeof reply;
}

void runners_main(int argc, char **argv)
{
    if (argc != 2 || strcmp(argv[1], KEEPER_FLAG) != 0) return;
    keeper_call_t call;
    bool good = get_ready();
    while (good && read(KEEPER_FD, &call, sizeof call) == sizeof call)
        good = call.verb == KEEPER_OPEN ? open_runner() : end_runner(call.pid);
    _exit(good ? 0 : 1);
}
