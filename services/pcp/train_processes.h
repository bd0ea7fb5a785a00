/* The services of one run as child processes over ipc:// sockets. */
#ifndef PCP_TRAIN_PROCESSES_H
#define PCP_TRAIN_PROCESSES_H

#include "pcp/children.h"
#include "pcp/train_prepare.h"

/* Start shepherd, aggregators, compiler and workers, found beside this program. The caller stops and
 * reaps them, also after an error. */
int train_processes_start(const train_config_t *config, const train_prepared_t *prepared,
                          children_t *children, err_t *err);

#endif
