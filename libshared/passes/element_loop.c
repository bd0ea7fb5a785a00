/* map, reduce -> while. The carries are the index, the flat results, and the counter. */
#include "passes/element_loop.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ir/build.h"
#include "ir/build_index.h"
#include "ops/dims.h"

typedef struct {
    ir_clone_t *clone;
    const ir_op_t *op;
    ir_type_t shape;   /* of what is walked over */
    int n_walked;      /* operands walked over; behind them a reduction's initial values */
    ir_val_t *flat;    /* those operands, flat */
    ir_val_t *counter; /* or NULL */
} loop_t;

static ir_fn_t *target(const loop_t *l)
{
    return l->clone->to;
}

static ir_val_t flattened(ir_fn_t *fn, ir_val_t x)
{
    const ir_type_t type = *ir_type_of(fn, x);
    ir_type_t flat = ir_type(type.dtype, 1, (int64_t[]){ir_type_count(&type)});
    return ir_reshape(fn, x, &flat);
}

static ir_val_t element(ir_fn_t *fn, ir_val_t flat, ir_val_t at)
{
    ir_type_t scalar = ir_type_scalar(ir_type_of(fn, flat)->dtype);
    return ir_reshape(fn, ir_dynamic_slice(fn, flat, &at, (int64_t[]){1}), &scalar);
}

static ir_val_t with_element(ir_fn_t *fn, ir_val_t flat, ir_val_t at, ir_val_t value)
{
    ir_type_t one = ir_type(ir_type_of(fn, flat)->dtype, 1, (int64_t[]){1});
    return ir_dynamic_update_slice(fn, flat, ir_reshape(fn, value, &one), &at);
}

/* Where element `i` of the operand goes: its own place, or that of the dimensions that stay. */
static ir_val_t result_place(const loop_t *l, ir_val_t i)
{
    ir_fn_t *fn = target(l);
    if (l->op->code == OP_map) return i;
    const ir_type_t *out = ir_type_of(l->clone->from, l->op->out);
    int64_t stride[IR_MAX_RANK], step[IR_MAX_RANK];
    uint32_t reduced = dims_mask(l->op, "dimensions");
    ir_type_strides(&l->shape, stride);
    ir_type_strides(out, step);
    ir_val_t place = ir_scalar(fn, DT_I64, 0);
    for (int d = 0, at = 0; d < l->shape.rank; d++) {
        if (dims_has(reduced, d)) continue;
        ir_val_t digit = ir_op2(fn, OP_divide, i, ir_scalar(fn, DT_I64, (double)stride[d]));
        digit = ir_op2(fn, OP_remainder, digit, ir_scalar(fn, DT_I64, (double)l->shape.dim[d]));
        digit = ir_op2(fn, OP_multiply, digit, ir_scalar(fn, DT_I64, (double)step[at++]));
        place = ir_op2(fn, OP_add, place, digit);
    }
    return place;
}

/* The region on element carry[0], its results into the carries: what they are next. */
static int body(loop_t *l, const ir_val_t *carry, ir_val_t *next, err_t *err)
{
    ir_fn_t *fn = target(l);
    const ir_region_t *region = l->op->region[0];
    int n = l->op->n_out, at = 0;
    ir_val_t i = carry[0], place = result_place(l, i);
    ir_val_t *map = l->clone->map + region->arg;
    if (l->op->code == OP_reduce)
        for (int k = 0; k < n; k++) map[at++] = element(fn, carry[1 + k], place);
    for (int k = 0; k < l->n_walked; k++, at++) {
        dtype_t dtype = ir_type_of(l->clone->from, region->arg + (ir_val_t)at)->dtype;
        map[at] = ir_convert(fn, element(fn, l->flat[k], i), dtype);
    }
    if (l->counter) *l->counter = carry[1 + n];
    if (ir_clone_ops(l->clone, region, err) < 0) return -1;
    next[0] = ir_op2(fn, OP_add, i, ir_scalar(fn, DT_I64, 1));
    for (int k = 0; k < n; k++)
        next[1 + k] = with_element(fn, carry[1 + k], place, l->clone->map[region->result[k]]);
    if (l->counter) next[1 + n] = *l->counter;
    return 0;
}

