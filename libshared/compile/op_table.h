/* What is supported, as the table of docs/ops.md. */
#ifndef COMPILE_OP_TABLE_H
#define COMPILE_OP_TABLE_H

#include "base/str.h"

/* Append the whole of docs/ops.md: one row for each op of the op table, with what the interpreter,
 * the reverse rules and the plan compiler make of it. What `pcp ops` prints. */
void op_table_print(str_t *out);

#endif
