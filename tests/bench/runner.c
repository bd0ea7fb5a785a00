/* bench-runner: training steps of plans in a runner's process (runtime/runner.h) beside the same steps in this one:
 * blocks in turn, the same weights and batches, so that other load falls on both. Figures are medians of
 * blocks; CPU time is that of this process and the runner's together. Then what parameters cost both ways. */
#include <stdio.h>
#include <time.h>

#include "base/file.h"
#include "base/rng.h"
#include "bench.h"
#include "codegen/target.h"
#include "command.h"
#include "compile/compile.h"
#include "ir/print.h"
#include "model/gpt2.h"
#include "runtime/exec.h"
#include "runtime/runner.h"

typedef struct {
    int64_t threads, blocks, vocab;
    double seconds;
} options_t;

#define FIELD(f) offsetof(options_t, f)
static const config_field_t fields[] = {
    {"threads", CONFIG_INT, FIELD(threads), "0", "threads of a plan; 0: all cores", 0, 1024, NULL,
     false},
    {"blocks", CONFIG_INT, FIELD(blocks), "21", "blocks of each", 1, 1000, NULL, false},
    {"seconds", CONFIG_FLOAT, FIELD(seconds), "0.5", "length of a block", 0.001, 3600, NULL, false},
    {"vocab", CONFIG_INT, FIELD(vocab), "65", "tokens of FILE's batches are below this", 1, 1 << 24,
     NULL, false},
};
static const config_table_t table = {
    .usage = "bench-runner [FILE.mlir ...]: training steps in a runner beside steps in the same "
             "process.\nWithout FILE: two GPTs.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof fields[0],
    .no_env = true,
};

enum { HERE, RUNNER, BOTH };

typedef struct {
    exec_t *exec;
    int pid; /* of its runner; 0: here */
    long step;
    float loss;
    double *wall, *cpu; /* per step, one a block */
} side_t;

typedef struct {
    plan_t *plan;
    side_t side[BOTH];
    void **batch;
    int n_batch;
} race_t;

static runners_t *runners;

