/* What a member says of endpoints where nobody answers, and how soon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "msg/control.h"
#include "msg/member.h"
#include "msg/reach.h"
#include "msg/service.h"
#include "temp.h"

typedef struct {
    zloop_t *loop;
    char text[256];
    int n_told, wanted;
    int64_t begin_ms, told_ms;
} alone_t;

static void alone_welcome(void *state, const Msg__Welcome *welcome)
{
    (void)state, (void)welcome;
    fail();
}

static void alone_lost(void *state, const char *reason)
{
    (void)state, (void)reason;
}

static void alone_told(void *state, const char *text)
{
    alone_t *self = state;
    if (self->n_told++ == 0) self->told_ms = clock_mono_ms() - self->begin_ms;
    snprintf(self->text, sizeof self->text, "%s", text);
}

static int alone_check(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    alone_t *self = arg;
    return self->n_told >= self->wanted || clock_mono_ms() - self->begin_ms > 10000 ? -1 : 0;
}

/* What a member says of an endpoint after `wanted` reports. */
static alone_t alone(const char *endpoint, int wanted)
{
    alone_t self = {.loop = zloop_new(), .wanted = wanted, .begin_ms = clock_mono_ms()};
    member_options_t options = {.endpoint = endpoint,
                                .kind = MSG__KIND__KIND_AGGREGATOR,
                                .id = "a1",
                                .data = "tcp://0.0.0.0:7100",
                                .state = &self,
                                .on_welcome = alone_welcome,
                                .on_lost = alone_lost,
                                .on_unreachable = alone_told};
    zloop_timer(self.loop, 5, 0, alone_check, &self);
    member_t *member = member_new(self.loop, &options, NULL);
    assert_non_null(member);
    service_loop(self.loop);
    member_destroy(&member);
    zloop_destroy(&self.loop);
    assert_int_equal(self.n_told, wanted);
    assert_true(self.told_ms < 2000);
    return self;
}

static void nobody_answers(void **unused)
{
    (void)unused;
    char *dir = temp_dir(), ipc[300], want[400];
    alone_t told = alone("tcp://127.0.0.1:1", 2);
    assert_string_equal(told.text, "cannot reach tcp://127.0.0.1:1 (Connection refused)");
    assert_true(clock_mono_ms() - told.begin_ms < 4500);
    snprintf(ipc, sizeof ipc, "ipc://%s/none", dir);
    snprintf(want, sizeof want, "cannot reach %s (no such socket)", ipc);
    told = alone(ipc, 1);
    assert_string_equal(told.text, want);
    snprintf(ipc, sizeof ipc, "ipc://%s/mute", dir); /* somebody else's */
    zsock_t *mute = endpoint_open(endpoint_bind(ZMQ_ROUTER, ipc), NULL);
    snprintf(want, sizeof want,
             "no shepherd at %s: connections are taken there, but HELLO is not answered", ipc);
    told = alone(ipc, 1);
    assert_string_equal(told.text, want);
    zsock_destroy(&mute);
    err_t err = {0};
    assert_int_equal(reach_check("tcp://no-port", &err), -1);
    assert_int_equal(reach_check("inproc://x", &err), 0);
    temp_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nobody_answers)};
    return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
