/* What a HELLO may say, and whose an id is: nobody takes that of somebody who lives. */
#include "shepherd/joining/members.h"
#include "shepherd_rig.h"

enum { S1 = 10, S2 = 11 };

typedef struct {
    const char *id, *target, *host, *supervisor, *words;
} bad_t;

static void names_are_checked(void **unused)
{
    (void)unused;
    static const bad_t rows[] = {
        {"a\xff", "cpu:x", "", "", "UTF-8"},
        {"a\xc3", "cpu:x", "", "", "UTF-8"},
        {"a\nlevel=error", "cpu:x", "", "", "UTF-8"},
        {"a b", "cpu:x", "", "", "UTF-8"},
        {"a\x1b[2J", "cpu:x", "", "", "UTF-8"},
        {"a\xc2\x85", "cpu:x", "", "", "UTF-8"},
        {"a\xe2\x80\xae", "cpu:x", "", "", "UTF-8"},
        {"../a", "cpu:x", "", "", "UTF-8"},
        {"a\"b", "cpu:x", "", "", "UTF-8"},
        {"a", "cpu:\xff", "", "", "target"},
        {"a", "cpu x", "", "", "target"},
        {"a", "cpu:x", "h\x01", "", "host"},
        {"a", "cpu:x", "h\xff", "", "host"},
        {"a", "cpu:x", "", "s\n", "supervisor"},
    };
    rig_t *rig = rig_new(1, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SAY(rig, W1, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
            body.kind = MSG__KIND__KIND_WORKER; body.id = (char *)rows[i].id;
            body.target = (char *)rows[i].target; body.host = (char *)rows[i].host;
            body.supervisor = (char *)rows[i].supervisor);
        const Msg__Fault *fault = only(rig, W1, BODY(FAULT))->fault;
        assert_int_equal(fault->code, MSG__FAULT__CODE__REFUSED);
        if (!strstr(fault->text, rows[i].words)) fail_msg("row %zu: %s", i, fault->text);
        forget_sent(rig);
    }
    assert_int_equal(rig->state.roster.members.n, 0);
    hello(rig, W1, MSG__KIND__KIND_WORKER, "w-1.Z_b:c@d+e");
    hello(rig, W2, MSG__KIND__KIND_WORKER,
          "b\xc3\xbc"
          "ro-\xe6\x9d\xb1"); /* büro-東 */
    assert_int_equal(rig->state.roster.members.n, 2);
    rig_free(rig);
}

/* What a member speaks, and the version of the conversation: 0: it is refused with these words. */
static const struct {
    uint32_t oldest, newest, common;
    const char *words;
} ranges[] = {
    {0, 0, 1, NULL},
    {1, 1, 1, NULL},
    {1, 2, 2, NULL},
    {2, 2, 2, NULL},
    {2, 3, 2, NULL},
    {3, 4, 0, "it speaks protocol versions 3 to 4 (pcp 9.1), the shepherd 1 to 2 (pcp "},
    {UINT32_MAX, UINT32_MAX, 0, "bring the shepherd to the other's version"},
    {2, 1, 0, "are no range"},
    {3, 0, 0, "are no range"},
};

static void versions_are_agreed(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        rig_t *rig = rig_new(1, 1);
        SAY(rig, W1, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
            body.kind = MSG__KIND__KIND_WORKER; body.id = "w"; body.target = "cpu:x";
            body.software = "9.1"; body.protocol_oldest = ranges[i].oldest;
            body.protocol = ranges[i].newest);
        assert_int_equal(rig->state.roster.members.n, ranges[i].common != 0);
        if (ranges[i].common) {
            assert_int_equal(only(rig, W1, BODY(WELCOME))->welcome->protocol, ranges[i].common);
            assert_int_equal(rig->state.roster.members.at[0]->protocol, ranges[i].common);
        } else {
            const Msg__Fault *fault = only(rig, W1, BODY(FAULT))->fault;
            assert_int_equal(fault->code, MSG__FAULT__CODE__REFUSED);
            if (!strstr(fault->text, ranges[i].words)) fail_msg("row %zu: %s", i, fault->text);
        }
        rig_free(rig);
    }
}

