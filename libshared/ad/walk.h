/* Inside of ad/: the reverse walk over a range of ops that stand in fn. */
#ifndef AD_WALK_H
#define AD_WALK_H

#include "ir/op.h"

/* One differentiation of one function. */
typedef struct {
    ir_fn_t *fn;
    uint8_t *active; /* per value of fn: may need a cotangent; 0 beyond n_active */
    uint32_t n_active;
} ad_t;

/* The ops of one region (the body, or a copy of an op's region) and the cotangents of what they
 * read. Values from `first` on are made inside; older ones are outer values. */
typedef struct {
    ad_t *ad;
    ir_val_t first;
    ir_val_t *ct; /* per value: its cotangent so far, bf16 and f16 sums widened to f32; IR_NONE */
    uint32_t n_ct;
    int rule_from; /* ops of fn's cursor when the present rule began */
} ad_scope_t;

/* Activity (forward): a float value is active when it depends on an active one through an op that
 * has, or lacks, a rule; vjp_none ends it. */
void ad_set_active(ad_t *self, ir_val_t v, bool active);
bool ad_is_active(const ad_t *self, ir_val_t v);
void ad_mark_region(ad_t *self, const ir_region_t *region, int from_op);

/* A scope over the values made so far. ad_scope_fini frees it. */
void ad_scope_init(ad_scope_t *self, ad_t *ad, ir_val_t first);
void ad_scope_fini(ad_scope_t *self);

/* Add to the cotangent of v (ignored when v is not active or ct is IR_NONE). ERR_TYPE when the
 * shapes differ. */
int ad_add(ad_scope_t *self, ir_val_t v, ir_val_t ct, err_t *err);
/* The cotangent of v in v's own type, or IR_NONE for zero. */
ir_val_t ad_take(ad_scope_t *self, ir_val_t v);

/* Ops [from, to) of `region`, backwards, each by its rule; new ops go to fn's cursor. */
int ad_reverse(ad_scope_t *self, ir_op_t *const *ops, int n_op, err_t *err);

#endif
