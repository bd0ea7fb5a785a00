/* Kernels that are the plain loops of one op (plan/loops.h), as C. Shapes and attributes become
 * constants of the text; regions of scalars are written in place. Order and rounding are those of
 * the reference evaluators in ops/. */
#ifndef CODEGEN_LOOPS_H
#define CODEGEN_LOOPS_H

#include "base/str.h"
#include "plan/kernel.h"

/* The statements of a kernel with an op, behind its argument declarations. */
void loops_render(const kernel_t *kernel, str_t *out);

extern const char loops_head[]; /* C functions that the text calls */

#endif
