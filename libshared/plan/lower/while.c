/* while: its regions as functions, which become programs of their own, and the steps around them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/build.h"
#include "plan/lower/branches.h"

void while_captures(const ir_fn_t *fn, const ir_op_t *op, value_list_t *list)
{
    value_list_t all = {0};
    loops_captures(fn, op, &all);
    for (size_t i = 0; i < all.n; i++)
        if (!ir_const_of(fn, all.at[i])) VEC_PUSH(list, all.at[i]);
    VEC_FREE(&all);
}

static void mark(lower_t *self, ir_val_t v)
{
    self->value[v].root = true;
    self->value[v].plain = true;
}

void while_mark(lower_t *self, const ir_op_t *op)
{
    value_list_t captured = {0};
    while_captures(self->fn, op, &captured);
    for (size_t i = 0; i < captured.n; i++) mark(self, captured.at[i]);
    for (int i = 0; i < op->n_in; i++) mark(self, op->in[i]);
    for (int i = 0; i < op->n_out; i++) mark(self, op->out + (ir_val_t)i);
    VEC_FREE(&captured);
}

static void carry(lower_t *self, ir_val_t v)
{
    lstep_t step = {.kind = LOWER_CARRY, .from = v};
    self->value[v].stored = true;
    VEC_PUSH(&self->step, step);
}

void while_place(lower_t *self, const ir_op_t *op)
{
    value_list_t captured = {0};
    while_captures(self->fn, op, &captured);
    for (int i = 0; i < op->n_in; i++) carry(self, op->in[i]);
    for (size_t i = 0; i < captured.n; i++) carry(self, captured.at[i]);
    for (int i = 0; i < op->n_out; i++) {
        lvalue_t *lv = &self->value[op->out + (ir_val_t)i];
        lv->order = (int)self->step.n;
        lv->stored = true;
    }
    lstep_t step = {.kind = LOWER_LOOP, .loop = op, .value = op->out};
    step.n_carry = op->n_in + (int)captured.n;
    VEC_PUSH(&self->step, step);
    VEC_FREE(&captured);
}

/* --- Regions as functions --------------------------------------------------------------------- */

static void name_tensor(ir_fn_t *fn, ir_attrs_t *attrs, const char *name, const char *which)
{
    char *text = mem_printf("%s.%s", name, which);
    attr_set_text(fn->module->arena, attrs, "pcp.role", ATTR_STRING, "temporary");
    attr_set_text(fn->module->arena, attrs, "pcp.name", ATTR_STRING, text);
    free(text);
}

static void name_carry(ir_fn_t *fn, ir_attrs_t *attrs, const char *name, int i)
{
    char which[16];
    snprintf(which, sizeof which, "%d", i);
    name_tensor(fn, attrs, name, which);
}

/* An empty function of the carries and captures. */
static ir_fn_t *new_fn(const lower_t *lower, const ir_op_t *op, const value_list_t *captured, int r,
                       const char *name)
{
    int n = op->n_in + (int)captured->n;
    ir_type_t *types = mem_calloc((size_t)n + 1, sizeof *types);
    for (int i = 0; i < n; i++)
        types[i] = *ir_type_of(lower->fn, i < op->n_in ? op->in[i] : captured->at[i - op->n_in]);
    char *full = mem_printf("%s.%s", name, r ? "body" : "condition");
    ir_fn_t *fn = ir_fn_new(lower->module, arena_strdup(lower->module->arena, full), n, types);
    for (int i = 0; i < n; i++) name_carry(fn, &fn->param_attrs[i], name, i);
    fn->is_private = true;
    free(full);
    free(types);
    return fn;
}

/* Arguments and captures by parameters, captured constants by constants. */
static void map_values(ir_clone_t *clone, const ir_op_t *op, const value_list_t *captured, int r)
{
    value_list_t all = {0};
    for (uint32_t v = 0; v < clone->from->n_value; v++) clone->map[v] = IR_NONE;
    loops_captures(clone->from, op, &all);
    for (size_t i = 0; i < all.n; i++) {
        const tensor_t *t = ir_const_of(clone->from, all.at[i]);
        if (t) clone->map[all.at[i]] = ir_const(clone->to, t);
    }
    for (int i = 0; i < op->n_in; i++)
        clone->map[op->region[r]->arg + (ir_val_t)i] = ir_fn_param(clone->to, i);
    for (size_t i = 0; i < captured->n; i++)
        clone->map[captured->at[i]] = ir_fn_param(clone->to, op->n_in + (int)i);
    VEC_FREE(&all);
}

ir_fn_t *while_region_fn(const lower_t *lower, const ir_op_t *op, int r, const char *name,
                         err_t *err)
{
    const ir_region_t *region = op->region[r];
    value_list_t captured = {0};
    while_captures(lower->fn, op, &captured);
    ir_fn_t *fn = new_fn(lower, op, &captured, r, name);
    ir_clone_t clone = {.from = lower->fn, .to = fn};
    clone.map = mem_calloc(lower->fn->n_value + 1, sizeof *clone.map);
    ir_val_t *results = mem_calloc((size_t)region->n_result + 1, sizeof *results);
    map_values(&clone, op, &captured, r);
    int status = ir_clone_ops(&clone, region, err);
    for (int i = 0; i < region->n_result; i++) results[i] = clone.map[region->result[i]];
    if (status == 0) status = ir_fn_finish(fn, region->n_result, results, err);
    for (int i = 0; status == 0 && i < region->n_result; i++) {
        if (r == 0)
            name_tensor(fn, &fn->result_attrs[i], name, "more");
        else
            name_carry(fn, &fn->result_attrs[i], name, i);
    }
    free(results);
    free(clone.map);
    VEC_FREE(&captured);
    return status < 0 ? NULL : fn;
}
