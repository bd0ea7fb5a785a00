/* The experiment's fields: what `pcp train` reads from a JSON file, PCP_* variables and flags. */
#ifndef PCP_TRAIN_CONFIG_H
#define PCP_TRAIN_CONFIG_H

#include "options/train.h"

typedef struct {
    TRAIN_OPTIONS(OPTION_MEMBER, )
    /* what to train */
    char *model, *data, *tokenizer, *init, *dtype;
    char *entry, *role, *roles; /* pcp/model_roles.h */
    bool constants_as_params;
    int64_t loss_result;
    double val_fraction;
    /* who trains */
    int64_t threads;
    /* where */
    char *checkpoint, *resume, *run_dir, *log_level;
    bool prepare_only, tune, web;
    int64_t web_port;
} train_config_t;

extern const config_table_t train_config_table;

/* What no single field can tell: combinations; and files that must exist. */
int train_config_combine(const train_config_t *self, err_t *err);
int train_config_check(const train_config_t *self, err_t *err);

#endif
