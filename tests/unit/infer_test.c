/* Generation: what is kept between tokens changes nothing. Sequences with kept keys and values against
 * @logits over the whole window, alone and side by side, with long prompts, and until the context is
 * full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/mem.h"
#include "codegen/target.h"
#include "infer_rig.h"
#include "temp.h"

static infer_t *open_as(const model_t *model, const infer_options_t *options)
{
    err_t err = {0};
    infer_t *self = infer_open(&model->source, options, &err);
    check(self ? 0 : -1, &err);
    return self;
}

static void compare_all(model_t *model, const char *name)
{
    const infer_options_t keep = {.threads = 2, .cache_dir = ""};
    const infer_options_t window = {.threads = 2, .cache_dir = "", .window = true};
    infer_t *a = open_as(model, &keep), *b = open_as(model, &window);
    assert_false(infer_facts(a).window);
    assert_true(infer_facts(b).window);
    double most = 0;
    const size_t n[] = {1, 2, 15, 16, 17, 18, 33, 34, BLOCK};
    for (size_t i = 0; i < sizeof n / sizeof *n; i++) most = fmax(most, compare(a, b, n[i], BLOCK));
    print_message("%s: scores differ by %.3g at most\n", name, most);
    assert_true(most < 1e-5); /* the same sums in another order */
    infer_close(&a);
    infer_close(&b);
    model_fini(model);
}

static void test_gpt2(void **state)
{
    (void)state;
    model_t model;
    model_of_family(&model, rig_gpt2(false));
    compare_all(&model, "gpt2");
}

static void test_llama(void **state)
{
    (void)state;
    model_t model;
    model_of_family(&model, rig_llama());
    compare_all(&model, "llama");
}

static void test_nanochat(void **state)
{
    (void)state;
    model_t model;
    model_of_family(&model, rig_nanochat(true));
    compare_all(&model, "nanochat");
    model_of_family(&model, rig_nanochat(false));
    compare_all(&model, "nanochat, rotary positions in f32");
}

/* Several sequences of different lengths, which begin and end at different times: the greedy tokens of
 * each are those it has alone. */
static void check_side_by_side(infer_options_t options)
{
    /* Three tokens are read by the program for four: the fourth slot stands in the middle of a prompt, or
     * behind one. */
    enum { N = 9, SLOTS = 4, MORE = 12 };
    const size_t lengths[N] = {1, 5, 19, 28, 2, 16, 17, 20, 3};
    uint32_t alone[N][MORE], prompt[BLOCK];
    model_t model;
    err_t err = {0};
    model_of_family(&model, rig_llama());
    options.cache_dir = "";
    infer_t *one = open_as(&model, &options);
    for (int i = 0; i < N; i++) {
        prompt_of(prompt, lengths[i], VOCAB, 100 + (uint64_t)i);
        int s = infer_add(one, prompt, lengths[i], &err);
        check(s, &err);
        for (int k = 0; k < MORE; k++) {
            alone[i][k] = likeliest(VOCAB, scores_of(one, s));
            check(infer_push(one, s, alone[i][k], &err), &err);
        }
        infer_end(one, s);
    }
    infer_close(&one);
    options.slots = SLOTS;
    infer_t *all = open_as(&model, &options);
    int who[SLOTS] = {-1, -1, -1, -1}, done[N] = {0}, begun = 0, ended = 0;
    while (ended < N) {
        while (begun < N) {
            prompt_of(prompt, lengths[begun], VOCAB, 100 + (uint64_t)begun);
            int s = infer_add(all, prompt, lengths[begun], &err);
            if (s < 0) break;
            who[s] = begun++;
        }
        check(infer_step(all, &err), &err);
        for (int s = 0; s < SLOTS; s++) {
            const float *scores = who[s] < 0 ? NULL : infer_scores(all, s);
            if (!scores) continue;
            uint32_t token = likeliest(VOCAB, scores);
            assert_int_equal(token, alone[who[s]][done[who[s]]++]);
            check(infer_push(all, s, token, &err), &err);
            if (done[who[s]] < MORE) continue;
            infer_end(all, s);
            who[s] = -1;
            ended++;
        }
    }
    infer_close(&all);
    model_fini(&model);
}

