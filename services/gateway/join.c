/* Offers, texts to the engines, news back. */
#include "gateway/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "gateway/served.h"

enum {
    MOST_BEYOND = 16
}; /* texts that wait here beyond twice the slots: a gateway keeps them itself */

/* --- offers --- */

static void offer(join_t *self, size_t number)
{
    join_model_t *m = &self->model[number];
    if (!m->engine || !self->joined) return;
    Msg__Offer message = MSG__OFFER__INIT;
    message.model = (uint32_t)number;
    message.name = m->name;
    message.weights = m->label[m->n_loads - 1];
    message.round = m->round;
    message.slots = self->draining ? 0 : (uint32_t)m->facts.slots;
    message.length = (uint64_t)m->facts.length;
    message.vocab = (uint64_t)m->facts.vocab;
    message.width = m->facts.width <= CARRY_WIDTH ? (uint64_t)m->facts.width : 0;
    message.tokenizer = m->tokenizer_hash;
    message.tokenizer_bytes = strlen(m->description);
    message.chat = (char *)(uintptr_t)m->chat;
    MSG_SEND(self->out, NULL, 0, OFFER, offer, &message);
}

/* Twice the tokenizer's size in all: what is not read waits in our memory. */
static void on_ask(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    join_t *self = state;
    const Msg__OfferAsk *ask = message->offer_ask;
    if (ask->model >= self->n || !self->model[ask->model].engine) return;
    join_model_t *m = &self->model[ask->model];
    size_t n = strlen(m->description);
    if (ask->offset >= n || m->told_bytes > 2 * n) return;
    Msg__OfferPiece piece = MSG__OFFER_PIECE__INIT;
    piece.model = ask->model;
    piece.offset = ask->offset;
    piece.data.data = (uint8_t *)m->description + ask->offset;
    piece.data.len = n - ask->offset < MEMBERS_PIECE_BYTES ? n - ask->offset : MEMBERS_PIECE_BYTES;
    m->told_bytes += piece.data.len;
    MSG_SEND(self->out, NULL, message->id, OFFER_PIECE, offer_piece, &piece);
}

void join_on_welcome(join_t *self)
{
    self->joined = true;
    for (size_t i = 0; i < self->n; i++) {
        self->model[i].told_bytes = 0;
        offer(self, i);
    }
}

void join_on_lost(join_t *self)
{
    self->joined = false;
    for (size_t i = 0; i < self->n; i++) {
        join_model_t *m = &self->model[i];
        for (size_t k = 0; k < m->texts.n; k++) engine_cancel(m->engine, m->texts.at[k]);
        m->texts.n = 0;
        carry_drop(&m->news);
    }
}

/* --- texts --- */

static size_t find_text(const join_model_t *m, uint64_t id)
{
    size_t i = 0;
    while (i < m->texts.n && m->texts.at[i] != id) i++;
    return i;
}

static void forget_text(join_model_t *m, size_t i)
{
    if (i < m->texts.n) m->texts.at[i] = m->texts.at[--m->texts.n];
}

/* Not begun, and why: another may, or nobody can. */
static void refuse_text(join_t *self, join_model_t *m, uint64_t id, const char *text, bool again)
{
    engine_item_t item = {.id = id, .piece = mem_calloc(1, 1), .again = again};
    item.error = mem_strdup(text);
    if (!again) log_event(LOG_WARN, "text_refused", "name=\"%s\" reason=\"%s\"", m->name, text);
    carry_add(&m->news, &item, "");
    self->sent_ms = 0;
}

static void on_write(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    join_t *self = state;
    const Msg__WriteText *ask = message->write_text;
    if (ask->model >= self->n || !self->model[ask->model].engine) return;
    join_model_t *m = &self->model[ask->model];
    err_t err = {0};
    if (find_text(m, ask->text) < m->texts.n) return;
    bool full = m->texts.n >= 2 * (size_t)m->facts.slots + MOST_BEYOND;
    bool other = *ask->weights && strcmp(ask->weights, m->label[m->n_loads - 1]) != 0;
    if (full || other || self->draining) {
        refuse_text(self, m, ask->text, "not now, or not with these weights", true);
        return;
    }
    job_t *job = carry_read_job(ask, m->facts.length, m->facts.vocab, &err);
    if (!job) {
        refuse_text(self, m, ask->text, err.text, false);
        return;
    }
    if (*ask->weights) job->weights = m->n_loads;
    VEC_PUSH(&m->texts, ask->text);
    engine_add(m->engine, job);
}

static void on_stop(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    join_t *self = state;
    const Msg__StopText *stop = message->stop_text;
    if (stop->model >= self->n) return;
    join_model_t *m = &self->model[stop->model];
    size_t i = find_text(m, stop->text);
    if (i == m->texts.n) return;
    forget_text(m, i);
    engine_cancel(m->engine, stop->text);
}

const msg_route_t join_routes[MSG_KIND_COUNT] = {
    MSG_ROUTE(OFFER_ASK, 64, on_ask, MSG_FROM_SHEPHERD),
    MSG_ROUTE(WRITE_TEXT, MSG_CONTROL_BYTES, on_write, MSG_FROM_SHEPHERD),
    MSG_ROUTE(STOP_TEXT, 64, on_stop, MSG_FROM_SHEPHERD),
};

/* --- news --- */

static void send_news(join_t *self, size_t number, int64_t now_ms)
{
    join_model_t *m = &self->model[number];
    self->sent_ms = now_ms;
    carry_send_news(&m->news, self->out, (uint32_t)number, m->models, m->reused);
}

