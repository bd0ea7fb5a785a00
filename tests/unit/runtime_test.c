/* The executor on hand-made plans: loading code, kernels, GEMMs against a triple loop, training
 * steps with accumulation, profiles, and what must be refused. Kernels are compiled by the
 * system's cc. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/clock.h"
#include "codegen/target.h"
#include "runtime/exec.h"
#include "runtime/profile.h"

static const char source[] =
    "#include <stdint.h>\n"
    /* y = a x + y */
    "void axpy(char *arena, const int64_t *arg, int64_t begin, int64_t end) {\n"
    "    const float *a = (const float *)(arena + arg[0]), *x = (const float *)(arena + arg[1]);\n"
    "    float *y = (float *)(arena + arg[2]);\n"
    "    for (int64_t i = begin; i < end; i++) y[i] = a[0] * x[i] + y[i];\n"
    "}\n"
    /* sum += x; loss = x[0] */
    "void gather(char *arena, const int64_t *arg, int64_t begin, int64_t end) {\n"
    "    const int32_t *x = (const int32_t *)(arena + arg[0]);\n"
    "    float *sum = (float *)(arena + arg[1]), *loss = (float *)(arena + arg[2]);\n"
    "    for (int64_t i = begin; i < end; i++) {\n"
    "        sum[i] += (float)x[i];\n"
    "        if (i == 0) loss[0] = (float)x[0];\n"
    "    }\n"
    "}\n"
    /* p -= lr step sum */
    "void update(char *arena, const int64_t *arg, int64_t begin, int64_t end) {\n"
    "    float lr = *(const float *)(arena + arg[0]);\n"
    "    int64_t step = *(const int64_t *)(arena + arg[1]);\n"
    "    const float *sum = (const float *)(arena + arg[2]);\n"
    "    float *p = (float *)(arena + arg[3]);\n"
    "    for (int64_t i = begin; i < end; i++) p[i] -= lr * (float)step * sum[i];\n"
    "}\n";

/* Stands before the C library's: tests can take memory files away. */
static bool no_memfd;
int memfd_create(const char *name, unsigned flags)
{
    if (!no_memfd) return (int)syscall(SYS_memfd_create, name, flags);
    errno = ENOSYS;
    return -1;
}

static uint8_t *code;
static size_t n_code;

static int compile_kernels(void **state)
{
    char dir[] = "/tmp/pcp-runtime-test-XXXXXX", command[256], path[64];
    (void)state;
    if (!mkdtemp(dir)) return -1;
    snprintf(command, sizeof command,
             "cc -std=c11 -O2 -ffp-contract=off -shared -fPIC -x c -o %s/k.so -", dir);
    snprintf(path, sizeof path, "%s/k.so", dir);
    FILE *cc = popen(command, "w");
    fputs(source, cc);
    if (pclose(cc) != 0) return -1;
    FILE *file = fopen(path, "rb");
    code = malloc(1 << 20);
    n_code = fread(code, 1, 1 << 20, file);
    fclose(file);
    unlink(path);
    rmdir(dir);
    return n_code > 0 ? 0 : -1;
}

static int free_kernels(void **state)
{
    (void)state;
    free(code);
    return 0;
}

static plan_tensor_t tensor(const char *name, plan_role_t role, dtype_t dtype, int64_t n,
                            uint64_t offset)
{
    ir_type_t type = n ? ir_type(dtype, 1, &n) : ir_type_scalar(dtype);
    return (plan_tensor_t){(char *)name, role, type, offset, (uint64_t)ir_type_bytes(&type)};
}

/* --- Kernels ---------------------------------------------------------------------------------- */

enum { N = 1000 };

typedef struct {
    plan_tensor_t tensor[3];
    int64_t arg[3];
    plan_step_t step[2];
    uint32_t used[3];
    plan_program_t program;
    char *kernel[1];
    float constant;
    struct plan_constant constants[1];
    plan_t plan;
} axpy_plan_t;

