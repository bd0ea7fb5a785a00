/* Runners: plans' code in processes of their own, so that it can spoil nothing but what it computes.
 *
 *   this process            keeper                      runner, one for each exec
 *   sockets, keys, states   forks runners, ends them    arena, threads, the plan's code
 *
 * The keeper is this program started again, before this process has threads, sockets or secrets: it has none of them,
 * no capabilities, and reads the system's libraries at most. A runner gets ready (threads, BLAS, arena), enters the
 * narrowest cage (base/cage_code.h) and only then loads the code. It hears of a plan's steps by one message,
 * answers by one, and shares a window of a megabyte with this process, through which batches, parameters and
 * states go; its arena is its own, so that it may lie in huge pages. What comes back is bytes of lengths that this
 * process has asked for; no length, address or index of the runner's is used.
 *
 * A runner that crashes, ends, answers nonsense or has to be ended because nobody wants it any more is ERR_CRASH for
 * every call of its exec from then on: destroy it, a new one gets a new runner. Runners end with the keeper, and the
 * keeper with the thread that started it, however that ends. */
#ifndef RUNTIME_RUNNER_H
#define RUNTIME_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef struct runners runners_t;

/* First in main: does not return in a process that was started as a keeper. */
void runners_main(int argc, char **argv);

/* Start the keeper: before threads, sockets, secrets, and before this process enters a cage that refuses new
 * processes. NULL with ERR_UNSUPPORTED: what this system lacks. */
runners_t *runners_start(err_t *err);
void runners_stop(runners_t **self_p); /* ends all runners */

bool runners_caged(const runners_t *self); /* false: in builds that cannot be (cage_possible) */

/* System calls that the cages refused since the start, as far as the code let them be counted; *call (NULL: not
 * wanted): number of the last one. Any thread. */
uint64_t runners_refusals(const runners_t *self, int *call);

/* Process id of the last runner, for logs and tests. */
int runners_last(const runners_t *self);

#endif
