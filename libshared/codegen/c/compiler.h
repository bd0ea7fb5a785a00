/* C source to a shared object, by the system compiler. */
#ifndef CODEGEN_COMPILER_H
#define CODEGEN_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Compile n_unit (1 to 32) C files with `flags` (of target_t) beside the fixed ones, several
 * at a time, and link them. The compiler is $PCP_CC, else `cc`, else (NULL) "cc". Works in a
 * directory of its own under $TMPDIR (else /tmp) that is gone afterwards. Returns the object's
 * bytes, caller frees; NULL with ERR_UNSUPPORTED and the compiler's first lines when it fails,
 * ERR_IO when it cannot be run. Blocks for seconds. */
uint8_t *compiler_run(const char *cc, int n_unit, const char *const *units, const char *flags,
                      size_t *n_bytes, err_t *err);

#endif
