/* The directory of a run: found by name or as the newest, claimed for one process at a time, never
 * begun in twice. */
#ifndef PCP_TRAIN_DIR_H
#define PCP_TRAIN_DIR_H

#include <stdbool.h>

#include "base/err.h"

#define TRAIN_RUNS "runs"             /* where runs without --run-dir get a directory */
#define TRAIN_EXPERIMENT "train.json" /* pcp train's options, as the run was begun with them */

/* Something of a run lies there: records, objects, checkpoints. Being prepared is not enough. */
bool train_dir_has_run(const char *dir);
/* pcp train prepared it: it can be gone on with. */
bool train_dir_is_ours(const char *dir);

/* A new one under TRAIN_RUNS, by the time and, where that is taken, a random suffix. Returns,
 * caller frees; NULL with ERR_IO. */
char *train_dir_new(err_t *err);

/* Make it where it is missing, and lock it until the process ends. Returns the lock; -1 with
 * ERR_STATE: another process trains in it; ERR_IO. */
int train_dir_claim(const char *dir, err_t *err);

/* Remove a directory that was made and claimed in vain: one where no run can begin. */
void train_dir_give_up(const char *dir);

/* Remove what writers that were killed have left in a directory that we have claimed: temporary
 * files, halves of checkpoints. */
void train_dir_sweep(const char *dir);

/* The directory under TRAIN_RUNS that pcp train began or went on with last; `model` (may be NULL):
 * of runs of this model. Returns, caller frees; NULL with ERR_ARG: there is none. */
char *train_dir_newest(const char *model, err_t *err);

/* The path from the root; of a file that is there without links. NULL of NULL. Returns, caller
 * frees.
 */
char *train_dir_absolute(const char *path);

/* Two files have the same bytes. */
bool train_dir_same(const char *a, const char *b);

#endif
