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

/* Batches of consecutive tokens at random places of `from`, `shift` behind those; NULL: of random
 * tokens. */
static void add_batches(start_t *self, const gpt2_config_t *c, const char *name, int64_t batches,
                        const int32_t *from, int64_t n_from, int64_t shift)
{
    int64_t rows = batches * c->batch, n = rows * c->block;
    int32_t *values = mem_calloc((size_t)n, sizeof *values);
    uint64_t stream = rng_derive(SEED, from ? "rows" : name);
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = rng_bits(stream, (uint64_t)(from ? i / c->block : i));
        int64_t place = from ? (int64_t)(bits % (uint64_t)(n_from - c->block)) : 0;
        values[i] = from ? from[place + i % c->block + shift]
                         : (int32_t)(bits % (uint64_t)c->vocab);
    }
    self->tensor[self->n++] = (safetensor_t){.name = name,
                                             .dtype = DT_I32,
                                             .rank = 3,
                                             .dims = {batches, c->batch, c->block},
                                             .data = values,
                                             .n_bytes = (size_t)n * sizeof *values};
}

static void add_text(start_t *self, const gpt2_config_t *c, const ours_text_t *t)
{
    const int32_t *valid = t->token + t->n_train;
    add_batches(self, c, "batch.x", t->batches, t->token, t->n_train, 0);
    add_batches(self, c, "batch.y", t->batches, t->token, t->n_train, 1);
    add_batches(self, c, "valid.x", t->valid_batches, valid, t->n_valid, 0);
    add_batches(self, c, "valid.y", t->valid_batches, valid, t->n_valid, 1);
}

static int write_start(ir_module_t *module, const gpt2_config_t *config, const ours_text_t *text,
                       const char *path, err_t *err)
{
    start_t *start = mem_calloc(1, sizeof *start);
    const ir_fn_t *fn = ir_module_entry(module, err);
    const optim_arg_t *args = fn ? optim_args(module, fn, err) : NULL;
    int status = args ? 0 : -1;
    for (int a = 0; status == 0 && a < fn->body->n_arg && start->n < MAX_TENSOR - 4; a++)
        if (args[a].is_param) status = add_parameter(start, fn, a, &args[a], err);
    if (text) add_text(start, config, text);
    if (!text) add_batches(start, config, "batch.x", OURS_BATCHES, NULL, 0, 0);
    if (!text) add_batches(start, config, "batch.y", OURS_BATCHES, NULL, 0, 0);
    if (status == 0) status = safetensors_write(path, start->tensor, start->n, NULL, 0, err);
    for (size_t i = 0; i < start->n; i++) free((void *)(uintptr_t)start->tensor[i].data);
    free(start);
    return status;
}

