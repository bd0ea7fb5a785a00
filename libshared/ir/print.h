/* IR to StableHLO text that parse/ reads back to the same IR. */
#ifndef IR_PRINT_H
#define IR_PRINT_H

#include "base/str.h"
#include "ir/ir.h"

void ir_print_module(const ir_module_t *module, str_t *out);
/* One op on one line, for messages. */
void ir_print_op(const ir_fn_t *fn, const ir_op_t *op, str_t *out);

#endif
