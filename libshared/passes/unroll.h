/* Loops whose number of iterations is known, their iterations one behind another. */
#ifndef PASSES_UNROLL_H
#define PASSES_UNROLL_H

#include "ir/ir.h"

/* Which loops: those of at most `trips` iterations, as long as a function gets at most `ops` ops by it. */
typedef struct {
    int64_t trips, ops;
    bool products; /* only loops that have a matrix product or a convolution in them */
} unroll_limits_t;

/* Every such while that counts to a constant (ops/while_count.h), the outer one first, in all functions of
 * the module. Each iteration is a copy of the body in which the counter is a constant. Others stay, and so do loops
 * that draw random numbers. Returns how many were unrolled; -1: err. */
int unroll_loops(ir_module_t *module, const unroll_limits_t *limits, err_t *err);

#endif
