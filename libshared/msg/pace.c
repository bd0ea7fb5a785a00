/* Windows and time-outs of one aggregator. */
#include "msg/pace.h"

#include <math.h>

#include "msg/limits.h"

void pace_init(pace_t *self)
{
    *self = (pace_t){.window = MSG_WINDOW_FIRST};
}

void pace_answer(pace_t *self, int64_t ms)
{
    double off = fabs((double)ms - self->mean_ms);
    if (self->n++ == 0) {
        self->mean_ms = (double)ms;
        self->spread_ms = (double)ms / 2;
        self->least_ms = ms;
    } else {
        self->spread_ms += (off - self->spread_ms) / 4;
        self->mean_ms += ((double)ms - self->mean_ms) / 8;
    }
    if (ms < self->least_ms) self->least_ms = ms;
    int64_t good = 3 * self->least_ms / 2, bad = 3 * self->least_ms;
    if (good < MSG_QUEUE_MS) good = MSG_QUEUE_MS;
    if (bad < 2 * MSG_QUEUE_MS) bad = 2 * MSG_QUEUE_MS;
    if (ms <= good && self->window < MSG_WINDOW) self->window++;
    if (ms > bad && self->window > MSG_WINDOW_FIRST) self->window--;
}

int64_t pace_patience(const pace_t *self, int sent)
{
    int64_t wait = (int64_t)(self->mean_ms + 4 * self->spread_ms), most = MSG_RESEND_MAX_MS;
    if (wait < MSG_RESEND_MS) wait = MSG_RESEND_MS;
    if (most < wait) most = wait;
    for (int i = 1; i < sent && wait < most; i++) wait *= 2;
    return wait < most ? wait : most;
}
