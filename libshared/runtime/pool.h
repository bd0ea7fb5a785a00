/* A fixed set of threads that run one piece of work at a time.
 *
 * pool_run cuts [0, extent) into whole grains (the last may be short). Each thread starts on its
 * own stretch of them, so that it meets the same rows in one step after another, and then takes
 * over what others have not begun: a core that something else keeps busy delays nobody, and a
 * thread that is still asleep is not waited for. Which thread runs a range is therefore not
 * determined, nor how grains are joined to ranges; the work must not depend on it. The caller is
 * worker 0. Between pieces of work the threads spin for a few microseconds, then sleep. One
 * caller at a time; several pools may live in a process. */
#ifndef RUNTIME_POOL_H
#define RUNTIME_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef struct pool pool_t;

/* Called with disjoint ranges of whole grains, by `worker` in [0, threads). */
typedef void pool_fn(void *context, int64_t begin, int64_t end, int worker);

/* Cores that this process may use (base/cpus.h), at most POOL_MAX_THREADS. */
int pool_cores(void);

/* threads in [1, POOL_MAX_THREADS]. With `pin`, worker w > 0 is bound to the w-th core of the
 * affinity mask; the caller's thread is never bound. ERR_ARG, ERR_MEMORY (no more threads). */
enum { POOL_MAX_THREADS = 1024 };
pool_t *pool_new(int threads, bool pin, err_t *err);

/* Waits for the threads to end; must not be called while pool_run runs. */
void pool_destroy(pool_t **self_p);

int pool_threads(const pool_t *self);

/* Returns when every range is done; allocates nothing. extent <= 0 does nothing; grain < 1 counts
 * as 1. fn must not call pool_run on the same pool. */
void pool_run(pool_t *self, pool_fn *fn, void *context, int64_t extent, int64_t grain);

/* The same in fewer ranges, none below a quarter of a thread's stretch but its last: for work that
 * prepares something for each range. */
void pool_run_long(pool_t *self, pool_fn *fn, void *context, int64_t extent, int64_t grain);

/* From the next pool_run on, tell `watch` of every range when it is done: who ran it, when, in
 * seconds of clock_mono_s, and the CPU time it took. Called by the thread that ran it. NULL: no
 * more. Costs pool_run one comparison when off. */
typedef void pool_watch_fn(void *user, int worker, double begin, double end, double cpu);
void pool_watch(pool_t *self, pool_watch_fn *watch, void *user);

#endif
