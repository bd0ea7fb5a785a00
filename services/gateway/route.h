/* Which host writes which text of a model: our own engine, or a member. Who is least busy gets the next
 * one; what a host had when it went is written on by another that has the same weights. The same seed
 * and weights write the same text, so what was handed on before is skipped there, and compared.
 *
 * No sockets: hosts say how a text is given to them. The loop's. */
#ifndef GATEWAY_ROUTE_H
#define GATEWAY_ROUTE_H

#include "gateway/engine.h"

enum { ROUTE_WEIGHTS = 64, ROUTE_ID = 64 };

typedef struct route route_t;
typedef struct host host_t;
typedef struct text text_t;

struct host {
    char id[ROUTE_ID];           /* for people */
    char weights[ROUTE_WEIGHTS]; /* that it begins texts with */
    int64_t round;
    int slots; /* 0: it begins nothing */
    bool own;  /* our engine: it takes all that there is, where it is alone */
    /* The text is the route's; false: it could not be told, and is given to another. */
    bool (*give)(host_t *self, const text_t *text);
    void (*stop)(host_t *self, uint64_t number);
    void *user;
    /* The route's: */
    uint64_t last, written; /* number of the last text; tokens */
    text_t *texts;
    size_t n_texts, models; /* models: weights in memory */
    uint64_t reused;        /* tokens of prompts that were not read again */
    route_t *route;
    host_t *next;
};

/* A text that is to be written. The route's parts are private to it. */
struct text {
    job_t *job; /* owned */
    void *user; /* who hears of it, and which of its texts it is */
    size_t index;
    bool large; /* more than a member is told at once: for our own engine alone */
    /* The route's: */
    route_t *route; /* NULL: it has ended */
    host_t *host;   /* NULL: it waits */
    uint64_t number;
    char weights[ROUTE_WEIGHTS]; /* of what was handed on; "": nothing was */
    uint32_t n_heard, n_told;    /* from this host; handed on */
    str_t told;
    size_t at;         /* of it: what this host has said again */
    int n_again;       /* hosts that would not begin it */
    int64_t wanted_ms; /* since when there is no host that could write it; 0: there is one */
    text_t *next;
};

struct route {
    host_t *hosts;
    text_t *first, **last; /* that wait */
    size_t n_waiting;
};

void route_init(route_t *self);

/* A host comes; is changed (weights, slots); goes, for good: its texts wait for another. */
void route_join(route_t *self, host_t *host);
void route_changed(host_t *host);
void route_leave(host_t *host);
size_t route_hosts(const route_t *self);
size_t route_slots(const route_t *self);

/* The text begins where and when it can; its memory stays where it is until route_end. */
void route_add(route_t *self, text_t *text);
/* It has ended, or nobody wants it any more (stop): its host begins another one. */
void route_end(text_t *text, bool stop);
text_t *route_find(const host_t *host, uint64_t number);

typedef enum {
    ROUTE_NEW,     /* to be handed on */
    ROUTE_OLD,     /* was handed on before, or the text goes to another host: nothing to be done */
    ROUTE_DIFFERS, /* it is another text than the one that was begun */
    ROUTE_REFUSED, /* several hosts would not begin it */
} route_news_t;
/* What a host says of its text. `weights`: that write it. */
route_news_t route_hear(text_t *text, const engine_item_t *item, const char *weights);

/* A text that nobody could write for wait_ms; NULL: there is none. */
text_t *route_overdue(route_t *self, int64_t now_ms, int64_t wait_ms);

#endif
