/* Collects what a reversed region contributes to the values around it. */
#ifndef OPS_OUTER_H
#define OPS_OUTER_H

#include "base/vec.h"
#include "ir/op.h"

typedef struct {
    ir_val_t value, ct; /* ct lives in the region it was found in */
} outer_ct_t;

typedef struct {
    vjp_t vjp; /* what region_vjp is called with: its add_outer collects into found */
    VEC(outer_ct_t) found;
} outer_t;

void outer_init(outer_t *self, const vjp_t *v);
void outer_fini(outer_t *self);
/* The cotangent found for a value, IR_NONE if none. */
ir_val_t outer_find(const outer_t *self, ir_val_t value);

#endif
