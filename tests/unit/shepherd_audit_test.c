/* Audit by re-execution: who is asked, who is believed, what becomes of the round. */
#include <math.h>

#include "base/log.h"
#include "shepherd/round/audit.h"
#include "shepherd_rig.h"

/* Digests are 64 hex digits: of one letter each. */
static const char *digest(char letter)
{
    static char text[HASH_HEX];
    memset(text, letter, HASH_HEX - 1);
    return text;
}

/* What the shards' digests are as one, as a worker tells it. */
static const char *of_shards(char letter)
{
    static char text[HASH_HEX];
    hash_content(digest(letter), HASH_HEX - 1, text);
    return text;
}

static rig_t *auditing(int64_t replicas, int n_worker)
{
    rig_t *rig = training(replicas, 9, n_worker);
    audits_fini(&rig->state.audits, (size_t)replicas);
    rig->state.audits = (audits_t){0};
    rig->config.audit = 1;
    audits_init(&rig->state.audits, (size_t)replicas, 1);
    return rig;
}

/* The last lease of a worker; audit: it is one. */
static Msg__Lease last_lease(rig_t *rig, uint8_t worker, bool audit)
{
    const msg_envelope_t *last = NULL;
    assert_true(count(rig, worker, BODY(LEASE), &last) > 0);
    assert_int_equal(last->lease->audit, audit);
    return *last->lease;
}

/* The shard tells the digest of what it was asked about last. */
static void tells(rig_t *rig, char letter)
{
    const msg_envelope_t *last = NULL;
    assert_true(count(rig, A, BODY(INSPECT), &last) > 0);
    Msg__Inspect asked = *last->inspect;
    assert_true(asked.digest);
    SAY(rig, A, INSPECTED, inspected, Msg__Inspected body = MSG__INSPECTED__INIT;
        body.round = asked.round; body.replica = asked.replica; body.fence = asked.fence;
        body.complete = letter != 0; body.digest = letter ? (char *)digest(letter) : "");
}

/* A worker does the lease it has, of which the shard tells this digest. */
static void contributes(rig_t *rig, uint8_t worker, char letter)
{
    ask(rig, worker);
    Msg__Lease lease = last_lease(rig, worker, false);
    lease_done(rig, worker, &lease, 1);
    tells(rig, letter);
}

static void audits(rig_t *rig, uint8_t worker, char letter)
{
    Msg__Lease lease = last_lease(rig, worker, true);
    SAY(rig, worker, LEASE_DONE, lease_done, Msg__LeaseDone body = MSG__LEASE_DONE__INIT;
        body.round = lease.round; body.replica = lease.replica; body.fence = lease.fence;
        body.steps = lease.inner_steps; body.audit = true; body.tokens = 60; body.mean_loss = 1;
        body.digest = (char *)of_shards(letter));
}

static bool quarantined(const rig_t *rig, const char *id)
{
    const member_row_t *row = member_by_id(&rig->state.roster, id);
    return row->quarantined && row->blame.refused;
}

/* What its status tells: leases and parts that two have told of, and audits that were given up before. */
static void counts(rig_t *rig, uint64_t leases, uint64_t parts, uint64_t skipped)
{
    rig->state.progress.status_ms = INT32_MIN;
    rig->state.ports.publish = take_status;
    status_tick(&rig->state);
    rig->state.ports.publish = NULL;
    assert_int_equal(published.audits, leases);
    assert_int_equal(published.audited_parts, parts);
    assert_int_equal(published.audits_skipped, skipped);
}

static void the_same_again_closes_the_round(void **unused)
{
    (void)unused;
    rig_t *rig = auditing(1, 2);
    contributes(rig, W1, 'a');
    assert_int_equal(rig->state.phase, PHASE_TRAIN); /* it waits for the audit */
    assert_int_equal(count(rig, W2, BODY(LEASE), NULL), 0);
    ask(rig, W2);
    Msg__Lease lease = last_lease(rig, W2, true);
    assert_true(lease.inner_steps == 3 && lease.fence == rig->state.round.lease[0].fence);
    audits(rig, W2, 'a');
    assert_int_equal(count(rig, W2, BODY(LEASE_ACK), NULL), 1);
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    assert_false(quarantined(rig, "w1") || quarantined(rig, "w2"));
    counts(rig, 1, 0, 0);
    rig_free(rig);
}

