/* Side effects by the op table, looking into regions. */
#include "passes/effects.h"

#include "ops/check_expect.h"

static bool own_effect(const ir_op_t *op)
{
    if (op->code == OP_call || op->code == OP_composite) return true;
    if (op->code == OP_custom_call) /* a check is one, whether it says so or not */
        return attr_bool(&op->attrs, "has_side_effect", false) ||
               check_is_target(attr_text(&op->attrs, "call_target_name", ""));
    return op_def(op->code)->side_effect;
}

static bool any_in(const ir_op_t *op, bool (*test)(const ir_op_t *))
{
    if (test(op)) return true;
    for (int r = 0; r < op->n_region; r++)
        for (int i = 0; i < op->region[r]->n_op; i++)
            if (any_in(op->region[r]->op[i], test)) return true;
    return false;
}

bool effects_any(const ir_op_t *op)
{
    return any_in(op, own_effect);
}

/* A barrier exists to keep two equal computations apart. */
static bool unmergeable(const ir_op_t *op)
{
    return own_effect(op) || op_def(op->code)->kind == K_RANDOM ||
           op->code == OP_optimization_barrier;
}

bool effects_mergeable(const ir_op_t *op)
{
    return !any_in(op, unmergeable);
}