static void test_side_by_side(void **state)
{
    (void)state;
    check_side_by_side((infer_options_t){0});
    check_side_by_side((infer_options_t){.keep = INFER_KEEP_BF16});
    check_side_by_side((infer_options_t){.weights = INFER_I8});
}

/* Scores that nobody has taken stay while others go on, are begun with a copy of the sequence, and are read. */
static void test_scores_wait(void **state)
{
    (void)state;
    uint32_t prompt[BLOCK];
    float kept[VOCAB];
    model_t model;
    err_t err = {0};
    model_of_family(&model, rig_llama());
    infer_t *self = open_as(&model, &(infer_options_t){.cache_dir = "", .slots = 3});
    prompt_of(prompt, BLOCK, VOCAB, 5);
    int a = infer_add(self, prompt, 18, &err), b = infer_add(self, prompt + 20, 5, &err);
    for (int i = 0; i < 2; i++) check(infer_step(self, &err), &err);
    check(infer_push(self, a, prompt[18], &err), &err); /* by the program for a token of each */
    check(infer_push(self, b, 3, &err), &err);
    check(infer_step(self, &err), &err);
    memcpy(kept, infer_scores(self, a), sizeof kept);
    assert_memory_not_equal(kept, infer_scores(self, b), sizeof kept);
    check(infer_push(self, b, 4, &err), &err);
    check(infer_step(self, &err), &err);
    assert_memory_equal(kept, infer_scores(self, a), sizeof kept);
    memcpy(kept, infer_scores(self, b), sizeof kept);
    prompt[18] = (prompt[18] + 1) % VOCAB;
    int c = infer_add(self, prompt, 22, &err);
    check(c, &err);
    assert_int_equal(infer_reused(self), 18);
    assert_memory_equal(kept, infer_scores(self, b), sizeof kept);
    check(infer_step(self, &err), &err);
    assert_non_null(infer_scores(self, c));
    assert_memory_equal(kept, infer_scores(self, b), sizeof kept);
    infer_close(&self);
    model_fini(&model);
}

/* --- what sequences share --- */

enum { WRITTEN = 6 };

static void write_greedily(infer_t *self, int s, uint32_t *out, int n)
{
    err_t err = {0};
    for (int k = 0; k < n; k++) {
        out[k] = likeliest(VOCAB, scores_of(self, s));
        check(infer_push(self, s, out[k], &err), &err);
    }
}

/* The text behind a prompt is that of a model which has read nothing else; so many tokens are not read
 * again. */
static int check_reuse(infer_t *self, const model_t *model, const uint32_t *prompt, size_t n,
                       uint64_t reused, const char *plans)
{
    uint32_t alone[WRITTEN], here[WRITTEN];
    err_t err = {0};
    infer_t *fresh = open_as(model, &(infer_options_t){.cache_dir = plans, .slots = 4});
    int s = infer_add(fresh, prompt, n, &err);
    check(s, &err);
    write_greedily(fresh, s, alone, WRITTEN);
    assert_int_equal(infer_reused(fresh), 0);
    infer_close(&fresh);
    uint64_t before = infer_reused(self);
    s = infer_add(self, prompt, n, &err);
    check(s, &err);
    assert_int_equal(infer_reused(self) - before, reused);
    write_greedily(self, s, here, WRITTEN);
    assert_memory_equal(alone, here, sizeof alone);
    return s;
}

