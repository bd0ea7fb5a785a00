/* Outer rules: what the aggregator does with the mean pseudo-gradient of a round.
 *
 *   name      id  state     next parameters
 *   nesterov  1   momentum  v <- mu v + d;  theta <- theta - lr (d + mu v)     PyTorch's
 *                           SGD(nesterov=True); DiLoCo, arXiv 2311.08105, Algorithm 1
 *   average   2   none      theta <- theta - d: the weighted mean of the replicas' parameters, as
 *                           FedAvg (arXiv 1602.05629, Algorithm 1); also SparseLoCo's outer step
 *                           (arXiv 2508.15706). lr and momentum are of no account
 *
 * Sign: d = theta_start - theta_end, so descent subtracts. Every rule is element-wise, so any piece
 * of the flat parameter vector can be stepped in any order. What a rule keeps from step to step is
 * in vectors as long as the parameters, its state, zero before the first step: shards store them,
 * checkpoints have them. A rule is a word of OUTER_RULES and a function in outer.c. Pure. */
#ifndef OUTER_OUTER_H
#define OUTER_OUTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "outer/codec.h"

enum { OUTER_STATES = 2 }; /* vectors of state at most: a rule's, and outer_vectors' one more */

/* What of outer_options_t a rule looks at. */
enum { OUTER_LR = 1, OUTER_MOMENTUM = 2 };

/* X(word, id in ASSIGN and in slots, which is never reused, options, names of the states or NULL)
 */
#define OUTER_RULES(X)                                    \
    X(nesterov, 1, OUTER_LR | OUTER_MOMENTUM, "momentum") \
    X(average, 2, 0, NULL)

typedef struct outer_rule outer_rule_t;

typedef struct {
    const outer_rule_t *rule;
    double lr;       /* 0.7 in DiLoCo; finite, > 0 */
    double momentum; /* 0.9 in DiLoCo; 0 <= momentum < 1 */
} outer_options_t;

/* n elements. All borrowed; each vector of the next round may be the one that it follows from. */
typedef struct {
    size_t n;
    const float *d;     /* weighted mean pseudo-gradient */
    const float *theta; /* parameters */
    float *theta_next;
    const float
        *state[OUTER_STATES]; /* the first outer_states(rule) of them, in the rule's order */
    float *state_next[OUTER_STATES];
} outer_slice_t;

struct outer_rule {
    const char *name;
    uint32_t id;
    unsigned options;                /* OUTER_LR ... */
    const char *state[OUTER_STATES]; /* names; NULL behind the last */
    void (*step)(const outer_options_t *options, const outer_slice_t *slice);
};

/* By name or id; NULL with ERR_ARG and the known ones. Static storage. */
const outer_rule_t *outer_rule_find(const char *name, err_t *err);
const outer_rule_t *outer_rule_find_id(uint32_t id, err_t *err);

size_t outer_states(const outer_rule_t *rule); /* 0 to OUTER_STATES */

/* The vectors that are kept beside the parameters: the rule's states and, where the way down has a codec
 * (outer/change.h; NULL: none), what that has left out, whose name is "down_error". */
size_t outer_vectors(const outer_rule_t *rule, const codec_t *down); /* 0 to OUTER_STATES */
const char *outer_vector(const outer_rule_t *rule, size_t vector);

/* Those that the rule looks at. ERR_ARG names the option, its value and what is allowed. */
int outer_check(const outer_options_t *options, err_t *err);

/* One outer step of a slice, under options that outer_check has passed. Computed in f64 and rounded
 * once to f32 for each result. Returns 0; -1 with ERR_NUMERIC, nothing written, if d holds NaN or
 * Inf. */
int outer_step(const outer_options_t *options, const outer_slice_t *slice, err_t *err);

#endif
