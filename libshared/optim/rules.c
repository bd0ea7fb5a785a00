/* The optimizers, each a row: state and update as ordinary ops. Formulas: Kingma and Ba 2015
 * (arXiv 1412.6980, algorithm 1), decoupled decay by Loshchilov and Hutter (arXiv 1711.05101,
 * algorithm 2), with every parameter's decay limited to rank 2 and more, of a layer's part where layers are stacked. */
#include "optim/rule.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

ir_val_t optim_scale(ir_fn_t *fn, ir_val_t a, double constant)
{
    return ir_op2(fn, OP_multiply, a, ir_scalar_like(fn, a, constant));
}

ir_val_t optim_spread(ir_fn_t *fn, ir_val_t scalar, ir_val_t x)
{
    if (scalar == IR_NONE || x == IR_NONE) return IR_NONE;
    ir_type_t type = *ir_type_of(fn, x);
    return ir_broadcast_scalar(fn, ir_convert(fn, scalar, type.dtype), &type);
}

/* p - lr u */
static ir_val_t descend(const optim_step_t *s, ir_val_t p, ir_val_t u)
{
    ir_val_t lr = optim_spread(s->fn, s->lr, p);
    return ir_op2(s->fn, OP_subtract, p, ir_op2(s->fn, OP_multiply, lr, u));
}

/* u + wd p, for parameters of rank 2 and more */
static ir_val_t decayed(const optim_step_t *s, ir_val_t p, ir_val_t u)
{
    if (p == IR_NONE || s->decay == 0 || ir_type_of(s->fn, p)->rank < 2) return u;
    return ir_op2(s->fn, OP_add, u, optim_scale(s->fn, p, s->decay));
}

/* --- adamw: m <- b1 m + (1-b1) g;  v <- b2 v + (1-b2) g^2;
 *     p <- p - lr (m / (1-b1^t) / (sqrt(v / (1-b2^t)) + eps) + wd p) --- */

static int adamw_n_state(const train_spec_t *spec)
{
    (void)spec;
    return 2;
}

/* 1 / (1 - b^t) = -1 / expm1(t ln b) in f32, where nothing cancels: 2e-7 of it, as far as t is below
 * 2^24. b = 0: ln b is -inf, and the result 1. */
static ir_val_t unbias_f32(const optim_step_t *s, double b)
{
    ir_fn_t *fn = s->fn;
    ir_val_t t = ir_convert(fn, s->step, DT_F32), rate = ir_scalar(fn, DT_F32, log(b));
    ir_val_t less = ir_op1(fn, OP_exponential_minus_one, ir_op2(fn, OP_multiply, t, rate));
    return ir_op2(fn, OP_divide, ir_scalar(fn, DT_F32, -1), less);
}

/* 1 / (1 - b^t) in f64: in f32, 1 - 0.999 alone loses four digits. */
static ir_val_t unbias(const optim_step_t *s, double b)
{
    ir_fn_t *fn = s->fn;
    if (s->spec->only_f32) return unbias_f32(s, b);
    ir_val_t t = ir_convert(fn, s->step, DT_F64), one = ir_scalar(fn, DT_F64, 1);
    ir_val_t power = ir_op2(fn, OP_power, ir_scalar(fn, DT_F64, b), t);
    return ir_op2(fn, OP_divide, one, ir_op2(fn, OP_subtract, one, power));
}

static void adamw_prepare(optim_step_t *s)
{
    s->shared[0] = unbias(s, s->spec->beta1);
    s->shared[1] = unbias(s, s->spec->beta2);
}

/* b x + (1-b) y */
static ir_val_t blend(ir_fn_t *fn, double b, ir_val_t x, ir_val_t y)
{
    return ir_op2(fn, OP_add, optim_scale(fn, x, b), optim_scale(fn, y, 1 - b));
}

static ir_val_t adamw_update(const optim_step_t *s, ir_val_t p, ir_val_t g, const ir_val_t *state,
                             ir_val_t *state_out)
{
    ir_fn_t *fn = s->fn;
    ir_val_t m = blend(fn, s->spec->beta1, state[0], g);
    ir_val_t v = blend(fn, s->spec->beta2, state[1], ir_op2(fn, OP_multiply, g, g));
    ir_val_t m_hat = ir_op2(fn, OP_multiply, m, optim_spread(fn, s->shared[0], p));
    ir_val_t v_hat = ir_op2(fn, OP_multiply, v, optim_spread(fn, s->shared[1], p));
    ir_val_t root = ir_op1(fn, OP_sqrt, v_hat);
    ir_val_t below = ir_op2(fn, OP_add, root, ir_scalar_like(fn, root, s->spec->eps));
    state_out[0] = m;
    state_out[1] = v;
    return descend(s, p, decayed(s, p, ir_op2(fn, OP_divide, m_hat, below)));
}

/* --- sgd: b <- mu b + g;  p <- p - lr (b + wd p)   (PyTorch's SGD without dampening; decay
 *     decoupled as in adamw). mu = 0 keeps no state. --- */

static int sgd_n_state(const train_spec_t *spec)
{
    return spec->momentum != 0;
}

static ir_val_t sgd_update(const optim_step_t *s, ir_val_t p, ir_val_t g, const ir_val_t *state,
                           ir_val_t *state_out)
{
    if (s->spec->momentum != 0) {
        g = ir_op2(s->fn, OP_add, optim_scale(s->fn, state[0], s->spec->momentum), g);
        state_out[0] = g;
    }
    return descend(s, p, decayed(s, p, g));
}

/* WORD_rule for each word of OPTIMIZERS. */
static const optim_rule_t adamw_rule = {
    "adamw", {"m", "v"}, adamw_n_state, adamw_prepare, adamw_update};
static const optim_rule_t sgd_rule = {"sgd", {"momentum"}, sgd_n_state, NULL, sgd_update};

#define RULE(word) &word##_rule,
static const optim_rule_t *const optim_rules[] = {OPTIMIZERS(RULE)};

const optim_rule_t *optim_rule_find(const char *name, err_t *err)
{
    str_t names = {0};
    const size_t n = sizeof optim_rules / sizeof *optim_rules;
    const optim_rule_t *found = NULL;
    for (size_t i = 0; i < n && !found; i++) {
        if (name && strcmp(optim_rules[i]->name, name) == 0) found = optim_rules[i];
        str_addf(&names, "%s%s", i ? ", " : "", optim_rules[i]->name);
    }
    if (!found)
        err_set(err, ERR_ARG, "no optimizer is called \"%s\"; there are: %s", name ? name : "",
                str_text(&names));
    str_fini(&names);
    return found;
}
