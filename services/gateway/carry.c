/* Field by field. */
#include "gateway/carry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

/* --- a job --- */

/* The message, which borrows from the job; what it needs besides is the caller's to free. */
typedef struct {
    Msg__WriteText message;
    uint32_t *bias_token;
    float *bias;
} job_message_t;

static void make(job_message_t *self, const job_t *job)
{
    const writer_options_t *how = &job->how;
    const choose_options_t *choose = &how->choose;
    self->bias_token = mem_calloc(choose->n_bias + 1, sizeof *self->bias_token);
    self->bias = mem_calloc(choose->n_bias + 1, sizeof *self->bias);
    for (size_t i = 0; i < choose->n_bias; i++) {
        self->bias_token[i] = choose->bias[i].token;
        self->bias[i] = choose->bias[i].add;
    }
    Msg__WriteText *m = &self->message;
    msg__write_text__init(m);
    m->tokens = job->tokens;
    m->n_tokens = job->n_tokens;
    m->most = (uint64_t)how->tokens;
    m->temperature = choose->temperature;
    m->top_k = choose->top_k;
    m->top_p = choose->top_p;
    m->min_p = choose->min_p;
    m->repetition = choose->repetition;
    m->presence = choose->presence;
    m->frequency = choose->frequency;
    m->seed = choose->seed;
    m->bias_token = self->bias_token;
    m->bias = self->bias;
    m->n_bias_token = m->n_bias = choose->n_bias;
    m->stop = (char **)(uintptr_t)how->stop;
    m->n_stop = how->n_stop;
    m->end = (uint32_t *)(uintptr_t)how->end;
    m->n_end = how->n_end;
    m->logprobs = how->logprobs;
    m->hidden = how->hidden;
}

static void fini(job_message_t *self)
{
    free(self->bias_token);
    free(self->bias);
}

size_t carry_job_bytes(const job_t *job)
{
    job_message_t message;
    make(&message, job);
    size_t n = msg__write_text__get_packed_size(&message.message) + MSG_ID_BYTES;
    fini(&message);
    return n;
}

void carry_send_job(msg_out_t out, const msg_peer_t *to, uint32_t model, uint64_t number,
                    const char *weights, const job_t *job)
{
    job_message_t message;
    make(&message, job);
    message.message.model = model;
    message.message.text = number;
    message.message.weights = (char *)(uintptr_t)weights;
    MSG_SEND(out, to, 0, WRITE_TEXT, write_text, &message.message);
    fini(&message);
}

/* What the model's own functions do not check (choose_new has the ranges of its options, writer_add the tokens). */
static int check_job(const Msg__WriteText *m, int64_t length, int64_t vocab, err_t *err)
{
    if (m->n_tokens == 0 || m->n_tokens > (uint64_t)length)
        return err_set(err, ERR_ARG, "a prompt of %zu tokens, the context has %lld", m->n_tokens,
                       (long long)length);
    for (size_t i = 0; i < m->n_tokens; i++)
        if (m->tokens[i] >= vocab)
            return err_set(err, ERR_ARG, "token %u is outside of the vocabulary of %lld",
                           m->tokens[i], (long long)vocab);
    if (m->n_bias != m->n_bias_token || m->n_stop > CARRY_STOPS || m->n_end > CARRY_ENDS)
        return err_set(err, ERR_ARG, "%zu biases of %zu tokens, %zu stop strings, %zu end tokens",
                       m->n_bias, m->n_bias_token, m->n_stop, m->n_end);
    for (size_t i = 0; i < m->n_bias; i++)
        if (!isfinite(m->bias[i])) return err_set(err, ERR_ARG, "a bias is no number");
    for (size_t i = 0; i < m->n_stop; i++)
        if (!*m->stop[i]) return err_set(err, ERR_ARG, "an empty stop string");
    if (m->most == 0 || m->logprobs < -1 || m->logprobs > WRITER_MOST_LOGPROBS)
        return err_set(err, ERR_ARG, "%llu tokens, %d log-probabilities",
                       (unsigned long long)m->most, m->logprobs);
    return 0;
}

job_t *carry_read_job(const Msg__WriteText *m, int64_t length, int64_t vocab, err_t *err)
{
    if (check_job(m, length, vocab, err) < 0) return NULL;
    request_t request = {.tokens = m->most < INT64_MAX ? (int64_t)m->most : INT64_MAX,
                         .logprobs = m->logprobs,
                         .embeds = m->hidden,
                         .stop = m->stop,
                         .n_stop = m->n_stop};
    choose_bias_t *bias = mem_calloc(m->n_bias + 1, sizeof *bias);
    for (size_t i = 0; i < m->n_bias; i++) bias[i] = (choose_bias_t){m->bias_token[i], m->bias[i]};
    request.choose = (choose_options_t){.temperature = m->temperature,
                                        .top_k = m->top_k,
                                        .top_p = m->top_p,
                                        .min_p = m->min_p,
                                        .repetition = m->repetition,
                                        .presence = m->presence,
                                        .frequency = m->frequency,
                                        .bias = bias,
                                        .n_bias = m->n_bias};
    job_t *job = job_new(m->text, &request, m->tokens, m->n_tokens, m->seed);
    job_set_end(job, m->end, m->n_end);
    free(bias);
    return job;
}

