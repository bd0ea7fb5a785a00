/* What members offer: a model's tokenizer is fetched piece by piece and read beside the loop, then the member is one of
 * the model's hosts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "gateway/carry.h"
#include "gateway/members_in.h"

enum { FETCH_MS = 10000 };

/* --- tokenizers are read by a thread --- */

typedef struct {
    uint64_t member; /* serial */
    uint32_t number;
    str_t text;
    char hash[HASH_HEX];
    tokenizer_t *tokenizer;
    err_t err;
} question_t;

static void read_tokenizer(void *user, void *question)
{
    (void)user;
    question_t *q = question;
    char hash[HASH_HEX];
    hash_content(str_text(&q->text), q->text.n, hash);
    if (strcmp(hash, q->hash) != 0)
        err_set(&q->err, ERR_CORRUPT, "its tokenizer is not the one that was offered");
    else
        q->tokenizer = tokenizer_parse_bytes(str_text(&q->text), q->text.n, &q->err);
}

static void drop_question(void *question)
{
    question_t *q = question;
    tokenizer_destroy(&q->tokenizer);
    str_fini(&q->text);
    free(q);
}

asker_t *offers_reader(void)
{
    return asker_new(read_tokenizer, drop_question, NULL);
}

/* --- states --- */

static void leave_state(members_t *self, offer_t *offer)
{
    if (offer->state == OFFER_FETCHES || offer->state == OFFER_READS) self->n_fetches--;
    str_fini(&offer->fetched);
}

static void refuse_offer(offer_t *offer, const char *text)
{
    members_t *self = offer->member->all;
    leave_state(self, offer);
    offer->state = OFFER_REFUSED;
    route_leave(&offer->host);
    if (msg_shows(++self->n_refused))
        log_event(LOG_WARN, "offer_refused", "member=%s name=\"%s\" reason=\"%s\"",
                  offer->member->id, offer->name, text);
    members_fault(self, &offer->member->peer, 0, MSG__FAULT__CODE__REFUSED, text);
}

void offers_end(one_t *one)
{
    for (size_t i = 0; i < MEMBERS_MODELS; i++) {
        leave_state(one->all, &one->offer[i]);
        route_leave(&one->offer[i].host);
    }
}

/* --- what a host does --- */

static bool give(host_t *host, const text_t *text)
{
    const offer_t *offer = host->user;
    members_t *self = offer->member->all;
    carry_send_job(self->options.out, &offer->member->peer, offer->number, text->number,
                   text->weights, text->job);
    return true; /* one that has no connection any more is found at the next tick */
}

static void stop(host_t *host, uint64_t number)
{
    const offer_t *offer = host->user;
    members_t *self = offer->member->all;
    Msg__StopText message = MSG__STOP_TEXT__INIT;
    message.model = offer->number;
    message.text = number;
    MSG_SEND(self->options.out, &offer->member->peer, 0, STOP_TEXT, stop_text, &message);
}

/* --- offers --- */

/* It is served from now on, or with other weights than before. */
static void serve(offer_t *offer, served_t *served)
{
    members_t *self = offer->member->all;
    host_t *host = &offer->host;
    bool newer = strcmp(host->weights, offer->weights) != 0;
    host->slots = offer->slots;
    host->round = offer->round;
    snprintf(host->weights, sizeof host->weights, "%s", offer->weights);
    if (newer) served_note(served, host);
    if (newer)
        log_event(LOG_INFO, "offered", "member=%s name=\"%s\" weights=%s round=%lld slots=%d",
                  offer->member->id, offer->name, offer->weights, (long long)offer->round,
                  offer->slots);
    if (host->route) {
        route_changed(host);
        return;
    }
    leave_state(self, offer);
    offer->state = OFFER_SERVES;
    host->give = give;
    host->stop = stop;
    host->user = offer;
    snprintf(host->id, sizeof host->id, "%s", offer->member->id);
    route_join(&served->route, host);
    self->options.changed(self->options.user);
}

static void ask_piece(offer_t *offer, int64_t now_ms)
{
    members_t *self = offer->member->all;
    Msg__OfferAsk ask = MSG__OFFER_ASK__INIT;
    ask.model = offer->number;
    ask.offset = offer->fetched.n;
    offer->asked_ms = now_ms;
    MSG_SEND(self->options.out, &offer->member->peer, 0, OFFER_ASK, offer_ask, &ask);
}

