/* Questions to the front over a member's connection. */
#include "pcp/run_talk.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "msg/limits.h"
#include "msg/member.h"
#include "msg/pace.h"
#include "msg/service.h"
#include "pcp/cmd.h"
#include "pcp/routes.h"

enum { TICK_MS = 5 };

enum { STREAM_OPEN = 512 };

/* Pieces on their way. They are answered in their order. */
typedef struct {
    const run_pieces_t *pieces; /* NULL: none are sent */
    uint64_t window;
    pace_t pace;
    pace_sent_t sent[STREAM_OPEN]; /* number i at i % STREAM_OPEN */
    size_t n_sent, n_answered;
    bool last; /* there are no more */
    char error[MSG_NAME_BYTES];
} stream_t;

struct run_talk {
    const char *endpoints;
    int64_t wait_ms, limit_ms, lost_ms;
    zloop_t *loop;
    member_t *member;
    char *id;
    msg_envelope_t question; /* body borrowed; body_case 0: none */
    bool once;               /* not to be asked again */
    bool patient, waits, renewed;
    msg_envelope_t *answer;
    run_talk_hear_fn *hear;
    void *user;
    bool over;                      /* hear has heard enough */
    char forbidden[MSG_NAME_BYTES]; /* why our key may not ask this; "": it may */
    stream_t stream;
    progress_t *progress;
};

static msg_envelope_t *copy_of(const msg_envelope_t *message)
{
    size_t n;
    uint8_t *bytes = msg_pack(message, &n);
    msg_envelope_t *copy = msg_unpack(bytes, n, NULL);
    free(bytes);
    return copy;
}

static void stream_send(run_talk_t *self)
{
    stream_t *stream = &self->stream;
    msg_out_t out = member_out(self->member);
    while (!stream->last && stream->n_sent - stream->n_answered < STREAM_OPEN &&
           pace_allows(&stream->pace) &&
           stream->pace.open + RUN_TALK_PIECE_BYTES <= stream->window) {
        Msg__RunPiece piece = MSG__RUN_PIECE__INIT;
        stream->last = !stream->pieces->next(stream->pieces->user, &piece);
        if (stream->last) break;
        MSG_SEND(out, NULL, 0, RUN_PIECE, run_piece, &piece);
        stream->sent[stream->n_sent++ % STREAM_OPEN] = pace_send(&stream->pace, piece.data.len,
                                                                 clock_mono_s() * 1000);
    }
    self->waits = !stream->last || stream->n_sent > stream->n_answered;
}

static void stream_answer(run_talk_t *self, const Msg__RunAnswer *answer)
{
    stream_t *stream = &self->stream;
    if (stream->n_answered == stream->n_sent) return;
    const pace_sent_t *sent = &stream->sent[stream->n_answered++ % STREAM_OPEN];
    pace_answer(&stream->pace, sent, true, clock_mono_s() * 1000);
    stream->pieces->arrived(stream->pieces->user, sent->bytes);
    snprintf(stream->error, sizeof stream->error, "%s", answer->error);
    if (*stream->error)
        self->waits = false;
    else
        stream_send(self);
}

static void on_answer(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    run_talk_t *self = state;
    if (self->stream.pieces) {
        if (!*self->stream.error) stream_answer(self, message->run_answer);
        return;
    }
    if (self->hear && !self->over) self->over = !self->hear(self->user, NULL, message->run_answer);
    if (self->hear || !self->waits) return;
    self->answer = copy_of(message);
    self->waits = false;
}

static void on_event(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    run_talk_t *self = state;
    if (self->hear && !self->over) self->over = !self->hear(self->user, message->run_event, NULL);
}

const msg_route_t run_talk_routes[MSG_KIND_COUNT] = {
    MSG_ROUTE(RUN_ANSWER, 1 << 20, on_answer, MSG_FROM_SHEPHERD),
    MSG_ROUTE(RUN_EVENT, 8192 + MSG_NAME_BYTES, on_event, MSG_FROM_SHEPHERD),
};

static void say(run_talk_t *self)
{
    msg_out_t out = member_out(self->member);
    if (self->question.body_case) out.send(out.user, NULL, &self->question);
}

static void on_welcome(void *state, const Msg__Welcome *welcome)
{
    (void)welcome;
    run_talk_t *self = state;
    self->renewed = true;
    self->lost_ms = 0;
    if (self->member && !self->once) say(self);
}

static void on_lost(void *state, const char *reason)
{
    (void)reason;
    run_talk_t *self = state;
    self->lost_ms = clock_mono_ms();
}

static void on_not_allowed(void *state, const char *text)
{
    run_talk_t *self = state;
    snprintf(self->forbidden, sizeof self->forbidden, "%s", text);
}

/* Ends a zloop_start: there is what was waited for, or time is up. */
static int on_tick(zloop_t *loop, int timer, void *state)
{
    (void)loop, (void)timer;
    run_talk_t *self = state;
    int64_t now = clock_mono_ms();
    bool joined = member_joined(self->member);
    if (self->progress) progress_tick(self->progress);
    if (*self->forbidden) return -1;
    if (self->once && (self->lost_ms || self->renewed)) return -1;
    if (joined && (self->patient || self->hear)) self->limit_ms = now + self->wait_ms;
    bool asks = self->question.body_case || self->stream.pieces;
    bool there = self->hear ? self->over : asks ? !self->waits : joined;
    return there || now >= self->limit_ms ? -1 : 0;
}

