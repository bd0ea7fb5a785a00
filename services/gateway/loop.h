/* The gateway's reactor: HTTP, what loaders and engines tell, time, signals. */
#ifndef GATEWAY_LOOP_H
#define GATEWAY_LOOP_H

#include "gateway/config.h"
#include "gateway/loader.h"

/* Run until a signal; -1: a model cannot be served, or the address not be listened at. */
int loop_run(const gateway_config_t *config, int signal_fd, err_t *err);

/* How a model of the configuration is loaded; the path is borrowed. */
loader_options_t loop_loader_options(const gateway_config_t *config, const char *path);

#endif
