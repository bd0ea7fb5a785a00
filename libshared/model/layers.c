/* Layers that several families have. */
#include "model/layers.h"

#include <math.h>
#include <string.h>

#include "ir/panels.h"
#include "model/steps_in.h"

void params_add(params_t *self, const char *name, const char *init, int rank, int64_t d0,
                int64_t d1)
{
    if (self->n == self->space) {
        int space = self->space ? 2 * self->space : 64;
        param_t *grown = ARENA_ARRAY(self->arena, param_t, space);
        if (self->n > 0) memcpy(grown, self->at, (size_t)self->n * sizeof *grown);
        self->at = grown;
        self->space = space;
    }
    param_t *out = &self->at[self->n++];
    *out = (param_t){.init = init};
    out->name = arena_printf(self->arena, "%s%s", self->prefix, name);
    out->type = ir_type(self->dtype, rank, (int64_t[]){d0, d1});
}

ir_val_t layer_next(build_t *b)
{
    const int i = b->next_param++;
    int64_t rows = b->steps ? b->steps->params->at[i].rows : 0;
    ir_val_t x = ir_fn_param(b->fn, i);
    return rows > 0 ? ir_panels_view(b->fn, x, rows) : x;
}

ir_val_t layer_along_last(build_t *b, ir_val_t vector, const ir_type_t *like)
{
    return ir_broadcast(b->fn, vector, like, (int64_t[]){like->rank - 1});
}

ir_val_t layer_along_rows(build_t *b, ir_val_t rows, const ir_type_t *like)
{
    int64_t dims[IR_MAX_RANK];
    for (int i = 0; i < IR_MAX_RANK; i++) dims[i] = i;
    return ir_broadcast(b->fn, rows, like, dims);
}

ir_val_t layer_row_reduce(build_t *b, op_code_t reducer, ir_val_t x)
{
    if (x == IR_NONE) return IR_NONE;
    int64_t last = ir_type_of(b->fn, x)->rank - 1;
    return ir_reduce(b->fn, reducer, x, &last, 1);
}

ir_val_t layer_scale(build_t *b, ir_val_t x, double factor)
{
    return ir_op2(b->fn, OP_multiply, x, ir_scalar_like(b->fn, x, factor));
}

ir_val_t layer_add_bias(build_t *b, ir_val_t y, ir_val_t bias)
{
    if (bias == IR_NONE || y == IR_NONE) return y;
    ir_type_t type = *ir_type_of(b->fn, y);
    return ir_op2(b->fn, OP_add, y, layer_along_last(b, ir_convert(b->fn, bias, DT_F32), &type));
}

ir_val_t layer_rms_norm(build_t *b, ir_val_t x, double eps)
{
    ir_fn_t *fn = b->fn;
    if (x == IR_NONE) return IR_NONE;
    ir_type_t type = *ir_type_of(fn, x);
    double n = (double)type.dim[type.rank - 1];
    ir_val_t sum = layer_row_reduce(b, OP_add, ir_op2(fn, OP_multiply, x, x));
    ir_val_t mean = layer_scale(b, sum, 1.0 / n);
    ir_val_t least = ir_scalar_like(fn, mean, eps);
    ir_val_t rstd = ir_op1(fn, OP_rsqrt, ir_op2(fn, OP_add, mean, least));
    return ir_op2(fn, OP_multiply, x, layer_along_rows(b, rstd, &type));
}

ir_val_t layer_rotate(build_t *b, ir_val_t x, ir_val_t cosine, ir_val_t sine)
{
    ir_fn_t *fn = b->fn;
    if (x == IR_NONE || cosine == IR_NONE || sine == IR_NONE) return IR_NONE;
    ir_type_t type = *ir_type_of(fn, x), part = type;
    int64_t half = part.dim[3] /= 2, zero[4] = {0}, middle[4] = {0, 0, 0, half};
    ir_val_t low = ir_slice(fn, x, zero, part.dim, NULL);
    ir_val_t high = ir_slice(fn, x, middle, type.dim, NULL);
    const int64_t *dims = b->steps ? (int64_t[]){0, 1, 3} : (int64_t[]){1, 3};
    cosine = ir_broadcast(fn, cosine, &part, dims);
    sine = ir_broadcast(fn, sine, &part, dims);
    ir_val_t out[2] = {ir_op2(fn, OP_subtract, ir_op2(fn, OP_multiply, low, cosine),
                              ir_op2(fn, OP_multiply, high, sine)),
                       ir_op2(fn, OP_add, ir_op2(fn, OP_multiply, high, cosine),
                              ir_op2(fn, OP_multiply, low, sine))};
    return ir_concatenate(fn, out, 2, 3);
}

