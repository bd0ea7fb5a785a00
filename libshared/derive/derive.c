/* The functions around what emit makes: inputs, states, results, and their names. */
#include "derive/derive.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "derive/emit.h"
#include "derive/find.h"
#include "ir/build_index.h"
#include "ir/panels.h"
#include "passes/passes.h"
#include "passes/unroll.h"

struct derive {
    ir_module_t *module;
    found_t found;
};

int64_t derive_length(const derive_t *self)
{
    return self->found.length;
}

/* --- a function's inputs --- */

/* Behind those of the model. */
typedef struct {
    ir_type_t type;
    const char *role, *name;
} input_t;

typedef struct {
    VEC(input_t) at;
    int first;                              /* of these, among the function's arguments */
    int tokens, at_first, slot, last, from; /* -1: none */
} inputs_t;

static int add(inputs_t *self, const char *role, const char *name, ir_type_t type)
{
    input_t input = {type, role, name};
    VEC_PUSH(&self->at, input);
    return (int)self->at.n - 1;
}

static ir_val_t input(const ir_fn_t *fn, const inputs_t *in, int i)
{
    return i < 0 ? IR_NONE : ir_fn_param(fn, in->first + i);
}

/* A parameter as the program has it: of types that parameters are turned into when they are read. */
static ir_type_t param_type(const found_t *found, int i)
{
    ir_type_t type = found->arg[i].type;
    if (found->narrow[i])
        type.dtype = found->narrow[i];
    else if (type.dtype != DT_BF16)
        type = optim_master(type);
    if (found->turned[i]) {
        int64_t rows = type.dim[0];
        type.dim[0] = type.dim[1];
        type.dim[1] = rows;
    }
    return type;
}

static void describe(ir_module_t *m, ir_attrs_t *attrs, const char *role, const char *name)
{
    attr_set_text(m->arena, attrs, "pcp.name", ATTR_STRING, name);
    attr_set_text(m->arena, attrs, "pcp.role", ATTR_STRING, role);
}

/* A parameter of the function that is made. */
typedef struct {
    ir_type_t type;
    const char *name;
} param_t;

/* Does the parameter i lie in panels, as steps keep it? */
static bool in_panels(const found_t *found, int i)
{
    ir_type_t type = param_type(found, i);
    return found->panels[i] && ir_panels_suit(&type);
}

/* The model's parameters as steps keep them, whole numbers' scales behind them; or as the module has them. */
static int list_params(const found_t *found, arena_t *arena, bool steps, param_t *out)
{
    int n = 0;
    for (int i = 0; i < found->fn->body->n_arg; i++) {
        if (!found->is_param[i]) continue;
        param_t x = {found->arg[i].type, found->arg[i].name};
        if (steps) x.type = param_type(found, i);
        if (steps && found->turned[i]) x.name = arena_printf(arena, "%s" STEPS_TURNED, x.name);
        const ir_type_t rows = ir_type(DT_F32, 1, x.type.dim);
        if (steps && in_panels(found, i)) {
            x.type = ir_panels_type(&x.type);
            x.name = arena_printf(arena, "%s" STEPS_PANELS, x.name);
        }
        out[n++] = x;
        if (x.type.dtype != DT_I8 || !steps) continue;
        out[n++] = (param_t){rows, arena_printf(arena, "%s" STEPS_SCALES, x.name)};
    }
    return n;
}

static ir_fn_t *new_function(ir_module_t *m, const found_t *found, const char *name, bool steps,
                             inputs_t *in)
{
    size_t most = 2 * (size_t)found->fn->body->n_arg;
    param_t *params = ARENA_ARRAY(m->arena, param_t, most + 1);
    ir_type_t *types = ARENA_ARRAY(m->arena, ir_type_t, most + in->at.n + 1);
    int n = list_params(found, m->arena, steps, params);
    for (int i = 0; i < n; i++) types[i] = params[i].type;
    in->first = n;
    for (size_t i = 0; i < in->at.n; i++) types[(size_t)n + i] = in->at.at[i].type;
    ir_fn_t *fn = ir_fn_new(m, name, n + (int)in->at.n, types);
    for (int i = 0; i < n; i++)
        describe(m, &fn->param_attrs[i], steps ? "param" : "frozen", params[i].name);
    for (size_t i = 0; i < in->at.n; i++)
        describe(m, &fn->param_attrs[(size_t)n + i], in->at.at[i].role, in->at.at[i].name);
    return fn;
}

/* --- what emit needs --- */

