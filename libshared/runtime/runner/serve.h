/* A runner's own side. */
#ifndef RUNTIME_RUNNER_SERVE_H
#define RUNTIME_RUNNER_SERVE_H

#include "runtime/runner/wire.h"

/* Do what the channel says until it closes. */
_Noreturn void runner_serve(int channel, window_t *window);

#endif
