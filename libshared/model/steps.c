/* Functions that go on with sequences: kept keys and values are scattered to, and read from, where
 * they stay. */
#include "model/steps.h"

#include <math.h>
#include <string.h>

#include "ir/build_index.h"
#include "ir/panels.h"
#include "model/steps_in.h"
#include "ops/fused.h"

/* --- layers --- */

ir_val_t layer_positions(build_t *b)
{
    ir_fn_t *fn = b->fn;
    ir_type_t type = ir_type(DT_I32, 2, (int64_t[]){b->batch, b->time});
    ir_val_t column = ir_iota(fn, &type, 1);
    return b->steps ? ir_op2(fn, OP_add, layer_along_rows(b, b->steps->first, &type), column)
                    : column;
}

/* The only number of a [1] as a scalar. */
static ir_val_t scalar_of(ir_fn_t *fn, ir_val_t one)
{
    ir_type_t type = ir_type_scalar(DT_I32);
    return ir_reshape(fn, one, &type);
}

ir_val_t layer_wanted(build_t *b, ir_val_t x)
{
    if (!b->steps || b->time == 1 || x == IR_NONE) return x;
    ir_val_t at[] = {scalar_of(b->fn, b->steps->last), ir_scalar(b->fn, DT_I32, 0)};
    return ir_dynamic_slice(b->fn, x, at, (int64_t[]){1, ir_type_of(b->fn, x)->dim[1]});
}

/* Where each token is kept: its slot and its position, [batch * time, 2]. */
static ir_val_t places(build_t *b)
{
    ir_fn_t *fn = b->fn;
    ir_type_t each = ir_type(DT_I32, 2, (int64_t[]){b->batch, b->time});
    ir_type_t column = ir_type(DT_I32, 2, (int64_t[]){b->batch * b->time, 1});
    ir_val_t slot = b->steps->slot == IR_NONE
                        ? ir_iota(fn, &each, 0)
                        : ir_broadcast(fn, b->steps->slot, &each, (int64_t[]){0});
    ir_val_t part[] = {ir_reshape(fn, slot, &column), ir_reshape(fn, layer_positions(b), &column)};
    return ir_concatenate(fn, part, 2, 1);
}

/* x [.., kv_heads, head] written to what is kept, at places [n, 2]. */
static void keep(ir_fn_t *fn, ir_val_t *cache, ir_val_t x, ir_val_t where)
{
    if (x == IR_NONE || *cache == IR_NONE || where == IR_NONE) return;
    ir_type_t type = *ir_type_of(fn, x);
    int64_t heads = type.dim[2], head = type.dim[3];
    ir_type_t rows = ir_type(type.dtype, 3,
                             (int64_t[]){ir_type_of(fn, where)->dim[0], heads, head});
    x = ir_convert(fn, ir_reshape(fn, x, &rows), ir_type_of(fn, *cache)->dtype);
    const ir_gather_t dims = {.n_offset = 2,
                              .n_collapsed = 2,
                              .n_start = 2,
                              .offset_dims = {1, 2},
                              .collapsed = {0, 1},
                              .start_map = {0, 1},
                              .index_vector_dim = 1,
                              .slice = {1, 1, heads, head},
                              .unique = true};
    *cache = ir_scatter(fn, OP_invalid, *cache, where, x, &dims);
}

/* Of a cache: [batch, span, kv_heads, head], what this call's rows have. */
static ir_val_t rows_of(build_t *b, ir_val_t cache)
{
    if (cache == IR_NONE) return IR_NONE;
    ir_type_t type = *ir_type_of(b->fn, cache);
    int64_t sizes[] = {b->batch, b->steps->how->span, type.dim[2], type.dim[3]}, zero[4] = {0};
    if (b->steps->slot == IR_NONE) return ir_slice(b->fn, cache, zero, sizes, NULL);
    ir_val_t none = ir_scalar(b->fn, DT_I32, 0);
    ir_val_t at[] = {scalar_of(b->fn, b->steps->slot), none, none, none};
    return ir_dynamic_slice(b->fn, cache, at, sizes);
}

