/* Loops over layers, as scans are exported: their iterations one behind another. Internal to derive/. */
#ifndef DERIVE_UNROLL_H
#define DERIVE_UNROLL_H

#include "ir/ir.h"

/* Every while that counts to a constant (ops/while_count.h) in the functions of the module, if that makes no more than
 * UNROLL_OPS ops of a function. Returns how many were unrolled; -1: err. Others stay. */
enum { UNROLL_TRIPS = 1024, UNROLL_OPS = 1 << 18 };
int unroll_loops(ir_module_t *module, err_t *err);

#endif
