/* bench-threads: what a second thread brings. Training steps of the same plan by one thread and by
 * several, in turn: the speed-up over the number of threads is the efficiency, 100 % where nothing
 * is lost to waiting, to steps too small to share, or to memory. Losses must agree to the bit: the
 * work does not depend on who does it. */
#include <stdio.h>

#include "bench.h"
#include "command.h"
#include "ir/print.h"
#include "model/gpt2.h"
#include "tools/trial.h"

typedef struct {
    int64_t threads, repeats;
    double seconds;
    char *precision;
    bool pin;
} options_t;

#define FIELD(f) offsetof(options_t, f)
static const config_field_t fields[] = {
    {"threads", CONFIG_INT, FIELD(threads), "2", "compared with one", 2, 1024, NULL, false},
    {"repeats", CONFIG_INT, FIELD(repeats), "7", "blocks of each number of threads", 1, 1000, NULL,
     false},
    {"seconds", CONFIG_FLOAT, FIELD(seconds), "1", "length of one block", 0.01, 3600, NULL, false},
    {"precision", CONFIG_ENUM, FIELD(precision), "f32", "of matrix products", 0, 0,
     OPTION_WORDS(PRECISIONS), false},
    {"pin", CONFIG_BOOL, FIELD(pin), "false", "bind threads to cores", 0, 0, NULL, false},
};
static const config_table_t table = {
    .usage =
        "bench-threads [c] [d] [e]: milliseconds of a training step by one thread and by more,\n"
        "and the efficiency: speed-up / threads. Models as in bench-peers.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof fields[0],
    .no_env = true,
};

/* layers, heads, width, block, vocab, batch: (c), (d) and (e) of bench-peers */
static const struct {
    const char *name;
    gpt2_config_t gpt2;
} models[] = {
    {"c", {2, 4, 64, 32, 65, 64, true, false, false}},
    {"d", {4, 8, 256, 128, 256, 64, true, false, false}},
    {"e", {4, 4, 128, 64, 65, 12, true, false, false}},
};
enum { N_MODEL = sizeof models / sizeof models[0] };

typedef struct {
    trial_t trial;
    double *ms, *cpu_ms; /* one a block */
    float loss;
} side_t;

/* Steps for about `seconds`; the first of a block warms caches and is not counted. */
static int run_block(side_t *side, int block, double seconds, err_t *err)
{
    if (trial_step(&side->trial, &side->loss, err) < 0) return -1;
    double start = clock_mono_s(), cpu = bench_cpu_s(), now = start;
    int n = 0;
    for (; now - start < seconds || n < 2; n++, now = clock_mono_s())
        if (trial_step(&side->trial, &side->loss, err) < 0) return -1;
    side->ms[block] = 1e3 * (now - start) / n;
    side->cpu_ms[block] = 1e3 * (bench_cpu_s() - cpu) / n;
    return 0;
}

/* Both sides have taken the first three steps from the same start: the same bits. */
static int same_losses(side_t *side, err_t *err)
{
    for (int i = 0; i < 3; i++) {
        for (int s = 0; s < 2; s++)
            if (trial_step(&side[s].trial, &side[s].loss, err) < 0) return -1;
        if (memcmp(&side[0].loss, &side[1].loss, sizeof side[0].loss) != 0)
            return err_set(err, ERR_MISMATCH, "step %d: loss %a by one thread, %a by more", i,
                           (double)side[0].loss, (double)side[1].loss);
    }
    return 0;
}

static int compare(const char *text, size_t n_text, int m, const options_t *o, err_t *err)
{
    side_t side[2] = {0};
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.precision = o->precision;
    int n = (int)o->repeats, status = 0;
    double *ratio = mem_calloc((size_t)n, sizeof *ratio);
    for (int s = 0; s < 2; s++) {
        trial_options_t options = {.spec = &spec,
                                   .threads = s ? (int)o->threads : 1,
                                   .pin = o->pin,
                                   .vocab = models[m].gpt2.vocab,
                                   .seed = 1};
        side[s].ms = mem_calloc((size_t)n, sizeof(double));
        side[s].cpu_ms = mem_calloc((size_t)n, sizeof(double));
        if (status == 0)
            status = trial_init(&side[s].trial, text, n_text, models[m].name, &options, err);
    }
    if (status == 0) status = same_losses(side, err);
    for (int i = 0; status == 0 && i < n; i++) {
        for (int s = 0; status == 0 && s < 2; s++) status = run_block(&side[s], i, o->seconds, err);
        ratio[i] = status == 0 ? side[0].ms[i] / side[1].ms[i] : 0;
    }
    if (status == 0) {
        double low = bench_median(ratio, n), one = bench_median(side[0].ms, n);
        printf("%-3s %-6s %10.2f %10.2f %10.2f %8.2f (%.2f - %.2f) %9.0f %%\n", models[m].name,
               o->precision, one, bench_median(side[1].ms, n), bench_median(side[1].cpu_ms, n), low,
               ratio[0], ratio[n - 1], 100 * low / (double)o->threads);
    }
    for (int s = 0; s < 2; s++) {
        trial_fini(&side[s].trial);
        free(side[s].ms);
        free(side[s].cpu_ms);
    }
    free(ratio);
    return status;
}

static int run_model(int m, const options_t *o, err_t *err)
{
    ir_module_t *module = gpt2_build(&models[m].gpt2, err);
    str_t text = {0};
    if (!module) return -1;
    ir_print_module(module, &text);
    ir_module_destroy(&module);
    int status = compare(text.at, text.n, m, o, err);
    str_fini(&text);
    return status;
}

static bool wanted(const char *name, const config_args_t *args)
{
    for (int i = 0; i < args->n_operands; i++)
        if (strcmp(args->operands[i], name) == 0) return true;
    return args->n_operands == 0;
}

static int run(const void *options, const config_args_t *args, err_t *err)
{
    const options_t *o = options;
    int status = 0;
    printf("    prec.      1 thread  %2d threads   CPU ms of  speed-up\n", (int)o->threads);
    for (int m = 0; status == 0 && m < N_MODEL; m++)
        if (wanted(models[m].name, args)) status = run_model(m, o, err);
    return status;
}

int main(int argc, char **argv)
{
    options_t options = {0};
    return bench_command("bench-threads", &table, &options, argc, argv, run);
}
