/* Seeds from the seed of the execution, scalars from the step, kept values in the model's types. */
#include "optim/inputs.h"

static ir_val_t splat_u64(ir_fn_t *fn, const ir_type_t *type, uint64_t value)
{
    arena_t *arena = fn->module->arena;
    tensor_t tensor = {.type = *type, .splat = true};
    tensor.data = arena_copy(arena, &value, sizeof value);
    return ir_const(fn, arena_copy(arena, &tensor, sizeof tensor));
}

ir_val_t optim_seed(ir_fn_t *fn, const ir_type_t *type, int k)
{
    static const uint64_t factor[] = {0xBF58476D1CE4E5B9u, 0x94D049BB133111EBu};
    static const int shift[] = {30, 27, 31};
    int per_word = 64 / dtype_bits(type->dtype);
    int64_t n = ir_type_count(type), n_word = (n + per_word - 1) / per_word;
    ir_type_t scalar = ir_type_scalar(DT_UI64), words = ir_type(DT_UI64, 1, &n_word);
    ir_attrs_t attrs = {0};
    attr_set_text(fn->module->arena, &attrs, "call_target_name", ATTR_STRING, "pcp.seed");
    const ir_op_t *op = ir_emit(fn, OP_custom_call, 0, NULL, &attrs, 1, &scalar, 0, NULL);
    if (!op) return IR_NONE;
    ir_val_t z = ir_op2(fn, OP_add, ir_broadcast_scalar(fn, op->out, &words),
                        splat_u64(fn, &words, 0x9E3779B97F4A7C15u * (uint64_t)(k + 1)));
    ir_val_t place = ir_op2(fn, OP_multiply, ir_iota(fn, &words, 0),
                            splat_u64(fn, &words, 0xD1B54A32D192ED03u));
    z = ir_op2(fn, OP_add, z, place);
    for (int i = 0; i < 3; i++) {
        ir_val_t down = ir_op2(fn, OP_shift_right_logical, z,
                               splat_u64(fn, &words, (uint64_t)shift[i]));
        z = ir_op2(fn, OP_xor, z, down);
        if (i < 2) z = ir_op2(fn, OP_multiply, z, splat_u64(fn, &words, factor[i]));
    }
    int64_t parts[2] = {n_word, per_word}, n_all = n_word * per_word, zero = 0, one = 1;
    ir_type_t cut = ir_type(type->dtype, per_word > 1 ? 2 : 1, parts);
    const ir_op_t *bits = ir_emit(fn, OP_bitcast_convert, 1, &z, NULL, 1, &cut, 0, NULL);
    if (!bits) return IR_NONE;
    ir_type_t flat = ir_type(type->dtype, 1, &n_all);
    ir_val_t y = ir_slice(fn, ir_reshape(fn, bits->out, &flat), &zero, &n, &one);
    return ir_reshape(fn, y, type);
}

ir_val_t optim_scalar(ir_fn_t *fn, const optim_arg_t *arg, ir_val_t lr, ir_val_t step)
{
    ir_val_t from = arg->scalar == SCALAR_LR ? lr : arg->scalar == SCALAR_STEP ? step : IR_NONE;
    if (from == IR_NONE)
        return ir_splat(fn, &arg->type, arg->scalar == SCALAR_VALUE ? arg->value : 0);
    ir_val_t x = ir_convert(fn, from, arg->type.dtype);
    return arg->type.rank ? ir_broadcast_scalar(fn, x, &arg->type) : x;
}

ir_val_t optim_from_master(ir_fn_t *fn, ir_val_t x, dtype_t to)
{
    if (ir_type_of(fn, x)->dtype == to) return x;
    if (!dtype_is_inexact(to) && to != DT_I1) x = ir_op1(fn, OP_round_nearest_even, x);
    return ir_convert(fn, x, to);
}
