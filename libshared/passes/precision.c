/* Mixed precision: every product of f32 tensors reads its operands rounded to bf16 and sums in f32;
 * everything else stays as it is. Run after gradients were made, so that it holds for the products
 * of both directions alike.
 *
 * bf16x3 keeps near f32 accuracy: x = hi + lo + r with hi = bf16(x), lo = bf16(x - hi) and
 * |r| <= 2^-17 |x|; a b is lo_a hi_b + hi_a lo_b + hi_a hi_b, the small terms first, without
 * lo_a lo_b (Henry, Tang and Heinecke, "Leveraging the bfloat16 artificial intelligence datatype
 * for higher-precision computations", ARITH 2019, arXiv 1904.06376). */
#include <string.h>

#include "ir/build.h"
#include "passes/passes.h"

typedef struct {
    ir_val_t hi, lo; /* lo: IR_NONE unless the operand is split in two */
} parts_t;

/* A convolution's operands are given back in f32: its kernels take one type for all. */
static ir_val_t rounded(ir_fn_t *fn, ir_val_t x, bool as_f32)
{
    ir_val_t half = ir_convert(fn, x, DT_BF16);
    return as_f32 ? ir_convert(fn, half, DT_F32) : half;
}

static parts_t split(ir_fn_t *fn, ir_val_t x, bool as_f32, bool in_two)
{
    parts_t parts = {rounded(fn, x, as_f32), IR_NONE};
    if (!in_two) return parts;
    ir_val_t rest = ir_op2(fn, OP_subtract, x, ir_convert(fn, parts.hi, DT_F32));
    parts.lo = rounded(fn, rest, as_f32);
    return parts;
}

static ir_val_t product(ir_clone_t *self, const ir_op_t *op, ir_val_t a, ir_val_t b)
{
    ir_val_t in[] = {a, b};
    ir_type_t type = *ir_type_of(self->from, op->out);
    const ir_op_t *y = ir_emit(self->to, op->code, 2, in, &op->attrs, 1, &type, 0, NULL);
    return y ? y->out : IR_NONE;
}

static bool is_f32_product(const ir_fn_t *fn, const ir_op_t *op)
{
    return (op->code == OP_dot_general || op->code == OP_convolution) &&
           ir_type_of(fn, op->in[0])->dtype == DT_F32 &&
           ir_type_of(fn, op->in[1])->dtype == DT_F32 && ir_type_of(fn, op->out)->dtype == DT_F32;
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    if (!is_f32_product(self->from, op)) return 0;
    ir_fn_t *fn = self->to;
    bool in_two = *(const precision_t *)self->user == PRECISION_BF16X3;
    bool as_f32 = op->code == OP_convolution;
    parts_t a = split(fn, self->map[op->in[0]], as_f32, in_two);
    parts_t b = split(fn, self->map[op->in[1]], as_f32, in_two);
    ir_val_t y = product(self, op, a.hi, b.hi);
    if (in_two) {
        ir_val_t small = ir_op2(fn, OP_add, product(self, op, a.lo, b.hi),
                                product(self, op, a.hi, b.lo));
        y = ir_op2(fn, OP_add, small, y);
    }
    self->map[op->out] = y;
    if (fn->err.code == ERR_OK) return 1;
    return err_set(err, fn->err.code, "line %d: %s", op->line, fn->err.text);
}

int pass_precision(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    precision_t precision = options->precision;
    if (precision == PRECISION_F32) return 0;
    for (int f = 0; f < module->n_fn; f++) {
        ir_fn_t *fn = module->fn[f], *fresh = ir_clone_fn(module, fn, rewrite, &precision, err);
        if (!fresh) return err_prefix(err, "@%s: ", fn->name);
        ir_module_replace(module, fn, fresh);
    }
    return 0;
}
