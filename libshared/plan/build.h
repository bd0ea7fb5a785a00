/* From IR functions to a plan: lowering, storage, steps. What remains for the caller is to render
 * and compile the kernels and to fill in the plan's names and code. One thread at a time per
 * builder. */
#ifndef PLAN_BUILD_H
#define PLAN_BUILD_H

#include "ir/ir.h"
#include "plan/format/plan.h"
#include "plan/kernel/caps.h"
#include "plan/kernel/kernel.h"
#include "plan/kernel/tune.h"

typedef struct plan_build plan_build_t;

/* caps: of the target; NULL: CAPS_USUAL.
 * Large temporaries are held by parts (plan/schedule/parts.h); the attribute pcp.part_bytes of the module
 * says of how many bytes in the place of PARTS_BYTES, 0: never. Likewise pcp.keep_bytes for what is
 * kept in the place of making it again (plan/lower/recompute.h; without it 0 with a budget), and
 * pcp.sweeps, 0: no steps run in one go (plan/schedule/sweep.h). */
plan_build_t *plan_build_new(ir_module_t *module, const caps_t *caps);
void plan_build_destroy(plan_build_t **self_p);

/* Before the first program: measured choices for its products; NULL: none. Borrowed. */
void plan_build_tune(plan_build_t *self, const tune_t *tune);

/* Before the first program: how many bytes the arena may have, 0: any. With a budget no steps run
 * in one go (plan/schedule/sweep.h), which takes memory; where the arena has more, steps are repeated
 * instead of keeping what they made (remat.c), as few as will do; plan_build_lay_out gives
 * ERR_MEMORY with the smallest budget there is when that does not do. */
void plan_build_budget(plan_build_t *self, uint64_t n_bytes);

/* Add function fn as a program of its name. Parameters and results carry pcp.role and pcp.name;
 * without them parameter i is the batch tensor "arg<i>" and result i the result "result<i>" (of
 * @main; "f.arg<i>" and "f.result<i>" of another function f). A result whose role is param, state
 * or accumulator updates the tensor of that role and name. custom_call @pcp.seed
 * (ops/draw_rule.h) reads the scalar "seed". ERR_UNSUPPORTED names an op without a kernel, and its
 * line; ERR_TYPE a tensor that two programs see differently. */
int plan_build_program(plan_build_t *self, const ir_fn_t *fn, err_t *err);

/* The rest in this order, once, when all programs are there: storage for every value and the arena; the proof that
 * no step writes what a later one still reads (plan/memory/check_lifetimes.h); the plan without target, hash, spec,
 * kernel names and code, whose kernel steps carry the number of their kernel below: returns, caller destroys. */
int plan_build_lay_out(plan_build_t *self, err_t *err);
int plan_build_prove(const plan_build_t *self, err_t *err);
plan_t *plan_build_fill(plan_build_t *self);
uint64_t plan_build_arena(const plan_build_t *self); /* bytes, once it is laid out */
int plan_build_n_kernel(const plan_build_t *self);
const kernel_t *plan_build_kernel(const plan_build_t *self, int i); /* borrowed from the builder */

/* Which forms of an op have kernels? Calls and the like, which the passes take away, have none. */
typedef enum { PLAN_OP_NONE, PLAN_OP_SOME, PLAN_OP_ALL } plan_op_t;
plan_op_t plan_op_support(op_code_t code);

#endif
