/* Loops in which a thread takes four neighbouring columns at a time: a part of render_turns.c, for languages that have
 * pcp_quad_t (prelude.cuh). */
#ifndef CODEGEN_RENDER_FOURS_H
#define CODEGEN_RENDER_FOURS_H

#include "codegen/render/render_share.h"

/* May all loops over columns that threads share go by fours, and is something gained by it? */
bool fours_fit(const kernel_t *kernel);

/* For one kernel; fours_end is due. */
void fours_begin(fours_t *self, const kernel_t *kernel);
void fours_end(fours_t *self);

/* Behind the head of a loop whose variable is the first of four columns: what is loaded, and the loop over the four. Then what is
 * stored. */
void fours_loop_begin(render_t *self, const kstmt_t *loop);
void fours_loop_end(render_t *self);

/* In between: the element of a load, and a store behind its indentation. False, and nothing written: it is not
 * among the four. */
bool fours_load(render_t *self, kx_t x, str_t *out);
bool fours_store(render_t *self, const kstmt_t *s, dtype_t dtype);

#endif
