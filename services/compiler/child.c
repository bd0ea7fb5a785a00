/* fork, limits, exec; then a look every POLL_MS at the process, the clock and the wish to stop. */
#include "compiler/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { POLL_MS = 20 };
static const int64_t MOST_FILE_BYTES = (int64_t)4
                                       << 30; /* no worker takes a plan of more than 1 GiB */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool bounds_memory = false; /* their shadow takes terabytes of address space */
#else
static const bool bounds_memory = true;
#endif

static void limit(int what, int64_t to)
{
    struct rlimit l;
    if (to <= 0 || getrlimit(what, &l) < 0) return;
    if (l.rlim_max != RLIM_INFINITY && (rlim_t)to > l.rlim_max) return;
    l.rlim_cur = (rlim_t)to;
    setrlimit(what, &l);
}

/* In the child, between fork and exec: nothing that takes a lock. The descriptors are first moved
 * out of the way of each other. */
static _Noreturn void become(const child_limits_t *limits, char *const argv[], int in, int out,
                             pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    setpgid(0, 0);
    in = fcntl(in, F_DUPFD, CHILD_OUT_FD + 1);
    out = fcntl(out, F_DUPFD, CHILD_OUT_FD + 1);
    int nothing = open("/dev/null", O_RDONLY);
    if (in < 0 || out < 0 || nothing < 0 || dup2(nothing, 0) < 0 || dup2(2, 1) < 0 ||
        dup2(in, CHILD_IN_FD) < 0 || dup2(out, CHILD_OUT_FD) < 0)
        _exit(127);
    close_range(CHILD_OUT_FD + 1, UINT_MAX, 0);
    limit(RLIMIT_CPU, limits->seconds);
    if (bounds_memory) limit(RLIMIT_AS, limits->bytes);
    limit(RLIMIT_CORE, 1);
    limit(RLIMIT_FSIZE, MOST_FILE_BYTES);
    for (int i = 1; i < NSIG; i++) signal(i, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(argv[0], argv);
    _exit(127);
}

static pid_t start(const child_limits_t *limits, char *const argv[], int in, int out)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) become(limits, argv, in, out, parent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid > 0) setpgid(pid, pid); /* whichever of the two comes first */
    return pid;
}

/* Has it ended, without its number being given away yet? */
static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == pid;
}

/* What it has started goes with it. */
static int finish(pid_t pid)
{
    int status = 0;
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}

static const char *work_of(const child_limits_t *limits)
{
    return limits->work ? limits->work : "compiling";
}

/* Another work's limit is no option. */
static int too_late(const child_limits_t *limits, const char *of, err_t *err)
{
    return err_set(err, ERR_UNSUPPORTED, "%s took more than %lld s%s%s", work_of(limits),
                   (long long)limits->seconds, of, limits->work ? "" : " (--compile-timeout-s)");
}

static int explain(const child_limits_t *limits, int status, err_t *err)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    if (WIFEXITED(status))
        return err_set(err, ERR_UNSUPPORTED, "the process for %s ended with status %d",
                       work_of(limits), WEXITSTATUS(status));
    int number = WTERMSIG(status);
    if (number == SIGXCPU) return too_late(limits, " of CPU time", err);
    if (number == SIGABRT && limits->bytes > 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "the process for %s gave up: out of memory, of which it may have %lld "
                       "bytes (--compile-memory), or a defect, which its log tells",
                       work_of(limits), (long long)limits->bytes);
    return err_set(err, ERR_UNSUPPORTED, "the process for %s was killed by signal %d (%s)",
                   work_of(limits), number, strsignal(number));
}

int child_run(const child_limits_t *limits, char *const argv[], int in, int out,
              bool (*stopped)(void *user), void *user, err_t *err)
{
    int64_t end = clock_mono_ms() + limits->seconds * 1000;
    pid_t pid = start(limits, argv, in, out);
    if (pid < 0) return err_set_errno(err, "cannot start %s", argv[0]);
    bool stop = false, late = false;
    while (!has_ended(pid) && !stop && !late) {
        usleep(POLL_MS * 1000);
        stop = stopped && stopped(user);
        late = limits->seconds > 0 && clock_mono_ms() >= end;
    }
    int status = finish(pid);
    if (stop) return err_set(err, ERR_STATE, "%s was cancelled", work_of(limits));
    if (late) return too_late(limits, "", err);
    return explain(limits, status, err);
}
