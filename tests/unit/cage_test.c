/* The cage, from inside: each case enters one in a process of its own and tries what it should not. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cage.h"
#include "base/mem.h"

static char dir[] = "/tmp/pcp-cage.XXXXXX";
static cage_t made; /* what this kernel has */

static int outcome(long rc)
{
    return rc < 0 ? errno : 0;
}

/* --- What is tried; 0: it went well, else the error --- */

static int opens(const char *path, int flags)
{
    int fd = open(path, flags, 0600), rc = outcome(fd);
    if (fd >= 0) close(fd);
    return rc;
}

static int reads_passwords(void)
{
    return opens("/etc/passwd", O_RDONLY);
}

static int reads_another(void)
{
    return opens("/proc/1/environ", O_RDONLY);
}

static int writes_own_memory_file(void)
{
    return opens("/proc/self/mem", O_RDWR);
}

static int writes_elsewhere(void)
{
    return opens("/tmp/pcp-cage-elsewhere", O_WRONLY | O_CREAT);
}

static int writes_at_home(void)
{
    char *path = mem_printf("%s/file", dir);
    int rc = opens(path, O_RDWR | O_CREAT | O_TRUNC);
    if (rc == 0) rc = outcome(unlink(path));
    free(path);
    return rc;
}

static int forks(void)
{
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    if (pid > 0) waitpid(pid, NULL, 0);
    return outcome(pid);
}

static int spawns(void)
{
    int status = system("true");
    return status == 0 ? 0 : EPERM;
}

static int execs(void)
{
    char *const argv[] = {"/bin/false", NULL};
    return outcome(execv(argv[0], argv));
}

static int opens_socket(int family, int type)
{
    int fd = socket(family, type, 0), rc = outcome(fd);
    if (fd >= 0) close(fd);
    return rc;
}

static int opens_tcp(void)
{
    return opens_socket(AF_INET, SOCK_STREAM);
}

static int opens_unix(void)
{
    return opens_socket(AF_UNIX, SOCK_STREAM);
}

static int opens_packets(void)
{
    return opens_socket(AF_PACKET, SOCK_RAW);
}

static int traces(void)
{
    return outcome(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int peeks(void)
{
    char byte, *at = &byte;
    struct iovec here = {at, 1}, there = {at, 1};
    return outcome(process_vm_readv(getppid(), &here, 1, &there, 1, 0));
}

static int kills_parent(void)
{
    return outcome(kill(getppid(), 0));
}

static int kills_itself(void)
{
    return outcome(kill(getpid(), 0));
}

static int leaves_namespaces(void)
{
    return outcome(unshare(CLONE_NEWUSER));
}

static int mounts_anew(void)
{
    return outcome(syscall(SYS_fsopen, "tmpfs", 0));
}

static int sets_mounts(void)
{
    return outcome(syscall(SYS_mount_setattr, -1, "/nothing", 0, NULL, 0));
}

static int loads_kernels(void)
{
    return outcome(syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 4)); /* KEXEC_FILE_NO_INITRAMFS */
}

static int uses_rings(void)
{
    return outcome(syscall(SYS_io_uring_setup, 1, NULL));
}

static void *nothing(void *arg)
{
    return arg;
}

static int makes_threads(void)
{
    pthread_t thread;
    int rc = pthread_create(&thread, NULL, nothing, NULL);
    return rc ? rc : pthread_join(thread, NULL);
}

static int raises(void)
{
    signal(SIGUSR1, SIG_IGN);
    return raise(SIGUSR1) ? EPERM : 0;
}

static int has_new_rights(void)
{
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : EPERM;
}

static int maps_code(void)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? errno : 0;
}

/* --- Who tries --- */

typedef enum { WORKER, COMPILER } kind_t;

static int enter(kind_t kind, cage_t *out, err_t *err)
{
    const cage_path_t paths[] = {{dir, true},
                                 {"/usr", false},
                                 {"/lib", false},
                                 {"/lib64", false},
                                 {"/bin", false},
                                 {"/proc/self", false},
                                 {"/absent", true},
                                 {"/dev/null", true},
                                 {"", false},
                                 {NULL, false},
                                 {"/etc/ld.so.cache", false}};
    const cage_options_t options = {kind == COMPILER, kind == WORKER, paths,
                                    sizeof paths / sizeof *paths};
    return cage_enter(&options, out, err);
}

