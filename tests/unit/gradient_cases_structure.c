/* Gradient cases of ops that move, fold and contract: shape, dynamic, dot, convolution, reduce, window,
 * gather, scatter, sort. */
#include "gradient_cases.h"

static void build_reshape(ir_fn_t *fn)
{
    ir_type_t to = {.dtype = DT_F64, .rank = 1, .dim = {6}};
    ir_reshape(fn, ir_fn_param(fn, 0), &to);
}

static void build_transpose(ir_fn_t *fn)
{
    ir_transpose(fn, ir_fn_param(fn, 0), (const int64_t[]){2, 0, 1});
}

const gradient_case_t gradient_cases_structure[] = {
    {OP_reshape, "2x3 -> 6", {F64(2, 3)}, 0, 0, build_reshape},
    {OP_transpose, "2, 0, 1", {F64(2, 3, 4)}, 0, 0, build_transpose},
};
const int n_gradient_cases_structure = (int)(sizeof gradient_cases_structure /
                                             sizeof *gradient_cases_structure);
