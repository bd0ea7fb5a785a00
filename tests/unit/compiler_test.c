/* The compiler's job without sockets: cache, the process that compiles and its limits, description
 * of plans, whose fault an error is. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "compiler/compiler.h"
#include "compiler/sample.h"
#include "compiler/task.h"
#include "temp.h"

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
    struct timespec long_ago[2] = {{1000, 0}, {1000, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    uint8_t *found = compiler_plan(&compiler, &job, NULL, NULL, &cached, &n_found, &err);
    assert_non_null(found);
    assert_true(cached);
    assert_int_equal(n_found, n);
    assert_memory_equal(found, plan, n);
    free(found);
    struct stat now; /* it has been used */
    assert_int_equal(stat(path, &now), 0);
    assert_true(now.st_mtim.tv_sec > 1000);
    plan[n / 2] ^= 1;
    assert_int_equal(file_write_atomic(path, plan, n, &err), 0);
    job.spec = "no spec"; /* so that it ends before it needs a client */
    free(path);
    path = compiler_cache_path(&compiler, &job, NULL);
    assert_int_equal(file_write_atomic(path, plan, n, &err), 0);
    assert_null(compiler_plan(&compiler, &job, NULL, NULL, &cached, &n_found, &err));
    assert_false(cached);
    free(path);
    free(plan);
    free(spec);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

/* --- A job's process -------------------------------------------------------------------------- */

typedef struct {
    char *dir, *program;
    compiler_t compiler;
    Msg__Compile job;
    int64_t until_ms; /* when its answer is not wanted any more; 0: it is */
} task_t;

static bool is_stopped(void *user)
{
    const task_t *self = user;
    return self->until_ms > 0 && clock_mono_ms() >= self->until_ms;
}

/* With a C compiler that is this script; NULL: the usual one. */
static void task_setup(task_t *self, const char *script)
{
    const char *bin = getenv("PCP_BIN");
    err_t err = {0};
    *self = (task_t){.dir = temp_dir()};
    self->program = mem_printf("%s/pcp-compiler", bin ? bin : "build/bin");
    if (compiler_init(&self->compiler, self->dir, &err) < 0) fail_msg("%s", err.text);
    self->compiler.program = self->program;
    self->job = (Msg__Compile)MSG__COMPILE__INIT;
    self->job.file = "m.mlir";
    self->job.module = "m";
    self->job.spec = train_spec_print(&TRAIN_SPEC_DEFAULT);
    self->job.target = (char *)target_host();
    if (!script) return;
    const char *path = temp_path(self->dir, "cc");
    temp_write(path, script, strlen(script));
    assert_int_equal(chmod(path, 0700), 0);
    setenv("PCP_CC", path, 1);
}

static uint8_t *task_do(task_t *self, const char *text, size_t *n, err_t *err)
{
    const compiler_stop_t stop = {is_stopped, self};
    bool cached;
    return task_run(&self->compiler, &self->job, text, strlen(text), &stop, &cached, n, err);
}

static void task_teardown(task_t *self)
{
    unsetenv("PCP_CC");
    free(self->job.spec);
    free(self->program);
    temp_remove(&self->dir);
}

/* The process whose number a script has left there has ended. */
static void check_gone(const task_t *self)
{
    err_t err = {0};
    size_t n = 0;
    char *text = file_read(temp_path(self->dir, "cc.pid"), &n, &err);
    if (!text) fail_msg("%s", err.text);
    int64_t end = clock_mono_ms() + 10000;
    while (kill(atoi(text), 0) == 0 && clock_mono_ms() < end) usleep(10000);
    assert_int_equal(kill(atoi(text), 0), -1);
    free(text);
}

static const char sleeper[] = "#!/bin/sh\necho $$ > ${0}.pid\nexec sleep 1000\n";

static void a_plan_of_a_process(void **unused)
{
    (void)unused;
    task_t task;
    err_t err = {0};
    size_t n = 0;
    task_setup(&task, NULL);
    uint8_t *plan = task_do(&task, MODEL, &n, &err);
    if (!plan) fail_msg("%s", err.text);
    plan_t *unpacked = plan_unpack(plan, n, &err);
    assert_non_null(unpacked);
    plan_destroy(&unpacked);
    free(plan);
    const char *table = temp_path(task.dir, "table"); /* of no product: as without */
    temp_write(table, "# none\n", 7);
    task.compiler.tune_table = table;
    uint8_t *same = task_do(&task, MODEL, &n, &err);
    if (!same) fail_msg("%s", err.text);
    free(same);
    task.compiler.tune_table = NULL;
    assert_null(task_do(&task, "func.func @main( {", &n, &err));
    assert_int_equal(err.code, ERR_PARSE);
    assert_non_null(strstr(err.text, "m.mlir:1:"));
    task_teardown(&task);
}

