/* The small language that op blocks are written in: kernels as one C expression per element,
 * reverse rules as formulas. Only for the op families' own files.
 *
 * In a formula: x (or a, b) operands, y result, g cotangent, all in the type rules compute in
 * (narrow floats widened to f32), fn the function under construction. */
#ifndef OPS_RULE_H
#define OPS_RULE_H

#include "ops/common.h"

#define ADD(p, q) ir_op2(fn, OP_add, p, q)
#define SUB(p, q) ir_op2(fn, OP_subtract, p, q)
#define MUL(p, q) ir_op2(fn, OP_multiply, p, q)
#define DIV(p, q) ir_op2(fn, OP_divide, p, q)
#define NEG(p) ir_op1(fn, OP_negate, p)
#define SQUARE(p) MUL(p, p)
#define NUM(like, c) ir_scalar_like(fn, like, c)
#define SCALE(c, p) MUL(p, NUM(p, c))
#define APPLY(op, p) ir_op1(fn, OP_##op, p)
#define CMP(p, direction, q) ir_compare(fn, direction, p, q)
#define SELECT(c, p, q) ir_select(fn, c, p, q)

/* Kernels over a block, one expression in x (unary) or a and b (binary). */
#define KERNEL_UNARY(name, T, EXPR)                \
    static void name(int n, T(*in)[BLOCK], T *out) \
    {                                              \
        for (int i = 0; i < n; i++) {              \
            T x = in[0][i];                        \
            out[i] = (EXPR);                       \
        }                                          \
    }
#define KERNEL_BINARY(name, T, EXPR)               \
    static void name(int n, T(*in)[BLOCK], T *out) \
    {                                              \
        for (int i = 0; i < n; i++) {              \
            T a = in[0][i], b = in[1][i];          \
            out[i] = (EXPR);                       \
        }                                          \
    }

/* eval_NAME over the kernels f, s, u, c (NULL where the type rule excludes the class). */
#define EVAL_MAP(name, n, ...)                                                               \
    static int eval_##name(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, \
                           err_t *err)                                                       \
    {                                                                                        \
        static const map_kernel_t kernel = {__VA_ARGS__};                                    \
        (void)ev, (void)op, (void)err;                                                       \
        return eval_map(&kernel, n, in, out);                                                \
    }

/* vjp_NAME of a unary op: its operand's cotangent as a formula. */
#define VJP_UNARY(name, CT)                                      \
    static int vjp_##name(vjp_t *v, err_t *err)                  \
    {                                                            \
        ir_fn_t *fn = v->fn;                                     \
        ir_val_t x = vjp_in(v, 0), y = vjp_wide(fn, v->op->out); \
        ir_val_t g = vjp_ct(v, 0);                               \
        (void)x, (void)y;                                        \
        vjp_give(v, 0, CT);                                      \
        return vjp_done(v, err);                                 \
    }
/* The same for two operands; a formula is only built when it is needed. */
#define VJP_BINARY(name, CT_A, CT_B)                             \
    static int vjp_##name(vjp_t *v, err_t *err)                  \
    {                                                            \
        ir_fn_t *fn = v->fn;                                     \
        ir_val_t a = vjp_in(v, 0), b = vjp_in(v, 1);             \
        ir_val_t y = vjp_wide(fn, v->op->out), g = vjp_ct(v, 0); \
        (void)a, (void)b, (void)y;                               \
        if (v->need[0]) vjp_give(v, 0, CT_A);                    \
        if (v->need[1]) vjp_give(v, 1, CT_B);                    \
        return vjp_done(v, err);                                 \
    }

/* The entry of a unary op on floats. */
#define UNARY_OP(id, spelled, written, INFER, VJP, TEXT, LO, HI) \
    const op_def_t op_##id = {.name = spelled,                   \
                              .kind = K_MAP,                     \
                              .n_in = 1,                         \
                              .n_out = 1,                        \
                              .form = written,                   \
                              .infer = INFER,                    \
                              .eval = eval_##id,                 \
                              .vjp = VJP,                        \
                              .expr = TEXT,                      \
                              .test_lo = LO,                     \
                              .test_hi = HI};

/* A whole block for a unary op on floats: value as a C expression in x (double), expression for
 * codegen, range for the generic tests, cotangent of x. The same formula is the rule for complex
 * numbers, where they are taken: cotangents are not conjugated (ad/ad.h). */
#define FLOAT_UNARY(id, spelled, written, EXPR, TEXT, LO, HI, CT) \
    KERNEL_UNARY(id##_f, double, EXPR)                            \
    EVAL_MAP(id, 1, .f = id##_f)                                  \
    VJP_UNARY(id, CT)                                             \
    UNARY_OP(id, spelled, written, infer_map_float, vjp_##id, TEXT, LO, HI)

/* The same for floats and complex numbers: CEXPR is the value where x is a double _Complex. */
#define INEXACT_UNARY(id, spelled, written, EXPR, CEXPR, TEXT, LO, HI, CT) \
    KERNEL_UNARY(id##_f, double, EXPR)                                     \
    KERNEL_UNARY(id##_c, complex_t, CEXPR)                                 \
    EVAL_MAP(id, 1, .f = id##_f, .c = id##_c)                              \
    VJP_UNARY(id, CT)                                                      \
    UNARY_OP(id, spelled, written, infer_map_inexact, vjp_##id, TEXT, LO, HI)

/* The same without a gradient: piecewise constant. */
#define FLOAT_STEP(id, spelled, written, EXPR, TEXT) \
    KERNEL_UNARY(id##_f, double, EXPR)               \
    EVAL_MAP(id, 1, .f = id##_f)                     \
    UNARY_OP(id, spelled, written, infer_map_float, vjp_none, TEXT, 0, 0)

#endif
