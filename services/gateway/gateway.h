/* The gateway's state, and what requests, news and time do to it. No sockets but what http.h, the
 * engines and members give. */
#ifndef GATEWAY_GATEWAY_H
#define GATEWAY_GATEWAY_H

#include "gateway/ask.h"
#include "gateway/config.h"
#include "gateway/members.h"

/* An option --chat-template. */
typedef struct {
    char *text;
    const chat_template_t *chat;
} given_template_t;

typedef struct {
    const gateway_config_t *config;
    access_t *access; /* NULL: everybody who can connect may ask */
    http_t *http;
    stats_t *stats;
    served_t **served; /* [n_served]; n_own of them are ours, the first ones */
    size_t n_served, n_own;
    chat_template_t **opened; /* [n_opened]: templates of files */
    size_t n_opened;
    given_template_t *given; /* [n_given] */
    size_t n_given;
    bool members_wanted; /* --members */
    members_t *members;  /* NULL: there are none (--members) */
    ask_t *asks;
    bool draining;
} gateway_t;

/* Models of the configuration, not loaded yet; tokens. ERR_ARG, ERR_IO. */
int gateway_init(gateway_t *self, const gateway_config_t *config, err_t *err);
void gateway_fini(gateway_t *self);
/* The model of this name; with make one is made for members, NULL: there are too many. */
served_t *gateway_find(gateway_t *self, const char *name, bool make);

void gateway_on_head(void *self, http_request_t *request); /* before the body */
void gateway_on_request(void *self, http_request_t *request);
void gateway_on_gone(void *self, http_request_t *request);
/* News of our own engine, taken. */
void gateway_on_news(gateway_t *self, served_t *served, engine_news_t *news, int64_t now_ms);
/* News of a text, of whoever writes it. */
void gateway_hear(gateway_t *self, host_t *host, text_t *text, const engine_item_t *item,
                  const char *weights, int64_t now_ms);
/* Takes a model's weights, or why there are none: -1 with err when it has no other. */
int gateway_on_loaded(gateway_t *self, served_t *served, loaded_t *loaded, err_t *err);
/* Requests that take too long, or nobody can write, or whose access token has gone. */
void gateway_tick(gateway_t *self, int64_t now_ms);

bool gateway_ready(const gateway_t *self); /* all of ours are there, and at least one model */
/* From now on nobody new is let in; gateway_idle: nothing is left to be said. gateway_end_all tells
 * those who are left. */
void gateway_drain(gateway_t *self);
bool gateway_idle(const gateway_t *self);
void gateway_end_all(gateway_t *self);

#endif