static void begin(emit_t *e, const found_t *found, ir_fn_t *fn, bool steps)
{
    uint32_t n = found->fn->n_value;
    int n_arg = found->fn->body->n_arg;
    e->trace = &found->trace;
    e->from = found->fn;
    e->to = fn;
    e->turned = found->turned;
    e->cut = found->cut;
    e->hidden = IR_NONE;
    e->param = mem_calloc((size_t)n_arg + 1, sizeof *e->param);
    e->kept = mem_calloc((size_t)n_arg + 1, sizeof *e->kept);
    e->scales = mem_calloc((size_t)n_arg + 1, sizeof *e->scales);
    e->value = mem_calloc(n + 1, sizeof *e->value);
    e->whole = (ir_clone_t){
        .from = found->fn, .to = fn, .map = mem_calloc(n + 1, sizeof(ir_val_t))};
    for (uint32_t v = 0; v < n; v++) e->value[v] = e->whole.map[v] = IR_NONE;
    for (int i = 0, k = 0; i < n_arg; i++) {
        if (!found->is_param[i]) continue;
        e->kept[i] = ir_fn_param(fn, k++);
        if (steps && in_panels(found, i))
            e->kept[i] = ir_panels_view(fn, e->kept[i], param_type(found, i).dim[0]);
        e->param[i] = ir_convert(fn, e->kept[i], found->arg[i].type.dtype);
        bool scaled = steps && found->narrow[i] == DT_I8;
        e->scales[i] = scaled ? ir_fn_param(fn, k++) : IR_NONE;
        e->whole.map[ir_fn_param(found->fn, i)] = emit_param(e, i);
    }
}

static void fini(emit_t *e)
{
    free(e->param);
    free(e->kept);
    free(e->scales);
    free(e->value);
    free(e->whole.map);
}

/* Positions of the tokens that are read, and these as the module's argument. */
static void begin_tokens(emit_t *e, ir_val_t tokens, ir_val_t first)
{
    ir_fn_t *fn = e->to;
    ir_type_t each = ir_type(DT_I32, 2, (int64_t[]){e->sizes.rows, e->sizes.time});
    e->positions = ir_iota(fn, &each, 1);
    if (first != IR_NONE)
        e->positions = ir_op2(fn, OP_add, ir_broadcast(fn, first, &each, (int64_t[]){0}),
                              e->positions);
    ir_val_t v = e->trace->tokens;
    ir_type_t type = emit_type(e, v);
    e->value[v] = ir_reshape(fn, ir_convert(fn, tokens, type.dtype), &type);
}

/* All ops in order, so that none has to wait for another. */
static int emit_all(emit_t *e, const found_t *found, ir_val_t *logits, err_t *err)
{
    const ir_region_t *body = found->fn->body;
    *logits = IR_NONE;
    for (int i = 0; i < body->n_op && !e->why.code && !e->to->err.code; i++) {
        ir_val_t v = body->op[i]->out;
        if (!found->needed[v] || body->op[i]->n_out != 1) continue;
        if (trace_of(&found->trace, v)->origin == FROM_TOKENS) emit_value(e, v);
    }
    *logits = e->value[found->logits];
    if (*logits != IR_NONE && !e->why.code && !e->to->err.code) return 0;
    *err = e->why.code ? e->why : e->to->err;
    return err->code ? -1 : err_set(err, ERR_UNSUPPORTED, "scores cannot be computed apart");
}

/* --- the kept --- */

/* What is kept has the shape that a program of one token gives it. */
static void list_kept(const found_t *found, emit_t *e, const model_steps_t *how)
{
    const ir_region_t *body = found->fn->body;
    for (int i = 0; i < body->n_op; i++) {
        const ir_op_t *op = body->op[i];
        const traced_t *x = trace_of(&found->trace, op->out);
        if (!found->needed[op->out] || x->origin != FROM_TOKENS || x->keys < 0) continue;
        cache_t cache = {.of = op->in[x->keys]};
        bool known = false;
        for (size_t k = 0; k < e->cache.n; k++) known = known || e->cache.at[k].of == cache.of;
        if (known) continue;
        cache.type = emit_kept_type(e, op, how->slots, how->length);
        if (how->kept == DT_BF16 && cache.type.dtype == DT_F32) cache.type.dtype = DT_BF16;
        VEC_PUSH(&e->cache, cache);
    }
}

