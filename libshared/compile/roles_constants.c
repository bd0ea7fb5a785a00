/* Constants that are weights become arguments: exporters that close over a network's weights write
 * them into the text. What looks like a weight: a float tensor of at least 16 elements that are not
 * all alike, have more than two values (masks), and do not count up in equal steps (positions). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "compile/roles_in.h"
#include "ir/op.h"
#include "passes/passes.h"

/* --- which constants --- */

enum { MIN_ELEMENTS = 16 };

static bool has_three_values(const tensor_t *t, int64_t n)
{
    double first = tensor_get_f64(t, 0), second = first;
    for (int64_t i = 1; i < n; i++) {
        double v = tensor_get_f64(t, i);
        if (v != first && second == first) second = v;
        if (v != first && v != second) return true;
    }
    return false;
}

static bool counts_up(const tensor_t *t, int64_t n)
{
    double first = tensor_get_f64(t, 0), by = tensor_get_f64(t, 1) - first;
    for (int64_t i = 2; i < n; i++)
        if (tensor_get_f64(t, i) != first + (double)i * by) return false;
    return true;
}

static const tensor_t *weight_of(const ir_op_t *op)
{
    const ir_attr_t *value = op->code == OP_constant ? attr_find(&op->attrs, "value") : NULL;
    if (!value || value->kind != ATTR_TENSOR) return NULL;
    const tensor_t *t = value->tensor;
    int64_t n = ir_type_count(&t->type);
    if (t->splat || !dtype_is_float(t->type.dtype) || n < MIN_ELEMENTS) return NULL;
    return has_three_values(t, n) && !counts_up(t, n) ? t : NULL;
}

typedef struct {
    const tensor_t *value;
    const char *name; /* NULL: not yet */
} weight_t;

typedef struct {
    ir_module_t *module;
    VEC(weight_t) weight;
    int *param; /* of the function at hand: which argument each weight is, -1: none */
    int n_param;
} hoist_t;

static int find_weight(const hoist_t *self, const tensor_t *t)
{
    for (size_t i = 0; i < self->weight.n; i++)
        if (self->weight.at[i].value == t || tensor_equal(self->weight.at[i].value, t))
            return (int)i;
    return -1;
}

/* Note the constants of a region, in the text's order. */
static void collect(hoist_t *self, const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        const tensor_t *t = weight_of(op);
        for (int r = 0; r < op->n_region; r++) collect(self, op->region[r]);
        if (!t || find_weight(self, t) >= 0) continue;
        weight_t weight = {t, attr_text(&op->attrs, "pcp.loc", NULL)};
        VEC_PUSH(&self->weight, weight);
    }
}

/* Places in the text name those that share a name, or have none. */
static void name_weights(hoist_t *self)
{
    size_t n = self->weight.n;
    bool *unique = mem_calloc(n + 1, sizeof *unique);
    for (size_t i = 0; i < n; i++) {
        const char *name = self->weight.at[i].name;
        unique[i] = name && strlen(name) <= 200;
        for (size_t k = 0; k < n && unique[i]; k++)
            if (k != i && self->weight.at[k].name && strcmp(self->weight.at[k].name, name) == 0)
                unique[i] = false;
    }
    for (size_t i = 0; i < n; i++)
        if (!unique[i])
            self->weight.at[i].name = arena_printf(self->module->arena, "constant%zu", i);
    free(unique);
}

/* --- a function with more arguments --- */

static void mark_used(hoist_t *self, const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        const tensor_t *t = weight_of(op);
        int k = t ? find_weight(self, t) : -1;
        if (k >= 0 && self->param[k] < 0) self->param[k] = self->n_param++;
        for (int r = 0; r < op->n_region; r++) mark_used(self, op->region[r]);
    }
}

static int replace_constant(ir_clone_t *clone, const ir_op_t *op, err_t *err)
{
    const hoist_t *self = clone->user;
    const tensor_t *t = weight_of(op);
    int k = t ? find_weight(self, t) : -1;
    (void)err;
    if (k < 0) return 0;
    clone->map[op->out] = ir_fn_param(clone->to, self->param[k]);
    return 1;
}

static void describe(const hoist_t *self, ir_fn_t *to, int arg, const weight_t *weight)
{
    ir_attrs_t *attrs = &to->param_attrs[arg];
    arena_t *arena = self->module->arena;
    bool frozen = roles_name_says(weight->name) == NAME_frozen;
    attr_set_text(arena, attrs, "pcp.name", ATTR_STRING, weight->name);
    attr_set_text(arena, attrs, "pcp.role", ATTR_STRING, frozen ? "frozen" : "param");
    attr_set(arena, attrs,
             (ir_attr_t){.name = ROLES_VALUE, .kind = ATTR_TENSOR, .tensor = weight->value});
}

