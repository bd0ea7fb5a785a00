/* What a device does at best, by plans of its own: a large product, and a pass over large arrays. Shares of a step are
 * told against them. */
#ifndef TOOLS_PEAK_H
#define TOOLS_PEAK_H

#include "runtime/exec.h"

typedef struct {
    const char *target;
    exec_options_t exec;
    bool bf16; /* the product's operands; sums are f32 */
} peak_options_t;

typedef struct {
    double flops; /* a second, of a product of n x n x n */
    double bytes; /* a second, of z = x + y over arrays of 32 MiB: two read, one written */
    int n;
} peak_t;

/* Blocks for seconds: compiles two or three plans, and runs each several times; the fastest counts. Takes 96 MiB of
 * the device's memory or somewhat more. Errors as those of compile_module and exec_new. */
int peak_measure(const peak_options_t *options, peak_t *out, err_t *err);

#endif
