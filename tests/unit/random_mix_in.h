/* Inside random_mix*.c: the state of one function being drawn, and the makers of values. */
#ifndef TESTS_RANDOM_MIX_IN_H
#define TESTS_RANDOM_MIX_IN_H

#include "base/vec.h"
#include "ir/build_index.h"

enum { MIX_MOST = 3000, MIX_RANK = 4, MIX_INT_TOP = 9 }; /* elements and dimensions of a value */

typedef struct {
    ir_fn_t *fn;
    uint64_t seed, counter;
    int64_t size[3];      /* the sizes that parameters are made of */
    bool smooth;          /* for gradients: no kinks but at floats that do not depend on rounding */
    int depth;            /* regions around the cursor */
    VEC(ir_val_t) pool;   /* values that can be used at the cursor */
    VEC(double) roundoff; /* by value, as far as they are known */
} mix_t;

/* A value of x and others of the pool; IR_NONE or x itself: nothing that fits. */
typedef ir_val_t mix_maker(mix_t *mix, ir_val_t x);

/* --- random_mix.c --- */
int mix_draw(mix_t *mix, int n); /* [0, n) */
dtype_t mix_dtype(const mix_t *mix, ir_val_t v);
ir_type_t mix_type(const mix_t *mix, ir_val_t v);
ir_val_t mix_any(mix_t *mix); /* of the pool, the later the likelier */
ir_val_t mix_float(mix_t *mix);
ir_val_t mix_int(mix_t *mix); /* not i1 */
double mix_roundoff(mix_t *mix, ir_val_t v);
bool mix_is_exact(mix_t *mix, ir_val_t v); /* integers, booleans, floats without roundoff */
/* A value of the pool of this type, else one made to have it. */
ir_val_t mix_like(mix_t *mix, ir_type_t type);
/* x with another type of the same class, by converting, summing up and broadcasting. */
ir_val_t mix_fit(mix_t *mix, ir_val_t x, ir_type_t type);
ir_val_t mix_squash(mix_t *mix, ir_val_t x); /* floats to (-1, 1); others as they are */
ir_val_t mix_between(mix_t *mix, ir_val_t x, double low, double high); /* a float squashed */
ir_val_t mix_before_sum(mix_t *mix, ir_val_t x, int64_t n);
ir_val_t mix_pred(mix_t *mix, ir_type_t shape); /* i1 of this shape */
ir_val_t mix_index(mix_t *mix, int64_t n);      /* an integer scalar in [-1, n] */
ir_val_t mix_step(mix_t *mix);                  /* one op or group, into the pool; may be IR_NONE */

/* --- the families --- */
mix_maker mix_map, mix_arithmetic, mix_integer, mix_convert, mix_mask,
    mix_random;                                                    /* random_mix_map.c */
mix_maker mix_turn, mix_reshape, mix_window, mix_join, mix_spread; /* random_mix_move.c */
mix_maker mix_lookup, mix_place, mix_dynamic;                      /* random_mix_move.c */
mix_maker mix_reduce, mix_product, mix_convolve, mix_pool, mix_sort, mix_arg; /* .._fold.c */
mix_maker mix_softmax, mix_norm, mix_dense, mix_attention, mix_cross_entropy,
    mix_rotate;                                        /* _group */
mix_maker mix_if, mix_case, mix_while, mix_map_region; /* random_mix_region.c */

#endif
