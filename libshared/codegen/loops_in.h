/* Between the files codegen/loops*.c. */
#ifndef CODEGEN_LOOPS_IN_H
#define CODEGEN_LOOPS_IN_H

#include "codegen/loops.h"
#include "ir/op.h"
#include "ops/dims.h"

typedef struct {
    const kernel_t *kernel;
    const ir_fn_t *fn;
    const ir_op_t *op;
    str_t *out;
} loops_t;

typedef void loops_fn(loops_t *l);
loops_fn loops_reduce, loops_reduce_window, loops_select_and_scatter, loops_scatter;
loops_fn loops_convolution, loops_sort, loops_top_k, loops_bitcast, loops_map, loops_rng_bits;

enum { LOOPS_NAME = 96 }; /* room for the C text of a simple expression */

const ir_type_t *loops_type(const loops_t *l, ir_val_t v);
int loops_arg(const loops_t *l, ir_val_t v); /* the kernel argument that holds v */
/* Element `index` of v as a value of render_type. Returns buf. */
const char *loops_load(const loops_t *l, ir_val_t v, const char *index, char buf[LOOPS_NAME]);
/* Element `index` of v = value, a text of v's own type. */
void loops_store(loops_t *l, ir_val_t v, const char *index, const char *value);
/* The same from a value of another type. */
void loops_store_as(loops_t *l, ir_val_t v, const char *index, dtype_t from, const char *value);

/* const int64_t <name>0, <name>1, ..: the index of row-major position `flat` in dim[]. */
void loops_digits(loops_t *l, const char *name, const char *flat, int rank, const int64_t *dim);
/* " + <name>0 * stride[0] + .."; begins with "0" when nothing is added. */
void loops_offset(loops_t *l, const char *name, int rank, const int64_t *stride);
/* for (int64_t <name><d> ..) {: nested, one per dimension; and their ends. */
void loops_open(loops_t *l, const char *name, int rank, const int64_t *dim);
void loops_close(loops_t *l, int rank);

/* The region on arguments args[] (C texts); result i is assigned to the C variable results[i]. */
void loops_region(loops_t *l, const ir_region_t *region, const char *const *args,
                  const char *const *results);
/* The scalar op on operand texts, to the C text of its value. */
void loops_scalar(const loops_t *l, const ir_op_t *op, const char *const *in, str_t *text);

#endif
