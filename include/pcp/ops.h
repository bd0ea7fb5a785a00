/* The common ops as functions. Each is pcp_op of the op of its name (pcp_multiply: stablehlo.multiply), or a few
 * of them where a comment says so. Errors as in graph.h. Lists are copied; dimension numbers count from 0. */
#ifndef PCP_OPS_H
#define PCP_OPS_H

#include <pcp/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Element by element. Operands are of one type: nothing is broadcast or converted by itself. --- */

/* X(function, op) */
#define PCP_OPS_OF_ONE(X)                                       \
    X(abs, "stablehlo.abs")                                     \
    X(cbrt, "stablehlo.cbrt")                                   \
    X(ceil, "stablehlo.ceil")                                   \
    X(cosine, "stablehlo.cosine")                               \
    X(count_leading_zeros, "stablehlo.count_leading_zeros")     \
    X(erf, "chlo.erf")                                          \
    X(exponential, "stablehlo.exponential")                     \
    X(exponential_minus_one, "stablehlo.exponential_minus_one") \
    X(floor, "stablehlo.floor")                                 \
    X(imag, "stablehlo.imag")                                   \
    X(is_finite, "stablehlo.is_finite")                         \
    X(log, "stablehlo.log")                                     \
    X(log_plus_one, "stablehlo.log_plus_one")                   \
    X(logistic, "stablehlo.logistic")                           \
    X(negate, "stablehlo.negate")                               \
    X(not, "stablehlo.not")                                     \
    X(popcnt, "stablehlo.popcnt")                               \
    X(real, "stablehlo.real")                                   \
    X(round_nearest_afz, "stablehlo.round_nearest_afz")         \
    X(round_nearest_even, "stablehlo.round_nearest_even")       \
    X(rsqrt, "stablehlo.rsqrt")                                 \
    X(sign, "stablehlo.sign")                                   \
    X(sine, "stablehlo.sine")                                   \
    X(sqrt, "stablehlo.sqrt")                                   \
    X(tan, "stablehlo.tan")                                     \
    X(tanh, "stablehlo.tanh")
#define PCP_OPS_OF_TWO(X)                                         \
    X(add, "stablehlo.add")                                       \
    X(and, "stablehlo.and")                                       \
    X(atan2, "stablehlo.atan2")                                   \
    X(complex, "stablehlo.complex")                               \
    X(divide, "stablehlo.divide")                                 \
    X(maximum, "stablehlo.maximum")                               \
    X(minimum, "stablehlo.minimum")                               \
    X(multiply, "stablehlo.multiply")                             \
    X(or, "stablehlo.or")                                         \
    X(power, "stablehlo.power")                                   \
    X(remainder, "stablehlo.remainder")                           \
    X(shift_left, "stablehlo.shift_left")                         \
    X(shift_right_arithmetic, "stablehlo.shift_right_arithmetic") \
    X(shift_right_logical, "stablehlo.shift_right_logical")       \
    X(subtract, "stablehlo.subtract")                             \
    X(xor, "stablehlo.xor")

#define PCP_OF_ONE_(name, op) pcp_value_t pcp_##name(pcp_graph_t *self, pcp_value_t a);
#define PCP_OF_TWO_(name, op) \
    pcp_value_t pcp_##name(pcp_graph_t *self, pcp_value_t a, pcp_value_t b);
PCP_OPS_OF_ONE(PCP_OF_ONE_)
PCP_OPS_OF_TWO(PCP_OF_TWO_)
#undef PCP_OF_ONE_
#undef PCP_OF_TWO_

/* direction: "EQ", "NE", "LT", "LE", "GT" or "GE"; the result is of i1. */
pcp_value_t pcp_compare(pcp_graph_t *self, const char *direction, pcp_value_t a, pcp_value_t b);
/* Where which (i1, of their shape or a scalar) is true, of a; else of b. */
pcp_value_t pcp_select(pcp_graph_t *self, pcp_value_t which, pcp_value_t a, pcp_value_t b);
/* min(max(x, low), high); low and high of x's shape, or scalars. */
pcp_value_t pcp_clamp(pcp_graph_t *self, pcp_value_t low, pcp_value_t x, pcp_value_t high);
pcp_value_t pcp_convert(pcp_graph_t *self, pcp_value_t x, pcp_dtype_t to);
/* x times a number: a constant and a multiply. */
pcp_value_t pcp_scale(pcp_graph_t *self, pcp_value_t x, double factor);

/* --- Constants --- */

