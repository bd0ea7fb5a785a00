/* Passes: module to equivalent module. One file passes/<name>.c and one row here each. */
#ifndef PASSES_PASSES_H
#define PASSES_PASSES_H

#include "ir/ir.h"
#include "optim/optim.h"

/* When a pass runs on the way from a model to a plan (compile/stages.c). */
typedef enum {
    PASS_OPEN,       /* opens the clean-up: once in each */
    PASS_CLEAN,      /* the clean-up: in rounds until a round changes nothing */
    PASS_MODEL,      /* once, on a model that training programs are to be made of */
    PASS_LOOPS_PLAN, /* once, on such a model, for plans alone; the clean-up runs again behind it */
    PASS_MODEL_PLAN, /* as PASS_MODEL, for plans alone: printed programs stay plain StableHLO */
    PASS_PROGRAMS,   /* once, on programs with their gradients; may change results */
    PASS_PROGRAMS_PLAN, /* the same, for plans alone */
    PASS_LAST_PLAN, /* behind the last clean-up, for plans alone; where it changes something, the
                     * clean-up runs again */
} pass_when_t;

/* X(name, when), in order. */
/* clang-format off */
#define PASS_LIST(X)                                                                              \
    /* calls and composites; private functions without callers go */                              \
    X(inline, PASS_OPEN)                                                                          \
    /* rng by ops on visible values (ops/draw_rule.h) */                                          \
    X(draw, PASS_OPEN)                                                                            \
    /* map by its region's ops; annotations by their operands */                                  \
    X(expand, PASS_OPEN)                                                                          \
    /* ops on constants, by the reference evaluators, up to a size limit */                       \
    X(fold, PASS_CLEAN)                                                                           \
    /* identities: x+0, x*1, convert chains, reshape chains, ... */                               \
    X(simplify, PASS_CLEAN)                                                                       \
    /* equal op, operands, attributes */                                                          \
    X(cse, PASS_CLEAN)                                                                            \
    /* results nobody uses */                                                                     \
    X(dce, PASS_CLEAN)                                                                            \
    /* complex parameters and results become real ones of the same bytes, with a last dimension   \
     * of two: optimizers see real ones */                                                        \
    X(real_signature, PASS_MODEL)                                                                 \
    /* loops over layers: their iterations one behind another, where these are few and multiply   \
     * matrices */                                                                                \
    X(unroll, PASS_LOOPS_PLAN)                                                                    \
    /* groups that plans have kernels for (ops/fused.h), so that their own gradients are used;    \
     * behind a clean-up */                                                                       \
    X(fuse, PASS_MODEL_PLAN)                                                                      \
    /* f32 products (dot_general, convolution) read operands rounded to bf16, or the sum of three \
     * such products, and sum in f32; with PRECISION_F32 nothing */                               \
    X(precision, PASS_PROGRAMS)                                                                   \
    /* complex values become pairs of real ones; ops that no plan knows, what they stand for:     \
     * ERR_UNSUPPORTED names the op that has no such form, and its line */                        \
    X(pairs, PASS_PROGRAMS_PLAN)                                                                  \
    /* sort, scatter, windows and reductions whose regions no kernel takes (they loop, look up or \
     * draw) become while loops */                                                                \
    X(region_loops, PASS_LAST_PLAN)                                                               \
    /* rows that loops write into a carry, or add to it, are scattered where the carry lies */    \
    X(in_place, PASS_LAST_PLAN)
/* clang-format on */

/* What passes may ask; zeroed: nothing. */
typedef struct {
    precision_t precision;
} pass_options_t;

typedef int pass_fn(ir_module_t *module, const pass_options_t *options, err_t *err);
#define PASS_PROTOTYPE(name, when) pass_fn pass_##name;
PASS_LIST(PASS_PROTOTYPE)
#undef PASS_PROTOTYPE

typedef struct {
    const char *name;
    pass_when_t when;
    pass_fn *run;
} pass_t;
const pass_t *pass_row(int i); /* the i-th; NULL behind the last */
/* NULL with ERR_ARG, which lists the names. */
const pass_t *pass_find(const char *name, err_t *err);

/* Called after each pass when given (dumping, statistics). */
typedef void pass_hook_fn(void *user, const char *pass, const ir_module_t *module);
typedef struct {
    pass_hook_fn *call; /* NULL: none */
    void *user;
} pass_hook_t;

/* The clean-up, the IR verified after every pass. Errors carry the pass's name. */
int passes_run(ir_module_t *module, pass_hook_fn *hook, void *user, err_t *err);

/* All passes of `when`, once each, or the clean-up; verified as above. hook may be NULL. */
int passes_run_when(ir_module_t *module, pass_when_t when, const pass_options_t *options,
                    const pass_hook_t *hook, err_t *err);

/* One pass by name, with no options. */
int passes_run_one(ir_module_t *module, const char *name, err_t *err);

#endif
