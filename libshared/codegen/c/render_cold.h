/* Loops without sums over numbers that lie in memory and not in caches (kernel_t.cold), for renderers of C: in
 * blocks, each of which asks for the numbers of a later one, and with a result of two bytes written past the caches
 * (kernel_t.past). Neither changes a bit of what is computed. */
#ifndef CODEGEN_RENDER_COLD_H
#define CODEGEN_RENDER_COLD_H

#include "codegen/render/render_expr.h"

enum { COLD_LOADS = 8, COLD_BLOCK = 128 };

/* Of the loop over variable v. */
typedef struct {
    int var;
    int n_load;
    kx_t load[COLD_LOADS]; /* whose index grows by one from turn to turn */
    int past;              /* the argument that is written past the caches; -1: none */
    kx_t past_index;
} cold_t;

/* What the loop reads and writes so; false when it is none of this kind. */
bool cold_find(render_t *self, const kstmt_t *loop, cold_t *cold);

/* In the block from b<n> to e<n>, COLD_BLOCK turns of loop number n: before these and after them. What goes past the
 * caches is stored to o<argument> at i<n> - b<n>. */
void cold_write_begin(render_t *self, const cold_t *cold);
void cold_write_end(render_t *self, const cold_t *cold);

/* What the text calls, behind tile_head, and whether it does. */
extern const char cold_head[];
bool cold_is_in(const char *text);

#endif
