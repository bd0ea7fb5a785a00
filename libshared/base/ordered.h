/* Jobs for several threads, whose results are taken in the order in which the jobs were given. The
 * functions are one thread's; only `work` runs in others. */
#ifndef BASE_ORDERED_H
#define BASE_ORDERED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ordered ordered_t;

/* Does a job; thread: a number below n_threads that no other call has at the same time. */
typedef void ordered_fn(void *user, int thread, void *job);

/* At most n_open jobs are given and not taken. user is borrowed. Where no thread can be made, ordered_take
 * does the work. Returns, caller destroys. */
ordered_t *ordered_new(int n_threads, size_t n_open, ordered_fn *work, void *user);
/* Every job has been taken. */
void ordered_destroy(ordered_t **self_p);

bool ordered_full(const ordered_t *self);
void ordered_give(ordered_t *self, void *job); /* it is not full; job is not NULL */
void *ordered_take(ordered_t *self); /* the oldest, when it is done; NULL: there is none */

#endif
