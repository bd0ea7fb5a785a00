/* One owner of a store at a time: opens it, leads or stands by, renews its term, writes. */
#include "shepherd/records/leadership.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hand_over.h"
#include "base/rng.h"

enum { BACK_OFF_MS = 50, BACK_OFF_MAX_MS = 2000 };

/* --- The machine --- */

static const struct {
    leadership_step_t from;
    leadership_went_t went;
    leadership_step_t to;
} table[] = {
    {LEADERSHIP_OPEN, WENT_WELL, LEADERSHIP_PREPARE},
    {LEADERSHIP_OPEN, WENT_BAD, LEADERSHIP_END},
    {LEADERSHIP_PREPARE, WENT_WELL, LEADERSHIP_ACQUIRE},
    {LEADERSHIP_PREPARE, WENT_AWAY, LEADERSHIP_PREPARE},
    {LEADERSHIP_PREPARE, WENT_BAD, LEADERSHIP_END},
    {LEADERSHIP_ACQUIRE, WENT_WELL, LEADERSHIP_LOAD},
    {LEADERSHIP_ACQUIRE, WENT_OTHER, LEADERSHIP_ACQUIRE},
    {LEADERSHIP_ACQUIRE, WENT_AWAY, LEADERSHIP_ACQUIRE},
    {LEADERSHIP_ACQUIRE, WENT_BAD, LEADERSHIP_END},
    {LEADERSHIP_LOAD, WENT_WELL, LEADERSHIP_RENEW},
    {LEADERSHIP_LOAD, WENT_AWAY, LEADERSHIP_LOAD},
    {LEADERSHIP_LOAD, WENT_BAD, LEADERSHIP_END},
    {LEADERSHIP_RENEW, WENT_WELL, LEADERSHIP_WRITE},
    {LEADERSHIP_RENEW, WENT_IDLE, LEADERSHIP_WRITE},
    {LEADERSHIP_RENEW, WENT_AWAY, LEADERSHIP_WRITE},
    {LEADERSHIP_RENEW, WENT_BAD, LEADERSHIP_END},
    {LEADERSHIP_WRITE, WENT_WELL, LEADERSHIP_RENEW},
    {LEADERSHIP_WRITE, WENT_IDLE, LEADERSHIP_RENEW},
    {LEADERSHIP_WRITE, WENT_AWAY, LEADERSHIP_RENEW},
    {LEADERSHIP_WRITE, WENT_BAD, LEADERSHIP_END},
};

leadership_step_t leadership_next(leadership_step_t step, leadership_went_t went)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].from == step && table[i].went == went) return table[i].to;
    return LEADERSHIP_IMPOSSIBLE;
}

/* It will do again later: the database is gone, or its disk is full; or, once we lead and so have
 * written, its file has become unwritable. */
leadership_went_t leadership_error(const leadership_t *self, const err_t *err)
{
    bool passes = err->code == ERR_NET || (err->code == ERR_IO && self->leads);
    return passes && self->step != LEADERSHIP_OPEN ? WENT_AWAY : WENT_BAD;
}

/* Longer each time, but so that a leader is back within its term. */
static int64_t back_off(leadership_t *self, int64_t now_ms)
{
    int64_t most = self->ttl_ms / 3 + 1;
    self->wait_ms = self->wait_ms ? 2 * self->wait_ms : BACK_OFF_MS;
    if (self->wait_ms > BACK_OFF_MAX_MS) self->wait_ms = BACK_OFF_MAX_MS;
    if (self->wait_ms > most) self->wait_ms = most;
    double jitter = rng_uniform((uint64_t)now_ms, 0) / 4;
    return self->wait_ms + (int64_t)((double)self->wait_ms * jitter);
}

/* The database did not answer. */
static void went_away(leadership_t *self, int64_t now_ms, leadership_news_t *news)
{
    news->lost = self->wait_ms == 0;
    news->rest_ms = back_off(self, now_ms);
    /* The leader from before gets one term to come back. */
    if (self->step == LEADERSHIP_ACQUIRE && self->stands_by) news->rest_ms += self->ttl_ms;
}

