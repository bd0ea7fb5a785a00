/* From an experiment to a run directory that the services understand:
 *
 *   RUN_DIR/train.u16, validation.u16   tokens
 *           tokenizer.json              how to write them as text again
 *           init.safetensors            every parameter's initial value
 *           run.json                    the shepherd's configuration
 *           logs/                       one file per process
 */
#ifndef PCP_TRAIN_PREPARE_H
#define PCP_TRAIN_PREPARE_H

#include "base/scratch.h"
#include "pcp/train_config.h"

typedef struct {
    int64_t n_params; /* elements over all parameters */
    int n_tensors;
    int64_t train_tokens, validation_tokens;
    int vocab;           /* of the tokens */
    char *checkpoint;    /* the directory to be written */
    const char *sockets; /* directory of ipc endpoints: socket_dir's */
    scratch_t socket_dir;
} train_prepared_t;

/* Reads and checks model, data and init; writes the files above. Everything a user can get wrong is
 * found here, before a process starts. */
int train_prepare(const train_config_t *config, train_prepared_t *out, err_t *err);
void train_prepared_fini(train_prepared_t *self);

#endif
