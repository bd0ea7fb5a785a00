/* How fast one aggregator answers: how many requests it is given at a time, and how long its
 * silence may last before they are sent again. Plain numbers; the caller has the clock.
 *
 * Times of answers are smoothed as RFC 6298 does. Each sending of a request has a number of its
 * own, so that an answer to one that was repeated is a sample like any other. */
#ifndef MSG_PACE_H
#define MSG_PACE_H

#include <stdint.h>

typedef struct {
    int window;                /* requests that may be open */
    int64_t n;                 /* answers so far */
    double mean_ms, spread_ms; /* smoothed */
    int64_t least_ms;
} pace_t;

void pace_init(pace_t *self);

/* An answer came so long after its request. The window grows while answers come at once, and
 * shrinks when requests only wait for each other: a slow link is full with two. */
void pace_answer(pace_t *self, int64_t ms);

/* How long nothing at all may arrive before a request that was sent so often goes again. */
int64_t pace_patience(const pace_t *self, int sent);

#endif