int ours_write_model(const gpt2_config_t *config, const ours_text_t *from, const char *dir,
                     err_t *err)
{
    str_t text = {0};
    ir_module_t *module = gpt2_build(config, err);
    if (!module) return -1;
    ir_print_module(module, &text);
    char *model = mem_printf("%s/model.mlir", dir),
         *start = mem_printf("%s/start.safetensors", dir);
    int status = file_write_atomic(model, text.at, text.n, err);
    if (status == 0) status = write_start(module, config, from, start, err);
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

/* The sets of batches, for x and y each. */
enum { TRAIN, VALID, N_SET };
typedef struct {
    plan_t *plan;
    exec_t *exec;
    char *bytes[N_SET][2];
    int64_t n[N_SET];   /* batches */
    size_t batch_bytes; /* of x, and of y */
    int x, y, loss;     /* tensors */
    long taken;
} server_t;

static int copy_batches(server_t *s, const safetensors_t *start, int set, err_t *err)
{
    static const char *const names[N_SET][2] = {{"batch.x", "batch.y"}, {"valid.x", "valid.y"}};
    for (int i = 0; i < 2; i++) {
        const safetensor_t *t = safetensors_find(start, names[set][i]);
        if (!t && set == VALID) return 0;
        if (!t) return err_set(err, ERR_CORRUPT, "no tensor %s", names[set][i]);
        s->bytes[set][i] = mem_calloc(t->n_bytes, 1);
        memcpy(s->bytes[set][i], t->data, t->n_bytes);
        s->n[set] = t->dims[0];
    }
    return 0;
}

/* Parameters into the exec; batches copied. */
static int load_start(server_t *s, const char *path, err_t *err)
{
    safetensors_t *start = safetensors_open(path, err);
    int status = start ? 0 : -1;
    for (size_t i = 0; status == 0 && i < safetensors_count(start); i++) {
        const safetensor_t *t = safetensors_at(start, i);
        int tensor = plan_find_tensor(s->plan, ROLE_PARAM, t->name);
        if (tensor >= 0) status = exec_write(s->exec, tensor, t->data, t->n_bytes, err);
    }
    for (int set = 0; status == 0 && set < N_SET; set++) status = copy_batches(s, start, set, err);
    safetensors_close(&start);
    return status;
}

static int run_steps(server_t *s, int n, double rate, err_t *err)
{
    for (int i = 0; i < n; i++) {
        size_t at = (size_t)(s->taken % s->n[TRAIN]) * s->batch_bytes;
        const void *batch[] = {s->bytes[TRAIN][0] + at, s->bytes[TRAIN][1] + at};
        float loss;
        double start = clock_mono_s(), start_cpu = bench_cpu_s();
        if (exec_train_step(s->exec, batch, rate, ++s->taken, &loss, err) < 0) return -1;
        double cpu = bench_cpu_s() - start_cpu;
        printf("%s%.9f:%.9f:%.9g", i ? " " : "", clock_mono_s() - start, cpu, (double)loss);
    }
    printf("\n");
    return fflush(stdout) == 0 ? 0 : err_set_errno(err, "standard output");
}

static int evaluate(server_t *s, err_t *err)
{
    double sum = 0;
    for (int64_t i = 0; i < s->n[VALID]; i++) {
        size_t at = (size_t)i * s->batch_bytes;
        float loss;
        if (exec_write(s->exec, s->x, s->bytes[VALID][0] + at, s->batch_bytes, err) < 0 ||
            exec_write(s->exec, s->y, s->bytes[VALID][1] + at, s->batch_bytes, err) < 0 ||
            exec_run(s->exec, "loss", err) < 0 ||
            exec_read(s->exec, s->loss, &loss, sizeof loss, err) < 0)
            return -1;
        sum += (double)loss;
    }
    printf("%.9g\n", sum / (double)s->n[VALID]);
    return fflush(stdout) == 0 ? 0 : err_set_errno(err, "standard output");
}

static int serve(server_t *s, err_t *err)
{
    char line[64];
    double rate;
    int n, status = 0;
    puts("ready");
    fflush(stdout);
    while (status == 0 && fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "run %d %lf", &n, &rate) == 2)
            status = run_steps(s, n, rate, err);
        else if (strcmp(line, "eval\n") == 0)
            status = evaluate(s, err);
    }
    return status;
}

static int serve_plan(const char *plan_path, const char *start_path, exec_options_t options,
                      err_t *err)
{
    server_t s = {0};
    s.plan = read_plan(plan_path, err);
    s.exec = s.plan ? exec_new(s.plan, &options, err) : NULL;
    int status = s.exec ? load_start(&s, start_path, err) : -1;
    if (status == 0) {
        s.x = plan_find_tensor(s.plan, ROLE_BATCH, "x");
        s.y = plan_find_tensor(s.plan, ROLE_BATCH, "y");
        s.loss = plan_find_tensor(s.plan, ROLE_RESULT, "loss");
        if (s.x < 0 || s.y < 0 || s.loss < 0)
            status = err_set(err, ERR_CORRUPT, "the plan lacks batch tensor x or y, or a loss");
        else
            s.batch_bytes = (size_t)s.plan->tensor[s.x].n_bytes;
    }
    if (status == 0) status = serve(&s, err);
    exec_destroy(&s.exec);
    plan_destroy(&s.plan);
    for (int set = 0; set < N_SET; set++)
        for (int i = 0; i < 2; i++) free(s.bytes[set][i]);
    return status;
}

int ours_main(int argc, char **argv)
{
    err_t err = {0};
    if (argc < 5 || argc > 6 || strcmp(argv[1], "serve") != 0) return -1;
    exec_options_t options = {.threads = atoi(argv[4]), .ordinal = argc > 5 ? atoi(argv[5]) : 0};
    if (serve_plan(argv[2], argv[3], options, &err) == 0) return 0;
    fprintf(stderr, "%s: %s\n", argv[0], err.text);
    return 1;
}
