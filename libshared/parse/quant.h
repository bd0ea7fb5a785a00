/* Quantised tensors: reading their element type, and their ops as ops on integers and floats.
 * Private to parse/. Formulas: StableHLO specification, "Quantization computations". */
#ifndef PARSE_QUANT_H
#define PARSE_QUANT_H

#include "parse/wide.h"

/* `!quant.uniform<..>`, the element type of a tensor of this shape; sets type->dtype. */
int quant_element(parser_t *p, ir_type_t *type);
/* The scales fit the shape they are for? `at` is where the type was written. */
int quant_check_shape(parser_t *p, const ir_type_t *type, const char *at);

/* Are the stored integers all that d's op sees of its quantised tensors, as with ops that only
 * move elements or run regions? 1 or 0; -1 when the op has no meaning on these types, which may be
 * tuples and tokens, too. */
int quant_is_stored(parser_t *p, const draft_t *d);

/* The floats that the integers of a value of this (quantised) type stand for, and back; appended.
 */
ir_val_t quant_to_real(parser_t *p, ir_val_t stored, const ir_type_t *type, ir_region_t *into);
ir_val_t quant_from_real(parser_t *p, ir_val_t real, const ir_type_t *type, ir_region_t *into);

#endif
