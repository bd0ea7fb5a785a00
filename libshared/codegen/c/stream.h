/* Products of few rows that read their matrix once (plan/lower/stream.h) as C. */
#ifndef CODEGEN_STREAM_H
#define CODEGEN_STREAM_H

#include <stdbool.h>

#include "base/str.h"
#include "plan/kernel/kernel.h"

/* The body of the kernel between its arguments a<i> and the end. Every element of C is summed in the
 * same order whatever the ranges and however many rows there are. */
void stream_render(const kernel_t *kernel, str_t *out);

/* Does the text of a kernel need prelude_stream_text()? */
bool stream_is_in(const char *text);

#endif
