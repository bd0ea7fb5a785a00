/* Ops that run regions or functions, and those that only pass values on: while, if, case, map,
 * call, composite, custom_call, optimization_barrier. Their reverse rules are in control_vjp.c and
 * while_vjp.c. */
#include "ops/control.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ops/check_expect.h"
#include "ops/common.h"
#include "ops/draw_rule.h"
#include "ops/eval.h"

/* The types of n values into a heap array. */
static ir_type_t *types_of(const ir_fn_t *fn, int n, const ir_val_t *values)
{
    ir_type_t *types = mem_calloc((size_t)n + 1, sizeof *types);
    for (int i = 0; i < n; i++) types[i] = *ir_type_of(fn, values[i]);
    return types;
}

static void replace(tensor_t *out, tensor_t value)
{
    tensor_fini(out);
    *out = value;
}

/* --- while: regions cond (carry) -> i1 and body (carry) -> carry --- */
static int infer_while(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    ir_type_t *carry = types_of(fn, op->n_in, op->in), pred = ir_type_scalar(DT_I1);
    int rc = op->n_in == op->n_out
                 ? 0
                 : err_set(err, ERR_SHAPE, "stablehlo.while: %d operands, %d results", op->n_in,
                           op->n_out);
    if (rc == 0) rc = infer_region(fn, op, 0, op->n_in, carry, 1, &pred, err);
    if (rc == 0) rc = infer_region(fn, op, 1, op->n_in, carry, op->n_in, carry, err);
    for (int i = 0; rc == 0 && i < op->n_in; i++) rc = infer_result(op, i, out, &carry[i], err);
    free(carry);
    return rc;
}

static int eval_while(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    int n = op->n_in, rc = -1;
    int64_t limit = eval_options(ev)->max_iterations;
    tensor_t *carry = out, *next = mem_calloc((size_t)n + 1, sizeof *next);
    for (int i = 0; i < n; i++) tensor_assign(&carry[i], &in[i]);
    for (int64_t iteration = 0;; iteration++) {
        tensor_t pred;
        if (eval_region(ev, op->region[0], carry, &pred, err) < 0) goto done;
        bool go_on = tensor_get_i64(&pred, 0) != 0;
        tensor_fini(&pred);
        if (!go_on) break;
        if (limit > 0 && iteration >= limit) {
            err_set(err, ERR_STATE, "stablehlo.while: more than %lld iterations", (long long)limit);
            goto done;
        }
        if (eval_region(ev, op->region[1], carry, next, err) < 0) goto done;
        for (int i = 0; i < n; i++) replace(&carry[i], next[i]);
    }
    rc = 0;
done:
    free(next);
    return rc;
}

const op_def_t op_while = {
    .name = "stablehlo.while",
    .kind = K_CONTROL,
    .n_in = -1,
    .n_out = -1,
    .n_region = 2,
    .form = FORM_WHILE,
    .infer = infer_while,
    .eval = eval_while,
    .vjp = vjp_while,
};

/* --- if, case: one of several regions without arguments; case outside 0..n-1 takes the last --- */
static int infer_branches(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    bool is_if = op->code == OP_if;
    const ir_type_t *selector = op_in_type(fn, op, 0);
    ir_type_t want = ir_type_scalar(is_if ? DT_I1 : DT_I32);
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    if (!ir_type_equal(selector, &want))
        return err_set(err, ERR_TYPE, "%s: operand is %s, expected %s", op_name(op),
                       ir_type_text(selector, a), ir_type_text(&want, b));
    if (op->n_region < 1 || op->region[0]->n_result != op->n_out)
        return err_set(err, ERR_SHAPE, "%s: %d results, expected as many as each branch returns",
                       op_name(op), op->n_out);
    ir_type_t *types = types_of(fn, op->n_out, op->region[0]->result);
    int rc = 0;
    for (int r = 0; rc == 0 && r < op->n_region; r++)
        rc = infer_region(fn, op, r, 0, NULL, op->n_out, types, err);
    for (int i = 0; rc == 0 && i < op->n_out; i++) rc = infer_result(op, i, out, &types[i], err);
    free(types);
    return rc;
}

static int eval_branches(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                         err_t *err)
{
    int64_t which = tensor_get_i64(in, 0);
    if (op->code == OP_if) which = which ? 0 : 1;
    if (which < 0 || which >= op->n_region) which = op->n_region - 1;
    tensor_t *results = mem_calloc((size_t)op->n_out + 1, sizeof *results);
    int rc = eval_region(ev, op->region[which], NULL, results, err);
    for (int i = 0; rc == 0 && i < op->n_out; i++) replace(&out[i], results[i]);
    free(results);
    return rc;
}

