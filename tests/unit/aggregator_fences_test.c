/* Updates are taken of those alone whom the shepherd has announced, under the announced fence; also behind a restart, and
 * with a shepherd that announces nothing. */
#include "aggregator_rig.h"

#include "base/log.h"
#include "msg/refusals.h"

static const keys_card_t w0 = {.role = KEYS_WORKER, .name = "w0"},
                         w1 = {.role = KEYS_WORKER, .name = "w1"},
                         boxes = {.role = KEYS_SUPERVISOR, .name = "boxes"};
static const uint32_t HIGHEST = UINT32_MAX;

static rig_t *rig_announced(const char *root)
{
    rig_t *rig = rig_alone(root, true);
    rig->holders = true;
    assign(rig, 0, N);
    put_init(rig);
    return rig;
}

/* Both chunks of replica 0's update of round 0. */
static void put(rig_t *rig, const keys_card_t *card, uint32_t held)
{
    rig->card = card;
    for (int chunk = 0; chunk < 2; chunk++) put_delta(rig, 0, 0, held, 10, chunk, "f32");
    rig->card = NULL;
}

static void taken(rig_t *rig, const keys_card_t *card, uint32_t held)
{
    put(rig, card, held);
    assert_int_equal(rig->answer.type, WIRE_ACK);
    assert_int_equal(rig->answer.code, ACK_TAKEN);
}

/* With this code, and nothing that tells more; `counted` times as a sender's fault. */
static void not_taken(rig_t *rig, const keys_card_t *card, uint32_t held, wire_nack_t code,
                      unsigned counted)
{
    uint64_t before = refusals_of(REFUSAL_SENDER);
    put(rig, card, held);
    assert_int_equal(rig->answer.type, WIRE_NACK);
    assert_int_equal(rig->answer.code, code);
    for (const uint8_t *p = rig->payload; *p; p++) assert_false(*p >= '0' && *p <= '9');
    assert_int_equal(refusals_of(REFUSAL_SENDER) - before, counted);
}

/* A chunk that is damaged on the way, as often as marks an update. */
static void put_damaged(rig_t *rig, const keys_card_t *card, uint32_t held)
{
    wire_header_t header = chunk_header(WIRE_PUT_DELTA, 1);
    const msg_peer_t from = {.n = 5, .card = card};
    uint8_t bytes[WIRE_HEADER_BYTES];
    header.fence = held;
    header.weight = 10;
    header.codec = 1;
    header.check = 1;
    wire_pack(&header, bytes);
    for (int i = 0; i < 100; i++)
        aggregator_on_data(&rig->state, &from, bytes, sizeof bytes, "damaged", 7);
}

static void only_the_holder_sends(void **unused)
{
    (void)unused;
    char *root = new_root();
    rig_t *rig = rig_announced(root);
    not_taken(rig, &w0, 1, NACK_NOT_READY, 2); /* not yet: it asks again */
    announce(rig, 0, 0, 1, "w0-x");
    not_taken(rig, &w1, 1, NACK_NOT_ALLOWED, 2);
    put_damaged(rig, &w1, 1);
    assert_int_equal(rig->answer.code, NACK_NOT_ALLOWED);
    put_damaged(rig, &w1, HIGHEST);
    assert_int_equal(rig->answer.code, NACK_NOT_READY);
    not_taken(rig, &w0, HIGHEST, NACK_NOT_READY, 2); /* nor does the holder make one up */
    taken(rig, &w0, 1);
    not_taken(rig, &w1, 1, NACK_NOT_ALLOWED, 2);
    not_taken(rig, &w1, HIGHEST, NACK_NOT_READY, 2);
    assert_true(inspect(rig, 0, 1, 10)->complete);
    assert_string_equal(rig->inspected.reason, "");
    put_damaged(rig, &w0, 1); /* its own is its own to spoil */
    assert_string_equal(inspect(rig, 0, 1, 10)->reason, "hash");
    rig_close(rig);
    remove_root(root);
}

