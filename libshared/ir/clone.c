/* Cloning with a value map and a rewrite hook: the base of every pass. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/ir.h"

/* Attributes point into their module's arena; copy what they point at when it changes. Spilled data is shared:
 * nobody writes to a constant. */
static ir_attr_t copy_attr(ir_module_t *to, const ir_attr_t *from);

static const ir_attr_t *copy_items(ir_module_t *to, const ir_attr_t *items, int n)
{
    ir_attr_t *copy = ARENA_ARRAY(to->arena, ir_attr_t, n ? n : 1);
    for (int i = 0; i < n; i++) copy[i] = copy_attr(to, &items[i]);
    return copy;
}

static const tensor_t *copy_tensor(ir_module_t *to, const tensor_t *from)
{
    arena_t *arena = to->arena;
    tensor_t *t = arena_copy(arena, from, sizeof *from);
    if (!spill_holds(to->spill, from->data))
        t->data = arena_copy(arena, from->data, (size_t)tensor_data_bytes(from));
    return t;
}

static ir_attr_t copy_attr(ir_module_t *module, const ir_attr_t *from)
{
    arena_t *arena = module->arena;
    ir_attr_t to = *from;
    if (from->name) to.name = arena_strdup(arena, from->name);
    switch (from->kind) {
    case ATTR_STRING:
    case ATTR_ENUM:
    case ATTR_SYMBOL:
    case ATTR_RAW: to.text = arena_strdup(arena, from->text); break;
    case ATTR_INTS:
        to.ints = arena_copy(arena, from->ints, sizeof *from->ints * (size_t)from->n);
        break;
    case ATTR_TENSOR: to.tensor = copy_tensor(module, from->tensor); break;
    case ATTR_TYPE: to.type = arena_copy(arena, from->type, sizeof *from->type); break;
    case ATTR_LIST:
    case ATTR_DICT: to.items = copy_items(module, from->items, from->n); break;
    default: break;
    }
    return to;
}

static ir_attrs_t copy_attrs(ir_module_t *to, const ir_module_t *from, const ir_attrs_t *attrs)
{
    ir_attrs_t copy = {.n = attrs->n};
    copy.at = ARENA_ARRAY(to->arena, ir_attr_t, attrs->n ? attrs->n : 1);
    for (int i = 0; i < attrs->n; i++)
        copy.at[i] = to == from ? attrs->at[i] : copy_attr(to, &attrs->at[i]);
    return copy;
}

static int mapped(const ir_clone_t *self, ir_val_t from, ir_val_t *to, err_t *err)
{
    *to = self->map[from];
    if (*to != IR_NONE) return 0;
    return err_set(err, ERR_STATE, "@%s: value %u is used before it is made", self->from->name,
                   from);
}

static int map_list(const ir_clone_t *self, int n, const ir_val_t *from, ir_val_t *to, err_t *err)
{
    for (int i = 0; i < n; i++)
        if (mapped(self, from[i], &to[i], err) < 0) return -1;
    return 0;
}

static ir_region_t *clone_region(ir_clone_t *self, const ir_region_t *from, err_t *err)
{
    ir_fn_t *to = self->to;
    ir_type_t *types = mem_calloc((size_t)from->n_arg, sizeof *types);
    for (int i = 0; i < from->n_arg; i++)
        types[i] = *ir_type_of(self->from, from->arg + (ir_val_t)i);
    ir_region_t *region = ir_region_new(to, from->n_arg, types);
    free(types);
    for (int i = 0; i < from->n_arg; i++)
        self->map[from->arg + (ir_val_t)i] = region->arg + (ir_val_t)i;

    ir_region_t *saved = to->cursor;
    to->cursor = region;
    int status = ir_clone_ops(self, from, err);
    to->cursor = saved;
    if (status < 0) return NULL;
    ir_val_t *results = ARENA_ARRAY(to->module->arena, ir_val_t, from->n_result + 1);
    if (map_list(self, from->n_result, from->result, results, err) < 0) return NULL;
    region->n_result = from->n_result;
    region->result = results;
    return region;
}

