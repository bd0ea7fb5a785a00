/* Weights in a matrix unit's order (plan/lower/weave.h) as C. */
#ifndef CODEGEN_WEAVE_H
#define CODEGEN_WEAVE_H

#include <stdbool.h>

#include "base/str.h"
#include "plan/kernel/kernel.h"

/* The body of the kernel between its arguments a<i> and the end. */
void weave_render(const kernel_t *kernel, str_t *out);

/* Does the text of a kernel need prelude_weave_text()? */
bool weave_is_in(const char *text);

#endif
