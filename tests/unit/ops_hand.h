/* Hand-computed tests of single ops: build on constants, evaluate, compare exactly. Failures end
 * the cmocka test. */
#ifndef TESTS_OPS_HAND_H
#define TESTS_OPS_HAND_H

#include "ir/build.h"

/* A module with one function without parameters; free with hand_end. */
typedef struct {
    ir_module_t *module;
    ir_fn_t *fn;
} hand_t;
hand_t hand_begin(void);
void hand_end(hand_t *self);

#define SHAPE(...)                                                         \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) \
    {                                                                      \
        __VA_ARGS__                                                        \
    }
#define VALUES(...)                                                     \
    (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]) \
    {                                                                   \
        __VA_ARGS__                                                     \
    }

/* A constant: hand_value(h.fn, DT_F32, SHAPE(2, 2), VALUES(1, 2, 3, 4)); one value is a splat. */
ir_val_t hand_value(ir_fn_t *fn, dtype_t dtype, int rank, const int64_t *dim, int n,
                    const double *values);
/* lo, lo + 1, .. in row-major order */
ir_val_t hand_count(ir_fn_t *fn, dtype_t dtype, int rank, const int64_t *dim, double lo);

/* Evaluates y and ends the test unless it has this type and these elements (NaN equals NaN, -0 is
 * not 0). Ends h. */
void hand_expect(hand_t *h, ir_val_t y, dtype_t dtype, int rank, const int64_t *dim, int n,
                 const double *want);
/* The last emit failed with this code and a message that contains `word`. Ends h. */
void hand_expect_error(hand_t *h, err_code_t code, const char *word);

#endif
