/* The same training steps on several targets, side by side: how far losses and parameters come apart.
 * What is compared with is the first side. One thread at a time. */
#ifndef TOOLS_COMPARE_H
#define TOOLS_COMPARE_H

#include "tools/trial.h"

/* One side's step. */
typedef struct {
    double loss;
    double update;    /* |theta' - theta|, over all parameters */
    double deviation; /* of the loss from the first side's, relative to that */
    double drift;   /* |theta' - theta'_0| / |theta'_0|: of the parameters from the first side's */
    double seconds; /* of the step alone */
} compare_step_t;

typedef struct {
    compare_step_t *step; /* [n_step] */
    double largest;       /* deviation; infinite where a loss is not finite */
    double median;        /* deviation */
    double drift;         /* after the last step */
    double seconds;       /* median */
    int64_t largest_step; /* where the largest deviation is, from 0 */
    char *apart;          /* the parameter whose own drift is largest after the last step, ... */
    double apart_drift;   /* ... and that */
} compare_side_t;

typedef struct {
    int64_t n_step; /* 1 at least */
    double lr;      /* the same at every step */
    /* Values of a step's batch, as exec_train_step takes them, for all sides. */
    const void *const *(*batch)(void *user, int64_t step, err_t *err);
    void (*stepped)(void *user, int64_t n); /* n steps are done by all; may be NULL */
    void *user;
} compare_options_t;

/* Let n trials of one model (the same parameters, seed and spec; none has stepped) take the steps in
 * turn. side[n] is filled; free it with compare_fini, also after an error. ERR_SHAPE: the plans have
 * not the same parameters. */
int compare_run(trial_t *trial, int n, const compare_options_t *options, compare_side_t *side,
                err_t *err);
void compare_fini(compare_side_t *side, int n);

/* |x - reference| / |reference|: 0 where both are equal, infinite where one is not finite or the reference
 * is 0. */
double compare_relative(double x, double reference);

#endif
