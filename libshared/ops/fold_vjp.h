/* Reverse of a fold with a region of any element-wise ops: the fold is written out piece by piece,
 * each piece one application of the region to whole tensors, and walked back. */
#ifndef OPS_FOLD_VJP_H
#define OPS_FOLD_VJP_H

#include "ir/op.h"

enum { FOLD_VJP_MAX = 1024 }; /* pieces; more would make absurd graphs */

/* A strided box of the sources (as slice takes it); all boxes of one fold have one shape. */
typedef struct {
    int64_t start[IR_MAX_RANK], limit[IR_MAX_RANK], stride[IR_MAX_RANK];
} fold_piece_t;

/* The primal op folded the pieces of source[n], in order, into v->op->in[n + k] (broadcast) with
 * v->op->region[0], and its results are the outcome up to a reshape. Sets source_ct[n] and
 * init_ct[n] (of the sources' and initial values' types; IR_NONE: zero). ERR_UNSUPPORTED when the
 * region holds other than element-wise ops and constants, or when there are too many pieces. */
int fold_vjp(vjp_t *v, int n, const ir_val_t *source, int n_piece, const fold_piece_t *pieces,
             ir_val_t *source_ct, ir_val_t *init_ct, err_t *err);

#endif
