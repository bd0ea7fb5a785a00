/* A builder from inside: for build.c, assemble/ and memory/. */
#ifndef PLAN_BUILD_IN_H
#define PLAN_BUILD_IN_H

#include "base/index.h"
#include "base/vec.h"
#include "plan/build.h"
#include "plan/lower/lower.h"
#include "plan/memory/memory.h"

/* Where a value lives: in a tensor or constant that outlasts the program, or in a temporary block.
 * */
typedef struct {
    enum { HOME_NONE, HOME_TENSOR, HOME_CONSTANT, HOME_BLOCK } kind;
    int number;
} home_t;

/* Before step `at` value `to` takes over the bytes of `from` as they are. */
typedef struct {
    int at;
    ir_val_t from, to;
} takeover_t;

typedef struct {
    const char *name;
    lower_t *lower;
    home_t *home;        /* by value */
    int *param, *result; /* tensor numbers, by position */
    int depth;           /* loops around it */
    int first_kernel;    /* of its groups, in plan_build_t.kernel */
    VEC(memory_block_t) block;
    VEC(takeover_t) takeover; /* in the order of steps: what storage_finish took away */
    uint64_t n_bytes;         /* of its temporaries */
    uint64_t own_bytes; /* of large results that no other program has, which lie before these */
    uint64_t from;      /* where these begin in the arena */
    int peak;           /* step at which most of them are alive */
} program_t;

struct plan_build {
    ir_module_t *module;
    VEC(plan_tensor_t) tensor;
    VEC(struct plan_constant) constant;
    index_t *tensors, *constants; /* by role and name, by bytes */
    VEC(program_t *) program;
    VEC(const kernel_t *) kernel; /* of groups: their own; of products: in `product` */
    VEC(struct product_kernel {
        kernel_t *kernel;
        product_t *product;
    })
    product;
    caps_t caps;
    const tune_t *tune;                /* NULL: none */
    uint64_t budget;                   /* bytes that the arena may have, 0: any */
    uint64_t part_bytes;               /* of large temporaries (parts.h) */
    bool sweeps;                       /* sweep.h */
    uint64_t arena_bytes, fixed_bytes; /* once it is laid out */
    int64_t keep_bytes;                /* as the module says (recompute.h), -1: the usual */
};

/* Bytes of which no value crosses a multiple (caps_t.segment_mib); 0: any may. */
static inline uint64_t plan_segment(const plan_build_t *self)
{
    return (uint64_t)self->caps.segment_mib << 20;
}

/* Homes for all stored values of the program; results that cannot be written in place get copy
 * steps, which come last. May be called again when steps have changed. */
void storage_assign(plan_build_t *self, program_t *p);
/* When no steps change any more: those that would copy a temporary over itself go. */
void storage_finish(program_t *p);

/* Recompute values between their uses until the temporaries of p fit into `limit` bytes (remat.c).
 * Returns the fewest bytes that were reached. */
uint64_t remat_fit(plan_build_t *self, program_t *p, uint64_t limit);

#endif