/* a is a constant; "main" runs axpy and then copies y over x. */
static plan_t *axpy_plan(axpy_plan_t *p)
{
    *p = (axpy_plan_t){
        .tensor = {tensor("a", ROLE_CONSTANT, DT_F32, 0, 0), tensor("x", ROLE_BATCH, DT_F32, N, 64),
                   tensor("y", ROLE_RESULT, DT_F32, N, 4160)},
        .arg = {0, 64, 4160},
        .used = {0, 1, 2},
        .kernel = {"axpy"},
        .constant = 0.5f,
    };
    p->step[0] = (plan_step_t){.kind = STEP_KERNEL,
                               .label = "axpy",
                               .flops = 2 * N,
                               .kernel = {.extent = N, .grain = 16, .n_arg = 3, .arg = p->arg}};
    p->step[1] = (plan_step_t){.kind = STEP_COPY, .label = "copy", .copy = {4160, 64, 4 * N}};
    p->program = (plan_program_t){
        .name = "main", .n_step = 2, .step = p->step, .n_tensor = 3, .tensor = p->used};
    p->constants[0] = (struct plan_constant){0, 4, (uint8_t *)&p->constant};
    p->plan = (plan_t){.target = (char *)target_host(),
                       .accumulate = 1,
                       .arena_bytes = 8192,
                       .alignment = 64,
                       .n_tensor = 3,
                       .n_program = 1,
                       .n_kernel = 1,
                       .n_constant = 1,
                       .tensor = p->tensor,
                       .program = &p->program,
                       .kernel_name = p->kernel,
                       .constant = p->constants,
                       .code = code,
                       .n_code = n_code};
    return &p->plan;
}

static exec_t *open_plan(const plan_t *plan, int threads)
{
    err_t err = {0};
    exec_t *exec = exec_new(plan, &(exec_options_t){.threads = threads}, &err);
    if (!exec) fail_msg("%s", err.text);
    return exec;
}

static void test_kernel_steps(void **state)
{
    axpy_plan_t p;
    float x[N], y[N], zero[N] = {0};
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        exec_t *exec = open_plan(axpy_plan(&p), threads);
        assert_int_equal(exec_read(exec, 2, y, sizeof y, NULL), 0);
        assert_memory_equal(y, zero, sizeof y); /* the arena starts at zero */
        for (int i = 0; i < N; i++) x[i] = (float)i;
        assert_int_equal(exec_write(exec, 1, x, sizeof x, NULL), 0);
        assert_int_equal(exec_run(exec, "main", NULL), 0);
        assert_int_equal(exec_run(exec, "main", NULL), 0);
        assert_int_equal(exec_read(exec, 2, y, sizeof y, NULL), 0);
        /* y1 = x / 2, x1 = y1, y2 = x1 / 2 + y1 */
        for (int i = 0; i < N; i++) assert_true(y[i] == 0.75f * (float)i);
        assert_int_equal(exec_zero(exec, ROLE_RESULT, NULL), 0);
        assert_int_equal(exec_read(exec, 2, y, sizeof y, NULL), 0);
        assert_memory_equal(y, zero, sizeof y);
        exec_destroy(&exec);
        assert_null(exec);
    }
}

/* Two plans at once and again after: each load must find its own code. */
static void test_several_plans(void **state)
{
    axpy_plan_t p, q;
    (void)state;
    for (int i = 0; i < 3; i++) {
        exec_t *a = open_plan(axpy_plan(&p), 1), *b = open_plan(axpy_plan(&q), 2);
        assert_int_equal(exec_run(a, "main", NULL), 0);
        exec_destroy(&a);
        a = open_plan(&p.plan, 1);
        assert_int_equal(exec_run(b, "main", NULL), 0);
        assert_int_equal(exec_run(a, "main", NULL), 0);
        exec_destroy(&b);
        exec_destroy(&a);
    }
}

/* Without memory files the code goes through a directory that is gone afterwards. */
static void test_code_by_file(void **state)
{
    axpy_plan_t p;
    char dir[] = "/tmp/pcp-runtime-test-XXXXXX";
    const char *tmp = getenv("TMPDIR");
    char *before = tmp ? strdup(tmp) : NULL;
    (void)state;
    assert_non_null(mkdtemp(dir));
    setenv("TMPDIR", dir, 1);
    no_memfd = true;
    exec_t *exec = open_plan(axpy_plan(&p), 1);
    assert_int_equal(exec_run(exec, "main", NULL), 0);
    exec_destroy(&exec);
    assert_int_equal(rmdir(dir), 0); /* empty */
    err_t err = {0};
    assert_null(exec_new(axpy_plan(&p), NULL, &err)); /* and now there is no such place */
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, dir));
    no_memfd = false;
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(before);
}