static void check_shared(model_t *model)
{
    uint32_t prompt[BLOCK], other[BLOCK], rest[BLOCK];
    char *plans = temp_dir(); /* compiled once */
    infer_t *self = open_as(model, &(infer_options_t){.cache_dir = plans, .slots = 4});
    prompt_of(prompt, BLOCK, VOCAB, 1);
    int a = check_reuse(self, model, prompt, 30, 0, plans);
    /* Beside one that is being written, whose first 20 tokens are copied. */
    memcpy(other, prompt, sizeof other);
    prompt_of(other + 20, BLOCK - 20, VOCAB, 2);
    other[20] = (prompt[20] + 1) % VOCAB;
    int b = check_reuse(self, model, other, 25, 20, plans);
    assert_int_not_equal(a, b);
    /* Too few to be copied: another free place. */
    prompt_of(rest, BLOCK, VOCAB, 3);
    rest[0] = prompt[0];
    rest[1] = (prompt[1] + 1) % VOCAB;
    int c = check_reuse(self, model, rest, 12, 0, plans);
    assert_true(c != a && c != b);
    infer_end(self, a);
    infer_end(self, b);
    /* Others go on while those are kept. */
    int d = check_reuse(self, model, rest + 15, 20, 0, plans);
    infer_end(self, c);
    infer_end(self, d);
    /* The same once more: all but the last token; and as a conversation that has gone on. */
    assert_int_equal(check_reuse(self, model, prompt, 30, 29, plans), a);
    assert_int_equal(check_reuse(self, model, other, 26, 25, plans), b);
    infer_end(self, a);
    infer_end(self, b);
    /* A beginning of what is kept, and something else behind it: a copy, so that what is kept stays. */
    memcpy(rest, prompt, 17 * sizeof *rest);
    rest[17] = (prompt[17] + 1) % VOCAB;
    infer_end(self, check_reuse(self, model, rest, 18, 17, plans));
    infer_end(self, check_reuse(self, model, prompt, 31, 30, plans));
    infer_close(&self);
    temp_remove(&plans);
}

static void test_shared(void **state)
{
    (void)state;
    model_t model;
    model_of_family(&model, rig_llama());
    check_shared(&model);
    model_fini(&model);
    model_of_family(&model, rig_gpt2(false));
    check_shared(&model);
    model_fini(&model);
}

/* Without keys and values nothing is shared. */
static void test_window_shares_nothing(void **state)
{
    (void)state;
    model_t model;
    uint32_t prompt[BLOCK];
    err_t err = {0};
    model_of_family(&model, rig_gpt2(false));
    infer_t *self = open_as(&model, &(infer_options_t){.cache_dir = "", .window = true});
    prompt_of(prompt, BLOCK, VOCAB, 1);
    for (int i = 0; i < 2; i++) {
        int s = infer_add(self, prompt, 20, &err);
        check(s, &err);
        scores_of(self, s);
        infer_end(self, s);
    }
    assert_int_equal(infer_reused(self), 0);
    infer_close(&self);
    model_fini(&model);
}

/* --- what scores are computed from --- */

/* Scores are the products of what is told with the rows of the head. */
static void check_hidden(const model_t *model, infer_t *self, int s, const char *head)
{
    const float *scores = scores_of(self, s), *hidden = infer_hidden(self, s);
    const safetensor_t *weights = safetensors_find(model->params, head);
    size_t width = (size_t)infer_facts(self).width;
    double worst = 0;
    assert_non_null(hidden);
    assert_non_null(weights);
    assert_int_equal(weights->dims[1], width);
    const float *row = (const float *)weights->data;
    for (int v = 0; v < VOCAB; v++, row += width) {
        double sum = 0;
        for (size_t i = 0; i < width; i++) sum += (double)row[i] * hidden[i];
        worst = fmax(worst, fabs(sum - (double)scores[v]));
    }
    assert_true(worst < 1e-5);
}

static void check_all_hidden(model_t *model, const char *head)
{
    const size_t n[] = {1, 2, 17, 20};
    uint32_t prompt[BLOCK];
    err_t err = {0};
    infer_t *self = open_as(model, &(infer_options_t){.cache_dir = "", .slots = 4});
    int s[4];
    for (int i = 0; i < 4; i++) {
        prompt_of(prompt, n[i], VOCAB, 50 + (uint64_t)i);
        s[i] = infer_add(self, prompt, n[i], &err);
        check(s[i], &err);
        if (i != 1) infer_want_hidden(self, s[i]);
    }
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 4; i++) {
            if (i != 1) check_hidden(model, self, s[i], head);
        }
        scores_of(self, s[1]);
        assert_null(infer_hidden(self, s[1]));
        for (int i = 0; i < 4; i++)
            check(infer_push(self, s[i], likeliest(VOCAB, infer_scores(self, s[i])), &err), &err);
        assert_null(infer_hidden(self, s[0]));
    }
    infer_close(&self);
    model_fini(model);
}

