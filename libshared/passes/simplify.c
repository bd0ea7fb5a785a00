/* Algebraic simplification: one forward pass of local rewrite rules (rules.h), operands before
 * their users; branches on constant predicates are taken. The pipeline repeats it to a fixed point.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "passes/passes.h"
#include "passes/rules.h"

static const rule_t *const tables[] = {rules_arith, rules_shape, rules_parts};

typedef struct {
    uint32_t *uses; /* of the old function's values */
} simplify_t;

const ir_op_t *match_def(const match_t *m, int i, op_code_t code)
{
    const ir_op_t *def = ir_def(m->fn, m->in[i]);
    return def && def->code == code ? def : NULL;
}

bool match_constant(const match_t *m, int i, double *value)
{
    const tensor_t *c = ir_const_of(m->fn, m->in[i]);
    if (!c || !(c->splat || ir_type_count(&c->type) == 1)) return false;
    if (dtype_is_complex(c->type.dtype)) return false;
    *value = tensor_get_f64(c, 0);
    return dtype_is_float(c->type.dtype) || fabs(*value) < 9007199254740992.0;
}

bool match_splat(const match_t *m, int i, double value)
{
    double have;
    return match_constant(m, i, &have) && have == value;
}

const int64_t *match_dims(const ir_op_t *op, const char *name)
{
    int n;
    return attr_ints(&op->attrs, name, &n);
}

bool match_all(const match_t *m, const char *name, int64_t value)
{
    int n;
    const int64_t *list = attr_ints(&m->op->attrs, name, &n);
    for (int i = 0; i < n; i++)
        if (list[i] != value) return false;
    return true;
}

ir_val_t match_keep(const match_t *m, int i)
{
    return ir_type_equal(ir_type_of(m->fn, m->in[i]), &m->type) ? m->in[i] : IR_NONE;
}

/* The branch that a constant predicate (if: pred, true first) or index (case) takes, or NULL. */
static const ir_region_t *taken_branch(const ir_clone_t *self, const ir_op_t *op)
{
    if (op->code != OP_if && op->code != OP_case) return NULL;
    ir_val_t v = self->map[op->in[0]];
    const tensor_t *c = v == IR_NONE ? NULL : ir_const_of(self->to, v);
    if (!c || op->n_region < 1) return NULL;
    int64_t i = tensor_get_i64(c, 0);
    if (op->code == OP_if) return op->region[i ? 0 : 1];
    return op->region[i < 0 || i >= op->n_region ? op->n_region - 1 : i];
}

static int take_branch(ir_clone_t *self, const ir_op_t *op, const ir_region_t *branch, err_t *err)
{
    if (ir_clone_ops(self, branch, err) < 0) return -1;
    for (int i = 0; i < op->n_out; i++)
        self->map[op->out + (ir_val_t)i] = self->map[branch->result[i]];
    return 1;
}

static ir_val_t first_match(const match_t *m)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const rule_t *rule = tables[t]; rule->code != OP_invalid; rule++) {
            if (rule->code != m->op->code) continue;
            ir_val_t y = rule->run(m);
            if (y != IR_NONE) return y;
        }
    return IR_NONE;
}

/* What rules emit stands for `op`: it keeps the line for messages. */
static void set_lines(const ir_fn_t *fn, int n_before, int line)
{
    for (int i = n_before; i < fn->cursor->n_op; i++) fn->cursor->op[i]->line = line;
}

enum { MAX_IN = 16 };

static int apply_rules(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    const simplify_t *state = self->user;
    ir_val_t in[MAX_IN];
    bool single[MAX_IN];
    for (int i = 0; i < op->n_in; i++) {
        in[i] = self->map[op->in[i]];
        single[i] = state->uses[op->in[i]] == 1;
        if (in[i] == IR_NONE) return 0; /* the copy reports it */
    }
    match_t m = {.fn = self->to, .op = op, .in = in, .single = single};
    m.type = *ir_type_of(self->from, op->out);
    int n_before = self->to->cursor->n_op;
    ir_val_t y = first_match(&m);
    if (y == IR_NONE) return 0;
    if (!ir_type_equal(ir_type_of(self->to, y), &m.type)) {
        char have[IR_TYPE_TEXT], want[IR_TYPE_TEXT];
        return err_set(err, ERR_STATE, "line %d: a rule turns the %s of %s into %s", op->line,
                       ir_type_text(&m.type, want), op_def(op->code)->name,
                       ir_type_text(ir_type_of(self->to, y), have));
    }
    set_lines(self->to, n_before, op->line);
    self->map[op->out] = y;
    return 1;
}

/* Powers of two alone: without a zero and signs, most rules do not hold. */
static bool is_scale(const ir_clone_t *self, const ir_op_t *op)
{
    return ir_type_of(self->from, op->out)->dtype == DT_F8E8M0FNU;
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    const ir_region_t *branch = taken_branch(self, op);
    if (branch) return take_branch(self, op, branch, err);
    bool fits = op->n_out == 1 && op->n_in > 0 && op->n_in <= MAX_IN && !is_scale(self, op);
    return fits ? apply_rules(self, op, err) : 0;
}

int pass_simplify(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    (void)options;
    for (int f = 0; f < module->n_fn; f++) {
        ir_fn_t *fn = module->fn[f];
        simplify_t state = {.uses = ir_count_uses(fn)};
        ir_fn_t *fresh = ir_clone_fn(module, fn, rewrite, &state, err);
        free(state.uses);
        if (!fresh) return err_prefix(err, "@%s: ", fn->name);
        ir_module_replace(module, fn, fresh);
    }
    return 0;
}
