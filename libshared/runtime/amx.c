/* arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA): Documentation/arch/x86/xstate.rst of Linux.
 */
#include "runtime/amx.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int amx_enable(err_t *err)
{
#if defined(__x86_64__)
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0) return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "the system does not let this process use AMX: %s (take cpu:x86-64-v4-2m)",
                   strerror(errno));
#else
    return err_set(err, ERR_UNSUPPORTED, "AMX is an extension of x86-64");
#endif
}
