/* What users may expect of the plan compiler, op by op; plan_support_test compares it with what the
 * compiler does. */
#include "plan/build.h"
#include "plan/lower/loops.h"
#include "plan/lower/lower.h"

plan_op_t plan_op_support(op_code_t code)
{
    bool known = code == OP_dot_general || code == OP_while || code == OP_if || code == OP_case ||
                 code == OP_pcp_fused || inline_has_rule(code) || loops_has_row(code);
    return known ? PLAN_OP_ALL : PLAN_OP_NONE;
}
