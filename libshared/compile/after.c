/* The IR after one pass, for people who look for what a pass did. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "compile/compile.h"
#include "ir/print.h"
#include "parse/parse.h"
#include "passes/passes.h"

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

static int known(const char *pass, err_t *err)
{
    int n;
    const char *const *names = passes_names(&n);
    str_t list = {0};
    bool found = false;
    for (int i = 0; i < n; i++) {
        found = found || strcmp(names[i], pass) == 0;
        str_addf(&list, "%s%s", i ? ", " : "", names[i]);
    }
    if (!found)
        err_set(err, ERR_ARG, "no pass is called \"%s\"; there are: %s", pass, str_text(&list));
    str_fini(&list);
    return found ? 0 : -1;
}

char *compile_after_pass(const char *text, size_t n_text, const char *file_name,
                         compile_stage_t stage, const train_spec_t *spec, const char *pass,
                         err_t *err)
{
    if (known(pass, err) < 0) return NULL;
    watch_t self = {.pass = pass};
    ir_module_t *module = parse_stablehlo(text, n_text, file_name, err);
    int status = module ? 0 : -1;
    if (status == 0 && stage == STAGE_GRAD)
        status = optim_build_gradient(module, err);
    else if (status == 0 && stage != STAGE_IR)
        status = optim_build(module, spec ? spec : &TRAIN_SPEC_DEFAULT, err);
    if (status == 0 && stage != STAGE_IR && spec)
        status = passes_precision(module, spec->precision, err);
    if (status == 0) status = passes_run(module, watch, &self, err);
    ir_module_destroy(&module);
    if (status == 0 && self.text.at) return self.text.at;
    str_fini(&self.text);
    return status == 0 ? mem_strdup("") : NULL;
}
