/* Steps of a lowered program as readers and writers of values: what storage.c, remat.c and chunk.c
 * have in common. */
#ifndef PLAN_STEPS_H
#define PLAN_STEPS_H

#include "plan/lower/lower.h"

/* One access of a step. A product that adds to its result writes it. What is a part of a value lies
 * there (plan/lower/joined.h). */
typedef struct {
    ir_val_t value;
    bool written;
    ir_val_t part; /* of the value, what is meant: itself where that is all of it */
    int64_t at;    /* the element that the access begins at */
} step_use_t;

/* Accesses of a step, arguments of a group's kernel in their order. Loops have none: what goes
 * into them is read by the carries before. */
int steps_n_use(const lower_t *lower, const lstep_t *step);
/* An access to v, where that lies. */
step_use_t steps_use_of(const lower_t *lower, ir_val_t v, bool written);

step_use_t steps_use(const lower_t *lower, const lstep_t *step, int i);

/* Let access i be of value v. */
void steps_set(lower_t *lower, lstep_t *step, int i, ir_val_t v);

/* A new value like v, of no op; of this type. */
ir_val_t steps_fresh(lower_t *lower, ir_val_t v, const ir_type_t *type);

/* What step computes and moves: estimates. */
void steps_cost(const lower_t *lower, const lstep_t *step, double *flops, double *bytes);

#endif
