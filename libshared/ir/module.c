/* Modules, functions, regions and ops: construction in one arena. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/functions.h"

ir_module_t *ir_module_new(void)
{
    ir_module_t *self = mem_calloc(1, sizeof *self);
    self->arena = arena_new();
    return self;
}

void ir_module_destroy(ir_module_t **self_p)
{
    if (!self_p || !*self_p) return;
    arena_destroy(&(*self_p)->arena);
    spill_release(&(*self_p)->spill);
    free(*self_p);
    *self_p = NULL;
}

/* Double an arena-owned array of pointers or values when it is full. */
static void *grown(arena_t *arena, void *old, size_t n, size_t space, size_t size)
{
    void *fresh = arena_alloc(arena, space * size);
    if (n) memcpy(fresh, old, n * size);
    return fresh;
}

/* n new values; returns the first. */
static ir_val_t add_values(ir_fn_t *fn, int n)
{
    if (fn->n_value + (uint32_t)n > fn->value_space) {
        fn->value_space = 2 * fn->value_space + (uint32_t)n + 32;
        fn->value = grown(fn->module->arena, fn->value, fn->n_value, fn->value_space,
                          sizeof *fn->value);
    }
    ir_val_t first = fn->n_value;
    fn->n_value += (uint32_t)n;
    return first;
}

ir_region_t *ir_region_new(ir_fn_t *fn, int n_arg, const ir_type_t *arg_types)
{
    ir_region_t *region = ARENA_NEW(fn->module->arena, ir_region_t);
    region->n_arg = n_arg;
    region->arg = add_values(fn, n_arg);
    for (int i = 0; i < n_arg; i++)
        fn->value[region->arg + (ir_val_t)i] = (ir_value_t){
            .type = arg_types[i], .owner = region, .index = i};
    return region;
}

void ir_region_append(ir_region_t *region, ir_op_t *op, arena_t *arena)
{
    if (region->n_op == region->op_space) {
        region->op_space = region->op_space ? 2 * region->op_space : 8;
        region->op = grown(arena, region->op, (size_t)region->n_op, (size_t)region->op_space,
                           sizeof *region->op);
    }
    op->parent = region;
    region->op[region->n_op++] = op;
}

void ir_region_finish(ir_fn_t *fn, ir_region_t *region, int n_result, const ir_val_t *results)
{
    region->n_result = n_result;
    region->result = arena_copy(fn->module->arena, results, sizeof *results * (size_t)n_result);
}

ir_op_t *ir_op_new(ir_fn_t *fn, op_code_t code, int n_in, const ir_val_t *in, int n_out,
                   const ir_type_t *out_types, int n_region)
{
    arena_t *arena = fn->module->arena;
    ir_op_t *op = ARENA_NEW(arena, ir_op_t);
    op->code = code;
    op->n_in = n_in;
    op->n_out = n_out;
    op->n_region = n_region;
    op->in = arena_copy(arena, in, sizeof *in * (size_t)n_in);
    op->region = n_region ? ARENA_ARRAY(arena, ir_region_t *, n_region) : NULL;
    op->out = add_values(fn, n_out);
    for (int i = 0; i < n_out; i++)
        fn->value[op->out + (ir_val_t)i] = (ir_value_t){
            .type = out_types[i], .def = op, .index = i};
    return op;
}

ir_fn_t *ir_fn_new(ir_module_t *module, const char *name, int n_param, const ir_type_t *params)
{
    ir_fn_t *fn = ARENA_NEW(module->arena, ir_fn_t);
    fn->module = module;
    fn->name = arena_strdup(module->arena, name);
    fn->body = ir_region_new(fn, n_param, params);
    fn->param_attrs = ARENA_ARRAY(module->arena, ir_attrs_t, n_param ? n_param : 1);
    fn->cursor = fn->body;
    ir_module_add(module, fn);
    return fn;
}

ir_val_t ir_fn_param(const ir_fn_t *self, int i)
{
    return self->body->arg + (ir_val_t)i;
}

int ir_fn_finish(ir_fn_t *self, int n_result, const ir_val_t *results, err_t *err)
{
    if (self->err.code) {
        if (err) *err = self->err;
        return -1;
    }
    for (int i = 0; i < n_result; i++)
        if (results[i] == IR_NONE)
            return err_set(err, ERR_STATE, "@%s: result %d has no value", self->name, i);
    ir_region_finish(self, self->body, n_result, results);
    self->result_attrs = ARENA_ARRAY(self->module->arena, ir_attrs_t, n_result ? n_result : 1);
    return 0;
}

const tensor_t *ir_const_of(const ir_fn_t *fn, ir_val_t v)
{
    const ir_op_t *def = ir_def(fn, v);
    if (!def || def->code != OP_constant) return NULL;
    const ir_attr_t *value = attr_find(&def->attrs, "value");
    return value && value->kind == ATTR_TENSOR ? value->tensor : NULL;
}

static void count_region(const ir_region_t *region, uint32_t *uses)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        for (int j = 0; j < op->n_in; j++) uses[op->in[j]]++;
        for (int j = 0; j < op->n_region; j++) count_region(op->region[j], uses);
    }
    for (int i = 0; i < region->n_result; i++) uses[region->result[i]]++;
}

int ir_uses_in(const ir_region_t *region, ir_val_t v)
{
    int n = 0;
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        for (int k = 0; k < op->n_in; k++) n += op->in[k] == v;
        for (int r = 0; r < op->n_region; r++) n += ir_uses_in(op->region[r], v);
    }
    for (int i = 0; i < region->n_result; i++) n += region->result[i] == v;
    return n;
}

uint32_t *ir_count_uses(const ir_fn_t *fn)
{
    uint32_t *uses = mem_calloc(fn->n_value, sizeof *uses);
    count_region(fn->body, uses);
    return uses;
}
