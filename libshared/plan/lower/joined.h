/* A concatenation whose parts lie side by side in it: steps write each part where the whole lies, and nobody
 * puts them together. So the gradient of weights that a model stacks, which is made of a product for each
 * layer, is there with the last product.
 *
 * lvalue_t.whole of a part is the concatenation, whole_at the part's place in it; plan/schedule/steps.h tells of all steps that
 * have to do with a part that it lies there. */
#ifndef PLAN_JOINED_H
#define PLAN_JOINED_H

#include "plan/lower/lower.h"

/* Mark such concatenations and their parts; all of them become roots. Behind the choice of roots, before that of
 * layouts. */
void joined_choose(lower_t *self);

/* Is op such a concatenation? Its parts have their steps, and it needs none. */
bool joined_place(lower_t *self, const ir_op_t *op);

#endif