/* The third decides; who was right hands in what the liar's place needs. */
static void a_liar_is_replaced(void **unused)
{
    (void)unused;
    rig_t *rig = auditing(1, 3);
    keep_records(rig);
    ask(rig, W1);
    Msg__Lease lease = last_lease(rig, W1, false);
    lease_done(rig, W1, &lease, 1);
    all_written(rig);
    tells(rig, 'f');
    ask(rig, W2);
    audits(rig, W2, 'a');
    assert_false(quarantined(rig, "w1")); /* one against one */
    ask(rig, W3);
    audits(rig, W3, 'a');
    assert_true(quarantined(rig, "w1"));
    assert_int_equal(count(rig, W1, BODY(FAULT), NULL), 1);
    const record_t *row = NULL;
    for (size_t i = 0; i < rig->told.n; i++)
        if (rig->told.at[i]->kind == RECORD_QUARANTINE) row = rig->told.at[i];
    assert_non_null(row);
    assert_string_equal(row->key, "w1");
    assert_string_equal(row->detail, "w2,w3");
    assert_string_not_equal(row->text, row->state);
    all_written(rig);
    assert_int_equal(rig->state.round.lease[0].state, WORK_OPEN);
    ask(rig, W1); /* gets nothing */
    assert_int_equal(rig->state.round.lease[0].state, WORK_OPEN);
    ask(rig, W3); /* the last who was right has it at hand */
    lease = last_lease(rig, W3, false);
    assert_int_equal(lease.fence, rig->state.round.lease[0].fence);
    lease_done(rig, W3, &lease, 1);
    all_written(rig);
    tells(rig, 'a');
    all_written(rig);
    assert_int_equal(rig->state.phase, PHASE_COMMIT); /* what is known is not asked again */
    assert_int_equal(only(rig, A, BODY(COMMIT))->commit->shares[0]->fence, lease.fence);
    rig_free(rig);
}

/* The update is right, the loss is not. */
static void a_made_up_loss_is_a_lie(void **unused)
{
    (void)unused;
    rig_t *rig = auditing(1, 3);
    ask(rig, W1);
    Msg__Lease lease = last_lease(rig, W1, false);
    lease_done(rig, W1, &lease, 0.5);
    tells(rig, 'a');
    ask(rig, W2);
    audits(rig, W2, 'a');
    ask(rig, W3);
    audits(rig, W3, 'a');
    assert_true(quarantined(rig, "w1"));
    assert_false(quarantined(rig, "w2") || quarantined(rig, "w3"));
    rig_free(rig);
}

static void an_auditor_may_be_the_liar(void **unused)
{
    (void)unused;
    rig_t *rig = auditing(1, 3);
    contributes(rig, W1, 'a');
    ask(rig, W2);
    audits(rig, W2, 'f');
    ask(rig, W3);
    audits(rig, W3, 'a');
    assert_true(quarantined(rig, "w2") && !quarantined(rig, "w1") && !quarantined(rig, "w3"));
    assert_int_equal(rig->state.phase, PHASE_COMMIT); /* the contribution stands */
    rig_free(rig);
}

/* Two who differ, and nobody else: both are suspected, and the run goes on. */
static void without_a_majority_nobody_is_refused(void **unused)
{
    (void)unused;
    rig_t *rig = auditing(1, 2);
    contributes(rig, W1, 'a');
    ask(rig, W2);
    audits(rig, W2, 'f');
    tick(rig, 10);
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    assert_false(quarantined(rig, "w1") || quarantined(rig, "w2"));
    assert_int_equal(rig->state.audits.n_found, 0);
    counts(rig, 1, 0, 0);
    rig_free(rig);
}

static void alone_nobody_is_audited(void **unused)
{
    (void)unused;
    rig_t *rig = auditing(1, 1);
    contributes(rig, W1, 'a');
    tick(rig, 10);
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    counts(rig, 0, 0, 1);
    rig_free(rig);
}

