/* The worker's cage: it runs code that others have made. */
#ifndef WORKER_CONFINE_H
#define WORKER_CONFINE_H

#include "base/cage.h"
#include "runtime/device.h"
#include "runtime/runner.h"
#include "worker/config.h"

/* Before `confine`, whose cage refuses new processes: runners for the code of plans. *out NULL: it runs in this
 * process, and why->text says why. ERR_STATE: config->cage requires them. */
int confine_code(const worker_config_t *config, const device_ops_t *kind, runners_t **out,
                 err_t *why, err_t *err);

/* Before any thread and socket, for good; the directories are made. config->cage says whether.
 * ERR_STATE: it is required, and the kernel has no such thing. */
int confine(const worker_config_t *config, cage_t *out, err_t *err);

/* When logs have begun: what the cage is, why code has no runners, whether our key's file can be seen. */
void confine_tell(const worker_config_t *config, const cage_t *cage, const err_t *why);

#endif
