/* Paths to answers; asks in a list. */
#include "gateway/gateway.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/page.h"

enum {
    OK = 200,
    UNAUTHORIZED = 401,
    NOT_FOUND = 404,
    NOT_ALLOWED = 405,
    TOO_LARGE = 413,
    NOT_JSON = 415,
    TOO_MANY = 429,
    UNAVAILABLE = 503,
    TIMED_OUT = 504,
};
static const char invalid[] = "invalid_request_error", unavailable[] = "service_unavailable";

/* A request as its handler sees it. */
typedef struct {
    gateway_t *gateway;
    http_request_t *http;
    const char *who, *rest; /* rest: of the path, behind the route's */
    refusal_t refusal;
} call_t;

/* --- what is not for models --- */

static void answer_text(call_t *call, const char *path, unsigned status, const char *type,
                        str_t *body)
{
    char text[16];
    http_answer_t answer = {.status = status, .type = type, .body = *body};
    *body = (str_t){0};
    snprintf(text, sizeof text, "%u", status);
    stats_add(call->gateway->stats, STATS_REQUESTS, path, text, 1);
    http_answer(call->http, &answer);
}

static const char plain[] = "text/plain; version=0.0.4; charset=utf-8";

/* The page holds no secrets: it asks for a token where one is wanted. */
static int on_page(call_t *call)
{
    const page_file_t *file = page_find(http_path(call->http));
    if (!file)
        return refuse(&call->refusal, NOT_FOUND, invalid, NULL, NULL, "the page has no such file");
    stats_add(call->gateway->stats, STATS_REQUESTS, "/", "200", 1);
    http_answer(call->http, &(http_answer_t){.status = OK,
                                             .type = file->type,
                                             .fixed = file->at,
                                             .n_fixed = (size_t)(file->end - file->at)});
    return 0;
}

static int on_healthz(call_t *call)
{
    str_t body = {0};
    str_add(&body, "alive\n");
    answer_text(call, "/healthz", OK, plain, &body);
    return 0;
}

static int on_readyz(call_t *call)
{
    const gateway_t *self = call->gateway;
    bool ready = gateway_ready(self) && !self->draining;
    str_t body = {0};
    str_add(&body, ready ? "ready\n" : "not ready\n");
    if (self->draining) str_add(&body, "this service ends\n");
    for (size_t i = 0; i < self->n_served; i++)
        str_addf(&body, "%s: %s\n", self->served[i].name,
                 self->served[i].engine ? "loaded" : "is being loaded");
    answer_text(call, "/readyz", ready ? OK : UNAVAILABLE, plain, &body);
    return 0;
}

static int on_metrics(call_t *call)
{
    gateway_t *self = call->gateway;
    str_t body = {0};
    stats_set(self->stats, STATS_CONNECTIONS, NULL, NULL, (double)http_connections(self->http));
    for (size_t i = 0; i < self->n_served; i++) {
        const served_t *s = &self->served[i];
        size_t waiting = served_waiting(s);
        stats_set(self->stats, STATS_RUNNING, s->name, NULL, (double)(s->open - waiting));
        stats_set(self->stats, STATS_WAITING, s->name, NULL, (double)waiting);
        stats_set(self->stats, STATS_SLOTS, s->name, NULL, s->facts.slots);
        stats_set(self->stats, STATS_ROUND, s->name, NULL, (double)s->round);
        stats_set(self->stats, STATS_LOADED, s->name, NULL, (double)s->models);
        stats_set(self->stats, STATS_REUSED, s->name, NULL, (double)s->reused);
    }
    stats_expose(self->stats, &body);
    answer_text(call, "/metrics", OK, plain, &body);
    return 0;
}

static served_t *find_served(gateway_t *self, const char *name)
{
    if (!name) return self->n_served == 1 ? &self->served[0] : NULL;
    for (size_t i = 0; i < self->n_served; i++)
        if (strcmp(self->served[i].name, name) == 0) return &self->served[i];
    return NULL;
}

static int refuse_model(call_t *call, const char *name)
{
    if (name)
        return refuse(&call->refusal, NOT_FOUND, invalid, "model", "model_not_found",
                      "the model \"%.100s\" is not served here: ask for /v1/models", name);
    return refuse(&call->refusal, 400, invalid, "model", NULL,
                  "model is missing: ask for /v1/models");
}

static int on_models(call_t *call)
{
    gateway_t *self = call->gateway;
    answer_model_t *list = mem_calloc(self->n_served, sizeof *list);
    str_t body = {0};
    size_t n = 0;
    for (size_t i = 0; i < self->n_served; i++)
        if (self->served[i].engine)
            list[n++] = (answer_model_t){self->served[i].name, self->served[i].created};
    answer_models(list, n, &body);
    free(list);
    answer_text(call, "/v1/models", OK, "application/json", &body);
    return 0;
}

static int on_model(call_t *call)
{
    const served_t *served = find_served(call->gateway, call->rest);
    str_t body = {0};
    if (!served || !served->engine) return refuse_model(call, call->rest);
    answer_model(&(answer_model_t){served->name, served->created}, &body);
    answer_text(call, "/v1/models", OK, "application/json", &body);
    return 0;
}