static void list_inputs(inputs_t *in, const emit_t *e, const model_step_t *how, arena_t *arena)
{
    ir_type_t rows = ir_type(DT_I32, 1, (int64_t[]){how->copies ? 1 : how->rows});
    *in = (inputs_t){.tokens = -1, .at_first = -1, .slot = -1, .last = -1, .from = -1};
    for (size_t i = 0; i < e->cache.n; i++)
        add(in, "state", arena_printf(arena, "kept.%zu", i), e->cache.at[i].type);
    if (how->copies) {
        in->from = add(in, "batch", arena_printf(arena, "%s.from", how->name), rows);
        in->slot = add(in, "batch", arena_printf(arena, "%s.slot", how->name), rows);
        return;
    }
    in->tokens = add(in, "batch", arena_printf(arena, "%s.tokens", how->name),
                     ir_type(DT_I32, 2, (int64_t[]){how->rows, how->time}));
    in->at_first = add(in, "batch", arena_printf(arena, "%s.first", how->name), rows);
    if (how->one_slot) in->slot = add(in, "batch", arena_printf(arena, "%s.slot", how->name), rows);
    if (how->time > 1) in->last = add(in, "batch", arena_printf(arena, "%s.last", how->name), rows);
}

/* --- programs --- */

static ir_val_t as_table(ir_fn_t *fn, ir_val_t v, int64_t rows, int64_t width)
{
    ir_type_t type = ir_type(DT_F32, 2, (int64_t[]){rows, width});
    return ir_reshape(fn, ir_convert(fn, v, DT_F32), &type);
}

/* Results: what is kept, then scores and what they are computed from. */
static int finish(const emit_t *e, const inputs_t *in, const char *name, int n_more,
                  const ir_val_t *more, err_t *err)
{
    ir_module_t *m = e->to->module;
    int n = (int)e->cache.n;
    ir_val_t *results = ARENA_ARRAY(m->arena, ir_val_t, n + n_more + 1);
    for (int i = 0; i < n; i++) results[i] = e->cache.at[i].now;
    for (int i = 0; i < n_more; i++) results[n + i] = more[i];
    if (ir_fn_finish(e->to, n + n_more, results, err) < 0) return -1;
    for (int i = 0; i < n; i++) describe(m, &e->to->result_attrs[i], "state", in->at.at[i].name);
    static const char *const words[] = {"logits", "hidden"};
    for (int i = 0; i < n_more; i++)
        describe(m, &e->to->result_attrs[n + i], "result",
                 arena_printf(m->arena, "%s.%s", name, words[i]));
    return 0;
}

static void begin_kept(emit_t *e, const inputs_t *in)
{
    for (size_t i = 0; i < e->cache.n; i++)
        e->cache.at[i].now = ir_fn_param(e->to, in->first + (int)i);
}

static int build_step(derive_t *self, emit_t *e, const model_step_t *how, err_t *err)
{
    const found_t *found = &self->found;
    inputs_t in;
    list_inputs(&in, e, how, self->module->arena);
    ir_fn_t *fn = new_function(self->module, found, how->name, true, &in);
    begin(e, found, fn, true);
    e->sizes = (sizes_t){how->rows, how->time, how->span};
    e->slot = input(fn, &in, in.slot);
    e->last = input(fn, &in, in.last);
    begin_kept(e, &in);
    begin_tokens(e, input(fn, &in, in.tokens), input(fn, &in, in.at_first));
    ir_val_t more[2];
    int status = emit_all(e, found, &more[0], err);
    if (status == 0) {
        more[0] = as_table(fn, more[0], how->rows, found->vocab);
        if (found->width > 0) more[1] = as_table(fn, e->hidden, how->rows, found->width);
        status = finish(e, &in, how->name, found->width > 0 ? 2 : 1, more, err);
    }
    fini(e);
    VEC_FREE(&in.at);
    return status;
}

/* The first positions of a slot to another. */
static int build_copy(derive_t *self, emit_t *e, const model_step_t *how, err_t *err)
{
    inputs_t in;
    list_inputs(&in, e, how, self->module->arena);
    ir_fn_t *fn = new_function(self->module, &self->found, how->name, true, &in);
    e->to = fn;
    begin_kept(e, &in);
    emit_copy(e, input(fn, &in, in.from), input(fn, &in, in.slot), how->span);
    int status = finish(e, &in, how->name, 0, NULL, err);
    VEC_FREE(&in.at);
    return status;
}

