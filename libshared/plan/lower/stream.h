/* Products of few rows with a matrix that lies in memory: each of its numbers is read once, by all
 * threads together, and nothing is packed. Modules ask for them by the attribute pcp.stream, which is
 * the largest number of rows that any of their products is to be good for; then a row's sums do not depend on how many
 * rows there are. pcp.rounded lets rows be rounded as the matrix is, where it lies in panels. */
#ifndef PLAN_STREAM_H
#define PLAN_STREAM_H

#include "plan/lower/lower.h"

enum { STREAM_ROWS = 16 }; /* at most */

/* C = A B for each entry, f32: offsets a, b, c in elements of the kernel's arguments of these numbers. */
typedef struct stream {
    plan_gemm_step_t step;
    int arg_a, arg_b, arg_c;
    dtype_t weight;    /* of B as it is stored: f32, bf16 or i8 */
    int64_t part_cols; /* columns of C, a unit of parallel work; a multiple of caps.lanes */
    int64_t n_part;    /* of an entry; the last one may be smaller */
    int64_t most_rows; /* of the module's products */
    bool panels;       /* B lies in panels (ir/panels.h): any number of rows */
    bool rounded;      /* ... and rows of A are rounded as B is */
    bool kept; /* B is what the program keeps of texts, one for each: never for a matrix unit */
    caps_t caps;
} stream_t;

/* Is it one for the target's matrix unit (codegen/prelude/prelude_stream.h)? Decided by the matrix and the module, since
 * a row's sums must not depend on the rows beside it. */
bool stream_by_matrix(const stream_t *self);

/* The same by vectors, in whole numbers, for i8 (codegen/prelude/prelude_stream_fours.h). */
bool stream_by_fours(const stream_t *self);

/* Can the product be one? Marks its operand as a root where it has to be. */
bool stream_prepare(lower_t *self, const ir_op_t *op);
/* The step of a product that stream_prepare took; false: it is none. */
bool stream_place(lower_t *self, const ir_op_t *op);

#endif
