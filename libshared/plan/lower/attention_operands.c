/* Operands of attention that its products round to bf16 (passes/precision.c), for devices of threads without number:
 * they are rounded once and stored so, instead of by each block that reads them. The numbers are the same, half as many
 * bytes are read, and kept until the gradient. */
#include "base/vec.h"
#include "ir/build.h"
#include "plan/lower/attention.h"

typedef struct {
    ir_val_t whole, half; /* of the new function */
} pair_t;

typedef struct {
    const caps_t *caps;
    VEC(pair_t) pairs;
} rounding_t;

bool attention_rounds(const caps_t *caps, const ir_fn_t *fn, const ir_op_t *op)
{
    const ir_region_t *body = op->region[0];
    int n = 0;
    if (!caps->bf16 || ir_type_of(fn, op->in[0])->dtype != DT_F32) return false;
    for (int i = 0; i < body->n_op; i++) {
        const ir_op_t *dot = body->op[i];
        if (dot->code != OP_dot_general) continue;
        for (int k = 0; k < 2; k++)
            if (ir_type_of(fn, dot->in[k])->dtype != DT_BF16) return false;
        n++;
    }
    return n == (fused_is(op, FUSED_ATTENTION_GRADIENT) ? 5 : 2);
}

static bool is_of(const caps_t *caps, const ir_fn_t *fn, const ir_op_t *op)
{
    return (fused_is(op, FUSED_ATTENTION) || fused_is(op, FUSED_ATTENTION_GRADIENT)) &&
           attention_knows(caps, fn, op) && attention_rounds(caps, fn, op);
}

/* Views are taken of what is rounded, so that heads of one tensor are rounded together. */
static ir_val_t rounded(rounding_t *self, ir_fn_t *fn, ir_val_t v)
{
    for (size_t i = 0; i < self->pairs.n; i++)
        if (self->pairs.at[i].whole == v) return self->pairs.at[i].half;
    const ir_op_t *op = ir_def(fn, v);
    bool view = op && (op->code == OP_reshape || op->code == OP_transpose || op->code == OP_slice);
    ir_val_t half;
    if (view) {
        ir_type_t type = ir_type_with(*ir_type_of(fn, v), DT_BF16);
        ir_val_t of = rounded(self, fn, op->in[0]);
        const ir_op_t *copy = ir_emit(fn, op->code, 1, &of, &op->attrs, 1, &type, 0, NULL);
        half = copy ? copy->out : IR_NONE;
    } else {
        half = ir_convert(fn, v, DT_BF16);
    }
    VEC_PUSH(&self->pairs, ((pair_t){v, half}));
    return half;
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    enum { N_ROUNDED = 3 }; /* q, k, v */
    rounding_t *rounding = self->user;
    ir_val_t half[N_ROUNDED];
    if (!is_of(rounding->caps, self->from, op)) return 0;
    for (int i = 0; i < N_ROUNDED; i++) half[i] = rounded(rounding, self->to, self->map[op->in[i]]);
    ir_op_t *copy = ir_clone_op(self, op, err);
    if (!copy) return -1;
    for (int i = 0; i < N_ROUNDED; i++) copy->in[i] = half[i];
    return 1;
}

const ir_fn_t *attention_operands(ir_module_t *module, const ir_fn_t *fn, const caps_t *caps,
                                  err_t *err)
{
    bool any = false;
    for (int i = 0; caps->many && i < fn->body->n_op && !any; i++)
        any = is_of(caps, fn, fn->body->op[i]);
    if (!any) return fn;
    rounding_t rounding = {.caps = caps};
    fn = ir_clone_fn(module, fn, rewrite, &rounding, err);
    VEC_FREE(&rounding.pairs);
    return fn;
}
