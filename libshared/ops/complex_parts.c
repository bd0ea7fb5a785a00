/* Parts of functions of complex numbers, as functions of the operands' parts in the order real,
 * imaginary: what pass_lower puts for the functions themselves. Not in any text; no gradient, as
 * they appear behind differentiation. */
#include "ops/complex_math.h"
#include "ops/rule.h"

#define TEXT1(name) "pcp_" name "_$t($0, $1)"
#define TEXT2(name) "pcp_" name "_$t($0, $1, $2, $3)"

#define PART(id, N, TEXT, CALL)                                                            \
    static void id##_kernel(int n, double(*x)[BLOCK], double *y)                           \
    {                                                                                      \
        for (int i = 0; i < n; i++) y[i] = CALL;                                           \
    }                                                                                      \
    static int eval_##id(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, \
                         err_t *err)                                                       \
    {                                                                                      \
        static const map_kernel_t kernel = {.f = id##_kernel};                             \
        (void)ev, (void)op, (void)err;                                                     \
        return eval_map(&kernel, N, in, out);                                              \
    }                                                                                      \
    const op_def_t op_pcp_##id = {.name = "pcp." #id,                                      \
                                  .kind = K_MAP,                                           \
                                  .n_in = N,                                               \
                                  .n_out = 1,                                              \
                                  .form = FORM_OPERANDS,                                   \
                                  .infer = infer_map_float,                                \
                                  .eval = eval_##id,                                       \
                                  .expr = TEXT};

#define PARTS1(name, f)                                                                 \
    PART(name##_real, 2, TEXT1(#name "_real"), pcp_##name##_real_f64(x[0][i], x[1][i])) \
    PART(name##_imag, 2, TEXT1(#name "_imag"), pcp_##name##_imag_f64(x[0][i], x[1][i]))
#define PARTS2(name, f)                                             \
    PART(name##_real, 4, TEXT2(#name "_real"),                      \
         pcp_##name##_real_f64(x[0][i], x[1][i], x[2][i], x[3][i])) \
    PART(name##_imag, 4, TEXT2(#name "_imag"),                      \
         pcp_##name##_imag_f64(x[0][i], x[1][i], x[2][i], x[3][i]))

PCP_COMPLEX_UNARY(PARTS1)
PCP_COMPLEX_BINARY(PARTS2)
PART(cabs, 2, TEXT1("cabs"), pcp_cabs_f64(x[0][i], x[1][i]))
