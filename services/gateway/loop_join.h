/* The reactor of an inference member: a gateway's messages, what loaders and engines tell, time, signals. */
#ifndef GATEWAY_LOOP_JOIN_H
#define GATEWAY_LOOP_JOIN_H

#include "gateway/config.h"

/* Run until a signal; -1: a model cannot be served, or the endpoint is none. */
int loop_join_run(const gateway_config_t *config, int signal_fd, err_t *err);

#endif
