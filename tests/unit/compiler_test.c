/* The compiler's job without sockets: cache, description of plans, whose fault an error is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "compiler/compiler.h"

/* @logits has data of its own, which is no part of a training batch. */
static const char MODEL[] =
    "module {\n"
    "  func.func @main(%w: tensor<2x3xf32>, %x: tensor<2x3xi64>) -> tensor<f32> {\n"
    "    %xf = stablehlo.convert %x : (tensor<2x3xi64>) -> tensor<2x3xf32>\n"
    "    %p = stablehlo.multiply %w, %xf : tensor<2x3xf32>\n"
    "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "    %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0, 1]"
    " : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>\n"
    "    return %s : tensor<f32>\n"
    "  }\n"
    "  func.func @logits(%w: tensor<2x3xf32>, %x: tensor<2x3xi32>) -> tensor<2x3xf32> {\n"
    "    %xf = stablehlo.convert %x : (tensor<2x3xi32>) -> tensor<2x3xf32>\n"
    "    %p = stablehlo.multiply %w, %xf : tensor<2x3xf32>\n"
    "    return %p : tensor<2x3xf32>\n"
    "  }\n"
    "}\n";

static void descriptions(void **unused)
{
    (void)unused;
    err_t err = {0};
    size_t n = 0;
    uint8_t *plan = compile_text(MODEL, strlen(MODEL), "m.mlir", &TRAIN_SPEC_DEFAULT, target_host(),
                                 &n, &err);
    if (!plan) fail_msg("%s", err.text);
    Msg__PlanReply reply = MSG__PLAN_REPLY__INIT;
    compiler_lists_t *lists = compiler_describe(plan, n, &reply, &err);
    assert_non_null(lists);
    assert_int_equal(reply.n_params, 1);
    assert_string_equal(reply.params[0]->name, "arg0");
    assert_string_equal(reply.params[0]->dtype, "f32");
    assert_int_equal(reply.params[0]->n_dims, 2);
    assert_int_equal(reply.params[0]->dims[1], 3);
    assert_int_equal(reply.n_batch, 1);
    assert_string_equal(reply.batch[0]->name, "arg1");
    assert_string_equal(reply.batch[0]->dtype, "i64");
    compiler_lists_destroy(&lists);
    assert_null(compiler_describe(plan, n - 1, &reply, &err));
    free(plan);
}

static void the_cache(void **unused)
{
    (void)unused;
    char dir[] = "/tmp/pcp-compiler-test.XXXXXX", *spec = train_spec_print(&TRAIN_SPEC_DEFAULT);
    assert_non_null(mkdtemp(dir));
    compiler_t compiler;
    err_t err = {0};
    assert_int_equal(compiler_init(&compiler, dir, &err), 0);
    Msg__Compile job = MSG__COMPILE__INIT;
    job.module = "m";
    job.spec = spec;
    job.target = (char *)target_host();
    /* Each part of the job names another file; a shift between parts is no equality. */
    char *path = compiler_cache_path(&compiler, &job, NULL);
    job.module = "n";
    char *other = compiler_cache_path(&compiler, &job, NULL);
    assert_string_not_equal(path, other);
    free(other);
    job.module = "m";
    job.target = "cpu:other";
    other = compiler_cache_path(&compiler, &job, NULL);
    assert_string_not_equal(path, other);
    free(other);
    job.target = (char *)target_host();
    /* A plan that lies there is found without a client; a damaged one is not used. */
    size_t n = 0, n_found = 0;
    bool cached = false;
    uint8_t *plan = compile_text(MODEL, strlen(MODEL), "m.mlir", &TRAIN_SPEC_DEFAULT, target_host(),
                                 &n, &err);
    assert_int_equal(file_write_atomic(path, plan, n, &err), 0);
    uint8_t *found = compiler_plan(&compiler, &job, NULL, &cached, &n_found, &err);
    assert_non_null(found);
    assert_true(cached);
    assert_int_equal(n_found, n);
    assert_memory_equal(found, plan, n);
    free(found);
    plan[n / 2] ^= 1;
    assert_int_equal(file_write_atomic(path, plan, n, &err), 0);
    job.spec = "no spec"; /* so that it ends before it needs a client */
    free(path);
    path = compiler_cache_path(&compiler, &job, NULL);
    assert_int_equal(file_write_atomic(path, plan, n, &err), 0);
    assert_null(compiler_plan(&compiler, &job, NULL, &cached, &n_found, &err));
    assert_false(cached);
    free(path);
    free(plan);
    free(spec);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

static void faults(void **unused)
{
    (void)unused;
    assert_true(compiler_model_at_fault(ERR_PARSE));
    assert_true(compiler_model_at_fault(ERR_UNSUPPORTED));
    assert_false(compiler_model_at_fault(ERR_IO));
    assert_false(compiler_model_at_fault(ERR_MEMORY));
    assert_false(compiler_model_at_fault(ERR_NET));
}

int main(void)
{
    log_init("compiler_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions),
        cmocka_unit_test(the_cache),
        cmocka_unit_test(faults),
    };
    return cmocka_run_group_tests_name("compiler", tests, NULL, NULL);
}