/* An auditor that fails, or is lost, is not waited for. */
static void another_auditor_takes_over(void **unused)
{
    (void)unused;
    rig_t *rig = auditing(1, 3);
    contributes(rig, W1, 'a');
    ask(rig, W2);
    Msg__Lease lease = last_lease(rig, W2, true);
    SAY(rig, W2, LEASE_FAILED, lease_failed, Msg__LeaseFailed body = MSG__LEASE_FAILED__INIT;
        body.fence = lease.fence; body.audit = true; body.fatal = true; body.error = "no memory");
    assert_false(member_by_id(&rig->state.roster, "w2")->blame.refused);
    ask(rig, W3);
    last_lease(rig, W3, true);
    SAY(rig, W3, BYE, bye, Msg__Bye body = MSG__BYE__INIT; body.reason = "");
    tick(rig, 10);
    assert_int_equal(rig->state.phase, PHASE_TRAIN); /* it may come back */
    for (double s = 0; s <= rig->state.config->target_wait_s; s++) {
        ask(rig, W1);
        ask(rig, W2);
        SAY(rig, A, HEARTBEAT, heartbeat, Msg__Heartbeat body = MSG__HEARTBEAT__INIT);
        tick(rig, 1000);
    }
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    rig_free(rig);
}

/* What a liar did in the same round counts as little. */
static void all_of_a_liars_contributions_are_replaced(void **unused)
{
    (void)unused;
    rig_t *rig = auditing(3, 3);
    hello(rig, W4, MSG__KIND__KIND_WORKER, "w4");
    contributes(rig, W1, 'f');

    ask(rig, W4);
    audits(rig, W4, 'a');
    contributes(rig, W2, 'b');
    ask(rig, W2);
    audits(rig, W2, 'a');
    assert_true(quarantined(rig, "w1"));
    for (int64_t k = 0; k < 3; k++)
        assert_true(rig->state.round.lease[k].state != WORK_DONE ||
                    strcmp(rig->state.round.lease[k].worker, "w1") != 0);
    rig_free(rig);
}

/* The list is the store's: known on arrival, and lifted when it is. */
static void quarantine_holds_until_trust(void **unused)
{
    (void)unused;
    rig_t *rig = auditing(1, 1);
    recorder_result_t result = {.event = RECORDER_QUARANTINE, .names = (char *)"w1\nw3\n"};
    shepherd_on_recorder(&rig->state, &result);
    assert_true(quarantined(rig, "w1"));
    hello(rig, W2, MSG__KIND__KIND_WORKER, "w2");
    hello(rig, W3, MSG__KIND__KIND_WORKER, "w3");
    assert_true(quarantined(rig, "w3") && !quarantined(rig, "w2"));
    result.names = (char *)"w1\n";
    shepherd_on_recorder(&rig->state, &result);
    assert_true(quarantined(rig, "w1") && !quarantined(rig, "w3"));
    assert_false(member_by_id(&rig->state.roster, "w3")->blame.refused);
    assert_false(quarantine_lift(&rig->state, "w2", member_by_id(&rig->state.roster, "w2")));
    assert_true(quarantine_lift(&rig->state, "w1", member_by_id(&rig->state.roster, "w2")));
    assert_false(quarantined(rig, "w1"));
    ask(rig, W1);
    last_lease(rig, W1, false);
    rig_free(rig);
}

/* As often as the option says, the same under another shepherd, others under another seed. */
static void leases_are_drawn_by_the_seed(void **unused)
{
    (void)unused;
    audits_t one = {0}, same = {0}, other = {0};
    audits_init(&one, 1, 0.2);
    audits_init(&same, 1, 0.2);
    audits_init(&other, 1, 0.2);
    memcpy(same.seed, one.seed, HASH_HEX);
    int n = 0, n_other = 0;
    for (uint32_t round = 0; round < 2000; round++)
        for (uint32_t k = 0; k < 5; k++) {
            bool drawn = audits_drawn(&one, round, k);
            assert_int_equal(drawn, audits_drawn(&same, round, k));
            n += drawn;
            n_other += drawn && audits_drawn(&other, round, k);
        }
    print_message("# of 10000 leases at 0.2: %d drawn, %d of them by another seed, too\n", n,
                  n_other);
    assert_true(n > 1800 && n < 2200); /* five standard deviations: 200 */
    assert_true(n_other > 300 && n_other < 500);
    audits_fini(&one, 1);
    audits_fini(&same, 1);
    audits_fini(&other, 1);
}

