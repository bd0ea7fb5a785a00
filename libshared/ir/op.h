/* The op table: one op_def_t per op, defined in ops/<family>.c, found by code or by name.
 *
 * Parser, printer, verifier, folder, interpreter, autodiff, codegen and the generic tests are
 * driven by this table; none of them names an op that the table can describe. */
#ifndef IR_OP_H
#define IR_OP_H

#include "ir/ir.h"

typedef enum {
    K_MAP,      /* element i of the result depends on element i of each operand */
    K_VIEW,     /* moves elements, computes nothing: reshape, transpose, broadcast, slice, ... */
    K_LITERAL,  /* no operands: constant, iota */
    K_REDUCE,   /* folds dimensions with a region */
    K_CONTRACT, /* dot_general, convolution */
    K_INDEX,    /* elements move where data says: gather, scatter, dynamic_slice, sort */
    K_CONTROL,  /* runs regions or functions: while, if, case, call */
    K_RANDOM,
    K_OTHER,
} op_kind_t;

/* How the op is written in pretty form (GRAMMAR section 7); shared by parser and printer. The
 * generic form is always read. */
typedef enum {
    FORM_GENERIC = 0,   /* "op"(..) <{..}> ({..}) : (..) -> .. */
    FORM_OPERANDS,      /* op a, b : T | fn */
    FORM_CONSTANT,      /* constant dense<..> : T */
    FORM_COMPARE,       /* compare LT, a, b, SIGNED : fn */
    FORM_SELECT,        /* select p, a, b : P, T | fn */
    FORM_IOTA,          /* iota dim = 0 : T     (dynamic_iota x, dim = 0 : fn) */
    FORM_DIMS,          /* op x[, shape], dims = [..] : T | fn   (attribute named by dims_attr) */
    FORM_SLICE,         /* slice x [s:l:st, ..] : fn */
    FORM_DYNAMIC_SLICE, /* dynamic_slice x, i.., sizes = [..] : fn */
    FORM_PAD,           /* pad x, v, low = [..], high = [..], interior = [..] : fn */
    FORM_DIM,           /* concatenate a, b, dim = 0 : fn */
    FORM_DOT,           /* dot_general a, b, batching_dims = .. contracting_dims = .. : fn */
    FORM_CONVOLUTION,   /* convolution(a, b) dim_numbers = .., window = {..} {..} : fn */
    FORM_REDUCE,        /* reduce(x init: i) applies op across dimensions = [..] : fn */
    FORM_WHILE,         /* while(%p = %i) : T cond {..} do {..} */
    FORM_CALL,          /* call @f(a, b) : (..) -> .. */
    FORM_CUSTOM_CALL,   /* custom_call @t(a) {..} : fn */
    FORM_COMPOSITE,     /* composite "n" a, b {..} : fn */
    FORM_REDUCE_PRECISION, /* reduce_precision x, format = e5m10 : T */
    FORM_RNG,              /* rng a, b, s, distribution = UNIFORM : fn */
    FORM_RNG_BITS,         /* rng_bit_generator s, algorithm = THREE_FRY : fn */
    FORM_FFT,              /* fft x, type = RFFT, length = [8] : fn */
    FORM_CHOLESKY,         /* cholesky x, lower = true : T */
    FORM_CHLO,             /* chlo.op a, b : T, T -> T */
    FORM_TOP_K,            /* chlo.top_k(x, k = 2) : T -> (T, I) */
    FORM_CHECK,            /* check.expect_..(_const) a, b|dense [, tolerance = x] : T */
} op_form_t;

/* Runs regions and functions on behalf of evaluators; see ops/eval.h. */
typedef struct eval eval_t;

/* What a VJP sees. Outputs: in_ct[i], set to the cotangent of operand i (same type as the operand)
 * or left IR_NONE for zero. Operand i is only worked for when need[i]; the rest stays IR_NONE. Ops
 * are appended at fn's cursor with ir/build.h. */
