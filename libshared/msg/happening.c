/* Events to rows. */
#include "msg/happening.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static happening_t of_shepherd(const char *name, const char *level)
{
    return (happening_t){
        .name = name, .level = level, .service = "shepherd", .member = "shepherd", .round = -1};
}

static json_t *of_member(const Msg__MemberChange *change, happening_t *out)
{
    *out = of_shepherd(change->joined ? "member_joined" : "member_left",
                       change->joined ? "info" : "warn");
    out->member = change->id;
    return json_pack("{ssssss}", "member", change->id, "kind", change->kind, "reason",
                     change->reason);
}

/* Of the member itself. */
static json_t *of_degraded(const Msg__Event *event, happening_t *out)
{
    const Msg__Degraded *d = event->degraded;
    *out = of_shepherd(d->over ? "healed" : "degraded", d->over ? "info" : "error");
    out->service = strcmp(d->kind, "worker") == 0 ? "worker" : "aggregator";
    out->member = event->source;
    return json_pack("{ssss}", "text", d->text, "kind", d->kind);
}

static json_t *of_rewound(const Msg__Rewound *r, happening_t *out)
{
    *out = of_shepherd("rewound", "error");
    out->round = (int64_t)r->to + 1;
    return json_pack("{sIsIssss}", "from", (json_int_t)r->from + 1, "to", (json_int_t)r->to + 1,
                     "reason", r->reason, "checkpoint", r->checkpoint);
}

static json_t *of_resized(const Msg__Resized *r, happening_t *out)
{
    *out = of_shepherd("replicas", "info");
    out->round = (int64_t)r->round + 1;
    return json_pack("{sIsIsIss}", "round", (json_int_t)r->round + 1, "from", (json_int_t)r->from,
                     "to", (json_int_t)r->to, "reason", r->reason);
}

static json_t *of_worker(const Msg__WorkerState *w, happening_t *out)
{
    *out = of_shepherd("worker_state", "info");
    out->service = "supervisor";
    out->member = w->id;
    return json_pack("{sssssIss}", "worker", w->id, "state", w->state, "restarts",
                     (json_int_t)w->restarts, "reason", w->reason);
}

static json_t *of_written(const Msg__Written *w, happening_t *out)
{
    bool failed = *w->error;
    *out = of_shepherd(failed ? "sample_failed" : "sample", failed ? "warn" : "info");
    out->round = (int64_t)w->round;
    return failed ? json_pack("{ss}", "reason", w->error)
                  : json_pack("{ssss}", "prompt", w->prompt, "text", w->text);
}

static json_t *detail_of(const Msg__Event *event, happening_t *out)
{
    switch (event->body_case) {
    case MSG__EVENT__BODY_MEMBER: return of_member(event->member, out);
    case MSG__EVENT__BODY_DEGRADED: return of_degraded(event, out);
    case MSG__EVENT__BODY_REWOUND: return of_rewound(event->rewound, out);
    case MSG__EVENT__BODY_RESIZED: return of_resized(event->resized, out);
    case MSG__EVENT__BODY_WRITTEN: return of_written(event->written, out);
    case MSG__EVENT__BODY_WORKER: return of_worker(event->worker, out);
    case MSG__EVENT__BODY_RUN_DONE:
        *out = of_shepherd("run_done", "info");
        return json_pack("{ss}", "checkpoint", event->run_done->checkpoint);
    case MSG__EVENT__BODY_RUN_FAILED:
        *out = of_shepherd("run_failed", "error");
        return json_pack("{ss}", "reason", event->run_failed->reason);
    default: return NULL;
    }
}

bool happening_of(const Msg__Event *event, happening_t *out)
{
    happening_t found = {0};
    json_t *detail = detail_of(event, &found);
    if (!found.name) return false;
    found.detail = detail ? json_dumps(detail, JSON_COMPACT) : NULL;
    if (!found.detail) found.detail = mem_strdup("{}"); /* a text that is no UTF-8 */
    json_decref(detail);
    found.key = mem_printf("%s %" PRId64 " %s %s", event->run, event->time_ms, found.name,
                           found.member);
    *out = found;
    return true;
}