void join_on_news(join_t *self, size_t number, engine_news_t *news)
{
    join_model_t *m = &self->model[number];
    m->models = news->models;
    m->reused = news->reused;
    for (size_t i = 0; i < news->n; i++) {
        engine_item_t *item = &news->at[i];
        size_t text = find_text(m, item->id);
        if (text == m->texts.n) continue; /* stopped meanwhile */
        if (item->end != WRITER_GOES_ON || item->error) forget_text(m, text);
        bool known = item->weights > 0 && item->weights <= m->n_loads;
        carry_add(&m->news, item, known ? m->label[item->weights - 1] : "");
        if (m->news.bytes > CARRY_NEWS_BYTES) send_news(self, number, self->sent_ms);
    }
    engine_news_free(news);
}

bool join_flush(join_t *self, int64_t now_ms)
{
    bool soon = now_ms - self->sent_ms < JOIN_NEWS_MS, waits = false;
    for (size_t i = 0; i < self->n; i++) {
        if (self->model[i].news.items.n == 0) continue;
        waits = true;
        if (!soon) send_news(self, i, now_ms);
    }
    return !soon || !waits;
}

/* --- weights --- */

static void begin(join_model_t *m, loaded_t *loaded)
{
    m->tokenizer = loaded->tokenizer;
    m->description = loaded->description;
    loaded->tokenizer = NULL;
    loaded->description = NULL;
    snprintf(m->tokenizer_hash, sizeof m->tokenizer_hash, "%s", loaded->tokenizer_hash);
    m->facts = loaded->facts;
    m->engine = engine_new(m->tokenizer);
}

int join_on_loaded(join_t *self, size_t number, loaded_t *loaded, err_t *err)
{
    join_model_t *m = &self->model[number];
    if (loaded->error) {
        int status = m->engine ? 0
                               : err_set(err, ERR_STATE, "--model %s: %s", m->name, loaded->error);
        log_event(LOG_WARN, "not_loaded", "name=\"%s\" error=\"%s\"", m->name, loaded->error);
        loaded_free(loaded);
        return status;
    }
    if (!m->engine) begin(m, loaded);
    m->label = mem_realloc(m->label, (m->n_loads + 1) * sizeof *m->label);
    snprintf(m->label[m->n_loads++], ROUTE_WEIGHTS, "%s", loaded->hash);
    m->round = loaded->round;
    m->models++;
    engine_load(m->engine, loaded->model);
    loaded->model = NULL;
    log_event(LOG_INFO, "model", "name=\"%s\" checkpoint=\"%s\" round=%lld context=%lld slots=%d",
              m->name, loaded->path, (long long)m->round, (long long)m->facts.length,
              m->facts.slots);
    loaded_free(loaded);
    offer(self, number);
    return 0;
}

bool join_ready(const join_t *self)
{
    for (size_t i = 0; i < self->n; i++)
        if (!self->model[i].engine) return false;
    return true;
}

/* --- beginning and end --- */

static int set_chat(join_t *self, const char *text, err_t *err)
{
    const char *equals = strchr(text, '='), *word = equals ? equals + 1 : text;
    const chat_template_t *found = chat_find(word);
    if (!found)
        return err_set(err, ERR_ARG,
                       "--chat-template %s: with --join known are %s; a file is for the gateway's "
                       "own --chat-template",
                       text, chat_names());
    for (size_t i = 0; i < self->n; i++) {
        const char *name = self->model[i].name;
        size_t n = equals ? (size_t)(equals - text) : 0;
        if (equals && (strlen(name) != n || memcmp(name, text, n) != 0)) continue;
        self->model[i].chat = chat_name(found);
    }
    return 0;
}

static int add_model(join_t *self, const char *text, err_t *err)
{
    served_t parsed = {0};
    if (self->n == MEMBERS_MODELS)
        return err_set(err, ERR_ARG, "--model %s: a member has %d at most", text, MEMBERS_MODELS);
    if (served_init(&parsed, text, err) < 0) return -1;
    bool twice = false;
    for (size_t i = 0; i < self->n; i++) twice |= strcmp(self->model[i].name, parsed.name) == 0;
    if (!twice)
        self->model[self->n++] = (join_model_t){
            .name = mem_strdup(parsed.name), .path = mem_strdup(parsed.path), .chat = ""};
    served_fini(&parsed);
    return twice ? err_set(err, ERR_ARG, "--model %s: the name is there twice", text) : 0;
}

int join_init(join_t *self, const gateway_config_t *config, err_t *err)
{
    int status = 0;
    char *models = mem_strdup(config->model ? config->model : ""), *next = models;
    for (char *one; status == 0 && (one = strsep(&next, ","));)
        if (*one) status = add_model(self, one, err);
    free(models);
    char *chats = mem_strdup(config->chat_template ? config->chat_template : "");
    next = chats;
    for (char *one; status == 0 && (one = strsep(&next, ","));)
        if (*one) status = set_chat(self, one, err);
    free(chats);
    if (status == 0 && self->n == 0)
        return err_set(err, ERR_ARG, "--join: no --model NAME=DIR is given (try --help)");
    return status;
}

/* The engine before the tokenizer, which it borrows. */
void join_fini(join_t *self)
{
    for (size_t i = 0; i < self->n; i++) {
        join_model_t *m = &self->model[i];
        loader_destroy(&m->loader);
        engine_destroy(&m->engine);
        tokenizer_destroy(&m->tokenizer);
        carry_drop(&m->news);
        VEC_FREE(&m->texts);
        free(m->description);
        free(m->label);
        free(m->name);
        free(m->path);
    }
    *self = (join_t){0};
}

void join_drain(join_t *self)
{
    self->draining = true;
    for (size_t i = 0; i < self->n; i++) offer(self, i);
}

bool join_idle(const join_t *self)
{
    for (size_t i = 0; i < self->n; i++)
        if (self->model[i].texts.n > 0 || self->model[i].news.items.n > 0) return false;
    return true;
}
