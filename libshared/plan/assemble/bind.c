/* The parameters and results of a program as tensors of the plan. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "plan/assemble/assemble.h"

/* A role of a plan's tensor, or what a model says of an argument (optim/optim.h) where a function is compiled as it stands: what
 * is kept is a parameter, whether a training step would change it or not, and what is told with each step an input. */
static int parse_role(const char *text, plan_role_t *role, err_t *err)
{
    if (strcmp(text, "frozen") == 0 || str_starts(text, "state:"))
        *role = ROLE_PARAM;
    else if (strcmp(text, "seed") == 0)
        *role = ROLE_BATCH;
    else if (str_starts(text, "scalar:"))
        *role = ROLE_SCALAR;
    else
        return plan_role_parse(text, role, err);
    return 0;
}

/* The number of the tensor that attrs describe, added when new; -1 on error. */
static int tensor_for(plan_build_t *self, const ir_attrs_t *attrs, const ir_type_t *type,
                      const char *fallback, plan_role_t role, err_t *err)
{
    const char *text = attr_text(attrs, "pcp.role", NULL);
    const char *name = attr_text(attrs, "pcp.name", fallback);
    if (text && parse_role(text, &role, err) < 0) return -1;
    char *key = mem_printf("%d %s", (int)role, name);
    int i = index_find(self->tensors, key, strlen(key));
    if (i < 0) index_add(self->tensors, key, strlen(key), (int)self->tensor.n);
    free(key);
    if (i < 0) {
        plan_tensor_t t = {.name = mem_strdup(name), .role = role, .type = *type};
        t.n_bytes = (uint64_t)ir_type_bytes(type);
        VEC_PUSH(&self->tensor, t);
        return (int)self->tensor.n - 1;
    }
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    if (!ir_type_equal(&self->tensor.at[i].type, type))
        return err_set(err, ERR_TYPE, "%s \"%s\" is %s in one program and %s in another",
                       plan_role_name(role), name, ir_type_text(&self->tensor.at[i].type, a),
                       ir_type_text(type, b));
    return i;
}

enum { FALLBACK = 256 };

/* "arg0" of @main, "f.arg0" of another function: programs share tensors by name. */
static void fallback_name(char *name, const ir_fn_t *fn, const char *stem, int i)
{
    if (strcmp(fn->name, "main") == 0)
        snprintf(name, FALLBACK, "%s%d", stem, i);
    else
        snprintf(name, FALLBACK, "%s.%s%d", fn->name, stem, i);
}

int bind_tensors(plan_build_t *self, program_t *p, const ir_fn_t *fn, err_t *err)
{
    char fallback[FALLBACK];
    const ir_region_t *body = fn->body;
    for (int i = 0; i < body->n_arg; i++) {
        fallback_name(fallback, fn, "arg", i);
        p->param[i] = tensor_for(self, &fn->param_attrs[i], ir_type_of(fn, body->arg + (ir_val_t)i),
                                 fallback, ROLE_BATCH, err);
        if (p->param[i] < 0) return -1;
    }
    for (int i = 0; i < body->n_result; i++) {
        fallback_name(fallback, fn, "result", i);
        p->result[i] = tensor_for(self, &fn->result_attrs[i], ir_type_of(fn, body->result[i]),
                                  fallback, ROLE_RESULT, err);
        if (p->result[i] < 0) return -1;
    }
    return 0;
}
