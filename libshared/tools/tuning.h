/* Measuring how products are computed soonest on this machine, and the file that remembers it.
 *
 * One file for each processor model, target, number of threads and version of the generated
 * kernels: DIR/tune-<hash of these>.txt, of lines as tune_print has them behind comments that say
 * what it is of. It only grows; what is in it is not measured again, so that plans made with it
 * stay as they are. Another machine may use a copy: the plan depends on the table alone. */
#ifndef TOOLS_TUNING_H
#define TOOLS_TUNING_H

#include "optim/optim.h"
#include "plan/kernel/tune.h"

typedef struct {
    const char *dir;    /* NULL: $XDG_CACHE_HOME/pcp, else ~/.cache/pcp; made when absent */
    const char *target; /* must run here */
    int threads;        /* 0: one per core */
} tuning_t;

/* Where the table lies. Returns, caller frees. ERR_ARG: no directory is known. */
char *tuning_path(const tuning_t *self, err_t *err);

/* The table with an entry for each of n products, those that are absent measured now (some
 * milliseconds each) and written. *n_measured may be NULL. Returns, caller destroys;
 * ERR_UNSUPPORTED when the target does not run here, ERR_PARSE names a damaged file. Needs the C
 * compiler. */
tune_t *tuning_of_products(const tuning_t *self, const plan_gemm_step_t *product, int n,
                           int *n_measured, err_t *err);

/* The same for the products of a module's plan. */
tune_t *tuning_of_text(const tuning_t *self, const char *text, size_t n_text, const char *file_name,
                       const train_spec_t *spec, int *n_measured, err_t *err);

#endif
