/* Who is silent for too long is lost; but not because we could not listen.
 *
 * An observer that is held up, by a full processor or a full line, finds everybody silent at once, and would
 * give all leases again. So silence is judged only when all that has arrived is read, and where many are
 * silent together it is our own clock that is in doubt: then nobody is lost until no one of them has spoken
 * for one more time-out. Who lives is heard late, and puts the end of the doubt off; who is dead is not. */
#include "base/log.h"
#include "shepherd/joining/members.h"
#include "shepherd/shepherd.h"

enum {
    FEW = 8,    /* so many at once, ... */
    SHARE = 10, /* and this part of the members: they do not die together */
    MOST = 15,  /* time-outs that a doubt lasts, whoever speaks */
    PARTS = 16, /* how often in a time-out all are looked at */
    UNREAD = 4, /* time-outs after which what is read counts, though more waits */
};

/* Everybody waits for a lost aggregator, so it gets more patience: a slow disk may hold it up. */
static int64_t patience_ms(const shepherd_t *self, const member_row_t *row)
{
    return self->config->timeout_ms * (row->kind == MSG__KIND__KIND_AGGREGATOR ? 4 : 1);
}

static bool is_silent(const shepherd_t *self, const member_row_t *row)
{
    return self->now_ms - row->heard_ms > patience_ms(self, row);
}

static void heard(shepherd_t *self, member_row_t *row)
{
    silence_t *silence = &self->roster.silence;
    if (silence->doubt_ms && is_silent(self, row)) silence->back_ms = self->now_ms;
    row->heard_ms = self->now_ms;
}

msg_who_t member_who(void *state, const msg_peer_t *from)
{
    shepherd_t *self = state;
    member_row_t *row = member_by_peer(&self->roster, from);
    if (row) heard(self, row);
    return row ? msg_who_of(row->kind, &row->peer) : MSG__KIND__KIND_NONE;
}

static void begin_doubt(shepherd_t *self, size_t n)
{
    silence_t *silence = &self->roster.silence;
    silence->doubt_ms = silence->back_ms = self->now_ms;
    log_event(
        LOG_WARN, "many_silent",
        "silent=%zu members=%zu text=\"so many at once: it may be us who cannot hear; they are "
        "lost when none of them has spoken for %lld ms more\"",
        n, self->roster.members.n, (long long)self->config->timeout_ms);
}

/* May those who are silent be lost now? */
static bool is_sure(shepherd_t *self, size_t n_silent)
{
    silence_t *silence = &self->roster.silence;
    if (n_silent < FEW || n_silent * SHARE < self->roster.members.n) {
        silence->doubt_ms = 0;
        return true;
    }
    if (!silence->doubt_ms) begin_doubt(self, n_silent);
    return self->now_ms - silence->back_ms > self->config->timeout_ms ||
           self->now_ms - silence->doubt_ms > MOST * self->config->timeout_ms;
}

/* Is all read that has arrived, or has it been a hopeless wish for long? */
static bool listens(shepherd_t *self)
{
    silence_t *silence = &self->roster.silence;
    if (!self->unread)
        silence->unread_ms = 0;
    else if (!silence->unread_ms)
        silence->unread_ms = self->now_ms;
    return !self->unread || self->now_ms - silence->unread_ms > UNREAD * self->config->timeout_ms;
}

void members_expire(shepherd_t *self)
{
    silence_t *silence = &self->roster.silence;
    if (self->now_ms - silence->looked_ms < self->config->timeout_ms / PARTS || !listens(self))
        return;
    silence->looked_ms = self->now_ms;
    size_t n = 0;
    for (size_t i = 0; i < self->roster.members.n; i++)
        n += is_silent(self, self->roster.members.at[i]);
    if (!is_sure(self, n)) return;
    for (size_t i = self->roster.members.n; n > 0 && i-- > 0;) {
        if (i >= self->roster.members.n) continue;
        const member_row_t *row = self->roster.members.at[i];
        if (is_silent(self, row)) member_drop(self, row->serial, "silent for too long");
    }
}
