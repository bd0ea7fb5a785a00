/* Cases of the generic gradient test (op_gradient_test.c): one op on f64 or complex<f64> operands,
 * whose reverse rule is compared with central differences. Ops without attributes and regions need
 * no case: the test makes theirs from the op table. */
#ifndef TESTS_GRADIENT_CASES_H
#define TESTS_GRADIENT_CASES_H

#include "ir/build.h"
#include "ir/op.h"

enum { GRADIENT_MAX_IN = 4 };

typedef struct {
    op_code_t op;                  /* the op under test: the last op of the function built */
    const char *what;              /* which variant, for messages */
    ir_type_t in[GRADIENT_MAX_IN]; /* parameters, ended by dtype DT_NONE */
    double lo, hi;                 /* parameters are drawn from [lo, hi]; both 0: [-2, 2] */
    /* Append constants and, last, the op itself; its operands that are parameters are
     * differentiated. Called twice per case, once for the rule and once for the differences. */
    void (*build)(ir_fn_t *fn);
} gradient_case_t;

/* Shapes for tables: F64(2, 3) is tensor<2x3xf64>; F64_SCALAR is tensor<f64>. */
#define F64(...)                                                                             \
    {                                                                                        \
        .dtype = DT_F64, .rank = (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), .dim = { \
            __VA_ARGS__                                                                      \
        }                                                                                    \
    }
#define C128(...)                                                                             \
    {                                                                                         \
        .dtype = DT_C128, .rank = (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), .dim = { \
            __VA_ARGS__                                                                       \
        }                                                                                     \
    }
#define F64_SCALAR      \
    {                   \
        .dtype = DT_F64 \
    }

/* The tables, by families of ops. */
extern const gradient_case_t gradient_cases_map[], gradient_cases_structure[],
    gradient_cases_index[], gradient_cases_complex[];
extern const int n_gradient_cases_map, n_gradient_cases_structure, n_gradient_cases_index,
    n_gradient_cases_complex;

/* Ends the cmocka test unless the rule of the case agrees with central differences to 1e-6 of the
 * largest gradient, on operands and cotangents drawn from stream `seed`. */
void gradient_check(const gradient_case_t *spec, uint64_t seed);

#endif
