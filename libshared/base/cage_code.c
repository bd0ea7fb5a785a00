/* The filter lets through what computing needs, and traps the rest: a handler in the same process answers in the
 * kernel's stead. Whatever the handler can do, the code can do as well, so it needs no trust. */
#include "base/cage_code.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "base/cage.h"
#include "base/cage_filter.h"

/* --- What is allowed --- */

static const int allowed[] = {
    SYS_futex, /* first what is called most */
    SYS_read,
    SYS_write,
    SYS_sched_yield,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_madvise,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_brk,
    SYS_mbind, /* OpenBLAS, for its buffers */
    SYS_close,
    SYS_dup,
    SYS_fstat,
    SYS_lseek,
    SYS_pread64,
    SYS_nanosleep,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_getcpu,
    SYS_sched_getaffinity,
    SYS_getpid,
    SYS_gettid,
    SYS_getrandom,
    SYS_membarrier,
    SYS_rseq,
    SYS_set_robust_list,
    SYS_rt_sigreturn,
    SYS_rt_sigaction,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
};

static int filter(bool *entered, err_t *err)
{
    cage_filter_t made = {.n = 0};
    const uint32_t self_only[] = {(uint32_t)getpid()};
    cage_filter_begin(&made);
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        cage_filter_call(&made, allowed[i], SECCOMP_RET_ALLOW);
    /* As if it went well: libraries block all signals around a fork, and a trap that is blocked ends the process. */
    cage_filter_call(&made, SYS_rt_sigprocmask, SECCOMP_RET_ERRNO);
    cage_filter_only(&made, SYS_tgkill, self_only, 1, SECCOMP_RET_TRAP); /* abort */
    cage_filter_give(&made, SECCOMP_RET_TRAP);
    return cage_filter_enter(&made, entered, err);
}

/* --- What is answered here --- */

static cage_refusals_t *refusals;

typedef struct {
    int call;
    long *result; /* a register */
    const char *path;
    unsigned long third;
} trap_t;

static trap_t trapped(const siginfo_t *info, void *context)
{
    ucontext_t *at = context;
#if defined(__x86_64__)
    long long *r = at->uc_mcontext.gregs;
    return (trap_t){info->si_syscall, (long *)&r[REG_RAX], (const char *)(uintptr_t)r[REG_RSI],
                    (unsigned long)r[REG_RDX]};
#elif defined(__aarch64__)
    unsigned long long *r = at->uc_mcontext.regs;
    return (trap_t){info->si_syscall, (long *)&r[0], (const char *)(uintptr_t)r[1],
                    (unsigned long)r[2]};
#else
    (void)at;
    return (trap_t){.call = info->si_syscall};
#endif
}

static long answer(long rc)
{
    return rc < 0 ? -errno : rc;
}