/* Other texts of members go where only UTF-8 may: the store would refuse them, and with them all
 * that is written in the same transaction. */
static void other_texts_are_checked(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    ask(rig, W1);
    const Msg__Lease *lease = only(rig, W1, BODY(LEASE))->lease;
    SAY(rig, W1, LEASE_FAILED, lease_failed, Msg__LeaseFailed body = MSG__LEASE_FAILED__INIT;
        body.fence = lease->fence; body.numeric = true; body.error = "nan\xff");
    assert_int_equal(rig->state.count.dropped, 1);
    assert_int_equal(rig->state.round.lease[0].failures, 0);
    SAY(rig, L, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT; body.kind = MSG__KIND__KIND_CLI;
        body.id = "\xff");
    assert_int_equal(only(rig, L, BODY(FAULT))->fault->code, MSG__FAULT__CODE__REFUSED);
    rig_free(rig);
}

static void of_process(rig_t *rig, uint8_t from, const char *id, uint64_t incarnation)
{
    SAY(rig, from, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_WORKER; body.id = (char *)id; body.target = "cpu:x";
        body.pid = 7; body.host = "node"; body.incarnation = incarnation);
}

static uint8_t holder(const rig_t *rig, const char *id)
{
    member_row_t *row = member_by_id(&rig->state.roster, id);
    return row ? row->peer.at[0] : 0;
}

static void a_living_member_keeps_its_id(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new(1, 1);
    of_process(rig, W1, "w", 100);
    for (int i = 0; i < 10; i++) { /* in another PID namespace: the same number, the same host */
        of_process(rig, W2, "w", 200);
        beat(rig, W1, 0);
    }
    assert_int_equal(holder(rig, "w"), W1);
    assert_int_equal(count(rig, W1, BODY(FAULT), NULL), 0);
    const msg_envelope_t *last = NULL;
    assert_int_equal(count(rig, W2, BODY(FAULT), &last), 10);
    assert_int_equal(last->fault->code, MSG__FAULT__CODE__ID_IN_USE);
    assert_non_null(strstr(last->fault->text, "the id w belongs to a living worker (process 7 on "
                                              "node)"));
    assert_non_null(strstr(last->fault->text, "--id"));
    /* The one that says nothing of its process is no exception. */
    of_process(rig, W3, "w", 0);
    assert_int_equal(holder(rig, "w"), W1);
    rig_free(rig);
}

static void who_is_gone_is_replaced(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new(1, 1);
    of_process(rig, W1, "w", 100);
    of_process(rig, W2, "w", 100); /* the same process, over a new connection */
    assert_int_equal(holder(rig, "w"), W2);
    rig->ended[W2] = true; /* killed; started again at once */
    of_process(rig, W3, "w", 300);
    assert_int_equal(holder(rig, "w"), W3);
    of_process(rig, W4, "w", 400); /* W3's connection stands, but it says nothing any more */
    assert_int_equal(holder(rig, "w"), W3);
    for (int i = 0; i < 3; i++) tick(rig, rig->config.timeout_ms / 2 - 1);
    of_process(rig, W4, "w", 400);
    assert_int_equal(holder(rig, "w"), W4);
    assert_int_equal(rig->state.roster.members.n, 1);
    rig_free(rig);
}

