/* Outer optimizers: one row and one function per rule. */
#include "outer/outer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "outer/kernels.h"

typedef struct {
    const char *name;
    bool has_momentum;
    void (*step)(const outer_t *self, const float *theta, const float *v, const float *d, size_t n,
                 float *theta_next, float *v_next);
} outer_rule_t;

struct outer {
    const outer_rule_t *rule;
    double lr, momentum;
};

/* --- nesterov: v <- mu v + d; theta <- theta - lr (d + mu v) --- */
static void step_nesterov(const outer_t *self, const float *theta, const float *v, const float *d,
                          size_t n, float *theta_next, float *v_next)
{
    outer_kernels()->nesterov(theta, v, d, n, self->lr, self->momentum, theta_next, v_next);
}

/* --- sgd: theta <- theta - lr d --- */
static void step_sgd(const outer_t *self, const float *theta, const float *v, const float *d,
                     size_t n, float *theta_next, float *v_next)
{
    (void)v, (void)v_next;
    for (size_t i = 0; i < n; i++) theta_next[i] = (float)(theta[i] - self->lr * d[i]);
}

static const outer_rule_t rules[] = {
    {"nesterov", true, step_nesterov},
    {"sgd", false, step_sgd},
};
enum { N_RULES = sizeof rules / sizeof *rules };

static const outer_rule_t *find_rule(const char *name, err_t *err)
{
    str_t known = {0};
    for (int i = 0; i < N_RULES; i++) {
        if (strcmp(rules[i].name, name) == 0) {
            str_fini(&known);
            return &rules[i];
        }
        str_addf(&known, "%s%s", i ? ", " : "", rules[i].name);
    }
    err_set(err, ERR_ARG, "outer rule \"%s\" is unknown; known are %s", name, str_text(&known));
    str_fini(&known);
    return NULL;
}

outer_t *outer_new(const outer_options_t *options, err_t *err)
{
    const outer_rule_t *rule = find_rule(options->rule, err);
    if (!rule) return NULL;
    if (!isfinite(options->lr) || options->lr <= 0) {
        err_set(err, ERR_ARG, "outer lr %g: must be finite and above 0", options->lr);
        return NULL;
    }
    if (rule->has_momentum && !(options->momentum >= 0 && options->momentum < 1)) {
        err_set(err, ERR_ARG, "outer momentum %g: must be in [0, 1)", options->momentum);
        return NULL;
    }
    outer_t *self = mem_calloc(1, sizeof *self);
    *self = (outer_t){rule, options->lr, options->momentum};
    return self;
}

void outer_destroy(outer_t **self_p)
{
    if (!self_p || !*self_p) return;
    free(*self_p);
    *self_p = NULL;
}

int outer_step(const outer_t *self, const float *theta, const float *v, const float *d, size_t n,
               float *theta_next, float *v_next, err_t *err)
{
    bool finite = outer_kernels()->within(d, n, FLT_MAX);
    for (size_t i = 0; !finite && i < n; i++)
        if (!isfinite(d[i]))
            return err_set(err, ERR_NUMERIC, "pseudo-gradient element %zu of %zu is %g", i, n,
                           (double)d[i]);
    self->rule->step(self, theta, v, d, n, theta_next, v_next);
    return 0;
}
