/* Whole graphs: read, printed, copied; and what is known of their functions. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/mem.h"
#include "ir/print.h"
#include "parse/parse.h"

pcp_graph_t *api_graph_of(ir_module_t *module)
{
    if (!module) return NULL;
    pcp_graph_t *self = api_alloc(sizeof *self);
    self->module = module;
    self->error = pcp_error_new();
    api_graph_count(self);
    return self;
}

void api_graph_count(pcp_graph_t *self)
{
    size_t now = arena_used(self->module->arena);
    api_hold(now);
    api_let_go(self->held);
    self->held = now;
}

pcp_graph_t *pcp_graph_new(void)
{
    return api_graph_of(ir_module_new());
}

pcp_graph_t *pcp_graph_parse(const void *bytes, size_t n_bytes, const char *name,
                             pcp_error_t *error)
{
    return api_graph_of(parse_stablehlo(bytes, n_bytes, name ? name : "graph", api_err(error)));
}

pcp_graph_t *pcp_graph_load(const char *path, pcp_error_t *error)
{
    err_t *err = api_err(error);
    if (parse_check_path(path, err) < 0) return NULL;
    return api_graph_of(parse_stablehlo_file(path, err));
}

void pcp_graph_destroy(pcp_graph_t **self_p)
{
    pcp_graph_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    *self_p = NULL;
    VEC_FREE(&self->arg);
    VEC_FREE(&self->result);
    pcp_error_destroy(&self->error);
    ir_module_destroy(&self->module);
    api_let_go(self->held);
    api_free(self, sizeof *self);
}

ir_module_t *api_module_copy(const pcp_graph_t *self, err_t *err)
{
    if (self->fn) {
        err_set(err, ERR_STATE, "@%s is not finished: pcp_function_end comes first",
                self->fn->name);
        return NULL;
    }
    return ir_module_clone(self->module, err);
}

pcp_graph_t *pcp_graph_clone(const pcp_graph_t *self, pcp_error_t *error)
{
    return api_graph_of(api_module_copy(self, api_err(error)));
}

char *pcp_graph_print(const pcp_graph_t *self, pcp_error_t *error)
{
    err_t *err = api_err(error);
    if (self->fn) {
        err_set(err, ERR_STATE, "@%s is not finished: pcp_function_end comes first",
                self->fn->name);
        return NULL;
    }
    str_t text = {0};
    ir_print_module(self->module, &text);
    return text.at;
}

int pcp_graph_count(const pcp_graph_t *self)
{
    return self->module->n_fn;
}

const char *pcp_graph_name(const pcp_graph_t *self, int i)
{
    return i >= 0 && i < self->module->n_fn ? self->module->fn[i]->name : NULL;
}

/* --- finished functions --- */

const ir_fn_t *api_function(const pcp_graph_t *self, const char *name, err_t *err)
{
    const ir_fn_t *fn = name ? ir_module_find(self->module, name) : NULL;
    if (fn) return fn;
    str_t names = {0};
    for (int i = 0; i < self->module->n_fn; i++)
        str_addf(&names, "%s@%s", i ? ", " : "", self->module->fn[i]->name);
    err_set(err, ERR_ARG, "the graph has no function @%s; it has: %s", name ? name : "",
            names.n ? names.at : "none");
    str_fini(&names);
    return NULL;
}

int pcp_function_inputs(const pcp_graph_t *self, const char *function)
{
    const ir_fn_t *fn = api_function(self, function, NULL);
    return fn ? fn->body->n_arg : -1;
}

int pcp_function_outputs(const pcp_graph_t *self, const char *function)
{
    const ir_fn_t *fn = api_function(self, function, NULL);
    return fn ? fn->body->n_result : -1;
}

static pcp_type_t describe(const ir_fn_t *fn, ir_val_t value, const ir_attrs_t *attrs,
                           const char **name)
{
    if (name) *name = attrs ? attr_text(attrs, "pcp.name", NULL) : NULL;
    return api_type_out(ir_type_of(fn, value));
}

static pcp_type_t nothing(const char **name)
{
    if (name) *name = NULL;
    return pcp_scalar(PCP_NONE);
}

pcp_type_t pcp_function_input(const pcp_graph_t *self, const char *function, int i,
                              const char **name)
{
    const ir_fn_t *fn = api_function(self, function, NULL);
    if (!fn || i < 0 || i >= fn->body->n_arg) return nothing(name);
    return describe(fn, ir_fn_param(fn, i), &fn->param_attrs[i], name);
}

pcp_type_t pcp_function_output(const pcp_graph_t *self, const char *function, int i,
                               const char **name)
{
    const ir_fn_t *fn = api_function(self, function, NULL);
    if (!fn || i < 0 || i >= fn->body->n_result) return nothing(name);
    return describe(fn, fn->body->result[i], fn->result_attrs ? &fn->result_attrs[i] : NULL, name);
}
