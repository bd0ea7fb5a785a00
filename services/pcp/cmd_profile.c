/* pcp profile: where the time of a model's training step goes on this machine. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "pcp/cmd.h"
#include "pcp/model_info.h"
#include "pcp/profile_print.h"
#include "pcp/progress.h"

typedef struct {
    int64_t threads, steps, warmup, top, vocab, seed;
    char *trace, *device;
    int64_t memory_limit;
    bool pin, tune, peak;
    char *tune_dir, *entry, *role, *roles, *freeze, *group, *lora, *shape;
    bool constants_as_params;
    int64_t loss_result;
    TRAIN_SPEC_OPTIONS(OPTION_MEMBER, )
} options_t;

#define AT(name) offsetof(options_t, name)
static const config_field_t fields[] = {
    {"threads", CONFIG_INT, AT(threads), "0", "0: one per core", 0, 1024, NULL, false},
    {"device", CONFIG_STRING, AT(device), NULL,
     "a kind (vulkan), with a number (vulkan:1), a target, or a target and a number "
     "(vulkan:spirv1.3@1); pcp devices lists them (default: this machine's processor)",
     0, 0, NULL, false},
    {"memory_limit", CONFIG_INT, AT(memory_limit), "0",
     "bytes of the device's memory at most (512Mi, 2Gi); 0: what it has", 0, 1e15, NULL, false},
    {"pin", CONFIG_BOOL, AT(pin), "false", "bind threads to cores", 0, 0, NULL, false},
    {"steps", CONFIG_INT, AT(steps), "10", "training steps that are measured", 1, 100000, NULL,
     false},
    {"warmup", CONFIG_INT, AT(warmup), "2", "training steps before them", 0, 100000, NULL, false},
    {"trace", CONFIG_STRING, AT(trace), NULL,
     "write the measured steps to this file for chrome://tracing or ui.perfetto.dev", 0, 0, NULL,
     false},
    {"top", CONFIG_INT, AT(top), "30", "rows of each table; 0: all", 0, 1e9, NULL, false},
    {"vocab", CONFIG_INT, AT(vocab), "0", "random tokens are below this; 0: the model's vocabulary",
     0, 1 << 24, NULL, false},
    {"peak", CONFIG_BOOL, AT(peak), "false",
     "measure what the device does at best, and tell the step's share of it", 0, 0, NULL, false},
    TRAIN_SPEC_OPTIONS(OPTION_FIELD, options_t) MODEL_ROLES_FIELDS(options_t){
        "tune", CONFIG_BOOL, AT(tune), "false",
        "choose kernels of products by measuring them first, once each", 0, 0, NULL, false},
    {"tune_dir", CONFIG_STRING, AT(tune_dir), NULL,
     "where measured tables are kept (default: $XDG_CACHE_HOME/pcp or ~/.cache/pcp)", 0, 0, NULL,
     false},
    {"seed", CONFIG_INT, AT(seed), "1", "of initial values and tokens", 0, 0, NULL, false},
};
static const config_table_t table = {
    .usage =
        "usage: pcp profile MODEL [FLAGS]\n\n"
        "Compiles a StableHLO model (a scalar loss) for a device of this machine, takes training "
        "steps\n"
        "on random tokens, and tells the time, FLOPs, bytes and rates by kind, by shape and by\n"
        "step of the plan. Times are medians; every other step is watched, so that the summary\n"
        "shows what watching costs. FLOPs and bytes are the plan's estimates: bytes are what a\n"
        "step reads and writes, not what misses a cache. \"CPU ms\" is the time that the threads\n"
        "were given, all together, a mean; \"a core\" are GFLOP/s of it: on a busy machine these\n"
        "mean more than the clock. \"busy\" is the share of the threads' time, running or waiting\n"
        "for a core, in which the step had them.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
};

/* Compiling takes more memory than training: give it back and start the peak anew. */
static void forget_peak(void)
{
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "we");
    if (!file) return;
    fputs("5", file);
    fclose(file);
}

