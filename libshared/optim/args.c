/* Roles of a module's arguments, by their attributes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/index.h"
#include "ops/stacked.h"
#include "optim/optim.h"

#define ROLE_WORD(word) #word,
static const char *const words[] = {OPTIM_ROLES(ROLE_WORD)};

const char *optim_role_name(optim_role_t role)
{
    return words[role];
}

ir_type_t optim_master(ir_type_t type)
{
    return type.dtype == DT_F64 ? type : ir_type_with(type, DT_F32);
}

/* --- the text of a role --- */

static int parse_detail(const char *detail, optim_arg_t *arg, err_t *err)
{
    char *end;
    if (arg->role == ARG_state) {
        long next = detail ? strtol(detail, &end, 10) : -1;
        if (!detail || end == detail || *end || next < 0 || next > 1 << 20)
            return err_set(
                err, ERR_ARG,
                "has the role \"state:%s\": say which result is its next value, as state:1",
                detail ? detail : "");
        arg->next = (int)next;
        return 0;
    }
    if (arg->role != ARG_scalar)
        return detail ? err_set(err, ERR_ARG,
                                "has the role \"%s:%s\": nothing may stand behind \"%s\"",
                                words[arg->role], detail, words[arg->role])
                      : 0;
    if (!detail)
        return err_set(err, ERR_ARG,
                       "has the role \"scalar\": say scalar:step, scalar:lr or scalar:NUMBER");
    arg->scalar = strcmp(detail, "step") == 0 ? SCALAR_STEP
                  : strcmp(detail, "lr") == 0 ? SCALAR_LR
                                              : SCALAR_VALUE;
    if (arg->scalar != SCALAR_VALUE) return 0;
    arg->value = strtod(detail, &end);
    if (end == detail || *end || !isfinite(arg->value))
        return err_set(err, ERR_ARG, "has the role \"scalar:%s\": expected step, lr or a number",
                       detail);
    return 0;
}

/* Does the type go with the role? */
static int check_type(const optim_arg_t *arg, err_t *err)
{
    char text[IR_TYPE_TEXT];
    const ir_type_t *type = &arg->type;
    bool is_float = dtype_is_float(type->dtype);
    if (arg->is_param && dtype_is_inexact(type->dtype) && !is_float)
        return err_set(err, ERR_TYPE,
                       "is a parameter of %s; train its real and imaginary parts as two real ones "
                       "(stablehlo.complex joins them)",
                       ir_type_text(type, text));
    if (arg->role == ARG_param && !is_float)
        return err_set(err, ERR_TYPE, "is a parameter of %s; only floats can be trained",
                       ir_type_text(type, text));
    if (arg->role == ARG_state && (dtype_is_unsigned(type->dtype) || type->dtype == DT_I1))
        return err_set(err, ERR_TYPE,
                       "is a state of %s; states are floats and signed integers (a random key that "
                       "is handed on has the role seed)",
                       ir_type_text(type, text));
    bool bits = dtype_is_int(type->dtype) && dtype_bits(type->dtype) >= 8;
    if (arg->role == ARG_seed && (!bits || ir_type_count(type) < 1 || ir_type_count(type) > 4096))
        return err_set(err, ERR_TYPE, "is a seed of %s; keys are 1 to 4096 integers",
                       ir_type_text(type, text));
    if (arg->role == ARG_scalar && dtype_is_inexact(type->dtype) && !is_float)
        return err_set(err, ERR_TYPE, "is a scalar of %s", ir_type_text(type, text));
    return 0;
}

int optim_role_parse(const char *text, optim_arg_t *arg, err_t *err)
{
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    for (int role = 0; role < N_ARG_ROLE; role++) {
        if (strlen(words[role]) != n || memcmp(words[role], text, n) != 0) continue;
        arg->role = (optim_role_t)role;
        arg->is_param = role == ARG_param || role == ARG_frozen || role == ARG_state;
        if (parse_detail(colon ? colon + 1 : NULL, arg, err) < 0) return -1;
        return check_type(arg, err);
    }
    return err_set(err, ERR_ARG,
                   "has the role \"%s\", which is none: param, frozen, state:RESULT, batch, seed, "
                   "scalar:step, "
                   "scalar:lr or scalar:NUMBER",
                   text);
}

/* --- the arguments of a function --- */

static int classify(const ir_fn_t *fn, int i, optim_arg_t *arg, err_t *err)
{
    bool trains = dtype_is_inexact(arg->type.dtype); /* a complex argument is no silent batch */
    const char *role = attr_text(&fn->param_attrs[i], "pcp.role", trains ? "param" : "batch");
    if (optim_role_parse(role, arg, err) < 0)
        return err_prefix(err, "@%s: argument %d ", fn->name, i);
    if (arg->role != ARG_state || strcmp(fn->name, "logits") == 0) return 0;
    char have[IR_TYPE_TEXT], want[IR_TYPE_TEXT];
    if (arg->next < 1 || arg->next >= fn->body->n_result)
        return err_set(
            err, ERR_ARG,
            "@%s: argument %d has pcp.role = \"%s\", but the results behind the loss are "
            "1 to %d",
            fn->name, i, role, fn->body->n_result - 1);
    const ir_type_t *next = ir_type_of(fn, fn->body->result[arg->next]);
    if (ir_shape_equal(next, &arg->type)) return 0;
    return err_set(err, ERR_SHAPE, "@%s: state %d is %s, result %d %s", fn->name, i,
                   ir_type_text(&arg->type, want), arg->next, ir_type_text(next, have));
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

/* A number of a group, as a string or as a number; 1: there is none. */
static int read_factor(const ir_fn_t *fn, int i, const char *name, double *out, err_t *err)
{
    const ir_attr_t *attr = attr_find(&fn->param_attrs[i], name);
    char number[32] = "1", *end;
    if (attr && attr->kind == ATTR_INT) snprintf(number, sizeof number, "%lld", (long long)attr->i);
    if (attr && attr->kind == ATTR_FLOAT) snprintf(number, sizeof number, "%.17g", attr->f);
    bool is_number = !attr || attr->kind == ATTR_INT || attr->kind == ATTR_FLOAT;
    const char *text = is_number ? number : attr_text(&fn->param_attrs[i], name, "");
    *out = strtod(text, &end);
    if (end != text && !*end && *out >= 0 && *out <= 1000) return 0;
    return err_set(err, ERR_ARG, "@%s: argument %d has %s = \"%.40s\": no number of 0 to 1000",
                   fn->name, i, name, text);
}

optim_arg_t *optim_args(const ir_module_t *module, const ir_fn_t *fn, err_t *err)
{
    int n = fn->body->n_arg;
    optim_arg_t *args = ARENA_ARRAY(module->arena, optim_arg_t, n + 1);
    for (int i = 0; i < n; i++) {
        const ir_attrs_t *attrs = &fn->param_attrs[i];
        args[i] = (optim_arg_t){.type = *ir_type_of(fn, ir_fn_param(fn, i))};
        args[i].init = attr_text(attrs, "pcp.init", NULL);
        args[i].name = attr_text(attrs, "pcp.name", NULL);
        if (!args[i].name) args[i].name = arena_printf(module->arena, "arg%d", i);
        if (classify(fn, i, &args[i], err) < 0) return NULL;
        if (read_factor(fn, i, OPTIM_LR, &args[i].lr, err) < 0 ||
            read_factor(fn, i, OPTIM_DECAY, &args[i].decay, err) < 0)
            return NULL;
        if (stacked_layer_rank(fn, i) < 2) args[i].decay = 0;
    }
    return check_names(fn, args, err) < 0 ? NULL : args;
}
