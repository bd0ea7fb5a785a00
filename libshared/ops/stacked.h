/* Parameters that hold the weights of several layers side by side, as a model has them that goes over its layers in a
 * scan. */
#ifndef OPS_STACKED_H
#define OPS_STACKED_H

#include "ir/ir.h"

/* The rank of what fn reads of its parameter at a time: one less than its own where every reader takes one index of its first
 * dimension and all of the others, at two places at least or at one that a loop counts. So a bias of each
 * layer is a vector, however it is kept. Readers in functions that fn calls are not looked for. */
int stacked_layer_rank(const ir_fn_t *fn, int param);

#endif
