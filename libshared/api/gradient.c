/* Derivatives of finished functions, and the reference evaluation. Calls are inlined in a copy of the graph, so that
 * the graph's own functions stay as they are; the derivative is then copied over. */
#include <stdlib.h>
#include <string.h>

#include "ad/ad.h"
#include "api/api.h"
#include "base/mem.h"
#include "ops/eval.h"
#include "passes/passes.h"

typedef ir_fn_t *differentiate_fn(ir_module_t *module, const ir_fn_t *fn, const char *name,
                                  const bool *wanted, err_t *err);

static const char *name_of(const ir_fn_t *fn, int i)
{
    return attr_text(&fn->param_attrs[i], "pcp.name", arena_printf(fn->module->arena, "arg%d", i));
}

static bool is_role(const ir_fn_t *fn, int i, const char *role)
{
    return strcmp(attr_text(&fn->param_attrs[i], "pcp.role", ""), role) == 0;
}

/* All parameters, or else all floats. */
static void want_all(const ir_fn_t *fn, bool *wanted)
{
    bool any = false;
    for (int i = 0; i < fn->body->n_arg; i++) any = any || is_role(fn, i, "param");
    for (int i = 0; i < fn->body->n_arg; i++)
        wanted[i] = any ? is_role(fn, i, "param")
                        : dtype_is_inexact(ir_type_of(fn, ir_fn_param(fn, i))->dtype);
}

static int want(const ir_fn_t *fn, const char *name, bool *wanted, err_t *err)
{
    str_t names = {0};
    for (int i = 0; i < fn->body->n_arg; i++) {
        str_addf(&names, "%s%s", i ? ", " : "", name_of(fn, i));
        if (strcmp(name_of(fn, i), name) != 0) continue;
        wanted[i] = true;
        str_fini(&names);
        return 0;
    }
    err_set(err, ERR_ARG, "@%s has no argument \"%s\"; it has: %s", fn->name, name,
            str_text(&names));
    str_fini(&names);
    return -1;
}

/* Names of arguments, cotangents and gradients; those of fn are there already. */
static void describe(ir_fn_t *to, const ir_fn_t *fn, const bool *wanted)
{
    arena_t *arena = to->module->arena;
    int n = fn->body->n_arg, n_result = fn->body->n_result, seed = n, grad = n_result;
    for (int i = 0; i < n; i++) to->param_attrs[i] = fn->param_attrs[i];
    for (int i = 0; seed < to->body->n_arg && i < n_result; i++) {
        if (!dtype_is_inexact(ir_type_of(fn, fn->body->result[i])->dtype)) continue;
        const char *result = attr_text(&fn->result_attrs[i], "pcp.name",
                                       arena_printf(arena, "%d", i));
        ir_attrs_t *attrs = &to->param_attrs[seed++];
        attr_set_text(arena, attrs, "pcp.role", ATTR_STRING, "batch");
        attr_set_text(arena, attrs, "pcp.name", ATTR_STRING, arena_printf(arena, "ct.%s", result));
    }
    for (int i = 0; i < n; i++)
        if (wanted[i])
            attr_set_text(arena, &to->result_attrs[grad++], "pcp.name", ATTR_STRING,
                          arena_printf(arena, "grad.%s", name_of(fn, i)));
}

/* In a copy: calls written out, the derivative made, and moved into the graph. */
static int derive(pcp_graph_t *self, ir_module_t *copy, const char *function, const char *name,
                  int n_wanted, const char *const *wanted_names, differentiate_fn *differentiate,
                  err_t *err)
{
    for (int i = 0; i < copy->n_fn; i++) /* inlining drops private ones that nobody calls */
        if (strcmp(copy->fn[i]->name, function) == 0) copy->fn[i]->is_private = false;
    if (passes_run_one(copy, "inline", err) < 0) return -1;
    const ir_fn_t *fn = ir_module_find(copy, function);
    bool *wanted = mem_calloc((size_t)fn->body->n_arg + 1, sizeof *wanted);
    int status = 0;
    if (n_wanted == 0) want_all(fn, wanted);
    for (int i = 0; status == 0 && i < n_wanted; i++)
        status = want(fn, wanted_names[i], wanted, err);
    ir_fn_t *made = status == 0 ? differentiate(copy, fn, name, wanted, err) : NULL;
    if (made) describe(made, fn, wanted);
    free(wanted);
    ir_fn_t *fresh = made ? ir_clone_fn(self->module, made, NULL, NULL, err) : NULL;
    if (fresh && ir_verify(self->module, err) < 0) {
        ir_module_remove(self->module, fresh);
        return -1;
    }
    return fresh ? 0 : -1;
}

static int differentiated(pcp_graph_t *self, const char *function, const char *name, int n_wanted,
                          const char *const *wanted, differentiate_fn *differentiate,
                          pcp_error_t *error)
{
    err_t *err = api_err(error);
    if (!api_function(self, function, err)) return -1;
    if (ir_module_find(self->module, name))
        return err_set(err, ERR_ARG, "the graph has a function @%s already", name);
    ir_module_t *copy = api_module_copy(self, err);
    int status = copy ? derive(self, copy, function, name, n_wanted, wanted, differentiate, err)
                      : -1;
    ir_module_destroy(&copy);
    api_graph_count(self);
    return status;
}

int pcp_gradient(pcp_graph_t *self, const char *function, const char *name, int n_wanted,
                 const char *const *wanted, pcp_error_t *error)
{
    return differentiated(self, function, name, n_wanted, wanted, ad_gradient, error);
}

int pcp_vjp(pcp_graph_t *self, const char *function, const char *name, int n_wanted,
            const char *const *wanted, pcp_error_t *error)
{
    return differentiated(self, function, name, n_wanted, wanted, ad_vjp, error);
}

/* --- reference evaluation --- */

static int check_inputs(const ir_fn_t *fn, int n_in, const pcp_tensor_t *const *in, int n_out,
                        err_t *err)
{
    char have[IR_TYPE_TEXT], want_text[IR_TYPE_TEXT];
    if (n_in != fn->body->n_arg || n_out != fn->body->n_result)
        return err_set(err, ERR_ARG, "@%s has %d arguments and %d results, not %d and %d", fn->name,
                       fn->body->n_arg, fn->body->n_result, n_in, n_out);
    for (int i = 0; i < n_in; i++) {
        const ir_type_t *type = ir_type_of(fn, ir_fn_param(fn, i));
        if (in[i] && ir_type_equal(&in[i]->value.type, type)) continue;
        return err_set(err, ERR_SHAPE, "@%s: argument %d (%s) is %s, got %s", fn->name, i,
                       name_of(fn, i), ir_type_text(type, want_text),
                       in[i] ? ir_type_text(&in[i]->value.type, have) : "none");
    }
    return 0;
}

int pcp_evaluate(const pcp_graph_t *self, const char *function, int n_in,
                 const pcp_tensor_t *const *in, int n_out, pcp_tensor_t **out, pcp_error_t *error)
{
    err_t *err = api_err(error);
    const ir_fn_t *fn = api_function(self, function, err);
    if (!fn || check_inputs(fn, n_in, in, n_out, err) < 0) return -1;
    tensor_t *args = mem_calloc((size_t)n_in + 1, sizeof *args);
    tensor_t *results = mem_calloc((size_t)n_out + 1, sizeof *results);
    for (int i = 0; i < n_in; i++) args[i] = in[i]->value;
    int status = eval_fn(self->module, fn, args, results, NULL, err);
    for (int i = 0; status == 0 && i < n_out; i++) out[i] = api_tensor_take(&results[i]);
    free(args);
    free(results);
    return status;
}
