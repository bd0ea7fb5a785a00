/* tools/compare: sides whose difference is known on paper; devices by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "base/str.h"
#include "leaks.h"
#include "tools/compare.h"

enum { STEPS = 3 };
static const double lr = 0.125;

/* loss = sum(w x): its gradient is x, whatever w is; w begins as ones. */
static const char model[] =
    "func.func @main(%w: tensor<3xf32> {pcp.init = \"ones\"}, %x: tensor<3xi32>) -> tensor<f32> {\n"
    "  %f = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xf32>\n"
    "  %p = stablehlo.multiply %w, %f : tensor<3xf32>\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %l = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0] : "
    "(tensor<3xf32>, tensor<f32>) -> tensor<f32>\n"
    "  return %l : tensor<f32>\n"
    "}\n";

static int32_t x[] = {1, 2, 2}; /* |x| = 3 */

static const void *const *batch(void *user, int64_t step, err_t *err)
{
    static const void *const args[] = {x};
    (void)user, (void)step, (void)err;
    return args;
}

static trial_t start(const char *text, double momentum, const char *place_text)
{
    device_place_t place;
    trial_t trial;
    err_t err = {0};
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.optimizer = "sgd";
    spec.momentum = momentum;
    spec.clip = 0;
    if (device_place(place_text, &place, &err) < 0) fail_msg("%s", err.text);
    const trial_options_t options = {.spec = &spec, .place = &place, .vocab = 4, .seed = 1};
    if (trial_init(&trial, text, strlen(text), "model", &options, &err) < 0)
        fail_msg("%s", err.text);
    return trial;
}

/* SGD without momentum and with a half of it: updates lr |x| {1, 1, 1} and lr |x| {1, 1.5, 1.75}. The loss is
 * sum(x) - |x|^2 (what has been gone of x); after three steps w = 1 - 3 lr x and 1 - 4.25 lr x. */
static void test_known(void **state)
{
    (void)state;
    trial_t trial[] = {start(model, 0, "cpu"), start(model, 0.5, "c:scalar")};
    compare_side_t side[2];
    err_t err = {0};
    const compare_options_t options = {.n_step = STEPS, .lr = lr, .batch = batch};
    const double gone[2][STEPS + 1] = {{0, 1, 2, 3}, {0, 1, 2.5, 4.25}};
    if (compare_run(trial, 2, &options, side, &err) < 0) fail_msg("%s", err.text);
    for (int s = 0; s < 2; s++)
        for (int k = 0; k < STEPS; k++) {
            const compare_step_t *step = &side[s].step[k];
            double loss = 5 - 9 * lr * gone[s][k], first = 5 - 9 * lr * gone[0][k];
            double update = 3 * lr * (gone[s][k + 1] - gone[s][k]), apart = 0, whole = 0;
            for (int i = 0; i < 3; i++) {
                double a = 1 - lr * x[i] * gone[0][k + 1], b = 1 - lr * x[i] * gone[s][k + 1];
                apart += (b - a) * (b - a);
                whole += a * a;
            }
            assert_true(fabs(step->loss - loss) < 1e-6);
            assert_true(fabs(step->update - update) < 1e-6);
            assert_true(fabs(step->deviation - fabs(loss - first) / first) < 1e-6);
            assert_true(fabs(step->drift - sqrt(apart / whole)) < 1e-6);
        }
    assert_true(side[1].largest == side[1].step[2].deviation && side[1].largest > 0.1);
    assert_int_equal(side[1].largest_step, 2);
    assert_true(side[1].median == 0); /* of 0, 0 and the third */
    assert_true(side[1].drift == side[1].step[2].drift);
    assert_string_equal(side[1].apart, "arg0");
    assert_true(fabs(side[1].apart_drift - side[1].drift) < 1e-12);
    compare_fini(side, 2);
    trial_fini(&trial[0]);
    trial_fini(&trial[1]);
}

/* A loss that is no number is infinitely far away, also from itself. */
static void test_not_finite(void **state)
{
    (void)state;
    assert_true(compare_relative(2, 2) == 0);
    assert_true(compare_relative(3, 2) == 0.5);
    assert_true(compare_relative(-1, -2) == 0.5);
    assert_true(compare_relative(0, 0) == 0);
    assert_true(isinf(compare_relative(1e-30, 0)));
    assert_true(isinf(compare_relative(NAN, NAN)));
    assert_true(isinf(compare_relative(INFINITY, INFINITY)));
}