static void test_hidden(void **state)
{
    (void)state;
    model_t model;
    model_of_family(&model, rig_gpt2(false));
    check_all_hidden(&model, "wte.weight");
    model_of_family(&model, rig_llama());
    check_all_hidden(&model, "lm_head.weight");
}

/* Weights of bf16 are those of f32, rounded: the model of rounded weights in f32 says the same. */
static void test_bf16(void **state)
{
    (void)state;
    model_t model;
    model_of_family(&model, rig_gpt2(false));
    infer_t *a = open_as(
        &model, &(infer_options_t){.cache_dir = "", .weights = INFER_BF16, .keep = INFER_KEEP_F32});
    for (size_t i = 0; i < safetensors_count(model.params); i++) {
        const safetensor_t *t = safetensors_at(model.params, i);
        float *x = (float *)(uintptr_t)t->data;
        for (size_t k = 0; t->rank > 1 && k < t->n_bytes / 4; k++)
            x[k] = half_from_bf16(half_to_bf16(x[k]));
    }
    infer_t *b = open_as(&model, &(infer_options_t){.cache_dir = ""});
    assert_true(infer_facts(a).weight_bytes < infer_facts(b).weight_bytes * 0.55);
    double most = compare(a, b, 3, BLOCK);
    print_message("bf16: scores differ by %.3g at most\n", most);
    assert_true(most < 1e-5);
    infer_close(&a);
    infer_close(&b);
    model_fini(&model);
}

/* Weights of i8 are those of f32, rounded: the model of rounded weights in f32 says the same. GPT-2's are transposed
 * first, but for tables (wte, wpe). */
static void check_int8(model_t *model, const char *name, bool turned)
{
    infer_t *exact = open_as(model, &(infer_options_t){.cache_dir = ""});
    infer_t *a = open_as(
        model, &(infer_options_t){
                   .cache_dir = "", .weights = INFER_I8, .keep = INFER_KEEP_F32, .slots = 3});
    uint32_t prompt[3];
    err_t err = {0};
    double far = 0;
    prompt_of(prompt, 3, VOCAB, 3);
    int i = infer_add(exact, prompt, 3, &err), k = infer_add(a, prompt, 3, &err);
    const float *x = scores_of(exact, i), *y = scores_of(a, k);
    for (int v = 0; v < VOCAB; v++) far = fmax(far, fabs((double)x[v] - y[v]));
    infer_end(a, k);
    for (size_t t = 0; t < safetensors_count(model->params); t++) {
        const safetensor_t *w = safetensors_at(model->params, t);
        if (w->rank == 2) round_to_whole(w, turned && strncmp(w->name, "w", 1) != 0);
    }
    infer_t *b = open_as(model, &(infer_options_t){.cache_dir = ""});
    assert_true(infer_facts(a).weight_bytes < infer_facts(b).weight_bytes * 0.37);
    double most = compare(a, b, 3, BLOCK);
    most = fmax(most, compare(a, b, 20, BLOCK));
    print_message("%s in int8: scores differ by %.3g at most, from those in f32 by %.3g\n", name,
                  most, far);
    assert_true(most < 1e-4 && far > 1e-4 && far < 0.5); /* scores are of the order of 1 */
    infer_close(&exact);
    infer_close(&a);
    infer_close(&b);
    model_fini(model);
}

/* Keys and values in bf16 take half of the memory. They are those of f32, each off by at most 2^-9 of itself, of which
 * a head's sums and the layers' leave less; and a token's numbers do not depend on the number of threads. */
