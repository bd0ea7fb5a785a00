/* pcp compile: show a module at any stage of the compiler, or write its plan. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_view.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "parse/parse.h"
#include "pcp/cmd.h"
#include "pcp/model_roles.h"
#include "pcp/progress.h"
#include "tools/tuning.h"

typedef struct {
    char *emit, *pass, *target, *output;
    bool stats, tune;
    char *tune_dir;
    int64_t memory_budget, loss_result;
    char *entry, *role, *roles, *freeze, *group, *lora, *shape;
    bool constants_as_params;
    TRAIN_SPEC_OPTIONS(OPTION_MEMBER, )
} options_t;

#define AT(name) offsetof(options_t, name)
static const config_field_t fields[] = {
    {"emit", CONFIG_ENUM, AT(emit), "train", "stage to print", 0, 0, "ir|grad|train|plan|c", false},
    {"pass", CONFIG_STRING, AT(pass), NULL,
     "print the IR after this pass instead, on the way to what --emit names", 0, 0, NULL, false},
    {"stats", CONFIG_BOOL, AT(stats), "false",
     "print ops, steps, FLOPs, bytes and the arena (--emit ir: of the module as it is)", 0, 0, NULL,
     false},
    {"target", CONFIG_STRING, AT(target), NULL,
     "for instance cpu:x86-64-v3 (default: this machine)", 0, 0, NULL, false},
    {"output", CONFIG_STRING, AT(output), NULL, "write the packed plan to this file instead", 0, 0,
     NULL, false},
    TRAIN_SPEC_OPTIONS(OPTION_FIELD, options_t){"memory_budget", CONFIG_INT, AT(memory_budget), "0",
                                                "bytes that the plan's arena may have (512Mi, "
                                                "2Gi), by recomputing instead of keeping; 0: any",
                                                0, 1e15, NULL, false},
    MODEL_ROLES_FIELDS(options_t){
        "tune", CONFIG_BOOL, AT(tune), "false",
        "with --output: choose kernels of products by measuring them on this machine, once each", 0,
        0, NULL, false},
    {"tune_dir", CONFIG_STRING, AT(tune_dir), NULL,
     "where measured tables are kept (default: $XDG_CACHE_HOME/pcp or ~/.cache/pcp)", 0, 0, NULL,
     false},
};
static const config_table_t table = {
    .usage =
        "usage: pcp compile FILE [FLAGS]\n\n"
        "Takes a StableHLO module (a scalar loss) through the compiler and prints one stage:\n"
        "  ir     as read and verified        grad  the loss's gradient\n"
        "  train  the complete training step  plan  tensors and steps     c  generated kernels",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
};

static compile_stage_t stage_of(const char *name)
{
    static const char *const names[] = {[STAGE_IR] = "ir",
                                        [STAGE_GRAD] = "grad",
                                        [STAGE_TRAIN] = "train",
                                        [STAGE_PLAN] = "plan",
                                        [STAGE_C] = "c"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(names[i], name) == 0) return (compile_stage_t)i;
    return STAGE_TRAIN;
}

/* What to print. */
static char *print_stage(const options_t *o, const char *text, size_t n, const char *path,
                         const train_spec_t *spec, const char *target, err_t *err)
{
    compile_stage_t stage = stage_of(o->emit);
    if (o->pass) return compile_after_pass(text, n, path, stage, spec, o->pass, err);
    if (o->stats)
        return compile_emit(text, n, path, STAGE_STATS, stage == STAGE_IR ? NULL : spec, target,
                            err);
    return compile_emit(text, n, path, stage, spec, target, err);
}

static int write_plan(const options_t *o, const char *text, size_t n, const char *path,
                      const train_spec_t *spec, const char *target, err_t *err)
{
    size_t n_bytes;
    const tuning_t tuning = {.dir = o->tune_dir, .target = target};
    tune_t *tune = o->tune ? tuning_of_text(&tuning, text, n, path, spec, NULL, err) : NULL;
    if (o->tune && !tune) return -1;
    uint8_t *bytes = compile_text_tuned(text, n, path, spec, target, tune, &n_bytes, err);
    int status = bytes ? file_write_atomic(o->output, bytes, n_bytes, err) : -1;
    free(bytes);
    tune_destroy(&tune);
    return status;
}

/* The text with its roles; --emit ir shows the file as it is. */
static int read_model(const options_t *o, const char *path, file_view_t *text, err_t *err)
{
    const roles_options_t roles = MODEL_ROLES_OPTIONS(o);
    ir_module_t *module;
    bool asked = o->entry || o->role || o->roles || o->loss_result >= 0 || o->constants_as_params ||
                 o->freeze || o->group || o->lora || o->shape;
    if (stage_of(o->emit) == STAGE_IR && !o->output && !asked)
        return parse_check_path(path, err) < 0 ? -1 : file_view_open(path, text, err);
    int status = model_roles_text(path, &roles, false, true, &module, text, err);
    ir_module_destroy(&module);
    return status;
}

static int compile(const void *options, const config_args_t *args, err_t *err)
{
    const options_t *o = options;
    if (args->n_operands != 1) return err_set(err, ERR_ARG, "give one StableHLO file (try --help)");
    const char *path = args->operands[0];
    file_view_t text;
    if (read_model(o, path, &text, err) < 0) return -1;
    const spec_options_t wanted = {TRAIN_SPEC_OPTIONS(OPTION_TAKE, o)};
    train_spec_t spec = train_spec_of(&wanted);
    spec.memory_budget = (uint64_t)o->memory_budget;
    const char *target = o->target ? o->target : target_host();
    int status = target_find(target, err) ? 0 : -1;
    bool plans = o->output || o->stats || stage_of(o->emit) > STAGE_TRAIN;
    if (status == 0 && o->memory_budget > 0 && !plans)
        status = err_set(err, ERR_ARG,
                         "--memory-budget is for plans: give --output FILE or --stats with it");
    if (status == 0 && o->tune && !o->output)
        status = err_set(err, ERR_ARG, "--tune is for plans: give --output FILE with it");
    progress_t progress;
    progress_aside(&progress, "compiling");
    if (status == 0 && o->output) {
        status = write_plan(o, text.at, text.n, path, &spec, target, err);
        progress_end(&progress);
    } else if (status == 0) {
        char *out = print_stage(o, text.at, text.n, path, &spec, target, err);
        progress_end(&progress);
        status = out ? 0 : -1;
        if (out) fputs(out, stdout);
        free(out);
    }
    progress_end(&progress);
    file_view_close(&text);
    return status;
}

int cmd_compile(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, compile, &err);
}
