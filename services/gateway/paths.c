/* Paths to answers: what each path takes and says. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "gateway/gateway.h"
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

static const char *state_of(const gateway_t *self, size_t i)
{
    const served_t *served = self->served[i];
    return served_ready(served) ? "loaded"
           : i < self->n_own    ? "is being loaded"
                                : "no member has it";
}

static int on_readyz(call_t *call)
{
    const gateway_t *self = call->gateway;
    bool ready = gateway_ready(self) && !self->draining;
    str_t body = {0};
    str_add(&body, ready ? "ready\n" : "not ready\n");
    if (self->draining) str_add(&body, "this service ends\n");
    for (size_t i = 0; i < self->n_served; i++)
        str_addf(&body, "%s: %s\n", self->served[i]->name, state_of(self, i));
    if (self->members) str_addf(&body, "members: %zu\n", members_count(self->members));
    answer_text(call, "/readyz", ready ? OK : UNAVAILABLE, plain, &body);
    return 0;
}

static void count_models(gateway_t *self)
{
    for (size_t i = 0; i < self->n_served; i++) {
        const served_t *s = self->served[i];
        size_t waiting = served_waiting(s), models = 0;
        uint64_t reused = 0;
        for (const host_t *one = s->route.hosts; one; one = one->next) {
            models += one->models;
            reused += one->reused;
        }
        stats_set(self->stats, STATS_RUNNING, s->name, NULL, (double)(s->open - waiting));
        stats_set(self->stats, STATS_WAITING, s->name, NULL, (double)waiting);
        stats_set(self->stats, STATS_SLOTS, s->name, NULL, (double)route_slots(&s->route));
        stats_set(self->stats, STATS_ROUND, s->name, NULL, (double)s->round);
        stats_set(self->stats, STATS_LOADED, s->name, NULL, (double)models);
        stats_set(self->stats, STATS_REUSED, s->name, NULL, (double)reused);
    }
}

/* Of members that are here alone: names of those that were are forgotten. */
static void count_members(gateway_t *self)
{
    static const metric_t of_members[] = {STATS_MEMBER_RUNNING, STATS_MEMBER_WAITING,
                                          STATS_MEMBER_SLOTS, STATS_MEMBER_ROUND,
                                          STATS_MEMBER_WRITTEN};
    for (size_t i = 0; i < sizeof of_members / sizeof *of_members; i++)
        stats_clear(self->stats, of_members[i]);
    stats_set(self->stats, STATS_MEMBERS, NULL, NULL, (double)members_count(self->members));
    for (size_t i = 0; i < self->n_served; i++) {
        const char *name = self->served[i]->name;
        for (const host_t *one = self->served[i]->route.hosts; one; one = one->next) {
            size_t slots = (size_t)one->slots, n = one->n_texts;
            size_t waiting = n > slots ? n - slots : 0;
            if (one->own) continue;
            stats_set(self->stats, STATS_MEMBER_RUNNING, name, one->id, (double)(n - waiting));
            stats_set(self->stats, STATS_MEMBER_WAITING, name, one->id, (double)waiting);
            stats_set(self->stats, STATS_MEMBER_SLOTS, name, one->id, (double)slots);
            stats_set(self->stats, STATS_MEMBER_ROUND, name, one->id, (double)one->round);
            stats_set(self->stats, STATS_MEMBER_WRITTEN, name, one->id, (double)one->written);
        }
    }
}

static int on_metrics(call_t *call)
{
    gateway_t *self = call->gateway;
    str_t body = {0};
    stats_set(self->stats, STATS_CONNECTIONS, NULL, NULL, (double)http_connections(self->http));
    count_models(self);
    if (self->members) count_members(self);
    stats_expose(self->stats, &body);
    answer_text(call, "/metrics", OK, plain, &body);
    return 0;
}

static served_t *find_served(gateway_t *self, const char *name)
{
    if (!name) return self->n_served == 1 ? self->served[0] : NULL;
    return gateway_find(self, name, false);
}

static int refuse_model(call_t *call, const char *name)
{
    const gateway_config_t *config = call->gateway->config;
    const members_t *members = call->gateway->members;
    size_t joined = members ? members_count(members) : 0;
    if (call->gateway->n_served == 0 && joined > 0)
        return refuse(&call->refusal, UNAVAILABLE, unavailable, NULL, NULL,
                      "no model is ready yet: %zu members have joined and load theirs (/readyz)",
                      joined);
    if (call->gateway->n_served == 0)
        return refuse(
            &call->refusal, UNAVAILABLE, unavailable, NULL, NULL,
            "no member has joined yet: start pcp-gateway --model NAME=DIR --join, with the "
            "endpoint of --members %s",
            config->members);
    if (name)
        return refuse(&call->refusal, NOT_FOUND, invalid, "model", "model_not_found",
                      "the model \"%.100s\" is not served here: ask for /v1/models", name);
    return refuse(&call->refusal, 400, invalid, "model", NULL,
                  "model is missing: ask for /v1/models");
}

static int on_models(call_t *call)
{
    gateway_t *self = call->gateway;
    answer_model_t *list = mem_calloc(self->n_served + 1, sizeof *list);
    str_t body = {0};
    size_t n = 0;
    for (size_t i = 0; i < self->n_served; i++)
        if (served_ready(self->served[i]))
            list[n++] = (answer_model_t){self->served[i]->name, self->served[i]->created};
    answer_models(list, n, &body);
    free(list);
    answer_text(call, "/v1/models", OK, "application/json", &body);
    return 0;
}

static int on_model(call_t *call)
{
    const served_t *served = find_served(call->gateway, call->rest);
    str_t body = {0};
    if (!served || !served_ready(served)) return refuse_model(call, call->rest);
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
    if (!served_ready(served) && served->path)
        return refuse(&call->refusal, UNAVAILABLE, unavailable, NULL, NULL,
                      "the model %s is being loaded", served->name);
    if (!served_ready(served))
        return refuse(&call->refusal, UNAVAILABLE, unavailable, NULL, NULL,
                      "no member serves the model %s at present: start one, pcp-gateway --model "
                      "%s=DIR --join, with the endpoint of --members %s",
                      served->name, served->name, self->config->members);
    if (served->open >= route_slots(&served->route) &&
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
        ask = ask_new(call->http, served, self->stats, &request, call->who, clock_mono_ms(),
                      &call->refusal);
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
} path_t;

static const path_t routes[] = {
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

static const path_t *find_route(call_t *call)
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

static int check_call(call_t *call, const path_t *route)
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
    const path_t *route = find_route(&call);
    if (!route || check_call(&call, route) < 0)
        ask_answer_refusal(request, call.gateway->stats, route ? route->path : "other",
                           &call.refusal);
}

void gateway_on_request(void *user, http_request_t *request)
{
    call_t call = {.gateway = user, .http = request};
    const path_t *route = find_route(&call);
    if (!route || check_call(&call, route) < 0 || route->fn(&call) < 0)
        ask_answer_refusal(request, call.gateway->stats, route ? route->path : "other",
                           &call.refusal);
}