ir_val_t layer_product(build_t *b, ir_val_t x, ir_val_t weight, bool transposed)
{
    ir_val_t in = ir_convert(b->fn, x, b->dtype), scales = layer_scales(b, weight), y;
    weight = ir_convert(b->fn, weight, b->dtype);
    if (transposed) {
        ir_dot_t dims = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
        y = ir_dot(b->fn, in, weight, &dims, DT_NONE);
    } else {
        y = ir_matmul(b->fn, in, weight);
    }
    y = ir_convert(b->fn, y, DT_F32);
    if (scales == IR_NONE || y == IR_NONE) return y;
    ir_type_t type = *ir_type_of(b->fn, y);
    return ir_op2(b->fn, OP_multiply, y, layer_along_last(b, scales, &type));
}

ir_val_t layer_head(build_t *b, ir_val_t x, ir_val_t weight)
{
    if (b->steps) b->steps->hidden = x;
    return layer_product(b, x, weight, true);
}

/* Softmax over the last axis of scores [batch, heads, block, block], future positions left out. */
static ir_val_t causal_softmax(build_t *b, ir_val_t scores)
{
    ir_fn_t *fn = b->fn;
    if (scores == IR_NONE) return IR_NONE;
    ir_type_t type = *ir_type_of(fn, scores);
    ir_type_t square = ir_type(DT_I32, 2, (int64_t[]){type.dim[2], type.dim[3]});
    ir_val_t past = ir_compare(fn, "GE", ir_iota(fn, &square, 0), ir_iota(fn, &square, 1));
    ir_val_t mask = ir_broadcast(fn, past, &type, (int64_t[]){2, 3});
    ir_val_t masked = ir_select(fn, mask, scores, ir_scalar_like(fn, scores, -INFINITY));
    ir_val_t max = layer_along_rows(b, layer_row_reduce(b, OP_maximum, masked), &type);
    ir_val_t e = ir_op1(fn, OP_exponential, ir_op2(fn, OP_subtract, masked, max));
    return ir_op2(fn, OP_divide, e, layer_along_rows(b, layer_row_reduce(b, OP_add, e), &type));
}

/* [batch, block, kv_heads, head] with each head as often as there are queries for it. */
static ir_val_t repeat_heads(build_t *b, ir_val_t x, int64_t heads)
{
    if (x == IR_NONE) return IR_NONE;
    ir_type_t flat = *ir_type_of(b->fn, x);
    const int64_t *d = flat.dim, group = heads / d[2];
    if (group == 1) return x;
    ir_type_t deep = ir_type(flat.dtype, 5, (int64_t[]){d[0], d[1], d[2], group, d[3]});
    flat.dim[2] = heads;
    return ir_reshape(b->fn, ir_broadcast(b->fn, x, &deep, (int64_t[]){0, 1, 2, 4}), &flat);
}

ir_val_t layer_attention(build_t *b, ir_val_t q, ir_val_t k, ir_val_t v, double scale)
{
    ir_fn_t *fn = b->fn;
    if (q == IR_NONE) return IR_NONE;
    if (b->steps) return steps_attention(b, q, k, v, scale);
    ir_type_t heads = *ir_type_of(fn, q);
    v = repeat_heads(b, v, heads.dim[2]);
    k = repeat_heads(b, k, heads.dim[2]);
    /* scores[b,h,i,j] = sum_d q[b,i,h,d] k[b,j,h,d] */
    ir_dot_t qk = {.n_batch = 2,
                   .n_contract = 1,
                   .lhs_batch = {0, 2},
                   .rhs_batch = {0, 2},
                   .lhs_contract = {3},
                   .rhs_contract = {3}};
    ir_val_t scores = ir_convert(fn, ir_dot(fn, q, k, &qk, DT_NONE), DT_F32);
    ir_val_t p = ir_convert(fn, causal_softmax(b, layer_scale(b, scores, scale)), b->dtype);

    /* out[b,h,i,d] = sum_j p[b,h,i,j] v[b,j,h,d], then the heads side by side again */
    ir_dot_t pv = {.n_batch = 2,
                   .n_contract = 1,
                   .lhs_batch = {0, 1},
                   .rhs_batch = {0, 2},
                   .lhs_contract = {3},
                   .rhs_contract = {1}};
    ir_val_t out = ir_transpose(fn, ir_dot(fn, p, v, &pv, DT_NONE), (int64_t[]){0, 2, 1, 3});
    ir_type_t rows = ir_type(DT_F32, 2,
                             (int64_t[]){heads.dim[0] * heads.dim[1], heads.dim[2] * heads.dim[3]});
    return ir_reshape(fn, out, &rows);
}

