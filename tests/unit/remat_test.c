/* Plans within a memory budget: what they recompute leaves every bit of a training run as it is,
 * their arenas keep to the budget, and the smallest budget of an error message is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "temp.h"
#include "tools/trial.h"

enum { LAYERS = 6, STEPS = 3, VOCAB = 8, SEED = 7 };

/* Layers x + (tanh(x W) x W) V on rows of integers, and the mean of squares of what comes out. */
static char *model_text(void)
{
    str_t t = {0};
    /* pcp.keep_bytes: nothing but a budget lets values be made again. */
    str_add(&t, "module attributes {pcp.keep_bytes = 1000000000 : i64} {\nfunc.func @main(%x: "
                "tensor<128x64xi32>");
    for (int l = 0; l < LAYERS; l++)
        str_addf(&t, ", %%w%d: tensor<64x80xf32>, %%v%d: tensor<80x64xf32>", l, l);
    str_add(&t, ") -> tensor<f32> {\n"
                "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
                "  %part = stablehlo.constant dense<1.0e-5> : tensor<f32>\n"
                "  %y0 = stablehlo.convert %x : (tensor<128x64xi32>) -> tensor<128x64xf32>\n");
    for (int l = 0; l < LAYERS; l++) {
        str_addf(&t,
                 "  %%h%d = stablehlo.dot_general %%y%d, %%w%d, contracting_dims = [1] x [0]\n"
                 "      : (tensor<128x64xf32>, tensor<64x80xf32>) -> tensor<128x80xf32>\n",
                 l, l, l);
        str_addf(&t,
                 "  %%t%d = stablehlo.tanh %%h%d : tensor<128x80xf32>\n"
                 "  %%g%d = stablehlo.multiply %%h%d, %%t%d : tensor<128x80xf32>\n",
                 l, l, l, l, l);
        str_addf(&t,
                 "  %%z%d = stablehlo.dot_general %%g%d, %%v%d, contracting_dims = [1] x [0]\n"
                 "      : (tensor<128x80xf32>, tensor<80x64xf32>) -> tensor<128x64xf32>\n"
                 "  %%y%d = stablehlo.add %%y%d, %%z%d : tensor<128x64xf32>\n",
                 l, l, l, l + 1, l, l);
    }
    str_addf(&t,
             "  %%s = stablehlo.multiply %%y%d, %%y%d : tensor<128x64xf32>\n"
             "  %%r = stablehlo.reduce(%%s init: %%zero) applies stablehlo.add across dimensions = "
             "[0, 1]\n      : (tensor<128x64xf32>, tensor<f32>) -> tensor<f32>\n"
             "  %%loss = stablehlo.multiply %%r, %%part : tensor<f32>\n"
             "  return %%loss : tensor<f32>\n}\n}\n",
             LAYERS, LAYERS);
    return t.at;
}

static trial_t start(const char *text, const train_spec_t *spec)
{
    const trial_options_t options = {.spec = spec, .threads = 2, .vocab = VOCAB, .seed = SEED};
    trial_t trial;
    err_t err = {0};
    if (trial_init(&trial, text, strlen(text), "rows", &options, &err) < 0)
        fail_msg("%s", err.text);
    return trial;
}

static int n_again(const plan_t *plan)
{
    int n = 0;
    for (int p = 0; p < plan->n_program; p++)
        for (int i = 0; i < plan->program[p].n_step; i++)
            n += strncmp(plan->program[p].step[i].label, PLAN_AGAIN, strlen(PLAN_AGAIN)) == 0;
    return n;
}

static void take_steps(trial_t *trial, float *loss)
{
    err_t err = {0};
    for (int i = 0; i < STEPS; i++)
        if (trial_step(trial, &loss[i], &err) < 0) fail_msg("%s", err.text);
}

static void *read_tensor(trial_t *trial, int t)
{
    err_t err = {0};
    size_t n = (size_t)trial->plan->tensor[t].n_bytes;
    void *bytes = mem_calloc(1, n + 1);
    if (exec_read(trial->exec, t, bytes, n, &err) < 0) fail_msg("%s", err.text);
    return bytes;
}

