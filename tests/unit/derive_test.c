/* Models of no known family keep keys and values, where their graph proves that they may (derive/derive.h): scores and
 * greedy tokens against the whole window's, alone, side by side and behind shared beginnings; and what is refused. Texts
 * of ../shared where it is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/half.h"
#include "base/mem.h"
#include "corpus.h"
#include "infer/scorer.h"
#include "infer_rig.h"
#include "ops/eval.h"
#include "temp.h"

/* A family's model that does not say so. */
static void model_of_stranger(model_t *self, ir_module_t *module)
{
    assert_non_null(module);
    attr_remove(&module->attrs, FAMILY_CONFIG);
    model_of_family(self, module);
}

/* Of tests/models/exported, or of ../shared (then false, and a word, where it is not there). */
static bool model_of_file(model_t *self, const char *path, bool shared, double scale)
{
    size_t n;
    err_t err = {0};
    char *whole = shared ? corpus_shared(path) : mem_printf("tests/models/exported/%s", path);
    char *text = (char *)file_read(whole, &n, &err);
    if (!text && shared) print_message("%s is not there: skipped\n", whole);
    free(whole);
    if (!text) {
        assert_true(shared);
        return false;
    }
    model_of_text(self, text, n, scale);
    free(text);
    return true;
}

static infer_t *open_as(const model_t *model, const infer_options_t *options)
{
    err_t err = {0};
    infer_t *self = infer_open(&model->source, options, &err);
    check(self ? 0 : -1, &err);
    if (infer_facts(self).window && !options->window) print_message("%s\n", infer_facts(self).why);
    assert_true(infer_facts(self).window == options->window);
    return self;
}

static void compare_all(model_t *model, const char *name, size_t more, double near)
{
    const infer_options_t keep = {.threads = 2, .cache_dir = ""};
    const infer_options_t window = {.threads = 2, .cache_dir = "", .window = true};
    infer_t *a = open_as(model, &keep), *b = open_as(model, &window);
    assert_int_equal(infer_facts(a).length, infer_facts(b).length);
    assert_int_equal(infer_facts(a).vocab, infer_facts(b).vocab);
    size_t length = (size_t)infer_facts(a).length;
    double most = 0;
    const size_t n[] = {1, 2, 15, 17, length - 2, length};
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        if (n[i] <= length) most = fmax(most, compare(a, b, n[i], more));
    print_message("%s: scores differ by %.3g at most\n", name, most);
    assert_true(most <= near);
    infer_close(&a);
    infer_close(&b);
}

static void test_families(void **state)
{
    (void)state;
    ir_module_t *const modules[] = {rig_gpt2(false), rig_llama(), rig_nanochat(false)};
    const char *const names[] = {"gpt2", "llama", "nanochat"};
    for (int i = 0; i < 3; i++) {
        model_t model;
        model_of_stranger(&model, modules[i]);
        compare_all(&model, names[i], BLOCK, 1e-5);
        model_fini(&model);
    }
}

/* --- exported texts --- */

static void test_shared(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        double scale, near;
    } list[] = {{"data/models/nanochat_forward_32.mlir", 0.15, 1e-5},
                {"data/models/nanochat_smoke_d1_128.mlir", 0.15, 1e-5},
                {"data/models/nanogpt_small.mlir", 0.15, 1e-5}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        model_t model;
        if (!model_of_file(&model, list[i].path, true, list[i].scale)) continue;
        compare_all(&model, list[i].path, 4, list[i].near);
        model_fini(&model);
    }
}

static void test_exported(void **state)
{
    (void)state;
    model_t model;
    model_of_file(&model, "one_layer.mlir", false, 0.5);
    compare_all(&model, "one_layer", 100, 1e-5);
    model_fini(&model);
}

/* Layers in a loop, whose iterations become layers one behind another. */
static void test_scanned(void **state)
{
    (void)state;
    model_t model;
    model_of_file(&model, "scanned.mlir", false, 0.5);
    compare_all(&model, "scanned", 100, 1e-5);
    model_fini(&model);
}

/* --- weights of fewer bytes --- */

/* Is this matrix kept in fewer bytes, and with its columns as rows? Tables of positions are read in other ways. */
typedef struct {
    const char *name, *positions; /* tables, separated by blanks */
    const char *turned;           /* beginnings of names; "": none */
} kept_names_t;

