/* The state machine of who leads: its table walked, its waits and news; then two recorders, and two
 * clerks, on one database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "shepherd/records/clerk.h"
#include "shepherd/records/leadership.h"
#include "shepherd/records/recorder.h"
#include "temp.h"

enum { TTL = 3000, WENTS = WENT_BAD + 1 };

/* By step, in the order well other idle away bad: the first letter of what follows, '.': nothing
 * does. Written down apart from the table that is tested. */
static const char *const drawn[LEADERSHIP_END + 1] = {
    [LEADERSHIP_OPEN] = "P...E", [LEADERSHIP_PREPARE] = "A..PE", [LEADERSHIP_ACQUIRE] = "LA.AE",
    [LEADERSHIP_LOAD] = "R..LE", [LEADERSHIP_RENEW] = "W.WWE",   [LEADERSHIP_WRITE] = "R.RRE",
    [LEADERSHIP_END] = ".....",
};
static const char letters[] = "OPALRWE.";

static void the_table(void **state)
{
    (void)state;
    for (int step = 0; step <= LEADERSHIP_END; step++)
        for (int went = 0; went < WENTS; went++) {
            char next = letters[leadership_next((leadership_step_t)step, (leadership_went_t)went)];
            if (next != drawn[step][went])
                fail_msg("step %d, went %d: %c, not %c", step, went, next, drawn[step][went]);
        }
}

static leadership_t at(leadership_step_t step)
{
    return (leadership_t){.ttl_ms = TTL, .step = step, .leads = step > LEADERSHIP_ACQUIRE};
}

/* Longer each time up to a third of a term, told once; and from the beginning after an answer. */
static void backs_off(void **state)
{
    (void)state;
    static const int64_t rests[] = {50, 100, 200, 400, 800, TTL / 3 + 1, TTL / 3 + 1};
    leadership_t self = at(LEADERSHIP_PREPARE);
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        leadership_news_t news = leadership_went(&self, WENT_AWAY, 0, 77 * (int64_t)i);
        assert_int_equal(news.lost, i == 0);
        assert_false(news.back || news.standby || news.leads || news.failed);
        assert_in_range(news.rest_ms, rests[i], rests[i] * 5 / 4);
    }
    leadership_news_t news = leadership_went(&self, WENT_WELL, 0, 0);
    assert_true(news.back);
    assert_int_equal(news.rest_ms, 0);
    news = leadership_went(&self, WENT_AWAY, 0, 0);
    assert_true(news.lost);
    assert_in_range(news.rest_ms, 50, 63);
}

static void two_seconds_at_most(void **state)
{
    (void)state;
    leadership_t self = {.ttl_ms = 500000, .step = LEADERSHIP_LOAD};
    for (int i = 0; i < 20; i++) leadership_went(&self, WENT_AWAY, 0, i);
    assert_int_equal(self.wait_ms, 2000);
}

static void stands_by(void **state)
{
    (void)state;
    leadership_t self = at(LEADERSHIP_ACQUIRE);
    leadership_news_t news = leadership_went(&self, WENT_AWAY, 0, 0);
    assert_true(news.rest_ms < TTL); /* nobody is known to lead */
    news = leadership_went(&self, WENT_OTHER, 0, 0);
    assert_true(news.standby && news.back);
    assert_int_equal(news.rest_ms, TTL / 6 + 1);
    news = leadership_went(&self, WENT_OTHER, 0, 0);
    assert_false(news.standby);
    assert_int_equal(news.rest_ms, TTL / 6 + 1);
    news = leadership_went(&self, WENT_AWAY, 0, 0);
    assert_in_range(news.rest_ms, TTL + 50, TTL + 63); /* who leads may come back */
    news = leadership_went(&self, WENT_WELL, 100, 0);
    assert_true(news.back && !news.leads && self.leads);
    assert_int_equal(self.renew_ms, 100 + TTL / 3);
    news = leadership_went(&self, WENT_WELL, 900, 0);
    assert_true(news.leads); /* loaded */
    assert_int_equal(self.renew_ms, 100 + TTL / 3);
}

