/* The two descriptions in a run directory: train.json for pcp train, run.json for the shepherd. */
#ifndef PCP_TRAIN_JSON_H
#define PCP_TRAIN_JSON_H

#include "pcp/train_prepare.h"

/* All options but those of one start (run_dir, resume, prepare_only); files by absolute paths. */
int train_json_write_experiment(const train_config_t *config, err_t *err);
int train_json_write_run(const train_config_t *config, const train_prepared_t *prepared,
                         err_t *err);

/* What run.json says and the options do not: id, vocabulary, tokens. ERR_PARSE, ERR_IO. */
int train_json_read_run(const char *dir, train_prepared_t *out, err_t *err);

#endif