/* --- texts --- */

static int check_body(call_t *call)
{
    const char *type = http_header(call->http, "Content-Type");
    if (http_body_too_long(call->http))
        return refuse(&call->refusal, TOO_LARGE, invalid, NULL, NULL,
                      "the body has more than %lld bytes (--body-bytes)",
                      (long long)call->gateway->config->body_bytes);
    /* Pages of other places can send other types without asking first. */
    if (!type || strncasecmp(type, "application/json", strlen("application/json")) != 0)
        return refuse(&call->refusal, NOT_JSON, invalid, NULL, NULL,
                      "say \"Content-Type: application/json\"");
    return 0;
}

static int check_served(call_t *call, const served_t *served, const char *name)
{
    const gateway_t *self = call->gateway;
    if (!served) return refuse_model(call, name);
    if (self->draining)
        return refuse(&call->refusal, UNAVAILABLE, unavailable, NULL, NULL, "this service ends");
    if (!served->engine)
        return refuse(&call->refusal, UNAVAILABLE, unavailable, NULL, NULL,
                      "the model %s is being loaded", served->name);
    if (served->open >= (size_t)served->facts.slots &&
        served_waiting(served) >= (size_t)self->config->queue)
        return refuse(&call->refusal, TOO_MANY, "rate_limit_error", NULL, "queue_full",
                      "%zu texts wait for the model %s already (--queue): try again later",
                      served_waiting(served), served->name);
    return 0;
}

static int begin(call_t *call, request_kind_t kind)
{
    gateway_t *self = call->gateway;
    const str_t *body = http_body(call->http);
    request_t request = {0};
    if (check_body(call) < 0 ||
        request_parse(kind, str_text(body), body->n, &request, &call->refusal) < 0)
        return -1;
    served_t *served = find_served(self, request.model);
    ask_t *ask = NULL;
    if (check_served(call, served, request.model) == 0)
        ask = ask_new(call->http, served, self->stats, &request, call->who, ++self->serial,
                      clock_mono_ms(), &call->refusal);
    request_fini(&request);
    if (!ask) return -1;
    *http_state(call->http) = ask;
    ask->next = self->asks;
    self->asks = ask;
    return 0;
}

static int on_completions(call_t *call)
{
    return begin(call, REQUEST_TEXT);
}

static int on_chat(call_t *call)
{
    return begin(call, REQUEST_CHAT);
}

static int on_embeddings(call_t *call)
{
    return begin(call, REQUEST_EMBEDDINGS);
}

/* --- routes --- */

typedef struct {
    const char *method, *path;
    int (*fn)(call_t *call); /* -1: call->refusal is the answer */
    bool open;               /* without a token */
    bool more;               /* the path goes on */
} route_t;

static const route_t routes[] = {
    {"GET", "/", on_page, true, false},
    {"GET", "/page/", on_page, true, true},
    {"GET", "/healthz", on_healthz, true, false},
    {"GET", "/readyz", on_readyz, true, false},
    {"GET", "/metrics", on_metrics, false, false},
    {"GET", "/v1/models", on_models, false, false},
    {"GET", "/v1/models/", on_model, false, true},
    {"POST", "/v1/completions", on_completions, false, false},
    {"POST", "/v1/chat/completions", on_chat, false, false},
    {"POST", "/v1/embeddings", on_embeddings, false, false},
};

static const route_t *find_route(call_t *call)
{
    const char *path = http_path(call->http);
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        size_t n = strlen(routes[i].path);
        call->rest = path + n;
        if (routes[i].more ? str_starts(path, routes[i].path) : strcmp(path, routes[i].path) == 0)
            return &routes[i];
    }
    refuse(&call->refusal, NOT_FOUND, invalid, NULL, "unknown_url",
           "%.100s is not served here: known are /v1/completions, /v1/chat/completions, "
           "/v1/embeddings, /v1/models, /metrics, /healthz, /readyz",
           path);
    return NULL;
}

