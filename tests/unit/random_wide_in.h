/* Inside random_wide*.c: the state of one function being drawn, and its makers of values. */
#ifndef TESTS_RANDOM_WIDE_IN_H
#define TESTS_RANDOM_WIDE_IN_H

#include "base/vec.h"
#include "ir/build_index.h"

typedef struct {
    ir_fn_t *fn;
    uint64_t seed, counter;
    VEC(ir_val_t) pool;
    VEC(bool) exact; /* by value, as far as they are known */
} wide_t;

/* --- random_wide.c --- */
int wide_draw(wide_t *d, int n); /* [0, n) */
ir_val_t wide_any(wide_t *d);
ir_type_t wide_type(const wide_t *d, ir_val_t v);
ir_val_t wide_mate(wide_t *d, ir_type_t type); /* another value of this type, or a constant */

/* --- random_wide_more.c: a value made of x; IR_NONE where x does not fit --- */
typedef ir_val_t wide_maker(wide_t *d, ir_val_t x);
wide_maker wide_sort, wide_lookup, wide_place, wide_window, wide_branch, wide_loop, wide_pick,
    wide_dynamic;

#endif