/* Other shapes, or other beginnings, cannot be compared. */
static void test_not_alike(void **state)
{
    (void)state;
    char other[sizeof model + 16];
    const char *ones = strstr(model, "ones");
    snprintf(other, sizeof other, "%.*sconstant(2)%s", (int)(ones - model), model, ones + 4);
    trial_t trial[] = {start(model, 0, "cpu"), start(other, 0, "cpu")};
    compare_side_t side[2];
    err_t err = {0};
    const compare_options_t options = {.n_step = STEPS, .lr = lr, .batch = batch};
    assert_int_equal(compare_run(trial, 2, &options, side, &err), -1);
    assert_non_null(strstr(err.text, "do not begin with the same"));
    compare_fini(side, 2);
    trial_fini(&trial[0]);
    trial_fini(&trial[1]);
}

static void expect_place(const char *text, const char *prefix, int ordinal, const char *target)
{
    device_place_t place;
    err_t err = {0};
    if (device_place(text, &place, &err) < 0) fail_msg("%s: %s", text, err.text);
    assert_string_equal(place.ops->prefix, prefix);
    assert_int_equal(place.ordinal, ordinal);
    assert_string_equal(place.target, target);
}

static void expect_none(const char *text, err_code_t code, const char *words)
{
    device_place_t place;
    err_t err = {0};
    assert_int_equal(device_place(text, &place, &err), -1);
    if (err.code != code || !strstr(err.text, words)) fail_msg("%s: %s", text, err.text);
}

static void test_places(void **state)
{
    (void)state;
    expect_place("c", "c", 0, "c:scalar");
    expect_place("c:0", "c", 0, "c:scalar");
    expect_place("c:scalar", "c", 0, "c:scalar");
    expect_place("vulkan:spirv1.3", "vulkan", 0, "vulkan:spirv1.3");
    expect_place("vulkan:spirv1.3-f64@3", "vulkan", 3, "vulkan:spirv1.3-f64");
    expect_none("c:1", ERR_UNSUPPORTED, "no device c:1 here");
    expect_none("", ERR_UNSUPPORTED, "this build has: cpu");
    expect_none("abacus:0", ERR_UNSUPPORTED, "abacus");
    expect_none("c:4096", ERR_ARG, "unknown target");
    expect_none("c:", ERR_ARG, "unknown target");
    expect_none("c:scalar@", ERR_ARG, "no device's number");
    expect_none("c:scalar@-1", ERR_ARG, "no device's number");
    expect_none("c:01234567890123456789012345678901234567890123456789012345678901234x", ERR_ARG,
                "unknown target");
}

static void expect_names(const char *list, const char *want)
{
    device_name_t names[4];
    str_t got = {0};
    err_t err = {0};
    int n = device_names(list, names, 4, &err);
    for (int i = 0; i < n; i++) str_addf(&got, "%s%s", i ? " " : "", names[i].text);
    if (n < 0) str_add(&got, err.text);
    if (!strstr(got.at, want) || (n >= 0 && strcmp(got.at, want) != 0))
        fail_msg("%s: %s", list, got.at);
    str_fini(&got);
}

static void test_lists(void **state)
{
    (void)state;
    device_name_t names[4];
    expect_names("cpu", "cpu");
    expect_names("c,vulkan:0", "c vulkan:0");
    expect_names("vulkan:0,1,cpu", "vulkan:0 vulkan:1 cpu");
    expect_names("vulkan:spirv1.3@1,0", "vulkan:spirv1.3@1 vulkan:0");
    expect_names("cpu,1,2,3,4", "more than 4 devices");
    expect_names("", "give all, or names");
    expect_names("cpu,", "give all, or names");
    expect_names("1,cpu", "a device of which kind");
    expect_names("abacus", "no device runs plans");
    expect_names("cpu,0123456789012345678901234567890123456789012345678901234567890123456789",
                 "give all");
    leaks_look_now();
    assert_true(device_names("all", names, 4, NULL) >= 1);
    assert_string_equal(names[0].text, "cpu:0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),     cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_not_alike), cmocka_unit_test(test_places),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