/* What the try says in a cage; 255: it was not entered. */
static int tried(kind_t kind, int (*fn)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        cage_t out;
        err_t err = {0};
        _exit(enter(kind, &out, &err) < 0 ? 255 : fn());
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void look(kind_t kind, const char *name, int (*fn)(void), int want)
{
    int got = tried(kind, fn);
    if (got != want)
        fail_msg("%s: %s (%d), want %s", name, got < 255 ? strerror(got) : "?", got,
                 strerror(want));
}
#define LOOK(kind, fn, want) look(kind, #fn, fn, want)

static int find_out(void **state)
{
    (void)state;
    int ends[2];
    if (!mkdtemp(dir) || pipe(ends) < 0) return -1;
    pid_t pid = fork();
    if (pid == 0) {
        cage_t out;
        err_t err = {0};
        if (enter(WORKER, &out, &err) < 0) fprintf(stderr, "# %s\n", err.text);
        _exit(write(ends[1], &out, sizeof out) == sizeof out ? 0 : 1);
    }
    waitpid(pid, NULL, 0);
    if (read(ends[0], &made, sizeof made) != sizeof made) return -1;
    close(ends[0]);
    close(ends[1]);
    printf("# calls=%d paths=%d\n", made.filter, made.paths);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    return rmdir(dir);
}

static void calls_of_a_worker(void **state)
{
    (void)state;
    if (!made.filter) skip();
    LOOK(WORKER, forks, EPERM);
    LOOK(WORKER, spawns, EPERM);
    LOOK(WORKER, execs, EPERM);
    LOOK(WORKER, opens_packets, EPERM);
    LOOK(WORKER, traces, EPERM);
    LOOK(WORKER, peeks, EPERM);
    LOOK(WORKER, kills_parent, EPERM);
    LOOK(WORKER, leaves_namespaces, EPERM);
    LOOK(WORKER, mounts_anew, EPERM);
    LOOK(WORKER, sets_mounts, EPERM);
    LOOK(WORKER, loads_kernels, EPERM);
    LOOK(WORKER, uses_rings, EPERM);
    LOOK(WORKER, has_new_rights, 0);
    LOOK(WORKER, opens_tcp, 0); /* it talks to aggregators */
    LOOK(WORKER, opens_unix, 0);
    LOOK(WORKER, kills_itself, 0);
    LOOK(WORKER, raises, 0);
    LOOK(WORKER, makes_threads, 0);
    LOOK(WORKER, maps_code, 0);
}

static void calls_of_a_compiler(void **state)
{
    (void)state;
    if (!made.filter) skip();
    LOOK(COMPILER, forks, 0);
    LOOK(COMPILER, spawns, 0);
    LOOK(COMPILER, opens_tcp, EPERM);
    LOOK(COMPILER, opens_unix, EPERM);
    LOOK(COMPILER, traces, EPERM);
    LOOK(COMPILER, leaves_namespaces, EPERM);
    LOOK(COMPILER, mounts_anew, EPERM);
    LOOK(COMPILER, sets_mounts, EPERM);
    LOOK(COMPILER, loads_kernels, EPERM);
}

static void paths(void **state)
{
    (void)state;
    if (!made.paths) skip();
    for (int kind = WORKER; kind <= COMPILER; kind++) {
        LOOK((kind_t)kind, reads_passwords, EACCES);
        LOOK((kind_t)kind, reads_another, EACCES);
        LOOK((kind_t)kind, writes_own_memory_file, EACCES);
        LOOK((kind_t)kind, writes_elsewhere, EACCES);
        LOOK((kind_t)kind, writes_at_home, 0);
    }
    assert_int_equal(access("/tmp/pcp-cage-elsewhere", F_OK), -1);
}

static void *fork_later(void *arg)
{
    pthread_barrier_t *entered = arg;
    pthread_barrier_wait(entered);
    return (void *)(intptr_t)forks();
}

static int thread_of_before(void)
{
    pthread_barrier_t entered;
    pthread_t thread;
    void *rc = NULL;
    cage_t out;
    pthread_barrier_init(&entered, NULL, 2);
    pthread_create(&thread, NULL, fork_later, &entered);
    if (enter(WORKER, &out, NULL) < 0) return 255;
    pthread_barrier_wait(&entered);
    pthread_join(thread, &rc);
    return (int)(intptr_t)rc;
}

static void threads_that_were_there(void **state)
{
    (void)state;
    if (!made.filter) skip();
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) _exit(thread_of_before());
    waitpid(pid, &status, 0);
    assert_int_equal(WEXITSTATUS(status), EPERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_a_worker),
        cmocka_unit_test(calls_of_a_compiler),
        cmocka_unit_test(paths),
        cmocka_unit_test(threads_that_were_there),
    };
    return cmocka_run_group_tests(tests, find_out, clean);
}
