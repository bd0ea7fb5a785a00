/* HIP to code objects by clang, found at run time: $PCP_HIPCC, else ROCm's (/opt/rocm/llvm/bin/clang), else the
 * newest of $PATH. It needs lld, no GPU and no header of ROCm's; of ROCm only the device library
 * (ocml.bc and its like), in $PCP_HIP_LIBS, or where ROCm or Debian put it. */
#ifndef CODEGEN_HIPCC_H
#define CODEGEN_HIPCC_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* n sources for `arch`, "gfx90a", as many processes at a time as there are cores. module[i]: caller
 * frees, on error too; size[i]: its bytes. ERR_IO: no such program, or no library; ERR_UNSUPPORTED:
 * what it said. */
int hipcc_run(const char *arch, int n, const char *const *source, uint8_t **module, size_t *size,
              err_t *err);

#endif
