/* Functions with named, typed, role-bearing parameters and results. */
#include "optim/programs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void describe(arena_t *arena, ir_attrs_t *attrs, const slot_t *slot)
{
    attr_set_text(arena, attrs, "pcp.name", ATTR_STRING, slot->name);
    attr_set_text(arena, attrs, "pcp.role", ATTR_STRING, slot->role);
    if (slot->init) attr_set_text(arena, attrs, "pcp.init", ATTR_STRING, slot->init);
}

ir_fn_t *program_begin(ir_module_t *module, const char *name, slots_t *in)
{
    ir_type_t *types = mem_calloc(in->n + 1, sizeof *types);
    for (size_t i = 0; i < in->n; i++) types[i] = in->at[i].type;
    ir_fn_t *fn = ir_fn_new(module, name, (int)in->n, types);
    free(types);
    for (size_t i = 0; i < in->n; i++) {
        in->at[i].value = ir_fn_param(fn, (int)i);
        describe(module->arena, &fn->param_attrs[i], &in->at[i]);
    }
    return fn;
}

int program_end(ir_fn_t *fn, const slots_t *out, err_t *err)
{
    ir_val_t *results = mem_calloc(out->n + 1, sizeof *results);
    for (size_t i = 0; i < out->n; i++) results[i] = out->at[i].value;
    int status = ir_fn_finish(fn, (int)out->n, results, err);
    free(results);
    for (size_t i = 0; i < out->n && status == 0; i++)
        describe(fn->module->arena, &fn->result_attrs[i], &out->at[i]);
    return status;
}

int program_inline(ir_fn_t *to, const ir_fn_t *fn, const ir_val_t *args, ir_val_t *results,
                   err_t *err)
{
    ir_clone_t clone = {.from = fn, .to = to};
    clone.map = mem_calloc(fn->n_value + 1, sizeof *clone.map);
    memset(clone.map, 0xFF, fn->n_value * sizeof *clone.map);
    for (int i = 0; i < fn->body->n_arg; i++) clone.map[ir_fn_param(fn, i)] = args[i];
    int status = ir_clone_ops(&clone, fn->body, err);
    for (int i = 0; i < fn->body->n_result && status == 0; i++)
        results[i] = clone.map[fn->body->result[i]];
    free(clone.map);
    return status;
}