/* The same as numbers to compute with. */
static ir_val_t kept(build_t *b, ir_val_t cache)
{
    ir_val_t x = rows_of(b, cache);
    return x == IR_NONE ? x : ir_convert(b->fn, x, DT_F32);
}

/* Softmax over the last axis of scores [batch, kv_heads, time, group, span], later positions left
 * out. */
static ir_val_t softmax(build_t *b, ir_val_t scores)
{
    ir_fn_t *fn = b->fn;
    if (scores == IR_NONE) return IR_NONE;
    ir_type_t type = *ir_type_of(fn, scores), index = ir_type_with(type, DT_I32);
    ir_val_t own = ir_broadcast(fn, layer_positions(b), &index, (int64_t[]){0, 2});
    ir_val_t past = ir_compare(fn, "GE", own, ir_iota(fn, &index, 4));
    ir_val_t masked = ir_select(fn, past, scores, ir_scalar_like(fn, scores, -INFINITY));
    ir_val_t max = layer_along_rows(b, layer_row_reduce(b, OP_maximum, masked), &type);
    ir_val_t e = ir_op1(fn, OP_exponential, ir_op2(fn, OP_subtract, masked, max));
    return ir_op2(fn, OP_divide, e, layer_along_rows(b, layer_row_reduce(b, OP_add, e), &type));
}

/* x [batch, span, kv_heads, head] as a matrix for each sequence and head: [batch * kv_heads, span, head]. */
static ir_val_t by_heads(ir_fn_t *fn, ir_val_t x)
{
    if (x == IR_NONE) return x;
    const ir_type_t t = *ir_type_of(fn, x);
    ir_type_t to = ir_type(t.dtype, 3, (int64_t[]){t.dim[0] * t.dim[2], t.dim[1], t.dim[3]});
    return ir_reshape(fn, ir_transpose(fn, x, (int64_t[]){0, 2, 1, 3}), &to);
}

/* Of one token of each sequence, as a group, which has a kernel that reads up to the token's position alone. */
static ir_val_t attend_kept(build_t *b, ir_val_t q, const ir_val_t cache[2], double scale)
{
    ir_fn_t *fn = b->fn;
    const int64_t *d = ir_type_of(fn, q)->dim, kv = ir_type_of(fn, cache[0])->dim[2];
    ir_type_t heads = ir_type(DT_F32, 3, (int64_t[]){d[0] * kv, d[2] / kv, d[3]});
    ir_type_t rows = ir_type(DT_F32, 2, (int64_t[]){d[0], d[2] * d[3]});
    ir_val_t k = by_heads(fn, rows_of(b, cache[0])), v = by_heads(fn, rows_of(b, cache[1]));
    const ir_op_t *o = fused_kept_attention(fn, ir_reshape(fn, q, &heads), k, v, b->steps->first,
                                            scale);
    return o ? ir_reshape(fn, o->out, &rows) : IR_NONE;
}

