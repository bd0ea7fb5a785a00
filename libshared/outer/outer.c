/* Outer rules: one function each; OUTER_RULES makes the table. */
#include "outer/outer.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "outer/kernels.h"

/* --- nesterov: v <- mu v + d; theta <- theta - lr (d + mu v) --- */
static void step_nesterov(const outer_options_t *options, const outer_slice_t *at)
{
    outer_kernels()->nesterov(at->theta, at->state[0], at->d, at->n, options->lr, options->momentum,
                              at->theta_next, at->state_next[0]);
}

/* --- average: theta <- theta - d --- */
static void step_average(const outer_options_t *options, const outer_slice_t *at)
{
    (void)options;
    for (size_t i = 0; i < at->n; i++)
        at->theta_next[i] = (float)((double)at->theta[i] - (double)at->d[i]);
}

#define RULE(word, number, looks_at, ...) {#word, number, looks_at, {__VA_ARGS__}, step_##word},
static const outer_rule_t rules[] = {OUTER_RULES(RULE)};
enum { N_RULES = sizeof rules / sizeof *rules };

static const outer_rule_t *refuse_name(const char *name, err_t *err)
{
    str_t known = {0};
    for (int i = 0; i < N_RULES; i++)
        str_addf(&known, "%s%s (%u)", i ? ", " : "", rules[i].name, rules[i].id);
    err_set(err, ERR_ARG, "outer rule %s is unknown; known are %s", name, str_text(&known));
    str_fini(&known);
    return NULL;
}

const outer_rule_t *outer_rule_find(const char *name, err_t *err)
{
    for (int i = 0; i < N_RULES; i++)
        if (strcmp(rules[i].name, name) == 0) return &rules[i];
    return refuse_name(name, err);
}

const outer_rule_t *outer_rule_find_id(uint32_t id, err_t *err)
{
    for (int i = 0; i < N_RULES; i++)
        if (rules[i].id == id) return &rules[i];
    char text[16];
    snprintf(text, sizeof text, "%u", id);
    return refuse_name(text, err);
}

size_t outer_states(const outer_rule_t *rule)
{
    size_t n = 0;
    while (n < OUTER_STATES && rule->state[n]) n++;
    return n;
}

size_t outer_vectors(const outer_rule_t *rule, const codec_t *down)
{
    return outer_states(rule) + (down ? 1 : 0);
}

const char *outer_vector(const outer_rule_t *rule, size_t vector)
{
    return vector < outer_states(rule) ? rule->state[vector] : "down_error";
}

int outer_check(const outer_options_t *options, err_t *err)
{
    unsigned looks_at = options->rule->options;
    if (looks_at & OUTER_LR && !(isfinite(options->lr) && options->lr > 0))
        return err_set(err, ERR_ARG, "outer lr %g: must be finite and above 0", options->lr);
    if (looks_at & OUTER_MOMENTUM && !(options->momentum >= 0 && options->momentum < 1))
        return err_set(err, ERR_ARG, "outer momentum %g: must be in [0, 1)", options->momentum);
    return 0;
}

int outer_step(const outer_options_t *options, const outer_slice_t *slice, err_t *err)
{
    const float *d = slice->d;
    bool finite = outer_kernels()->within(d, slice->n, FLT_MAX);
    for (size_t i = 0; !finite && i < slice->n; i++)
        if (!isfinite(d[i]))
            return err_set(err, ERR_NUMERIC, "pseudo-gradient element %zu of %zu is %g", i,
                           slice->n, (double)d[i]);
    options->rule->step(options, slice);
    return 0;
}