static void copy_words(ir_fn_t *to, const ir_fn_t *from)
{
    for (int i = 0; i < from->body->n_arg; i++) {
        to->param_attrs[i] = from->param_attrs[i];
        to->value[ir_fn_param(to, i)].name = from->value[ir_fn_param(from, i)].name;
    }
    for (int r = 0; from->result_attrs && r < from->body->n_result; r++)
        to->result_attrs[r] = from->result_attrs[r];
    to->attrs = from->attrs;
    to->is_private = from->is_private;
}

static int copy_body(hoist_t *self, const ir_fn_t *from, ir_fn_t *to, err_t *err)
{
    int n_result = from->body->n_result;
    ir_clone_t clone = {.from = from, .to = to, .rewrite = replace_constant, .user = self};
    ir_val_t *results = mem_calloc((size_t)n_result + 1, sizeof *results);
    clone.map = mem_calloc(from->n_value + 1u, sizeof *clone.map);
    memset(clone.map, 0xFF, from->n_value * sizeof *clone.map);
    for (int i = 0; i < from->body->n_arg; i++)
        clone.map[ir_fn_param(from, i)] = ir_fn_param(to, i);
    int status = ir_clone_ops(&clone, from->body, err);
    for (int r = 0; status == 0 && r < n_result; r++) results[r] = clone.map[from->body->result[r]];
    if (status == 0) status = ir_fn_finish(to, n_result, results, err);
    free(results);
    free(clone.map);
    return status;
}

/* `fn` with the weights that it holds as arguments behind its own. */
static int rebuild(hoist_t *self, ir_fn_t *fn, err_t *err)
{
    int n = fn->body->n_arg, n_weight = (int)self->weight.n;
    self->n_param = n;
    for (int k = 0; k < n_weight; k++) self->param[k] = -1;
    mark_used(self, fn->body);
    if (self->n_param == n) return 0;
    ir_type_t *types = mem_calloc((size_t)self->n_param, sizeof *types);
    for (int i = 0; i < n; i++) types[i] = *ir_type_of(fn, ir_fn_param(fn, i));
    for (int k = 0; k < n_weight; k++)
        if (self->param[k] >= 0) types[self->param[k]] = self->weight.at[k].value->type;
    ir_fn_t *to = ir_fn_new(self->module, fn->name, self->n_param, types);
    free(types);
    if (copy_body(self, fn, to, err) < 0) {
        ir_module_remove(self->module, to);
        return -1;
    }
    copy_words(to, fn);
    for (int k = 0; k < n_weight; k++)
        if (self->param[k] >= 0) describe(self, to, self->param[k], &self->weight.at[k]);
    ir_module_replace(self->module, fn, to);
    return 0;
}

/* --- the module --- */

static void forget_names(const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        if (region->op[i]->code == OP_constant) attr_remove(&region->op[i]->attrs, "pcp.loc");
        for (int r = 0; r < region->op[i]->n_region; r++) forget_names(region->op[i]->region[r]);
    }
}

static bool any_in_private(const ir_module_t *module, const ir_fn_t *entry)
{
    hoist_t look = {0};
    for (int i = 0; i < module->n_fn; i++)
        if (module->fn[i] != entry && module->fn[i]->is_private)
            collect(&look, module->fn[i]->body);
    bool any = look.weight.n > 0;
    VEC_FREE(&look.weight);
    return any;
}

static int hoist(hoist_t *self, const char *name, err_t *err)
{
    const ir_fn_t *entry = ir_module_find(self->module, name);
    if (any_in_private(self->module, entry) && passes_run_one(self->module, "inline", err) < 0)
        return -1;
    entry = ir_module_find(self->module, name);
    if (!entry) return err_set(err, ERR_ARG, "@%s is private, and nothing calls it", name);
    collect(self, entry->body);
    if (self->weight.n == 0)
        return err_set(err, ERR_ARG,
                       "@%s holds no constant that looks like a weight: floats, at least %d of "
                       "them, of more than two values",
                       name, MIN_ELEMENTS);
    name_weights(self);
    self->param = mem_calloc(self->weight.n, sizeof *self->param);
    for (int i = 0; i < self->module->n_fn; i++) {
        ir_fn_t *fn = self->module->fn[i];
        bool take = !fn->is_private || strcmp(fn->name, name) == 0;
        if (take && rebuild(self, fn, err) < 0) return -1;
    }
    return 0;
}

int roles_hoist(ir_module_t *module, const char *name, err_t *err)
{
    hoist_t self = {.module = module};
    name = arena_strdup(module->arena, name);
    int status = hoist(&self, name, err);
    for (int i = 0; i < module->n_fn; i++) forget_names(module->fn[i]->body);
    VEC_FREE(&self.weight);
    free(self.param);
    return status == 0 ? ir_verify(module, err) : -1;
}
