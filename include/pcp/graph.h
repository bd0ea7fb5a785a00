/* Graphs: modules of functions in StableHLO, read, printed, or built op by op.
 *
 *   pcp_graph_t *g = pcp_graph_new();
 *   pcp_function_begin(g, "main");
 *   pcp_type_t type = PCP_TYPE(PCP_F32, 4, 3);
 *   pcp_value_t x = pcp_input(g, "x", &type), w = pcp_param(g, "w", &type, "normal(0.02)");
 *   pcp_output(g, "y", pcp_multiply(g, x, w));
 *   if (pcp_function_end(g, error) < 0) ...
 *
 * Errors while a function is built are kept: the first one stays with the graph, the call that failed and all
 * that use its result give a value that is none, and pcp_function_end reports it. So a chain of calls needs
 * one look at its end. pcp_graph_error shows the error at once.
 *
 * Types of results follow from the op table's rules. An op that the table has can be built by its name
 * (pcp_op); ops.h has functions for the common ones. Specification of ops:
 * https://github.com/openxla/stablehlo/blob/main/docs/spec.md */
#ifndef PCP_GRAPH_H
#define PCP_GRAPH_H

#include <pcp/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pcp_graph pcp_graph_t;

/* A value of the function that is being built; plain data whose bits mean nothing to others. A value of
 * another graph or function is refused. */
typedef struct {
    uint64_t bits;
} pcp_value_t;

/* --- Whole graphs --- */

pcp_graph_t *pcp_graph_new(void);
/* StableHLO as text, or as MLIR bytecode (a portable artifact, or what jax.export's serialize() gives). `name`
 * is for messages, which point to line and column. PCP_ERROR_PARSE, _UNSUPPORTED, _SHAPE, _TYPE. */
pcp_graph_t *pcp_graph_parse(const void *bytes, size_t n_bytes, const char *name,
                             pcp_error_t *error);
pcp_graph_t *pcp_graph_load(const char *path, pcp_error_t *error); /* the same of a file */
pcp_graph_t *pcp_graph_clone(const pcp_graph_t *self, pcp_error_t *error);
void pcp_graph_destroy(pcp_graph_t **self_p);

/* The whole as StableHLO text that pcp_graph_parse reads back to the same graph: pcp_free. NULL with
 * PCP_ERROR_STATE while a function is being built. */
char *pcp_graph_print(const pcp_graph_t *self, pcp_error_t *error);

int pcp_graph_count(const pcp_graph_t *self);               /* functions */
const char *pcp_graph_name(const pcp_graph_t *self, int i); /* of the i-th; NULL: there is none */

/* --- Functions --- */

/* Begin a function. Until its end all values belong to it. */
void pcp_function_begin(pcp_graph_t *self, const char *name);
/* Arguments, at any point of the function but inside of regions. An input is data of a call; a parameter is kept
 * between calls, and what training changes. init (or NULL): the rule of its initial values, "zeros", "ones",
 * "constant(V)", "normal(DEVIATION)" or "uniform(LOW,HIGH)". Names are unique in the function. Their order is that of these calls: where it matters
 * (pcp_evaluate, pcp_session_train), give each a statement of its own, as C does not say which argument of a call is computed first. */
pcp_value_t pcp_input(pcp_graph_t *self, const char *name, const pcp_type_t *type);
pcp_value_t pcp_param(pcp_graph_t *self, const char *name, const pcp_type_t *type,
                      const char *init);
/* The next result. The loss comes first. */
void pcp_output(pcp_graph_t *self, const char *name, pcp_value_t value);
/* The function is checked and belongs to the graph. -1 with the first error since its begin; then the function
 * is gone, and the graph is as before. */
int pcp_function_end(pcp_graph_t *self, pcp_error_t *error);
/* The first error of the function that is being built: code PCP_OK if there is none. Borrowed. */
const pcp_error_t *pcp_graph_error(const pcp_graph_t *self);

/* Of a finished function: how many arguments and results it has, their types and names (NULL: it has none).
 * -1, or PCP_NONE as dtype, where there is no such thing. */
