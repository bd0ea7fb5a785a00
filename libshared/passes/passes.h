/* Passes: module to equivalent module. One file and one row in passes/pipeline.c each. */
#ifndef PASSES_PASSES_H
#define PASSES_PASSES_H

#include "ir/ir.h"
#include "optim/optim.h"

typedef int pass_fn(ir_module_t *module, err_t *err);

/* Called after each pass when given (dumping, statistics). */
typedef void pass_hook_fn(void *user, const char *pass, const ir_module_t *module);

/* The standard pipeline (inline, draw, expand, fold, simplify, cse, dce, ...), the IR verified
 * after every pass. Errors carry the pass's name. */
int passes_run(ir_module_t *module, pass_hook_fn *hook, void *user, err_t *err);

/* One pass by name; ERR_ARG lists the names. */
int passes_run_one(ir_module_t *module, const char *name, err_t *err);
const char *const *passes_names(int *n);

/* Not in the pipeline, as it changes results: run once on programs with their gradients. f32
 * products (dot_general, convolution) read operands rounded to bf16, or the sum of three such
 * products, and sum in f32; PRECISION_F32 does nothing. ERR_* carry the function and line. */
int passes_precision(ir_module_t *module, precision_t precision, err_t *err);

pass_fn pass_inline;   /* calls and composites; private functions without callers go */
pass_fn pass_draw;     /* rng by ops on visible values (ops/draw.h) */
pass_fn pass_expand;   /* map by its region's ops; annotations by their operands */
pass_fn pass_fold;     /* ops on constants, by the reference evaluators, up to a size limit */
pass_fn pass_simplify; /* identities: x+0, x*1, convert chains, reshape chains, ... */
pass_fn pass_cse;      /* equal op, operands, attributes */
pass_fn pass_dce;      /* results nobody uses */

/* Complex parameters and results become real ones of the same bytes, with a last dimension of two.
 * Before training programs are built: optimizers see real parameters. */
pass_fn pass_real_signature;
/* Not in the pipeline, for plans alone and behind differentiation: complex values become pairs of
 * real ones, and ops that no plan knows become what they stand for. ERR_UNSUPPORTED names the op
 * that has no such form, and its line. */
pass_fn pass_pairs;
/* Behind pass_pairs, for plans alone: sort, scatter, windows and reductions whose
 * regions no kernel takes (they loop, look up or draw) become while loops. Where there are any, the
 * pipeline runs again. */
pass_fn pass_region_loops;

/* Groups of ops that plans have kernels for (ops/fused.h), on a module that passes_run has been
 * over; before differentiation, so that the groups' own gradients are used. Not in the pipeline:
 * what is printed for people is plain StableHLO. */
pass_fn pass_fuse;

#endif
