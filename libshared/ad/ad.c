/* Entry points of differentiation: copy the function, mark what is active, seed, walk back,
 * collect. */
#include "ad/ad.h"

#include <stdlib.h>
#include <string.h>

#include "ad/walk.h"
#include "base/mem.h"
#include "ir/build.h"

/* fn's parameters and ops in a function of their own, with n_extra more parameters of the types
 * `extra`. results[n_result] are the copies of fn's results. */
static ir_fn_t *copy_primal(ir_module_t *module, const ir_fn_t *fn, const char *name, int n_extra,
                            const ir_type_t *extra, ir_val_t *results, err_t *err)
{
    int n = fn->body->n_arg;
    ir_type_t *types = mem_calloc((size_t)(n + n_extra) + 1, sizeof *types);
    for (int i = 0; i < n; i++) types[i] = *ir_type_of(fn, ir_fn_param(fn, i));
    for (int i = 0; i < n_extra; i++) types[n + i] = extra[i];
    ir_fn_t *to = ir_fn_new(module, name, n + n_extra, types);
    free(types);

    ir_clone_t clone = {.from = fn, .to = to, .map = mem_calloc(fn->n_value + 1, sizeof(ir_val_t))};
    memset(clone.map, 0xFF, fn->n_value * sizeof *clone.map);
    for (int i = 0; i < n; i++) {
        clone.map[ir_fn_param(fn, i)] = ir_fn_param(to, i);
        to->value[ir_fn_param(to, i)].name = fn->value[ir_fn_param(fn, i)].name;
        ir_attrs_t *attrs = &to->param_attrs[i];
        for (int k = 0; k < fn->param_attrs[i].n; k++)
            attr_set(module->arena, attrs, fn->param_attrs[i].at[k]);
    }
    int status = ir_clone_ops(&clone, fn->body, err);
    for (int i = 0; i < fn->body->n_result && status == 0; i++)
        results[i] = clone.map[fn->body->result[i]];
    free(clone.map);
    if (status == 0) return to;
    ir_module_remove(module, to);
    return NULL;
}

/* A list of n_seed results and their cotangents, the walk, and the wanted parameters' cotangents
 * behind results[n_result]; returns how many results there are then, or -1. */
static int differentiate(ir_fn_t *fn, int n_param, const bool *wanted, int n_seed,
                         const ir_val_t *seed_of, const ir_val_t *seed, int n_result,
                         ir_val_t *results, err_t *err)
{
    ad_t ad = {.fn = fn};
    for (int i = 0; i < n_param; i++) {
        ir_val_t p = ir_fn_param(fn, i);
        ad_set_active(&ad, p, wanted[i] && dtype_is_inexact(ir_type_of(fn, p)->dtype));
    }
    ad_mark_region(&ad, fn->body, 0);

    ad_scope_t scope;
    ad_scope_init(&scope, &ad, 0);
    int n_op = fn->body->n_op, status = 0, n = n_result;
    ir_op_t **ops = mem_calloc((size_t)n_op + 1, sizeof *ops);
    memcpy(ops, fn->body->op, (size_t)n_op * sizeof *ops);
    for (int i = 0; i < n_seed && status == 0; i++)
        status = ad_add(&scope, seed_of[i], seed[i], err);
    if (status == 0) status = ad_reverse(&scope, ops, n_op, err);
    for (int i = 0; i < n_param && status == 0; i++) {
        if (!wanted[i]) continue;
        ir_val_t p = ir_fn_param(fn, i), ct = ad_take(&scope, p);
        ir_type_t type = *ir_type_of(fn, p);
        results[n++] = ct == IR_NONE ? ir_splat(fn, &type, 0) : ct;
    }
    free(ops);
    ad_scope_fini(&scope);
    free(ad.active);
    return status < 0 ? -1 : n;
}