static void refuse(const plan_t *plan, err_code_t want, const char *words)
{
    err_t err = {0};
    assert_null(exec_new(plan, NULL, &err));
    assert_int_equal(err.code, want);
    if (!strstr(err.text, words)) fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void test_refused_targets(void **state)
{
    axpy_plan_t p;
    int n_foreign = 0;
    (void)state;
    for (int i = 0; target_row(i); i++) { /* each that this processor lacks, by name */
        const char *name = target_row(i)->name;
        axpy_plan(&p)->target = (char *)name;
        if (target_runs_here(name, NULL) == 0) continue;
        refuse(&p.plan, ERR_UNSUPPORTED, name);
        n_foreign++;
    }
    assert_true(n_foreign > 0); /* there are two architectures */
    axpy_plan(&p)->target = (char *)target_host();
    p.plan.target = "rocm:gfx90a";
    refuse(&p.plan, ERR_UNSUPPORTED, "rocm:gfx90a");
    p.plan.target = "cpu:z80";
    refuse(&p.plan, ERR_ARG, "cpu:z80");
    err_t err = {0};
    assert_null(exec_new(axpy_plan(&p), &(exec_options_t){.ordinal = 7}, &err));
    assert_int_equal(err.code, ERR_ARG);
    assert_non_null(strstr(err.text, "7"));
    assert_int_equal(target_runs_here(target_host(), NULL), 0);
    assert_non_null(strstr(target_find(target_host(), NULL)->flags, "-march="));
    assert_null(target_find("cpu:z80", NULL));
}

static void test_refused_code(void **state)
{
    axpy_plan_t p;
    (void)state;
    axpy_plan(&p)->kernel_name[0] = "axpyz";
    refuse(&p.plan, ERR_CORRUPT, "axpyz");
    axpy_plan(&p)->n_code = 10;
    refuse(&p.plan, ERR_CORRUPT, "ELF");
    axpy_plan(&p)->n_code = n_code / 4; /* headers that point behind the end */
    refuse(&p.plan, ERR_CORRUPT, "plan code");
    uint8_t *other = malloc(n_code);
    memcpy(other, code, n_code);
    other[18] ^= 0xFF; /* e_machine */
    axpy_plan(&p)->code = other;
    refuse(&p.plan, ERR_UNSUPPORTED, "machine");
    free(other);
}

static void test_refused_bounds(void **state)
{
    axpy_plan_t p;
    (void)state;
    axpy_plan(&p)->alignment = 48;
    refuse(&p.plan, ERR_CORRUPT, "alignment");
    axpy_plan(&p)->arena_bytes = 1ull << 60;
    refuse(&p.plan, ERR_MEMORY, "MiB");
    axpy_plan(&p)->tensor[1].n_bytes = 4;
    refuse(&p.plan, ERR_CORRUPT, "tensor x");
    axpy_plan(&p)->tensor[2].offset = UINT64_MAX - 10;
    refuse(&p.plan, ERR_CORRUPT, "tensor y");
    axpy_plan(&p)->constant[0].offset = 8189;
    refuse(&p.plan, ERR_CORRUPT, "constant 0");
    axpy_plan(&p)->program->step[0].kernel.kernel = 1;
    refuse(&p.plan, ERR_CORRUPT, "kernel 1 of 1");
    axpy_plan(&p)->program->step[0].kernel.arg[2] = -4;
    refuse(&p.plan, ERR_CORRUPT, "operand 2");
    axpy_plan(&p)->program->step[0].kernel.grain = 0;
    refuse(&p.plan, ERR_CORRUPT, "grain");
    axpy_plan(&p)->program->step[1].copy.to = 4224;
    refuse(&p.plan, ERR_CORRUPT, "step 1 (copy)");
    axpy_plan(&p)->program->step[1].copy.to = 8000;
    refuse(&p.plan, ERR_CORRUPT, "leaves the arena");
    axpy_plan(&p)->program->step[1].kind = 9;
    refuse(&p.plan, ERR_CORRUPT, "kind 9");
    axpy_plan(&p)->program->tensor[0] = 3;
    refuse(&p.plan, ERR_CORRUPT, "tensor 3");
}

static void test_refused_calls(void **state)
{
    axpy_plan_t p;
    err_t err = {0};
    float x[N];
    (void)state;
    exec_t *exec = open_plan(axpy_plan(&p), 1);
    assert_int_equal(exec_run(exec, "mian", &err), -1);
    assert_non_null(strstr(err.text, "mian"));
    assert_int_equal(exec_write(exec, 1, x, sizeof x - 4, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    assert_int_equal(exec_read(exec, 3, x, sizeof x, &err), -1);
    assert_int_equal(exec_read(exec, -1, x, sizeof x, &err), -1);
    const void *batch[] = {x};
    assert_int_equal(exec_train_step(exec, batch, 1, 1, NULL, &err), -1);
    assert_non_null(strstr(err.text, "train"));
    exec_destroy(&exec);
}

/* Every thread writes its own entry: what a watcher may do. */
typedef struct {
    int steps, ranges[2];
    double from, to;
} watched_t;

static void on_event(void *user, const exec_event_t *event)
{
    watched_t *self = user;
    assert_true(event->end >= event->begin);
    assert_string_equal(event->program->name, "main");
    if (event->thread >= 0) {
        self->ranges[event->thread]++;
        return;
    }
    if (self->steps++ == 0) self->from = event->begin;
    self->to = event->end;
}

static void test_watch(void **state)
{
    axpy_plan_t p;
    watched_t watched = {0};
    (void)state;
    exec_t *exec = open_plan(axpy_plan(&p), 2);
    assert_int_equal(exec_threads(exec), 2);
    assert_int_equal(exec_run(exec, "main", NULL), 0);
    exec_watch(exec, on_event, &watched);
    double start = clock_mono_s();
    assert_int_equal(exec_run(exec, "main", NULL), 0);
    assert_true(watched.from >= start && watched.to <= clock_mono_s());
    assert_int_equal(watched.steps, 2);
    assert_true(watched.ranges[0] + watched.ranges[1] >= 2);
    exec_watch(exec, NULL, NULL);
    assert_int_equal(exec_run(exec, "main", NULL), 0);
    assert_int_equal(watched.steps, 2);
    exec_destroy(&exec);
}

static void check_trace(const profile_t *profile, int turns)
{
    char path[64];
    int steps = 0, ranges = 0;
    snprintf(path, sizeof path, "/tmp/pcp-trace-test-%d.json", (int)getpid());
    assert_int_equal(profile_write_trace(profile, path, NULL), 0);
    json_t *root = json_load_file(path, 0, NULL), *event;
    assert_non_null(root);
    size_t i;
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        if (strcmp(json_string_value(json_object_get(event, "ph")), "X") != 0) continue;
        assert_true(json_real_value(json_object_get(event, "dur")) >= 0);
        assert_true(json_real_value(json_object_get(event, "ts")) >= 0);
        *(json_integer_value(json_object_get(event, "tid")) == 0 ? &steps : &ranges) += 1;
    }
    assert_int_equal(steps, 2 * turns);
    assert_true(ranges >= 2 * turns);
    json_decref(root);
    unlink(path);
}

static void test_profile(void **state)
{
    axpy_plan_t p;
    int n_rows = 0;
    (void)state;
    exec_t *exec = open_plan(axpy_plan(&p), 2);
    profile_t *profile = profile_new(exec);
    for (int turn = 0; turn < 5; turn++) {
        profile_begin(profile);
        for (int i = 0; i < 3; i++) assert_int_equal(exec_run(exec, "main", NULL), 0);
        profile_end(profile);
        assert_int_equal(exec_run(exec, "main", NULL), 0); /* nobody looks */
    }
    profile_row_t *rows = profile_rows(profile, &n_rows);
    assert_int_equal(n_rows, 2);
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rows[i].step, i);
        assert_true(rows[i].calls > 2.999 && rows[i].calls < 3.001);
        assert_true(rows[i].seconds > 0 && rows[i].busy > 0);
        assert_true(rows[i].cpu > 0 && rows[i].cpu < 5);
        sum += rows[i].seconds;
    }
    assert_string_equal(rows[0].program->step[0].label, "axpy");
    assert_true(rows[0].flops > 2.999 * 2 * N && rows[0].flops < 3.001 * 2 * N);
    assert_true(profile_turn_seconds(profile) > 0 && sum < 5);
    check_trace(profile, 15);
    free(rows);
    profile_destroy(&profile);
    assert_null(profile);
    exec_destroy(&exec);
}

