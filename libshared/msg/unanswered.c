/* When to ask why nobody answers, and what to say. */
#include "msg/unanswered.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "msg/limits.h"
#include "msg/reach.h"

/* First, the pause after that, which doubles, and the longest. */
enum { FIRST_MS = 700, PAUSE_MS = 2000, PAUSE_MAX_MS = 60000 };

struct unanswered {
    const char *endpoints;
    reach_t *reach;
    unanswered_fn *tell;
    void *user;
    bool waits;               /* nobody is there */
    bool heard, stand_by;     /* somebody was, since then */
    int64_t due_ms, pause_ms; /* when to ask next, how long after that again */
    int64_t asked_ms;         /* the question that is open; 0: none */
};

static void tell(unanswered_t *self, const char *text)
{
    int64_t left_ms = self->due_ms - clock_mono_ms();
    self->tell(self->user, text, left_ms > 0 ? (int)((left_ms + 500) / 1000) : 0);
}

static void on_reached(void *user, const char *endpoint, const char *fault)
{
    unanswered_t *self = user;
    char text[MSG_NAME_BYTES];
    if (!self->waits || (!fault && self->heard && !self->stand_by)) return;
    if (!fault)
        snprintf(text, sizeof text, "%s at %s: %s", self->stand_by ? "no leader" : "no shepherd",
                 endpoint,
                 self->stand_by
                     ? "stand-bys answer, none of them leads; a leader may refuse this key"
                     : "connections are taken there, but HELLO is not answered");
    tell(self, fault ? fault : text);
}

unanswered_t *unanswered_new(const char *endpoints, unanswered_fn *tell, void *user, err_t *err)
{
    unanswered_t *self = mem_calloc(1, sizeof *self);
    *self = (unanswered_t){.endpoints = endpoints, .tell = tell, .user = user};
    self->reach = reach_new(on_reached, self, err);
    if (!self->reach) unanswered_destroy(&self);
    if (self) unanswered_begin(self);
    return self;
}

void unanswered_destroy(unanswered_t **self_p)
{
    unanswered_t *self = *self_p;
    if (!self) return;
    reach_destroy(&self->reach);
    free(self);
    *self_p = NULL;
}

void unanswered_begin(unanswered_t *self)
{
    self->waits = true;
    self->heard = self->stand_by = false;
    self->due_ms = clock_mono_ms() + FIRST_MS;
    self->pause_ms = PAUSE_MS;
    self->asked_ms = 0;
}

void unanswered_end(unanswered_t *self)
{
    self->waits = false;
}

void unanswered_heard(unanswered_t *self, bool stand_by)
{
    self->heard = true;
    self->stand_by = stand_by;
}

static void ask(unanswered_t *self)
{
    char *list = mem_strdup(self->endpoints), *rest = NULL;
    for (char *one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest))
        reach_ask(self->reach, one);
    free(list);
}

void unanswered_tick(unanswered_t *self)
{
    int64_t now = clock_mono_ms();
    reach_hear(self->reach);
    bool open = reach_open(self->reach) > 0;
    if (!open) self->asked_ms = 0;
    if (!self->waits) return;
    if (self->asked_ms && now - self->asked_ms > REACH_MS + 100) {
        char text[MSG_NAME_BYTES];
        snprintf(text, sizeof text, "cannot reach %s (no answer from the name service yet)",
                 self->endpoints);
        tell(self, text);
        self->asked_ms = 0;
    }
    if (now < self->due_ms) return;
    self->due_ms = now + self->pause_ms;
    self->pause_ms = self->pause_ms * 2 < PAUSE_MAX_MS ? self->pause_ms * 2 : PAUSE_MAX_MS;
    self->asked_ms = now;
    if (!open) ask(self); /* else the threads of the last time still wait */
}
