/* The inner learning rate of a step. */
#ifndef WORKER_SCHEDULE_H
#define WORKER_SCHEDULE_H

#include "base/err.h"
#include "proto/control.pb-c.h"

/* ERR_ARG names a kind that is not known or a number out of range. */
int schedule_check(const Msg__Schedule *self, err_t *err);

/* Learning rate of step t, from 0, of total_steps; w = warmup. A checked schedule; pure.
 *   t < w      lr (t + 1) / (w + 1)
 *   constant   lr
 *   cosine     min_lr + (lr - min_lr) (1 + cos(pi r)) / 2,  r = (t - w) / (total - w)    (nanoGPT)
 *   wsd        lr until the last decay_fraction of the steps, then
 *              min_lr + (lr - min_lr) (1 - sqrt x),  x = share of the decay that is done
 *              (arXiv 2405.18392) */
double schedule_lr(const Msg__Schedule *self, uint64_t t);

#endif
