/* Asks in a list; what they hear, and how they end. */
#include "gateway/gateway.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const char unavailable[] = "service_unavailable";
enum { UNAUTHORIZED = 401, FAILED = 500, UNAVAILABLE = 503, TIMED_OUT = 504 };

/* --- asks --- */

/* Those that are over leave the list. */
static void sweep(gateway_t *self)
{
    for (ask_t **link = &self->asks; *link;) {
        ask_t *ask = *link;
        if (ask_over(ask)) {
            *link = ask->next;
            ask_free(ask);
        } else {
            link = &ask->next;
        }
    }
}

void gateway_on_gone(void *user, http_request_t *request)
{
    gateway_t *self = user;
    ask_t *ask = *http_state(request);
    if (!ask) return;
    ask_cancel(ask);
    sweep(self);
}

/* Of two members, or checkpoints, that do not write the same. */
static void fail_text(ask_t *ask, unsigned status, const char *why)
{
    refusal_t refusal;
    log_event(LOG_ERROR, "failed", "id=%s error=\"%s\"", ask->head.id, why);
    refuse(&refusal, status, "server_error", NULL, NULL, "%s", why);
    ask_refuse(ask, &refusal);
}

void gateway_hear(gateway_t *self, host_t *host, text_t *text, const engine_item_t *item,
                  const char *weights, int64_t now_ms)
{
    ask_t *ask = text->user;
    (void)host;
    switch (route_hear(text, item, weights)) {
    case ROUTE_OLD: return;
    case ROUTE_NEW: ask_hear(ask, text->index, item, weights, now_ms); break;
    case ROUTE_DIFFERS:
        fail_text(ask, FAILED,
                  "who wrote this text is gone, and another member with the same checkpoint "
                  "writes another one (another kind of machine?): ask again");
        break;
    case ROUTE_REFUSED:
        fail_text(ask, UNAVAILABLE, "no member has begun this text: ask again");
        break;
    }
    sweep(self);
}

void gateway_on_news(gateway_t *self, served_t *served, engine_news_t *news, int64_t now_ms)
{
    served->own.models = news->models;
    served->own.reused = news->reused;
    for (size_t i = 0; i < news->n; i++) {
        const engine_item_t *item = &news->at[i];
        text_t *text = route_find(&served->own, item->id);
        bool known = item->weights > 0 && item->weights <= served->n_loads;
        if (text)
            gateway_hear(self, &served->own, text, item,
                         known ? served->label[item->weights - 1] : "", now_ms);
    }
    engine_news_free(news);
}

int gateway_on_loaded(gateway_t *self, served_t *served, loaded_t *loaded, err_t *err)
{
    stats_add(self->stats, STATS_LOADS, served->name, loaded->error ? "failed" : "loaded", 1);
    if (!loaded->error) return served_load(served, loaded, err);
    int status = 0;
    if (!served->engine)
        status = err_set(err, ERR_STATE, "--model %s: %s", served->name, loaded->error);
    log_event(LOG_WARN, "not_loaded", "name=\"%s\" error=\"%s\"", served->name, loaded->error);
    loaded_free(loaded);
    return status;
}

static void refuse_all(gateway_t *self, int64_t before_ms, const refusal_t *refusal)
{
    for (ask_t *ask = self->asks; ask; ask = ask->next)
        if (ask->since_ms <= before_ms) ask_refuse(ask, refusal);
    sweep(self);
}

/* Who wrote them is gone, and nobody else can. */
static void refuse_overdue(gateway_t *self, served_t *served, int64_t now_ms)
{
    int64_t wait_ms = self->config->member_wait_s * 1000;
    for (text_t *text; (text = route_overdue(&served->route, now_ms, wait_ms));) {
        refusal_t refusal;
        ask_t *ask = text->user;
        if (*text->weights)
            refuse(&refusal, UNAVAILABLE, unavailable, NULL, NULL,
                   "the member that wrote this text is gone, and for %lld s (--member-wait-s) no "
                   "other has its "
                   "checkpoint, %s: ask again",
                   (long long)self->config->member_wait_s, text->weights);
        else
            refuse(&refusal, UNAVAILABLE, unavailable, NULL, NULL,
                   "for %lld s (--member-wait-s) no member serves the model %s: start one, "
                   "pcp-gateway --join",
                   (long long)self->config->member_wait_s, served->name);
        log_event(LOG_WARN, "nobody_writes", "id=%s model=\"%s\" weights=%s", ask->head.id,
                  served->name, text->weights);
        ask_refuse(ask, &refusal);
    }
}

/* Texts of those whose access tokens count no more. */
static void refuse_revoked(gateway_t *self)
{
    refusal_t refusal;
    refuse(&refusal, UNAUTHORIZED, "invalid_request_error", NULL, "invalid_api_key",
           "the access token of this request counts no more (--tokens)");
    for (ask_t *ask = self->asks; ask; ask = ask->next)
        if (!access_has(self->access, ask->who)) ask_refuse(ask, &refusal);
    sweep(self);
}

void gateway_tick(gateway_t *self, int64_t now_ms)
{
    refusal_t refusal;
    if (access_refresh(self->access)) refuse_revoked(self);
    if (self->members)
        for (size_t i = 0; i < self->n_served; i++) refuse_overdue(self, self->served[i], now_ms);
    refuse(&refusal, TIMED_OUT, "timeout", NULL, "timeout",
           "the answer took longer than %g s (--timeout-s)", self->config->timeout_s);
    refuse_all(self, now_ms - (int64_t)(self->config->timeout_s * 1000), &refusal);
}

/* --- the end --- */

bool gateway_ready(const gateway_t *self)
{
    size_t n_ready = 0;
    for (size_t i = 0; i < self->n_served; i++) {
        bool ready = served_ready(self->served[i]);
        if (!ready && i < self->n_own) return false;
        n_ready += ready;
    }
    return n_ready > 0;
}

void gateway_drain(gateway_t *self)
{
    self->draining = true;
    http_drain(self->http);
}

bool gateway_idle(const gateway_t *self)
{
    return !self->asks && http_idle(self->http);
}

void gateway_end_all(gateway_t *self)
{
    refusal_t refusal;
    refuse(&refusal, UNAVAILABLE, unavailable, NULL, NULL, "this service ends");
    refuse_all(self, INT64_MAX, &refusal);
}
