/* Renderers: kernels of the loop-IR as text of one language. */
#ifndef CODEGEN_RENDER_H
#define CODEGEN_RENDER_H

#include "base/str.h"
#include "codegen/helper.h"
#include "plan/kernel/kernel.h"

/* The body of the kernel as a C function without its name: everything from the parameter list on,
 * so that equal kernels are equal text. Functions that it calls are added to helpers. */
void render_c(const kernel_t *kernel, helpers_t *helpers, str_t *out);

/* What every generated C file starts with: the prelude and conversions, and what the n kernels in
 * text[] need beyond: attention (codegen/attention.h), functions of complex numbers. */
void render_c_head(str_t *out, int n, char *const *text);
/* The same for kernels of the loop-IR and of plain loops alone, as C99. */
void render_c_head_plain(str_t *out, int n, char *const *text);

/* What follows the prelude in both: rounding to narrow floats, wrapping to less than a byte. */
void render_c_rounding(str_t *out);

#endif
