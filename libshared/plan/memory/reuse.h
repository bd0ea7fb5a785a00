/* Memory of blocks that live inside one sweep of strips (plan/schedule/sweep.h). */
#ifndef PLAN_REUSE_H
#define PLAN_REUSE_H

#include "plan/memory/build_in.h"

/* A block whose first and last step lie in one sweep of strips gives its memory to a later block of
 * the same size in that sweep. This is safe because strip i of both blocks lies in the same place,
 * and a thread runs the steps of one strip one after another. The later block keeps no bytes of its
 * own, and the homes of its values point to the earlier block. */
void reuse_in_strips(program_t *p);

#endif
