/* Windows of data clients over links that exist as numbers only: a server, a wire with a rate and a
 * delay, one or several clients. The clock is simulated, so that minutes of a link take no time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "msg/limits.h"
#include "msg/pace.h"

enum { CLIENTS = 4, WAITING = CLIENTS * MSG_REQUESTS, IDLE_EVERY = 64 };

typedef struct {
    int client; /* -1: taken away */
    double due_ms, bytes;
    pace_sent_t sent;
} answer_t;

typedef struct {
    double rate;    /* bytes/ms, of all clients together */
    double rtt_ms;  /* there and back, without the bytes */
    double busy_ms; /* that an answer waits at the server, but for one in IDLE_EVERY */
    int asked;
    int n;
    uint64_t left[CLIENTS], open_most;
    double done_ms[CLIENTS];
    pace_t pace[CLIENTS];
    answer_t queue[WAITING]; /* by the time at which each has arrived */
    int n_queue;
    double now_ms, free_ms; /* when the wire has carried all that was asked for */
} link_t;

static void link_init(link_t *self, double mbit, double rtt_ms, int n, uint64_t bytes)
{
    memset(self, 0, sizeof *self);
    self->rate = mbit * 1e6 / 8 / 1000;
    self->rtt_ms = rtt_ms;
    self->n = n;
    for (int i = 0; i < n; i++) {
        pace_init(&self->pace[i]);
        self->left[i] = bytes;
    }
}

/* The wire serves requests in the order in which they reach it. */
static void ask(link_t *self, int client)
{
    pace_t *pace = &self->pace[client];
    double bytes = MSG_CHUNK_BYTES, begin = self->now_ms + self->rtt_ms;
    if (begin < self->free_ms) begin = self->free_ms;
    self->free_ms = begin + bytes / self->rate;
    self->left[client] -= MSG_CHUNK_BYTES;
    answer_t answer = {client, self->free_ms, bytes,
                       pace_send(pace, MSG_CHUNK_BYTES, self->now_ms)};
    if (self->asked++ % IDLE_EVERY) answer.due_ms += self->busy_ms;
    int at = self->n_queue++;
    for (; at > 0 && self->queue[at - 1].due_ms > answer.due_ms; at--)
        self->queue[at] = self->queue[at - 1];
    self->queue[at] = answer;
    if (pace->open > self->open_most) self->open_most = pace->open;
}

/* All transfers to their end; ms that it took. The clients take turns. */
static double link_run(link_t *self)
{
    double begin = self->now_ms;
    for (;;) {
        bool more = true;
        while (more) {
            more = false;
            for (int i = 0; i < self->n; i++) {
                if (!self->left[i] || !pace_allows(&self->pace[i])) continue;
                ask(self, i);
                more = true;
            }
        }
        if (self->n_queue == 0) return self->now_ms - begin;
        answer_t first = self->queue[0];
        memmove(self->queue, self->queue + 1, (size_t)--self->n_queue * sizeof first);
        self->now_ms = first.due_ms;
        pace_answer(&self->pace[first.client], &first.sent, true, self->now_ms);
        self->done_ms[first.client] = self->now_ms;
    }
}

static double ideal_ms(const link_t *self, uint64_t bytes)
{
    return self->rtt_ms + (double)bytes / self->rate;
}

static void a_long_fast_link_is_filled(void **unused)
{
    (void)unused;
    static link_t link;
    const uint64_t bytes = (uint64_t)1 << 30;
    link_init(&link, 1000, 200, 1, bytes);
    double took = link_run(&link);
    print_message("1 Gbit/s, 200 ms: %.0f ms of %.0f, window %.1f MB\n", took,
                  ideal_ms(&link, bytes), (double)link.pace[0].window / 1e6);
    assert_true(took < 1.11 * ideal_ms(&link, bytes));
}