/* Rows of a table [n, width] by indices [rows, 1]: [rows, width]. */
static ir_val_t rows_of(build_t *b, ir_val_t table, ir_val_t index)
{
    arena_t *arena = b->fn->module->arena;
    ir_attrs_t attrs = {0};
    attr_set_ints(arena, &attrs, "offset_dims", (int64_t[]){1}, 1);
    attr_set_ints(arena, &attrs, "collapsed_slice_dims", (int64_t[]){0}, 1);
    attr_set_ints(arena, &attrs, "start_index_map", (int64_t[]){0}, 1);
    attr_set_int(arena, &attrs, "index_vector_dim", 1);
    attr_set_ints(arena, &attrs, "slice_sizes", (int64_t[]){1, ir_type_of(b->fn, table)->dim[1]},
                  2);
    ir_val_t in[2] = {table, index};
    ir_op_t *op = ir_emit(b->fn, OP_gather, 2, in, &attrs, 1, NULL, 0, NULL);
    return op ? ir_convert(b->fn, op->out, DT_F32) : IR_NONE;
}

ir_val_t layer_embed(build_t *b, ir_val_t table, ir_val_t tokens)
{
    ir_fn_t *fn = b->fn;
    ir_type_t shape = *ir_type_of(fn, tokens);
    ir_type_t flat = ir_type(DT_I32, 2, (int64_t[]){shape.dim[0] * shape.dim[1], 1});
    ir_val_t index = ir_reshape(fn, tokens, &flat), scales = layer_scales(b, table);
    ir_val_t x = rows_of(b, table, index);
    if (scales == IR_NONE || x == IR_NONE) return x;
    ir_type_t column = ir_type(DT_F32, 2, (int64_t[]){ir_type_of(fn, scales)->dim[0], 1});
    ir_type_t each = ir_type(DT_F32, 1, flat.dim), type = *ir_type_of(fn, x);
    ir_val_t scale = ir_reshape(fn, rows_of(b, ir_reshape(fn, scales, &column), index), &each);
    return ir_op2(fn, OP_multiply, x, layer_along_rows(b, scale, &type));
}

/* --- functions --- */

/* The mean of loss[rows] over rows whose target is none of -1; 0 where there are none. */
static ir_val_t mean_of_known(build_t *b, ir_val_t loss, ir_val_t targets)
{
    ir_fn_t *fn = b->fn;
    ir_val_t none = ir_scalar_like(fn, targets, -1), zero = ir_scalar_like(fn, loss, 0);
    ir_val_t known = ir_compare(fn, "NE", targets, none);
    ir_val_t n = ir_reduce_all(fn, OP_add, ir_convert(fn, known, DT_F32));
    ir_val_t sum = ir_reduce_all(fn, OP_add, ir_select(fn, known, loss, zero));
    return ir_op2(fn, OP_divide, sum, ir_op2(fn, OP_maximum, n, ir_scalar_like(fn, n, 1)));
}

/* sum(w x) / max(sum(w), 1): where no token counts there is no loss. */
static ir_val_t weighted_mean(build_t *b, ir_val_t x, ir_val_t weights)
{
    ir_fn_t *fn = b->fn;
    ir_val_t w = ir_reshape(fn, weights, ir_type_of(fn, x));
    ir_val_t sum = ir_reduce_all(fn, OP_add, ir_op2(fn, OP_multiply, x, w));
    ir_val_t n = ir_reduce_all(fn, OP_add, w);
    return ir_op2(fn, OP_divide, sum, ir_op2(fn, OP_maximum, n, ir_scalar_like(fn, n, 1.0)));
}

