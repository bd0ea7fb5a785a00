/* Functions while they are built. Arguments may be declared at any point, but the graph's functions have theirs in
 * front: until the end an op stands for each, and the end makes a copy that has arguments in their place. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/mem.h"

#define STAND_IN "pcp.argument" /* the target of the custom call that stands for an argument */

/* --- handles: the function's serial number, and the value's number plus one --- */

static uint32_t next_serial(void)
{
    static atomic_uint_least32_t last;
    uint32_t serial = atomic_fetch_add(&last, 1) + 1;
    return serial ? serial : next_serial();
}

pcp_value_t api_handle(const pcp_graph_t *self, ir_val_t value)
{
    if (value == IR_NONE) return (pcp_value_t){0};
    return (pcp_value_t){(uint64_t)self->serial << 32 | (value + 1)};
}

ir_val_t api_value(pcp_graph_t *self, pcp_value_t value, const char *what)
{
    uint32_t serial = (uint32_t)(value.bits >> 32), number = (uint32_t)value.bits;
    if (!api_building(self)) return IR_NONE;
    if (serial == self->serial && number > 0 && number <= self->fn->n_value) return number - 1;
    if (value.bits == 0)
        api_fail(self, ERR_ARG, "%s: an operand is no value", what);
    else
        api_fail(self, ERR_ARG, "%s: an operand is a value of another function or graph", what);
    return IR_NONE;
}

pcp_type_t pcp_value_type(const pcp_graph_t *self, pcp_value_t value)
{
    uint32_t serial = (uint32_t)(value.bits >> 32), number = (uint32_t)value.bits;
    if (!self->fn || serial != self->serial || number == 0 || number > self->fn->n_value)
        return pcp_scalar(PCP_NONE);
    return api_type_out(ir_type_of(self->fn, number - 1));
}

/* --- errors --- */

void api_fail(pcp_graph_t *self, err_code_t code, const char *format, ...)
{
    err_t *err = self->fn ? &self->fn->err : &self->outside;
    char text[sizeof err->text];
    va_list args;
    if (err->code) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    err_set(err, code, "%s", text);
}

bool api_building(pcp_graph_t *self)
{
    if (!self->fn)
        api_fail(self, ERR_STATE, "no function is begun: pcp_function_begin comes first");
    return self->fn && !self->fn->err.code;
}

const pcp_error_t *pcp_graph_error(const pcp_graph_t *self)
{
    self->error->err = self->outside.code || !self->fn ? self->outside : self->fn->err;
    return self->error;
}

/* --- begin, arguments, results --- */

void pcp_function_begin(pcp_graph_t *self, const char *name)
{
    if (self->fn) {
        api_fail(self, ERR_STATE, "@%s begins, but @%s is not finished", name, self->fn->name);
        return;
    }
    err_clear(&self->outside);
    bool taken = ir_module_find(self->module, name) != NULL;
    self->fn = ir_fn_new(self->module, name, 0, NULL);
    ir_module_remove(self->module, self->fn); /* the graph's only when it is finished */
    self->serial = next_serial();
    self->arg.n = self->result.n = 0;
    self->n_open = 0;
    if (taken) api_fail(self, ERR_ARG, "the graph has a function @%s already", name);
    if (!*name) api_fail(self, ERR_ARG, "a function without a name");
}

static bool is_taken(const pcp_graph_t *self, const char *name)
{
    for (size_t i = 0; i < self->arg.n; i++)
        if (strcmp(self->arg.at[i].name, name) == 0) return true;
    return false;
}

static pcp_value_t argument(pcp_graph_t *self, const char *name, const pcp_type_t *type,
                            bool is_param, const char *init)
{
    ir_type_t in;
    err_t why = {0};
    if (!api_building(self)) return (pcp_value_t){0};
    arena_t *arena = self->module->arena;
    if (self->n_open > 0)
        api_fail(self, ERR_STATE, "argument \"%s\" in a region: declare it before", name);
    else if (is_taken(self, name))
        api_fail(self, ERR_ARG, "@%s has an argument \"%s\" already", self->fn->name, name);
    else if (api_type_in(type, &in, &why) < 0)
        api_fail(self, why.code, "argument \"%s\": %s", name, why.text);
    if (self->fn->err.code) return (pcp_value_t){0};
    ir_attrs_t attrs = {0};
    attr_set_text(arena, &attrs, "call_target_name", ATTR_STRING, STAND_IN);
    ir_op_t *op = ir_emit(self->fn, OP_custom_call, 0, NULL, &attrs, 1, &in, 0, NULL);
    if (!op) return (pcp_value_t){0};
    api_arg_t arg = {arena_strdup(arena, name), init ? arena_strdup(arena, init) : NULL, is_param,
                     op->out};
    VEC_PUSH(&self->arg, arg);
    self->fn->value[op->out].name = arg.name;
    api_graph_count(self);
    return api_handle(self, op->out);
}

