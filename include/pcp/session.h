/* Sessions: a plan loaded on a device, with its tensors. Parameters and states stay in it from run to run.
 *
 *   pcp_session_t *s = pcp_session_new(plan, NULL, 0, error);
 *   pcp_session_set(s, "x", x, error);
 *   pcp_session_run(s, "main", error);
 *   pcp_tensor_t *y = pcp_session_get(s, "y", error);
 *
 * Tensors go by their names in the graph: those of inputs, parameters and results. Where roles share a name, "ROLE:NAME"
 * tells them apart ("state:m.w"); without a role the first of param, batch, result, state, scalar, accumulator counts.
 * Of graphs that were read and name nothing, inputs of @main are "arg0", .. and results "result0", ..; of another function
 * @f "f.arg0" and "f.result0". Same plan, values and number of threads: same bits. */
#ifndef PCP_SESSION_H
#define PCP_SESSION_H

#include <pcp/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pcp_session pcp_session_t;

/* On a device of this machine: "cpu", "vulkan", "cuda:1", ...; NULL: the first that runs the plan's target. threads 0: as
 * many as the process may use. All tensors are zero. The session holds the plan. PCP_ERROR_UNSUPPORTED: the device is not there,
 * or does not run the plan; PCP_ERROR_MEMORY says how much it takes. */
pcp_session_t *pcp_session_new(pcp_plan_t *plan, const char *device, int threads,
                               pcp_error_t *error);
void pcp_session_destroy(pcp_session_t **self_p);

/* The tensor's type must be the plan's. PCP_ERROR_ARGUMENT: no such tensor; the text lists those there are. */
int pcp_session_set(pcp_session_t *self, const char *name, const pcp_tensor_t *tensor,
                    pcp_error_t *error);
/* A new tensor. A large result is there until another program runs. */
pcp_tensor_t *pcp_session_get(pcp_session_t *self, const char *name, pcp_error_t *error);
int pcp_session_get_into(pcp_session_t *self, const char *name, pcp_tensor_t *tensor,
                         pcp_error_t *error);

/* Parameters by the rules of the graph that the plan was made of (pcp_param's init; those that have none: matrices normal(0.02),
 * gains 1, other vectors 0). The same seed gives the same values on every machine. */
int pcp_session_init(pcp_session_t *self, const pcp_graph_t *graph, uint64_t seed,
                     pcp_error_t *error);

/* Run a program to its end. A result that is called as a parameter is, updates it. */
int pcp_session_run(pcp_session_t *self, const char *program, pcp_error_t *error);

/* One optimizer step of a plan of pcp_compile_training. batch[n_batch]: the inputs in the graph's order; with accumulate=K each
 * holds K micro-batches, one after another, with K in front of its dimensions. lr: the learning rate; step: 1, 2, 3, ...
 * *loss (or NULL): before the step, the mean over micro-batches. */
int pcp_session_train(pcp_session_t *self, int n_batch, const pcp_tensor_t *const *batch, double lr,
                      int64_t step, float *loss, pcp_error_t *error);
/* The seed of ops that draw random numbers (dropout), 0 at first; each step draws others. */
void pcp_session_seed(pcp_session_t *self, uint64_t seed);

/* All parameters, as a safetensors file (https://huggingface.co/docs/safetensors) with their names; `state` not 0: the
 * optimizer's state as well, as "state:NAME". Load takes what the plan has, with bf16, f16 and f32 turned into each other, and
 * refuses a file that lacks a parameter or has it in another shape (PCP_ERROR_CORRUPT); states that are not there keep their values. */
int pcp_session_save(pcp_session_t *self, const char *path, int state, pcp_error_t *error);
int pcp_session_load(pcp_session_t *self, const char *path, pcp_error_t *error);

#ifdef __cplusplus
}
#endif
#endif
