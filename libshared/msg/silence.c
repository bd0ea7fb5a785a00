/* Signs of life, ends of connections, and what is said of an aggregator that answers nothing or not yet. */
#include "msg/silence.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

/* Bytes that pass are a sign of life, though no message is whole yet; but not those of what we send
 * again and again because it is not ready there. */
void silence_look(shard_t *shard, int64_t now)
{
    enum { EVERY_MS = 100 };
    if (now - shard->looked_ms < EVERY_MS) return;
    shard->looked_ms = now;
    if (!progress_made(&shard->progress)) return;
    shard->alive_ms = now;
    shard->n_asked = 0;
    for (int i = 0; i < MSG_REQUESTS; i++)
        if (shard->slot[i].used && shard->slot[i].put_off) return;
    shard->heard_ms = now;
}

void silence_lose(shard_t *shard)
{
    shard->question = 0;
    shard->n_asked = 0;
    shard->takes = false; /* the next one behind this address may be of another version */
    for (int i = 0; i < MSG_REQUESTS; i++)
        shard->slot[i].lost |= shard->slot[i].used && !shard->slot[i].again_ms;
}

/* What was open when a connection ended is lost, all of it; and nothing else is. */
void silence_hear_ends(shard_t *shard)
{
    progress_hear(&shard->progress);
    if (shard->ended == shard->progress.ended) return;
    shard->ended = shard->progress.ended;
    silence_lose(shard);
}

static void on_unanswered(void *user, const char *text, int again_s)
{
    shard_t *shard = user;
    snprintf(shard->why, sizeof shard->why, ": %s", text);
    log_event(LOG_WARN, "unreachable", "text=\"%s\" again_s=%d", text, again_s);
}

/* An aggregator that is silent may be none: why is found out beside the transfer. */
void silence_ask_why(shard_t *shard, int64_t now)
{
    enum { MOMENT_MS = 300 };
    bool silent = shard->open && now - shard->alive_ms > MOMENT_MS;
    if (silent && !shard->unanswered)
        shard->unanswered = unanswered_new(shard->endpoint, on_unanswered, shard, NULL);
    if (!shard->unanswered) return;
    if (silent && !shard->silent) {
        unanswered_begin(shard->unanswered);
        unanswered_heard(shard->unanswered, false); /* one that is there and slow is no news */
    }
    if (!silent && shard->silent) unanswered_end(shard->unanswered);
    if (!silent) *shard->why = '\0';
    shard->silent = silent;
    unanswered_tick(shard->unanswered);
}

void silence_waits(data_client_t *self, size_t s, const char *text)
{
    enum { EVERY_MS = 10000 };
    shard_t *shard = &self->shard[s];
    int64_t now = clock_mono_ms();
    if (!*text && !shard->said_ms) return;
    if (*text && shard->said_ms && now - shard->said_ms < EVERY_MS) return;
    shard->said_ms = *text ? now : 0;
    char *full = *text ? mem_printf("aggregator of shard %zu, which cannot write: %s", s, text)
                       : mem_strdup("");
    if (*text) log_event(LOG_WARN, "waiting", "for=\"%s\"", full);
    if (self->options.waits) self->options.waits(self->options.user, full);
    free(full);
}
