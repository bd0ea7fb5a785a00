/* Memory of blocks that live inside one sweep of strips (plan/sweep.h). */
#ifndef PLAN_REUSE_H
#define PLAN_REUSE_H

#include "plan/build_in.h"

/* Blocks whose first and last step (memory_block_t, as the steps have them) lie in one sweep of
 * strips give their memory to later ones of that sweep: a strip of a block lies where the same
 * strip of another of its size lies, and within a strip the steps come one after another. Blocks
 * that moved in are left without bytes; homes follow. */
void reuse_in_strips(program_t *p);

#endif
