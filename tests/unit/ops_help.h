/* One op on literal tensors, for tests of the op families. */
#ifndef TESTS_OPS_HELP_H
#define TESTS_OPS_HELP_H

#include "ir/build.h"
#include "ir/op.h"
#include "ops/eval.h"

/* An attribute: an enum or string when text is given, else an integer. */
typedef struct {
    const char *name, *text;
    int64_t i;
} help_attr_t;

/* Heap tensors of rank 1 (n elements); float values are rounded to the type. */
tensor_t help_floats(dtype_t dtype, int n, const double *values);
tensor_t help_ints(dtype_t dtype, int n, const int64_t *values);

/* One of any type, both parts of its values in [-0.5, 0.5). */
tensor_t help_random(const ir_type_t *type, uint64_t seed);

/* Emit op `code` over in[n_in] with n_attr attributes, verify and evaluate it; results to
 * out[n_out]. declared: NULL, or the result types. Returns 0, or -1 with err. */
int help_run(op_code_t code, int n_in, const tensor_t *in, int n_attr, const help_attr_t *attrs,
             int n_out, const ir_type_t *declared, tensor_t *out, err_t *err);

#endif
