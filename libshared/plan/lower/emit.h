/* Between emit.c, emit_prepare.c and emit_columns.c. */
#ifndef PLAN_EMIT_H
#define PLAN_EMIT_H

#include "plan/lower/lower.h"

typedef struct {
    lower_t *lower;
    group_t *group;
    kernel_t *kernel;
    int n_phase;
    int *array;      /* per member: its row buffer or chunk sums, -1 */
    int *acc;        /* per member: its accumulator, -1 */
    kx_t *final;     /* per member: FOLD's and ROW's value once known */
    bool *again;     /* per member: FULL read in a later phase or at another column */
    bool *elsewhere; /* per member: FULL read at another column */
    int unit;        /* variable of the outermost loop */
    kx_t unit_node;
    int64_t block; /* by_column: columns per unit */
    kx_t lo, hi;   /* by_column: the unit's columns */
    int64_t part;  /* of a scatter's operand that each unit writes to, elements; 0: all of it */
    kx_t part_at;  /* where this unit's begins */
} emit_t;

dtype_t emit_dtype(const emit_t *e, ir_val_t v);
dtype_t emit_wide(dtype_t dtype); /* what sums of dtype are kept in: f32 for halves */
bool emit_is_stored(const emit_t *e, int member);
kx_t emit_row_position(emit_t *e, kx_t column); /* of the current row's column, row-major */

/* Which pass over the row each member belongs to, and which are read again by another pass. */
void emit_assign_phases(emit_t *e);
/* Row buffers, chunk sums, accumulators and arguments of the members. */
void emit_allocate(emit_t *e);

/* Expressions as seen from one phase: references become scalars, buffers or loads. */
typedef struct {
    emit_t *emit;
    int phase;
    kx_rewrite_t rewrite;
} resolve_t;
void emit_resolve_begin(resolve_t *r, emit_t *e, int phase);
void emit_resolve_end(resolve_t *r);
kx_t emit_resolve(resolve_t *r, kx_t x);
/* What a finished sum is worth: the init folded in, rounded to the value's type. */
kx_t emit_finished(resolve_t *r, const member_t *m, kx_t sum);

/* A statement that waits for its column loop; index, value and condition are expressions of the column. */
typedef struct {
    kstmt_kind_t kind;
    int target;
    kx_t index, value;
    kx_t only; /* where this holds; KX_NONE: always */
} pending_t;
typedef VEC(pending_t) pending_list_t;

/* Loops over all columns (variable `col` of extent n) around the statements, appended to `block`.
 * Split columns become nested loops; guards on columns (pad, concatenate) split a loop into
 * segments. */
void emit_columns(kernel_t *kernel, kblock_t *block, int col, const pending_list_t *list);
/* The list with `with` in place of variable `var`; what it is a part of is put together again. to: behind what it has. */
void emit_exchange(kernel_t *kernel, const pending_list_t *from, pending_list_t *to, int var,
                   kx_t with);
/* The columns [lo, hi) of a unit: a loop for each segment that guards cut, clipped to them. False,
 * and nothing appended, when nothing is cut or a segment would need its columns split. */
bool emit_clipped_columns(kernel_t *kernel, kblock_t *block, int col, kx_t lo, kx_t hi,
                          const pending_list_t *list);
/* The columns of a unit, around the statements. */
void emit_column_loop(emit_t *e, kblock_t *block, const pending_list_t *list);

/* emit_scatter.c: a group that is a scatter, by rows of its operand. False, and nothing emitted: it stays by parts
 * of it. */
bool emit_scatter(emit_t *e);
/* The statements inside one loop. */
void emit_statements(kblock_t *block, const pending_list_t *list);

#endif