/* Members that a front passes on share its connection, and it has judged them. */
static void a_front_judges_for_itself(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new(1, 1);
    for (uint64_t behind = 1; behind <= 2; behind++) {
        Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_WORKER;
        body.id = "w";
        body.target = "cpu:x";
        body.incarnation = behind;
        msg_envelope_t message = MSG__ENVELOPE__INIT;
        message.version = MSG_VERSION;
        message.body_case = BODY(HELLO);
        message.hello = &body;
        size_t n;
        uint8_t *bytes = msg_pack(&message, &n);
        msg_peer_t peer = {.n = 5, .at = {W1}, .behind = behind};
        msg_dispatch(&shepherd_hears, &rig->state, &peer, bytes, n, &rig->state.count, NULL);
        free(bytes);
        assert_int_equal(member_by_id(&rig->state.roster, "w")->peer.behind, behind);
    }
    of_process(rig, W2, "w", 3);
    assert_int_equal(holder(rig, "w"), W1);
    rig_free(rig);
}

/* What a member is was said once, when its HELLO was accepted; the table says what it may say. */
static void a_kind_is_as_registered(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    SAY(rig, W1, CONTROL, control, Msg__Control body = MSG__CONTROL__INIT;
        body.verb = MSG__CONTROL__VERB__CHECKPOINT);
    const Msg__Fault *fault = only(rig, W1, BODY(FAULT))->fault;
    assert_int_equal(fault->code, MSG__FAULT__CODE__NOT_ALLOWED);
    assert_string_equal(fault->text,
                        "CONTROL may be said by a cli, and its sender is registered as worker");
    assert_int_equal(count(rig, W1, BODY(CONTROL_REPLY), NULL), 0);
    assert_int_equal(rig->state.count.refused, 1);
    forget_sent(rig);
    SAY(rig, W1, PLAN_REPLY, plan_reply, Msg__PlanReply body = MSG__PLAN_REPLY__INIT;
        body.error = "no");
    assert_int_equal(only(rig, W1, BODY(FAULT))->fault->code, MSG__FAULT__CODE__NOT_ALLOWED);
    assert_int_equal(rig->state.count.refused, 2);
    assert_false(rig->state.finished);
    forget_sent(rig);
    /* A stranger is asked to say HELLO, whatever it says; its BYE needs no answer. */
    SAY(rig, W3, EVAL_DONE, eval_done, Msg__EvalDone body = MSG__EVAL_DONE__INIT; body.loss = NAN);
    assert_int_equal(only(rig, W3, BODY(FAULT))->fault->code, MSG__FAULT__CODE__UNKNOWN_PEER);
    forget_sent(rig);
    SAY(rig, W3, BYE, bye, Msg__Bye body = MSG__BYE__INIT);
    assert_int_equal(count(rig, W3, BODY(FAULT), NULL), 0);
    /* The same id as another kind, on the same connection, is another member: the worker is gone,
     * and with it what it might say. */
    hello(rig, W1, MSG__KIND__KIND_CLI, "w1");
    forget_sent(rig);
    SAY(rig, W1, WORK_REQUEST, work_request, Msg__WorkRequest body = MSG__WORK_REQUEST__INIT;
        body.credit = 1);
    assert_int_equal(only(rig, W1, BODY(FAULT))->fault->code, MSG__FAULT__CODE__NOT_ALLOWED);
    SAY(rig, W1, CONTROL, control, Msg__Control body = MSG__CONTROL__INIT;
        body.verb = MSG__CONTROL__VERB__LIST);
    assert_int_equal(count(rig, W1, BODY(CONTROL_REPLY), NULL), 1);
    rig_free(rig);
}

/* The routing id of a member under another key, or under none, is not that member. */
static void a_key_is_part_of_who_it_is(void **unused)
{
    (void)unused;
    rig_t *rig = training(1, 1, 1);
    const keys_card_t card = {.role = KEYS_WORKER, .name = "w"};
    member_row_t *row = member_by_id(&rig->state.roster, "w1");
    assert_non_null(row);
    msg_peer_t peer = row->peer;
    assert_ptr_equal(member_by_peer(&rig->state.roster, &peer), row);
    peer.card = &card;
    assert_null(member_by_peer(&rig->state.roster, &peer));
    rig_free(rig);
}