/* On with an offer, as far as it can go now. */
static void settle(offer_t *offer, int64_t now_ms)
{
    members_t *self = offer->member->all;
    err_t err = {0};
    served_t *served = self->options.find(self->options.user, offer->name);
    if (!served) {
        refuse_offer(offer, "too many models are offered here");
        return;
    }
    offer->facts.tokenizer_hash = offer->tokenizer_hash;
    if (served_agrees(served, &offer->facts, &err) < 0) {
        refuse_offer(offer, err.text);
        return;
    }
    bool same = served->known && strcmp(served->tokenizer_hash, offer->tokenizer_hash) == 0;
    if (same) {
        served_learn(served, &offer->facts, NULL, offer->chat);
        serve(offer, served);
        return;
    }
    if (offer->state != OFFER_WAITS || self->n_fetches >= MEMBERS_FETCHES) return;
    if (served->path) return; /* ours, which is being loaded */
    offer->state = OFFER_FETCHES;
    self->n_fetches++;
    ask_piece(offer, now_ms);
}

static const char *wrong_offer(const Msg__Offer *m)
{
    if (m->model >= MEMBERS_MODELS) return "a member offers 16 models at most";
    if (!served_name_valid(m->name, strlen(m->name)))
        return "a model's name has 1 to 100 letters, digits and . _ : / -";
    if (!*m->weights || strlen(m->weights) >= ROUTE_WEIGHTS ||
        !served_name_valid(m->weights, strlen(m->weights)))
        return "the name of its weights is none";
    if (strlen(m->tokenizer) != HASH_HEX - 1 || m->tokenizer_bytes == 0 ||
        m->tokenizer_bytes > TOKENIZER_MAX_BYTES)
        return "its tokenizer has no name, or is too large";
    if (m->slots > CARRY_SLOTS || m->length < 1 || m->length > CARRY_LENGTH || m->vocab < 1 ||
        m->vocab > CARRY_VOCAB || m->width > CARRY_WIDTH)
        return "its slots, context, vocabulary or width are out of range";
    if (*m->chat && !chat_find(m->chat)) return "it names a chat template that there is not";
    return NULL;
}

void offers_on_offer(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    members_t *self = state;
    const Msg__Offer *m = message->offer;
    one_t *one = members_by_peer(self, from);
    const char *wrong = wrong_offer(m);
    if (wrong) {
        if (msg_shows(++self->n_refused))
            log_event(LOG_WARN, "offer_refused", "member=%s reason=\"%s\"", one->id, wrong);
        members_fault(self, from, message->id, MSG__FAULT__CODE__REFUSED, wrong);
        return;
    }
    offer_t *offer = &one->offer[m->model];
    bool first = offer->state == OFFER_NONE;
    const served_facts_t facts = {(int64_t)m->length, (int64_t)m->vocab, (int64_t)m->width, NULL};
    if (!first &&
        (strcmp(offer->name, m->name) != 0 || offer->facts.length != facts.length ||
         offer->facts.vocab != facts.vocab || offer->facts.width != facts.width ||
         offer->bytes != m->tokenizer_bytes || strcmp(offer->tokenizer_hash, m->tokenizer) != 0)) {
        refuse_offer(offer, "a model's checkpoint may change, not the model: restart the member");
        return;
    }
    offer->member = one;
    offer->number = m->model;
    offer->facts = facts;
    offer->round = m->round;
    offer->slots = (int)m->slots;
    offer->bytes = m->tokenizer_bytes;
    snprintf(offer->name, sizeof offer->name, "%s", m->name);
    snprintf(offer->weights, sizeof offer->weights, "%s", m->weights);
    snprintf(offer->tokenizer_hash, sizeof offer->tokenizer_hash, "%s", m->tokenizer);
    snprintf(offer->chat, sizeof offer->chat, "%s", m->chat);
    if (first) offer->state = OFFER_WAITS;
    if (offer->state == OFFER_WAITS || offer->state == OFFER_SERVES) settle(offer, one->heard_ms);
}

static offer_t *offer_of(one_t *one, uint32_t number, offer_state_t state)
{
    if (number >= MEMBERS_MODELS || one->offer[number].state != state) return NULL;
    return &one->offer[number];
}

