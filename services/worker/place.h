/* Which device a worker trains on. */
#ifndef WORKER_PLACE_H
#define WORKER_PLACE_H

#include "runtime/device.h"
#include "worker/config.h"

/* By --device and --target, or this machine's best target; config->target is then the target, as text, and
 * *info what the device is. ERR_UNSUPPORTED: it is not there, or does not run the target; ERR_ARG:
 * the flags contradict each other, or name nothing. */
int worker_place(worker_config_t *config, device_place_t *place, device_info_t *info, err_t *err);

#endif
