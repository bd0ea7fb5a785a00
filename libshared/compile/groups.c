/* --group: a pattern, and numbers for what it names. */
#include "compile/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "compile/roles_in.h"
#include "optim/optim.h"

typedef struct {
    ir_module_t *module;
    ir_fn_t *entry;
    const optim_arg_t *arg;
    str_t told;
} groups_t;

static int bad_form(const char *group, err_t *err)
{
    return err_set(err, ERR_ARG,
                   "--group \"%s\": expected PATTERN:lr=X,decay=Y, factors of 0 to 1000", group);
}

/* Which attribute; NULL: none. */
static const char *attribute(const char *key, size_t n)
{
    if (n == 2 && strncmp(key, "lr", n) == 0) return OPTIM_LR;
    return n == 5 && strncmp(key, "decay", n) == 0 ? OPTIM_DECAY : NULL;
}

static int set(groups_t *self, const char *group, size_t n_pattern, const char *name,
               const char *number, int *n_found, err_t *err)
{
    arena_t *arena = self->module->arena;
    *n_found = 0;
    for (int i = 0; i < self->entry->body->n_arg; i++) {
        if (self->arg[i].role != ARG_param) continue;
        if (!roles_name_matches(group, n_pattern, self->arg[i].name)) continue;
        attr_set_text(arena, &self->entry->param_attrs[i], name, ATTR_STRING, number);
        ++*n_found;
    }
    if (*n_found > 0) return 0;
    return err_set(err, ERR_ARG, "--group \"%s\": no parameter that is trained is called so",
                   group);
}

/* "PATTERN:lr=0.1,decay=0" */
static int apply(groups_t *self, const char *group, err_t *err)
{
    const char *colon = strrchr(group, ':');
    int n_found = 0;
    if (!colon || colon == group || !colon[1]) return bad_form(group, err);
    for (const char *at = colon + 1; *at;) {
        size_t n_key = strcspn(at, "=,"), n = strcspn(at, ",");
        const char *name = attribute(at, n_key);
        char *number = n_key < n ? arena_strndup(self->module->arena, at + n_key + 1, n - n_key - 1)
                                 : NULL,
             *end = NULL;
        double value = number ? strtod(number, &end) : -1;
        bool good = name && number && end != number && !*end && value >= 0 && value <= 1000;
        if (!good) return bad_form(group, err);
        if (set(self, group, (size_t)(colon - group), name, number, &n_found, err) < 0) return -1;
        at += n;
        at += *at == ',';
    }
    str_addf(&self->told, "%s%s of %d parameters", self->told.n ? ", " : "groups: ", group,
             n_found);
    return 0;
}

int groups_apply(ir_module_t *module, const char *text, const char **told, err_t *err)
{
    groups_t self = {.module = module, .entry = ir_module_find(module, "main")};
    int rc = 0;
    if (!self.entry) return err_set(err, ERR_ARG, "--group: the module has no @main");
    self.arg = optim_args(module, self.entry, err);
    if (!self.arg) return -1;
    for (const char *at = text; rc == 0 && *at; at += *at == ';') {
        size_t n = strcspn(at, ";");
        if (n > 0) rc = apply(&self, arena_strndup(module->arena, at, n), err);
        at += n;
    }
    *told = self.told.n ? arena_strdup(module->arena, self.told.at) : NULL;
    str_fini(&self.told);
    return rc;
}
