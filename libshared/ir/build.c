/* The builder's core: emit with inferred types, and the simplest ops. */
#include "ir/build.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool operands_ok(const ir_fn_t *fn, int n_in, const ir_val_t *in)
{
    if (fn->err.code) return false;
    for (int i = 0; i < n_in; i++)
        if (in[i] == IR_NONE) return false;
    return true;
}

ir_op_t *ir_emit(ir_fn_t *fn, op_code_t code, int n_in, const ir_val_t *in, const ir_attrs_t *attrs,
                 int n_out, const ir_type_t *declared, int n_region, ir_region_t *const *regions)
{
    if (!operands_ok(fn, n_in, in)) return NULL;
    err_t why = {0};
    ir_type_t few[4] = {0};
    ir_type_t *types = n_out <= 4 ? few : mem_calloc((size_t)n_out, sizeof *types);
    for (int i = 0; declared && i < n_out; i++) types[i] = declared[i];

    /* The rule looks at operands, attributes and regions only, so the op may exist before its
     * types. */
    ir_op_t *op = ir_op_new(fn, code, n_in, in, n_out, types, n_region);
    if (attrs) op->attrs = *attrs;
    for (int i = 0; i < n_region; i++) {
        op->region[i] = regions[i];
        regions[i]->parent = op;
    }
    const op_def_t *def = op_def(code);
    int status = op_infer(fn, op, types, &why);
    for (int i = 0; status == 0 && i < n_out; i++) {
        if (types[i].dtype == DT_NONE)
            status = err_set(&why, ERR_TYPE, "%s: the result type must be given", def->name);
        else if (declared && declared[i].dtype != DT_NONE &&
                 !ir_type_equal(&types[i], &declared[i])) {
            char want[IR_TYPE_TEXT], got[IR_TYPE_TEXT];
            status = err_set(&why, ERR_SHAPE, "%s: result %d declared %s, but its rule gives %s",
                             def->name, i, ir_type_text(&declared[i], got),
                             ir_type_text(&types[i], want));
        }
        fn->value[op->out + (ir_val_t)i].type = types[i];
    }
    if (types != few) free(types);
    if (status < 0) {
        fn->err = why;
        return NULL;
    }
    ir_region_append(fn->cursor, op, fn->module->arena);
    return op;
}

static ir_val_t first_result(const ir_op_t *op)
{
    return op ? op->out : IR_NONE;
}

static ir_val_t emit_simple(ir_fn_t *fn, op_code_t code, int n_in, const ir_val_t *in)
{
    return first_result(ir_emit(fn, code, n_in, in, NULL, 1, NULL, 0, NULL));
}

ir_val_t ir_op1(ir_fn_t *fn, op_code_t code, ir_val_t a)
{
    return emit_simple(fn, code, 1, &a);
}

ir_val_t ir_op2(ir_fn_t *fn, op_code_t code, ir_val_t a, ir_val_t b)
{
    return emit_simple(fn, code, 2, (ir_val_t[]){a, b});
}

ir_val_t ir_op3(ir_fn_t *fn, op_code_t code, ir_val_t a, ir_val_t b, ir_val_t c)
{
    return emit_simple(fn, code, 3, (ir_val_t[]){a, b, c});
}

ir_val_t ir_select(ir_fn_t *fn, ir_val_t pred, ir_val_t a, ir_val_t b)
{
    return ir_op3(fn, OP_select, pred, a, b);
}

ir_val_t ir_compare(ir_fn_t *fn, const char *direction, ir_val_t a, ir_val_t b)
{
    if (!operands_ok(fn, 2, (ir_val_t[]){a, b})) return IR_NONE;
    arena_t *arena = fn->module->arena;
    dtype_t dtype = ir_type_of(fn, a)->dtype;
    bool is_unsigned = dtype_is_unsigned(dtype) || dtype == DT_I1;
    ir_attrs_t attrs = {0};
    attr_set_text(arena, &attrs, "comparison_direction", ATTR_ENUM, direction);
    attr_set_text(arena, &attrs, "compare_type", ATTR_ENUM,
                  dtype_is_inexact(dtype) ? "FLOAT"
                  : is_unsigned           ? "UNSIGNED"
                                          : "SIGNED");
    return first_result(ir_emit(fn, OP_compare, 2, (ir_val_t[]){a, b}, &attrs, 1, NULL, 0, NULL));
}

