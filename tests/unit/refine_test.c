/* Texts with open dimensions and the shapes of the entry's arguments: the same module as of the text
 * with static shapes; what does not follow is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/str.h"
#include "ir/print.h"
#include "parse/parse.h"

static char *read_text(size_t *n)
{
    err_t err = {0};
    char *text = file_read("tests/models/roles/open.mlir", n, &err);
    if (!text) fail_msg("%s", err.text);
    return text;
}

static char *printed(const char *text, size_t n, const char *shapes, err_t *err)
{
    str_t out = {0};
    const parse_options_t options = {.shapes = shapes};
    ir_module_t *module = parse_stablehlo_with(text, n, "t", &options, err);
    if (!module) return NULL;
    ir_print_module(module, &out);
    ir_module_destroy(&module);
    return out.at;
}

static void test_same(void **state)
{
    (void)state;
    static const char *const shapes[] = {"x=6x8,labels=6", "0=6x8,arg2=6", "labels=6,x=6x8"};
    err_t err = {0};
    size_t n;
    char *text = read_text(&n), *fixed = strdup(text);
    for (char *at = fixed; (at = strchr(at, '?')) != NULL;) *at = '6';
    char *want = printed(fixed, n, NULL, &err);
    if (!want) fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char *got = printed(text, n, shapes[i], &err);
        if (!got) fail_msg("%s: %s", shapes[i], err.text);
        assert_string_equal(got, want);
        free(got);
    }
    free(want);
    free(fixed);
    free(text);
}

static void refused(const char *text, size_t n, const char *shapes, const char *words)
{
    err_t err = {0};
    char *got = printed(text, n, shapes, &err);
    if (got) fail_msg("not refused: %s", words);
    if (!strstr(err.text, words)) fail_msg("want %s, got %s", words, err.text);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *shapes, *words;
    } rows[] = {
        {NULL, "or say what they are: --shape NAME=8x128"},
        {"x=6x8", "argument labels of @main is tensor<?xi32>, and its shape is not known"},
        {"x=6x8,labels=7", "dimension 0 of tensor<7xi32>"},
        {"x=6x9,labels=6", "--shape x=6x9: the argument is tensor<?x8xf32>"},
        {"x=6,labels=6", "give all its dimensions"},
        {"x=6xx8,labels=6", "give all its dimensions"},
        {"x=6x8x,labels=6", "give all its dimensions"},
        {"x=-6x8,labels=6", "give all its dimensions"},
        {"x,labels=6", "give all its dimensions"},
        {"x=6x8,labels=6,z=3", "--shape z: no argument of the entry is called so"},
        {"x=9223372036854775807x8,labels=6", "more elements"},
    };
    size_t n;
    char *text = read_text(&n);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refused(text, n, rows[i].shapes, rows[i].words);
    free(text);
}

static void test_shapes_that_do_not_follow(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } bodies[] = {
        {"func.func @main(%x: tensor<?xf32>, %n: tensor<1xi32>) -> tensor<?xf32> {\n"
         "  %0 = stablehlo.dynamic_reshape %x, %n : (tensor<?xf32>, tensor<1xi32>) -> "
         "tensor<?xf32>\n"
         "  return %0 : tensor<?xf32>\n}\n",
         "stablehlo.dynamic_reshape: its result tensor<?xf32> does not follow"},
        {"func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
         "  %0 = stablehlo.custom_call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>\n"
         "  return %0 : tensor<?xf32>\n}\n",
         "does not follow"},
        {"func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
         "  %0 = stablehlo.constant dense<1.0> : tensor<?xf32>\n"
         "  return %0 : tensor<?xf32>\n}\n",
         "a dimension of tensor<?xf32> is not known here"},
        {"func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
         "  return %x : tensor<?xf32>\n}\n"
         "func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }\n",
         "nothing calls it before"},
        {"func.func @main(%x: tensor<?xf32>) -> tensor<3xf32> {\n  return %x : tensor<3xf32>\n}\n",
         "operand 0 is tensor<4xf32>"},
        {"func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
         "  %0 = call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>\n  return %0 : tensor<?xf32>\n}\n"
         "func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
         "  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> "
         "tensor<?xf32>\n  return %0 : tensor<?xf32>\n}\n",
         "@f: result 0 is tensor<8xf32>, not tensor<4xf32>"},
        {"func.func @main(%x: tensor<?xf32>) -> tensor<f32> {\n"
         "  %a = stablehlo.constant dense<3> : tensor<1xi32>\n"
         "  %b = stablehlo.constant dense<4> : tensor<1xi32>\n"
         "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
         "  %0 = call @f(%a, %z) : (tensor<1xi32>, tensor<f32>) -> tensor<f32>\n"
         "  %1 = call @f(%b, %0) : (tensor<1xi32>, tensor<f32>) -> tensor<f32>\n"
         "  return %1 : tensor<f32>\n}\n"
         "func.func private @f(%n: tensor<1xi32>, %z: tensor<f32>) -> tensor<f32> {\n"
         "  %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n"
         "  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : "
         "(tensor<?xf32>, tensor<f32>) -> tensor<f32>\n"
         "  return %1 : tensor<f32>\n}\n",
         "t:6:8: @f: shapes in it follow from operand 0, which is not the same in all calls"},
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        refused(bodies[i].text, strlen(bodies[i].text), "x=4", bodies[i].words);
}

/* Whatever is wrong in the text: an error, or a module that the verifier has seen. */
static void test_damaged(void **state)
{
    (void)state;
    static const char marks[] = "?x<>-0189(),%";
    size_t n;
    char *text = read_text(&n), *copy = malloc(n + 1);
    int n_read = 0;
    for (uint64_t k = 0; k < 4000; k++) {
        err_t err = {0};
        memcpy(copy, text, n + 1);
        copy[rng_bits(1, k) % n] = marks[rng_bits(2, k) % (sizeof marks - 1)];
        char *got = printed(copy, n, "x=6x8,labels=6", &err);
        if (got && strstr(got, "-1x")) fail_msg("an open dimension is left");
        n_read += got != NULL;
        free(got);
    }
    assert_true(n_read > 0);
    free(copy);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_shapes_that_do_not_follow),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