/* Workers of a key announce a target each, `of` something; the key that has had too many locks nobody else out. Returns how
 * many are new. */
static size_t joins(rig_t *rig, const keys_card_t *card, const char *name, const char *of, int n)
{
    const size_t before = rig->state.plans.rows.n;
    for (int i = 0; i < n; i++) {
        msg_envelope_t message = MSG__ENVELOPE__INIT;
        Msg__Hello body = MSG__HELLO__INIT;
        msg_peer_t from = {.n = 2, .card = card};
        char id[32], target[32];
        snprintf(id, sizeof id, "%s-%d", name, i);
        snprintf(target, sizeof target, "cpu:%s-%d", of, i);
        from.at[0] = W1;
        from.at[1] = (uint8_t)rig->state.roster.members.n;
        body.kind = MSG__KIND__KIND_WORKER;
        body.id = id;
        body.target = target;
        message.hello = &body;
        on_hello(&rig->state, &from, &message);
        forget_sent(rig);
    }
    return rig->state.plans.rows.n - before;
}

static void a_key_has_few_targets(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new(1, 1);
    const keys_card_t odd = {.role = KEYS_WORKER, .name = "odd"};
    const keys_card_t good = {.role = KEYS_WORKER, .name = "good"};
    assert_int_equal(joins(rig, &odd, "odd", "odd", 64), 16);
    assert_int_equal(joins(rig, &good, "good", "good", 8), 8);
    assert_int_equal(joins(rig, &odd, "odd-late", "good", 1), 0); /* known: it is let in */
    assert_int_equal(rig->state.roster.members.n, 16 + 8 + 1);
    assert_int_equal(joins(rig, NULL, "none", "none", 64), 64 - 16 - 8);
    /* One that failed makes room, but not while somebody has it. */
    rig->state.plans.rows.at[3].state = PLAN_FAILED;
    assert_int_equal(joins(rig, NULL, "late", "late", 1), 0);
    assert_null(plans_find(&rig->state.plans, "cpu:late-0"));
    roster_refuse(&rig->state.roster, member_by_id(&rig->state.roster, "odd-3"));
    assert_int_equal(joins(rig, NULL, "late", "late", 2), 0);
    assert_non_null(plans_find(&rig->state.plans, "cpu:late-0"));
    assert_null(plans_find(&rig->state.plans, "cpu:late-1"));
    assert_null(plans_find(&rig->state.plans, "cpu:odd-3"));
    rig_free(rig);
}

static void supervisors_speak_for_their_own(void **unused)
{
    (void)unused;
    rig_t *rig = rig_new(1, 1);
    hello(rig, S1, MSG__KIND__KIND_SUPERVISOR, "north");
    hello(rig, S2, MSG__KIND__KIND_SUPERVISOR, "south");
    SAY(rig, W1, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT;
        body.kind = MSG__KIND__KIND_WORKER; body.id = "north-w0"; body.target = "cpu:x";
        body.pid = 7; body.supervisor = "north");
    for (uint8_t s = S2; s >= S1; s--) {
        assert_int_equal(holder(rig, "north-w0"), W1);
        SAY(rig, s, GONE, gone, Msg__Gone body = MSG__GONE__INIT; body.member = "north-w0";
            body.pid = 7);
    }
    assert_int_equal(holder(rig, "north-w0"), 0);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(versions_are_agreed),
        cmocka_unit_test(other_texts_are_checked),
        cmocka_unit_test(a_living_member_keeps_its_id),
        cmocka_unit_test(who_is_gone_is_replaced),
        cmocka_unit_test(a_front_judges_for_itself),
        cmocka_unit_test(a_kind_is_as_registered),
        cmocka_unit_test(a_key_is_part_of_who_it_is),
        cmocka_unit_test(a_key_has_few_targets),
        cmocka_unit_test(supervisors_speak_for_their_own),
    };
    return cmocka_run_group_tests_name("shepherd, hello", tests, NULL, NULL);
}