static void a_slow_link_holds_no_queue(void **unused)
{
    (void)unused;
    static link_t link;
    for (double mbit = 5; mbit < 300; mbit *= 2) {
        const uint64_t bytes = (uint64_t)200 * MSG_CHUNK_BYTES;
        link_init(&link, mbit, 20, 1, bytes);
        double took = link_run(&link);
        print_message("%.0f Mbit/s, 20 ms: %.3f of the ideal, %.1f MB open at most\n", mbit,
                      took / ideal_ms(&link, bytes), (double)link.open_most / 1e6);
        assert_true(took < 1.05 * ideal_ms(&link, bytes));
        assert_true(link.open_most <= 4 * MSG_CHUNK_BYTES);
    }
}

/* From 1 Gbit/s and 200 ms to a tenth of both: what was open before is a queue now, and goes. */
static void a_window_shrinks_with_its_link(void **unused)
{
    (void)unused;
    static link_t link;
    link_init(&link, 1000, 200, 1, (uint64_t)512 << 20);
    link_run(&link);
    uint64_t before = link.pace[0].window;
    link.rate /= 10;
    link.rtt_ms /= 10;
    link.left[0] = (uint64_t)512 << 20;
    link_run(&link);
    print_message("window %.1f MB, then %.1f MB\n", (double)before / 1e6,
                  (double)link.pace[0].window / 1e6);
    assert_true(before > 25e6);
    assert_true(link.pace[0].window <= 4 * MSG_CHUNK_BYTES);
}

/* Answers that take longer for another reason than a queue, as from a server that is busy, ask for more, not for
 * less: the shortest one that was seen says too little then. */
static void a_busy_server_starves_nobody(void **unused)
{
    (void)unused;
    static link_t link;
    const uint64_t bytes = (uint64_t)1 << 30;
    link_init(&link, 1000, 200, 1, bytes);
    link.busy_ms = 120;
    double took = link_run(&link);
    print_message("1 Gbit/s, 200 ms and 120 at the server: %.0f ms of %.0f, window %.1f MB\n", took,
                  ideal_ms(&link, bytes), (double)link.pace[0].window / 1e6);
    assert_true(took < 1.35 * ideal_ms(&link, bytes)); /* a quarter more than what fits: 1.48 */
}

static void workers_share_a_link_evenly(void **unused)
{
    (void)unused;
    static link_t link;
    const uint64_t bytes = (uint64_t)100 << 20;
    link_init(&link, 200, 50, CLIENTS, bytes);
    double took = link_run(&link), sum = 0, squares = 0;
    for (int i = 0; i < CLIENTS; i++) {
        double rate = (double)bytes / link.done_ms[i];
        sum += rate;
        squares += rate * rate;
    }
    double jain = sum * sum / (CLIENTS * squares);
    print_message("%d clients: %.3f of the ideal, fairness (Jain) %.4f\n", CLIENTS,
                  took / ideal_ms(&link, CLIENTS * bytes), jain);
    assert_true(took < 1.05 * ideal_ms(&link, CLIENTS * bytes));
    assert_true(jain > 0.95); /* who came first has asked for a little more */
}

/* Many small transfers do not make a long link look slow. */
static void small_transfers_say_nothing_of_the_rate(void **unused)
{
    (void)unused;
    static link_t link;
    link_init(&link, 1000, 200, 1, (uint64_t)512 << 20);
    link_run(&link);
    for (int i = 0; i < 3 * PACE_ROUNDS; i++) {
        link.left[0] = MSG_CHUNK_BYTES;
        link_run(&link);
    }
    assert_true(link.pace[0].window > 25e6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_fast_link_is_filled),
        cmocka_unit_test(a_slow_link_holds_no_queue),
        cmocka_unit_test(a_window_shrinks_with_its_link),
        cmocka_unit_test(a_busy_server_starves_nobody),
        cmocka_unit_test(workers_share_a_link_evenly),
        cmocka_unit_test(small_transfers_say_nothing_of_the_rate),
    };
    return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
