/* A table of members: HELLO, heartbeats, silence. What they offer is in offers.c. */
#include "gateway/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gateway/members_in.h"
#include "msg/protocol.h"
#include "msg/refusals.h"
#include "msg/server_card.h"

/* --- the table --- */

one_t *members_by_peer(const members_t *self, const msg_peer_t *peer)
{
    one_t *one = self->first;
    while (one && !msg_peer_equal(&one->peer, peer)) one = one->next;
    return one;
}

static one_t *by_id(const members_t *self, const char *id)
{
    one_t *one = self->first;
    while (one && strcmp(one->id, id) != 0) one = one->next;
    return one;
}

void members_fault(members_t *self, const msg_peer_t *to, uint64_t id, Msg__Fault__Code code,
                   const char *text)
{
    Msg__Fault message = MSG__FAULT__INIT;
    message.code = code;
    message.text = (char *)(uintptr_t)text;
    MSG_SEND(self->options.out, to, id, FAULT, fault, &message);
}

void members_lose(members_t *self, one_t *one, const char *reason)
{
    one_t **link = &self->first;
    while (*link != one) link = &(*link)->next;
    *link = one->next;
    self->n--;
    log_event(LOG_WARN, "member_lost", "member=%s reason=\"%s\"", one->id, reason);
    offers_end(one);
    free(one->offer);
    free(one);
    self->options.changed(self->options.user);
}

/* --- membership --- */

static const char *wrong_hello(const members_t *self, const Msg__Hello *m, const msg_peer_t *from)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@+-";
    size_t n = strlen(m->id);
    if (m->kind != MSG__KIND__KIND_INFERENCE)
        return "this is a gateway: only inference members join it (pcp-gateway --join)";
    if (n == 0 || n >= MSG_ID_BYTES || strspn(m->id, letters) != n)
        return "the id must have 1 to 63 letters, digits and . _ : @ + - (give another --id)";
    const char *not_its_own = from->card ? keys_may_be(from->card, m->kind, m->id) : NULL;
    if (not_its_own) refusals_count(REFUSAL_ROLE);
    if (not_its_own) return not_its_own;
    return self->n >= MEMBERS_MOST ? "256 members have joined already" : NULL;
}

static void welcome(members_t *self, const msg_peer_t *to, uint64_t id, uint32_t protocol)
{
    Msg__Welcome message = MSG__WELCOME__INIT;
    message.heartbeat_ms = MSG_HEARTBEAT_MS;
    message.timeout_ms = MSG_TIMEOUT_MS;
    message.protocol = protocol;
    char card[KEYS_CARD_TEXT];
    server_card_show(card);
    message.card = card;
    MSG_SEND(self->options.out, to, id, WELCOME, welcome, &message);
}

static void on_hello(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    members_t *self = state;
    const Msg__Hello *m = message->hello;
    char text[PROTOCOL_TEXT];
    one_t *one = members_by_peer(self, from);
    if (one && protocol_of_hello(m, text)) { /* said again before our answer came */
        welcome(self, from, message->id, protocol_of_hello(m, text));
        return;
    }
    const char *wrong = wrong_hello(self, m, from);
    uint32_t protocol = wrong ? 0 : protocol_of_hello(m, text);
    if (!protocol) {
        members_fault(self, from, message->id, MSG__FAULT__CODE__REFUSED, wrong ? wrong : text);
        if (msg_shows(++self->n_refused))
            log_event(LOG_WARN, "hello_refused", "reason=\"%s\"", wrong ? wrong : text);
        return;
    }
    one = by_id(self, m->id);
    bool another = one && (!m->incarnation || one->incarnation != m->incarnation);
    if (another && self->options.reaches(self->options.user, &one->peer)) {
        members_fault(self, from, message->id, MSG__FAULT__CODE__ID_IN_USE,
                      "this id belongs to a living member: start this one with another --id");
        return;
    }
    if (one) members_lose(self, one, "it has another connection");
    one = mem_calloc(1, sizeof *one);
    *one = (one_t){.all = self,
                   .peer = *from,
                   .incarnation = m->incarnation,
                   .serial = ++self->serial,
                   .heard_ms = clock_mono_ms(),
                   .offer = mem_calloc(MEMBERS_MODELS, sizeof(offer_t)),
                   .next = self->first};
    snprintf(one->id, sizeof one->id, "%s", m->id);
    self->first = one;
    self->n++;
    log_event(LOG_INFO, "member", "member=%s protocol=%u members=%zu", one->id, protocol, self->n);
    welcome(self, from, message->id, protocol);
}