ir_val_t steps_attention(build_t *b, ir_val_t q, ir_val_t k, ir_val_t v, double scale)
{
    ir_fn_t *fn = b->fn;
    if (q == IR_NONE || k == IR_NONE) return IR_NONE;
    const int64_t *d = ir_type_of(fn, q)->dim, kv = ir_type_of(fn, k)->dim[2];
    ir_type_t split = ir_type(DT_F32, 5, (int64_t[]){d[0], d[1], kv, d[2] / kv, d[3]});
    ir_type_t rows = ir_type(DT_F32, 2, (int64_t[]){d[0] * d[1], d[2] * d[3]});
    ir_val_t *cache = &b->steps->cache[2 * b->steps->layer++], where = places(b);
    keep(fn, &cache[0], k, where);
    keep(fn, &cache[1], v, where);

    if (b->time == 1 && cache[0] != IR_NONE && ir_type_of(fn, cache[0])->dtype == DT_BF16)
        return attend_kept(b, q, cache, scale);

    /* scores[b,c,i,g,j] = sum_d q[b,i,c,g,d] k[b,j,c,d] */
    const ir_dot_t qk = {.n_batch = 2,
                         .n_contract = 1,
                         .lhs_batch = {0, 2},
                         .rhs_batch = {0, 2},
                         .lhs_contract = {4},
                         .rhs_contract = {3}};
    q = ir_reshape(fn, layer_scale(b, q, scale), &split);
    ir_val_t p = softmax(b, ir_dot(fn, q, kept(b, cache[0]), &qk, DT_NONE));

    /* out[b,c,i,g,d] = sum_j p[b,c,i,g,j] v[b,j,c,d], then the heads side by side again */
    const ir_dot_t pv = {.n_batch = 2,
                         .n_contract = 1,
                         .lhs_batch = {0, 1},
                         .rhs_batch = {0, 2},
                         .lhs_contract = {4},
                         .rhs_contract = {1}};
    ir_val_t out = ir_dot(fn, p, kept(b, cache[1]), &pv, DT_NONE);
    return ir_reshape(fn, ir_transpose(fn, out, (int64_t[]){0, 2, 1, 3, 4}), &rows);
}

/* --- a function --- */

typedef struct {
    const char *role, *name;
    ir_type_t type;
} slot_t;

/* A function's parameters behind those of the model, and their numbers. */
typedef struct {
    slot_t *at;
    int n, cache, tokens, first, slot, last; /* slot, last: -1: none */
    int from;                                /* of one that copies, with slot */
} inputs_t;

static int add_input(inputs_t *self, const char *role, const char *name, ir_type_t type)
{
    self->at[self->n] = (slot_t){role, name, type};
    return self->n++;
}

static void list_inputs(const model_t *model, const model_step_t *how, arena_t *arena,
                        inputs_t *self)
{
    const model_steps_t *steps = model->steps;
    ir_type_t cache = ir_type(
        steps->kept, 4, (int64_t[]){steps->slots, steps->length, model->kv_heads, model->head});
    ir_type_t rows = ir_type(DT_I32, 1, (int64_t[]){how->copies ? 1 : how->rows});
    *self = (inputs_t){.slot = -1, .last = -1};
    self->at = ARENA_ARRAY(arena, slot_t, 2 * model->layers + 4);
    for (int i = 0; i < model->layers; i++) {
        add_input(self, "state", arena_printf(arena, "keys.%d", i), cache);
        add_input(self, "state", arena_printf(arena, "values.%d", i), cache);
    }
    if (how->copies) {
        self->from = add_input(self, "batch", arena_printf(arena, "%s.from", how->name), rows);
        self->slot = add_input(self, "batch", arena_printf(arena, "%s.slot", how->name), rows);
        return;
    }
    self->tokens = add_input(self, "batch", arena_printf(arena, "%s.tokens", how->name),
                             ir_type(DT_I32, 2, (int64_t[]){how->rows, how->time}));
    self->first = add_input(self, "batch", arena_printf(arena, "%s.first", how->name), rows);
    if (how->one_slot)
        self->slot = add_input(self, "batch", arena_printf(arena, "%s.slot", how->name), rows);
    if (how->time > 1)
        self->last = add_input(self, "batch", arena_printf(arena, "%s.last", how->name), rows);
}

static void describe(ir_module_t *m, ir_attrs_t *attrs, const char *role, const char *name)
{
    attr_set_text(m->arena, attrs, "pcp.name", ATTR_STRING, name);
    attr_set_text(m->arena, attrs, "pcp.role", ATTR_STRING, role);
}