static double cpu_seconds(int pid)
{
    struct timespec at = {0};
    clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
    double own;
    clock_gettime(clock, &at);
    own = (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
    if (!pid || clock_getcpuclockid(pid, &clock) != 0) return own;
    clock_gettime(clock, &at);
    return own + (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static int fill_params(const race_t *race, exec_t *exec, err_t *err)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < race->plan->n_tensor; i++) {
        const plan_tensor_t *t = &race->plan->tensor[i];
        if (t->role != ROLE_PARAM) continue;
        size_t n = (size_t)ir_type_count(&t->type);
        float *values = mem_calloc(n, sizeof *values);
        for (size_t j = 0; j < n; j++)
            values[j] = 0.04F * ((float)(rng_bits((uint64_t)i, j) >> 40) / (1 << 24) - 0.5F);
        rc = exec_write(exec, i, values, (size_t)t->n_bytes, err);
        free(values);
    }
    return rc;
}

static void fill_batch(race_t *race, int64_t vocab)
{
    race->batch = mem_calloc((size_t)race->plan->n_tensor, sizeof *race->batch);
    for (int i = 0; i < race->plan->n_tensor; i++) {
        const plan_tensor_t *t = &race->plan->tensor[i];
        if (t->role != ROLE_BATCH) continue;
        size_t n = (size_t)ir_type_count(&t->type), width = dtype_bytes(t->type.dtype);
        char *values = mem_calloc(n, width);
        for (size_t j = 0; j < n && !dtype_is_float(t->type.dtype); j++) {
            uint64_t token = rng_bits((uint64_t)i, j) % (uint64_t)vocab;
            memcpy(values + j * width, &token, width); /* little-endian integers */
        }
        race->batch[race->n_batch++] = values;
    }
}

static int open_race(race_t *race, const char *text, size_t n_text, const char *name,
                     const options_t *o, err_t *err)
{
    size_t n = 0;
    uint8_t *bytes = compile_text(text, n_text, name, &TRAIN_SPEC_DEFAULT, target_host(), &n, err);
    race->plan = bytes ? plan_unpack(bytes, n, err) : NULL;
    free(bytes);
    if (!race->plan) return -1;
    fill_batch(race, o->vocab);
    for (int s = 0; s < BOTH; s++) {
        side_t *side = &race->side[s];
        const exec_options_t options = {.threads = (int)o->threads,
                                        .runners = s == RUNNER ? runners : NULL};
        side->exec = exec_new(race->plan, &options, err);
        if (!side->exec || fill_params(race, side->exec, err) < 0) return -1;
        side->pid = s == RUNNER ? runners_last(runners) : 0;
        side->wall = mem_calloc((size_t)o->blocks, sizeof *side->wall);
        side->cpu = mem_calloc((size_t)o->blocks, sizeof *side->cpu);
    }
    return 0;
}

static int block(race_t *race, side_t *side, int at, double seconds, err_t *err)
{
    double start = clock_mono_s(), cpu = cpu_seconds(side->pid), now = start;
    int steps = 0;
    for (; now - start < seconds || steps < 2; steps++) {
        if (exec_train_step(side->exec, (const void *const *)race->batch, 1e-3, ++side->step,
                            &side->loss, err) < 0)
            return -1;
        now = clock_mono_s();
    }
    side->wall[at] = (now - start) / steps;
    side->cpu[at] = (cpu_seconds(side->pid) - cpu) / steps;
    return 0;
}

/* Median of the pairs' ratios. */
static double ratio(const double *runner, const double *here, int n)
{
    double *each = mem_calloc((size_t)n, sizeof *each);
    for (int i = 0; i < n; i++) each[i] = runner[i] / here[i];
    double middle = bench_median(each, n);
    free(each);
    return middle;
}

/* All parameters in and out. */
static int carry(race_t *race, side_t *side, double *in, double *out, double *bytes, err_t *err)
{
    *in = *out = *bytes = 0;
    for (int i = 0; i < race->plan->n_tensor; i++) {
        const plan_tensor_t *t = &race->plan->tensor[i];
        if (t->role != ROLE_PARAM && t->role != ROLE_STATE) continue;
        char *values = mem_calloc((size_t)t->n_bytes, 1);
        double start = clock_mono_s();
        int rc = exec_read(side->exec, i, values, (size_t)t->n_bytes, err);
        double between = clock_mono_s();
        if (rc == 0) rc = exec_write(side->exec, i, values, (size_t)t->n_bytes, err);
        *in += clock_mono_s() - between;
        *out += between - start;
        *bytes += (double)t->n_bytes;
        free(values);
        if (rc < 0) return -1;
    }
    return 0;
}

static int report(race_t *race, const char *name, const options_t *o, err_t *err)
{
    side_t *here = &race->side[HERE], *runner = &race->side[RUNNER];
    int n = (int)o->blocks;
    double wall = ratio(runner->wall, here->wall, n), cpu = ratio(runner->cpu, here->cpu, n);
    printf("%-24s wall %9.3f ms here %9.3f runner  %+.2f %%   cpu %9.3f %9.3f  %+.2f %%  loss %.9g "
           "%.9g\n",
           name, bench_median(here->wall, n) * 1e3, bench_median(runner->wall, n) * 1e3,
           100 * (wall - 1), bench_median(here->cpu, n) * 1e3, bench_median(runner->cpu, n) * 1e3,
           100 * (cpu - 1), (double)here->loss, (double)runner->loss);
    double in[BOTH], out[BOTH], bytes;
    for (int s = 0; s < BOTH; s++)
        if (carry(race, &race->side[s], &in[s], &out[s], &bytes, err) < 0) return -1;
    printf(
        "%-24s parameters and states, %.1f MB: in %.1f ms here, %.1f runner; out %.1f and %.1f\n",
        "", bytes / 1e6, in[HERE] * 1e3, in[RUNNER] * 1e3, out[HERE] * 1e3, out[RUNNER] * 1e3);
    return 0;
}

static int race_text(const char *text, size_t n, const char *name, const options_t *o, err_t *err)
{
    race_t race = {0};
    int rc = open_race(&race, text, n, name, o, err);
    for (int i = 0; rc == 0 && i < o->blocks; i++)
        for (int s = 0; rc == 0 && s < BOTH; s++)
            rc = block(&race, &race.side[(s + i) % BOTH], i, o->seconds, err);
    if (rc == 0) rc = report(&race, name, o, err);
    for (int s = 0; s < BOTH; s++) {
        exec_destroy(&race.side[s].exec);
        free(race.side[s].wall);
        free(race.side[s].cpu);
    }
    for (int i = 0; i < race.n_batch; i++) free(race.batch[i]);
    free(race.batch);
    plan_destroy(&race.plan);
    return rc;
}

static int race_gpt(const gpt2_config_t *config, const char *name, const options_t *o, err_t *err)
{
    ir_module_t *module = gpt2_build(config, err);
    str_t text = {0};
    if (!module) return -1;
    ir_print_module(module, &text);
    ir_module_destroy(&module);
    int rc = race_text(text.at, text.n, name, o, err);
    str_fini(&text);
    return rc;
}

static int run(const void *given, const config_args_t *args, err_t *err)
{
    static const gpt2_config_t tiny = {1, 2, 32, 16, 65, 2, true, false, false};
    static const gpt2_config_t small = {4, 4, 128, 64, 65, 12, true, false, false};
    const options_t *options = given;
    runners = runners_start(err);
    int rc = runners ? 0 : -1;
    if (rc == 0 && args->n_operands == 0) {
        rc = race_gpt(&tiny, "gpt 1x32 T16 B2", options, err);
        if (rc == 0) rc = race_gpt(&small, "gpt 4x128 T64 B12", options, err);
    }
    for (int i = 0; rc == 0 && i < args->n_operands; i++) {
        size_t n = 0;
        char *text = file_read(args->operands[i], &n, err);
        const char *slash = strrchr(args->operands[i], '/');
        rc = text ? race_text(text, n, slash ? slash + 1 : args->operands[i], options, err) : -1;
        free(text);
    }
    runners_stop(&runners);
    return rc;
}

int main(int argc, char **argv)
{
    options_t options = {0};
    runners_main(argc, argv);
    return bench_command("bench-runner", &table, &options, argc, argv, run);
}
