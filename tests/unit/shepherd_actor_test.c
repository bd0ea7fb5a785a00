/* The end of an actor: each answer is destroyed once, whether it was taken or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hand_over.h"
#include "shepherd/actor.h"

enum { ANSWERS = 100 };

/* Says so many numbers at once and waits for the end. */
static void talker(zsock_t *pipe, void *arg)
{
    (void)arg;
    zsock_signal(pipe, 0);
    for (int i = 1; i <= ANSWERS; i++) {
        int *answer = malloc(sizeof *answer);
        *answer = i;
        zsock_send(pipe, "p", hand_over(answer));
    }
    free(zstr_recv(pipe));
    actor_last(pipe);
}

static int n_dropped, last_dropped;

static void drop(void *answer)
{
    n_dropped++;
    last_dropped = *(int *)answer;
    free(answer);
}

static void what_nobody_took(void **state)
{
    (void)state;
    n_dropped = last_dropped = 0;
    zactor_t *actor = zactor_new(talker, NULL);
    void *first = NULL;
    assert_int_equal(zsock_recv(actor, "p", &first), 0);
    assert_int_equal(*(int *)take_over(first), 1);
    free(first);
    actor_end(&actor, drop);
    assert_null(actor);
    assert_int_equal(n_dropped, ANSWERS - 1);
    assert_int_equal(last_dropped, ANSWERS);
}

static void nothing(void **state)
{
    (void)state;
    zactor_t *actor = NULL;
    n_dropped = 0;
    actor_end(&actor, drop);
    assert_int_equal(n_dropped, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_took),
        cmocka_unit_test(nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
