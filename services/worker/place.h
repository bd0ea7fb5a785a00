/* Which device a worker trains on. */
#ifndef WORKER_PLACE_H
#define WORKER_PLACE_H

#include "runtime/device.h"
#include "worker/config.h"

/* By --device and --target, or this machine's best target; config->target is then the target, as text. The
 * device is there. ERR_UNSUPPORTED: it is not, or it does not run the target; ERR_ARG: the flags
 * contradict each other, or name nothing. */
int worker_place(worker_config_t *config, device_place_t *place, err_t *err);

#endif
