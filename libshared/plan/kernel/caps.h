/* What lowering may ask of a target: values, never its name. The rows of targets
 * (codegen/backend.h) state them. */
#ifndef PLAN_CAPS_H
#define PLAN_CAPS_H

#include <stdbool.h>

typedef struct {
    int lanes, registers; /* vectors of f32: elements, and registers that hold one. lanes 0:
                           * products have no kernels that are cut for registers (plan/kernel/tiles.h) */
    bool bf16;            /* products of bf16 pairs, summed in f32 ... */
    bool matrix;          /* ... by a matrix unit instead of the vector units */
    bool literal;         /* products round what a spec says even where nothing is gained by it */
    bool fours;           /* the vector units add products of four numbers of i8 to 32 bits */
    bool
        attention; /* one kernel for attention, and one for its gradient (plan/lower/attention.h) */
    bool stream;   /* products of few rows that read their matrix once (plan/lower/stream.h) */
    bool library;  /* products may go to a library of the device */
    bool many;     /* threads without number: a product in loops has one for each element */
    bool votes;    /* ... a few of which vote at once (plan/lower/emit_scatter.c) */
    int near_kib;  /* second-level cache that a core has at least; 0: not known */
    bool wide;     /* a core multiplies two whole vectors a cycle, faster than it copies them */
    bool ahead;    /* products ask early for what they copy or read next */
    bool
        panels; /* products of few rows read their matrix in panels (ir/panels.h); needs fours and bf16 */
    bool only_f32; /* no f64: what is computed for a program's own sake keeps to f32 */
    bool sweeps;   /* the device runs several steps in one go (plan/schedule/sweep.h) */
    int row_kib;   /* of rows that a kernel keeps beside the arena; 0: as much as a stack has */
    bool asks;     /* cores read more of memory where kernels ask for it ahead (kernel_t.cold) */
    int segment_mib; /* the arena may be cut at multiples of this (plan/memory/memory.h), 0: it is never cut */
    int part_mib; /* of a large product that is computed by parts of its rows; 0: as suits caches of processors */
} caps_t;

/* A target that nobody named: what every device of ours could do with a library of products. */
#define CAPS_USUAL ((caps_t){.attention = true, .library = true, .sweeps = true})

#endif