static void live(rig_t *rig, double ms)
{
    for (; ms > 0; ms -= 500) {
        tick(rig, 500);
        for (uint8_t peer = A; peer <= W2; peer++) beat(rig, peer, 0);
    }
}

/* --- Nobody holds a round --- */

/* The only other one is here, and asks for nothing. */
static void who_asks_for_no_work_is_not_waited_for(void **unused)
{
    (void)unused;
    rig_t *rig = auditing(1, 2);
    contributes(rig, W1, 'a');
    live(rig, rig->config.work_wait_s * 1000 - 1000);
    assert_int_equal(rig->state.phase, PHASE_TRAIN);
    live(rig, 2000);
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    assert_false(quarantined(rig, "w1") || quarantined(rig, "w2"));
    rig_free(rig);
}

/* It takes an audit and says nothing: once, and not in each round. */
static void who_never_answers_is_not_asked_again(void **unused)
{
    (void)unused;
    rig_t *rig = auditing(1, 2);
    contributes(rig, W1, 'a');
    ask(rig, W2);
    last_lease(rig, W2, true);
    live(rig, rig->config.work_wait_s * 1000 - 1000);
    assert_int_equal(rig->state.phase, PHASE_TRAIN);
    live(rig, 2000);
    assert_int_equal(count(rig, W2, BODY(REVOKE), NULL), 1);
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    forget_sent(rig);
    committed(rig, 0, "");
    ask(rig, W2);
    contributes(rig, W1, 'a');
    tick(rig, 10);
    assert_int_equal(count(rig, W2, BODY(LEASE), NULL), 0);
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    assert_false(quarantined(rig, "w1") || quarantined(rig, "w2"));
    rig_free(rig);
}

/* Another one is asked behind it; and it, too, as soon as it has answered something. */
static void who_answers_is_asked_again(void **unused)
{
    (void)unused;
    rig_t *rig = auditing(1, 3);
    contributes(rig, W1, 'a');
    ask(rig, W2);
    last_lease(rig, W2, true);
    for (double s = 0; s <= rig->config.work_wait_s; s++) {
        live(rig, 1000);
        beat(rig, W3, 0);
    }
    ask(rig, W3);
    audits(rig, W3, 'a');
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    SAY(rig, W1, BYE, bye, Msg__Bye body = MSG__BYE__INIT; body.reason = "");
    committed(rig, 0, "");
    forget_sent(rig);
    contributes(rig, W2, 'b');
    ask(rig, W3);
    audits(rig, W3, 'b');
    committed(rig, 1, "");
    SAY(rig, W2, BYE, bye, Msg__Bye body = MSG__BYE__INIT; body.reason = "");
    hello(rig, W2, MSG__KIND__KIND_WORKER, "w2");
    forget_sent(rig);
    contributes(rig, W3, 'c');
    ask(rig, W2);
    last_lease(rig, W2, true);
    rig_free(rig);
}

/* It takes an audit, goes, comes, takes it. */
static void who_comes_and_goes_is_not_waited_for(void **unused)
{
    (void)unused;
    rig_t *rig = auditing(1, 2);
    contributes(rig, W1, 'a');
    for (double s = 0; s < rig->config.target_wait_s - 1; s++) {
        ask(rig, W2);
        SAY(rig, W2, BYE, bye, Msg__Bye body = MSG__BYE__INIT; body.reason = "");
        live(rig, 1000);
        hello(rig, W2, MSG__KIND__KIND_WORKER, "w2");
    }
    assert_true(count(rig, W2, BODY(LEASE), NULL) > 1);
    assert_int_equal(rig->state.phase, PHASE_TRAIN);
    live(rig, 2000);
    SAY(rig, W2, BYE, bye, Msg__Bye body = MSG__BYE__INIT; body.reason = "");
    tick(rig, 10);
    assert_int_equal(rig->state.phase, PHASE_COMMIT);
    rig_free(rig);
}

/* --- Validations --- */