static bool begins(const char *name, const char *beginnings)
{
    size_t n = 0;
    for (const char *at = beginnings; *at; at += n + (at[n] == ' ')) {
        n = strcspn(at, " ");
        if (n > 0 && strncmp(name, at, n) == 0) return true;
    }
    return false;
}

static void round_weights(model_t *model, const kept_names_t *names, infer_weights_t weights)
{
    for (size_t i = 0; i < safetensors_count(model->params); i++) {
        const safetensor_t *t = safetensors_at(model->params, i);
        float *x = (float *)(uintptr_t)t->data;
        if (t->rank != 2 || begins(t->name, names->positions)) continue;
        if (weights == INFER_I8) round_to_whole(t, begins(t->name, names->turned));
        for (size_t k = 0; weights == INFER_BF16 && k < t->n_bytes / 4; k++)
            x[k] = half_from_bf16(half_to_bf16(x[k]));
    }
}

/* They are those of f32, rounded: the model of rounded weights in f32 says the same. Beside int8 some targets round activations
 * as well (plans.md, Targets), to a hundredth of what rounding the weights has changed. */
static void compare_weights(model_t *model, const kept_names_t *names, infer_weights_t weights,
                            double share)
{
    const infer_options_t few = {
        .threads = 2, .cache_dir = "", .weights = weights, .keep = INFER_KEEP_F32, .slots = 3};
    const infer_options_t all = {.threads = 2, .cache_dir = ""};
    infer_t *exact = open_as(model, &all), *a = open_as(model, &few);
    uint32_t prompt[3];
    err_t err = {0};
    double far = 0;
    prompt_of(prompt, 3, infer_facts(a).vocab, 3);
    int i = infer_add(exact, prompt, 3, &err), k = infer_add(a, prompt, 3, &err);
    const float *x = scores_of(exact, i), *y = scores_of(a, k);
    for (int v = 0; v < infer_facts(a).vocab; v++) far = fmax(far, fabs((double)x[v] - y[v]));
    infer_end(a, k);
    round_weights(model, names, weights);
    infer_t *b = open_as(model, &all);
    double most = fmax(compare(a, b, 3, 8), compare(a, b, 17, 4));
    double bytes = (double)infer_facts(a).weight_bytes / (double)infer_facts(b).weight_bytes;
    print_message("%s in %s: scores differ by %.3g at most, from those in f32 by %.3g; %.2f of the "
                  "bytes\n",
                  names->name, weights == INFER_I8 ? "int8" : "bf16", most, far, bytes);
    assert_true(most < (weights == INFER_I8 ? far / 100 : 1e-4) && far > 1e-4 && bytes < share);
    infer_close(&exact);
    infer_close(&a);
    infer_close(&b);
}

/* What is kept in bf16 is half of the bytes, and scores are those of f32 but for its rounding. */
static void test_kept(void **state)
{
    (void)state;
    const char *const names[] = {"gpt2", "llama", "nanochat"};
    ir_module_t *const modules[] = {rig_gpt2(false), rig_llama(), rig_nanochat(false)};
    for (int i = 0; i < 3; i++) {
        model_t model;
        model_of_stranger(&model, modules[i]);
        infer_options_t o = {.threads = 2, .cache_dir = "", .slots = 2};
        infer_t *whole = open_as(&model, &o);
        o.keep = INFER_KEEP_BF16;
        infer_t *half = open_as(&model, &o);
        double most = fmax(follow(half, whole, 3, 8, false), follow(half, whole, 17, 4, false));
        print_message("%s, kept in bf16: scores differ by %.3g at most\n", names[i], most);
        assert_true(most > 1e-5 && most < 2e-2);
        assert_int_equal(2 * infer_facts(half).kept_bytes, infer_facts(whole).kept_bytes);
        infer_close(&half);
        o = (infer_options_t){.threads = 2,
                              .cache_dir = "",
                              .slots = 2,
                              .weights = INFER_BF16}; /* says nothing of it */
        half = open_as(&model, &o);
        assert_int_equal(infer_facts(half).kept_bytes, infer_facts(whole).kept_bytes);
        infer_close(&half);
        infer_close(&whole);
        model_fini(&model);
    }
}

