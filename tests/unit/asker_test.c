/* msg/asker: answers come in order; what nobody receives is dropped, answered or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "msg/asker.h"

typedef struct {
    int asked, answer;
} question_t;

static int n_dropped;

static void square(void *user, void *question)
{
    question_t *q = question;
    q->answer = q->asked * q->asked + *(int *)user;
}

static void drop(void *question)
{
    n_dropped++;
    free(question);
}

static void ask(asker_t *asker, int n)
{
    for (int i = 0; i < n; i++) {
        question_t *q = mem_calloc(1, sizeof *q);
        q->asked = i;
        asker_ask(asker, q);
    }
}

static void answers_in_order(void **state)
{
    (void)state;
    int more = 7;
    asker_t *asker = asker_new(square, drop, &more);
    zpoller_t *poller = zpoller_new(asker_socket(asker), NULL);
    assert_null(asker_receive(asker));
    ask(asker, 100);
    for (int i = 0; i < 100; i++) {
        assert_non_null(zpoller_wait(poller, 60000));
        question_t *q = asker_receive(asker);
        assert_non_null(q);
        assert_int_equal(q->asked, i);
        assert_int_equal(q->answer, i * i + 7);
        free(q);
    }
    assert_null(asker_receive(asker));
    zpoller_destroy(&poller);
    asker_destroy(&asker);
    assert_null(asker);
    assert_int_equal(n_dropped, 0);
}

static void what_waits_is_dropped(void **state)
{
    (void)state;
    int more = 0;
    n_dropped = 0;
    asker_t *asker = asker_new(square, drop, &more);
    ask(asker, 50);
    asker_destroy(&asker);
    assert_int_equal(n_dropped, 50);
    asker_destroy(&asker); /* nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_in_order),
        cmocka_unit_test(what_waits_is_dropped),
    };
    return cmocka_run_group_tests_name("asker", tests, NULL, NULL);
}
