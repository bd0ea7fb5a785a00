/* When a worker that ended starts again: at once after a stable life, then by exponential back-off
 * with jitter, and never again once it ended too often in too short a time. Pure: time is passed
 * in. */
#ifndef SUPERVISOR_RESTART_H
#define SUPERVISOR_RESTART_H

#include <stdint.h>

enum { RESTART_MAX_EXITS = 64 };

typedef struct {
    int64_t base_ms, max_ms; /* back-off of the second short life in a row, and its bound */
    int64_t stable_ms;       /* a life this long ends a row of short ones */
    int64_t window_ms;       /* give up at max_exits ends within it */
    int max_exits;           /* 1 to RESTART_MAX_EXITS */
} restart_policy_t;

typedef struct {
    int short_lives;                     /* in a row */
    int n_exits;                         /* since the last reset */
    int64_t exits_ms[RESTART_MAX_EXITS]; /* a ring: end i is at i % max_exits */
} restart_t;

enum { RESTART_NEVER = -1 };

/* A process that lived life_ms ended at now_ms. Returns the wait in ms until the next start, or
 * RESTART_NEVER. chance: uniform in [0, 1), spreads the wait over its upper half. */
int64_t restart_wait(restart_t *self, const restart_policy_t *policy, int64_t now_ms,
                     int64_t life_ms, double chance);

#endif
