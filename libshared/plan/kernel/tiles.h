/* How a matrix product is cut when its kernel is generated for its exact sizes (codegen/c/product.h):
 * register tiles, panels that stay in cache, parts for the threads.
 *
 * The scheme is that of K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication" (ACM TOMS 34, 2008), with operands packed only where their strides would hurt. */
#ifndef PLAN_TILES_H
#define PLAN_TILES_H

#include "plan/format/plan.h"
#include "plan/kernel/caps.h"

typedef struct {
    caps_t caps;
    int rows, cols;                 /* of C in registers; cols is a multiple of caps.lanes */
    int64_t sum_block;              /* terms (codegen/c/tile.h) of the sum per pass over C */
    int64_t part_rows, part_cols;   /* of C, a unit of parallel work; multiples of rows and cols */
    int64_t n_part_row, n_part_col; /* per entry; the last ones may be smaller */
    int64_t joined_cols; /* of parts by columns: as many next to each other share the copy of A */
    bool pack_a, pack_b;
    bool stream_c;        /* C is written past the caches */
    bool squares;         /* a fourth argument: sums of squares of C's tiles, row by row of these */
    bool split;           /* operands of f32 for a matrix unit of bf16, in pieces: both packed */
    bool by_rows;         /* parts of a row block follow each other; else those of a column block */
    int64_t wanted_parts; /* 0: the usual number */
} tiles_t;

/* A way to compute a product that was measured (plan/kernel/tune.h). 0: the usual one. What does not fit
 * the target's registers counts as 0. */
typedef struct {
    bool library; /* by OpenBLAS; not for bf16 */
    int rows, cols;
    int64_t sum_block, parts; /* terms; parts wanted at least */
} tile_choice_t;

/* A product with a kernel of its own. */
typedef struct {
    plan_gemm_step_t step; /* a, b, c: not looked at */
    tiles_t tiles;
} product_t;

/* Rows and columns of the register tile that computes [m, k] x [k, n] soonest, for edges and the
 * latency and load limits of present processors. Sets rows and cols alone. m, n, k >= 1. */
void tiles_choose_registers(tiles_t *self, int64_t m, int64_t n, int64_t k);

/* The cutting for a step whose kernel is to be generated; false when it cannot be: not f32, empty,
 * unknown target. */
bool tiles_cut(tiles_t *self, const plan_gemm_step_t *step, caps_t caps);
bool tiles_cut_as(tiles_t *self, const plan_gemm_step_t *step, caps_t caps,
                  const tile_choice_t *choice);

/* Is a generated kernel the better choice for the step on a machine of `caps`? Fills *self then.
 * Depends on its arguments alone. */
bool tiles_choose(tiles_t *self, const plan_gemm_step_t *step, caps_t caps);

/* For devices of threads without number (caps_t.many): TILES_LANES threads of a subgroup compute a tile
 * of rows x cols together, cols a multiple of their number. Sets rows and cols alone; the units of
 * work are tiles. m, n, k >= 1. */
enum { TILES_LANES = 8 };
void tiles_choose_many(tiles_t *self, const plan_gemm_step_t *step);
int64_t tiles_n_many(const product_t *product);

/* For groups of threads with panels in shared memory, as GPUs have them: rows, and columns, of the tile of C that a group
 * computes: 128, 64 or 32. And how many such tiles there are. */
int tiles_group_side(const plan_gemm_step_t *step);
int64_t tiles_n_group(const plan_gemm_step_t *step, int side);

/* The same for a product of a sweep (plan/schedule/sweep.h): equal parts, `strips` divides their number, and
 * neighbours are parts of the same rows. strips divides m, or the number of entries. */
bool tiles_choose_strips(tiles_t *self, const plan_gemm_step_t *step, caps_t caps, int64_t strips);

/* Units of parallel work: the extent of the kernel. */
int64_t tiles_n_part(const product_t *product);

#endif
