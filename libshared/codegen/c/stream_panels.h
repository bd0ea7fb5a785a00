/* Products with matrices in panels, and the lines that they read (plan/lower/stream_panels.h), as C. */
#ifndef CODEGEN_STREAM_PANELS_H
#define CODEGEN_STREAM_PANELS_H

#include "base/str.h"
#include "plan/kernel/kernel.h"

/* The bodies of kernels between their arguments a<i> and the end: of KERNEL_STREAM with panels, of KERNEL_LINES. */
void stream_panels_render(const kernel_t *kernel, str_t *out);
void stream_panels_render_lines(const kernel_t *kernel, str_t *out);

#endif