static void a_lease_changes_hands(void **unused)
{
    (void)unused;
    char *root = new_root();
    rig_t *rig = rig_announced(root);
    announce(rig, 0, 0, 1, "w0");
    taken(rig, &w0, 1);
    announce(rig, 0, 0, 2, ""); /* lost: nobody has it */
    not_taken(rig, &w0, 1, NACK_OLD_FENCE, 0);
    not_taken(rig, &w1, 2, NACK_NOT_READY, 2);
    announce(rig, 0, 0, 2, "w1");
    announce(rig, 0, 0, 1, "w0"); /* an older word */
    not_taken(rig, &w0, 2, NACK_NOT_ALLOWED, 2);
    taken(rig, &w1, 2);
    announce(rig, 0, 0, 2, "w1"); /* said again: nothing is forgotten */
    assert_true(inspect(rig, 0, 2, 10)->complete);
    announce(rig, 0, 0, 3, "boxes-7-w2"); /* a supervisor's worker uses its key */
    taken(rig, &boxes, 3);
    announce(rig, 0, 0, 4, "anybody"); /* ipc, or no keys: the fence alone is judged */
    taken(rig, NULL, 4);
    not_taken(rig, NULL, 5, NACK_NOT_READY, 2);
    static const uint32_t fences[K] = {4};
    static const uint64_t weight[K] = {10};
    commit(rig, 0, fences, weight);
    assert_string_equal(rig->error, "");
    wire_header_t next = chunk_header(WIRE_PUT_DELTA, 0);
    next.round = 1, next.fence = 4, next.weight = 10, next.codec = 1;
    assert_int_equal(data(rig, next, NULL, 0), WIRE_NACK); /* of the next round nothing was said */
    assert_int_equal(rig->answer.code, NACK_NOT_READY);
    rig_close(rig);
    remove_root(root);
}

static void a_restart_waits_for_the_shepherd(void **unused)
{
    (void)unused;
    char *root = new_root();
    rig_t *rig = rig_announced(root);
    announce(rig, 0, 0, 1, "w0");
    rig_close(rig);
    rig = rig_alone(root, true); /* no shepherd is there yet */
    rig->holders = true;
    not_taken(rig, &w1, 1, NACK_NOT_ALLOWED, 2);
    not_taken(rig, &w1, HIGHEST, NACK_NOT_READY, 0); /* it could be right */
    taken(rig, &w0, 1);
    assign_as(rig, 0, N, 0, true);
    assert_string_equal(rig->error, "");
    not_taken(rig, &w1, HIGHEST, NACK_NOT_READY, 2);
    assert_true(inspect(rig, 0, 1, 10)->complete);
    rig_close(rig);
    remove_root(root);
}

/* A round that such a fence has spoiled is whole again once the shepherd announces, and stays so. */
static void what_was_taken_before_is_healed(void **unused)
{
    (void)unused;
    char *root = new_root();
    rig_t *rig = rig_alone(root, true);
    assign(rig, 0, N); /* by a shepherd that announces nothing */
    put_init(rig);
    taken(rig, &w1, HIGHEST);
    not_taken(rig, &w0, 1, NACK_OLD_FENCE, 0);
    rig_close(rig);
    rig = rig_alone(root, true);
    rig->holders = true;
    assign_as(rig, 0, N, 0, true);
    announce(rig, 0, 0, 1, "w0");
    not_taken(rig, &w1, HIGHEST, NACK_NOT_READY, 2);
    taken(rig, &w0, 1);
    rig_close(rig);
    rig = rig_alone(root, true);
    assert_true(inspect(rig, 0, 1, 10)->complete);
    assign_as(rig, 0, N, 0, true); /* an older shepherd leads again */
    fence(rig, 0, 0, 3);
    not_taken(rig, &w0, 1, NACK_OLD_FENCE, 0);
    taken(rig, &w1, 3);
    rig_close(rig);
    remove_root(root);
}

int main(void)
{
    log_init("aggregator_fences_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_holder_sends),
        cmocka_unit_test(a_lease_changes_hands),
        cmocka_unit_test(a_restart_waits_for_the_shepherd),
        cmocka_unit_test(what_was_taken_before_is_healed),
    };
    return cmocka_run_group_tests_name("aggregator_fences", tests, NULL, NULL);
}
