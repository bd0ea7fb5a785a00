/* The gateway's state, and what requests, news and time do to it. No sockets but what http.h and the
 * engines give. */
#ifndef GATEWAY_GATEWAY_H
#define GATEWAY_GATEWAY_H

#include "gateway/ask.h"
#include "gateway/config.h"

typedef struct {
    const gateway_config_t *config;
    access_t *access; /* NULL: everybody who can connect may ask */
    http_t *http;
    stats_t *stats;
    served_t *served; /* [n_served] */
    size_t n_served;
    chat_template_t **opened; /* [n_opened]: templates of files */
    size_t n_opened;
    ask_t *asks;
    uint64_t serial;
    bool draining;
} gateway_t;

/* Models of the configuration, not loaded yet; tokens. ERR_ARG, ERR_IO. */
int gateway_init(gateway_t *self, const gateway_config_t *config, err_t *err);
void gateway_fini(gateway_t *self);

void gateway_on_head(void *self, http_request_t *request); /* before the body */
void gateway_on_request(void *self, http_request_t *request);
void gateway_on_gone(void *self, http_request_t *request);
/* Takes the news; a model's weights, taken, or why there are none: -1 with err when it has no other. */
void gateway_on_news(gateway_t *self, served_t *served, engine_news_t *news, int64_t now_ms);
int gateway_on_loaded(gateway_t *self, served_t *served, loaded_t *loaded, err_t *err);
void gateway_tick(gateway_t *self, int64_t now_ms); /* requests that take too long */

bool gateway_ready(const gateway_t *self); /* all models are there */
/* From now on nobody new is let in; gateway_idle: nothing is left to be said. gateway_end_all tells
 * those who are left. */
void gateway_drain(gateway_t *self);
bool gateway_idle(const gateway_t *self);
void gateway_end_all(gateway_t *self);

#endif
