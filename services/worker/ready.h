/* What a lease or an evaluation needs before its first step: aggregators, plan, tokens, parameters. Most of it
 * is at hand already. A part of the trainer (worker/trainer.h). */
#ifndef WORKER_READY_H
#define WORKER_READY_H

#include "worker/trainer.h"

/* What leases and evaluations have in common. */
typedef struct {
    char *const *data;
    size_t n_data;
    const uint64_t *bounds;
    size_t n_bounds;
    uint64_t run;
    uint32_t round, down_codec;
    uint64_t down_exact_from;
    const char *plan, *seal;
    const Msg__TokenSource *tokens;
    bool training;
} work_t;

/* The clients and the plan's bounds alone, for a result that is only handed in again. */
int ready_to_hand_in(trainer_t *self, const work_t *work, err_t *err);

/* All of it; what is missing is fetched, the parameters into `start`. Everything in `work` may be anything. */
int ready(trainer_t *self, const work_t *work, err_t *err);

/* From now on, until the next lease, fetch the parameters of that round, which this work's update leads to, if the trainer
 * may; one that is behind, first what leads to those. The round before it is committed. */
void ready_ahead(trainer_t *self, const work_t *work, uint32_t round);

/* Fetch the windows of that feed, too, until the next lease begins. */
void ready_windows(trainer_t *self, const work_t *work, const feed_t *feed);

/* Where the tokens of a lease or an evaluation are said; NULL: nowhere. */
const Msg__TokenSource *ready_source(const Msg__TokenSource *tokens, const Msg__TokenSource *wide);

/* How the source's tokens become batches. */
int ready_layout(const trainer_t *self, const Msg__TokenSource *tokens, batch_layout_t *out,
                 err_t *err);
data_order_t ready_order(const Msg__TokenSource *tokens, const batch_layout_t *layout);

/* It is made again by the next lease; what it held is gone. */
void ready_drop_engine(trainer_t *self);

/* The hooks, where there are any. */
bool ready_stopped(void *trainer); /* an update on its way up also by `outdated` */
bool ready_outdated(const trainer_t *self);

#endif
