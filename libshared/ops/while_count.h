/* While loops that count: a carry that begins at a constant, that the body adds a constant to, and that is compared with
 * a constant. */
#ifndef OPS_WHILE_COUNT_H
#define OPS_WHILE_COUNT_H

#include <stdbool.h>

#include "ir/ir.h"

typedef struct {
    int counter; /* which carry */
    int64_t start, step, trips;
} while_count_t;

/* False: op, a while of fn, is no such loop, or runs more than `most` times. */
bool while_counts(const ir_fn_t *fn, const ir_op_t *op, int64_t most, while_count_t *out);

#endif
