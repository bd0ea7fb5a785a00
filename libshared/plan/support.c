/* What users may expect of the plan compiler, op by op; plan_support_test compares it with what the
 * compiler does. */
#include "plan/build.h"
#include "plan/loops.h"
#include "plan/lower.h"

/* Ops with kernels for some of their forms only. */
static const op_code_t some[] = {
    OP_optimization_barrier, /* of one operand */
};

plan_op_t plan_op_support(op_code_t code)
{
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (some[i] == code) return PLAN_OP_SOME;
    bool known = code == OP_dot_general || inline_has_rule(code) || loops_has_row(code);
    return known ? PLAN_OP_ALL : PLAN_OP_NONE;
}
