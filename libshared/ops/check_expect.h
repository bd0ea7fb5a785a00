/* The checks of StableHLO's own test files: as ops (check.expect_eq, ..) and as custom calls. */
#ifndef OPS_CHECK_EXPECT_H
#define OPS_CHECK_EXPECT_H

#include <stdbool.h>

#include "ir/op.h"
#include "ir/tensor.h"
#include "ops/eval.h"

/* True for "check.expect_eq" and its like. */
bool check_is_target(const char *target);

/* Run the check `target` on got = in[0], expected = in[1]. 0 when it holds; -1 with ERR_MISMATCH
 * and where, got, expected of the first difference otherwise. The op gives tolerances by attribute.
 */
int check_custom_call(const char *target, const ir_op_t *op, const tensor_t *in, err_t *err);

/* Verify the module and run its entry, which must take no arguments. 0: every check in it holds; 1:
 * one does not (err says which); -1: not valid or not supported. */
int check_module(const ir_module_t *module, err_t *err);
/* The same within limits (ops/eval.h; NULL: its defaults). */
int check_module_within(const ir_module_t *module, const eval_options_t *limits, err_t *err);

#endif
