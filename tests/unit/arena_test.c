/* Large results of one program lie among the temporaries of others: the scores of a language model
 * that is sampled between its training steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ir/print.h"
#include "model/gpt2.h"
#include "plan_help.h"
#include "tools/trial.h"

enum { BLOCK = 128, VOCAB = 4096, STEPS = 4, SEED = 11 }; /* 2 MiB of scores */

static ir_module_t *model(int vocab, int batch)
{
    err_t err = {0};
    const gpt2_config_t config = {
        .layers = 1, .heads = 2, .width = 32, .block = BLOCK, .vocab = vocab, .batch = batch};
    ir_module_t *module = gpt2_build(&config, &err);
    if (!module) fail_msg("%s", err.text);
    return module;
}

static char *model_text(int vocab)
{
    str_t text = {0};
    ir_module_t *module = model(vocab, 2);
    ir_print_module(module, &text);
    ir_module_destroy(&module);
    return text.at;
}

static trial_t start(const char *text, uint64_t budget)
{
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.memory_budget = budget;
    const trial_options_t options = {.spec = &spec, .threads = 2, .vocab = VOCAB, .seed = SEED};
    trial_t trial;
    err_t err = {0};
    if (trial_init(&trial, text, strlen(text), "model", &options, &err) < 0)
        fail_msg("%s", err.text);
    return trial;
}

static const plan_tensor_t *logits_of(const plan_t *plan)
{
    int t = plan_find_tensor(plan, ROLE_RESULT, "logits");
    assert_true(t >= 0);
    return &plan->tensor[t];
}

static uint64_t most_temporaries(const plan_t *plan)
{
    uint64_t most = 0;
    for (int p = 0; p < plan->n_program; p++)
        if (plan->program[p].temporary_bytes > most) most = plan->program[p].temporary_bytes;
    return most;
}

/* The arena ends with the larger of two programs' needs, and what training keeps comes before. */
static void test_layout(void **state)
{
    (void)state;
    char *text = model_text(VOCAB);
    trial_t trial = start(text, 0);
    const plan_t *plan = trial.plan;
    const plan_tensor_t *logits = logits_of(plan);
    const plan_program_t *sampling = plan_find_program(plan, "logits");
    assert_non_null(sampling);
    assert_true(logits->n_bytes == (uint64_t)BLOCK * VOCAB * 4);
    assert_true(logits->offset >= plan->fixed_bytes);
    assert_true(sampling->temporary_bytes >= logits->n_bytes);
    assert_true(plan->arena_bytes == plan->fixed_bytes + most_temporaries(plan));
    for (int t = 0; t < plan->n_tensor; t++) {
        const plan_tensor_t *other = &plan->tensor[t];
        if (other != logits) assert_true(other->offset + other->n_bytes <= plan->fixed_bytes);
    }
    trial_fini(&trial);
    free(text);
}

/* Small results keep their memory. */
static void test_small(void **state)
{
    (void)state;
    char *text = model_text(64);
    trial_t trial = start(text, 0);
    const plan_tensor_t *logits = logits_of(trial.plan);
    assert_true(logits->offset + logits->n_bytes <= trial.plan->fixed_bytes);
    trial_fini(&trial);
    free(text);
}

/* Scores of the tokens 0, 1, 2, ... */
static float *sample(const plan_t *plan, exec_t *exec)
{
    err_t err = {0};
    int32_t tokens[BLOCK];
    const plan_program_t *program = plan_find_program(plan, "logits");
    for (int i = 0; i < BLOCK; i++) tokens[i] = i;
    for (int i = 0; i < program->n_tensor; i++)
        if (plan->tensor[program->tensor[i]].role == ROLE_BATCH &&
            exec_write(exec, (int)program->tensor[i], tokens, sizeof tokens, &err) < 0)
            fail_msg("%s", err.text);
    size_t n = (size_t)logits_of(plan)->n_bytes;
    float *scores = mem_calloc(1, n);
    int from = plan_find_tensor(plan, ROLE_RESULT, "logits");
    if (exec_run(exec, "logits", &err) < 0 || exec_read(exec, from, scores, n, &err) < 0)
        fail_msg("%s", err.text);
    return scores;
}

/* The same by an exec that never trained. */
static float *sample_afresh(const trial_t *trial)
{
    err_t err = {0};
    const exec_options_t options = {.threads = 2};
    exec_t *exec = exec_new(trial->plan, &options, &err);
    if (!exec) fail_msg("%s", err.text);
    for (int t = 0; t < trial->plan->n_tensor; t++) {
        size_t n = (size_t)trial->plan->tensor[t].n_bytes;
        if (trial->plan->tensor[t].role != ROLE_PARAM) continue;
        void *bytes = mem_calloc(1, n);
        if (exec_read(trial->exec, t, bytes, n, &err) < 0 ||
            exec_write(exec, t, bytes, n, &err) < 0)
            fail_msg("%s", err.text);
        free(bytes);
    }
    float *scores = sample(trial->plan, exec);
    exec_destroy(&exec);
    return scores;
}

/* Training does not see that somebody samples, nor sampling that somebody trains. */
static void check_sampling(uint64_t budget)
{
    err_t err = {0};
    char *text = model_text(VOCAB);
    trial_t quiet = start(text, 0), sampled = start(text, budget);
    for (int i = 0; i < STEPS; i++) {
        float want, got;
        if (trial_step(&quiet, &want, &err) < 0 || trial_step(&sampled, &got, &err) < 0)
            fail_msg("%s", err.text);
        assert_memory_equal(&want, &got, sizeof want);
        float *scores = sample(sampled.plan, sampled.exec), *fresh = sample_afresh(&sampled);
        assert_memory_equal(scores, fresh, (size_t)logits_of(sampled.plan)->n_bytes);
        free(scores);
        free(fresh);
    }
    trial_fini(&quiet);
    trial_fini(&sampled);
    free(text);
}

static void test_sampling(void **state)
{
    (void)state;
    check_sampling(0);
}

/* The smallest budget holds the scores as well. */
static void test_budget(void **state)
{
    (void)state;
    err_t err = {0};
    size_t n;
    char *text = model_text(VOCAB);
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.memory_budget = 1;
    assert_null(compile_text(text, strlen(text), "model", &spec, target_host(), &n, &err));
    const char *at = strstr(err.text, "MiB (");
    assert_non_null(at);
    free(text);
    check_sampling(strtoull(at + strlen("MiB ("), NULL, 10));
}

/* Results of both programs beside the interpreter's. */
static void test_results(void **state)
{
    (void)state;
    const plan_check_t how = {
        .seed = SEED, .int_top = BLOCK, .scale = 0.5, .tolerance = 1e-4, .least = 1};
    plan_check_module(model(VOCAB / 2, 1), &how);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),   cmocka_unit_test(test_small),
        cmocka_unit_test(test_sampling), cmocka_unit_test(test_budget),
        cmocka_unit_test(test_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
