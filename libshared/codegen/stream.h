/* Products of few rows that read their matrix once (plan/lower/stream.h) as C. */
#ifndef CODEGEN_STREAM_H
#define CODEGEN_STREAM_H

#include "base/str.h"
#include "plan/kernel/kernel.h"

/* The body of the kernel between its arguments a<i> and the end. Every element of C is summed in the
 * same order whatever the ranges and however many rows there are. */
void stream_render(const kernel_t *kernel, str_t *out);

#endif