static void run(run_talk_t *self)
{
    self->limit_ms = clock_mono_ms() + self->wait_ms;
    zloop_start(self->loop);
}

run_talk_t *run_talk_new(const char *endpoints, int64_t wait_ms, err_t *err)
{
    run_talk_t *self = mem_calloc(1, sizeof *self);
    self->endpoints = endpoints;
    self->wait_ms = wait_ms;
    self->id = service_id("pcp-run");
    member_options_t options = {.endpoint = endpoints,
                                .kind = MSG__KIND__KIND_CLI,
                                .id = self->id,
                                .routes = run_talk_routes,
                                .state = self,
                                .on_welcome = on_welcome,
                                .on_lost = on_lost,
                                .on_not_allowed = on_not_allowed,
                                .on_unreachable = cmd_unreachable};
    zsys_handler_set(NULL);
    self->loop = zloop_new();
    self->member = member_new(self->loop, &options, err);
    if (self->member) {
        zloop_timer(self->loop, TICK_MS, 0, on_tick, self);
        run(self);
        if (member_joined(self->member)) return self;
        if (*self->forbidden)
            err_set(err, ERR_STATE, "%s", self->forbidden);
        else
            err_set(err, ERR_NET,
                    "no cluster answers at %s within %lld ms: name its front with --shepherd, "
                    "or start one with pcp-shepherd --cluster",
                    endpoints, (long long)wait_ms);
    }
    run_talk_destroy(&self);
    return NULL;
}

void run_talk_destroy(run_talk_t **self_p)
{
    run_talk_t *self = *self_p;
    if (!self) return;
    if (self->member) member_leave(self->member, "has its answer");
    member_destroy(&self->member);
    zloop_destroy(&self->loop);
    msg_free(&self->answer);
    free(self->id);
    free(self);
    *self_p = NULL;
}

static int no_answer(run_talk_t *self, err_t *err)
{
    if (*self->forbidden) {
        int rc = err_set(err, ERR_STATE, "%s", self->forbidden);
        *self->forbidden = '\0';
        return rc;
    }
    return err_set(err, ERR_NET, "no answer from the cluster at %s within %lld ms", self->endpoints,
                   (long long)self->wait_ms);
}

static int converse(run_talk_t *self, bool patient, err_t *err)
{
    self->patient = patient;
    self->waits = true;
    if (member_joined(self->member)) say(self);
    run(self);
    self->question.body_case = 0;
    if (self->waits) return no_answer(self, err);
    const Msg__RunAnswer *answer = self->answer ? self->answer->run_answer : NULL;
    if (!answer) return no_answer(self, err);
    return *answer->error ? err_set(err, ERR_STATE, "%s", answer->error) : 0;
}

int run_talk_ask(run_talk_t *self, const Msg__RunAsk *ask, bool patient, msg_envelope_t **answer,
                 err_t *err)
{
    msg__envelope__init(&self->question);
    self->question.body_case = MSG__ENVELOPE__BODY_RUN_ASK;
    self->question.run_ask = (Msg__RunAsk *)ask;
    int rc = converse(self, patient, err);
    if (rc == 0 && answer) {
        *answer = self->answer;
        self->answer = NULL;
    }
    msg_free(&self->answer);
    return rc;
}

int run_talk_pieces(run_talk_t *self, uint64_t window, const run_pieces_t *pieces, err_t *err)
{
    stream_t *stream = &self->stream;
    *stream = (stream_t){.pieces = pieces, .window = window};
    if (window < RUN_TALK_PIECE_BYTES) stream->window = RUN_TALK_PIECE_BYTES;
    pace_init(&stream->pace);
    self->patient = self->once = self->waits = true;
    if (member_joined(self->member)) stream_send(self);
    if (self->waits) run(self);
    stream->pieces = NULL;
    self->once = false;
    if (*stream->error) return err_set(err, ERR_STATE, "%s", stream->error);
    if (!self->waits) return 0;
    run(self); /* the connection was lost: until there is another */
    return no_answer(self, err);
}

void run_talk_show(run_talk_t *self, progress_t *progress)
{
    self->progress = progress;
}

bool run_talk_renewed(run_talk_t *self)
{
    bool renewed = self->renewed;
    self->renewed = false;
    return renewed;
}

int run_talk_watch(run_talk_t *self, const char *run_id, run_talk_hear_fn *hear, void *user,
                   err_t *err)
{
    Msg__RunAsk ask = MSG__RUN_ASK__INIT;
    ask.verb = MSG__RUN_ASK__VERB__WATCH;
    ask.run = (char *)run_id;
    msg__envelope__init(&self->question);
    self->question.body_case = MSG__ENVELOPE__BODY_RUN_ASK;
    self->question.run_ask = &ask;
    self->hear = hear;
    self->user = user;
    self->over = false;
    if (member_joined(self->member)) say(self);
    run(self);
    self->hear = NULL;
    self->question.body_case = 0;
    return self->over ? 0 : no_answer(self, err);
}
