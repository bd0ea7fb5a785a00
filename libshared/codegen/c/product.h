/* Kernels of matrix products for exact sizes: see plan/kernel/tiles.h for the cutting, codegen/c/tile.h for
 * the arithmetic. */
#ifndef CODEGEN_PRODUCT_H
#define CODEGEN_PRODUCT_H

#include "base/str.h"
#include "codegen/helper.h"
#include "plan/kernel/tiles.h"

/* The function of the plan's kernel ABI without its name, run over [0, tiles_n_part) with the
 * operands A, B, C as its arguments; their offsets in the step are not looked at. Rows of a column
 * of parts follow each other, so that a range of parts packs its panels of B once. Every element of
 * C is summed in the same order whatever the ranges. */
void product_render(const product_t *product, helpers_t *helpers, str_t *out);

/* Does the text of such a function want prelude_split.h before it? */
bool product_splits(const char *text);

#endif
