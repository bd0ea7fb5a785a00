/* What a training step is made by, as text: the same back, and refusals by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "optim/optim.h"

static void test_spec_round_trip(void **state)
{
    (void)state;
    train_spec_t spec = TRAIN_SPEC_DEFAULT, back;
    spec.beta2 = 0.1 + 0.2;
    spec.accumulate = 7;
    spec.optimizer = "sgd";
    spec.precision = "bf16x3";
    err_t err = {0};
    char *text = train_spec_print(&spec);
    assert_string_equal(text, "{\"accumulate\":7,\"beta1\":0.9,\"beta2\":0.30000000000000004,"
                              "\"clip\":1,\"eps\":1e-08,\"momentum\":0.9,\"weight_decay\":0.1,"
                              "\"optimizer\":\"sgd\",\"precision\":\"bf16x3\"}");
    if (train_spec_parse(text, &back, &err) < 0) fail_msg("%s", err.text);
    char *again = train_spec_print(&back);
    assert_string_equal(text, again);
    free(text);
    free(again);
    if (train_spec_parse("{}", &back, &err) < 0) fail_msg("%s", err.text);
    assert_true(back.accumulate == 1 && back.beta2 == 0.99);
    assert_int_equal(train_spec_precision(&back), PRECISION_F32);
    assert_int_equal(train_spec_precision(&spec), PRECISION_BF16X3);
}

static void test_spec_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *json, *message;
    } cases[] = {
        {"", "line 1"},
        {"[]", "not an object"},
        {"{\"lr\": 1}", "unknown key \"lr\""},
        {"{\"optimizer\": \"muon\"}", "optimizer \"muon\" is none of adamw|sgd"},
        {"{\"optimizer\": 3}", "is none of adamw|sgd"},
        {"{\"precision\": \"f16\"}", "precision \"f16\" is none of"},
        {"{\"precision\": 16}", "none of f32|bf16"},
        {"{\"beta1\": 1.5}", "beta1 is 1.5"},
        {"{\"beta1\": \"0.9\"}", "must be a number"},
        {"{\"accumulate\": 0}", "accumulate is 0"},
        {"{\"accumulate\": 1.5}", "accumulate is 1.5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t err = {0};
        train_spec_t spec = {.accumulate = 99};
        assert_int_equal(train_spec_parse(cases[i].json, &spec, &err), -1);
        if (!strstr(err.text, cases[i].message)) fail_msg("unexpected message: %s", err.text);
        assert_int_equal(spec.accumulate, 99);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spec_round_trip),
        cmocka_unit_test(test_spec_refusals),
    };
    return cmocka_run_group_tests_name("optim_spec", tests, NULL, NULL);
}
