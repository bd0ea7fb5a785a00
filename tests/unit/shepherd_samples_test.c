/* Samples: asked of a compiler when they are due, told and recorded; what cannot be had harms nothing. */
#include "shepherd_rig.h"

typedef struct {
    int n;
    uint32_t round;
    char text[256], error[256];
} heard_t;

static heard_t heard; /* the last WRITTEN of the run */

static void hear(void *user, Msg__Event *event)
{
    (void)user;
    if (event->body_case != MSG__EVENT__BODY_WRITTEN) return;
    heard.n++;
    heard.round = event->written->round;
    snprintf(heard.text, sizeof heard.text, "%s", event->written->text);
    snprintf(heard.error, sizeof heard.error, "%s", event->written->error);
}

/* One replica, a worker, samples after every second round. */
static rig_t *sampling(int64_t rounds)
{
    rig_t *rig = training(1, rounds, 1);
    err_t err = {0};
    heard = (heard_t){0};
    rig->config.sample_every = 2;
    rig->state.bulk.validation_tokens = 0;
    assert_int_equal(config_set(&shepherd_table, &rig->config, "sample_prompt", "It", &err), 0);
    memset(rig->state.bulk.tokenizer_hash, 'e', HASH_HEX - 1);
    rig->state.ports.publish = hear;
    return rig;
}

static void answer(rig_t *rig, uint8_t from, uint32_t round, const char *text, const char *error)
{
    SAY(rig, from, SAMPLED, sampled, Msg__Sampled body = MSG__SAMPLED__INIT; body.round = round;
        body.text = (char *)text; body.error = (char *)error);
}

/* Rounds up to that one, whose commit is the last thing that happens. */
static void rounds_up_to(rig_t *rig, uint32_t last)
{
    for (uint32_t round = rig->state.round.number; round < last; round++) do_round(rig, round, W1);
}

static void last_round(rig_t *rig, uint32_t round)
{
    do_round(rig, round, W1);
    tick(rig, 10);
}

static void a_sample_is_asked_told_and_recorded(void **unused)
{
    (void)unused;
    rig_t *rig = sampling(9);
    rounds_up_to(rig, 1);
    tick(rig, 10);
    assert_int_equal(count(rig, 0, BODY(SAMPLE), NULL), 0);
    SAY(rig, L, HELLO, hello, Msg__Hello body = MSG__HELLO__INIT; body.kind = MSG__KIND__KIND_CLI;
        body.id = "cli");
    ask(rig, W1);
    Msg__Lease lease = MSG__LEASE__INIT;
    lease.round = 1;
    lease.inner_steps = 3;
    lease.fence = rig->state.round.lease[0].fence;
    lease_done(rig, W1, &lease, 1);
    committed(rig, 1, "");
    const Msg__Sample *sample = only(rig, C, BODY(SAMPLE))->sample;
    assert_true(sample->round == 2 && sample->tokens == 64 && sample->seed == 1337);
    assert_string_equal(sample->prompt, "It");
    assert_int_equal(sample->tokenizer[0], 'e');
    assert_true(sample->n_bounds == 2 && sample->bounds[1] == 12 && sample->n_params == 1);
    assert_true(sample->params[0]->n_dims == 2 && sample->params[0]->dims[1] == 4);
    keep_records(rig);
    answer(rig, W1, 2, "forged", ""); /* no worker's to say */
    answer(rig, C, 4, "of another round", "");
    assert_int_equal(heard.n, 0);
    forget_sent(rig);
    answer(rig, C, 2, " was", "");
    assert_true(heard.n == 1 && heard.round == 2 && rig->records.n == 1);
    assert_string_equal(heard.text, " was");
    const record_t *row = rig->records.at[0];
    assert_true(row->kind == RECORD_WRITTEN && row->round == 1);
    assert_string_equal(row->text, "It");
    assert_string_equal(row->detail, " was");
    only(rig, L, BODY(RUN_EVENT));
    answer(rig, C, 2, "twice", "");
    assert_int_equal(heard.n, 1);
    rig_free(rig);
}

static void what_fails_is_told_and_training_goes_on(void **unused)
{
    (void)unused;
    rig_t *rig = sampling(20);
    rounds_up_to(rig, 2);
    answer(rig, C, 2, "", "no such character");
    assert_true(heard.n == 1 && heard.round == 2);
    assert_string_equal(heard.error, "no such character");
    rounds_up_to(rig, 4);
    SAY(rig, C, BYE, bye, Msg__Bye body = MSG__BYE__INIT; body.reason = "away");
    assert_true(heard.n == 2 && heard.round == 4 && strstr(heard.error, "lost"));
    rounds_up_to(rig, 6); /* nobody is here to ask */
    assert_int_equal(heard.n, 2);
    rounds_up_to(rig, 8);
    tick(rig, 10);
    assert_true(heard.n == 3 && heard.round == 6 && strstr(heard.error, "left out"));
    hello(rig, C, MSG__KIND__KIND_COMPILER, "c0");
    assert_int_equal(only(rig, C, BODY(SAMPLE))->sample->round, 8);
    forget_sent(rig);
    rounds_up_to(rig, 10); /* the next one waits for the answer */
    assert_int_equal(count(rig, C, BODY(SAMPLE), NULL), 0);
    answer(rig, C, 8, "eight", "");
    assert_int_equal(only(rig, C, BODY(SAMPLE))->sample->round, 10);
    assert_true(rig->state.phase == PHASE_TRAIN && heard.n == 4);
    rig_free(rig);
}

static void the_end_waits_for_the_last_one_but_not_for_ever(void **unused)
{
    (void)unused;
    rig_t *rig = sampling(3); /* not a multiple of two */
    rounds_up_to(rig, 2);
    answer(rig, C, 2, "two", "");
    last_round(rig, 2);
    assert_true(rig->state.phase == PHASE_TRAIN && !rig->job);
    answer(rig, C, 3, "three", "");
    tick(rig, 10);
    assert_int_equal(heard.n, 2);
    assert_int_equal(rig->state.phase, PHASE_SAVE);
    rig_free(rig);

    rig = sampling(2);
    rounds_up_to(rig, 1);
    last_round(rig, 1);
    for (int i = 0; i < 59; i++) {
        beat(rig, A, 0), beat(rig, C, 0), beat(rig, W1, 0);
        tick(rig, 1000);
    }
    assert_int_equal(rig->state.phase, PHASE_TRAIN);
    beat(rig, A, 0), beat(rig, C, 0), beat(rig, W1, 0);
    tick(rig, 2000);
    assert_int_equal(rig->state.phase, PHASE_SAVE);
    rig_free(rig);

    rig = sampling(2); /* without a compiler it is not waited for */
    rounds_up_to(rig, 1);
    SAY(rig, C, BYE, bye, Msg__Bye body = MSG__BYE__INIT; body.reason = "away");
    last_round(rig, 1);
    assert_int_equal(rig->state.phase, PHASE_SAVE);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_is_asked_told_and_recorded),
        cmocka_unit_test(what_fails_is_told_and_training_goes_on),
        cmocka_unit_test(the_end_waits_for_the_last_one_but_not_for_ever),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
