/* Inside of ops/: the loops that the reverse rule of while builds around copies of its body. */
#ifndef OPS_WHILE_LOOP_H
#define OPS_WHILE_LOOP_H

#include "ir/build_index.h"
#include "ops/outer.h"

/* The while op that is differentiated. */
typedef struct {
    vjp_t *v;
    ir_fn_t *fn;
    const ir_region_t *cond, *body;
    int n;              /* carries */
    const ir_val_t *in; /* their initial values */
} loop_t;

/* Carries kept for later: at[k] is [n_row, ...], IR_NONE for a carry that never changes. */
typedef struct {
    int64_t n_row;
    ir_val_t *at;
} rows_t;

void rows_init(rows_t *self, const loop_t *loop, int64_t n_row);
void rows_fini(rows_t *self);
/* All carries as they were in `row` (an i64 scalar): args[n]. */
void rows_get(const rows_t *self, const loop_t *loop, ir_val_t row, ir_val_t *args);

bool loop_is_invariant(const loop_t *self, int k);
/* Does the body do nothing with carry k but write a part of it anew, as a scan stacks up its results? */
bool loop_stacks(const loop_t *self, int k);
ir_val_t loop_int(ir_fn_t *fn, int64_t i);

/* A while op under construction over start[n], of which the first is its i64 counter. Between begin
 * and end the cursor stands in the body, whose arguments start at `arg`. */
typedef struct {
    ir_fn_t *fn;
    int n;
    const ir_val_t *start;
    ir_region_t *body, *saved;
    ir_val_t arg;
} building_t;
void building_begin(building_t *self, ir_fn_t *fn, int n, const ir_val_t *start);
/* It goes on while counter `direction` limit, a value from outside. NULL after an error. */
const ir_op_t *building_end(building_t *self, const ir_val_t *results, const char *direction,
                            ir_val_t limit);

/* Iterations [t, limit) from the carries from[n]: the carries then, into out[n]. */
int while_run(const loop_t *self, ir_val_t t, ir_val_t limit, const ir_val_t *from, ir_val_t *out,
              err_t *err);
/* Iterations [0, limit) from `from`, the carries before each kept in its row: the loop, whose results are a counter, the
 * carries, and rows. NULL after an error. */
const ir_op_t *while_run_kept(const loop_t *self, ir_val_t limit, const ir_val_t *from,
                              rows_t *rows, err_t *err);
/* All `count` iterations, the carries before iterations 0, step, 2 step, ... kept in rows. */
int while_run_sparsely(const loop_t *self, ir_val_t count, ir_val_t step, rows_t *rows, err_t *err);
/* The number of iterations, by running the loop once. IR_NONE after an error. */
ir_val_t loop_count(const loop_t *self, err_t *err);

#endif