/* Losses, parameters and state of both, which have taken the same steps. */
static void assert_same(trial_t *a, trial_t *b)
{
    int n_compared = 0;
    for (int t = 0; t < a->plan->n_tensor; t++) {
        const plan_tensor_t *x = &a->plan->tensor[t];
        if (x->role != ROLE_PARAM && x->role != ROLE_STATE) continue;
        int u = plan_find_tensor(b->plan, x->role, x->name);
        assert_true(u >= 0);
        void *mine = read_tensor(a, t), *theirs = read_tensor(b, u);
        if (memcmp(mine, theirs, (size_t)x->n_bytes) != 0) fail_msg("%s differs", x->name);
        free(mine);
        free(theirs);
        n_compared++;
    }
    assert_true(n_compared >= 2 * LAYERS);
}

/* The smallest budget that an error tells of. */
static uint64_t smallest(const char *text, train_spec_t spec)
{
    err_t err = {0};
    size_t n;
    spec.memory_budget = 1;
    assert_null(compile_text(text, strlen(text), "rows", &spec, target_host(), &n, &err));
    assert_int_equal(err.code, ERR_MEMORY);
    const char *at = strstr(err.text, "MiB (");
    assert_non_null(at);
    return strtoull(at + strlen("MiB ("), NULL, 10);
}

/* A run that keeps everything beside one that keeps the least. */
static void test_bits(void **state)
{
    (void)state;
    char *text = model_text();
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    float want[STEPS], got[STEPS];
    trial_t a = start(text, &spec);
    spec.memory_budget = smallest(text, spec);
    trial_t b = start(text, &spec);
    print_message("%llu of %llu bytes: %d steps again\n", (unsigned long long)b.plan->arena_bytes,
                  (unsigned long long)a.plan->arena_bytes, n_again(b.plan));
    assert_true(n_again(a.plan) == 0 && n_again(b.plan) > 0);
    assert_true(b.plan->arena_bytes <= spec.memory_budget);
    assert_true(spec.memory_budget < a.plan->arena_bytes / 4 * 3);
    take_steps(&a, want);
    take_steps(&b, got);
    assert_memory_equal(want, got, sizeof want);
    assert_same(&a, &b);
    trial_fini(&a);
    trial_fini(&b);
    free(text);
}

/* What --stats prints for the model within a budget. */
static char *stats_of(const char *text, train_spec_t spec, uint64_t budget)
{
    err_t err = {0};
    spec.memory_budget = budget;
    char *stats = compile_emit(text, strlen(text), "rows", STAGE_STATS, &spec, target_host(), &err);
    if (!stats) fail_msg("%s", err.text);
    return stats;
}

static long long number_after(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    return at ? strtoll(at + strlen(words), NULL, 10) : 0;
}

/* The less memory, the more work. */
static void test_budgets(void **state)
{
    (void)state;
    char *text = model_text(), *stats = stats_of(text, TRAIN_SPEC_DEFAULT, 0);
    long long whole = number_after(stats, "arena "), before = 0;
    uint64_t least = smallest(text, TRAIN_SPEC_DEFAULT);
    assert_null(strstr(stats, "recomputed"));
    free(stats);
    for (int part = 3; part >= 0; part--) {
        uint64_t budget = least + ((uint64_t)whole - least) / 4 * (uint64_t)part;
        stats = stats_of(text, TRAIN_SPEC_DEFAULT, budget);
        long long again = number_after(stats, "of these ");
        print_message("%lld of %lld bytes: %lld steps again\n", number_after(stats, "arena "),
                      whole, again);
        assert_true((uint64_t)number_after(stats, "arena ") <= budget && again >= before &&
                    again > 0);
        before = again;
        free(stats);
    }
    free(text);
}

/* One byte less than the smallest budget is none. */
static void test_smallest(void **state)
{
    (void)state;
    err_t err = {0};
    size_t n;
    char *text = model_text();
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    uint64_t least = smallest(text, spec);
    spec.memory_budget = least - 1;
    assert_null(compile_text(text, strlen(text), "rows", &spec, target_host(), &n, &err));
    free(text);
}

/* The compiler without optimization, at a quarter of the cost: both plans have the same kernels. */
static int use_plain_compiler(void **state)
{
    static const char text[] = "#!/bin/sh\nexec cc \"$@\" -O0\n";
    char *dir = temp_dir();
    const char *path = temp_path(dir, "cc");
    temp_write(path, text, sizeof text - 1);
    *state = dir;
    return chmod(path, 0700) < 0 || setenv("PCP_CC", path, 1) < 0 ? -1 : 0;
}

static int remove_compiler(void **state)
{
    temp_remove((char **)state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_smallest),
    };
    return cmocka_run_group_tests(tests, use_plain_compiler, remove_compiler);
}