const op_def_t op_if = {
    .name = "stablehlo.if",
    .kind = K_CONTROL,
    .n_in = 1,
    .n_out = -1,
    .n_region = 2,
    .infer = infer_branches,
    .eval = eval_branches,
    .vjp = vjp_branches,
};

const op_def_t op_case = {
    .name = "stablehlo.case",
    .kind = K_CONTROL,
    .n_in = 1,
    .n_out = -1,
    .n_region = -1,
    .infer = infer_branches,
    .eval = eval_branches,
    .vjp = vjp_branches,
};

/* --- map: a region on scalars, applied to corresponding elements --- */
static int infer_map(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (op->n_in < 1 || op->n_region != 1 || op->region[0]->n_result != 1)
        return err_set(err, ERR_SHAPE,
                       "stablehlo.map: needs an operand and a region with one result");
    const ir_type_t *shape = op_in_type(fn, op, 0);
    const int64_t *dims;
    int n, rc = infer_dims(op, "dimensions", shape->rank, &dims, &n, err);
    if (rc == 0 && n != shape->rank)
        rc = err_set(err, ERR_SHAPE, "stablehlo.map: dimensions names %d of %d dimensions", n,
                     shape->rank);
    for (int i = 0; rc == 0 && i < n; i++)
        if (dims[i] != i)
            rc = err_set(err, ERR_SHAPE, "stablehlo.map: dimensions[%d] is %lld, expected %d", i,
                         (long long)dims[i], i);
    ir_type_t *args = types_of(fn, op->n_in, op->in);
    ir_type_t y = *ir_type_of(fn, op->region[0]->result[0]);
    for (int i = 0; rc == 0 && i < op->n_in; i++) {
        rc = infer_same_shape(fn, op, 0, i, err);
        args[i] = ir_type_scalar(args[i].dtype);
    }
    ir_type_t scalar = ir_type_scalar(y.dtype), result = ir_type_with(*shape, y.dtype);
    if (rc == 0) rc = infer_region(fn, op, 0, op->n_in, args, 1, &scalar, err);
    if (rc == 0) rc = infer_result(op, 0, out, &result, err);
    free(args);
    return rc;
}

static int eval_map_op(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    int64_t count = ir_type_count(&out->type);
    tensor_t *args = mem_calloc((size_t)op->n_in, sizeof *args);
    int rc = 0;
    for (int64_t i = 0; rc == 0 && i < count; i++) {
        tensor_t y;
        for (int k = 0; k < op->n_in; k++) args[k] = tensor_element(&in[k], i);
        rc = eval_region(ev, op->region[0], args, &y, err);
        if (rc < 0) break;
        element_copy(out, i, &y, 0);
        tensor_fini(&y);
    }
    free(args);
    return rc;
}

const op_def_t op_map = {
    .name = "stablehlo.map",
    .kind = K_CONTROL,
    .n_in = -1,
    .n_out = 1,
    .n_region = 1,
    .needs = {"dimensions"},
    .infer = infer_map,
    .eval = eval_map_op,
};

/* --- call @callee; composite: a named call of its decomposition --- */
const ir_fn_t *control_callee(const ir_module_t *module, const ir_op_t *op, err_t *err)
{
    const char *attr = op->code == OP_call ? "callee" : "decomposition";
    const char *name = attr_text(&op->attrs, attr, NULL);
    if (!name) {
        err_set(err, ERR_ARG, "%s: attribute %s is missing", op_name(op), attr);
        return NULL;
    }
    const ir_fn_t *callee = ir_module_find(module, name);
    if (!callee) err_set(err, ERR_ARG, "%s: there is no function @%s", op_name(op), name);
    return callee;
}

static int infer_call(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    const ir_fn_t *callee = control_callee(fn->module, op, err);
    if (!callee) return -1;
    if (callee->body->n_arg != op->n_in || callee->body->n_result != op->n_out)
        return err_set(err, ERR_SHAPE,
                       "%s @%s: %d operands and %d results, the function has %d and %d",
                       op_name(op), callee->name, op->n_in, op->n_out, callee->body->n_arg,
                       callee->body->n_result);
    for (int i = 0; i < op->n_in; i++) {
        const ir_type_t *want = ir_type_of(callee, ir_fn_param(callee, i));
        if (!ir_type_equal(op_in_type(fn, op, i), want))
            return err_set(err, ERR_TYPE, "%s @%s: operand %d is %s, expected %s", op_name(op),
                           callee->name, i, ir_type_text(op_in_type(fn, op, i), a),
                           ir_type_text(want, b));
    }
    for (int i = 0; i < op->n_out; i++)
        if (infer_result(op, i, out, ir_type_of(callee, callee->body->result[i]), err) < 0)
            return -1;
    return 0;
}

