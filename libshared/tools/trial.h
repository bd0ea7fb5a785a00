/* A model set up to take training steps on made-up data: for profiles and benches. Parameters have
 * their initial values, batches random tokens; the same seed makes the same ones on any machine. */
#ifndef TOOLS_TRIAL_H
#define TOOLS_TRIAL_H

#include "optim/optim.h"
#include "plan/format/plan.h"
#include "runtime/exec.h"

typedef struct {
    plan_t *plan;
    exec_t *exec;
    void **batch; /* [n_batch], as exec_train_step takes them */
    int n_batch;
    int64_t tokens; /* of a step: elements of the largest integer batch tensor; 0: none */
    long step;      /* taken so far */
    bool widens;    /* products are in f32, though the spec says less (compile/compile.h) */
} trial_t;

typedef struct {
    const train_spec_t *spec;    /* NULL: the default */
    const device_place_t *place; /* where it runs, and for which target; NULL: target_host's */
    int threads;                 /* 0: all cores */
    bool pin;                    /* exec_options_t */
    uint64_t memory_limit;       /* exec_options_t */
    bool tune;                   /* measure products first (tools/tuning.h) */
    const char *tune_dir;        /* of tuning_t */
    int64_t vocab;               /* integers of a batch are in [0, vocab) */
    uint64_t seed;
} trial_options_t;

/* Compile the StableHLO text for this machine, load it, fill it. Free with trial_fini, also after
 * an error. */
int trial_init(trial_t *self, const char *text, size_t n_text, const char *file_name,
               const trial_options_t *options, err_t *err);
void trial_fini(trial_t *self);

/* One training step on the same batch again; *loss may be NULL. */
int trial_step(trial_t *self, float *loss, err_t *err);

/* Make other random values of the batch: turn 0 are those it began with. */
void trial_draw(trial_t *self, const trial_options_t *options, uint64_t turn);

#endif
