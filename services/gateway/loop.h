/* The gateway's reactor: HTTP, what loaders and engines tell, time, signals. */
#ifndef GATEWAY_LOOP_H
#define GATEWAY_LOOP_H

#include "gateway/config.h"

/* Run until a signal; -1: a model cannot be served, or the address not be listened at. */
int loop_run(const gateway_config_t *config, int signal_fd, err_t *err);

#endif