/* Mean over rows of logsumexp(logits) - logits[target], by weights where there are some. */
static ir_val_t cross_entropy(build_t *b, ir_val_t logits, ir_val_t targets, bool masked,
                              ir_val_t weights)
{
    ir_fn_t *fn = b->fn;
    if (logits == IR_NONE) return IR_NONE;
    ir_type_t type = *ir_type_of(fn, logits);
    int64_t rows = type.dim[0];
    ir_type_t flat = ir_type(DT_I32, 1, &rows), index = ir_type_with(type, DT_I32);
    ir_val_t max = layer_along_rows(b, layer_row_reduce(b, OP_maximum, logits), &type);
    ir_val_t shifted = ir_op2(fn, OP_subtract, logits, max);
    ir_val_t sum = layer_row_reduce(b, OP_add, ir_op1(fn, OP_exponential, shifted));
    targets = ir_reshape(fn, targets, &flat);
    ir_val_t target = layer_along_rows(b, targets, &index);
    ir_val_t hit = ir_compare(fn, "EQ", ir_iota(fn, &index, 1), target);
    ir_val_t zero = ir_scalar_like(fn, shifted, 0.0);
    ir_val_t picked = layer_row_reduce(b, OP_add, ir_select(fn, hit, shifted, zero));
    ir_val_t loss = ir_op2(fn, OP_subtract, ir_op1(fn, OP_log, sum), picked);
    if (weights != IR_NONE) return weighted_mean(b, loss, weights);
    if (masked) return mean_of_known(b, loss, targets);
    return layer_scale(b, ir_reduce_all(fn, OP_add, loss), 1.0 / (double)rows);
}

void params_describe(ir_fn_t *fn, const params_t *params)
{
    arena_t *arena = fn->module->arena;
    for (int i = 0; i < params->n; i++) {
        ir_attrs_t *attrs = &fn->param_attrs[i];
        attr_set_text(arena, attrs, "pcp.name", ATTR_STRING, params->at[i].name);
        attr_set_text(arena, attrs, "pcp.init", ATTR_STRING, params->at[i].init);
    }
}

static int build_fn(ir_module_t *m, const model_t *model, const params_t *params, const char *name,
                    bool with_loss, err_t *err)
{
    int n = params->n;
    ir_type_t *types = ARENA_ARRAY(m->arena, ir_type_t, n + 3);
    for (int i = 0; i < n; i++) types[i] = params->at[i].type;
    int64_t batch = with_loss ? model->batch : 1;
    types[n] = types[n + 1] = ir_type(DT_I32, 2, (int64_t[]){batch, model->block});

    types[n + 2] = ir_type_with(types[n], DT_F32);
    bool weighted = with_loss && model->weighted;
    ir_fn_t *fn = ir_fn_new(m, name, n + (weighted ? 3 : with_loss ? 2 : 1), types);
    params_describe(fn, params);
    attr_set_text(m->arena, &fn->param_attrs[n], "pcp.name", ATTR_STRING, "x");
    build_t b = {.fn = fn,
                 .config = model->config,
                 .dtype = params->dtype,
                 .batch = batch,
                 .time = model->block};
    ir_val_t y = model->trunk(&b, ir_fn_param(fn, n));
    if (with_loss) {
        attr_set_text(m->arena, &fn->param_attrs[n + 1], "pcp.name", ATTR_STRING, "y");
        if (weighted) {
            attr_set_text(m->arena, &fn->param_attrs[n + 2], "pcp.name", ATTR_STRING,
                          "loss_weights");
            attr_set_text(m->arena, &fn->param_attrs[n + 2], "pcp.role", ATTR_STRING, "batch");
        }
        y = cross_entropy(&b, y, ir_fn_param(fn, n + 1), model->masked,
                          weighted ? ir_fn_param(fn, n + 2) : IR_NONE);
    } else {
        ir_type_t out = ir_type(DT_F32, 3, (int64_t[]){1, model->block, model->vocab});
        y = ir_reshape(fn, y, &out);
    }
    return ir_fn_finish(fn, 1, &y, err);
}

ir_module_t *model_build(const model_t *model, const params_t *params, ir_module_t *module,
                         err_t *err)
{
    module->name = model->name;
    if (model->steps) return steps_build(model, params, module, err);
    if (build_fn(module, model, params, "main", true, err) < 0 ||
        build_fn(module, model, params, "logits", false, err) < 0 || ir_verify(module, err) < 0)
        ir_module_destroy(&module);
    return module;
}

int model_check(const char *family, const model_field_t *fields, size_t n, err_t *err)
{
    for (size_t i = 0; i < n; i++)
        if (fields[i].value < 1 || fields[i].value > fields[i].max)
            return err_set(err, ERR_ARG, "%s: %s is %lld, must be 1 to %lld", family,
                           fields[i].name, (long long)fields[i].value, (long long)fields[i].max);
    return 0;
}
