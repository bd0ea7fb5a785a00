/* Exported models, gradients and training programs whole: plans against the interpreter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "optim/optim.h"
#include "parse/parse.h"
#include "plan_help.h"

/* An exported model, or NULL when the shared material is absent. */
static ir_module_t *read_model(const char *name)
{
    const char *shared = getenv("PCP_SHARED");
    char path[512];
    err_t err = {0};
    snprintf(path, sizeof path, "%s/data/models/%s", shared ? shared : "../shared", name);
    if (access(path, R_OK) != 0) {
        print_message("%s is absent\n", path);
        return NULL;
    }
    ir_module_t *module = parse_stablehlo_file(path, &err);
    if (!module) fail_msg("%s", err.text);
    return module;
}

/* The whole gradient of an exported model: every parameter within 1e-5 of max|g|. */
static void test_model_gradient(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *module = read_model("nanogpt_small.mlir");
    if (!module) skip();
    if (optim_build_gradient(module, &err) < 0) fail_msg("%s", err.text);
    plan_check_module(module, &(plan_check_t){10, 65, 0.3, 1e-5, 0});
}

/* All training programs, with and without micro-batches. An update divides by sqrt(v) + eps, which
 * passes on the relative error of gradients near zero: within 1e-4 of the largest parameter. */
static void test_model_training(void **state)
{
    (void)state;
    err_t err = {0};
    for (int accumulate = 1; accumulate <= 2; accumulate++) {
        train_spec_t spec = TRAIN_SPEC_DEFAULT;
        spec.accumulate = accumulate;
        ir_module_t *module = read_model("nanochat_forward_32.mlir");
        if (!module) skip();
        if (optim_build(module, &spec, &err) < 0) fail_msg("%s", err.text);
        plan_check_module(module, &(plan_check_t){11, 65, 0.3, 1e-4, 0});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_gradient),
        cmocka_unit_test(test_model_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
