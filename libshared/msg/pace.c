/* Windows by rate times delay, and time-outs, of one aggregator. */
#include "msg/pace.h"

#include <math.h>

#include "msg/limits.h"

enum { FIRST = MSG_WINDOW_FIRST * MSG_CHUNK_BYTES, MOST = MSG_WINDOW_BYTES };
static const double GAIN = 2;

void pace_init(pace_t *self)
{
    *self = (pace_t){.window = FIRST};
}

bool pace_allows(const pace_t *self)
{
    return self->open == 0 || (!self->dry && self->open < self->window);
}

pace_sent_t pace_send(pace_t *self, uint64_t bytes, double now_ms)
{
    if (self->open == 0) self->delivered_ms = now_ms;
    pace_sent_t sent = {.at_ms = now_ms,
                        .delivered = self->delivered,
                        .delivered_ms = self->delivered_ms,
                        .bytes = bytes,
                        .alone = self->open == 0};
    self->open += bytes;
    return sent;
}

void pace_lose(pace_t *self, const pace_sent_t *sent)
{
    self->open -= sent->bytes < self->open ? sent->bytes : self->open;
}

double pace_rate(const pace_t *self)
{
    double best = 0;
    for (int i = 0; i < PACE_ROUNDS; i++)
        if (self->rate[i] > best) best = self->rate[i];
    return best;
}

/* RFC 6298, section 2. */
static void smooth(pace_t *self, double ms)
{
    if (self->n++ == 0) {
        self->mean_ms = ms;
        self->spread_ms = ms / 2;
        return;
    }
    self->spread_ms += (fabs(ms - self->mean_ms) - self->spread_ms) / 4;
    self->mean_ms += (ms - self->mean_ms) / 8;
}

static void measure_delay(pace_t *self, const pace_sent_t *sent, double ms, double now_ms)
{
    if (self->n == 0 || ms <= self->base_ms || sent->alone) {
        self->base_ms = ms;
        self->base_at = now_ms;
        self->dry = false;
    }
    if (now_ms - self->base_at > PACE_BASE_MS) self->dry = true;
}

/* What is less than half of the window, as the end of a transfer, says nothing of the line. */
static void end_round(pace_t *self)
{
    bool tried = self->delivered - self->round_begin >= self->window / 2;
    self->round_begin = self->round_end = self->delivered;
    if (!tried) return;
    self->round++;
    self->rate[self->round % PACE_ROUNDS] = 0;
}

void pace_answer(pace_t *self, const pace_sent_t *sent, bool came, double now_ms)
{
    double ms = now_ms - sent->at_ms, took = now_ms - sent->delivered_ms;
    pace_lose(self, sent);
    if (!came) {
        smooth(self, ms);
        return;
    }
    measure_delay(self, sent, ms, now_ms);
    smooth(self, ms);
    self->delivered += sent->bytes;
    self->delivered_ms = now_ms;
    if (took < 0.1) took = 0.1; /* the clock's own error must not count as speed */
    double rate = (double)(self->delivered - sent->delivered) / took;
    double *best = &self->rate[self->round % PACE_ROUNDS];
    if (rate > *best) *best = rate;
    if (sent->delivered >= self->round_end) end_round(self);
    double window = GAIN * pace_rate(self) * self->base_ms;
    self->window = window < FIRST ? FIRST : window > MOST ? MOST : (uint64_t)window;
}

int64_t pace_patience(const pace_t *self, int n)
{
    int64_t wait = (int64_t)(self->mean_ms + 4 * self->spread_ms), most = MSG_ASK_MAX_MS;
    if (wait < MSG_ASK_MS) wait = MSG_ASK_MS;
    if (most < wait) most = wait;
    for (int i = 1; i < n && wait < most; i++) wait *= 2;
    return wait < most ? wait : most;
}
