/* What connections may make us hold and say, by numbers alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "msg/limits.h"
#include "msg/ration.h"

enum { FD = 1000, MIB = 1 << 20 };

typedef struct {
    ration_t *ration;
    int64_t now_ms;
} rig_t;

/* One look, a tenth of a second after the one before, at one connection. NULL: it may stay. */
static const char *look(rig_t *self, uint64_t cookie, uint64_t came, bool drained)
{
    ration_guest_t guest = {.fd = FD, .cookie = cookie, .came = came, .drained = drained};
    self->now_ms += 100;
    ration_judge(self->ration, &guest, 1, self->now_ms);
    return guest.wrong;
}

static int begin(void **state)
{
    static rig_t rig;
    rig = (rig_t){.ration = ration_new(MSG_HELD_BULK), .now_ms = 1000000};
    *state = &rig;
    ration_guest_t nobody;
    ration_judge(rig.ration, &nobody, 0, rig.now_ms);
    return 0;
}

static int end(void **state)
{
    ration_destroy(&((rig_t *)*state)->ration);
    return 0;
}

static void messages_that_end(void **state)
{
    rig_t *self = *state;
    uint64_t came = 0;
    for (int i = 0; i < 1000; i++) {
        came += MIB + 200;
        ration_heard(FD, MIB + 100);
        assert_null(look(self, 1, came + MIB, true)); /* and most of the next one */
    }
}

static void one_that_does_not(void **state)
{
    rig_t *self = *state;
    assert_null(look(self, 2, 2 * MIB, true));
    assert_string_equal(look(self, 2, MSG_UNFINISHED_BYTES + MIB, true),
                        "its message does not end");
}

/* What waits behind others' messages is no fault, as long as it is no more than a queue. */
static void one_that_waits(void **state)
{
    rig_t *self = *state;
    assert_null(look(self, 3, MSG_WAITING_BYTES, false));
    assert_string_equal(look(self, 3, MSG_WAITING_BYTES + MIB, false), "too much of it waits");
    for (int i = 0; i < 40; i++) ration_heard(FD, MIB);
    assert_null(look(self, 3, MSG_WAITING_BYTES + MIB, false)); /* it was taken since */
}

/* A descriptor that another connection has got begins anew, and with nothing to its credit. */
static void one_that_comes_after(void **state)
{
    rig_t *self = *state;
    ration_heard(FD, 500 * MIB);
    assert_null(look(self, 4, 500ull * MIB, true));
    assert_null(look(self, 5, MIB, true));
    assert_non_null(look(self, 5, 400ull * MIB, true));
}

static void heartbeats_of_days(void **state)
{
    rig_t *self = *state;
    uint64_t came = 0;
    for (int day = 0; day < 60; day++) {
        self->now_ms += 86400000;
        came += 86400 / 10 * 84; /* two of 42 bytes every ten seconds */
        assert_null(look(self, 6, came, true));
    }
}

/* Subscriptions are kept, so none of them is ever done with. */
static void subscriptions(void **state)
{
    rig_t *self = *state;
    ration_guest_t guest = {.fd = FD, .cookie = 10, .came = 2000, .drained = true, .listens = true};
    for (int i = 0; i < 4; i++) {
        ration_heard(FD, 2000);
        ration_judge(self->ration, &guest, 1, self->now_ms += 100);
        assert_null(guest.wrong);
        guest.came += 2000;
    }
    ration_judge(self->ration, &guest, 1, self->now_ms += 100);
    assert_string_equal(guest.wrong, "it subscribes to too much");
}

static void many_messages(void **state)
{
    rig_t *self = *state;
    uint64_t came = 0;
    for (int i = 0; i < 50; i++) { /* as many as are allowed */
        for (int k = 0; k < MSG_PEER_RATE / 10; k++) ration_heard(FD, 100);
        assert_null(look(self, 7, came += 100 * MSG_PEER_RATE / 10, true));
    }
    const char *why = NULL;
    for (int i = 0; i < 50 && !why; i++) { /* twice as many */
        for (int k = 0; k < MSG_PEER_RATE / 5; k++) ration_heard(FD, 100);
        why = look(self, 7, came += 100 * MSG_PEER_RATE / 5, true);
    }
    assert_string_equal(why, "it says too much in too short a time");
}