/* --- constants --- */

ir_val_t ir_const(ir_fn_t *fn, const tensor_t *tensor)
{
    arena_t *arena = fn->module->arena;
    ir_attrs_t attrs = {0};
    ir_attr_t value = {.name = "value", .kind = ATTR_TENSOR};
    value.tensor = arena_copy(arena, tensor, sizeof *tensor);
    attr_set(arena, &attrs, value);
    return first_result(ir_emit(fn, OP_constant, 0, NULL, &attrs, 1, &tensor->type, 0, NULL));
}

ir_val_t ir_splat(ir_fn_t *fn, const ir_type_t *type, double value)
{
    tensor_t t = tensor_splat_f64(fn->module->arena, type, value);
    return ir_const(fn, &t);
}

ir_val_t ir_scalar_like(ir_fn_t *fn, ir_val_t like, double value)
{
    if (like == IR_NONE || fn->err.code) return IR_NONE;
    ir_type_t type = *ir_type_of(fn, like);
    return ir_splat(fn, &type, value);
}

ir_val_t ir_scalar(ir_fn_t *fn, dtype_t dtype, double value)
{
    ir_type_t type = ir_type_scalar(dtype);
    return ir_splat(fn, &type, value);
}

ir_val_t ir_iota(ir_fn_t *fn, const ir_type_t *type, int dim)
{
    ir_attrs_t attrs = {0};
    attr_set_int(fn->module->arena, &attrs, "iota_dimension", dim);
    return first_result(ir_emit(fn, OP_iota, 0, NULL, &attrs, 1, type, 0, NULL));
}

ir_val_t ir_call(ir_fn_t *fn, const ir_fn_t *callee, const ir_val_t *in)
{
    ir_attrs_t attrs = {0};
    attr_set_text(fn->module->arena, &attrs, "callee", ATTR_SYMBOL, callee->name);
    int n_out = callee->body->n_result;
    ir_type_t *types = mem_calloc((size_t)n_out, sizeof *types);
    for (int i = 0; i < n_out; i++) types[i] = *ir_type_of(callee, callee->body->result[i]);
    ir_op_t *op = ir_emit(fn, OP_call, callee->body->n_arg, in, &attrs, n_out, types, 0, NULL);
    free(types);
    return first_result(op);
}

/* --- regions --- */

ir_region_t *ir_region_begin(ir_fn_t *fn, int n_arg, const ir_type_t *types, ir_region_t **saved)
{
    *saved = fn->cursor;
    fn->cursor = ir_region_new(fn, n_arg, types);
    return fn->cursor;
}

void ir_region_end(ir_fn_t *fn, ir_region_t *region, int n_result, const ir_val_t *results,
                   ir_region_t *saved)
{
    ir_region_finish(fn, region, n_result, results);
    fn->cursor = saved;
}

ir_region_t *ir_reducer(ir_fn_t *fn, op_code_t reducer, dtype_t dtype)
{
    ir_type_t types[2] = {ir_type_scalar(dtype), ir_type_scalar(dtype)};
    ir_region_t *saved, *region = ir_region_begin(fn, 2, types, &saved);
    ir_val_t y = ir_op2(fn, reducer, region->arg, region->arg + 1);
    ir_region_end(fn, region, 1, &y, saved);
    return region;
}

op_code_t ir_reducer_op(const ir_region_t *region)
{
    if (region->n_op != 1 || region->n_arg != 2 || region->n_result != 1) return OP_invalid;
    const ir_op_t *op = region->op[0];
    bool plain = op->n_in == 2 && op->n_out == 1 && op->n_region == 0 && op->attrs.n == 0 &&
                 region->result[0] == op->out;
    ir_val_t a = region->arg, b = region->arg + 1;
    if (!plain) return OP_invalid;
    if (op->in[0] == a && op->in[1] == b) return op->code;
    bool swapped = op->in[0] == b && op->in[1] == a && op_def(op->code)->commutative;
    return swapped ? op->code : OP_invalid;
}
