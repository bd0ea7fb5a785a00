/* Helpers shared by the op families: type rules, block-wise element access, reverse rules. And the
 * contract of the C prelude that op_def_t.expr strings refer to. Pure functions over their
 * arguments.
 *
 * PRELUDE. In an expr, operators have C's meaning on the compute type; integers wrap modulo 2^bits
 * (compile with -fwrapv; the generated code stores through the element type, which truncates).
 * Narrow floats compute in f32 and round once at the end; i2, i4, ui2, ui4 compute in i8 or u8 and
 * are sign- or zero-extended from their width on storing. i1 is 0 or 1. What C lacks is a function
 * with the type's suffix ($t), defined for the suffixes in brackets (F: f32 f64, S: i8..i64,
 * U: u8..u64):
 *   pcp_exp expm1 log log1p logistic tanh sqrt rsqrt cbrt sin cos tan
 *             [F]        as libm; NaN in, NaN out
 *   pcp_ceil floor round rint
 *             [F]        round: halves away from zero; rint: halves to even
 *   pcp_isfinite [F]     0 or 1
 *   pcp_abs   [F S]      F clears the sign bit; S wraps: abs(MIN) = MIN
 *   pcp_sign  [F S]      -1, 0, 1; F keeps signed zeros and NaN
 *   pcp_div   [F S U i1] F: a / b. S: b == 0 -> -1; MIN / -1 -> MIN; U: b == 0 -> all ones
 *   pcp_rem   [F S U]    F: fmod. S: b == 0 -> a; MIN % -1 -> 0; U: b == 0 -> a. Sign of the
 *                        dividend
 *   pcp_max pcp_min [F S U i1] F: NaN if either is NaN; -0 < +0
 *   pcp_pow   [F S U]    F: libm's pow. S, U: wrapping product; negative exponent: a == 1 -> 1,
 *                        a == -1 -> 1 or -1 by parity, else 0
 *   pcp_atan2 [F]        libm
 *   pcp_add   [F S U i1] a + b; i1: a | b
 *   pcp_popcnt pcp_clz [S U i1] over the element's own width; clz(0) = width
 *   pcp_shl   [S U]      b >= width (as unsigned) -> 0
 *   pcp_shra  [S U]      b >= width -> all sign bits; U types shift their bits as signed ones do
 *   pcp_shrl  [S U]      b >= width -> 0; shifts in zeros, also for S
 *   pcp_not   [S U i1]   ~a; i1: !a
 *   pcp_clamp [F S U i1] (lo, x, hi) -> pcp_min(pcp_max(x, lo), hi)
 *   pcp_erf erfc erf_inv lgamma digamma asin acos atan asinh acosh atanh nextafter [F]
 *   pcp_sinh pcp_cosh [F] f32: e^(x + log 1/2) -+ e^(-x + log 1/2), exponents rounded to f32
 *
 * On i1 add and maximum are "or", multiply and minimum are "and". compare, convert,
 * reduce_precision, constant and iota have no expr: codegen reads their attributes and types. */
#ifndef OPS_COMMON_H
#define OPS_COMMON_H

#include "ir/build.h"
#include "ir/op.h"
#include "ir/tensor.h"

/* --- Type rules ------------------------------------------------------------------------------ */

/* Sets of element classes, for infer_class. */
enum {
    CLASS_BOOL = 1,
    CLASS_SIGNED = 2,
    CLASS_UNSIGNED = 4,
    CLASS_FLOAT = 8,
    CLASS_COMPLEX = 16,
    CLASS_INT = CLASS_SIGNED | CLASS_UNSIGNED,
    CLASS_INEXACT = CLASS_FLOAT | CLASS_COMPLEX,
    CLASS_NUMBER = CLASS_INT | CLASS_FLOAT,
    CLASS_BITS = CLASS_BOOL | CLASS_INT,
    CLASS_ANY = CLASS_BITS | CLASS_INEXACT,
};
unsigned dtype_class(dtype_t dtype); /* one of BOOL, SIGNED, UNSIGNED, FLOAT, COMPLEX; 0: DT_NONE */

const char *op_name(const ir_op_t *op); /* "stablehlo.add" */
const ir_type_t *op_in_type(const ir_fn_t *fn, const ir_op_t *op, int i);