static void check_kept(model_t *model, const char *name)
{
    infer_options_t o = {.threads = 2, .cache_dir = "", .keep = INFER_KEEP_BF16};
    infer_t *a = open_as(model, &o), *b = open_as(model, &(infer_options_t){.cache_dir = ""});
    o.threads = 1;
    infer_t *c = open_as(model, &o);
    assert_true(infer_facts(b).kept_bytes > 0);
    assert_int_equal(2 * infer_facts(a).kept_bytes, infer_facts(b).kept_bytes);
    double most = 0;
    const size_t n[] = {1, 2, 17, 34};
    for (size_t i = 0; i < 4; i++) assert_true(compare(a, c, n[i], BLOCK) == 0);
    for (size_t i = 0; i < 4; i++) most = fmax(most, follow(a, b, n[i], BLOCK, false));
    print_message("%s, kept in bf16: scores differ by %.3g at most\n", name, most);
    assert_true(most > 1e-5 && most < 2e-2); /* scores are of the order of 1 */
    infer_close(&a);
    infer_close(&b);
    infer_close(&c);
    model_fini(model);
}

static void test_kept(void **state)
{
    (void)state;
    model_t model;
    model_of_family(&model, rig_gpt2(false));
    check_kept(&model, "gpt2");
    model_of_family(&model, rig_llama());
    check_kept(&model, "llama");
    model_of_family(&model, rig_nanochat(false));
    check_kept(&model, "nanochat");
}

/* They follow the matrices where nothing is said. */
static void test_kept_as_weights(void **state)
{
    (void)state;
    model_t model;
    uint64_t bytes[4];
    const infer_weights_t weights[] = {INFER_F32, INFER_BF16, INFER_I8, INFER_AS_TRAINED};
    for (int i = 0; i < 4; i++) {
        model_of_family(&model, rig_gpt2(i == 3)); /* the last one is trained in bf16 */
        infer_t *self = open_as(&model, &(infer_options_t){.cache_dir = "", .weights = weights[i]});
        bytes[i] = infer_facts(self).kept_bytes;
        infer_close(&self);
        model_fini(&model);
    }
    for (int i = 1; i < 4; i++) assert_int_equal(2 * bytes[i], bytes[0]);
}

static void test_int8(void **state)
{
    (void)state;
    model_t model;
    model_of_family(&model, rig_gpt2(false));
    check_int8(&model, "gpt2", true);
    model_of_family(&model, rig_llama());
    check_int8(&model, "llama", false);
}

/* Activations rounded as matrices are, where the target has products for it: scores move by little. Texts go on for
 * themselves. */
static void check_rounded(model_t *model, infer_weights_t weights, const char *name)
{
    infer_options_t o = {.cache_dir = "", .weights = weights, .keep = INFER_KEEP_F32, .slots = 3};
    infer_t *exact = open_as(model, &o);
    o.activations = INFER_ACTIVATIONS_AS_WEIGHTS;
    infer_t *rounded = open_as(model, &o);
    double most = follow(exact, rounded, 3, 12, false);
    most = fmax(most, follow(exact, rounded, 20, 12, false));
    print_message("%s, rounded activations: scores differ by %.3g at most\n", name, most);
    bool does = target_caps(target_host()).panels && weights != INFER_F32;
    assert_true(does ? most > 0 && most < 0.3 : most == 0); /* scores are of the order of 1 */
    infer_close(&exact);
    infer_close(&rounded);
}

static void test_rounded(void **state)
{
    (void)state;
    model_t model;
    model_of_family(&model, rig_gpt2(false));
    check_rounded(&model, INFER_F32, "gpt2 in f32");
    check_rounded(&model, INFER_BF16, "gpt2 in bf16");
    check_rounded(&model, INFER_I8, "gpt2 in int8");
    model_fini(&model);
    model_of_family(&model, rig_llama());
    check_rounded(&model, INFER_I8, "llama in int8");
    model_fini(&model);
}

/* Without sliding a full context is an error, with it the sequence goes on as one that begins with the
 * newer half. */