static int check_call(call_t *call, const route_t *route)
{
    const gateway_t *self = call->gateway;
    const char *method = http_method(call->http);
    call->who = "";
    if (self->access && !route->open) {
        call->who = http_who(call->http);
        if (!call->who)
            return refuse(&call->refusal, UNAUTHORIZED, invalid, NULL, "invalid_api_key",
                          "say \"Authorization: Bearer TOKEN\" with a token of this service");
    }
    bool same = strcmp(method, route->method) == 0 ||
                (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
    if (!same)
        return refuse(&call->refusal, NOT_ALLOWED, invalid, NULL, NULL, "%s takes %s only",
                      route->path, route->method);
    return 0;
}

void gateway_on_head(void *user, http_request_t *request)
{
    call_t call = {.gateway = user, .http = request};
    const route_t *route = find_route(&call);
    if (!route || check_call(&call, route) < 0)
        ask_answer_refusal(request, call.gateway->stats, route ? route->path : "other",
                           &call.refusal);
}

void gateway_on_request(void *user, http_request_t *request)
{
    call_t call = {.gateway = user, .http = request};
    const route_t *route = find_route(&call);
    if (!route || check_call(&call, route) < 0 || route->fn(&call) < 0)
        ask_answer_refusal(request, call.gateway->stats, route ? route->path : "other",
                           &call.refusal);
}

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

void gateway_on_news(gateway_t *self, served_t *served, engine_news_t *news, int64_t now_ms)
{
    served->models = news->models;
    served->reused = news->reused;
    for (size_t i = 0; i < news->n; i++)
        for (ask_t *ask = self->asks; ask; ask = ask->next)
            if (ask->serial == news->at[i].id / REQUEST_TEXTS && ask->served == served) {
                ask_hear(ask, &news->at[i], now_ms);
                break;
            }
    engine_news_free(news);
    sweep(self);
}

int gateway_on_loaded(gateway_t *self, served_t *served, loaded_t *loaded, err_t *err)
{
    stats_add(self->stats, STATS_LOADS, served->name, loaded->error ? "failed" : "loaded", 1);
    if (!loaded->error) {
        served->models++;
        served_load(served, loaded);
        return 0;
    }
    int status = 0;
    if (!served->engine)
        status = err_set(err, ERR_STATE, "--model %s=%s", served->name, loaded->error);
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

void gateway_tick(gateway_t *self, int64_t now_ms)
{
    refusal_t refusal;
    refuse(&refusal, TIMED_OUT, "timeout", NULL, "timeout",
           "the answer took longer than %g s (--timeout-s)", self->config->timeout_s);
    refuse_all(self, now_ms - (int64_t)(self->config->timeout_s * 1000), &refusal);
}

/* --- the end --- */

bool gateway_ready(const gateway_t *self)
{
    for (size_t i = 0; i < self->n_served; i++)
        if (!self->served[i].engine) return false;
    return true;
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

/* --- the beginning --- */

/* By its word, or of a file. */
static const chat_template_t *find_template(gateway_t *self, const char *word, err_t *err)
{
    const chat_template_t *found = chat_find(word);
    if (found || (!strchr(word, '/') && !strchr(word, '.'))) return found;
    chat_template_t *opened = chat_open(word, err);
    if (!opened) return NULL;
    size_t bytes = (self->n_opened + 1) * sizeof *self->opened;
    self->opened = mem_realloc(self->opened, bytes);
    return self->opened[self->n_opened++] = opened;
}

/* WORD or PATH, of all models, or NAME=that. */
static int set_template(gateway_t *self, const char *text, err_t *err)
{
    const char *equals = strchr(text, '='), *word = equals ? equals + 1 : text;
    const chat_template_t *found = find_template(self, word, err);
    size_t n = equals ? (size_t)(equals - text) : 0, n_set = 0;
    if (!found && err->code != ERR_OK) return err_prefix(err, "--chat-template %s: ", text);
    if (!found)
        return err_set(err, ERR_ARG,
                       "--chat-template %s: known are %s, and a model's tokenizer_config.json or "
                       "chat_template.jinja by its path",
                       text, chat_names());
    for (size_t i = 0; i < self->n_served; i++) {
        served_t *s = &self->served[i];
        if (equals && (strlen(s->name) != n || memcmp(s->name, text, n) != 0)) continue;
        s->chat = found;
        n_set++;
    }
    if (n_set == 0)
        return err_set(err, ERR_ARG, "--chat-template %s: there is no such --model", text);
    return 0;
}

static int add_model(gateway_t *self, const char *text, err_t *err)
{
    served_t served = {0};
    if (served_init(&served, text, err) < 0) return -1;
    if (find_served(self, served.name)) {
        err_set(err, ERR_ARG, "--model %s: the name is there twice", text);
        served_fini(&served);
        return -1;
    }
    self->served = mem_realloc(self->served, (self->n_served + 1) * sizeof served);
    self->served[self->n_served++] = served;
    return 0;
}

/* Each of a list with commas. */
static int each(gateway_t *self, const char *list,
                int (*fn)(gateway_t *self, const char *text, err_t *err), err_t *err)
{
    char *copy = mem_strdup(list ? list : ""), *next = copy;
    int status = 0;
    for (char *one; status == 0 && (one = strsep(&next, ","));)
        if (*one) status = fn(self, one, err);
    free(copy);
    return status;
}

int gateway_init(gateway_t *self, const gateway_config_t *config, err_t *err)
{
    *self = (gateway_t){.config = config, .stats = stats_new()};
    if (each(self, config->model, add_model, err) < 0) return -1;
    if (self->n_served == 0)
        return err_set(err, ERR_ARG, "no --model NAME=DIR is given (try --help)");
    if (each(self, config->chat_template, set_template, err) < 0) return -1;
    if (config->tokens && !(self->access = access_open(config->tokens, err)))
        return err_prefix(err, "--tokens: ");
    return 0;
}

void gateway_fini(gateway_t *self)
{
    for (size_t i = 0; i < self->n_served; i++) served_fini(&self->served[i]);
    free(self->served);
    for (size_t i = 0; i < self->n_opened; i++) chat_destroy(&self->opened[i]);
    free(self->opened);
    access_destroy(&self->access);
    stats_destroy(&self->stats);
}