/* Operand i is of one of the classes; ERR_TYPE names op, operand and type otherwise. */
int infer_class(const ir_fn_t *fn, const ir_op_t *op, int i, unsigned classes, err_t *err);
/* Operands i and j have the same type (or only the same shape). */
int infer_same_type(const ir_fn_t *fn, const ir_op_t *op, int i, int j, err_t *err);
int infer_same_shape(const ir_fn_t *fn, const ir_op_t *op, int i, int j, err_t *err);
/* Result i is `is`: stores it, or ERR_SHAPE / ERR_TYPE when another type was declared. */
int infer_result(const ir_op_t *op, int i, ir_type_t *out, const ir_type_t *is, err_t *err);
/* Result i was declared (ERR_TYPE otherwise), as ops need whose operands do not tell. */
int infer_declared(const ir_op_t *op, int i, const ir_type_t *out, err_t *err);
/* Attribute `name` as a list of dimension numbers in [0, rank), each at most once. A missing one is
 * an empty list. */
int infer_dims(const ir_op_t *op, const char *name, int rank, const int64_t **dims, int *n,
               err_t *err);
/* precision_config, where there is one, has at most two entries: DEFAULT, HIGH or HIGHEST. */
int infer_precision(const ir_op_t *op, err_t *err);
/* Region r has n arguments and results of the given types. */
int infer_region(const ir_fn_t *fn, const ir_op_t *op, int r, int n_arg, const ir_type_t *args,
                 int n_result, const ir_type_t *results, err_t *err);

/* Ready-made rules: all operands and the result have one type, of the classes named. */
int infer_map_float(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err);
int infer_map_inexact(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err);
int infer_map_number(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err);
int infer_map_signed(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err);
int infer_map_int(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err);
int infer_map_bits(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err);
/* number and signed: complex numbers as well */
int infer_map_any(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err);

/* --- Elements -------------------------------------------------------------------------------- */

/* Blocks of elements at a time, so that evaluators are written for double and int64 alone and still
 * run at memory speed. Splat tensors load as if they were whole. n is at most BLOCK. */
enum { BLOCK = 512 };
void block_load_f64(const tensor_t *x, int64_t at, int n, double *to);
void block_load_i64(const tensor_t *x, int64_t at, int n, int64_t *to);    /* u64 as its bits */
void block_store_f64(tensor_t *y, int64_t at, int n, const double *from);  /* float types only */
void block_store_i64(tensor_t *y, int64_t at, int n, const int64_t *from); /* wraps; i1: bit 0 */
typedef double _Complex complex_t;
void block_load_complex(const tensor_t *x, int64_t at, int n, complex_t *to); /* of any number */
void block_store_complex(tensor_t *y, int64_t at, int n, const complex_t *from);

/* Element-wise kernels, one per class: f for floats, s for signed integers and i1, u for unsigned
 * (values zero-extended, as int64 bits), c for complex numbers. NULL where the type rule excludes
 * the class. */
typedef struct {
    void (*f)(int n, double (*x)[BLOCK], double *y);
    void (*s)(int n, int64_t (*x)[BLOCK], int64_t *y);
    void (*u)(int n, int64_t (*x)[BLOCK], int64_t *y);
    void (*c)(int n, complex_t (*x)[BLOCK], complex_t *y);
} map_kernel_t;
enum { MAP_MAX_IN = 4 };
/* y = kernel(in[0], ..): all n_in <= MAP_MAX_IN operands of y's element type; rank 0 ones stand for
 * any shape. When all operands are splat so is y. Returns 0. */
int eval_map(const map_kernel_t *kernel, int n_in, const tensor_t *in, tensor_t *y);

/* Copy element `from` of x to element `to` of y, same element type, bits kept. y is not splat. */
void element_copy(tensor_t *y, int64_t to, const tensor_t *x, int64_t from);
/* All of x to y (same type; y's data has room for all elements), keeping a splat a splat. */
void tensor_assign(tensor_t *y, const tensor_t *x);
/* A rank-0 tensor over one element of x; borrows x's data. */
tensor_t tensor_element(const tensor_t *x, int64_t i);

/* --- Reverse rules --------------------------------------------------------------------------- */

/* x in the type that rules compute in: narrow floats become f32, others stay. */
ir_val_t vjp_wide(ir_fn_t *fn, ir_val_t x);
/* Operand i of the primal op and the cotangent of result i, in that type. */
ir_val_t vjp_in(const vjp_t *v, int i);
ir_val_t vjp_ct(const vjp_t *v, int i);
/* Set operand i's cotangent: rounds to the operand's type and, where the operand is a scalar that
 * the op broadcasts, sums first. */
void vjp_give(vjp_t *v, int i, ir_val_t ct);
/* The end of every rule: 0, or -1 with the builder's first error. */
int vjp_done(const vjp_t *v, err_t *err);

#endif