/* A second descriptor of the file, read from its beginning: -1 if the path is no descriptor's. */
static int open_again(const char *path)
{
    static const char folder[] = "/proc/self/fd/";
    int fd = 0;
    for (const char *c = folder; *c; c++, path++)
        if (*c != *path) return -1;
    if (!*path) return -1;
    for (; *path; path++) {
        if (*path < '0' || *path > '9' || fd > 9999) return -1;
        fd = fd * 10 + (*path - '0');
    }
    fd = dup(fd);
    if (fd >= 0) lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Async-signal-safe: nothing but calls that the filter lets through. */
static void on_trap(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    int saved = errno, fd;
    trap_t trap = trapped(info, context);
    if (trap.call == SYS_openat && (fd = open_again(trap.path)) >= 0) {
        *trap.result = fd;
    } else if (trap.call == SYS_newfstatat && !*trap.path) { /* fstat, as libraries say it */
#if defined(__x86_64__)
        fd = (int)((ucontext_t *)context)->uc_mcontext.gregs[REG_RDI];
#elif defined(__aarch64__)
        fd = (int)((ucontext_t *)context)->uc_mcontext.regs[0];
#endif
        *trap.result = answer(syscall(SYS_fstat, fd, trap.third));
    } else {
        atomic_store_explicit(&refusals->call, trap.call, memory_order_relaxed);
        atomic_fetch_add_explicit(&refusals->count, 1, memory_order_relaxed);
        *trap.result = -EPERM;
    }
    errno = saved;
}

/* --- Limits --- */

static uint64_t address_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%lu", &pages) != 1) pages = 0;
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int limit(int resource, const char *name, uint64_t most, err_t *err)
{
    struct rlimit had;
    if (getrlimit((__rlimit_resource_t)resource, &had) < 0 || most > had.rlim_max)
        most = had.rlim_max;
    const struct rlimit wanted = {most, most};
    if (setrlimit((__rlimit_resource_t)resource, &wanted) == 0) return 0;
    return err_set_errno(err, "cage: limit of %s", name);
}

static int limit_all(uint64_t more_bytes, err_t *err)
{
    enum { FILES = 64 };
    uint64_t now = address_bytes();
    if (now > 0 && limit(RLIMIT_AS, "memory", now + more_bytes, err) < 0) return -1;
    return limit(RLIMIT_FSIZE, "a file's size", 0, err) < 0 ||
                   limit(RLIMIT_CORE, "core files", 0, err) < 0 ||
                   limit(RLIMIT_MEMLOCK, "locked memory", 0, err) < 0 ||
                   limit(RLIMIT_NOFILE, "open files", FILES, err) < 0
               ? -1
               : 0;
}

int cage_drop_rights(err_t *err)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    if (syscall(SYS_capset, &head, none) < 0) return err_set_errno(err, "cage: capabilities");
    return 0;
}

int cage_code_enter(uint64_t more_bytes, cage_refusals_t *counted, bool *entered, err_t *err)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    *entered = false;
    if (!cage_possible()) return 0;
    refusals = counted;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return err_set_errno(err, "cage: prctl");
    if (limit_all(more_bytes, err) < 0) return -1;
    signal(SIGXFSZ, SIG_IGN); /* EFBIG is enough */
    if (sigaction(SIGSYS, &action, NULL) < 0) return err_set_errno(err, "cage: SIGSYS");
    return filter(entered, err);
}

/* Address space that nobody touches costs two calls and no memory. */
void cage_code_count_memory(cage_refusals_t *counted)
{
    enum { SPARE = 8 << 20 };
    static bool spent;
    void *at = spent ? MAP_FAILED
                     : mmap(NULL, SPARE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                            0);
    if (at != MAP_FAILED)
        munmap(at, SPARE);
    else if (!spent) {
        spent = true;
        atomic_store_explicit(&counted->call, SYS_mmap, memory_order_relaxed);
        atomic_fetch_add_explicit(&counted->count, 1, memory_order_relaxed);
    }
}

/* --- For people --- */

const char *cage_call_name(int call, char text[32])
{
    static const struct {
        int call;
        const char *name;
    } names[] = {
        {SYS_openat, "openat"},
        {SYS_mmap, "mmap"},
        {SYS_socket, "socket"},
        {SYS_connect, "connect"},
        {SYS_clone, "clone"},
        {SYS_clone3, "clone3"},
        {SYS_execve, "execve"},
        {SYS_kill, "kill"},
        {SYS_ptrace, "ptrace"},
        {SYS_process_vm_readv, "process_vm_readv"},
        {SYS_process_vm_writev, "process_vm_writev"},
        {SYS_memfd_create, "memfd_create"},
        {SYS_newfstatat, "newfstatat"},
        {SYS_uname, "uname"},
        {SYS_prctl, "prctl"},
        {SYS_sysinfo, "sysinfo"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].call == call) {
            snprintf(text, 32, "%s", names[i].name);
            return text;
        }
    snprintf(text, 32, "call %d", call);
    return text;
}