static void test_full(void **state)
{
    (void)state;
    model_t model;
    uint32_t prompt[BLOCK + 1];
    err_t err = {0};
    model_of_family(&model, rig_gpt2(false));
    prompt_of(prompt, BLOCK + 1, VOCAB, 9);
    infer_t *self = open_as(&model, &(infer_options_t){.cache_dir = ""});
    assert_int_equal(infer_add(self, prompt, BLOCK + 1, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    int s = infer_add(self, prompt, BLOCK, &err);
    check(s, &err);
    assert_int_equal(infer_room(self, s), 0);
    assert_int_equal(infer_push(self, s, 1, &err), -1);
    assert_int_equal(infer_add(self, prompt, 1, &err), -1);
    assert_int_equal(err.code, ERR_STATE);
    infer_end(self, s);
    prompt[2] = VOCAB;
    assert_int_equal(infer_add(self, prompt, 3, &err), -1);
    assert_int_equal(infer_add(self, prompt, 0, &err), -1);
    infer_close(&self);

    infer_t *slides = open_as(&model,
                              &(infer_options_t){.cache_dir = "", .slide = true, .slots = 2});
    prompt_of(prompt, BLOCK + 1, VOCAB, 9);
    s = infer_add(slides, prompt, BLOCK, &err);
    check(s, &err);
    scores_of(slides, s);
    check(infer_push(slides, s, prompt[BLOCK], &err), &err);
    int fresh = infer_add(slides, prompt + BLOCK / 2, BLOCK + 1 - BLOCK / 2, &err);
    check(fresh, &err);
    scores_of(slides, s);
    scores_of(slides, fresh);
    for (int v = 0; v < VOCAB; v++)
        assert_true(infer_scores(slides, s)[v] == infer_scores(slides, fresh)[v]);
    infer_close(&slides);
    model_fini(&model);
}

/* What is cut away has never been there: scores behind other tokens are those of a sequence without it,
 * beside another sequence that is read meanwhile. */
static void check_cut(const model_t *model, bool window)
{
    enum { N = 25, MORE = 6 };
    uint32_t prompt[BLOCK], other[BLOCK];
    err_t err = {0};
    double most = 0;
    infer_t *self = open_as(model,
                            &(infer_options_t){.cache_dir = "", .slots = 2, .window = window});
    prompt_of(prompt, N, VOCAB, 3);
    prompt_of(other, N + MORE, VOCAB, 4);
    const size_t keep[] = {N + MORE, N, N - 1, 17, 16, 1};
    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++) {
        int s = infer_add(self, prompt, N, &err);
        check(s, &err);
        scores_of(self, s);
        for (int k = 0; k < MORE; k++) check(infer_push(self, s, other[k], &err), &err);
        scores_of(self, s);
        infer_cut(self, s, keep[i]);
        assert_null(infer_scores(self, s));
        for (size_t k = keep[i]; k < N + MORE; k++)
            check(infer_push(self, s, other[k], &err), &err);
        uint32_t all[BLOCK];
        for (size_t k = 0; k < N + MORE; k++)
            all[k] = k >= keep[i] ? other[k] : k < N ? prompt[k] : other[k - N];
        int fresh = infer_add(self, all, N + MORE, &err);
        check(fresh, &err);
        const float *x = scores_of(self, fresh), *y = scores_of(self, s);
        for (int v = 0; v < VOCAB; v++) most = fmax(most, fabs((double)x[v] - y[v]));
        infer_end(self, s);
        infer_end(self, fresh);
    }
    assert_true(most < 1e-5); /* the same sums in another order */
    infer_close(&self);
}

static void test_cut(void **state)
{
    (void)state;
    model_t model;
    model_of_family(&model, rig_llama());
    check_cut(&model, false);
    check_cut(&model, true);
    model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2),
        cmocka_unit_test(test_llama),
        cmocka_unit_test(test_nanochat),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_scores_wait),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_int8),
        cmocka_unit_test(test_rounded),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_kept_as_weights),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_window_shares_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
