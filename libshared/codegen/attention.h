/* Attention groups (plan/lower/attention.h) as C: packing and blocks in the terms of prelude_attention.h.
 */
#ifndef CODEGEN_ATTENTION_H
#define CODEGEN_ATTENTION_H

#include <stdbool.h>

#include "base/str.h"
#include "plan/kernel/kernel.h"

/* The body of the kernel between its arguments a<i> and the end. */
void attention_render(const kernel_t *kernel, str_t *out);

/* Does a rendered kernel need prelude_attention.h? */
bool attention_is_in(const char *text);

#endif