static void test_weights(void **state)
{
    (void)state;
    static const kept_names_t names[] = {
        {"gpt2", "wpe", "h."}, {"llama", "", ""}, {"nanochat", "", ""}};
    for (int i = 0; i < 6; i++) {
        model_t model;
        model_of_stranger(&model, i / 2 == 0   ? rig_gpt2(false)
                                  : i / 2 == 1 ? rig_llama()
                                               : rig_nanochat(false));
        compare_weights(&model, &names[i / 2], i % 2 ? INFER_I8 : INFER_BF16, i % 2 ? 0.4 : 0.56);
        model_fini(&model);
    }
}

/* --- what is refused --- */

#define PLACES "%places = stablehlo.iota dim = 0 : tensor<24x1xi32>\n"

/* What the parts below read. */
static const char *const MORE =
    "%places = stablehlo.iota dim = 0 : tensor<24x1xi32>\n"
    "    %i = stablehlo.iota dim = 0 : tensor<24x24xi32>\n"
    "    %j = stablehlo.iota dim = 1 : tensor<24x24xi32>\n"
    "    %two = stablehlo.constant dense<2> : tensor<24x24xi32>\n"
    "    %next = stablehlo.add %i, %two : tensor<24x24xi32>\n"
    "    %past = stablehlo.compare GE, %i, %j, SIGNED : (tensor<24x24xi32>, tensor<24x24xi32>) -> "
    "tensor<24x24xi1>\n"
    "    %ones = stablehlo.convert %past : (tensor<24x24xi1>) -> tensor<24x24xf32>\n"
    "    %run0 = stablehlo.dot_general %e, %ones, contracting_dims = [1] x [1] : "
    "(tensor<1x24x16xf32>, tensor<24x24xf32>) -> tensor<1x16x24xf32>\n"
    "    %run = stablehlo.transpose %run0, dims = [0, 2, 1] : (tensor<1x16x24xf32>) -> "
    "tensor<1x24x16xf32>\n"
    "    %before = stablehlo.slice %e [0:1, 1:24, 0:16] : (tensor<1x24x16xf32>) -> "
    "tensor<1x23x16xf32>\n"
    "    %shifted = stablehlo.pad %before, %zero, low = [0, 1, 0], high = [0, 0, 0], interior = "
    "[0, 0, 0] : (tensor<1x23x16xf32>, tensor<f32>) -> tensor<1x24x16xf32>\n"
    "    %total = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0, "
    "1] : (tensor<1x24x16xf32>, tensor<f32>) -> tensor<16xf32>\n"
    "    %means = stablehlo.broadcast_in_dim %total, dims = [2] : (tensor<16xf32>) -> "
    "tensor<1x24x16xf32>\n";

static char *with(const char *text, const char *part, const char *instead)
{
    const char *at = strstr(text, part);
    assert_non_null(at);
    return mem_printf("%.*s%s%s", (int)(at - text), text, instead, at + strlen(part));
}

/* The text of one_layer.mlir with something else in the place of a part of it. */
static void model_with(model_t *self, const char *part, const char *instead)
{
    size_t n;
    err_t err = {0};
    str_t changed = {0};
    char *text = (char *)file_read("tests/models/exported/one_layer.mlir", &n, &err);
    assert_non_null(text);
    char *more = with(text, PLACES, MORE), *whole = with(more, part, instead);
    str_add(&changed, whole);
    free(more);
    free(whole);
    model_of_text(self, str_text(&changed), changed.n, 0.5);
    str_fini(&changed);
    free(text);
}

#define X "stablehlo.add %e, %pp : tensor<1x24x16xf32>"

static const struct {
    const char *name, *part, *instead, *why;
} refused[] = {
    {"attention both ways",
     "stablehlo.compare GE, %row, %col, SIGNED : (tensor<24x24xi32>, tensor<24x24xi32>) -> "
     "tensor<24x24xi1>",
     "stablehlo.constant dense<true> : tensor<24x24xi1>", "stablehlo.reduce"},
    {"attention to one position more",
     "stablehlo.compare GE, %row, %col, SIGNED : (tensor<24x24xi32>, tensor<24x24xi32>) -> "
     "tensor<24x24xi1>",
     "stablehlo.compare LT, %col, %next, SIGNED : (tensor<24x24xi32>, tensor<24x24xi32>) -> "
     "tensor<24x24xi1>\n"
     "    %unused = stablehlo.constant dense<1.0> : tensor<f32>",
     "stablehlo.reduce"},
    {"a mask that hides too little", "dense<-1.0e+09>", "dense<-1.0e+01>", "stablehlo.reduce"},
    {"a running sum", X, "stablehlo.add %e, %run : tensor<1x24x16xf32>", "stablehlo.dot_general"},
    {"the position before", X, "stablehlo.add %e, %shifted : tensor<1x24x16xf32>",
     "stablehlo.slice"},
    {"a statistic of all positions", X, "stablehlo.subtract %e, %means : tensor<1x24x16xf32>",
     "stablehlo.reduce"},
    {"positions turned round", X, "stablehlo.reverse %e, dims = [1] : tensor<1x24x16xf32>",
     "stablehlo.reverse"},
};

