/* The IR after one pass, for people who look for what a pass did. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "compile/compile.h"
#include "compile/stages.h"
#include "ir/print.h"
#include "parse/parse.h"

typedef struct {
    const char *pass;
    bool seen;
    str_t text;
} watch_t;

static void watch(void *user, const char *pass, const ir_module_t *module)
{
    watch_t *self = user;
    if (self->seen || strcmp(pass, self->pass) != 0) return;
    self->seen = true;
    ir_print_module(module, &self->text);
}

static goal_t goal_of(compile_stage_t stage)
{
    return stage == STAGE_IR      ? GOAL_MODEL
           : stage == STAGE_GRAD  ? GOAL_GRAD
           : stage == STAGE_TRAIN ? GOAL_TRAIN
                                  : GOAL_PROGRAMS;
}

char *compile_after_pass(const char *text, size_t n_text, const char *file_name,
                         compile_stage_t stage, const train_spec_t *spec, const char *pass,
                         err_t *err)
{
    watch_t self = {.pass = pass};
    ir_module_t *module = parse_stablehlo(text, n_text, file_name, err);
    stages_t stages = {.goal = goal_of(stage),
                       .module = module,
                       .spec = spec,
                       .pass = pass,
                       .hook = {watch, &self}};
    int status = module ? stages_run(&stages, err) : -1;
    ir_module_destroy(&module);
    if (status == 0 && self.text.at) return self.text.at;
    str_fini(&self.text);
    return status == 0 ? mem_strdup("") : NULL;
}
