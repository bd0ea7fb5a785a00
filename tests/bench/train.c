/* bench-train: whole training steps of compiled plans, beside the sgemm peak of the machine
 * measured in the same run. Models and the peak are measured in turn, several times over;
 * figures are medians. FLOPs are those of the plan's matrix products (2 m n k); element-wise
 * work is not counted. */
#include <stdio.h>

#include "base/file.h"
#include "base/rng.h"
#include "bench.h"
#include "codegen/target.h"
#include "command.h"
#include "compile/compile.h"
#include "ir/print.h"
#include "model/gpt2.h"
#include "model/init.h"
#include "parse/parse.h"
#include "runtime/exec.h"

enum { MAX_MODEL = 16 };

typedef struct {
    int64_t threads, repeats, vocab;
    double seconds;
} options_t;

#define FIELD(f) offsetof(options_t, f)
static const config_field_t fields[] = {
    {"threads", CONFIG_INT, FIELD(threads), "0", "threads of the plan and the peak; 0: all cores",
     0, 1024, NULL, false},
    {"repeats", CONFIG_INT, FIELD(repeats), "7", "measurements of each row", 1, 1000, NULL, false},
    {"seconds", CONFIG_FLOAT, FIELD(seconds), "0.5", "length of one measurement", 0.001, 3600, NULL,
     false},
    {"vocab", CONFIG_INT, FIELD(vocab), "65", "tokens of FILE's batches are below this", 1, 1 << 24,
     NULL, false},
};
static const config_table_t table = {
    .usage = "bench-train [FILE.mlir ...]: tokens per second of compiled training steps\n"
             "(AdamW, clipping), their FLOPs, and the share of this machine's sgemm peak.\n"
             "Without FILE: the standard models.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof fields[0],
    .no_env = true,
};

/* The standard rows: a file below the shared folder, or a GPT of our own. */
static const struct {
    const char *name, *file;
    gpt2_config_t gpt2;
    int64_t vocab;
} models[] = {
    {"nanogpt_small", "data/models/nanogpt_small.mlir", {0}, 65},
    {"gpt 4x128 T64 B12", NULL, {4, 4, 128, 64, 65, 12, true, false, false}, 65},
};

typedef struct {
    char name[64];
    char *text;
    size_t n_text;
    int64_t vocab;
    plan_t *plan;
    exec_t *exec;
    void **batch; /* one array per batch tensor */
    int n_batch;
    int64_t tokens; /* per step */
    double flops;
    long step;
    float first_loss, loss;
    double *seconds; /* per step, one a repeat */
    double best;     /* the fastest single step: what a machine with other load can do */
} model_t;

static char *gpt2_text(const gpt2_config_t *config, size_t *n, err_t *err)
{
    ir_module_t *module = gpt2_build(config, err);
    str_t text = {0};
    if (!module) return NULL;
    ir_print_module(module, &text);
    ir_module_destroy(&module);
    *n = text.n;
    return text.at;
}

static int compile_model(model_t *m, err_t *err)
{
    size_t n = 0;
    uint8_t *bytes = compile_text(m->text, m->n_text, m->name, &TRAIN_SPEC_DEFAULT, target_host(),
                                  &n, err);
    if (!bytes) return -1;
    m->plan = plan_unpack(bytes, n, err);
    free(bytes);
    if (!m->plan) return -1;
    int program = 0;
    while (program < m->plan->n_program && strcmp(m->plan->program[program].name, "train") != 0)
        program++;
    if (program == m->plan->n_program) return err_set(err, ERR_STATE, "no program \"train\"");
    const plan_program_t *train = &m->plan->program[program];
    for (int i = 0; i < train->n_step; i++) {
        const plan_gemm_step_t *g = &train->step[i].gemm;
        if (train->step[i].kind == STEP_GEMM)
            m->flops += 2.0 * (double)(g->batch * g->inner) * (double)g->m * (double)g->n *
                        (double)g->k;
    }
    return 0;
}

/* Parameters by the model's own rules. */
static int fill_params(model_t *m, err_t *err)
{
    ir_module_t *module = parse_stablehlo(m->text, m->n_text, m->name, err);
    ir_fn_t *fn = module ? ir_module_entry(module, err) : NULL;
    optim_arg_t *args = fn ? optim_args(module, fn, err) : NULL;
    int rc = args ? 0 : -1;
    for (int i = 0; rc == 0 && i < m->plan->n_tensor; i++) {
        const plan_tensor_t *t = &m->plan->tensor[i];
        if (t->role != ROLE_PARAM) continue;
        int a = 0;
        while (strcmp(args[a].name, t->name) != 0) a++;
        int64_t n = ir_type_count(&t->type);
        float *values = mem_calloc((size_t)n, sizeof *values);
        rc = init_fill(init_rule(fn, a), 1, t->name, values, n, err);
        if (rc == 0) rc = exec_write(m->exec, i, values, (size_t)t->n_bytes, err);
        free(values);
    }
    ir_module_destroy(&module);
    return rc;
}

static void fill_batch(model_t *m)
{
    m->batch = mem_calloc((size_t)m->plan->n_tensor, sizeof *m->batch);
    for (int i = 0; i < m->plan->n_tensor; i++) {
        const plan_tensor_t *t = &m->plan->tensor[i];
        if (t->role != ROLE_BATCH) continue;
        int64_t n = ir_type_count(&t->type);
        size_t width = dtype_bytes(t->type.dtype);
        char *values = mem_calloc((size_t)n, width);
        for (int64_t j = 0; j < n; j++) {
            int64_t token = (int64_t)(rng_bits((uint64_t)i, (uint64_t)j) % (uint64_t)m->vocab);
            memcpy(values + (size_t)j * width, &token, width); /* little-endian integers */
        }
        if (n > m->tokens) m->tokens = n;
        m->batch[m->n_batch++] = values;
    }
}

