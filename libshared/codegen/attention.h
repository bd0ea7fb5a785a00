/* Attention groups (plan/lower/attention.h) as C: packing and blocks in the terms of prelude_attention.h.
 */
#ifndef CODEGEN_ATTENTION_H
#define CODEGEN_ATTENTION_H

#include <stdbool.h>

#include "base/str.h"
#include "plan/kernel/kernel.h"
#include "plan/lower/attention.h"

/* The body of the kernel between its arguments a<i> and the end. */
void attention_render(const kernel_t *kernel, str_t *out);

/* The same of a kernel of attention over what is kept (codegen/c/kept.c). */
void kept_render(const kernel_t *kernel, str_t *out);

/* " + o / 3 * 96 + o % 3 * 32": where matrix o of a view lies behind its offset, in each of our languages. */
void attention_add_place(const attention_view_t *view, str_t *out);

/* Does a rendered kernel need prelude_attention.h, or prelude_attention.cuh? */
bool attention_is_in(const char *text);
/* And prelude_kept.h besides? */
bool kept_is_in(const char *text);

#endif