/* --- Training steps --------------------------------------------------------------------------- */

static void test_train_step(void **state)
{
    (void)state;
    plan_tensor_t tensors[] = {
        tensor("p", ROLE_PARAM, DT_F32, 4, 0),       tensor("sum", ROLE_ACCUMULATOR, DT_F32, 4, 64),
        tensor("x", ROLE_BATCH, DT_I32, 4, 128),     tensor("lr", ROLE_SCALAR, DT_F32, 0, 192),
        tensor("step", ROLE_SCALAR, DT_I64, 0, 256), tensor("loss", ROLE_RESULT, DT_F32, 0, 320),
    };
    int64_t gather_arg[] = {128, 64, 320}, update_arg[] = {192, 256, 64, 0};
    plan_step_t gather = {.kind = STEP_KERNEL,
                          .label = "g",
                          .kernel = {.extent = 4, .grain = 4, .n_arg = 3, .arg = gather_arg}};
    plan_step_t update = {
        .kind = STEP_KERNEL,
        .label = "u",
        .kernel = {.kernel = 1, .extent = 4, .grain = 4, .n_arg = 4, .arg = update_arg}};
    plan_step_t both[] = {gather, update};
    uint32_t all[] = {0, 1, 2, 3, 4, 5};
    plan_program_t programs[] = {
        {.name = "accumulate", .n_step = 1, .step = &gather, .n_tensor = 6, .tensor = all},
        {.name = "update", .n_step = 1, .step = &update, .n_tensor = 6, .tensor = all},
        {.name = "train", .n_step = 2, .step = both, .n_tensor = 6, .tensor = all}};
    char *kernels[] = {"gather", "update"};
    plan_t plan = {.target = (char *)target_host(),
                   .accumulate = 3,
                   .arena_bytes = 384,
                   .alignment = 64,
                   .n_tensor = 6,
                   .n_program = 3,
                   .n_kernel = 2,
                   .tensor = tensors,
                   .program = programs,
                   .kernel_name = kernels,
                   .code = code,
                   .n_code = n_code};
    int32_t x[12] = {1, 2, 3, 4, 10, 20, 30, 40, 100, 200, 300, 400};
    const void *batch[] = {x};
    float loss = -1, p[4];
    exec_t *exec = open_plan(&plan, 2);
    for (long step = 1; step <= 2; step++)
        assert_int_equal(exec_train_step(exec, batch, 0.5, step, &loss, NULL), 0);
    assert_true(loss == 37); /* (1 + 10 + 100) / 3 */
    assert_int_equal(exec_read(exec, 0, p, sizeof p, NULL), 0);
    for (int i = 0; i < 4; i++) /* sums start afresh at each step; step is 1, then 2 */
        assert_true(p[i] == -0.5f * 111.0f * (float)(i + 1) * (1 + 2));
    exec_destroy(&exec);

    plan.accumulate = 1;
    exec = open_plan(&plan, 1);
    assert_int_equal(exec_train_step(exec, batch, 2, 3, &loss, NULL), 0);
    assert_int_equal(exec_read(exec, 0, p, sizeof p, NULL), 0);
    assert_true(loss == 1 && p[3] == -2.0f * 3.0f * 4.0f);
    exec_destroy(&exec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_steps),  cmocka_unit_test(test_several_plans),
        cmocka_unit_test(test_code_by_file),  cmocka_unit_test(test_refused_targets),
        cmocka_unit_test(test_refused_code),  cmocka_unit_test(test_refused_bounds),
        cmocka_unit_test(test_refused_calls), cmocka_unit_test(test_watch),
        cmocka_unit_test(test_profile),       cmocka_unit_test(test_train_step),
    };
    return cmocka_run_group_tests(tests, compile_kernels, free_kernels);
}
