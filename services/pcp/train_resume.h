/* Going on with a run: which directory --resume means, what the run was begun with, and which of
 * the options given now may differ from that. Nothing is written here. */
#ifndef PCP_TRAIN_RESUME_H
#define PCP_TRAIN_RESUME_H

#include "pcp/train_config.h"

typedef struct {
    char *dir;      /* of the run to go on with; NULL: a new run begins */
    bool searched;  /* it was found as the newest: the user should hear which */
    char *text;     /* what the new options change, in words; NULL: nothing to say */
    int64_t rounds; /* it had */
} train_resume_t;

/* The options in argv, over a file (NULL: none), over what the run was begun with when they say
 * --resume. The first operand is a configuration (*.json) or a model. On success config->run_dir is
 * the run's when it is gone on with. ERR_ARG: see config_load; --resume names nothing to go on
 * with; an option whose value would make it another run (name, its value, the run's). */
int train_resume_load(train_config_t *config, train_resume_t *resume, int argc, char **argv,
                      config_args_t *args, err_t *err);
void train_resume_fini(train_resume_t *self);

/* An option that a run which goes on may have anew. */
bool train_resume_is_free(const char *key);

#endif
