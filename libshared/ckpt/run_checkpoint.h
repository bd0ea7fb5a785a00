/* The checkpoint that a path means: one round's directory, a directory of several, or a run's. */
#ifndef CKPT_RUN_CHECKPOINT_H
#define CKPT_RUN_CHECKPOINT_H

#include "ckpt/checkpoint.h"

/* Of several the newest that is whole (checkpoint_open); checkpoint_path tells which. ERR_IO: there
 * is none, with what the path is instead. */
checkpoint_t *run_checkpoint_open(const char *path, err_t *err);

/* Where the newest one of a run or a directory of several lies now (what `latest` names). Returns,
 * caller frees; NULL: there is none, or the path is one round's directory. */
char *run_checkpoint_newest(const char *path);

#endif
