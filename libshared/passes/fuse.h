/* Between the files that form groups (ops/fused.h): what their patterns have in common. A pattern
 * reads the old function of a clone and emits into the new one. */
#ifndef PASSES_FUSE_H
#define PASSES_FUSE_H

#include "ir/build.h"

/* Replaces op, the last of a pattern, when the pattern is there; 1 when it did, 0 when not. */
int fuse_attention(ir_clone_t *self, const ir_op_t *op, const uint32_t *uses);
int fuse_variance(ir_clone_t *self, const ir_op_t *op);

/* v without conversions between float types and reshapes that keep the last two dimensions (of a
 * value of rank 2 or more). */
ir_val_t fuse_behind(const ir_fn_t *fn, ir_val_t v);
/* The op of this code that makes v, else NULL. */
const ir_op_t *fuse_def(const ir_fn_t *fn, ir_val_t v, op_code_t code);
/* v is a float constant of one value. */
bool fuse_constant(const ir_fn_t *fn, ir_val_t v, double *value);
/* The value that v repeats along its last dimension, v[.., i, j] = x[.., i], in whatever shape of
 * v's count without that dimension; IR_NONE when v does not. */
ir_val_t fuse_along_last(const ir_fn_t *fn, ir_val_t v);
/* The operand of the reduction of the last dimension by `reducer` that makes x (through
 * conversions and reshapes of the result), or IR_NONE. */
ir_val_t fuse_reduced_last(const ir_fn_t *fn, ir_val_t x, op_code_t reducer);

/* v when it depends on no argument and its parts are not too large. Returns 0 with *out to be
 * freed by tensor_fini, else -1. */
int fuse_evaluate(const ir_fn_t *fn, ir_val_t v, tensor_t *out);

#endif