void offers_on_piece(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    members_t *self = state;
    const Msg__OfferPiece *m = message->offer_piece;
    one_t *one = members_by_peer(self, from);
    offer_t *offer = offer_of(one, m->model, OFFER_FETCHES);
    if (!offer || m->offset != offer->fetched.n) return; /* an answer to a question of before */
    if (m->data.len == 0 || m->data.len > offer->bytes - offer->fetched.n) {
        refuse_offer(offer, "its tokenizer has another size than was offered");
        return;
    }
    str_addn(&offer->fetched, (const char *)m->data.data, m->data.len);
    if (offer->fetched.n < offer->bytes) {
        ask_piece(offer, one->heard_ms);
        return;
    }
    question_t *q = mem_calloc(1, sizeof *q);
    *q = (question_t){.member = one->serial, .number = offer->number, .text = offer->fetched};
    snprintf(q->hash, sizeof q->hash, "%s", offer->tokenizer_hash);
    offer->fetched = (str_t){0};
    offer->state = OFFER_READS;
    asker_ask(self->asker, q);
}

static void take_read(members_t *self, question_t *q)
{
    one_t *one = self->first;
    while (one && one->serial != q->member) one = one->next;
    offer_t *offer = one ? offer_of(one, q->number, OFFER_READS) : NULL;
    if (!offer) return;
    served_t *served = self->options.find(self->options.user, offer->name);
    err_t err = q->err;
    offer->facts.tokenizer_hash = offer->tokenizer_hash;
    if (!q->tokenizer || !served || served_agrees(served, &offer->facts, &err) < 0) {
        refuse_offer(offer, served ? err.text : "too many models are offered here");
        return;
    }
    served_learn(served, &offer->facts, q->tokenizer, offer->chat);
    q->tokenizer = NULL;
    serve(offer, served);
}

void members_read(members_t *self)
{
    for (question_t *q; (q = asker_receive(self->asker));) {
        take_read(self, q);
        drop_question(q);
    }
}

/* --- texts --- */

/* Of a text that it was given: what a member says beyond what was asked for would be kept until the answer is whole, and
 * an answer without its vector has nothing to be made of. NULL: nothing is wrong. */
static const char *wrong_text(const text_t *text, const Msg__TextItem *m, int64_t width)
{
    enum { ENDS = 8, TOKEN_BYTES = 1024, SHORT_BYTES = 64 << 10 }; /* TOKEN_BYTES: on average */
    const writer_options_t *how = &text->job->how;
    if (m->again || *m->error) return NULL;
    if (how->hidden && (m->end == WRITER_GOES_ON || m->n_hidden != (uint64_t)width))
        return "an embedding without its hidden states";
    uint64_t most = how->tokens < CARRY_LENGTH ? (uint64_t)how->tokens : CARRY_LENGTH;
    if (m->number > most + ENDS || text->told.n + m->piece.len > SHORT_BYTES + most * TOKEN_BYTES)
        return "a text that is longer than was asked for";
    return NULL;
}

void offers_on_news(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    members_t *self = state;
    const Msg__TextNews *m = message->text_news;
    one_t *one = members_by_peer(self, from);
    offer_t *offer = offer_of(one, m->model, OFFER_SERVES);
    if (!offer) return;
    offer->host.models = m->loaded;
    offer->host.reused = m->reused;
    for (size_t i = 0; i < m->n_items; i++) {
        engine_item_t item = {0};
        err_t err = {0};
        text_t *text = route_find(&offer->host, m->items[i]->text);
        if (!text) continue; /* nobody wants it any more; or it has never been this member's */
        const char *wrong = wrong_text(text, m->items[i], offer->facts.width);
        if (wrong) err_set(&err, ERR_NET, "%s", wrong);
        if (wrong ||
            carry_read_item(m->items[i], offer->facts.vocab, offer->facts.width, &item, &err) < 0) {
            members_lose(self, one, err.text);
            members_fault(self, from, message->id, MSG__FAULT__CODE__UNKNOWN_PEER, err.text);
            return;
        }
        self->options.hear(self->options.user, &offer->host, text, &item, m->items[i]->weights);
        engine_item_fini(&item);
    }
}

void offers_tick(one_t *one, int64_t now_ms)
{
    for (size_t i = 0; i < MEMBERS_MODELS; i++) {
        offer_t *offer = &one->offer[i];
        if (offer->state == OFFER_WAITS) settle(offer, now_ms);
        if (offer->state == OFFER_FETCHES && now_ms - offer->asked_ms > FETCH_MS)
            ask_piece(offer, now_ms);
    }
}