/* Plain and watched steps in turn. */
static int measure(trial_t *trial, profile_t *profile, const options_t *o, progress_t *progress,
                   double *plain, err_t *err)
{
    for (int64_t i = 0; i < o->warmup; i++) {
        if (trial_step(trial, NULL, err) < 0) return -1;
    }
    for (int64_t i = 0; i < o->steps; i++) {
        double start = clock_mono_s();
        if (trial_step(trial, NULL, err) < 0) return -1;
        plain[i] = clock_mono_s() - start;
        profile_begin(profile);
        int status = trial_step(trial, NULL, err);
        profile_end(profile);
        if (status < 0) return -1;
        progress_at(progress, (double)i + 1, (double)o->steps, PROGRESS_THINGS);
    }
    return 0;
}

/* Before the model is there, which may need all of the device's memory. */
static int measure_peak(const options_t *o, const trial_options_t *trial, peak_t *out, err_t *err)
{
    const char *target = trial->place ? trial->place->target : target_host();
    const precision_t precision = compile_precision(trial->spec, target_caps(target));
    const peak_options_t options = {.target = target,
                                    .exec = {.ordinal = trial->place ? trial->place->ordinal : 0,
                                             .threads = trial->threads,
                                             .pin = trial->pin,
                                             .memory_limit = trial->memory_limit},
                                    .bf16 = precision == PRECISION_BF16};
    return o->peak ? peak_measure(&options, out, err) : 0;
}

static int profile_model(const options_t *o, const char *path, const model_info_t *model,
                         const trial_options_t *options, err_t *err)
{
    trial_t trial = {0};
    peak_t peak = {0};
    progress_t progress;
    progress_aside(&progress, "compiling");
    int status = measure_peak(o, options, &peak, err);
    double start = clock_mono_s();
    if (status == 0) status = trial_init(&trial, model->text.at, model->text.n, path, options, err);
    double compiled = clock_mono_s() - start;
    profile_t *profile = status == 0 ? profile_new(trial.exec) : NULL;
    double *plain = mem_calloc((size_t)o->steps, sizeof *plain);
    if (status == 0) {
        forget_peak();
        progress_aside(&progress, "measuring");
        status = measure(&trial, profile, o, &progress, plain, err);
    }
    progress_end(&progress);
    if (status == 0) {
        profile_summary_t summary = {path, &trial, profile, plain, (int)o->steps, compiled, peak};
        profile_print(&summary, (int)o->top, stdout);
        if (o->trace) status = profile_write_trace(profile, o->trace, err);
    }
    free(plain);
    profile_destroy(&profile);
    trial_fini(&trial);
    return status;
}

static int run(const void *options, const config_args_t *args, err_t *err)
{
    const options_t *o = options;
    model_info_t info;
    device_place_t place;
    if (o->device && device_place(o->device, &place, err) < 0) return -1;
    if (args->n_operands != 1) return err_set(err, ERR_ARG, "give one StableHLO file (try --help)");
    const roles_options_t roles = MODEL_ROLES_OPTIONS(o);
    int status = model_info_load(args->operands[0], &roles, &info, err);
    int64_t vocab = o->vocab ? o->vocab : info.vocab ? info.vocab : 256;
    const spec_options_t wanted = {TRAIN_SPEC_OPTIONS(OPTION_TAKE, o)};
    train_spec_t spec = train_spec_of(&wanted);
    trial_options_t trial = {.spec = &spec,
                             .place = o->device ? &place : NULL,
                             .memory_limit = (uint64_t)o->memory_limit,
                             .threads = (int)o->threads,
                             .pin = o->pin,
                             .tune = o->tune,
                             .tune_dir = o->tune_dir,
                             .vocab = vocab,
                             .seed = (uint64_t)o->seed};
    if (status == 0) status = profile_model(o, args->operands[0], &info, &trial, err);
    model_info_fini(&info);
    return status;
}

int cmd_profile(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, run, &err);
}
