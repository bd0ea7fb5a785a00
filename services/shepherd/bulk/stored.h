/* A flat vector as it is stored: a tensor for each parameter, in a file that is mapped, in any order. It is read
 * from there chunk by chunk, and what was read leaves memory. */
#ifndef SHEPHERD_STORED_H
#define SHEPHERD_STORED_H

#include "base/pieces.h"
#include "ckpt/safetensors.h"
#include "shepherd/bulk/layout.h"

typedef struct {
    const layout_t *layout;
    const safetensor_t **tensor; /* by parameter, f32 of its shape; NULL: zeros */
} stored_t;

void stored_init(stored_t *self, const layout_t *layout); /* all zeros; borrows the layout */
void stored_fini(stored_t *self);

/* The parameter is this tensor of an open file (borrowed; NULL: there is none). `path` is for messages: ERR_ARG, ERR_SHAPE, that it
 * is not what the model has. */
int stored_take(stored_t *self, size_t param, const safetensor_t *have, const char *path,
                err_t *err);

source_t stored_source(const stored_t *self); /* of the vector's bytes, as long as `self` */

#endif
