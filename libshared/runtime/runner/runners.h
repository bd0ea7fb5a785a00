/* Runners as their owner has them. */
#ifndef RUNTIME_RUNNER_RUNNERS_H
#define RUNTIME_RUNNER_RUNNERS_H

#include <sys/types.h>

#include "runtime/runner.h"
#include "runtime/runner/wire.h"

typedef struct {
    pid_t pid;
    int channel, said; /* this process's ends */
    window_t *window;
    uint64_t refusals; /* counted already */
} runner_end_t;

/* A fresh runner. ERR_DEVICE: the keeper is gone; ERR_MEMORY: no more processes or memory. Any thread. */
int runners_open(runners_t *self, runner_end_t *out, err_t *err);

/* Count what the window says of refusals. */
void runners_count(runners_t *self, runner_end_t *end);

/* End it, whatever it does, and close this process's ends; *status: waitpid's. */
void runners_end(runners_t *self, runner_end_t *end, int *status);

#endif