/* A mask of what is padded, beside the tokens: no text has one. */
static void test_other_arguments(void **state)
{
    (void)state;
    size_t n;
    err_t err = {0};
    model_t model;
    char *text = (char *)file_read("tests/models/exported/one_layer.mlir", &n, &err);
    assert_non_null(text);
    char *takes = with(text, "%tokens: tensor<1x24xi32>)",
                       "%tokens: tensor<1x24xi32>, %padding: tensor<1x24xi32>)");
    char *uses = with(takes, X, "stablehlo.add %shown, %pp : tensor<1x24x16xf32>");
    char *whole = with(
        uses, "%x = ",
        "%ones = stablehlo.convert %padding : (tensor<1x24xi32>) -> tensor<1x24xf32>\n"
        "%wide = stablehlo.broadcast_in_dim %ones, dims = [0, 1] : "
        "(tensor<1x24xf32>) -> tensor<1x24x16xf32>\n"
        "%shown = stablehlo.multiply %e, %wide : tensor<1x24x16xf32>\n%x = ");
    model_of_text(&model, whole, strlen(whole), 0.5);
    assert_null(infer_open(&model.source, &(infer_options_t){.cache_dir = ""}, &err));
    print_message("%s\n", err.text);
    assert_non_null(strstr(err.text, "arg8: tensor<1x24xi32>"));
    assert_non_null(strstr(err.text, "takes 2 arguments"));
    model_fini(&model);
    free(text);
    free(takes);
    free(uses);
    free(whole);
}

/* The window way all the same, and why. */
static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        model_t model;
        err_t err = {0};
        model_with(&model, refused[i].part, refused[i].instead);
        infer_t *self = infer_open(&model.source, &(infer_options_t){.cache_dir = ""}, &err);
        check(self ? 0 : -1, &err);
        infer_facts_t facts = infer_facts(self);
        print_message("%s: %s\n", refused[i].name, facts.window ? facts.why : "kept");
        assert_true(facts.window);
        assert_non_null(strstr(facts.why, refused[i].why));
        uint32_t tokens[3] = {1, 2, 3};
        int s = infer_add(self, tokens, 3, &err);
        check(s, &err);
        scores_of(self, s);
        infer_close(&self);
        model_fini(&model);
    }
}

/* --- weights of exported texts --- */

#define HEAD                                                                     \
    "%logits = stablehlo.dot_general %z, %head, contracting_dims = [2] x [0] : " \
    "(tensor<1x24x16xf32>, "                                                     \
    "tensor<16x29xf32>) -> tensor<1x24x29xf32>"

/* The same, by views of the matrix: of another type, and turned. */
static const char *const BY_VIEWS =
    "%zw = stablehlo.convert %z : (tensor<1x24x16xf32>) -> tensor<1x24x16xf64>\n"
    "    %headw = stablehlo.convert %head : (tensor<16x29xf32>) -> tensor<16x29xf64>\n"
    "    %headt = stablehlo.transpose %headw, dims = [1, 0] : (tensor<16x29xf64>) -> "
    "tensor<29x16xf64>\n"
    "    %wide = stablehlo.dot_general %zw, %headt, contracting_dims = [2] x [1] : "
    "(tensor<1x24x16xf64>, tensor<29x16xf64>) -> tensor<1x24x29xf64>\n"
    "    %logits = stablehlo.convert %wide : (tensor<1x24x29xf64>) -> tensor<1x24x29xf32>";

/* Turned beneath a conversion, which no pass moves into the product. */
static const char *const BY_TURN =
    "%headt = stablehlo.transpose %head, dims = [1, 0] : (tensor<16x29xf32>) -> tensor<29x16xf32>\n"
    "    %headw = stablehlo.convert %headt : (tensor<29x16xf32>) -> tensor<29x16xf64>\n"
    "    %zw = stablehlo.convert %z : (tensor<1x24x16xf32>) -> tensor<1x24x16xf64>\n"
    "    %wide = stablehlo.dot_general %zw, %headw, contracting_dims = [2] x [1] : "
    "(tensor<1x24x16xf64>, tensor<29x16xf64>) -> tensor<1x24x29xf64>\n"
    "    %logits = stablehlo.convert %wide : (tensor<1x24x29xf64>) -> tensor<1x24x29xf32>";

