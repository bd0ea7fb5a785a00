/* pcp run delete. */
#ifndef PCP_RUN_DELETE_H
#define PCP_RUN_DELETE_H

#include <stdbool.h>

#include "pcp/run_talk.h"

/* Tell what goes, ask at the terminal unless `yes`, delete, tell what is free. ERR_ARG: there is no
 * terminal to ask at; ERR_STATE: refused, or the answer was no. */
int run_delete(run_talk_t *talk, const char *id, bool yes, err_t *err);

#endif
