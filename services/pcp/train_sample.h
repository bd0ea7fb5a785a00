/* Can the model of a run write the texts that sample_every asks for? */
#ifndef PCP_TRAIN_SAMPLE_H
#define PCP_TRAIN_SAMPLE_H

#include "pcp/model_info.h"
#include "pcp/train_config.h"

/* 0 also without sample_every. ERR_ARG names the option, what the model lacks and what to do. */
int train_sample_check(const train_config_t *config, const model_info_t *model, err_t *err);

#endif