int pcp_function_inputs(const pcp_graph_t *self, const char *function);
int pcp_function_outputs(const pcp_graph_t *self, const char *function);
pcp_type_t pcp_function_input(const pcp_graph_t *self, const char *function, int i,
                              const char **name);
pcp_type_t pcp_function_output(const pcp_graph_t *self, const char *function, int i,
                               const char **name);

/* --- Values --- */

pcp_type_t pcp_value_type(const pcp_graph_t *self,
                          pcp_value_t value); /* dtype PCP_NONE: no value */

/* --- Any op --- */

typedef struct pcp_region pcp_region_t;

/* An op of the table by its name ("stablehlo.dot_general", or without "stablehlo."; "chlo.erf"):
 *   in[n_in]        its operands
 *   attributes      as MLIR writes them, without braces: "dimensions = array<i64: 0, 1>", or "dimensions = [0, 1]",
 *                   "comparison_direction = #stablehlo<comparison_direction LT>", "value = dense<1.0> :
 *                   tensor<2xf32>"; NULL: none. Members of struct attributes may stand by themselves:
 *                   "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]"
 *   region[n_region]  ended ones, each used once
 *   types[n_out]    of the results; NULL: as the rule has them. Needed by ops whose rule leaves them open:
 *                   iota, convert, reshape, broadcast_in_dim, custom_call, ...
 * out[n_out] are the results. Errors as the header's head has them; also returns -1 then. */
int pcp_op(pcp_graph_t *self, const char *name, int n_in, const pcp_value_t *in,
           const char *attributes, int n_region, pcp_region_t *const *region, int n_out,
           const pcp_type_t *types, pcp_value_t *out);
/* The same for one result and no region; type NULL: as the rule has it. */
pcp_value_t pcp_op1(pcp_graph_t *self, const char *name, int n_in, const pcp_value_t *in,
                    const char *attributes, const pcp_type_t *type);

/* A region: what a reduce, while, sort, ... computes with. Between begin and end all ops go into it; it sees the
 * values around it. args[n_arg] are its arguments. Regions nest. NULL, and -1, with the graph's error. Freed
 * with the graph. */
pcp_region_t *pcp_region_begin(pcp_graph_t *self, int n_arg, const pcp_type_t *types,
                               pcp_value_t *args);
int pcp_region_end(pcp_graph_t *self, pcp_region_t *region, int n_result,
                   const pcp_value_t *results);

/* The table: names of all ops by number, as pcp_op takes them; NULL behind the last. Static. */
const char *pcp_op_name(int i);

/* --- Derivatives: graph to graph, by reverse mode --- */

/* A new function `name`: the arguments of `function`; its results, then d result[0] / d argument for each of
 * wanted[n_wanted], names of arguments, called "grad.NAME", of the argument's type. n_wanted 0: all parameters,
 * or, of a function that has none, all float arguments. result[0] is a float scalar. Calls of other functions
 * are written out first. The gradient is a function like any other: it can be printed, compiled, called, and
 * differentiated again. PCP_ERROR_UNSUPPORTED names an op without a rule. */
int pcp_gradient(pcp_graph_t *self, const char *function, const char *name, int n_wanted,
                 const char *const *wanted, pcp_error_t *error);
/* Vector-Jacobian product: more arguments, a cotangent "ct.RESULT" of each float result; the results, then the
 * cotangents "grad.NAME" of the wanted arguments. */
int pcp_vjp(pcp_graph_t *self, const char *function, const char *name, int n_wanted,
            const char *const *wanted, pcp_error_t *error);

/* --- Reference evaluation, op by op: slow, needs no compiler, and rounds as each op says --- */

/* in[n_in] are the arguments in order, borrowed. out[n_out] are new tensors, the caller's. -1: none of them is.
 * PCP_ERROR_ARGUMENT, _SHAPE, _TYPE: numbers or types of tensors; PCP_ERROR_MEMORY. */
int pcp_evaluate(const pcp_graph_t *self, const char *function, int n_in,
                 const pcp_tensor_t *const *in, int n_out, pcp_tensor_t **out, pcp_error_t *error);

#ifdef __cplusplus
}
#endif
#endif
