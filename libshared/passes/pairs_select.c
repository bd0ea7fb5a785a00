/* select_and_scatter of complex numbers, which has one operand and so no room for two parts: first
 * where each window's element is (reduce_window of the numbers and their positions), then scatter.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "ir/build_index.h"
#include "passes/pairs.h"

/* A copy of the region at the cursor, on these arguments: its result. */
static ir_val_t inlined(ir_clone_t *self, const ir_region_t *region, ir_val_t a, ir_val_t b,
                        err_t *err)
{
    self->map[region->arg] = a;
    self->map[region->arg + 1] = b;
    return ir_clone_ops(self, region, err) < 0 ? IR_NONE : self->map[region->result[0]];
}

/* (kept, its position, next, its position) -> what is kept; outside of the operand they are -1. */
static ir_region_t *selector(ir_clone_t *self, const ir_op_t *op, dtype_t dtype, err_t *err)
{
    ir_fn_t *fn = self->to;
    ir_type_t number = ir_type_scalar(dtype), place = ir_type_scalar(DT_I64);
    ir_type_t types[4] = {number, place, number, place};
    ir_region_t *saved, *region = ir_region_begin(fn, 4, types, &saved);
    ir_val_t a = region->arg, zero = ir_scalar(fn, DT_I64, 0);
    ir_val_t keep = inlined(self, op->region[0], a, a + 2, err);
    if (keep != IR_NONE) {
        keep = ir_op2(fn, OP_and, keep, ir_compare(fn, "GE", a + 1, zero));
        keep = ir_op2(fn, OP_or, keep, ir_compare(fn, "LT", a + 3, zero));
        ir_val_t results[2] = {ir_select(fn, keep, a, a + 2), ir_select(fn, keep, a + 1, a + 3)};
        ir_region_end(fn, region, 2, results, saved);
    }
    fn->cursor = saved;
    return keep == IR_NONE ? NULL : region;
}

static ir_region_t *combiner(ir_clone_t *self, const ir_op_t *op, dtype_t dtype, err_t *err)
{
    ir_type_t types[2] = {ir_type_scalar(dtype), ir_type_scalar(dtype)};
    ir_region_t *saved, *region = ir_region_begin(self->to, 2, types, &saved);
    ir_val_t y = inlined(self, op->region[1], region->arg, region->arg + 1, err);
    if (y != IR_NONE) ir_region_end(self->to, region, 1, &y, saved);
    self->to->cursor = saved;
    return y == IR_NONE ? NULL : region;
}

/* Positions of the elements in row-major order, of x's shape. */
static ir_val_t positions(ir_fn_t *fn, const ir_type_t *x)
{
    ir_type_t flat = ir_type(DT_I64, 1, (int64_t[]){ir_type_count(x)});
    ir_type_t shaped = ir_type_with(*x, DT_I64);
    return ir_reshape(fn, ir_iota(fn, &flat, 0), &shaped);
}

static ir_val_t scattered(ir_fn_t *fn, ir_val_t init, ir_val_t place, ir_val_t source,
                          const ir_type_t *type, ir_region_t *region)
{
    ir_type_t flat = ir_type(type->dtype, 1, (int64_t[]){ir_type_count(type)});
    ir_type_t updates = ir_type(type->dtype, 1, (int64_t[]){ir_type_count(ir_type_of(fn, source))});
    ir_type_t index = ir_type(DT_I64, 2, (int64_t[]){updates.dim[0], 1});
    ir_val_t in[3] = {ir_broadcast_scalar(fn, init, &flat), ir_reshape(fn, place, &index),
                      ir_reshape(fn, source, &updates)};
    ir_attrs_t a = {0};
    attr_set_ints(fn->module->arena, &a, "inserted_window_dims", (const int64_t[]){0}, 1);
    attr_set_ints(fn->module->arena, &a, "scatter_dims_to_operand_dims", (const int64_t[]){0}, 1);
    attr_set_int(fn->module->arena, &a, "index_vector_dim", 1);
    const ir_op_t *y = ir_emit(fn, OP_scatter, 3, in, &a, 1, NULL, 1, &region);
    return y ? ir_reshape(fn, y->out, type) : IR_NONE;
}

int pairs_select_and_scatter(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    ir_fn_t *fn = self->to;
    const ir_type_t type = *ir_type_of(self->from, op->out);
    ir_window_t window;
    ir_window_dims(op, type.rank, &window);
    ir_val_t x = self->map[op->in[0]], source = self->map[op->in[1]], init = self->map[op->in[2]];
    ir_region_t *select = selector(self, op, type.dtype, err);
    ir_region_t *combine = select ? combiner(self, op, type.dtype, err) : NULL;
    if (!combine) return -1;
    ir_val_t in[4] = {x, positions(fn, &type), ir_scalar(fn, type.dtype, 0),
                      ir_scalar(fn, DT_I64, -1)};
    const ir_op_t *picked = ir_reduce_window(fn, 2, in, &window, select);
    ir_val_t y = IR_NONE;
    if (picked) y = scattered(fn, init, picked->out + 1, source, &type, combine);
    self->map[op->out] = y;
    if (fn->err.code == ERR_OK) return 1;
    return err_set(err, fn->err.code, "line %d: %s", op->line, fn->err.text);
}