static void on_heartbeat(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    members_t *self = state;
    Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
    MSG_SEND(self->options.out, from, message->id, HEARTBEAT, heartbeat, &beat);
}

static void on_bye(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)message;
    members_lose(state, members_by_peer(state, from), "it has left");
}

const msg_route_t members_routes[MSG_KIND_COUNT] = {
    MSG_ROUTE(HELLO, 16384, on_hello, MSG_FROM_STRANGER | MSG_FROM_INFERENCE),
    MSG_ROUTE(HEARTBEAT, 64, on_heartbeat, MSG_FROM_INFERENCE),
    MSG_ROUTE(BYE, 4096, on_bye, MSG_FROM_INFERENCE),
    MSG_ROUTE(OFFER, 4096, offers_on_offer, MSG_FROM_INFERENCE),
    MSG_ROUTE(OFFER_PIECE, MEMBERS_PIECE_BYTES + 256, offers_on_piece, MSG_FROM_INFERENCE),
    MSG_ROUTE(TEXT_NEWS, MSG_CONTROL_BYTES, offers_on_news, MSG_FROM_INFERENCE),
};

static msg_who_t who(void *state, const msg_peer_t *from)
{
    one_t *one = members_by_peer(state, from);
    if (one) one->heard_ms = clock_mono_ms();
    return one ? MSG__KIND__KIND_INFERENCE : MSG__KIND__KIND_NONE;
}

static void refuse_message(void *state, const msg_peer_t *from, uint64_t id, msg_who_t who_is,
                           const char *text)
{
    bool unknown = who_is == MSG__KIND__KIND_NONE;
    members_fault(state, from, id,
                  unknown ? MSG__FAULT__CODE__UNKNOWN_PEER : MSG__FAULT__CODE__NOT_ALLOWED, text);
}

msg_table_t members_table(void)
{
    return (msg_table_t){members_routes, who, refuse_message};
}

/* --- time --- */

/* All that has arrived is read before. Who was held up itself cannot tell how long others were silent. */
void members_tick(members_t *self, int64_t now_ms)
{
    int64_t late_ms = self->tick_ms ? now_ms - self->tick_ms : 0;
    self->tick_ms = now_ms;
    for (one_t *one = self->first, *next; one; one = next) {
        next = one->next;
        if (late_ms > MSG_TIMEOUT_MS / 2) one->heard_ms += late_ms;
        if (now_ms - one->heard_ms > MSG_TIMEOUT_MS)
            members_lose(self, one, "silent for too long");
        else if (!self->options.reaches(self->options.user, &one->peer))
            members_lose(self, one, "its connection has ended");
        else
            offers_tick(one, now_ms);
    }
}

size_t members_count(const members_t *self)
{
    return self->n;
}

void members_bye(members_t *self)
{
    Msg__Bye bye = MSG__BYE__INIT;
    bye.reason = (char *)(uintptr_t) "this gateway ends";
    for (one_t *one = self->first; one; one = one->next)
        MSG_SEND(self->options.out, &one->peer, 0, BYE, bye, &bye);
}

members_t *members_new(const members_options_t *options)
{
    members_t *self = mem_calloc(1, sizeof *self);
    self->options = *options;
    self->asker = offers_reader();
    return self;
}

void members_destroy(members_t **self_p)
{
    members_t *self = *self_p;
    if (!self) return;
    while (self->first) members_lose(self, self->first, "this gateway ends");
    asker_destroy(&self->asker);
    free(self);
    *self_p = NULL;
}

zsock_t *members_socket(members_t *self)
{
    return asker_socket(self->asker);
}