/* --- news --- */

static void free_item(Msg__TextItem *m)
{
    if (m->weights == (char *)protobuf_c_empty_string) m->weights = NULL;
    if (m->error == (char *)protobuf_c_empty_string) m->error = NULL;
    free(m->piece.data);
    free(m->top);
    free(m->top_logprob);
    free(m->hidden);
    free(m->weights);
    free(m->error);
    free(m);
}

static void add_token(Msg__TextItem *m, const writer_token_t *token)
{
    size_t n = (size_t)token->n_top;
    m->has_token = true;
    m->token = token->token;
    m->logprob = token->logprob;
    m->top = mem_calloc(n + 1, sizeof *m->top);
    m->top_logprob = mem_calloc(n + 1, sizeof *m->top_logprob);
    memcpy(m->top, token->top, n * sizeof *m->top);
    memcpy(m->top_logprob, token->top_logprob, n * sizeof *m->top_logprob);
    m->n_top = m->n_top_logprob = n;
}

void carry_add(carry_news_t *self, engine_item_t *item, const char *weights)
{
    Msg__TextItem *m = mem_calloc(1, sizeof *m);
    msg__text_item__init(m);
    m->text = item->id;
    m->number = item->number;
    m->piece.data = (uint8_t *)item->piece;
    m->piece.len = item->n;
    m->end = (uint32_t)item->end;
    if (item->token) add_token(m, item->token);
    m->hidden = item->hidden;
    m->n_hidden = item->width;
    if (item->number == 0) m->weights = mem_strdup(weights);
    if (item->error) m->error = item->error;
    m->again = item->again;
    free(item->token);
    *item = (engine_item_t){0};
    self->bytes += msg__text_item__get_packed_size(m) + 16;
    VEC_PUSH(&self->items, m);
}

void carry_drop(carry_news_t *self)
{
    for (size_t i = 0; i < self->items.n; i++) free_item(self->items.at[i]);
    VEC_FREE(&self->items);
    self->bytes = 0;
}

void carry_send_news(carry_news_t *self, msg_out_t out, uint32_t model, size_t loaded,
                     uint64_t reused)
{
    Msg__TextNews news = MSG__TEXT_NEWS__INIT;
    news.model = model;
    news.items = self->items.at;
    news.n_items = self->items.n;
    news.loaded = (uint32_t)loaded;
    news.reused = reused;
    MSG_SEND(out, NULL, 0, TEXT_NEWS, text_news, &news);
    carry_drop(self);
}

static bool is_utf8(const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t length = utf8_next(text + i, n - i, NULL);
        if (length == 0) return false;
        i += length;
    }
    return true;
}

static const char *wrong_item(const Msg__TextItem *m, int64_t vocab, int64_t width)
{
    if (m->end > WRITER_CONTEXT) return "an end that there is not";
    if (m->n_top != m->n_top_logprob || m->n_top > WRITER_MOST_LOGPROBS)
        return "too many log-probabilities";
    if (m->has_token && m->token >= vocab) return "a token outside of the vocabulary";
    if (m->has_token && !isfinite(m->logprob)) return "a log-probability that is no number";
    for (size_t i = 0; i < m->n_top; i++)
        if (m->top[i] >= vocab || !isfinite(m->top_logprob[i]))
            return "a log-probability of no token, or no number";
    if (m->n_hidden != 0 && m->n_hidden != (uint64_t)width) return "hidden states of another width";
    for (size_t i = 0; i < m->n_hidden; i++)
        if (!isfinite(m->hidden[i])) return "hidden states that are no numbers";
    if (!is_utf8((const char *)m->piece.data, m->piece.len)) return "a piece that is no UTF-8";
    return strlen(m->weights) >= ROUTE_WEIGHTS ? "a name of weights that is too long" : NULL;
}

int carry_read_item(const Msg__TextItem *m, int64_t vocab, int64_t width, engine_item_t *out,
                    err_t *err)
{
    const char *wrong = wrong_item(m, vocab, width);
    if (wrong) return err_set(err, ERR_NET, "%s", wrong);
    *out = (engine_item_t){.id = m->text,
                           .n = m->piece.len,
                           .end = (writer_end_t)m->end,
                           .again = m->again,
                           .number = m->number};
    out->piece = mem_calloc(out->n + 1, 1);
    if (out->n > 0) memcpy(out->piece, m->piece.data, out->n);
    char error[400];
    utf8_cut(error, sizeof error, m->error);
    if (*error) out->error = mem_strdup(error);
    if (m->has_token) {
        out->token = mem_calloc(1, sizeof *out->token);
        *out->token = (writer_token_t){
            .token = m->token, .logprob = m->logprob, .n_top = (int)m->n_top};
        for (size_t i = 0; i < m->n_top; i++) {
            out->token->top[i] = m->top[i];
            out->token->top_logprob[i] = m->top_logprob[i];
        }
    }
    if (m->n_hidden > 0) {
        out->width = m->n_hidden;
        out->hidden = mem_calloc(out->width + 1, sizeof *out->hidden);
        memcpy(out->hidden, m->hidden, out->width * sizeof *out->hidden);
    }
    return 0;
}
