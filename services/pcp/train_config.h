/* The experiment's fields: what `pcp train` reads from a JSON file, PCP_* variables and flags. */
#ifndef PCP_TRAIN_CONFIG_H
#define PCP_TRAIN_CONFIG_H

#include "base/config.h"

typedef struct {
    /* what to train */
    char *model, *data, *tokenizer, *layout, *init, *dtype;
    double val_fraction;
    bool shuffle;
    int64_t seed;
    /* who trains */
    int64_t workers, replicas, max_replicas, threads, aggregators;
    /* rounds */
    int64_t inner_steps, rounds, accumulate, validate_every, validate_tokens, warmup;
    /* inner optimizer */
    char *optimizer, *schedule, *precision;
    double lr, min_lr, decay_fraction, beta1, beta2, eps, weight_decay, momentum, clip;
    /* outer optimizer and exchange */
    double outer_lr, outer_momentum;
    char *codec;
    /* when a round closes, and with what */
    int64_t quorum;
    double deadline_s, outlier, shrink_s;
    char *late;
    bool balance;
    /* where */
    char *checkpoint, *resume, *run_dir, *log_level;
    int64_t checkpoint_every, checkpoint_keep;
    bool prepare_only, tune;
} train_config_t;

extern const config_table_t train_config_table;

/* With replicas auto: at most so many. */
int64_t train_config_most(const train_config_t *self);

/* What no single field can tell: combinations; and files that must exist. */
int train_config_combine(const train_config_t *self, err_t *err);
int train_config_check(const train_config_t *self, err_t *err);

#endif