/* Round 0 is done, and its parameters are validated in two parts. */
static rig_t *validating(int n_worker, double rate)
{
    rig_t *rig = rig_new(n_worker, 9);
    rig->config.workers = n_worker;
    rig->config.validate_every = 1;
    rig->config.validate_tokens = 40;
    reach_training(rig, n_worker);
    for (int i = 0; i < n_worker; i++) ask(rig, (uint8_t)(W1 + i));
    for (int i = 0; i < n_worker; i++) {
        Msg__Lease lease = last_lease(rig, (uint8_t)(W1 + i), false);
        lease_done(rig, (uint8_t)(W1 + i), &lease, 1);
    }
    audits_fini(&rig->state.audits, (size_t)n_worker);
    rig->state.audits = (audits_t){0};
    audits_init(&rig->state.audits, (size_t)n_worker, rate);
    forget_sent(rig);
    committed(rig, 0, "");
    return rig;
}

/* It asks for work, and gets that part. */
static Msg__Eval gets_part(rig_t *rig, uint8_t worker, uint32_t part)
{
    forget_sent(rig);
    ask(rig, worker);
    Msg__Eval eval = *only(rig, worker, BODY(EVAL))->eval;
    assert_int_equal(eval.part, part);
    return eval;
}

static void estimates(rig_t *rig, uint8_t worker, const Msg__Eval *eval, double loss)
{
    SAY(rig, worker, EVAL_DONE, eval_done, Msg__EvalDone body = MSG__EVAL_DONE__INIT;
        body.round = eval->round; body.part = eval->part; body.fence = eval->fence;
        body.loss = loss; body.tokens = 20);
}

static bool is_valid(const rig_t *rig, double loss)
{
    return rig->state.progress.has_val_loss && fabs(rig->state.progress.val_loss - loss) < 1e-12;
}

static void parts_are_validated_twice(void **unused)
{
    (void)unused;
    rig_t *rig = validating(2, 1);
    Msg__Eval first = gets_part(rig, W1, 0), second = gets_part(rig, W2, 1);
    estimates(rig, W1, &first, 2);
    estimates(rig, W2, &second, 4);
    assert_false(rig->state.progress.has_val_loss);
    second = gets_part(rig, W1, 1); /* and not what it has said already */
    first = gets_part(rig, W2, 0);
    assert_int_equal(first.fence, 2);
    estimates(rig, W1, &second, 4);
    estimates(rig, W2, &first, 2);
    assert_true(is_valid(rig, 3));
    assert_false(quarantined(rig, "w1") || quarantined(rig, "w2"));
    counts(rig, 0, 2, 0);
    rig_free(rig);
}

/* A third decides, and what the liar has said of other parts is void. */
static void who_lies_of_a_part_is_found(void **unused)
{
    (void)unused;
    rig_t *rig = validating(3, 1);
    Msg__Eval first = gets_part(rig, W1, 0), second = gets_part(rig, W2, 1);
    estimates(rig, W1, &first, 1e-3);
    estimates(rig, W2, &second, 4);
    first = gets_part(rig, W3, 0);
    second = gets_part(rig, W1, 1);
    estimates(rig, W3, &first, 2);
    estimates(rig, W1, &second, 7);
    assert_false(quarantined(rig, "w1"));
    first = gets_part(rig, W2, 0);
    estimates(rig, W2, &first, 2);
    assert_true(quarantined(rig, "w1"));
    assert_false(quarantined(rig, "w2") || quarantined(rig, "w3"));
    assert_false(rig->state.progress.has_val_loss);
    second = gets_part(rig, W3, 1);
    estimates(rig, W3, &second, 4);
    assert_true(is_valid(rig, 3));
    counts(rig, 0, 2, 0);
    rig_free(rig);
}

/* What was taken of it unseen is validated anew, too. */
static void unseen_parts_of_a_liar_are_given_again(void **unused)
{
    (void)unused;
    rig_t *rig = validating(3, 1e-9);
    Msg__Eval first = gets_part(rig, W1, 0), second = gets_part(rig, W1, 1);
    estimates(rig, W1, &first, 1e-3);
    assert_int_equal(rig->state.round.eval.at[0].state, WORK_DONE);
    estimates(rig, W1, &second, NAN); /* no number is looked at in any case */
    second = gets_part(rig, W2, 1);
    estimates(rig, W2, &second, 4);
    second = gets_part(rig, W3, 1);
    estimates(rig, W3, &second, 4);
    assert_true(quarantined(rig, "w1"));
    first = gets_part(rig, W2, 0);
    estimates(rig, W2, &first, 2);
    assert_true(is_valid(rig, 3));
    rig_free(rig);
}

