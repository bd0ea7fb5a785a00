/* Between the files plan/lower/loops*.c: one op on its way to plain loops, statements in the order in
 * which they take effect. Order and rounding are those of the reference evaluators in ops/. */
#ifndef PLAN_LOOPS_IN_H
#define PLAN_LOOPS_IN_H

#include "plan/lower/loops.h"

typedef struct {
    lower_t *lower;
    const ir_fn_t *fn;
    const ir_op_t *op;
    kernel_t *kernel;
    kx_graph_t *g;
    kblock_t *block; /* where statements go */
    kx_t o;          /* the piece of work: [0, extent) */
    int scratch;     /* argument with room to work in, -1 */
    kx_t *bound;     /* by value, for regions: what stands for it, or KX_NONE */
} loops_t;

/* Emit the work of piece l->o. */
typedef void loops_fn(loops_t *l);
loops_fn loops_reduce, loops_reduce_window, loops_select_and_scatter, loops_scatter;
loops_fn loops_convolution, loops_sort, loops_top_k, loops_bitcast, loops_rng_bits;

const ir_type_t *loops_type(const loops_t *l, ir_val_t v);
/* Element `index` of an operand or result. */
kx_t loops_load(loops_t *l, ir_val_t v, kx_t index);
void loops_store(loops_t *l, ir_val_t v, kx_t index, kx_t value); /* converted to v's type */
/* Element `index` of v = element `from` of w, of the same type, to the bit. */
void loops_move(loops_t *l, ir_val_t v, kx_t index, ir_val_t w, kx_t from);
/* From now on elements of v are read and written as unsigned integers of their bytes in memory. */
void loops_as_bits(loops_t *l, ir_val_t v);

/* A new cell that holds value; and n cells that hold other ones from here on. */
kx_t loops_let(loops_t *l, kx_t value);
void loops_set(loops_t *l, int n, const kx_t *cell, const kx_t *value);

/* Statements go inside from here on; each returns where they went before: set l->block to it to
 * close. `extent` is more than any value of the loop's variable. */
kblock_t *loops_for(loops_t *l, int64_t extent, kx_t lo, kx_t hi, kx_t *at);
kblock_t *loops_over(loops_t *l, int rank, const int64_t *dim, kx_t *index); /* nested loops */
kblock_t *loops_if(loops_t *l, kx_t condition);
kblock_t *loops_while(loops_t *l, kx_t condition);

/* sum of index[d] * stride[d] */
kx_t loops_sum(loops_t *l, int n, const kx_t *index, const int64_t *stride);
/* The region of scalars on args[], to results[]. */
void loops_region(loops_t *l, const ir_region_t *region, const kx_t *args, kx_t *results);

#endif