static void a_limit_of_time(void **unused)
{
    (void)unused;
    task_t task;
    err_t err = {0};
    size_t n = 0;
    task_setup(&task, sleeper);
    task.compiler.limits.seconds = 2;
    assert_null(task_do(&task, MODEL, &n, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "more than 2 s (--compile-timeout-s)"));
    check_gone(&task);
    task_teardown(&task);
}

static void cancelled(void **unused)
{
    (void)unused;
    task_t task;
    err_t err = {0};
    size_t n = 0;
    task_setup(&task, sleeper);
    int64_t begin = clock_mono_ms();
    task.until_ms = begin + 1500;
    assert_null(task_do(&task, MODEL, &n, &err));
    assert_int_equal(err.code, ERR_STATE);
    assert_true(clock_mono_ms() - begin < 60000);
    check_gone(&task);
    task_teardown(&task);
}

static void a_crash(void **unused)
{
    (void)unused;
    task_t task;
    err_t err = {0};
    size_t n = 0;
    task_setup(&task, "#!/bin/sh\nkill -KILL $PPID\nsleep 1\n");
    assert_null(task_do(&task, MODEL, &n, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "killed by signal 9"));
    task_teardown(&task);
}

static void a_limit_of_memory(void **unused)
{
    (void)unused;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* their shadow takes more than any limit */
#endif
    enum { LINES = 40000 };
    task_t task;
    err_t err = {0};
    str_t text = {0};
    size_t n = 0;
    str_add(&text, "func.func @main(%x0: tensor<8xf32>) -> tensor<f32> {\n");
    for (int i = 0; i < LINES; i++)
        str_addf(&text, "  %%x%d = stablehlo.multiply %%x%d, %%x%d : tensor<8xf32>\n", i + 1, i, i);
    str_addf(&text,
             "  %%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
             "  %%l = stablehlo.reduce(%%x%d init: %%zero) applies stablehlo.add across dimensions "
             "= [0]\n      : (tensor<8xf32>, tensor<f32>) -> tensor<f32>\n"
             "  return %%l : tensor<f32>\n}\n",
             LINES);
    task_setup(&task, NULL);
    task.compiler.limits.bytes = 512 << 20;
    assert_null(task_do(&task, text.at, &n, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "(--compile-memory)"));
    str_fini(&text);
    task_teardown(&task);
}

/* A layout that is none is refused before anybody is asked for anything. */
static void layouts_of_samples(void **unused)
{
    (void)unused;
    int64_t dims[2] = {3, 4};
    uint64_t bounds[3] = {0, 6, 12};
    char *data[] = {"a", "b"};
    Msg__TensorInfo w = MSG__TENSOR_INFO__INIT, *params[] = {&w};
    w.name = "w";
    w.n_dims = 2;
    w.dims = dims;
    Msg__Sample good = MSG__SAMPLE__INIT;
    good.params = params;
    good.n_params = 1;
    good.data = data;
    good.n_data = 2;
    good.bounds = bounds;
    good.n_bounds = 3;
    enum { TOO_LONG, TOO_FEW, BACKWARDS, NEGATIVE, HUGE, TOO_DEEP, CASES };
    const compiler_t compiler = {0};
    for (int i = 0; i < CASES; i++) {
        Msg__Sample job = good;
        err_t err = {0};
        bounds[1] = i == BACKWARDS ? 13 : 6;
        bounds[2] = i == TOO_LONG ? 13 : 12;
        if (i == TOO_FEW) job.n_bounds = 2;
        dims[0] = i == NEGATIVE ? -3 : i == HUGE ? INT64_MAX / 2 : 3;
        dims[1] = i == NEGATIVE ? -4 : 4;
        w.n_dims = i == TOO_DEEP ? 1000 : 2;
        assert_null(sample_run(&compiler, &job, NULL, NULL, &err));
        assert_int_equal(err.code, ERR_NET);
    }
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
        cmocka_unit_test(descriptions),        cmocka_unit_test(the_cache),
        cmocka_unit_test(a_plan_of_a_process), cmocka_unit_test(a_limit_of_time),
        cmocka_unit_test(cancelled),           cmocka_unit_test(a_crash),
        cmocka_unit_test(a_limit_of_memory),   cmocka_unit_test(faults),
        cmocka_unit_test(layouts_of_samples),
    };
    return cmocka_run_group_tests_name("compiler", tests, NULL, NULL);
}
