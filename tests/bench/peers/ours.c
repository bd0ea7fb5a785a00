/* The model, its first values and batches; and the executor on command. */
#include "ours.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "ckpt/safetensors.h"
#include "ir/print.h"
#include "model/init.h"
#include "optim/optim.h"
#include "runtime/exec.h"

enum { SEED = 1, MAX_TENSOR = 4096 };

/* --- what both start from --------------------------------------------------------------------- */

typedef struct {
    safetensor_t tensor[MAX_TENSOR];
    size_t n;
} start_t;

static int add_parameter(start_t *self, const ir_fn_t *fn, int a, const optim_arg_t *arg,
                         err_t *err)
{
    int64_t n = ir_type_count(&arg->type);
    float *values = mem_calloc((size_t)n, sizeof *values);
    safetensor_t *t = &self->tensor[self->n++];
    *t = (safetensor_t){.name = arg->name,
                        .dtype = DT_F32,
                        .rank = arg->type.rank,
                        .data = values,
                        .n_bytes = (size_t)n * sizeof *values};
    memcpy(t->dims, arg->type.dim, (size_t)arg->type.rank * sizeof *t->dims);
    return init_fill(init_rule(fn, a), SEED, arg->name, values, n, err);
}

static void add_batches(start_t *self, const gpt2_config_t *c, const char *name)
{
    int64_t n = (int64_t)OURS_BATCHES * c->batch * c->block;
    int32_t *values = mem_calloc((size_t)n, sizeof *values);
    uint64_t stream = rng_derive(SEED, name);
    for (int64_t i = 0; i < n; i++)
        values[i] = (int32_t)(rng_bits(stream, (uint64_t)i) % (uint64_t)c->vocab);
    self->tensor[self->n++] = (safetensor_t){.name = name,
                                             .dtype = DT_I32,
                                             .rank = 3,
                                             .dims = {OURS_BATCHES, c->batch, c->block},
                                             .data = values,
                                             .n_bytes = (size_t)n * sizeof *values};
}

static int write_start(ir_module_t *module, const gpt2_config_t *config, const char *path,
                       err_t *err)
{
    start_t *start = mem_calloc(1, sizeof *start);
    const ir_fn_t *fn = ir_module_entry(module, err);
    const optim_arg_t *args = fn ? optim_args(module, fn, err) : NULL;
    int status = args ? 0 : -1;
    for (int a = 0; status == 0 && a < fn->body->n_arg && start->n < MAX_TENSOR - 2; a++)
        if (args[a].is_param) status = add_parameter(start, fn, a, &args[a], err);
    add_batches(start, config, "batch.x");
    add_batches(start, config, "batch.y");
    if (status == 0) status = safetensors_write(path, start->tensor, start->n, NULL, 0, err);
    for (size_t i = 0; i < start->n; i++) free((void *)(uintptr_t)start->tensor[i].data);
    free(start);
    return status;
}

int ours_write_model(const gpt2_config_t *config, const char *dir, err_t *err)
{
    str_t text = {0};
    ir_module_t *module = gpt2_build(config, err);
    if (!module) return -1;
    ir_print_module(module, &text);
    char *model = mem_printf("%s/model.mlir", dir),
         *start = mem_printf("%s/start.safetensors", dir);
    int status = file_write_atomic(model, text.at, text.n, err);
    if (status == 0) status = write_start(module, config, start, err);
    free(model);
    free(start);
    str_fini(&text);
    ir_module_destroy(&module);
    return status;
}

/* --- training on command ---------------------------------------------------------------------- */

static plan_t *read_plan(const char *path, err_t *err)
{
    size_t n;
    char *bytes = file_read(path, &n, err);
    plan_t *plan = bytes ? plan_unpack((const uint8_t *)bytes, n, err) : NULL;
    free(bytes);
    return plan;
}

/* Parameters into the exec; batches[2] copied, for x and y. */
static int load_start(exec_t *exec, const plan_t *plan, const char *path, char **batches,
                      err_t *err)
{
    static const char *const names[] = {"batch.x", "batch.y"};
    safetensors_t *start = safetensors_open(path, err);
    int status = start ? 0 : -1;
    for (size_t i = 0; status == 0 && i < safetensors_count(start); i++) {
        const safetensor_t *t = safetensors_at(start, i);
        int tensor = plan_find_tensor(plan, ROLE_PARAM, t->name);
        if (tensor >= 0) status = exec_write(exec, tensor, t->data, t->n_bytes, err);
    }
    for (int i = 0; status == 0 && i < 2; i++) {
        const safetensor_t *t = safetensors_find(start, names[i]);
        if (!t) status = err_set(err, ERR_CORRUPT, "%s: no tensor %s", path, names[i]);
        if (!t) break;
        batches[i] = mem_calloc(t->n_bytes, 1);
        memcpy(batches[i], t->data, t->n_bytes);
    }
    safetensors_close(&start);
    return status;
}

static int run_steps(exec_t *exec, char *const *batches, size_t n_bytes, long *taken, int n,
                     err_t *err)
{
    for (int i = 0; i < n; i++) {
        size_t at = (size_t)(*taken % OURS_BATCHES) * n_bytes;
        const void *batch[] = {batches[0] + at, batches[1] + at};
        float loss;
        double start = clock_mono_s(), start_cpu = bench_cpu_s();
        if (exec_train_step(exec, batch, OURS_LEARNING_RATE, ++*taken, &loss, err) < 0) return -1;
        double cpu = bench_cpu_s() - start_cpu;
        printf("%s%.9f:%.9f:%.9g", i ? " " : "", clock_mono_s() - start, cpu, (double)loss);
    }
    printf("\n");
    return fflush(stdout) == 0 ? 0 : err_set_errno(err, "standard output");
}

int ours_serve(const char *plan_path, const char *start_path, int threads, err_t *err)
{
    char *batches[2] = {0}, line[64];
    exec_options_t options = {.threads = threads};
    plan_t *plan = read_plan(plan_path, err);
    exec_t *exec = plan ? exec_new(plan, &options, err) : NULL;
    int status = exec ? load_start(exec, plan, start_path, batches, err) : -1, n;
    int x = exec ? plan_find_tensor(plan, ROLE_BATCH, "x") : -1;
    long taken = 0;
    if (status == 0 && x < 0) status = err_set(err, ERR_CORRUPT, "the plan has no batch tensor x");
    if (status == 0) {
        puts("ready");
        fflush(stdout);
    }
    while (status == 0 && fgets(line, sizeof line, stdin))
        if (sscanf(line, "run %d", &n) == 1)
            status = run_steps(exec, batches, (size_t)plan->tensor[x].n_bytes, &taken, n, err);
    exec_destroy(&exec);
    plan_destroy(&plan);
    free(batches[0]);
    free(batches[1]);
    return status;
}
