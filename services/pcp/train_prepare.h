/* From an experiment to a run directory that the services understand:
 *
 *   RUN_DIR/train.json                  the experiment: pcp train's options, for --resume
 *           model.mlir                  the model
 *           train.u16, validation.u16   tokens (.u32: of more than 65,536)
 *           tokenizer.json              how to write them as text again
 *           init.safetensors            every parameter's initial value
 *           run.json                    the shepherd's configuration; written last
 *           logs/                       one file per process
 */
#ifndef PCP_TRAIN_PREPARE_H
#define PCP_TRAIN_PREPARE_H

#include "base/scratch.h"
#include "pcp/progress.h"
#include "pcp/train_config.h"

typedef struct {
    int64_t n_params; /* elements over all parameters */
    int n_tensors;
    int64_t averaged_from; /* the elements from here on are states of the model; 0: none */
    int64_t train_tokens, validation_tokens;
    int token_bytes;
    int vocab;           /* of the tokens */
    char *run;           /* id of the run */
    char *checkpoint;    /* the directory to be written */
    const char *sockets; /* directory of ipc endpoints: socket_dir's */
    scratch_t socket_dir;
    int lock;      /* of the run directory; closed by train_prepared_fini */
    bool made_dir; /* it was not there before */
} train_prepared_t;

/* Reads and checks model, data and init, then writes the files above: everything a user can get
 * wrong is found before anything is written. Without a run_dir one is made (train_dir.h), and the
 * configuration has it then, as it has the number of replicas. Phases are shown on `progress`,
 * which may be NULL. ERR_ARG: there is a run in run_dir already. */
int train_prepare(train_config_t *config, progress_t *progress, train_prepared_t *out, err_t *err);

/* The same for a run that is gone on with (train_resume.h): its files are there. */
int train_prepare_again(train_config_t *config, progress_t *progress, train_prepared_t *out,
                        err_t *err);
void train_prepared_fini(train_prepared_t *self);

#endif
