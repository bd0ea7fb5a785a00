/* Initial values by rule, and the default rule by a parameter's use. */
#include "model/init.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "ir/op.h"
#include "ops/control.h"
#include "ops/stacked.h"

enum { MOST_CALLS = 16 }; /* inside of each other: what calls itself is refused elsewhere */

static op_code_t first_use(const ir_fn_t *fn, const ir_region_t *region, ir_val_t v, int calls);

/* What is first done with operand j of op, or with what op makes of it: views, rows and conversions do nothing; loops and
 * calls hand it on. */
static op_code_t use_in(const ir_fn_t *fn, const ir_op_t *op, int j, int calls)
{
    bool passes = op_def(op->code)->kind == K_VIEW || op->code == OP_convert ||
                  (op->code == OP_dynamic_slice && j == 0);
    if (passes) return first_use(fn, op->parent, op->out, calls);
    if (op->code == OP_while)
        return first_use(fn, op->region[1], op->region[1]->arg + (ir_val_t)j, calls);
    err_t err = {0};
    const ir_fn_t *callee = op->code == OP_call ? control_callee(fn->module, op, &err) : NULL;
    if (callee && calls > 0 && j < callee->body->n_arg)
        return first_use(callee, callee->body, ir_fn_param(callee, j), calls - 1);
    return op->code;
}

/* What the first op that computes with v does with it. */
static op_code_t first_use(const ir_fn_t *fn, const ir_region_t *region, ir_val_t v, int calls)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        for (int j = 0; j < op->n_in; j++) {
            op_code_t code = op->in[j] == v ? use_in(fn, op, j, calls) : OP_invalid;
            if (code != OP_invalid) return code;
        }
    }
    return OP_invalid;
}

const char *init_rule(const ir_fn_t *fn, int param)
{
    const char *rule = attr_text(&fn->param_attrs[param], "pcp.init", NULL);
    if (rule) return rule;
    if (stacked_layer_rank(fn, param) >= 2) return "normal(0.02)";
    op_code_t use = first_use(fn, fn->body, ir_fn_param(fn, param), MOST_CALLS);
    return use == OP_multiply ? "ones" : "zeros";
}

typedef struct {
    enum { INIT_CONSTANT, INIT_NORMAL, INIT_UNIFORM } kind;
    double a, b;
} rule_t;

/* As it is written; numbers may still be none. */
static bool read_rule(const char *text, rule_t *rule)
{
    int end = -1;
    *rule = (rule_t){0};
    if (strcmp(text, "zeros") == 0) return true;
    if (strcmp(text, "ones") == 0) {
        rule->a = 1;
        return true;
    }
    if (sscanf(text, "constant(%lf)%n", &rule->a, &end) == 1 && end > 0 && !text[end]) return true;
    rule->kind = INIT_NORMAL;
    if (sscanf(text, "normal(%lf)%n", &rule->a, &end) == 1 && end > 0 && !text[end]) return true;
    rule->kind = INIT_UNIFORM;
    return sscanf(text, "uniform(%lf,%lf)%n", &rule->a, &rule->b, &end) == 2 && end > 0 &&
           !text[end];
}

static int parse_rule(const char *text, rule_t *rule, err_t *err)
{
    if (read_rule(text, rule) && isfinite(rule->a) && isfinite(rule->b)) return 0;
    return err_set(err, ERR_PARSE,
                   "pcp.init \"%s\" is not a rule: use zeros, ones, constant(V), normal(STD) or "
                   "uniform(LOW,HIGH)",
                   text);
}

int init_fill(const char *rule_text, uint64_t seed, const char *name, float *out, int64_t n,
              err_t *err)
{
    rule_t rule;
    if (parse_rule(rule_text, &rule, err) < 0) return -1;
    uint64_t stream = rng_derive(seed, name);
    for (int64_t i = 0; i < n; i++) {
        double v = rule.a;
        if (rule.kind == INIT_NORMAL) v = rule.a * rng_normal(stream, (uint64_t)i);
        if (rule.kind == INIT_UNIFORM)
            v = rule.a + (rule.b - rule.a) * rng_uniform(stream, (uint64_t)i);
        out[i] = (float)v;
    }
    return 0;
}