ir_op_t *ir_clone_op(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    ir_fn_t *to = self->to;
    arena_t *arena = to->module->arena;
    ir_val_t *in = ARENA_ARRAY(arena, ir_val_t, op->n_in + 1);
    if (map_list(self, op->n_in, op->in, in, err) < 0) return NULL;

    ir_type_t few[4], *types = op->n_out <= 4 ? few : mem_calloc((size_t)op->n_out, sizeof *types);
    for (int i = 0; i < op->n_out; i++) types[i] = *ir_type_of(self->from, op->out + (ir_val_t)i);
    ir_op_t *copy = ir_op_new(to, op->code, op->n_in, in, op->n_out, types, op->n_region);
    if (types != few) free(types);

    copy->attrs = copy_attrs(to->module, self->from->module, &op->attrs);
    copy->line = op->line;
    for (int i = 0; i < op->n_region; i++) {
        copy->region[i] = clone_region(self, op->region[i], err);
        if (!copy->region[i]) return NULL;
        copy->region[i]->parent = copy;
    }
    ir_region_append(to->cursor, copy, arena);
    for (int i = 0; i < op->n_out; i++) {
        ir_val_t old = op->out + (ir_val_t)i, fresh = copy->out + (ir_val_t)i;
        self->map[old] = fresh;
        const char *name = self->from->value[old].name;
        if (name && to->module == self->from->module) to->value[fresh].name = name;
    }
    return copy;
}

int ir_clone_ops(ir_clone_t *self, const ir_region_t *region, err_t *err)
{
    for (int i = 0; i < region->n_op; i++) {
        int done = self->rewrite ? self->rewrite(self, region->op[i], err) : 0;
        if (done < 0) return -1;
        if (done == 0 && !ir_clone_op(self, region->op[i], err)) return -1;
    }
    if (self->to->err.code) {
        if (err) *err = self->to->err;
        return -1;
    }
    return 0;
}

/* Names and attributes of parameters and results, and of the function itself. */
static void copy_signature(ir_fn_t *to, const ir_fn_t *from)
{
    ir_module_t *m = to->module;
    for (int i = 0; i < from->body->n_arg; i++) {
        to->param_attrs[i] = copy_attrs(m, from->module, &from->param_attrs[i]);
        const char *name = from->value[from->body->arg + (ir_val_t)i].name;
        if (name) to->value[to->body->arg + (ir_val_t)i].name = arena_strdup(m->arena, name);
    }
    for (int i = 0; from->result_attrs && i < from->body->n_result; i++)
        to->result_attrs[i] = copy_attrs(m, from->module, &from->result_attrs[i]);
    to->attrs = copy_attrs(m, from->module, &from->attrs);
    to->is_private = from->is_private;
}

ir_fn_t *ir_clone_fn(ir_module_t *module, const ir_fn_t *fn,
                     int (*rewrite)(ir_clone_t *, const ir_op_t *, err_t *), void *user, err_t *err)
{
    int n_param = fn->body->n_arg;
    ir_type_t *types = mem_calloc((size_t)n_param, sizeof *types);
    for (int i = 0; i < n_param; i++) types[i] = *ir_type_of(fn, ir_fn_param(fn, i));
    ir_fn_t *to = ir_fn_new(module, fn->name, n_param, types);
    free(types);

    ir_clone_t clone = {.from = fn, .to = to, .rewrite = rewrite, .user = user};
    clone.map = mem_calloc(fn->n_value, sizeof *clone.map);
    memset(clone.map, 0xFF, sizeof *clone.map * fn->n_value);
    for (int i = 0; i < n_param; i++) clone.map[ir_fn_param(fn, i)] = ir_fn_param(to, i);

    ir_val_t *results = mem_calloc((size_t)fn->body->n_result, sizeof *results);
    int status = ir_clone_ops(&clone, fn->body, err);
    if (status == 0) status = map_list(&clone, fn->body->n_result, fn->body->result, results, err);
    if (status == 0) status = ir_fn_finish(to, fn->body->n_result, results, err);
    if (status == 0) copy_signature(to, fn);
    free(results);
    free(clone.map);
    if (status == 0) return to;
    ir_module_remove(module, to);
    return NULL;
}

ir_module_t *ir_module_clone(const ir_module_t *self, err_t *err)
{
    ir_module_t *to = ir_module_new();
    to->spill = spill_share(self->spill);
    if (self->name) to->name = arena_strdup(to->arena, self->name);
    to->attrs = copy_attrs(to, self, &self->attrs);
    for (int i = 0; i < self->n_fn; i++)
        if (!ir_clone_fn(to, self->fn[i], NULL, NULL, err)) {
            ir_module_destroy(&to);
            return NULL;
        }
    return to;
}

void ir_clone_words(ir_fn_t *to, const ir_fn_t *from)
{
    for (int i = 0; i < from->body->n_arg; i++) {
        to->param_attrs[i] = from->param_attrs[i];
        to->value[to->body->arg + (ir_val_t)i].name =
            from->value[from->body->arg + (ir_val_t)i].name;
    }
    for (int i = 0; from->result_attrs && i < from->body->n_result; i++)
        to->result_attrs[i] = from->result_attrs[i];
    to->attrs = from->attrs;
    to->is_private = from->is_private;
}
