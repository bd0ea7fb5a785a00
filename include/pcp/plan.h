/* Plans: graphs compiled for one kind of machine. A plan holds programs (a public function each, or the programs
 * of training), the code of their kernels, and where each tensor lies; nothing of the graph. */
#ifndef PCP_PLAN_H
#define PCP_PLAN_H

#include <pcp/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pcp_plan pcp_plan_t;

/* The graph's public functions as programs of their names, for a target: "cpu:x86-64-v3", "cpu:aarch64", "c:scalar",
 * "vulkan:spirv1.3", "cuda:sm_90", ... (`pcp devices` lists them), or a device of this machine as pcp_session_new
 * takes it ("cpu", "vulkan:1"). NULL: this machine's processor. The graph stays as it is. Tensors of one name are one tensor for all functions, so their types
 * must agree (PCP_ERROR_TYPE). Arguments with pcp.role "frozen" or "state:N" are parameters, "seed" batch. Runs a C compiler (cc,
 * or what PCP_CC names; glslc, nvcc, .. for other targets): seconds. PCP_ERROR_UNSUPPORTED: an op without a kernel,
 * or no such compiler. */
pcp_plan_t *pcp_compile(const pcp_graph_t *graph, const char *target, pcp_error_t *error);

/* Training programs of the graph's @main, whose first result is the loss: "train" (parameters, optimizer's state, batch
 * -> all of it one step on, loss, grad_norm), "loss", and "logits" where the graph has that function. A step's
 * formulas are those of docs/options.md. options: NULL or "optimizer=adamw beta1=0.9 beta2=0.99 eps=1e-8
 * weight_decay=0.1 clip=1 accumulate=1 precision=f32", these being the defaults; or optimizer=sgd momentum=0.9.
 * PCP_ERROR_ARGUMENT names what is unknown or out of range. */
pcp_plan_t *pcp_compile_training(const pcp_graph_t *graph, const char *options, const char *target,
                                 pcp_error_t *error);

/* Plans are counted: sessions hold theirs. */
pcp_plan_t *pcp_plan_retain(pcp_plan_t *self);
void pcp_plan_release(pcp_plan_t **self_p);

/* To a file, and from one that nobody vouches for: everything in it is checked but what its code does, which runs
 * with the rights of the process. Load plans of those you trust. PCP_ERROR_IO, PCP_ERROR_CORRUPT. */
int pcp_plan_save(const pcp_plan_t *self, const char *path, pcp_error_t *error);
pcp_plan_t *pcp_plan_load(const char *path, pcp_error_t *error);

const char *pcp_plan_target(const pcp_plan_t *self);
uint64_t pcp_plan_arena_bytes(const pcp_plan_t *self); /* what a session takes on its device */
char *pcp_plan_print(const pcp_plan_t *self);          /* tensors and steps, for people: pcp_free */

/* Programs and tensors by number, from 0; NULL, or a type of PCP_NONE, behind the last. A tensor's role is "param", "state",
 * "accumulator", "batch" (inputs), "scalar" or "result" (those of a program's temporaries are not listed). */
const char *pcp_plan_program(const pcp_plan_t *self, int i);
const char *pcp_plan_tensor(const pcp_plan_t *self, int i, const char **role, pcp_type_t *type);

#ifdef __cplusplus
}
#endif
#endif
