/* Clients that ask for parameters and never read the answers: no commit waits for them. */
#include "aggregator_rig.h"

#include "base/log.h"

enum { ROUNDS = 40, ANSWERS = ROUNDS };

typedef struct {
    shared_t *keep;
    const uint8_t *payload;
    wire_header_t header;
    size_t n;
} unread_t;

typedef struct {
    rig_t *rig;
    bool keeps; /* answers with values stay on the way */
    unread_t answer[ANSWERS];
    int n;
} line_t;

/* ZeroMQ has it, and nobody takes it. */
static void reply(void *user, const msg_peer_t *to, const wire_header_t *header,
                  const void *payload, size_t n, shared_t *keep)
{
    line_t *line = user;
    if (line->keeps && keep) {
        assert_true(line->n < ANSWERS);
        line->answer[line->n++] = (unread_t){keep, payload, *header, n};
        line->rig->n_answer++;
        line->rig->answer = *header;
        return;
    }
    take_reply(line->rig, to, header, payload, n, keep);
}

static void take_control_of(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    take_control(((line_t *)user)->rig, to, message);
}

/* Someone else asks for parameters in every round, and does or does not read. */
static float *train(bool keeps, line_t *line)
{
    rig_t *rig = rig_new();
    *line = (line_t){.rig = rig, .keeps = keeps};
    rig->state.reply = reply;
    rig->state.user = line;
    rig->state.out = (msg_out_t){take_control_of, line};
    assign(rig, 0, N);
    put_init(rig);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        wire_header_t get = chunk_header(WIRE_GET_PARAMS, 0);
        get.round = round;
        data(rig, get, NULL, 0);
        assert_int_equal(rig->answer.type, WIRE_DATA);
        put_deltas(rig, round);
        commit(rig, round, all, weights);
        assert_string_equal(rig->error, "");
    }
    line->keeps = false;
    return get_params(rig, ROUNDS);
}

static void a_commit_waits_for_no_reader(void **unused)
{
    (void)unused;
    line_t calm, held;
    float *want = train(false, &calm), *got = train(true, &held);
    assert_memory_equal(want, got, N * sizeof *want);
    assert_int_equal(held.n, ROUNDS);
    /* What they read late is what they asked for, or fails its check: then they ask again. */
    int whole = 0;
    for (int i = 0; i < held.n; i++) {
        const unread_t *late = &held.answer[i];
        whole += wire_check(&late->header, late->payload, late->n, NULL) == 0;
        shared_drop(&held.answer[i].keep);
    }
    assert_true(whole >= 1 && whole <= STATE_READ);
    wire_header_t again = chunk_header(WIRE_GET_PARAMS, 0);
    assert_int_equal(data(held.rig, again, NULL, 0), WIRE_NACK);
    assert_int_equal(held.rig->answer.code, NACK_WRONG_ROUND);
    free(want);
    free(got);
    rig_free(calm.rig);
    rig_free(held.rig);
}

/* Nor does a range that is given anew. */
static void an_assignment_waits_for_no_reader(void **unused)
{
    (void)unused;
    line_t held;
    free(train(true, &held));
    held.rig->attempt = 5;
    assign(held.rig, 0, N);
    assert_string_equal(held.rig->error, "");
    put_init(held.rig);
    for (int i = 0; i < held.n; i++) shared_drop(&held.answer[i].keep);
    rig_free(held.rig);
}

int main(void)
{
    log_init("aggregator_readers_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_waits_for_no_reader),
        cmocka_unit_test(an_assignment_waits_for_no_reader),
    };
    return cmocka_run_group_tests_name("aggregator_readers", tests, NULL, NULL);
}
