/* The runs' directories into a backup, while they are written to: what appears whole (files of a
 * submission, checkpoints) is copied whole, what is made again by itself (caches, objects) is left
 * out. */
#ifndef PCP_BACKUP_RUNS_H
#define PCP_BACKUP_RUNS_H

#include "pcp/backup_list.h"

typedef struct {
    const char *from; /* the front's runs directory, or the directory of one run */
    const char *to;   /* the backup */
    const char *skip; /* path of a SQLite file, which is copied otherwise; NULL: none */
} backup_runs_t;

/* How many bytes there are to be copied. */
int backup_runs_size(const backup_runs_t *self, int64_t *n_bytes, err_t *err);

/* Copy the runs that the backup does not have yet, so that a second call takes what came after the
 * first. Those that are deleted meanwhile are left out. */
int backup_runs_copy(const backup_runs_t *self, backup_t *backup, err_t *err);

#endif
