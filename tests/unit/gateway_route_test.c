/* Which host writes which text, without sockets and models: the least busy one; what a host had when it went goes on
 * at another with the same weights, and what was handed on is handed on once. Jobs and news as messages. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/carry.h"
#include "gateway/route.h"

enum { HOSTS = 3, TEXTS = 12 };

typedef struct {
    route_t route;
    host_t host[HOSTS];
    text_t text[TEXTS];
    uint64_t stopped;
    bool mute; /* nothing can be told */
} rig_t;

static bool give(host_t *host, const text_t *text)
{
    assert_ptr_equal(text->host, host);
    return !((rig_t *)host->user)->mute;
}

static void stop(host_t *host, uint64_t number)
{
    ((rig_t *)host->user)->stopped = number;
}

static void add_host(rig_t *self, int i, int slots, const char *weights)
{
    self->host[i] = (host_t){.slots = slots, .give = give, .stop = stop, .user = self};
    snprintf(self->host[i].id, sizeof self->host[i].id, "host%d", i);
    snprintf(self->host[i].weights, sizeof self->host[i].weights, "%s", weights);
    route_join(&self->route, &self->host[i]);
}

static void add_text(rig_t *self, int i)
{
    static const uint32_t prompt[] = {1, 2};
    request_t request = {.tokens = 5};
    self->text[i] = (text_t){.job = job_new(0, &request, prompt, 2, 7), .index = (size_t)i};
    route_add(&self->route, &self->text[i]);
}

static route_news_t say(text_t *text, uint32_t number, const char *piece, const char *weights)
{
    const engine_item_t item = {
        .number = number, .piece = (char *)(uintptr_t)piece, .n = strlen(piece)};
    return route_hear(text, &item, weights);
}

static void end_all(rig_t *self)
{
    for (int i = 0; i < TEXTS; i++)
        if (self->text[i].route) route_end(&self->text[i], true);
    for (int i = 0; i < HOSTS; i++) route_leave(&self->host[i]);
}

static void least_busy(void **state)
{
    (void)state;
    rig_t self = {0};
    route_init(&self.route);
    add_text(&self, 0);
    assert_null(self.text[0].host);
    add_host(&self, 0, 2, "a");
    add_host(&self, 1, 4, "a");
    assert_ptr_equal(self.text[0].host, &self.host[0]);
    for (int i = 1; i < 6; i++) add_text(&self, i);
    assert_int_equal(self.host[0].n_texts, 2);
    assert_int_equal(self.host[1].n_texts, 4);
    for (int i = 6; i < TEXTS; i++) add_text(&self, i);
    assert_int_equal(self.host[0].n_texts, 3); /* one waits there */
    assert_int_equal(self.host[1].n_texts, 6);
    assert_int_equal(self.route.n_waiting, 3);
    assert_int_equal(route_slots(&self.route), 6);
    route_end(&self.text[10], true); /* that waits */
    assert_int_equal(self.route.n_waiting, 2);
    text_t *first = self.host[1].texts;
    route_end(first, false);
    assert_int_equal(self.host[1].n_texts, 6);
    assert_ptr_equal(self.text[9].host, &self.host[1]); /* that came before 11 */
    assert_int_equal(self.route.n_waiting, 1);
    end_all(&self);
    assert_int_equal(self.route.n_waiting, 0);
}

static void goes_on(void **state)
{
    (void)state;
    rig_t self = {0};
    route_init(&self.route);
    add_host(&self, 0, 1, "a");
    add_text(&self, 0);
    text_t *text = &self.text[0];
    assert_int_equal(say(text, 0, "The ", "a"), ROUTE_NEW);
    assert_int_equal(say(text, 1, "qu", "a"), ROUTE_NEW);
    route_leave(&self.host[0]);
    assert_null(text->host);
    add_host(&self, 1, 1, "b"); /* not its weights */
    assert_null(text->host);
    assert_null(route_overdue(&self.route, 1000, 500));
    assert_null(route_overdue(&self.route, 1400, 500));
    assert_ptr_equal(route_overdue(&self.route, 1501, 500), text);
    add_host(&self, 2, 1, "a");
    assert_ptr_equal(text->host, &self.host[2]);
    assert_null(route_overdue(&self.route, 9000, 500));
    assert_int_equal(say(text, 0, "The ", "a"), ROUTE_OLD);
    assert_int_equal(say(text, 1, "qu", "a"), ROUTE_OLD);
    assert_int_equal(say(text, 2, "ick", "a"), ROUTE_NEW);
    assert_int_equal(text->told.n, 9);
    assert_int_equal(say(text, 4, "x", "a"), ROUTE_OLD); /* 3 was lost: it is begun again */
    assert_int_equal(text->n_heard, 0);
    assert_ptr_equal(text->host, &self.host[2]);
    assert_int_equal(say(text, 0, "the ", "a"), ROUTE_DIFFERS);
    end_all(&self);
}

