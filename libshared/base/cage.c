/* What is refused, as a filter of system calls; paths are Landlock's rules. Numbers that Debian's headers are
 * too old for are the kernel's, which never change. */
#include "base/cage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cage_filter.h"

bool cage_possible(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    !(defined(__x86_64__) || defined(__aarch64__))
    return false;
#else
    return true;
#endif
}

/* --- System calls --- */

/* No program of ours, nor the compiler's, says these. */
static const int refused[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_mount,
    SYS_umount2,
    SYS_open_tree, /* the newer way to mount: fsopen and what follows */
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_by_handle_at,
    SYS_setns,
    SYS_unshare,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_personality,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
#ifdef SYS_iopl /* a processor's ports */
    SYS_iopl,
    SYS_ioperm,
#endif
};

/* New processes; clone is looked at more closely. */
static const int programs[] = {
    SYS_execve,
    SYS_execveat,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
};

#define REFUSE(error) (SECCOMP_RET_ERRNO | (error))

/* Threads yes, processes no. clone3's flags are out of a filter's reach: libraries then say clone. */
static void refuse_processes(cage_filter_t *self)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        cage_filter_call(self, programs[i], REFUSE(EPERM));
    cage_filter_call(self, SYS_clone3, REFUSE(ENOSYS));
    cage_filter_add(self, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
    cage_filter_load(self, offsetof(struct seccomp_data, args));
    cage_filter_add(self, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
    cage_filter_give(self, REFUSE(EPERM));
    cage_filter_give(self, SECCOMP_RET_ALLOW);
}

static void only(cage_filter_t *self, int call, const uint32_t *values, uint8_t n)
{
    cage_filter_only(self, call, values, n, REFUSE(EPERM));
}

static void build(cage_filter_t *self, const cage_options_t *options)
{
    static const uint32_t families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    const uint32_t self_only[] = {(uint32_t)getpid()};
    cage_filter_begin(self);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        cage_filter_call(self, refused[i], REFUSE(EPERM));
    if (!options->network) cage_filter_call(self, SYS_socket, REFUSE(EPERM));
    if (options->network) only(self, SYS_socket, families, 4);
    if (!options->programs) {
        refuse_processes(self);
        only(self, SYS_kill, self_only, 1);
        only(self, SYS_tgkill, self_only, 1);
        only(self, SYS_rt_tgsigqueueinfo, self_only, 1);
        only(self, SYS_rt_sigqueueinfo, self_only, 1);
        cage_filter_call(self, SYS_tkill, REFUSE(EPERM));
    }
    cage_filter_give(self, SECCOMP_RET_ALLOW);
}

static int filter(const cage_options_t *options, cage_t *out, err_t *err)
{
    cage_filter_t made = {.n = 0};
    build(&made, options);
    return cage_filter_enter(&made, &out->filter, err);
}

/* --- Paths --- */

#define READS \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define MAKES                                                                                   \
    (LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |                           \
     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM)
#define DEVICES (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)
enum { REFER = 1 << 13, TRUNCATE = 1 << 14 }; /* since versions 2 and 3 */

static uint64_t write_rights(int version)
{
    uint64_t rights = LANDLOCK_ACCESS_FS_WRITE_FILE;
    return version >= 3 ? rights | TRUNCATE : rights;
}

static uint64_t make_rights(int version)
{
    return version >= 2 ? MAKES | REFER : (uint64_t)MAKES;
}

/* What is not there cannot be allowed; it is not there for others either. */
static int allow(int ruleset, int version, const cage_path_t *path, err_t *err)
{
    if (!path->path || !*path->path) return 0;
    struct stat info;
    int fd = open(path->path, O_PATH | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) < 0) {
        if (fd >= 0) close(fd);
        return 0;
    }
    uint64_t rights = READS | (path->writes ? write_rights(version) | make_rights(version) : 0);
    if (!S_ISDIR(info.st_mode))
        rights &= LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | write_rights(version);
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
    long rc = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(fd);
    return rc < 0 ? err_set_errno(err, "cage: %s", path->path) : 0;
}

static int guard(const cage_options_t *options, cage_t *out, err_t *err)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1 || options->n_path == 0) return 0;
    struct landlock_ruleset_attr all = {.handled_access_fs = READS | DEVICES |
                                                             write_rights((int)version) |
                                                             make_rights((int)version)};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0), rc = 0;
    if (ruleset < 0) return err_set_errno(err, "cage: Landlock");
    for (size_t i = 0; rc == 0 && i < options->n_path; i++)
        rc = allow(ruleset, (int)version, &options->paths[i], err);
    if (rc == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
        rc = err_set_errno(err, "cage: Landlock");
    close(ruleset);
    if (rc == 0) out->paths = (int)version;
    return rc;
}

int cage_enter(const cage_options_t *options, cage_t *out, err_t *err)
{
    *out = (cage_t){0};
    if (!cage_possible()) return 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return err_set_errno(err, "cage: prctl");
    if (guard(options, out, err) < 0) return -1;
    return filter(options, out, err);
}
