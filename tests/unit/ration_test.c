/* What connections may make us hold and say, by numbers alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "msg/limits.h"
#include "msg/ration.h"

enum { FD = 1000, MIB = 1 << 20 };

static void hear(size_t bytes)
{
    ration_heard(FD, (ration_size_t){.line = bytes, .memory = bytes});
}

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
    rig = (rig_t){.ration = ration_new(&(ration_limits_t){.total = MSG_HELD_BULK, .curve = true}),
                  .now_ms = 1000000};
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
        hear(MIB + 100);
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
    for (int i = 0; i < 40; i++) hear(MIB);
    assert_null(look(self, 3, MSG_WAITING_BYTES + MIB, false)); /* it was taken since */
}

/* A descriptor that another connection has got begins anew, and with nothing to its credit. */
static void one_that_comes_after(void **state)
{
    rig_t *self = *state;
    hear(500 * MIB);
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
        hear(2000);
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
        for (int k = 0; k < MSG_PEER_RATE / 10; k++) hear(100);
        assert_null(look(self, 7, came += 100 * MSG_PEER_RATE / 10, true));
    }
    const char *why = NULL;
    for (int i = 0; i < 50 && !why; i++) { /* twice as many */
        for (int k = 0; k < MSG_PEER_RATE / 5; k++) hear(100);
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

/* Of each a message was taken that took in memory so many times what it took on the line. */
static void know(rig_t *self, ration_guest_t *guest, size_t n, size_t weight)
{
    ration_guest_t before[256];
    for (size_t i = 0; i < n; i++) {
        ration_heard(guest[i].fd, (ration_size_t){.line = 1, .memory = weight});
        before[i] = guest[i];
        before[i].came = 1;
        before[i].drained = true;
        guest[i].came++;
    }
    assert_int_equal(ration_judge(self->ration, before, n, self->now_ms), 0);
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
    know(self, guest, N, 1);
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
    know(self, guest, N, 1);
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

/* How many of eight connections stay that hold 4 MiB each, as they came, where 48 MiB of memory is the limit. */
static size_t stay(bool curve, size_t weight)
{
    enum { N = 8 };
    rig_t rig = {.ration = ration_new(&(ration_limits_t){.total = 48 * MIB, .curve = curve})};
    ration_guest_t guest[N];
    for (int i = 0; i < N; i++)
        guest[i] = (ration_guest_t){.fd = FD + 1 + i, .cookie = 14, .came = 4 * MIB};
    if (weight) know(&rig, guest, N, weight);
    ration_entry(rig.ration, 0, false);
    size_t n = N - ration_judge(rig.ration, guest, N, 100);
    ration_destroy(&rig.ration);
    return n;
}

/* What waits counts by what the connection's messages took in memory before. */
static void small_messages(void **state)
{
    (void)state;
    assert_int_equal(stay(true, 1), 8);
    assert_int_equal(stay(true, 2), 6);
    assert_int_equal(stay(true, 0), 4);  /* nothing is known of them: 2.5 */
    assert_int_equal(stay(false, 0), 2); /* 4.5 */
    assert_int_equal(stay(false, 20), 0);
}

/* A process that does little else has grown by what it holds, whatever was thought of it. */
static void growth(void **state)
{
    (void)state;
    enum { GROWN = 96 * MIB };
    for (int alone = 0; alone < 2; alone++) {
        rig_t rig = {.ration = ration_new(
                         &(ration_limits_t){.total = 64 * MIB, .curve = false, .alone = alone})};
        ration_guest_t guest = {.fd = FD + 1, .cookie = 15, .came = 4 * MIB};
        know(&rig, &guest, 1, 1);
        ration_entry(rig.ration, 0, false);
        assert_int_equal(ration_judge(rig.ration, &guest, 1, 100), 0);
        volatile uint8_t *bytes = malloc(GROWN);
        for (size_t at = 0; at < GROWN; at += 1024) bytes[at] = 1;
        assert_int_equal(ration_judge(rig.ration, &guest, 1, 200), alone);
        free((void *)bytes);
        ration_destroy(&rig.ration);
    }
}

/* After connections had to end the others are looked at often for a while. */
static void alert(void **state)
{
    rig_t *self = *state;
    assert_null(look(self, 16, 0, true));
    assert_false(ration_due(self->ration, self->now_ms + 200));
    assert_non_null(look(self, 17, 2 * MSG_WAITING_BYTES, false));
    assert_true(ration_due(self->ration, self->now_ms + 200));
    assert_null(look(self, 18, 0, true));
    assert_false(ration_due(self->ration, self->now_ms + 20));
    self->now_ms += 20000;
    assert_null(look(self, 18, 0, true));
    assert_false(ration_due(self->ration, self->now_ms + 200));
}

static void check_frame(size_t bytes, bool curve, size_t line, size_t memory)
{
    ration_size_t size = ration_frame(bytes, curve);
    assert_int_equal(size.line, line);
    assert_int_equal(size.memory, memory);
}

/* As RFC 23 and 26 have them. */
static void frames(void **state)
{
    (void)state;
    check_frame(0, false, 2, 64);
    check_frame(33, false, 35, 64);
    check_frame(34, false, 36, 64 + 56 + 34);
    check_frame(255, false, 257, 64 + 56 + 255);
    check_frame(256, false, 265, 64 + 56 + 256);
    check_frame(200, true, 200 + 33 + 2, 64 + 56 + 200);
    check_frame(223, true, 223 + 33 + 9, 64 + 56 + 223);
}

/* --- Keys on many connections --- */

enum { LINES = 64 };

/* One look at connections of one key, 100 ms after the one before: how many are to end. */
static size_t look_at(rig_t *self, ration_guest_t *guest, size_t n)
{
    for (size_t i = 0; i < n; i++) guest[i].wrong = NULL;
    return ration_judge(self->ration, guest, n, self->now_ms += 100);
}

static void have(ration_guest_t *guest, int first, size_t n, uint64_t owner, uint64_t came)
{
    for (size_t i = 0; i < n; i++)
        guest[i] = (ration_guest_t){.fd = FD + first + (int)i,
                                    .cookie = 100 + (uint64_t)first + i,
                                    .owner = owner,
                                    .came = came};
}

static void speak(uint64_t key, int fd, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ration_heard(fd, (ration_size_t){.line = 1, .memory = 1});
        ration_key_heard((uint32_t)key);
    }
}

static const ration_guest_t *find(const ration_guest_t *guest, size_t n, int fd)
{
    for (size_t i = 0; i < n; i++)
        if (guest[i].fd == fd) return &guest[i];
    fail();
    return NULL;
}

/* All of a key's connections together may say what one may; who shares the key and says little stays. */
static void many_connections_talk(void **state)
{
    rig_t *self = *state;
    ration_guest_t guest[LINES];
    const int meek = FD + LINES - 1;
    size_t n = 0;
    have(guest, 0, LINES, 5, 0);
    for (int k = 0; k < 20 && n == 0; k++) { /* each a twentieth of what it alone may */
        for (int i = 0; i + 1 < LINES; i++) speak(5, FD + i, MSG_PEER_RATE / 200);
        speak(5, meek, 1);
        n = look_at(self, guest, LINES);
    }
    assert_in_range(n, 1, LINES - 1);
    assert_null(find(guest, LINES, meek)->wrong);
    for (int i = 0; i < LINES; i++)
        if (guest[i].wrong) {
            assert_string_equal(guest[i].wrong, "its key says too much in too short a time");
            assert_int_equal(guest[i].counts, REFUSAL_MESSAGES);
        }
}

/* The same on connections that end before anybody looks; another key is not meant. */
static void short_connections_talk(void **state)
{
    rig_t *self = *state;
    ration_guest_t guest[2];
    size_t n = 0;
    for (int k = 0; k < 4; k++) {
        speak(6, FD - 1, MSG_PEER_RATE);
        have(guest, 2 * k, 1, 6, 0);
        have(&guest[1], 2 * k + 1, 1, 7, 0);
        speak(6, guest[0].fd, 2 * MSG_PEER_RATE / 10);
        speak(7, guest[1].fd, MSG_PEER_RATE / 20);
        n += look_at(self, guest, 2);
        assert_null(find(guest, 2, FD + 2 * k + 1)->wrong);
    }
    assert_in_range(n, 1, 4);
}

/* A key has half of the memory at the most, however many connections hold it, and another key's larger one stays. */
static void many_connections_hold(void **state)
{
    enum { EACH = MSG_HELD_BULK / MIB / LINES * 3 / 4 };
    rig_t *self = *state;
    ration_guest_t guest[LINES + 1];
    have(guest, 0, LINES, 8, EACH * MIB);
    have(&guest[LINES], LINES, 1, 9, 3 * EACH * MIB);
    know(self, guest, LINES + 1, 1);
    ration_entry(self->ration, 0, false);
    size_t n = look_at(self, guest, LINES + 1);
    assert_in_range(n, LINES / 3, LINES / 3 + 3);
    assert_null(find(guest, LINES + 1, FD + LINES)->wrong);
    for (int i = 0; i <= LINES; i++)
        if (guest[i].wrong) assert_string_equal(guest[i].wrong, "too much of its key waits");
    have(guest, 200, LINES, 8,
         EACH * MIB); /* those have gone, and others come: what they had sent counts */
    know(self, guest, LINES + 1, 1);
    assert_in_range(look_at(self, guest, LINES + 1), LINES - 1, LINES);
    assert_null(find(guest, LINES + 1, FD + LINES)->wrong);
}

/* Of two that hold too much together, the one that holds more gives way, though its connections are smaller. */
static void deepest_first(void **state)
{
    (void)state;
    rig_t rig = {.ration = ration_new(&(ration_limits_t){.total = 120 * MIB, .curve = true})};
    ration_guest_t guest[20];
    have(guest, 0, 11, 10, 5 * MIB);
    have(&guest[11], 11, 8, 11, 5 * MIB);
    have(&guest[19], 19, 1, 12, 30 * MIB);
    know(&rig, guest, 20, 1);
    ration_entry(rig.ration, 0, false);
    assert_int_equal(look_at(&rig, guest, 20), 1);
    for (int i = 0; i < 20; i++)
        if (guest[i].wrong) assert_int_equal(guest[i].owner, 10);
    ration_destroy(&rig.ration);
}

/* Strangers have a third together; then no new one comes in, while who has a key does. */
static void strangers(void **state)
{
    enum { EACH = MSG_HELD_BULK / MIB / LINES };
    rig_t *self = *state;
    ration_guest_t guest[LINES], one;
    have(guest, 0, LINES, RATION_STRANGER | 4711, EACH * MIB);
    know(self, guest, LINES, 1);
    ration_entry(self->ration, 0, false);
    assert_in_range(look_at(self, guest, LINES), LINES * 2 / 3, LINES * 2 / 3 + 2);
    have(&one, 300, 1, RATION_STRANGER | 42, 0);
    assert_int_equal(look_at(self, &one, 1), 1);
    have(&one, 301, 1, 13, 0);
    assert_int_equal(look_at(self, &one, 1), 0);
}

static void too_many_connections(void **state)
{
    (void)state;
    const ration_limits_t limits = {.total = MSG_HELD_BULK, .curve = true, .connections = 40};
    rig_t rig = {.ration = ration_new(&limits), .now_ms = 1000};
    ration_guest_t guest[LINES];
    have(guest, 0, LINES, 14, 0);
    for (int i = 0; i < LINES; i++) guest[i].came = (uint64_t)i;
    for (int i = 0; i < LINES / 4; i++) guest[i].owner = 15;
    assert_int_equal(look_at(&rig, guest, LINES), LINES * 3 / 4 - 40);
    for (int i = 0; i < LINES; i++) {
        bool late = guest[i].fd >= FD + LINES / 4 && guest[i].fd < FD + LINES - 40;
        assert_int_equal(guest[i].wrong != NULL, late);
        if (late) assert_int_equal(guest[i].counts, REFUSAL_CONNECTIONS);
    }
    ration_destroy(&rig.ration);
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
        cmocka_unit_test_setup_teardown(alert, begin, end),
        cmocka_unit_test(small_messages),
        cmocka_unit_test(growth),
        cmocka_unit_test(frames),
        cmocka_unit_test_setup_teardown(many_connections_talk, begin, end),
        cmocka_unit_test_setup_teardown(short_connections_talk, begin, end),
        cmocka_unit_test_setup_teardown(many_connections_hold, begin, end),
        cmocka_unit_test(deepest_first),
        cmocka_unit_test_setup_teardown(strangers, begin, end),
        cmocka_unit_test(too_many_connections),
    };
    return cmocka_run_group_tests_name("ration", tests, NULL, NULL);
}