typedef struct vjp vjp_t;
struct vjp {
    ir_fn_t *fn;
    const ir_op_t *op;  /* the primal op; its operands and results are values of fn */
    const ir_val_t *ct; /* n_out cotangents of its results; IR_NONE where there is none */
    const bool *need;   /* n_in */
    ir_val_t *in_ct;    /* n_in */
    /* For ops with regions: the cotangent of a value from outside that a region reads. */
    void (*add_outer)(vjp_t *self, ir_val_t value, ir_val_t ct);
    /* Append a copy of `region` (arguments mapped to args[]) and its reverse to fn's cursor: given
     * the cotangents of the region's results, fills arg_ct[] (IR_NONE: zero) and calls add_outer.
     */
    int (*region_vjp)(vjp_t *self, const ir_region_t *region, const ir_val_t *args,
                      const ir_val_t *result_ct, ir_val_t *arg_ct, err_t *err);
    /* Op `fresh`, which the rule has emitted, has the op's results too, from its result `first` on. It and all that the rule
     * emitted before it, which needs nothing that came after the op, move to where the op is, and who reads the op's results reads those of
     * `fresh`. Nothing is done where the op is in another region than fn's cursor. */
    void (*stand_in)(vjp_t *self, const ir_op_t *fresh, int first);
    void *ad; /* the reverse walk's own state */
};

typedef struct op_def {
    const char *name; /* "stablehlo.add" */
    op_kind_t kind;
    int n_in, n_out, n_region; /* -1: any number */
    op_form_t form;
    const char *dims_attr; /* FORM_DIMS, FORM_IOTA, FORM_DIM: the attribute's StableHLO name.
                            * It has no default */
    const char *needs[5];  /* more attributes that have no default, a NULL behind them */
    bool side_effect;      /* never removed, never merged: checks, custom_call with side effects */
    bool commutative;
    bool lowered; /* plans know it only by what pass_lower writes in its place (passes/passes.h) */
    bool draws;   /* depends on how often it ran before (rng): pass_draw writes it out */

    /* Type rule. out[n_out] holds the declared result types on entry (dtype DT_NONE when unknown)
     * and the result types on success. Checks operands, attributes and regions; messages name the
     * op, the attribute and the shapes. NULL: the declared types are the rule. */
    int (*infer)(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err);

    /* Reference evaluation: out[i] has its type set and data allocated. Plain and slow. */
    int (*eval)(eval_t *ev, const ir_op_t *op, const tensor_t *in, tensor_t *out, err_t *err);

    /* For ops that others define (ops/expand.h): what the op stands for, on operands in[n_in], to
     * fn's cursor; out[n_out], of types[n_out]. op may be of another function. NULL for the rest.
     */
    void (*expand)(ir_fn_t *fn, const ir_op_t *op, const ir_type_t *types, const ir_val_t *in,
                   ir_val_t *out);

    /* Reverse rule; vjp_none declares a zero gradient, NULL means missing (an error by name). */
    int (*vjp)(vjp_t *v, err_t *err);

    /* K_MAP: the result element in C; $0, $1, .. are operand elements, $t the suffix of the compute
     * type (f32, f64, i8 .. i64, u8 .. u64, i1), as in "pcp_exp_$t($0)". f16 and bf16 compute in
     * f32 and round once. Functions named pcp_* are in codegen's prelude. NULL: codegen has its
     * own. */
    const char *expr;

    /* Generic tests draw operands from [test_lo, test_hi]; both 0: [-2, 2]. */
    double test_lo, test_hi;
    bool test_skip_gradient; /* piecewise or discontinuous in the drawn range: tested by hand */
} op_def_t;

/* The table, indexed by code; op_table[OP_invalid] is NULL. */
extern const op_def_t *const op_table[OP_COUNT];

static inline const op_def_t *op_def(op_code_t code)
{
    return op_table[code];
}

/* "stablehlo.add" -> OP_add; also "arith.constant", "chlo.constant", "func.call", "call" and other
 * spellings of the same op. OP_invalid if unknown. */
op_code_t op_by_name(const char *name, size_t n);

/* The op's type rule (see infer), behind a check that all attributes are there which have no
 * default. */
int op_infer(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err);

/* A vjp for ops through which no gradient flows. */
int vjp_none(vjp_t *v, err_t *err);

#define OP(x) extern const op_def_t op_##x;
#include "ir/op_list.h"
#undef OP

#endif