static ir_fn_t *new_function(ir_module_t *m, const params_t *params, const model_step_t *how,
                             const inputs_t *in)
{
    ir_type_t *types = ARENA_ARRAY(m->arena, ir_type_t, params->n + in->n);
    for (int i = 0; i < params->n; i++) types[i] = params->at[i].type;
    for (int i = 0; i < in->n; i++) types[params->n + i] = in->at[i].type;
    ir_fn_t *fn = ir_fn_new(m, how->name, params->n + in->n, types);
    params_describe(fn, params);
    for (int i = 0; i < params->n; i++)
        attr_set_text(m->arena, &fn->param_attrs[i], "pcp.role", ATTR_STRING, "param");
    for (int i = 0; i < in->n; i++)
        describe(m, &fn->param_attrs[params->n + i], in->at[i].role, in->at[i].name);
    return fn;
}

static int build_step(ir_module_t *m, const model_t *model, const params_t *params,
                      const model_step_t *how, err_t *err)
{
    inputs_t in;
    list_inputs(model, how, m->arena, &in);
    ir_fn_t *fn = new_function(m, params, how, &in);
    int at = params->n, n_cache = 2 * (int)model->layers;
    layer_steps_t steps = {.how = how, .params = params, .first = ir_fn_param(fn, at + in.first)};
    steps.slot = in.slot < 0 ? IR_NONE : ir_fn_param(fn, at + in.slot);
    steps.last = in.last < 0 ? IR_NONE : ir_fn_param(fn, at + in.last);
    ir_val_t *results = ARENA_ARRAY(m->arena, ir_val_t, n_cache + 2);
    steps.cache = results;
    for (int i = 0; i < n_cache; i++) steps.cache[i] = ir_fn_param(fn, at + i);
    build_t b = {.fn = fn,
                 .config = model->config,
                 .dtype = DT_F32,
                 .batch = how->rows,
                 .time = how->time,
                 .steps = &steps};
    results[n_cache] = model->trunk(&b, ir_fn_param(fn, at + in.tokens));
    results[n_cache + 1] = steps.hidden;
    if (ir_fn_finish(fn, n_cache + 2, results, err) < 0) return -1;
    for (int i = 0; i < n_cache; i++) describe(m, &fn->result_attrs[i], "state", in.at[i].name);
    describe(m, &fn->result_attrs[n_cache], "result",
             arena_printf(m->arena, "%s.logits", how->name));
    describe(m, &fn->result_attrs[n_cache + 1], "result",
             arena_printf(m->arena, "%s.hidden", how->name));
    return 0;
}

/* The first positions of a slot to another: read, then written where each token of the other is kept. */
static int build_copy(ir_module_t *m, const model_t *model, const params_t *params,
                      const model_step_t *how, err_t *err)
{
    inputs_t in;
    list_inputs(model, how, m->arena, &in);
    ir_fn_t *fn = new_function(m, params, how, &in);
    int at = params->n, n_cache = 2 * (int)model->layers;
    ir_val_t none = ir_scalar(fn, DT_I32, 0), *cache = ARENA_ARRAY(m->arena, ir_val_t, n_cache);
    ir_type_t column = ir_type(DT_I32, 2, (int64_t[]){how->span, 1});
    ir_type_t row = ir_type(DT_I32, 1, &how->span);
    ir_val_t slot = ir_broadcast(fn, scalar_of(fn, ir_fn_param(fn, at + in.slot)), &row, NULL);
    ir_val_t part[] = {ir_reshape(fn, slot, &column), ir_iota(fn, &column, 0)};
    ir_val_t where = ir_concatenate(fn, part, 2, 1);
    ir_val_t from[] = {scalar_of(fn, ir_fn_param(fn, at + in.from)), none, none, none};
    for (int i = 0; i < n_cache; i++) {
        cache[i] = ir_fn_param(fn, at + i);
        const int64_t sizes[] = {1, how->span, model->kv_heads, model->head};
        keep(fn, &cache[i], ir_dynamic_slice(fn, cache[i], from, sizes), where);
    }
    if (ir_fn_finish(fn, n_cache, cache, err) < 0) return -1;
    for (int i = 0; i < n_cache; i++) describe(m, &fn->result_attrs[i], "state", in.at[i].name);
    return 0;
}

