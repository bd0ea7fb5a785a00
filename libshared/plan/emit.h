/* Between emit.c and emit_columns.c. */
#ifndef PLAN_EMIT_H
#define PLAN_EMIT_H

#include "plan/lower.h"

/* A statement that waits for its column loop; index and value are expressions of the column. */
typedef struct {
    kstmt_kind_t kind;
    int target;
    kx_t index, value;
} pending_t;
typedef VEC(pending_t) pending_list_t;

/* Loops over all columns (variable `col` of extent n) around the statements, appended to `block`. Split
 * columns become nested loops; guards on columns (pad, concatenate) split a loop into segments. */
void emit_columns(kernel_t *kernel, kblock_t *block, int col, const pending_list_t *list);
/* The statements inside one loop. */
void emit_statements(kernel_t *kernel, kblock_t *block, const pending_list_t *list);

#endif
