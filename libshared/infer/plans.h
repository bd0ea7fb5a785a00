/* Plans for generation: made once, then read from disk; and parameters into their tensors. For infer/
 * and programs that run one function of a model. */
#ifndef INFER_PLANS_H
#define INFER_PLANS_H

#include <stdbool.h>

#include "ckpt/adapters.h"
#include "ir/ir.h"
#include "runtime/exec.h"

/* Makes the module that is compiled. Returns, callee destroys; NULL: err. */
typedef ir_module_t *plans_make_fn(void *user, err_t *err);

/* Where plans are kept, and one that is in use there. */
typedef struct {
    const char *dir; /* NULL: file_cache_dir()/plans; "": nowhere */
    uint64_t limit;  /* bytes that plans may take there; 0: PLAN_CACHE_BYTES */
    int use;         /* out: plan_cache_use, until plans_done; -1: none */
} plans_place_t;

/* The plan for this machine of what `make` makes; `what` names that, and everything it depends on.
 * It is looked for in place->dir, and kept there when it had to be compiled (seconds, *compiled), others go for
 * it as plan_cache_prune says; a plan that cannot be kept is no error. Returns, caller destroys. */
plan_t *plans_get(const char *what, plans_make_fn *make, void *user, plans_place_t *place,
                  bool *compiled, err_t *err);

void plans_done(plans_place_t *self); /* its plan is not used any more */

/* Write the parameters of the plan from those of a file, f32, bf16 and f16 turned into each other; weights with their
 * adapters, for plans that have none (NULL: as they are). ERR_CORRUPT: one is missing, or of another shape. */
int plans_load(const plan_t *plan, exec_t *exec, const safetensors_t *params, adapters_t *adapters,
               err_t *err);

#endif
