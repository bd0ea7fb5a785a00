/* One CONTROL message and its answer. */
#include "pcp/checkpoint_now.h"

#include <stdlib.h>

#include "base/clock.h"
#include "msg/member.h"
#include "msg/service.h"
#include "pcp/cmd.h"
#include "pcp/routes.h"

typedef struct {
    member_t *member;
    int64_t limit_ms;
    bool asked, answered;
    const char *run;
    err_t refusal;
} ask_t;

static void on_reply(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    ask_t *self = state;
    self->answered = true;
    if (*message->control_reply->error)
        err_set(&self->refusal, ERR_STATE, "%s", message->control_reply->error);
}

const msg_route_t checkpoint_now_routes[MSG_KIND_COUNT] = {
    MSG_ROUTE(CONTROL_REPLY, 1 << 16, on_reply, MSG_FROM_SHEPHERD),
};

static void on_welcome(void *state, const Msg__Welcome *welcome)
{
    (void)welcome;
    ask_t *self = state;
    if (self->asked) return;
    Msg__Control control = MSG__CONTROL__INIT;
    control.verb = MSG__CONTROL__VERB__CHECKPOINT;
    control.member = (char *)self->run;
    MSG_SEND(member_out(self->member), NULL, 0, CONTROL, control, &control);
    self->asked = true;
}

static void on_lost(void *state, const char *reason)
{
    (void)state, (void)reason; /* the time limit ends it */
}

static void on_not_allowed(void *state, const char *text)
{
    ask_t *self = state;
    self->answered = true;
    err_set(&self->refusal, ERR_STATE, "%s", text);
}

static int on_tick(zloop_t *loop, int timer, void *state)
{
    (void)loop, (void)timer;
    const ask_t *self = state;
    return self->answered || clock_mono_ms() >= self->limit_ms ? -1 : 0;
}

int checkpoint_now(const char *shepherd, const char *run, int64_t wait_ms, err_t *err)
{
    ask_t self = {.limit_ms = clock_mono_ms() + wait_ms, .run = run ? run : ""};
    char *id = service_id("pcp-checkpoint");
    member_options_t options = {.endpoint = shepherd,
                                .kind = MSG__KIND__KIND_CLI,
                                .id = id,
                                .routes = checkpoint_now_routes,
                                .state = &self,
                                .on_welcome = on_welcome,
                                .on_lost = on_lost,
                                .on_not_allowed = on_not_allowed,
                                .on_unreachable = cmd_unreachable};
    zsys_handler_set(NULL);
    zloop_t *loop = zloop_new();
    self.member = member_new(loop, &options, err);
    int rc = self.member ? 0 : -1;
    if (rc == 0) {
        zloop_timer(loop, 10, 0, on_tick, &self);
        zloop_start(loop);
        member_leave(self.member, "has its answer");
    }
    member_destroy(&self.member);
    zloop_destroy(&loop);
    free(id);
    if (rc < 0) return -1;
    if (!self.answered)
        return err_set(
            err, ERR_NET,
            "no answer from the shepherd at %s within %lld ms: name a cluster's front, or "
            "a run's shepherd, with --shepherd",
            shepherd, (long long)wait_ms);
    if (self.refusal.code) return err_set(err, self.refusal.code, "%s", self.refusal.text);
    return 0;
}