static int build_steps(derive_t *self, const model_steps_t *how, err_t *err)
{
    emit_t e = {.trace = &self->found.trace, .from = self->found.fn};
    int status = 0;
    find_narrow(&self->found, how->weights);
    if (how->panels) find_panels(&self->found);
    list_kept(&self->found, &e, how);
    for (int i = 0; status == 0 && i < how->n_program; i++) {
        e.why = (err_t){0};
        status = (how->program[i].copies ? build_copy : build_step)(self, &e, &how->program[i],
                                                                    err);
    }
    VEC_FREE(&e.cache);
    return status;
}

static void remove_others(ir_module_t *m, int from, int to)
{
    for (int i = to - 1; i >= from; i--) ir_module_remove(m, m->fn[i]);
}

/* What the proof says is tried on every kind of program: an operand whose form is not known shows here. */
static int try_steps(derive_t *self, err_t *err)
{
    int64_t length = self->found.length;
    const model_step_t list[] = {
        {.name = "try1", .rows = 1, .time = 1, .span = length},
        {.name = "try2", .rows = 2, .time = 1, .span = length - 1},
        {.name = "try3", .rows = 1, .time = length, .span = length, .one_slot = true},
        {.name = "try4", .span = length, .copies = true},
    };
    const model_steps_t how = {.slots = 3, .length = length, .program = list, .n_program = 4};
    int n = self->module->n_fn;
    int status = build_steps(self, &how, err);
    if (status == 0) status = ir_verify(self->module, err);
    remove_others(self->module, n, self->module->n_fn);
    return status;
}

/* Plain ops, as far as the model has such: what is judged is judged op by op. */
static int make_plain(ir_module_t *module, err_t *err)
{
    const unroll_limits_t limits = {.trips = 1024, .ops = 1 << 18};
    if (passes_run(module, NULL, NULL, err) < 0) return -1;
    int n = unroll_loops(module, &limits, err);
    return n > 0 ? passes_run(module, NULL, NULL, err) : n;
}

derive_t *derive_new(ir_module_t *module, err_t *err)
{
    derive_t *self = mem_calloc(1, sizeof *self);
    self->module = module;
    int status = make_plain(module, err);
    if (status == 0) status = find_scores(&self->found, module, err);
    if (status == 0) status = try_steps(self, err);
    if (status < 0) derive_destroy(&self);
    return self;
}

void derive_destroy(derive_t **self_p)
{
    derive_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    find_fini(&self->found);
    ir_module_destroy(&self->module);
    free(self);
    *self_p = NULL;
}

ir_module_t *derive_steps(derive_t **self_p, const model_steps_t *how, err_t *err)
{
    derive_t *self = *self_p;
    ir_module_t *module = NULL;
    int n = self->module->n_fn;
    int status = how->length < 1 || how->length > self->found.length
                     ? err_set(err, ERR_ARG, "%lld positions: the model has %lld",
                               (long long)how->length, (long long)self->found.length)
                     : build_steps(self, how, err);
    remove_others(self->module, 0, n);
    if (status == 0 && ir_verify(self->module, err) == 0) {
        module = self->module;
        self->module = NULL;
    }
    derive_destroy(self_p);
    return module;
}

/* --- a window's scores --- */

static int build_window(ir_module_t *module, const found_t *found, err_t *err)
{
    emit_t e = {.window = true, .slot = IR_NONE, .last = IR_NONE};
    inputs_t in = {0};
    int64_t length = found->length;
    add(&in, "batch", "tokens", ir_type(DT_I32, 2, (int64_t[]){1, length}));
    bool *turned = found->turned;
    memset(turned, 0, (size_t)found->fn->body->n_arg * sizeof *turned);
    ir_fn_t *fn = new_function(module, found, "logits", false, &in);
    begin(&e, found, fn, false);
    e.sizes = (sizes_t){1, length, length};
    begin_tokens(&e, ir_fn_param(fn, in.first), IR_NONE);
    ir_val_t logits;
    int status = emit_all(&e, found, &logits, err);
    ir_type_t type = ir_type(DT_F32, 3, (int64_t[]){1, length, found->vocab});
    if (status == 0) {
        logits = ir_reshape(fn, ir_convert(fn, logits, DT_F32), &type);
        status = ir_fn_finish(fn, 1, &logits, err);
    }
    fini(&e);
    VEC_FREE(&in.at);
    return status == 0 ? ir_verify(module, err) : -1;
}

int derive_logits(ir_module_t *module, err_t *err)
{
    found_t found;
    if (ir_module_find(module, "logits")) return 0;
    if (make_plain(module, err) < 0) return -1;
    int status = find_scores(&found, module, err);
    if (status == 0) status = build_window(module, &found, err);
    find_fini(&found);
    return status;
}