static int open_model(model_t *m, const options_t *options, err_t *err)
{
    exec_options_t exec_options = {.threads = (int)options->threads};
    double start = clock_mono_s();
    if (compile_model(m, err) < 0) return -1;
    printf("# %s: compiled in %.2f s, arena %.1f MiB\n", m->name, clock_mono_s() - start,
           (double)m->plan->arena_bytes / (1 << 20));
    m->exec = exec_new(m->plan, &exec_options, err);
    if (!m->exec || fill_params(m, err) < 0) return -1;
    fill_batch(m);
    m->seconds = mem_calloc((size_t)options->repeats, sizeof *m->seconds);
    if (exec_train_step(m->exec, (const void *const *)m->batch, 1e-3, ++m->step, &m->first_loss,
                        err) < 0)
        return -1;
    return 0;
}

static int measure(model_t *m, double seconds, double *per_step, err_t *err)
{
    const void *const *batch = (const void *const *)m->batch;
    double start = clock_mono_s(), last = start, now = start;
    int steps = 0;
    for (; now - start < seconds || steps < 2; steps++) {
        if (exec_train_step(m->exec, batch, 1e-3, ++m->step, &m->loss, err) < 0) return -1;
        now = clock_mono_s();
        if (m->best == 0 || now - last < m->best) m->best = now - last;
        last = now;
    }
    *per_step = (now - start) / steps;
    return 0;
}

static int threads_of(const options_t *options)
{
    return options->threads ? (int)options->threads : pool_cores();
}

static void report(model_t *model, int n_model, double *peaks, const options_t *options)
{
    double peak = bench_median(peaks, (int)options->repeats);
    printf("\nsgemm peak, %d threads: %.1f GFLOP/s\n\n%-20s %9s %9s %10s %11s %9s %8s  %s\n",
           threads_of(options), peak, "model", "ms/step", "(best)", "tokens/s", "GFLOP/step",
           "GFLOP/s", "of peak", "loss");
    for (int i = 0; i < n_model; i++) {
        model_t *m = &model[i];
        double each = bench_median(m->seconds, (int)options->repeats), rate = m->flops / each / 1e9;
        printf("%-20s %9.3f %9.3f %10.0f %11.4f %9.1f %7.1f%%  %.4f -> %.4f\n", m->name, each * 1e3,
               m->best * 1e3, (double)m->tokens / each, m->flops / 1e9, rate, 100 * rate / peak,
               (double)m->first_loss, (double)m->loss);
    }
}

static int race(model_t *model, int n_model, const options_t *options, err_t *err)
{
    pool_t *pool = pool_new(threads_of(options), false, err);
    double *peaks = mem_calloc((size_t)options->repeats, sizeof *peaks);
    int rc = pool ? 0 : -1;
    for (int i = 0; rc == 0 && i < n_model; i++) rc = open_model(&model[i], options, err);
    for (int64_t r = 0; rc == 0 && r < options->repeats; r++) {
        peaks[r] = bench_sgemm_peak(pool, options->seconds);
        for (int i = 0; rc == 0 && i < n_model; i++)
            rc = measure(&model[i], options->seconds, &model[i].seconds[r], err);
    }
    if (rc == 0) report(model, n_model, peaks, options);
    free(peaks);
    pool_destroy(&pool);
    return rc;
}

static int read_standard(model_t *model, int *n_model, err_t *err)
{
    const char *shared = getenv("PCP_SHARED");
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        model_t *m = &model[*n_model];
        snprintf(m->name, sizeof m->name, "%s", models[i].name);
        m->vocab = models[i].vocab;
        if (models[i].file) {
            char *path = mem_printf("%s/%s", shared ? shared : "../shared", models[i].file);
            if (!file_exists(path))
                printf("# %s: skipped, no file %s\n", m->name, path);
            else
                m->text = file_read(path, &m->n_text, err);
            free(path);
            if (!m->text && err->code == ERR_OK) continue;
        } else {
            m->text = gpt2_text(&models[i].gpt2, &m->n_text, err);
        }
        if (!m->text) return -1;
        ++*n_model;
    }
    return 0;
}

static int read_files(model_t *model, int *n_model, const config_args_t *args, int64_t vocab,
                      err_t *err)
{
    for (int i = 0; i < args->n_operands && i < MAX_MODEL; i++) {
        model_t *m = &model[*n_model];
        const char *slash = strrchr(args->operands[i], '/');
        snprintf(m->name, sizeof m->name, "%s", slash ? slash + 1 : args->operands[i]);
        m->vocab = vocab;
        m->text = file_read(args->operands[i], &m->n_text, err);
        if (!m->text) return -1;
        ++*n_model;
    }
    return 0;
}

static void free_models(model_t *model, int n_model)
{
    for (int i = 0; i < n_model; i++) {
        for (int j = 0; j < model[i].n_batch; j++) free(model[i].batch[j]);
        free(model[i].batch);
        free(model[i].text);
        free(model[i].seconds);
        exec_destroy(&model[i].exec);
        plan_destroy(&model[i].plan);
    }
}

static int run(const void *given, const config_args_t *args, err_t *err)
{
    const options_t *options = given;
    model_t model[MAX_MODEL] = {0};
    int n_model = 0;
    int rc = args->n_operands ? read_files(model, &n_model, args, options->vocab, err)
                              : read_standard(model, &n_model, err);
    if (rc == 0) rc = race(model, n_model, options, err);
    free_models(model, n_model);
    return rc;
}

int main(int argc, char **argv)
{
    options_t options = {0};
    return bench_command("bench-train", &table, &options, argc, argv, run);
}
