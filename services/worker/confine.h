/* The worker's cage: it runs code that others have made. */
#ifndef WORKER_CONFINE_H
#define WORKER_CONFINE_H

#include "base/cage.h"
#include "worker/config.h"

/* Before any thread and socket, for good; the directories are made. config->cage says whether.
 * ERR_STATE: it is required, and the kernel has no such thing. */
int confine(const worker_config_t *config, cage_t *out, err_t *err);

#endif
