/* Classic BPF over struct seccomp_data (seccomp(2)). */
#include "base/cage_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

void cage_filter_add(cage_filter_t *self, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    if (self->n < CAGE_FILTER_MOST) self->at[self->n++] = (struct sock_filter){code, yes, no, k};
}

void cage_filter_load(cage_filter_t *self, size_t offset)
{
    cage_filter_add(self, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

void cage_filter_give(cage_filter_t *self, uint32_t verdict)
{
    cage_filter_add(self, BPF_RET | BPF_K, verdict, 0, 0);
}

void cage_filter_begin(cage_filter_t *self)
{
#ifdef MACHINE
    cage_filter_load(self, offsetof(struct seccomp_data, arch));
    cage_filter_add(self, BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
    cage_filter_give(self, SECCOMP_RET_KILL_PROCESS);
#endif
    cage_filter_load(self, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__ /* the same calls under other numbers */
    cage_filter_add(self, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
    cage_filter_give(self, SECCOMP_RET_ERRNO | ENOSYS);
#endif
}

void cage_filter_call(cage_filter_t *self, int call, uint32_t verdict)
{
    cage_filter_add(self, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1);
    cage_filter_give(self, verdict);
}

enum { LOW_0 = offsetof(struct seccomp_data, args) }; /* the low half of argument 0 */

void cage_filter_only(cage_filter_t *self, int call, const uint32_t *values, uint8_t n,
                      uint32_t verdict)
{
    cage_filter_add(self, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, (uint8_t)(n + 3));
    cage_filter_load(self, LOW_0);
    for (uint8_t i = 0; i < n; i++)
        cage_filter_add(self, BPF_JMP | BPF_JEQ | BPF_K, values[i], (uint8_t)(n - i), 0);
    cage_filter_give(self, verdict);
    cage_filter_give(self, SECCOMP_RET_ALLOW);
}

int cage_filter_enter(const cage_filter_t *self, bool *entered, err_t *err)
{
    const struct sock_fprog program = {self->n, (struct sock_filter *)self->at};
    *entered = false;
    if (self->n == CAGE_FILTER_MOST) return err_set(err, ERR_STATE, "cage: the filter is too long");
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0) {
        *entered = true;
        return 0;
    }
    if (errno == ENOSYS || errno == EINVAL || errno == EPERM) return 0;
    return err_set_errno(err, "cage: seccomp");
}