static void not_begun(void **state)
{
    (void)state;
    rig_t self = {0};
    route_init(&self.route);
    add_host(&self, 0, 1, "a");
    add_text(&self, 0);
    const engine_item_t item = {
        .again = true, .error = (char *)(uintptr_t) "not now", .piece = (char *)(uintptr_t) ""};
    int n = 0;
    while (route_hear(&self.text[0], &item, "") == ROUTE_OLD) n++;
    assert_int_equal(n, 8);
    route_end(&self.text[0], true);
    /* Of another member's weights: nothing was handed on, so any will do; something was: those alone. */
    add_text(&self, 1);
    assert_int_equal(say(&self.text[1], 0, "x", "b"), ROUTE_NEW);
    assert_string_equal(self.text[1].weights, "b");
    self.mute = true;
    add_text(&self, 2);
    assert_null(self.text[2].host); /* could not be told */
    self.mute = false;
    assert_null(route_overdue(&self.route, 1, 1));
    assert_ptr_equal(self.text[2].host, &self.host[0]);
    end_all(&self);
}

/* --- messages --- */

typedef struct {
    uint8_t *bytes;
    size_t n;
} sent_t;

static void record(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    (void)to;
    sent_t *sent = user;
    message->version = MSG_VERSION;
    free(sent->bytes);
    sent->bytes = msg_pack(message, &sent->n);
}

static void job_and_back(void **state)
{
    (void)state;
    sent_t sent = {0};
    choose_bias_t bias[] = {{3, -1.5f}, {4, 2}};
    char *stops[] = {(char *)(uintptr_t) "end", (char *)(uintptr_t) "\xc3\xa9"};
    request_t request = {.tokens = 9, .logprobs = 2, .stop = stops, .n_stop = 2};
    request.choose = (choose_options_t){
        .temperature = 0.5, .top_k = 4, .top_p = 0.9, .bias = bias, .n_bias = 2};
    const uint32_t prompt[] = {1, 2, 99}, ends[] = {7};
    job_t *job = job_new(1, &request, prompt, 3, UINT64_MAX - 1);
    job_set_end(job, ends, 1);
    carry_send_job((msg_out_t){record, &sent}, NULL, 2, 77, "w", job);
    assert_true(sent.n <= carry_job_bytes(job) + 32);
    msg_envelope_t *m = msg_unpack(sent.bytes, sent.n, NULL);
    assert_non_null(m);
    err_t err = {0};
    job_t *same = carry_read_job(m->write_text, 100, 100, &err);
    assert_non_null(same);
    assert_int_equal(same->id, 77);
    assert_int_equal(same->n_tokens, 3);
    assert_memory_equal(same->tokens, prompt, sizeof prompt);
    assert_true(same->how.choose.seed == UINT64_MAX - 1 && same->how.choose.temperature == 0.5);
    assert_true(same->how.choose.n_bias == 2 && same->how.choose.bias[0].add == -1.5f);
    assert_true(same->how.n_stop == 2 && strcmp(same->how.stop[1], "\xc3\xa9") == 0);
    assert_true(same->how.n_end == 1 && same->how.end[0] == 7 && same->how.tokens == 9);
    job_free(same);
    assert_null(carry_read_job(m->write_text, 2, 100, &err));  /* longer than the context */
    assert_null(carry_read_job(m->write_text, 100, 99, &err)); /* outside of the vocabulary */
    m->write_text->logprobs = 21;
    assert_null(carry_read_job(m->write_text, 100, 100, &err));
    m->write_text->logprobs = -1;
    m->write_text->n_bias--;
    assert_null(carry_read_job(m->write_text, 100, 100, &err));
    m->write_text->n_bias++;
    msg_free(&m);
    job_free(job);
    free(sent.bytes);
}

static void news_and_back(void **state)
{
    (void)state;
    sent_t sent = {0};
    carry_news_t news = {0};
    engine_item_t item = {.id = 5, .number = 0, .n = 3, .end = WRITER_STOP}, same = {0};
    item.piece = mem_strdup("a\xc3\xa9");
    item.token = mem_calloc(1, sizeof *item.token);
    *item.token = (writer_token_t){
        .token = 8, .logprob = -1, .n_top = 1, .top = {9}, .top_logprob = {-2}};
    item.hidden = mem_calloc(2, sizeof *item.hidden);
    item.width = 2;
    carry_add(&news, &item, "w");
    carry_send_news(&news, (msg_out_t){record, &sent}, 1, 2, 3);
    assert_int_equal(news.items.n, 0);
    msg_envelope_t *m = msg_unpack(sent.bytes, sent.n, NULL);
    assert_non_null(m);
    Msg__TextItem *one = m->text_news->items[0];
    err_t err = {0};
    assert_int_equal(carry_read_item(one, 10, 2, &same, &err), 0);
    assert_true(same.id == 5 && same.end == WRITER_STOP && same.n == 3 && same.token->top[0] == 9);
    assert_string_equal(one->weights, "w");
    engine_item_fini(&same);
    assert_int_equal(carry_read_item(one, 9, 2, &same, &err), -1);  /* vocabulary */
    assert_int_equal(carry_read_item(one, 10, 3, &same, &err), -1); /* width */
    one->end = WRITER_CONTEXT + 1;
    assert_int_equal(carry_read_item(one, 10, 2, &same, &err), -1);
    one->end = 0;
    one->piece.len = 2; /* half a character */
    assert_int_equal(carry_read_item(one, 10, 2, &same, &err), -1);
    msg_free(&m);
    free(sent.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_busy),    cmocka_unit_test(goes_on),
        cmocka_unit_test(not_begun),     cmocka_unit_test(job_and_back),
        cmocka_unit_test(news_and_back),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