static int check_wanted(const ir_fn_t *fn, const bool *wanted, err_t *err)
{
    char text[IR_TYPE_TEXT];
    for (int i = 0; i < fn->body->n_arg; i++) {
        const ir_type_t *type = ir_type_of(fn, ir_fn_param(fn, i));
        if (wanted[i] && !dtype_is_inexact(type->dtype))
            return err_set(err, ERR_TYPE,
                           "@%s: a gradient is wanted for argument %d, which is %s; only floats "
                           "and complex numbers have one",
                           fn->name, i, ir_type_text(type, text));
    }
    return 0;
}

static int check_loss(const ir_fn_t *fn, err_t *err)
{
    char text[IR_TYPE_TEXT];
    if (fn->body->n_result < 1)
        return err_set(err, ERR_TYPE, "@%s returns nothing; the loss must be a float scalar",
                       fn->name);
    const ir_type_t *loss = ir_type_of(fn, fn->body->result[0]);
    if (loss->rank != 0 || !dtype_is_float(loss->dtype))
        return err_set(err, ERR_TYPE, "@%s returns %s; the loss must be a float scalar", fn->name,
                       ir_type_text(loss, text));
    return 0;
}

/* Shared end of both entry points: the finished function, or NULL with nothing left behind. */
static ir_fn_t *finish(ir_fn_t *to, int n, const ir_val_t *results, const ir_fn_t *primal,
                       err_t *err)
{
    if (n >= 0 && ir_fn_finish(to, n, results, err) == 0) {
        for (int i = 0; primal->result_attrs && i < primal->body->n_result; i++)
            to->result_attrs[i] = primal->result_attrs[i];
        return to;
    }
    ir_module_remove(to->module, to);
    return NULL;
}

ir_fn_t *ad_gradient(ir_module_t *module, const ir_fn_t *fn, const char *name, const bool *wanted,
                     err_t *err)
{
    if (check_loss(fn, err) < 0 || check_wanted(fn, wanted, err) < 0) return NULL;
    int n_param = fn->body->n_arg, n_result = fn->body->n_result;
    ir_val_t *results = mem_calloc((size_t)(n_param + n_result), sizeof *results);
    ir_fn_t *to = copy_primal(module, fn, name, 0, NULL, results, err);
    if (to) {
        ir_val_t one = ir_scalar_like(to, results[0], 1);
        int n = differentiate(to, n_param, wanted, 1, results, &one, n_result, results, err);
        to = finish(to, n, results, fn, err);
    }
    free(results);
    return to;
}

ir_fn_t *ad_vjp(ir_module_t *module, const ir_fn_t *fn, const char *name, const bool *wanted,
                err_t *err)
{
    if (check_wanted(fn, wanted, err) < 0) return NULL;
    int n_param = fn->body->n_arg, n_result = fn->body->n_result, n_seed = 0;
    ir_type_t *types = mem_calloc((size_t)n_result + 1, sizeof *types);
    ir_val_t *results = mem_calloc((size_t)(n_param + n_result) + 1, sizeof *results);
    ir_val_t *seed_of = mem_calloc((size_t)n_result + 1, sizeof *seed_of);
    ir_val_t *seed = mem_calloc((size_t)n_result + 1, sizeof *seed);
    for (int i = 0; i < n_result; i++) {
        const ir_type_t *type = ir_type_of(fn, fn->body->result[i]);
        if (dtype_is_inexact(type->dtype)) types[n_seed++] = *type;
    }
    ir_fn_t *to = copy_primal(module, fn, name, n_seed, types, results, err);
    if (to) {
        for (int i = 0, k = 0; i < n_result; i++) {
            if (!dtype_is_inexact(ir_type_of(to, results[i])->dtype)) continue;
            seed_of[k] = results[i];
            seed[k] = ir_fn_param(to, n_param + k);
            k++;
        }
        int n = differentiate(to, n_param, wanted, n_seed, seed_of, seed, n_result, results, err);
        to = finish(to, n, results, fn, err);
    }
    free(types);
    free(results);
    free(seed_of);
    free(seed);
    return to;
}