/* Few are refused by mistake; who is refused all the time is no member. */
static void refused_messages(void **state)
{
    rig_t *self = *state;
    for (int i = 0; i < 100; i++) {
        ration_refused(FD);
        assert_null(look(self, 8, 0, true));
    }
    for (int k = 0; k < 1000; k++) ration_refused(FD);
    assert_non_null(look(self, 8, 0, true));
}

/* Each for itself is allowed; of all together those that hold most go. */
static void budget(void **state)
{
    enum { N = 200 };
    rig_t *self = *state;
    ration_guest_t guest[N];
    for (int i = 0; i < N; i++)
        guest[i] = (ration_guest_t){.fd = FD + 1 + i,
                                    .cookie = 9,
                                    .came = i % 2 ? MIB / 2 : 2 * MIB + MIB / 4,
                                    .drained = true};
    size_t n = ration_judge(self->ration, guest, N, self->now_ms + 100);
    uint64_t left = 0;
    for (int i = 0; i < N; i++) {
        if (!guest[i].wrong) left += guest[i].held;
        if (guest[i].wrong) assert_true(guest[i].held > MIB);
    }
    assert_true(left <= MSG_UNFINISHED_TOTAL);
    assert_true(left + 3 * MIB > MSG_UNFINISHED_TOTAL);
    assert_in_range(n, 1, N / 2);
}

/* What those who were cut have queued is still there: nobody new comes in before the socket was seen empty. */
static void total(void **state)
{
    enum { N = 64, EACH = MSG_HELD_BULK / MIB / 32 }; /* each may wait, and half of them */
    rig_t *self = *state;
    ration_guest_t guest[N], newcomer = {.fd = FD + 200, .cookie = 12};
    for (int i = 0; i < N; i++)
        guest[i] = (ration_guest_t){.fd = FD + 1 + i, .cookie = 11, .came = (uint64_t)EACH * MIB};
    ration_entry(self->ration, 0, false);
    assert_int_equal(ration_judge(self->ration, guest, N, self->now_ms += 20), N / 2);
    for (int i = 0; i < N; i++)
        if (guest[i].wrong)
            assert_string_equal(guest[i].wrong,
                                "all that waits for us is too much, and it has sent most");
    assert_true(ration_due(self->ration, self->now_ms));
    for (int i = 0; i < 3; i++) { /* all have gone */
        newcomer.cookie++;
        assert_int_equal(ration_judge(self->ration, &newcomer, 1, self->now_ms += 20), 1);
        assert_string_equal(newcomer.wrong, "too much of others waits");
    }
    ration_entry(self->ration, 0, true);
    ration_judge(self->ration, &newcomer, 0, self->now_ms += 20);
    newcomer.cookie++;
    assert_int_equal(ration_judge(self->ration, &newcomer, 1, self->now_ms += 20), 0);
}

/* As RFC 23 and 26 have them. */
static void frames(void **state)
{
    (void)state;
    assert_int_equal(ration_frame(0, false), 2);
    assert_int_equal(ration_frame(255, false), 257);
    assert_int_equal(ration_frame(256, false), 265);
    assert_int_equal(ration_frame(200, true), 200 + 33 + 2);
    assert_int_equal(ration_frame(223, true), 223 + 33 + 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_that_end, begin, end),
        cmocka_unit_test_setup_teardown(one_that_does_not, begin, end),
        cmocka_unit_test_setup_teardown(one_that_waits, begin, end),
        cmocka_unit_test_setup_teardown(one_that_comes_after, begin, end),
        cmocka_unit_test_setup_teardown(heartbeats_of_days, begin, end),
        cmocka_unit_test_setup_teardown(subscriptions, begin, end),
        cmocka_unit_test_setup_teardown(many_messages, begin, end),
        cmocka_unit_test_setup_teardown(refused_messages, begin, end),
        cmocka_unit_test_setup_teardown(budget, begin, end),
        cmocka_unit_test_setup_teardown(total, begin, end),
        cmocka_unit_test(frames),
    };
    return cmocka_run_group_tests_name("ration", tests, NULL, NULL);
}