/* A loss that is no number for all is no lie; one who cannot do it is not asked twice. */
static void a_run_may_diverge(void **unused)
{
    (void)unused;
    rig_t *rig = validating(3, 1e-9);
    Msg__Eval first = gets_part(rig, W1, 0), second = gets_part(rig, W1, 1);
    estimates(rig, W1, &first, INFINITY);
    estimates(rig, W1, &second, 4);
    first = gets_part(rig, W2, 0);
    SAY(rig, W2, LEASE_FAILED, lease_failed, Msg__LeaseFailed body = MSG__LEASE_FAILED__INIT;
        body.round = first.round; body.replica = 0; body.fence = first.fence; body.eval = true;
        body.error = "no memory");
    first = gets_part(rig, W3, 0);
    estimates(rig, W3, &first, NAN);
    assert_true(rig->state.progress.has_val_loss && !isfinite(rig->state.progress.val_loss));
    assert_false(quarantined(rig, "w1") || quarantined(rig, "w3"));
    rig_free(rig);
}

/* Nobody else is there, or asks for work: it is believed in the end. */
static void who_is_alone_is_believed(void **unused)
{
    (void)unused;
    rig_t *rig = validating(2, 1);
    Msg__Eval first = gets_part(rig, W1, 0), second = gets_part(rig, W1, 1);
    estimates(rig, W1, &first, 2);
    estimates(rig, W1, &second, 4);
    live(rig, rig->config.work_wait_s * 1000 - 1000);
    assert_false(rig->state.progress.has_val_loss);
    live(rig, 2000);
    assert_true(is_valid(rig, 3));
    counts(rig, 0, 0, 2);
    rig_free(rig);
}

/* It takes a part and never says what it is: then it gets no other. */
static void who_never_validates_is_not_asked_again(void **unused)
{
    (void)unused;
    rig_t *rig = validating(2, 1);
    Msg__Eval first = gets_part(rig, W1, 0), second = gets_part(rig, W1, 1);
    estimates(rig, W1, &first, 2);
    estimates(rig, W1, &second, 4);
    gets_part(rig, W2, 0);
    ask(rig, W1); /* a lease */
    ask(rig, W1); /* and what there is: it could take the part */
    live(rig, rig->config.work_wait_s * 1000 - 1000);
    assert_false(rig->state.progress.has_val_loss);
    live(rig, 2000);
    forget_sent(rig);
    ask(rig, W2);
    tick(rig, 10);
    assert_int_equal(count(rig, W2, BODY(EVAL), NULL), 0);
    assert_true(is_valid(rig, 3));
    assert_false(quarantined(rig, "w1") || quarantined(rig, "w2"));
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_again_closes_the_round),
        cmocka_unit_test(a_liar_is_replaced),
        cmocka_unit_test(a_made_up_loss_is_a_lie),
        cmocka_unit_test(an_auditor_may_be_the_liar),
        cmocka_unit_test(without_a_majority_nobody_is_refused),
        cmocka_unit_test(alone_nobody_is_audited),
        cmocka_unit_test(another_auditor_takes_over),
        cmocka_unit_test(all_of_a_liars_contributions_are_replaced),
        cmocka_unit_test(quarantine_holds_until_trust),
        cmocka_unit_test(leases_are_drawn_by_the_seed),
        cmocka_unit_test(who_asks_for_no_work_is_not_waited_for),
        cmocka_unit_test(who_never_answers_is_not_asked_again),
        cmocka_unit_test(who_answers_is_asked_again),
        cmocka_unit_test(who_comes_and_goes_is_not_waited_for),
        cmocka_unit_test(parts_are_validated_twice),
        cmocka_unit_test(who_lies_of_a_part_is_found),
        cmocka_unit_test(unseen_parts_of_a_liar_are_given_again),
        cmocka_unit_test(a_run_may_diverge),
        cmocka_unit_test(who_is_alone_is_believed),
        cmocka_unit_test(who_never_validates_is_not_asked_again),
    };
    return cmocka_run_group_tests_name("shepherd, audit", tests, NULL, NULL);
}
