/* Which of a module's arguments are parameters and which are data. */
#include <string.h>

#include "base/index.h"
#include "optim/optim.h"

static int classify(const ir_fn_t *fn, int i, optim_arg_t *arg, err_t *err)
{
    const ir_attrs_t *attrs = &fn->param_attrs[i];
    char text[IR_TYPE_TEXT];
    bool is_float = dtype_is_float(arg->type.dtype);
    bool trains = dtype_is_inexact(arg->type.dtype); /* a complex argument is no silent batch */
    const char *role = attr_text(attrs, "pcp.role", trains ? "param" : "batch");
    arg->is_param = strcmp(role, "param") == 0;
    if (!arg->is_param && strcmp(role, "batch") != 0)
        return err_set(err, ERR_ARG,
                       "@%s: argument %d has pcp.role = \"%s\", expected \"param\" or \"batch\"",
                       fn->name, i, role);
    if (arg->is_param && trains && !is_float)
        return err_set(err, ERR_TYPE,
                       "@%s: argument %d is a parameter of %s; train its real and imaginary parts "
                       "as two real ones (stablehlo.complex joins them)",
                       fn->name, i, ir_type_text(&arg->type, text));
    if (arg->is_param && !is_float)
        return err_set(err, ERR_TYPE,
                       "@%s: argument %d is a parameter of %s; only floats can be trained",
                       fn->name, i, ir_type_text(&arg->type, text));
    return 0;
}

/* No two of the arguments have one name. */
static int check_names(const ir_fn_t *fn, const optim_arg_t *args, err_t *err)
{
    index_t *names = index_new();
    int status = 0;
    for (int i = 0; status == 0 && i < fn->body->n_arg; i++) {
        int other = index_find(names, args[i].name, strlen(args[i].name));
        if (other >= 0)
            status = err_set(err, ERR_ARG, "@%s: arguments %d and %d are both called \"%s\"",
                             fn->name, other, i, args[i].name);
        else
            index_add(names, args[i].name, strlen(args[i].name), i);
    }
    index_destroy(&names);
    return status;
}

optim_arg_t *optim_args(const ir_module_t *module, const ir_fn_t *fn, err_t *err)
{
    int n = fn->body->n_arg;
    optim_arg_t *args = ARENA_ARRAY(module->arena, optim_arg_t, n + 1);
    for (int i = 0; i < n; i++) {
        const ir_attrs_t *attrs = &fn->param_attrs[i];
        args[i].type = *ir_type_of(fn, ir_fn_param(fn, i));
        args[i].init = attr_text(attrs, "pcp.init", NULL);
        args[i].name = attr_text(attrs, "pcp.name", NULL);
        if (!args[i].name) args[i].name = arena_printf(module->arena, "arg%d", i);
        if (classify(fn, i, &args[i], err) < 0) return NULL;
    }
    return check_names(fn, args, err) < 0 ? NULL : args;
}
