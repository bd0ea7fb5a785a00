/* From a model's loss to complete training programs, emitted as ordinary ops.
 *
 * Input: a module with the entry @main (a float scalar loss; maybe more results, of which those count
 * that are the next values of states) and maybe @logits. Arguments have roles (optim_role_t): attribute
 * pcp.role if present, else float means parameter and integer means batch. Names: pcp.name if
 * present, else "arg<i>". What roles a model's arguments have when nothing says so:
 * compile/roles.h.
 *
 * Output: the module's public functions become the programs
 *   @train   (params, state, batch, lr, step) -> (params', state', loss, grad_norm)
 *   @loss    (params, batch) -> (loss)
 *   @logits  (params, tokens) -> (logits)            when the input has it
 * or, when accumulate > 1, @accumulate (params, accumulators, batch) -> (accumulators', loss) and
 * @update (params, state, accumulators, lr, step) -> (params', state', accumulators' = 0,
 * grad_norm) instead of @train. Every parameter and result carries pcp.name and pcp.role
 * (plan/format/plan.h); a result with role param, state or accumulator updates the argument of that role
 * and name in place. Parameters of bf16 or f16 modules become f32 masters, rounded to nearest even
 * where the forward pass reads them; their gradients are widened to f32 before clipping and the
 * update. loss, grad_norm and logits are f32, but @grad keeps the module's types.
 *
 * State of parameter "w": "m.w" and "v.w" (adamw), "momentum.w" (sgd, unless momentum is 0). The
 * data of @logits is called "tokens" (several: "logits.<name>"), because its shape need not be that
 * of the loss. Calls must have been inlined (passes/). The module is scratch after an error.
 *
 * A new optimizer is a word of OPTIMIZERS (spec_options.h) and its rule in rules.c. */
#ifndef OPTIM_OPTIM_H
#define OPTIM_OPTIM_H

#include "ir/ir.h"
#include "optim/spec_options.h"

#define PRECISION_CONSTANT(word, constant) constant,
typedef enum { PRECISIONS(PRECISION_CONSTANT) N_PRECISION } precision_t;

/* Its words and numbers are those of spec_options.h; words are in static storage, or borrowed. adamw: beta1, beta2, eps, weight_decay; sgd: momentum.
 * clip: global L2 norm, 0: off; g *= min(1, clip / (norm + 1e-6)). Gradients of `accumulate`
 * micro-batches are averaged. */
#define SPEC_BOOL bool
#define SPEC_INT int
#define SPEC_FLOAT double
#define SPEC_MEMBER(T, what, key, ...) SPEC_##what key;
#define SPEC_WORD_MEMBER(X, T, key, ...) const char *key;
typedef struct {
    TRAIN_SPEC_WORDS(SPEC_WORD_MEMBER, , )
    TRAIN_SPEC_NUMBERS(SPEC_MEMBER, )
    uint64_t memory_budget; /* bytes that a plan's arena may have (plan/build.h), 0: any */
    bool only_f32;          /* the target has no f64: scalars of the optimizer are f32 as well */
} train_spec_t;

extern const train_spec_t TRAIN_SPEC_DEFAULT; /* the rows' defaults */

/* The spec that checked options ask for, without memory_budget; borrows their words. */
train_spec_t train_spec_of(const spec_options_t *options);

/* Of products; parameters, state and everything else stay f32. f32 where the word is unknown. */
precision_t train_spec_precision(const train_spec_t *spec);

/* The spec as canonical JSON (part of the plan's identity) and back. Missing keys have their
 * default; unknown keys and values out of range are errors. print returns, caller frees. */
char *train_spec_print(const train_spec_t *spec);
int train_spec_parse(const char *json, train_spec_t *spec, err_t *err);

int optim_build(ir_module_t *module, const train_spec_t *spec, err_t *err);

/* Only the gradient: @grad (params, batch) -> (loss, grad.<param> ...), roles and names as above,
 * parameters in the module's own types. For golden checks and `pcp compile --emit grad`. */
int optim_build_gradient(ir_module_t *module, err_t *err);

/* Only @logits (params, tokens) -> (logits), for sampling. ERR_ARG when the module has none. */
int optim_build_logits(ir_module_t *module, err_t *err);

/* Only @evaluate (params, batch) -> the results of the function `name` that are scalars, in f32 and called
 * "result<i>" by their numbers in it: accuracies and the like. Seeds and scalars as in @loss. ERR_ARG:
 * no such function; ERR_TYPE: none of its results is a scalar. */
int optim_build_evaluation(ir_module_t *module, const char *name, err_t *err);

/* How a module's arguments take part in training. X(word), and what pcp.role says behind a colon:
 *   param    trained by the gradient
 *   frozen   has initial values and keeps them
 *   state    `state:R`: result R of the entry is its value from the next step on (running statistics)
 *   batch    filled from the dataset
 *   seed     filled with bits made of the seed of the execution (runtime/exec.h), others each step
 *   scalar   `scalar:step` the number of the step, from 1, since the optimizer's state was zero;
 *            `scalar:lr` the learning rate of the step;
 *            `scalar:V` the number V. The program "loss" reads 0 for step and lr
 * The first three are kept side by side, as plans' role param: they travel, and checkpoints have
 * them. They are f32 there (f64 in f64 modules), whatever the model reads; integers up to 2^24. */
#define OPTIM_ROLES(X) X(param) X(frozen) X(state) X(batch) X(seed) X(scalar)
#define OPTIM_ROLE_CONSTANT(word) ARG_##word,
typedef enum { OPTIM_ROLES(OPTIM_ROLE_CONSTANT) N_ARG_ROLE } optim_role_t;
const char *optim_role_name(optim_role_t role);

/* Attributes of a parameter, numbers as text: factors of the learning rate and of the weight decay for it. */
#define OPTIM_LR "pcp.lr"
#define OPTIM_DECAY "pcp.decay"

typedef enum { SCALAR_STEP, SCALAR_LR, SCALAR_VALUE } optim_scalar_t;

typedef struct {
    const char *name;
    optim_role_t role;
    bool is_param; /* kept among the parameters: param, frozen, state */
    ir_type_t type;
    const char *init;      /* pcp.init, or NULL */
    double lr, decay;      /* param: OPTIM_LR and OPTIM_DECAY; 1 where nothing is said */
    int next;              /* state: the result that is its next value */
    optim_scalar_t scalar; /* scalar: what fills it, and with SCALAR_VALUE the number */
    double value;
} optim_arg_t;

/* "state:1" into role, next, scalar and value of arg, whose type must fit. ERR_ARG, ERR_TYPE say
 * what is wrong, to be read behind the argument's name. */
int optim_role_parse(const char *text, optim_arg_t *arg, err_t *err);
/* The type in which an argument that is_param is kept. */
ir_type_t optim_master(ir_type_t type);
/* Classify the entry's arguments: an arena-owned array of body->n_arg. */
optim_arg_t *optim_args(const ir_module_t *module, const ir_fn_t *fn, err_t *err);

#endif