/* The database did. */
static void answered(leadership_t *self, leadership_went_t went, int64_t begun_ms,
                     leadership_news_t *news)
{
    news->back = self->wait_ms > 0;
    self->wait_ms = 0;
    if (went == WENT_OTHER) {
        news->standby = !self->stands_by;
        self->stands_by = true;
        news->rest_ms = self->ttl_ms / 6 + 1;
        return;
    }
    if (self->step == LEADERSHIP_ACQUIRE) self->leads = true;
    if (self->step == LEADERSHIP_ACQUIRE || self->step == LEADERSHIP_RENEW)
        self->renew_ms = begun_ms + self->ttl_ms / 3;
    news->leads = self->step == LEADERSHIP_LOAD;
}

leadership_news_t leadership_went(leadership_t *self, leadership_went_t went, int64_t begun_ms,
                                  int64_t now_ms)
{
    leadership_news_t news = {.failed = went == WENT_BAD};
    leadership_step_t next = leadership_next(self->step, went);
    assert(next != LEADERSHIP_IMPOSSIBLE);
    if (went == WENT_AWAY) went_away(self, now_ms, &news);
    if (went == WENT_WELL || went == WENT_OTHER) answered(self, went, begun_ms, &news);
    self->step = next;
    return news;
}

/* --- The actor --- */

typedef struct {
    leadership_t *machine;
    const leadership_owner_t *owner;
    zsock_t *pipe;
    bool stopped;
    err_t away; /* why the database is away, as was said last */
} driver_t;

/* Take what waits, for at most timeout_ms, at once when there is some; false: leave. */
static bool hear(driver_t *self, int64_t timeout_ms)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(self->pipe), .events = ZMQ_POLLIN};
    while (!self->stopped && zmq_poll(&item, 1, timeout_ms > 0 ? (long)timeout_ms : 0) > 0) {
        char *command = NULL;
        void *pointer = NULL;
        int rc = zsock_recv(self->pipe, "sp", &command, &pointer);
        self->stopped = rc < 0 || strcmp(command, "WRITE") != 0;
        free(command);
        if (!self->stopped) self->owner->queue(self->owner->user, take_over(pointer));
        timeout_ms = 0;
    }
    return !self->stopped;
}

/* Nothing is to be done for so long, but to hear the end. */
static void rest(driver_t *self, int64_t ms)
{
    int64_t until = clock_mono_ms() + ms;
    while (hear(self, until - clock_mono_ms()))
        if (clock_mono_ms() >= until) return;
}

static void step(driver_t *self)
{
    leadership_t *machine = self->machine;
    const leadership_owner_t *owner = self->owner;
    leadership_step_t now = machine->step;
    int64_t begun_ms = clock_mono_ms();
    leadership_went_t went = WENT_WELL;
    err_t err = {0};
    if (now == LEADERSHIP_RENEW && begun_ms < machine->renew_ms)
        went = WENT_IDLE;
    else if (owner->take(owner->user, now, &went, &err) < 0)
        went = leadership_error(machine, &err);
    leadership_news_t news = leadership_went(machine, went, begun_ms, clock_mono_ms());
    if (went == WENT_AWAY) {
        news.why = !news.lost && strcmp(err.text, self->away.text) != 0;
        self->away = err;
    }
    owner->tell(owner->user, &news, &err);
    if (went != WENT_AWAY && went != WENT_BAD) owner->took(owner->user, now);
    if (news.rest_ms > 0) rest(self, news.rest_ms);
}

bool leadership_run(leadership_t *self, const leadership_owner_t *owner, zsock_t *pipe)
{
    driver_t driver = {.machine = self, .owner = owner, .pipe = pipe};
    while (!driver.stopped && self->step != LEADERSHIP_END) {
        if (self->step == LEADERSHIP_RENEW) {
            bool busy = owner->has_work(owner->user);
            if (!hear(&driver, busy ? 0 : self->renew_ms - clock_mono_ms())) break;
        }
        step(&driver);
    }
    bool ended = driver.stopped;
    while (!driver.stopped) hear(&driver, 1000); /* failed: told, waiting for the end */
    return ended;
}

void leadership_hand(zactor_t *actor, void *item)
{
    zsock_send(actor, "sp", "WRITE", hand_over(item));
}
