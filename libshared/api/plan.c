/* Plans: made of graphs, counted, and in files. */
#include "api/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/options.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ir/print.h"
#include "optim/optim.h"
#include "plan/format/print.h"

/* --- compiling --- */

/* The text names a target, or a device whose best target it stands for. */
static const char *target_of(const char *text, err_t *err)
{
    device_place_t place;
    if (!text) return target_host();
    const target_t *target = target_find(text, NULL);
    if (target) return target->name;
    return device_place(text, &place, err) < 0 ? NULL : place.target;
}

static pcp_plan_t *plan_of(plan_t *plan)
{
    if (!plan) return NULL;
    size_t n = 0;
    pcp_plan_t *self = api_alloc(sizeof *self);
    free(plan_pack(plan, &n, NULL)); /* as many bytes as it says it has */
    atomic_init(&self->holders, 1);
    self->plan = plan;
    self->held = n;
    api_hold(n);
    return self;
}

static pcp_plan_t *compile(const pcp_graph_t *graph, const train_spec_t *spec, const char *target,
                           err_t *err)
{
    char hash[HASH_HEX];
    str_t text = {0};
    target = target_of(target, err);
    ir_module_t *module = target ? api_module_copy(graph, err) : NULL;
    if (!module) return NULL;
    ir_print_module(module, &text);
    hash_content(text.at, text.n, hash);
    str_fini(&text);
    plan_t *plan = compile_module(module, hash, spec, target, err);
    ir_module_destroy(&module);
    return plan_of(plan);
}

pcp_plan_t *pcp_compile(const pcp_graph_t *graph, const char *target, pcp_error_t *error)
{
    return compile(graph, NULL, target, api_err(error));
}

static const config_field_t spec_fields[] = {TRAIN_SPEC_OPTIONS(OPTION_FIELD, spec_options_t)};
static const config_table_t spec_table = {
    .fields = spec_fields,
    .n_fields = sizeof spec_fields / sizeof *spec_fields,
    .no_env = true,
};

pcp_plan_t *pcp_compile_training(const pcp_graph_t *graph, const char *options, const char *target,
                                 pcp_error_t *error)
{
    err_t *err = api_err(error);
    spec_options_t words = {0};
    pcp_plan_t *self = NULL;
    if (api_options(&spec_table, &words, options, err) == 0) {
        train_spec_t spec = train_spec_of(&words);
        self = compile(graph, &spec, target, err);
    }
    config_fini(&spec_table, &words);
    return self;
}

/* --- holders --- */

pcp_plan_t *pcp_plan_retain(pcp_plan_t *self)
{
    atomic_fetch_add(&self->holders, 1);
    return self;
}

void pcp_plan_release(pcp_plan_t **self_p)
{
    pcp_plan_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    *self_p = NULL;
    if (atomic_fetch_sub(&self->holders, 1) > 1) return;
    plan_destroy(&self->plan);
    api_let_go(self->held);
    api_free(self, sizeof *self);
}

/* --- files --- */

int pcp_plan_save(const pcp_plan_t *self, const char *path, pcp_error_t *error)
{
    size_t n = 0;
    uint8_t *bytes = plan_pack(self->plan, &n, NULL);
    int status = file_write_atomic(path, bytes, n, api_err(error));
    free(bytes);
    return status;
}

pcp_plan_t *pcp_plan_load(const char *path, pcp_error_t *error)
{
    err_t *err = api_err(error);
    size_t n = 0;
    char *bytes = file_read(path, &n, err);
    plan_t *plan = bytes ? plan_unpack((const uint8_t *)bytes, n, err) : NULL;
    if (bytes && !plan) err_prefix(err, "%s: ", path);
    free(bytes);
    return plan_of(plan);
}

/* --- what is in it --- */

const char *pcp_plan_target(const pcp_plan_t *self)
{
    return self->plan->target;
}

uint64_t pcp_plan_arena_bytes(const pcp_plan_t *self)
{
    return self->plan->arena_bytes;
}

char *pcp_plan_print(const pcp_plan_t *self)
{
    str_t text = {0};
    plan_print(self->plan, &text);
    return text.at;
}

const char *pcp_plan_program(const pcp_plan_t *self, int i)
{
    return i >= 0 && i < self->plan->n_program ? self->plan->program[i].name : NULL;
}

static bool is_shown(const plan_tensor_t *t)
{
    return t->role != ROLE_CONSTANT && t->role != ROLE_TEMPORARY;
}

const char *pcp_plan_tensor(const pcp_plan_t *self, int i, const char **role, pcp_type_t *type)
{
    const plan_t *plan = self->plan;
    for (int k = 0; i >= 0 && k < plan->n_tensor; k++) {
        if (!is_shown(&plan->tensor[k]) || i-- > 0) continue;
        if (role) *role = plan_role_name(plan->tensor[k].role);
        if (type) *type = api_type_out(&plan->tensor[k].type);
        return plan->tensor[k].name;
    }
    if (role) *role = NULL;
    if (type) *type = pcp_scalar(PCP_NONE);
    return NULL;
}

static int in_role(const plan_t *plan, const char *role, size_t n, const char *name)
{
    for (int i = 0; i < plan->n_tensor; i++) {
        const char *has = plan_role_name(plan->tensor[i].role);
        if (is_shown(&plan->tensor[i]) && strlen(has) == n && memcmp(has, role, n) == 0 &&
            strcmp(plan->tensor[i].name, name) == 0)
            return i;
    }
    return -1;
}

static int unknown_tensor(const plan_t *plan, const char *name, err_t *err)
{
    str_t names = {0};
    for (int i = 0; i < plan->n_tensor && names.n < 600; i++)
        if (is_shown(&plan->tensor[i]))
            str_addf(&names, "%s%s:%s", names.n ? ", " : "", plan_role_name(plan->tensor[i].role),
                     plan->tensor[i].name);
    err_set(err, ERR_ARG, "the plan has no tensor \"%s\"; it has: %s", name, str_text(&names));
    str_fini(&names);
    return -1;
}

int api_tensor_find(const plan_t *plan, const char *name, err_t *err)
{
    static const plan_role_t order[] = {ROLE_PARAM, ROLE_BATCH,  ROLE_RESULT,
                                        ROLE_STATE, ROLE_SCALAR, ROLE_ACCUMULATOR};
    const char *colon = strchr(name, ':');
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int found = plan_find_tensor(plan, order[i], name);
        if (found >= 0) return found;
    }
    int found = colon ? in_role(plan, name, (size_t)(colon - name), colon + 1) : -1;
    return found >= 0 ? found : unknown_tensor(plan, name, err);
}
