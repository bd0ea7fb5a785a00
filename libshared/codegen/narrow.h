/* Conversions of floats of less than 32 bits in generated C. */
#ifndef CODEGEN_NARROW_H
#define CODEGEN_NARROW_H

#include "base/str.h"

/* What the n kernels of `text` need behind the prelude, made of the table of formats
 * (ir/dtype.h): pcp_f32_from_<type>, pcp_<type>_from_f32 and kc_round_<type> of the types of a byte
 * and less that they name, and kc_next_<type>. Nothing when they name none. */
void narrow_head(str_t *out, int n, char *const *text);

#endif