pcp_value_t pcp_constant(pcp_graph_t *self,
                         const pcp_tensor_t *tensor); /* the elements are copied */
pcp_value_t pcp_splat(pcp_graph_t *self, const pcp_type_t *type, double value); /* all the same */
pcp_value_t pcp_like(pcp_graph_t *self, pcp_value_t like, double value);  /* a splat of its type */
pcp_value_t pcp_iota(pcp_graph_t *self, const pcp_type_t *type, int dim); /* numbers along dim */

/* --- Shapes. A list has an entry for each dimension of x, unless said otherwise. --- */

pcp_value_t pcp_reshape(pcp_graph_t *self, pcp_value_t x, int rank, const int64_t *dim);
pcp_value_t pcp_transpose(pcp_graph_t *self, pcp_value_t x, const int64_t *permutation);
/* To the shape dim[rank]: x's dimension i becomes at[i] of it (broadcast_in_dim); a scalar has no at. */
pcp_value_t pcp_broadcast(pcp_graph_t *self, pcp_value_t x, int rank, const int64_t *dim,
                          const int64_t *at);
/* To the type of `like`, as numpy does: x's dimensions are the last ones. */
pcp_value_t pcp_broadcast_like(pcp_graph_t *self, pcp_value_t x, pcp_value_t like);
pcp_value_t pcp_slice(pcp_graph_t *self, pcp_value_t x, const int64_t *start, const int64_t *limit,
                      const int64_t *stride); /* stride NULL: ones */
pcp_value_t pcp_pad(pcp_graph_t *self, pcp_value_t x, pcp_value_t with, const int64_t *low,
                    const int64_t *high, const int64_t *interior); /* interior NULL: zeros */
pcp_value_t pcp_concatenate(pcp_graph_t *self, int n, const pcp_value_t *parts, int dim);
pcp_value_t pcp_reverse(pcp_graph_t *self, pcp_value_t x, int n, const int64_t *dims);
/* Rows table[index]: of table [rows, ...] and integer index [...], a result [index..., ...] (a gather). Indices
 * outside are moved to the nearest row. */
pcp_value_t pcp_rows(pcp_graph_t *self, pcp_value_t table, pcp_value_t index);

/* --- Sums and products --- */

/* With "stablehlo.add", "stablehlo.maximum", "stablehlo.minimum", "stablehlo.multiply", "stablehlo.and" or
 * "stablehlo.or" and its neutral element, over dims[n], which vanish. */
pcp_value_t pcp_reduce(pcp_graph_t *self, const char *op, pcp_value_t x, int n,
                       const int64_t *dims);
pcp_value_t pcp_reduce_all(pcp_graph_t *self, const char *op, pcp_value_t x); /* to a scalar */
pcp_value_t pcp_mean(pcp_graph_t *self, pcp_value_t x); /* of all elements, floats */
/* a [m, k] x b [k, n] = [m, n]. */
pcp_value_t pcp_matmul(pcp_graph_t *self, pcp_value_t a, pcp_value_t b);
/* dot_general: the result's dimensions are the n_batch ones, then a's others, then b's others. */
pcp_value_t pcp_dot(pcp_graph_t *self, pcp_value_t a, pcp_value_t b, int n_batch,
                    const int64_t *a_batch, const int64_t *b_batch, int n_contract,
                    const int64_t *a_contract, const int64_t *b_contract);

/* --- Groups of ops that models are made of; floats --- */

/* e^x / sum of e^x, and ln of that, over the last dimension; exact for large x. */
pcp_value_t pcp_softmax(pcp_graph_t *self, pcp_value_t x);
pcp_value_t pcp_log_softmax(pcp_graph_t *self, pcp_value_t x);
/* (x - mean) / sqrt(variance + eps) over the last dimension (Ba, Kiros and Hinton 2016). */
pcp_value_t pcp_normalize(pcp_graph_t *self, pcp_value_t x, double eps);
/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016). */
pcp_value_t pcp_gelu(pcp_graph_t *self, pcp_value_t x);
/* Mean over all rows of -ln softmax(scores)[target]: scores [..., classes], target [...] of an integer type. */
pcp_value_t pcp_cross_entropy(pcp_graph_t *self, pcp_value_t scores, pcp_value_t target);

/* Call another function of the graph: in as its inputs, out as its outputs. -1, and the graph's error. */
int pcp_call(pcp_graph_t *self, const char *function, int n_in, const pcp_value_t *in, int n_out,
             pcp_value_t *out);

#ifdef __cplusplus
}
#endif
#endif