static void renews(void **state)
{
    (void)state;
    leadership_t self = at(LEADERSHIP_RENEW);
    self.renew_ms = 500;
    leadership_went(&self, WENT_IDLE, 400, 400);
    leadership_went(&self, WENT_WELL, 400, 410); /* a record is in */
    assert_int_equal(self.renew_ms, 500);
    leadership_went(&self, WENT_AWAY, 510, 520);
    assert_int_equal(self.renew_ms, 500); /* tried again after what waits was tried */
    assert_int_equal(self.step, LEADERSHIP_WRITE);
    leadership_went(&self, WENT_IDLE, 520, 520);
    assert_true(self.wait_ms > 0); /* nobody has answered */
    leadership_went(&self, WENT_WELL, 600, 610);
    assert_int_equal(self.renew_ms, 600 + TTL / 3);
}

/* A full disk passes once something was written; where it never was writable, that is the end. */
static void errors(void **state)
{
    (void)state;
    static const struct {
        leadership_step_t step;
        err_code_t code;
        leadership_went_t is;
    } cases[] = {
        {LEADERSHIP_OPEN, ERR_NET, WENT_BAD},       {LEADERSHIP_PREPARE, ERR_NET, WENT_AWAY},
        {LEADERSHIP_PREPARE, ERR_IO, WENT_BAD},     {LEADERSHIP_ACQUIRE, ERR_IO, WENT_BAD},
        {LEADERSHIP_LOAD, ERR_IO, WENT_AWAY},       {LEADERSHIP_WRITE, ERR_IO, WENT_AWAY},
        {LEADERSHIP_RENEW, ERR_FENCE, WENT_BAD},    {LEADERSHIP_WRITE, ERR_FENCE, WENT_BAD},
        {LEADERSHIP_PREPARE, ERR_SCHEMA, WENT_BAD}, {LEADERSHIP_WRITE, ERR_STATE, WENT_BAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        leadership_t self = at(cases[i].step);
        err_t err = {.code = cases[i].code};
        if (leadership_error(&self, &err) != cases[i].is) fail_msg("case %zu", i);
    }
}

/* Whatever happens: who is told lost is told back before it is lost again, leads is said once and
 * before anything is written, and a failure is the last news. */
static void random_lives(void **state)
{
    (void)state;
    for (uint64_t life = 0; life < 2000; life++) {
        leadership_t self = {.ttl_ms = TTL};
        bool lost = false, leads = false, failed = false;
        for (uint64_t i = 0; i < 50 && !failed; i++) {
            leadership_went_t went = (leadership_went_t)(rng_uniform(life, i) * WENTS);
            leadership_step_t step = self.step;
            if (leadership_next(step, went) == LEADERSHIP_IMPOSSIBLE) continue;
            leadership_news_t news = leadership_went(&self, went, 0, (int64_t)i);
            assert_false((news.lost && lost) || (news.back && !lost) || (news.leads && leads));
            assert_int_equal(news.leads, step == LEADERSHIP_LOAD && went == WENT_WELL);
            assert_true(step != LEADERSHIP_WRITE || leads);
            lost = (lost || news.lost) && !news.back;
            leads |= news.leads;
            failed = news.failed;
            assert_int_equal(failed, self.step == LEADERSHIP_END);
        }
    }
}

/* --- The actors --- */

static recorder_result_t *recorder_says(zactor_t *recorder, recorder_event_t event)
{
    recorder_result_t *result = recorder_take(recorder);
    while (result && result->event == RECORDER_QUARANTINE && event != RECORDER_QUARANTINE) {
        recorder_result_destroy(&result); /* it may come at any time */
        result = recorder_take(recorder);
    }
    assert_non_null(result);
    if (result->event != event)
        fail_msg("event %d, not %d: %s", (int)result->event, (int)event, result->err.text);
    return result;
}

static void two_recorders(void **state)
{
    (void)state;
    char *dir = temp_dir(), *url = mem_printf("sqlite://%s/store.db", dir);
    recorder_options_t a = {.url = url,
                            .run = "r",
                            .holder = "first",
                            .config = "{}",
                            .n_rounds = 3,
                            .ttl_ms = 5000,
                            .migrate = true};
    recorder_options_t b = a;
    b.holder = "second";
    zactor_t *first = recorder_new(&a);
    recorder_result_t *result = recorder_says(first, RECORDER_LEADS);
    int64_t term = result->leader.fence;
    recorder_result_destroy(&result);
    zactor_t *second = recorder_new(&b);
    result = recorder_says(second, RECORDER_STANDBY);
    assert_string_equal(result->holder, "first");
    recorder_result_destroy(&result);
    record_t *record = record_new(RECORD_INIT, 0);
    memset(record->state, 'a', HASH_HEX - 1);
    recorder_write(first, record);
    result = recorder_says(first, RECORDED);
    assert_int_equal(result->kind, RECORD_INIT);
    recorder_result_destroy(&result);
    recorder_destroy(&first); /* it lets others lead at once */
    result = recorder_says(second, RECORDER_LEADS);
    assert_int_equal(result->leader.fence, term + 1);
    recorder_result_destroy(&result);
    recorder_destroy(&second);
    free(url);
    temp_remove(&dir);
}

static clerk_result_t *clerk_says(zactor_t *clerk, clerk_event_t event)
{
    clerk_result_t *result = clerk_take(clerk);
    assert_non_null(result);
    if (result->event != event)
        fail_msg("event %d, not %d: %s", (int)result->event, (int)event, result->err.text);
    return result;
}

static clerk_note_t *note_of(uint64_t ticket, clerk_verb_t verb, const char *run, const char *now)
{
    clerk_note_t *note = mem_calloc(1, sizeof *note);
    note->ticket = ticket;
    note->verb = verb;
    snprintf(note->row.id, sizeof note->row.id, "%s", run);
    snprintf(note->row.key, sizeof note->row.key, "key of %s", run);
    snprintf(note->row.state, sizeof note->row.state, "%s", now);
    note->row.number = note->row.n_workers = note->row.n_shards = 1;
    memset(note->row.spec_hash, 'c', HASH_HEX - 1);
    note->row.reason = mem_strdup("");
    return note;
}

/* What one clerk notes the next one reads; a note that the store refuses is told, and no end. */
static void two_clerks(void **state)
{
    (void)state;
    char *dir = temp_dir(), *url = mem_printf("sqlite://%s/store.db", dir);
    clerk_options_t a = {.url = url, .holder = "first", .ttl_ms = 5000, .migrate = true}, b = a;
    b.holder = "second";
    zactor_t *first = clerk_new(&a);
    clerk_result_t *result = clerk_says(first, CLERK_LEADS);
    assert_int_equal(result->runs.n, 0);
    clerk_result_destroy(&result);
    zactor_t *second = clerk_new(&b);
    result = clerk_says(second, CLERK_STANDBY);
    assert_string_equal(result->holder, "first");
    clerk_result_destroy(&result);
    clerk_write(first, note_of(1, CLERK_MOVE, "nobody", "active"));
    result = clerk_says(first, CLERK_WRITTEN);
    assert_int_equal(result->ticket, 1);
    assert_int_not_equal(result->err.code, ERR_OK);
    clerk_result_destroy(&result);
    clerk_write(first, note_of(2, CLERK_ADD, "r", "queued"));
    result = clerk_says(first, CLERK_WRITTEN);
    assert_int_equal(result->ticket, 2);
    assert_int_equal(result->err.code, ERR_OK);
    clerk_result_destroy(&result);
    clerk_destroy(&first);
    result = clerk_says(second, CLERK_LEADS);
    assert_int_equal(result->runs.n, 1);
    clerk_result_destroy(&result);
    clerk_destroy(&second);
    free(url);
    temp_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),    cmocka_unit_test(backs_off),
        cmocka_unit_test(stands_by),    cmocka_unit_test(two_seconds_at_most),
        cmocka_unit_test(renews),       cmocka_unit_test(errors),
        cmocka_unit_test(random_lives), cmocka_unit_test(two_recorders),
        cmocka_unit_test(two_clerks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