/* --- the module --- */

static int check_steps(const model_t *model, err_t *err)
{
    const model_steps_t *s = model->steps;
    const model_field_t whole[] = {{"slots", s->slots, 1 << 16}, {"length", s->length, 1 << 24}};
    if (model_check(model->name, whole, 2, err) < 0) return -1;
    if (s->weights != DT_F32 && s->weights != DT_BF16 && s->weights != DT_I8)
        return err_set(err, ERR_ARG, "%s: weights of %s: f32, bf16 and i8 are known", model->name,
                       dtype_name(s->weights));
    if (s->kept != DT_F32 && s->kept != DT_BF16)
        return err_set(err, ERR_ARG, "%s: keys and values of %s: f32 and bf16 are known",
                       model->name, dtype_name(s->kept));
    for (int i = 0; i < s->n_program; i++) {
        const model_step_t *p = &s->program[i];
        const model_field_t fields[] = {
            {"span", p->span, s->length},
            {"rows", p->rows, p->one_slot || p->time > 1 ? 1 : s->slots},
            {"time", p->time, s->length}};
        if (model_check(model->name, fields, p->copies ? 1 : 3, err) < 0) return -1;
    }
    return 0;
}

static void turn(arena_t *arena, param_t *x)
{
    int64_t *d = x->type.dim, first = d[0];
    x->name = arena_printf(arena, "%s" STEPS_TURNED, x->name);
    d[0] = d[1], d[1] = first;
}

static void put_in_panels(arena_t *arena, param_t *x)
{
    x->name = arena_printf(arena, "%s" STEPS_PANELS, x->name);
    x->rows = x->type.dim[0];
    x->type = ir_panels_type(&x->type);
}

/* Matrices are kept as the steps want them, everything else in f32. */
static params_t stored(const params_t *params, const model_steps_t *how)
{
    params_t out = *params;
    out.prefix = "";
    out.dtype = DT_F32;
    out.space = 2 * params->n + 1;
    out.at = ARENA_ARRAY(params->arena, param_t, out.space);
    memcpy(out.at, params->at, (size_t)params->n * sizeof *out.at);
    for (int i = 0; i < params->n; i++) {
        param_t *x = &out.at[i];
        x->type.dtype = x->type.rank > 1 ? how->weights : DT_F32;
        if (x->turned) turn(params->arena, x);
        int64_t rows = x->type.dim[0];
        if (how->panels && ir_panels_suit(&x->type)) put_in_panels(params->arena, x);
        if (x->type.dtype == DT_I8)
            params_add(&out, arena_printf(params->arena, "%s" STEPS_SCALES, x->name), x->init, 1,
                       rows, 0);
    }
    return out;
}

ir_val_t layer_scales(build_t *b, ir_val_t matrix)
{
    const params_t *params = b->steps ? b->steps->params : NULL;
    int i = 0, k = 0;
    if (matrix == IR_NONE || ir_type_of(b->fn, matrix)->dtype != DT_I8) return IR_NONE;
    ir_panels_behind(b->fn, matrix, &matrix);
    while (ir_fn_param(b->fn, i) != matrix) i++;
    const char *name = arena_printf(b->fn->module->arena, "%s" STEPS_SCALES, params->at[i].name);
    while (strcmp(params->at[k].name, name) != 0) k++;
    return ir_fn_param(b->fn, k);
}

ir_module_t *steps_build(const model_t *model, const params_t *params, ir_module_t *module,
                         err_t *err)
{
    int status = check_steps(model, err);
    params_t own = stored(params, model->steps);
    for (int i = 0; status == 0 && i < model->steps->n_program; i++)
        status = (model->steps->program[i].copies ? build_copy : build_step)(
            module, model, &own, &model->steps->program[i], err);
    if (status < 0 || ir_verify(module, err) < 0) ir_module_destroy(&module);
    return module;
}