static int eval_callee(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err)
{
    const ir_fn_t *callee = control_callee(eval_module(ev), op, err);
    if (!callee) return -1;
    tensor_t *results = mem_calloc((size_t)op->n_out + 1, sizeof *results);
    int rc = eval_call(ev, callee, in, results, err);
    for (int i = 0; rc == 0 && i < op->n_out; i++) replace(&out[i], results[i]);
    free(results);
    return rc;
}

const op_def_t op_call = {
    .name = "func.call",
    .kind = K_CONTROL,
    .n_in = -1,
    .n_out = -1,
    .form = FORM_CALL,
    .infer = infer_call,
    .eval = eval_callee,
};

const op_def_t op_composite = {
    .name = "stablehlo.composite",
    .kind = K_CONTROL,
    .n_in = -1,
    .n_out = -1,
    .form = FORM_COMPOSITE,
    .infer = infer_call,
    .eval = eval_callee,
};

/* --- custom_call: annotations that pass their operands on, pcp.stop_gradient, and checks --- */
bool control_is_identity(const char *target)
{
    static const char *const names[] = {"Sharding",
                                        "SPMDFullToShardShape",
                                        "SPMDShardToFullShape",
                                        "annotate_device_placement",
                                        "LayoutConstraint",
                                        "MoveToHost",
                                        "MoveToDevice",
                                        "PinToDevice",
                                        "PinToHost",
                                        "mark_tensor",
                                        "tt.mark_argument",
                                        "tt.sharding_constraint",
                                        CONTROL_STOP_GRADIENT};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], target) == 0) return true;
    return strncmp(target, "xla.sdy.", 8) == 0;
}

const char *control_target(const ir_op_t *op)
{
    return attr_text(&op->attrs, "call_target_name", "");
}

bool control_is_known(const ir_op_t *op)
{
    const char *target = control_target(op);
    return control_is_identity(target) || draw_is_seed(op) || check_is_target(target);
}

/* Results repeat the operands. */
static int infer_identity(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (op->n_in != op->n_out)
        return err_set(err, ERR_SHAPE, "%s: %d operands, %d results", op_name(op), op->n_in,
                       op->n_out);
    for (int i = 0; i < op->n_in; i++)
        if (infer_result(op, i, out, op_in_type(fn, op, i), err) < 0) return -1;
    return 0;
}

static int infer_seed(const ir_op_t *op, ir_type_t *out, err_t *err)
{
    ir_type_t type = ir_type_scalar(DT_UI64);
    if (op->n_in == 0 && op->n_out == 1) return infer_result(op, 0, out, &type, err);
    return err_set(err, ERR_SHAPE, "%s @" DRAW_SEED ": %d operands, %d results, expected 0 and 1",
                   op_name(op), op->n_in, op->n_out);
}

static int infer_custom_call(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    if (control_is_identity(control_target(op))) return infer_identity(fn, op, out, err);
    if (draw_is_seed(op)) return infer_seed(op, out, err);
    for (int i = 0; i < op->n_out; i++)
        if (infer_declared(op, i, out, err) < 0) return -1;
    return 0;
}

static int eval_identity(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                         err_t *err)
{
    (void)ev, (void)err;
    for (int i = 0; i < op->n_out; i++) tensor_assign(&out[i], &in[i]);
    return 0;
}

static int eval_custom_call(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out,
                            err_t *err)
{
    const char *target = control_target(op);
    if (control_is_identity(target)) return eval_identity(ev, op, in, out, err);
    if (draw_is_seed(op)) {
        tensor_set_i64(out, 0, (int64_t)eval_options(ev)->seed);
        return 0;
    }
    if (check_is_target(target)) return check_custom_call(target, op, in, err);
    return err_set(err, ERR_UNSUPPORTED, "stablehlo.custom_call @%s is not supported", target);
}

const op_def_t op_custom_call = {
    .name = "stablehlo.custom_call",
    .kind = K_OTHER,
    .n_in = -1,
    .n_out = -1,
    .n_region = -1,
    .form = FORM_CUSTOM_CALL,
    .side_effect = true,
    .needs = {"call_target_name"},
    .infer = infer_custom_call,
    .eval = eval_custom_call,
    .vjp = vjp_custom_call,
};

const op_def_t op_optimization_barrier = {
    .name = "stablehlo.optimization_barrier",
    .kind = K_OTHER,
    .n_in = -1,
    .n_out = -1,
    .form = FORM_OPERANDS,
    .infer = infer_identity,
    .eval = eval_identity,
    .vjp = vjp_optimization_barrier,
};