pcp_value_t pcp_input(pcp_graph_t *self, const char *name, const pcp_type_t *type)
{
    return argument(self, name, type, false, NULL);
}

pcp_value_t pcp_param(pcp_graph_t *self, const char *name, const pcp_type_t *type, const char *init)
{
    return argument(self, name, type, true, init);
}

void pcp_output(pcp_graph_t *self, const char *name, pcp_value_t value)
{
    ir_val_t v = api_value(self, value, "pcp_output");
    if (v == IR_NONE) return;
    for (size_t i = 0; i < self->result.n; i++)
        if (strcmp(self->result.at[i].name, name) == 0)
            api_fail(self, ERR_ARG, "@%s has a result \"%s\" already", self->fn->name, name);
    api_result_t result = {arena_strdup(self->module->arena, name), v};
    VEC_PUSH(&self->result, result);
}

/* --- end --- */

/* Drop what stands for an argument: it is mapped. */
static int drop_stand_in(ir_clone_t *clone, const ir_op_t *op, err_t *err)
{
    (void)err;
    return op->code == OP_custom_call && clone->map[op->out] != IR_NONE;
}

static int copy_body(const pcp_graph_t *self, ir_fn_t *to, err_t *err)
{
    ir_clone_t clone = {.from = self->fn, .to = to, .rewrite = drop_stand_in};
    clone.map = mem_calloc(self->fn->n_value + 1, sizeof *clone.map);
    ir_val_t *results = mem_calloc(self->result.n + 1, sizeof *results);
    memset(clone.map, 0xFF, self->fn->n_value * sizeof *clone.map);
    for (size_t i = 0; i < self->arg.n; i++)
        clone.map[self->arg.at[i].value] = ir_fn_param(to, (int)i);
    int status = ir_clone_ops(&clone, self->fn->body, err);
    for (size_t i = 0; status == 0 && i < self->result.n; i++) {
        results[i] = clone.map[self->result.at[i].value];
        if (results[i] == IR_NONE)
            status = err_set(err, ERR_STATE, "@%s: result \"%s\" is a value of a region", to->name,
                             self->result.at[i].name);
    }
    if (status == 0) status = ir_fn_finish(to, (int)self->result.n, results, err);
    free(results);
    free(clone.map);
    return status;
}

static void describe(const pcp_graph_t *self, ir_fn_t *fn)
{
    arena_t *arena = self->module->arena;
    for (size_t i = 0; i < self->arg.n; i++) {
        const api_arg_t *arg = &self->arg.at[i];
        ir_attrs_t *attrs = &fn->param_attrs[i];
        attr_set_text(arena, attrs, "pcp.name", ATTR_STRING, arg->name);
        attr_set_text(arena, attrs, "pcp.role", ATTR_STRING, arg->is_param ? "param" : "batch");
        if (arg->init) attr_set_text(arena, attrs, "pcp.init", ATTR_STRING, arg->init);
    }
    for (size_t i = 0; i < self->result.n; i++)
        attr_set_text(arena, &fn->result_attrs[i], "pcp.name", ATTR_STRING,
                      self->result.at[i].name);
}

static int finish(pcp_graph_t *self, err_t *err)
{
    if (self->n_open > 0)
        api_fail(self, ERR_STATE, "@%s ends with a region that is not ended", self->fn->name);
    if (self->fn->err.code) {
        *err = self->fn->err;
        return -1;
    }
    ir_type_t *types = mem_calloc(self->arg.n + 1, sizeof *types);
    for (size_t i = 0; i < self->arg.n; i++)
        types[i] = *ir_type_of(self->fn, self->arg.at[i].value);
    ir_fn_t *fn = ir_fn_new(self->module, self->fn->name, (int)self->arg.n, types);
    free(types);
    int status = copy_body(self, fn, err);
    if (status == 0) describe(self, fn);
    if (status == 0) status = ir_verify(self->module, err);
    if (status < 0) ir_module_remove(self->module, fn);
    return status;
}

int pcp_function_end(pcp_graph_t *self, pcp_error_t *error)
{
    err_t *err = api_err(error);
    if (!self->fn) {
        *err = self->outside;
        err_clear(&self->outside);
        return err->code ? -1 : err_set(err, ERR_STATE, "no function is begun");
    }
    int status = finish(self, err);
    self->fn = NULL;
    self->serial = 0;
    api_graph_count(self);
    return status;
}
