/* Sums of squares of large products, as the norm of all gradients needs them (optim/optim.h): the product's own kernel
 * sums them tile by tile, while the tile is in cache, instead of a kernel that reads the result again. Where results go
 * past the caches anyway (tiles_t.stream_c). */
#ifndef PLAN_SQUARES_H
#define PLAN_SQUARES_H

#include "plan/lower/lower.h"

enum { SQUARES_OF_TILE = 1024 }; /* numbers that are summed at a time: a tile of 32 x 32 */

/* Is x the squares of a product's result? Then sums of x are cut into as many numbers (legalize.c). */
bool squares_are(const ir_fn_t *fn, ir_val_t x);

/* Which sums, when roots are chosen. */
void squares_choose(lower_t *self);
/* The product, and the sums of its squares, by one kernel; false: nobody wants them, or it has none that sums. */
bool squares_place(lower_t *self, const lstep_t *product);

#endif