/* And turned back. */
static const char *const BY_TURNS =
    "%headt = stablehlo.transpose %head, dims = [1, 0] : (tensor<16x29xf32>) -> tensor<29x16xf32>\n"
    "    %headw = stablehlo.convert %headt : (tensor<29x16xf32>) -> tensor<29x16xf64>\n"
    "    %headb = stablehlo.transpose %headw, dims = [1, 0] : (tensor<29x16xf64>) -> "
    "tensor<16x29xf64>\n"
    "    %heads = stablehlo.convert %headb : (tensor<16x29xf64>) -> tensor<16x29xf32>\n"
    "    %logits = stablehlo.dot_general %z, %heads, contracting_dims = [2] x [0] : "
    "(tensor<1x24x16xf32>, tensor<16x29xf32>) -> tensor<1x24x29xf32>";

static void test_exported_weights(void **state)
{
    (void)state;
    static const kept_names_t names = {"one_layer", "arg1", "arg2 arg3 arg4 arg6"};
    const char *const heads[] = {HEAD, BY_VIEWS, BY_TURN, BY_TURNS};
    for (int i = 0; i < 8; i++) {
        model_t model;
        model_with(&model, HEAD, heads[i / 2]);
        compare_weights(&model, &names, i % 2 ? INFER_I8 : INFER_BF16, i % 2 ? 0.6 : 0.7);
        model_fini(&model);
    }
}

/* --- side by side --- */

/* Batched, behind shared beginnings, in places that others have left: the greedy tokens of one prompt alone. */
static void check_together(model_t *model)
{
    enum { N = 6, SLOTS = 3, MORE = 5 };
    const size_t lengths[N] = {1, 5, 17, 18, 3, 19};
    uint32_t alone[N][MORE], prompt[32];
    err_t err = {0};
    char *plans = temp_dir();
    for (int i = 0; i < N; i++) {
        infer_t *one = open_as(model, &(infer_options_t){.cache_dir = plans, .slots = SLOTS});
        prompt_of(prompt, lengths[i], infer_facts(one).vocab, 5);
        int s = infer_add(one, prompt, lengths[i], &err);
        check(s, &err);
        for (int k = 0; k < MORE; k++) {
            alone[i][k] = likeliest(infer_facts(one).vocab, scores_of(one, s));
            check(infer_push(one, s, alone[i][k], &err), &err);
        }
        assert_int_equal(infer_reused(one), 0);
        infer_close(&one);
    }
    infer_t *all = open_as(model, &(infer_options_t){.cache_dir = plans, .slots = SLOTS});
    int who[SLOTS] = {-1, -1, -1}, done[N] = {0}, begun = 0, ended = 0;
    while (ended < N) {
        while (begun < N) {
            prompt_of(prompt, lengths[begun], infer_facts(all).vocab, 5);
            int s = infer_add(all, prompt, lengths[begun], &err);
            if (s < 0) break;
            who[s] = begun++;
        }
        check(infer_step(all, &err), &err);
        for (int s = 0; s < SLOTS; s++) {
            const float *scores = who[s] < 0 ? NULL : infer_scores(all, s);
            if (!scores) continue;
            uint32_t token = likeliest(infer_facts(all).vocab, scores);
            assert_int_equal(token, alone[who[s]][done[who[s]]++]);
            check(infer_push(all, s, token, &err), &err);
            if (done[who[s]] < MORE) continue;
            infer_end(all, s);
            who[s] = -1;
            ended++;
        }
    }
    assert_true(infer_reused(all) > 0);
    infer_close(&all);
    temp_remove(&plans);
}

static void test_together(void **state)
{
    (void)state;
    model_t model;
    model_of_file(&model, "one_layer.mlir", false, 0.5);
    check_together(&model);
    model_fini(&model);
    if (!model_of_file(&model, "data/models/nanochat_forward_32.mlir", true, 0.15)) return;
    check_together(&model);
    model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_exported),
        cmocka_unit_test(test_other_arguments),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_exported_weights),
        cmocka_unit_test(test_scanned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
