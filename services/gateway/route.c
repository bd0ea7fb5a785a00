/* A queue of those that wait, and a list of each host's. */
#include "gateway/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MOST_AGAIN = 8 };

void route_init(route_t *self)
{
    *self = (route_t){0};
    self->last = &self->first;
}

/* --- the queue --- */

static void enqueue(route_t *self, text_t *text)
{
    text->next = NULL;
    *self->last = text;
    self->last = &text->next;
    self->n_waiting++;
}

static void enqueue_first(route_t *self, text_t *text)
{
    text->next = self->first;
    self->first = text;
    if (!text->next) self->last = &text->next;
    self->n_waiting++;
}

static void dequeue(route_t *self, text_t *text)
{
    text_t **link = &self->first;
    while (*link && *link != text) link = &(*link)->next;
    if (!*link) return;
    *link = text->next;
    if (!*link) self->last = link;
    self->n_waiting--;
}

/* --- hosts --- */

/* May it have one more? A member gets a few beyond its slots, so that none of these waits for us. */
static bool has_room(const route_t *self, const host_t *host)
{
    size_t slots = (size_t)host->slots;
    bool alone = host->own && self->hosts == host && !host->next;
    return slots > 0 && (alone || host->n_texts < slots + slots / 4 + 1);
}

static bool can_write(const host_t *host, const text_t *text)
{
    if (text->large && !host->own) return false;
    return !*text->weights || strcmp(text->weights, host->weights) == 0;
}

/* The least busy one, by its slots; NULL: none has room. */
static host_t *choose_host(const route_t *self, const text_t *text)
{
    host_t *best = NULL;
    for (host_t *one = self->hosts; one; one = one->next) {
        if (!has_room(self, one) || !can_write(one, text)) continue;
        if (!best || one->n_texts * (size_t)best->slots < best->n_texts * (size_t)one->slots)
            best = one;
    }
    return best;
}

static void take_from(host_t *host, text_t *text)
{
    text_t **link = &host->texts;
    while (*link && *link != text) link = &(*link)->next;
    if (!*link) return;
    *link = text->next;
    host->n_texts--;
    text->host = NULL;
}

static void give(host_t *host, text_t *text)
{
    text->host = host;
    text->number = ++host->last;
    text->n_heard = 0;
    text->at = 0;
    text->next = host->texts;
    host->texts = text;
    host->n_texts++;
}

/* Those that wait, in their order, as far as there is somebody to write them. */
static void dispatch(route_t *self)
{
    text_t *text = self->first, *next;
    bool room = true;
    for (; text && room; text = next) {
        next = text->next;
        host_t *host = choose_host(self, text);
        if (!host && !*text->weights) room = false; /* nor for anybody behind it */
        if (!host) continue;
        dequeue(self, text);
        give(host, text);
        if (host->give(host, text)) continue;
        take_from(host, text);
        enqueue_first(self, text);
        break; /* the host will be found out, and leaves */
    }
}

void route_join(route_t *self, host_t *host)
{
    host->route = self;
    host->next = NULL;
    host_t **link = &self->hosts;
    while (*link) link = &(*link)->next;
    *link = host;
    dispatch(self);
}

void route_changed(host_t *host)
{
    if (host->route) dispatch(host->route);
}

void route_leave(host_t *host)
{
    route_t *self = host->route;
    if (!self) return;
    host_t **link = &self->hosts;
    while (*link && *link != host) link = &(*link)->next;
    if (*link) *link = host->next;
    host->route = NULL;
    /* The newest is the list's first, so the oldest comes to the queue's front last. */
    while (host->texts) {
        text_t *text = host->texts;
        take_from(host, text);
        enqueue_first(self, text);
    }
    dispatch(self);
}

size_t route_hosts(const route_t *self)
{
    size_t n = 0;
    for (const host_t *one = self->hosts; one; one = one->next) n++;
    return n;
}

size_t route_slots(const route_t *self)
{
    size_t n = 0;
    for (const host_t *one = self->hosts; one; one = one->next) n += (size_t)one->slots;
    return n;
}

/* --- texts --- */

void route_add(route_t *self, text_t *text)
{
    text->route = self;
    enqueue(self, text);
    dispatch(self);
}

void route_end(text_t *text, bool stop)
{
    route_t *self = text->route;
    host_t *host = text->host;
    if (!self) return;
    text->route = NULL;
    if (!host) dequeue(self, text);
    if (host) {
        if (stop) host->stop(host, text->number);
        take_from(host, text);
    }
    job_free(text->job);
    text->job = NULL;
    str_fini(&text->told);
    dispatch(self);
}

text_t *route_find(const host_t *host, uint64_t number)
{
    text_t *text = host->texts;
    while (text && text->number != number) text = text->next;
    return text;
}

/* Another is to begin it, or this one once more. */
static route_news_t again(text_t *text)
{
    route_t *self = text->route;
    if (++text->n_again > MOST_AGAIN) return ROUTE_REFUSED;
    take_from(text->host, text);
    enqueue_first(self, text);
    dispatch(self);
    return ROUTE_OLD;
}

/* What was handed on when another wrote it. */
static route_news_t compare(text_t *text, const engine_item_t *item)
{
    bool same = item->end == WRITER_GOES_ON && text->at + item->n <= text->told.n &&
                (item->n == 0 ||
                 memcmp(str_text(&text->told) + text->at, item->piece, item->n) == 0);
    text->at += item->n;
    return same ? ROUTE_OLD : ROUTE_DIFFERS;
}

route_news_t route_hear(text_t *text, const engine_item_t *item, const char *weights)
{
    if (item->again) return again(text);
    if (item->number != text->n_heard) { /* something was lost on the way */
        text->host->stop(text->host, text->number);
        return again(text);
    }
    if (item->error) return ROUTE_NEW;
    if (text->n_told == 0)
        snprintf(text->weights, sizeof text->weights, "%s", weights);
    else if (text->n_heard == 0 && strcmp(text->weights, weights) != 0)
        return ROUTE_DIFFERS;
    text->n_heard++;
    if (text->n_heard <= text->n_told) return compare(text, item);
    text->n_told++;
    str_addn(&text->told, item->piece, item->n);
    if (item->token || item->end == WRITER_GOES_ON) text->host->written++;
    return ROUTE_NEW;
}

/* --- time --- */

static bool could_be_written(const route_t *self, const text_t *text)
{
    for (const host_t *one = self->hosts; one; one = one->next)
        if (one->slots > 0 && can_write(one, text)) return true;
    return false;
}

text_t *route_overdue(route_t *self, int64_t now_ms, int64_t wait_ms)
{
    dispatch(self); /* what could not be told a moment ago */
    for (text_t *text = self->first; text; text = text->next) {
        if (could_be_written(self, text))
            text->wanted_ms = 0;
        else if (!text->wanted_ms)
            text->wanted_ms = now_ms;
        else if (now_ms - text->wanted_ms > wait_ms)
            return text;
    }
    return NULL;
}