/* What the results are before the first element. */
static ir_val_t beginning(const loop_t *l, int k)
{
    ir_fn_t *fn = target(l);
    const ir_type_t *type = ir_type_of(l->clone->from, l->op->out + (ir_val_t)k);
    ir_type_t flat = ir_type(type->dtype, 1, (int64_t[]){ir_type_count(type)});
    if (l->op->code == OP_map) return ir_splat(fn, &flat, 0);
    return ir_broadcast_scalar(fn, l->clone->map[l->op->in[l->n_walked + k]], &flat);
}

/* The flat results lie from `first` on. */
static void give_results(loop_t *l, ir_val_t first)
{
    for (ir_val_t k = 0; k < (ir_val_t)l->op->n_out; k++) {
        ir_val_t old = l->op->out + k;
        l->clone->map[old] = ir_reshape(target(l), first + k, ir_type_of(l->clone->from, old));
    }
}

static int emit(loop_t *l, int n_carry, ir_val_t *carry, ir_type_t *types, err_t *err)
{
    ir_fn_t *fn = target(l);
    ir_region_t *saved, *regions[2];
    regions[0] = ir_region_begin(fn, n_carry, types, &saved);
    ir_val_t end = ir_scalar(fn, DT_I64, (double)ir_type_count(&l->shape));
    ir_val_t more = ir_compare(fn, "LT", regions[0]->arg, end);
    ir_region_end(fn, regions[0], 1, &more, saved);
    regions[1] = ir_region_begin(fn, n_carry, types, &saved);
    ir_val_t *next = mem_calloc((size_t)n_carry, sizeof *next);
    for (int i = 0; i < n_carry; i++) carry[n_carry + i] = regions[1]->arg + (ir_val_t)i;
    int status = body(l, carry + n_carry, next, err);
    if (status == 0) ir_region_end(fn, regions[1], n_carry, next, saved);
    fn->cursor = saved;
    free(next);
    if (status < 0) return -1;
    const ir_op_t *loop = ir_emit(fn, OP_while, n_carry, carry, NULL, n_carry, types, 2, regions);
    if (loop) give_results(l, loop->out + 1);
    if (l->counter) *l->counter = loop ? loop->out + (ir_val_t)n_carry - 1 : IR_NONE;
    return 0;
}

int element_loop(ir_clone_t *self, const ir_op_t *op, ir_val_t *counter, err_t *err)
{
    ir_fn_t *fn = self->to;
    loop_t l = {.clone = self, .op = op, .counter = counter};
    l.shape = *ir_type_of(self->from, op->in[0]);
    l.n_walked = op->code == OP_map ? op->n_in : op->n_in / 2;
    int n_carry = 1 + op->n_out + (counter != NULL), status = 0;
    l.flat = mem_calloc((size_t)l.n_walked, sizeof *l.flat);
    ir_val_t *carry = mem_calloc(2 * (size_t)n_carry, sizeof *carry);
    ir_type_t *types = mem_calloc((size_t)n_carry, sizeof *types);
    for (int k = 0; k < l.n_walked; k++) l.flat[k] = flattened(fn, self->map[op->in[k]]);
    carry[0] = ir_scalar(fn, DT_I64, 0);
    for (int k = 0; k < op->n_out; k++) carry[1 + k] = beginning(&l, k);
    if (counter) carry[n_carry - 1] = *counter;
    for (int i = 0; i < n_carry && fn->err.code == ERR_OK; i++)
        types[i] = *ir_type_of(fn, carry[i]);
    if (ir_type_count(&l.shape) == 0)
        for (int k = 0; k < op->n_out; k++)
            self->map[op->out + (ir_val_t)k] = ir_reshape(
                fn, carry[1 + k], ir_type_of(self->from, op->out + (ir_val_t)k));
    else if (fn->err.code == ERR_OK)
        status = emit(&l, n_carry, carry, types, err);
    if (status == 0 && fn->err.code != ERR_OK)
        status = err_set(err, fn->err.code, "line %d: %s", op->line, fn->err.text);
    free(l.flat);
    free(carry);
    free(types);
    return status < 0 ? -1 : 1;
}
