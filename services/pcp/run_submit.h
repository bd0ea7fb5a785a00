/* Submitting a run: its files from a prepared directory, named as the front wants them, sent in
 * pieces. */
#ifndef PCP_RUN_SUBMIT_H
#define PCP_RUN_SUBMIT_H

#include <stdbool.h>

#include "base/err.h"
#include "pcp/run_talk.h"

typedef struct {
    const char *dir;  /* has run.json (pcp train --prepare-only, docs/services.md) */
    const char *key;  /* NULL: the hash of the files */
    const char *name; /* of the run; NULL: by the key */
} run_submission_t;

/* Repeating it is harmless: one key, one run. *existed: it had been submitted before. Fills `id`
 * (MSG_ID_BYTES). ERR_NET, ERR_STATE (refused), ERR_IO and ERR_PARSE (its files). */
int run_submit(run_talk_t *talk, const run_submission_t *submission, char *id, bool *existed,
               err_t *err);

#endif
