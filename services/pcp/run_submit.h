/* Submitting a run: its files from a prepared directory, named as the front wants them, sent in
 * pieces. */
#ifndef PCP_RUN_SUBMIT_H
#define PCP_RUN_SUBMIT_H

#include <stdbool.h>

#include "base/err.h"
#include "pcp/progress.h"
#include "pcp/run_talk.h"

typedef struct {
    const char *dir;      /* has run.json (pcp train --prepare-only, docs/services.md) */
    const char *key;      /* NULL: the hash of the files */
    const char *name;     /* of the run; NULL: by the key */
    progress_t *progress; /* borrowed; shown once it takes longer than most submissions do */
} run_submission_t;

typedef struct {
    char id[MSG_ID_BYTES];
    bool existed; /* it had been submitted before */
    bool adopted; /* its directory was there already, with the same files */
} run_submitted_t;

/* Repeating it is harmless: one key, one run. ERR_NET, ERR_STATE (refused), ERR_IO and ERR_PARSE
 * (its files). */
int run_submit(run_talk_t *talk, const run_submission_t *submission, run_submitted_t *out,
               err_t *err);

#endif
