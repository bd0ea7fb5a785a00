/* GPT-2 as StableHLO: one function builds the trunk for @main and @logits alike. */
#include "model/gpt2.h"

#include <math.h>

#include "ir/build.h"

typedef struct {
    ir_fn_t *fn;
    const gpt2_config_t *config;
    int next_param;
    dtype_t dtype; /* of parameters and matrix products */
    int64_t batch; /* rows of tokens in this function */
} build_t;

/* --- parameters: one list, in the order in which the layers below take them --- */

typedef struct {
    const char *name, *init;
    ir_type_t type;
} param_t;

enum { PARAMS_PER_LAYER = 12, PARAMS_OUTSIDE = 4 };

typedef struct {
    arena_t *arena;
    const char *prefix;
    dtype_t dtype;
    bool bias;
    param_t *at;
    int n;
} params_t;

static void add_param(params_t *p, const char *name, const char *init, int rank, int64_t d0,
                      int64_t d1)
{
    param_t *out = &p->at[p->n++];
    out->name = arena_printf(p->arena, "%s%s", p->prefix, name);
    out->init = init;
    out->type = ir_type(p->dtype, rank, (int64_t[]){d0, d1});
}

static void add_norm(params_t *p, const char *name, int64_t width)
{
    add_param(p, arena_printf(p->arena, "%s.weight", name), "ones", 1, width, 0);
    if (p->bias) add_param(p, arena_printf(p->arena, "%s.bias", name), "zeros", 1, width, 0);
}

static void add_linear(params_t *p, const char *name, const char *init, int64_t in, int64_t out)
{
    add_param(p, arena_printf(p->arena, "%s.weight", name), init, 2, in, out);
    if (p->bias) add_param(p, arena_printf(p->arena, "%s.bias", name), "zeros", 1, out, 0);
}

static void add_layer(params_t *p, const gpt2_config_t *c, int layer)
{
    int64_t w = c->width;
    const char *residual = arena_printf(p->arena, "normal(%.9g)", 0.02 / sqrt(2.0 * c->layers));
    p->prefix = arena_printf(p->arena, "h.%d.", layer);
    add_norm(p, "ln_1", w);
    add_linear(p, "attn.c_attn", "normal(0.02)", w, 3 * w);
    add_linear(p, "attn.c_proj", residual, w, w);
    add_norm(p, "ln_2", w);
    add_linear(p, "mlp.c_fc", "normal(0.02)", w, 4 * w);
    add_linear(p, "mlp.c_proj", residual, 4 * w, w);
    p->prefix = "";
}

static void add_all(params_t *p, const gpt2_config_t *c)
{
    add_param(p, "wte.weight", "normal(0.02)", 2, c->vocab, c->width);
    add_param(p, "wpe.weight", "normal(0.02)", 2, c->block, c->width);
    for (int i = 0; i < c->layers; i++) add_layer(p, c, i);
    add_norm(p, "ln_f", c->width);
}

static ir_val_t next(build_t *b)
{
    return ir_fn_param(b->fn, b->next_param++);
}

static ir_val_t next_bias(build_t *b)
{
    return b->config->bias ? next(b) : IR_NONE;
}

/* --- layers; x is [rows, width] in f32 unless the name says otherwise --- */

/* A vector along the last axis of `like`. */
static ir_val_t along_last(build_t *b, ir_val_t vector, const ir_type_t *like)
{
    return ir_broadcast(b->fn, vector, like, (int64_t[]){like->rank - 1});
}

/* A value per row, [..], spread along a new last axis to the shape of `like`. */
static ir_val_t along_rows(build_t *b, ir_val_t rows, const ir_type_t *like)
{
    int64_t dims[IR_MAX_RANK];
    for (int i = 0; i < IR_MAX_RANK; i++) dims[i] = i;
    return ir_broadcast(b->fn, rows, like, dims);
}

static ir_val_t row_reduce(build_t *b, op_code_t reducer, ir_val_t x)
{
    if (x == IR_NONE) return IR_NONE;
    int64_t last = ir_type_of(b->fn, x)->rank - 1;
    return ir_reduce(b->fn, reducer, x, &last, 1);
}

static ir_val_t scale(ir_fn_t *fn, ir_val_t x, double factor)
{
    return ir_op2(fn, OP_multiply, x, ir_scalar_like(fn, x, factor));
}

static ir_val_t add_bias(build_t *b, ir_val_t y, ir_val_t bias)
{
    if (bias == IR_NONE || y == IR_NONE) return y;
    ir_type_t type = *ir_type_of(b->fn, y);
    return ir_op2(b->fn, OP_add, y, along_last(b, ir_convert(b->fn, bias, DT_F32), &type));
}

/* y = (x - mean) / sqrt(var + 1e-5) * gain + bias, over the last axis, in f32. */
static ir_val_t layer_norm(build_t *b, ir_val_t x)
{
    ir_fn_t *fn = b->fn;
    ir_val_t gain = ir_convert(fn, next(b), DT_F32), bias = next_bias(b);
    if (x == IR_NONE) return IR_NONE;
    ir_type_t type = *ir_type_of(fn, x);
    double n = (double)type.dim[type.rank - 1];
    ir_val_t mean = scale(fn, row_reduce(b, OP_add, x), 1.0 / n);
    ir_val_t centred = ir_op2(fn, OP_subtract, x, along_rows(b, mean, &type));
    ir_val_t square = ir_op2(fn, OP_multiply, centred, centred);
    ir_val_t var = scale(fn, row_reduce(b, OP_add, square), 1.0 / n);
    ir_val_t eps = ir_scalar_like(fn, var, 1e-5);
    ir_val_t rstd = ir_op1(fn, OP_rsqrt, ir_op2(fn, OP_add, var, eps));
    ir_val_t y = ir_op2(fn, OP_multiply, centred, along_rows(b, rstd, &type));
    return add_bias(b, ir_op2(fn, OP_multiply, y, along_last(b, gain, &type)), bias);
}

/* x W + bias: the product in the parameters' type, the result in f32. */
static ir_val_t linear(build_t *b, ir_val_t x)
{
    ir_val_t weight = next(b), bias = next_bias(b);
    ir_val_t y = ir_matmul(b->fn, ir_convert(b->fn, x, b->dtype), weight);
    return add_bias(b, ir_convert(b->fn, y, DT_F32), bias);
}

/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))  (Hendrycks and Gimpel 2016). */
static ir_val_t gelu(build_t *b, ir_val_t x)
{
    ir_fn_t *fn = b->fn;
    ir_val_t cube = ir_op2(fn, OP_multiply, ir_op2(fn, OP_multiply, x, x), x);
    ir_val_t inner = ir_op2(fn, OP_add, x, scale(fn, cube, 0.044715));
    ir_val_t t = ir_op1(fn, OP_tanh, scale(fn, inner, 0.7978845608028654));
    ir_val_t one = ir_scalar_like(fn, t, 1.0);
    return ir_op2(fn, OP_multiply, scale(fn, x, 0.5), ir_op2(fn, OP_add, t, one));
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
    ir_val_t max = along_rows(b, row_reduce(b, OP_maximum, masked), &type);
    ir_val_t e = ir_op1(fn, OP_exponential, ir_op2(fn, OP_subtract, masked, max));
    return ir_op2(fn, OP_divide, e, along_rows(b, row_reduce(b, OP_add, e), &type));
}

/* One of q, k, v: columns [part * width, (part + 1) * width) of qkv as [batch, block, heads, head].
 */
static ir_val_t split_heads(build_t *b, ir_val_t qkv, int part)
{
    const gpt2_config_t *c = b->config;
    int64_t rows = b->batch * c->block, w = c->width;
    int64_t start[2] = {0, part * w}, limit[2] = {rows, (part + 1) * w};
    ir_val_t x = ir_slice(b->fn, qkv, start, limit, NULL);
    ir_type_t heads = ir_type(b->dtype, 4, (int64_t[]){b->batch, c->block, c->heads, w / c->heads});
    return ir_reshape(b->fn, x, &heads);
}

static ir_val_t attention(build_t *b, ir_val_t x)
{
    ir_fn_t *fn = b->fn;
    const gpt2_config_t *c = b->config;
    ir_val_t qkv = ir_convert(fn, linear(b, x), b->dtype);
    ir_val_t q = split_heads(b, qkv, 0), k = split_heads(b, qkv, 1), v = split_heads(b, qkv, 2);

    /* scores[b,h,i,j] = sum_d q[b,i,h,d] k[b,j,h,d] / sqrt(head width) */
    ir_dot_t qk = {.n_batch = 2,
                   .n_contract = 1,
                   .lhs_batch = {0, 2},
                   .rhs_batch = {0, 2},
                   .lhs_contract = {3},
                   .rhs_contract = {3}};
    ir_val_t scores = ir_convert(fn, ir_dot(fn, q, k, &qk, DT_NONE), DT_F32);
    scores = scale(fn, scores, 1.0 / sqrt((double)c->width / c->heads));
    ir_val_t p = ir_convert(fn, causal_softmax(b, scores), b->dtype);

    /* out[b,h,i,d] = sum_j p[b,h,i,j] v[b,j,h,d], then the heads side by side again */
    ir_dot_t pv = {.n_batch = 2,
                   .n_contract = 1,
                   .lhs_batch = {0, 1},
                   .rhs_batch = {0, 2},
                   .lhs_contract = {3},
                   .rhs_contract = {1}};
    ir_val_t out = ir_transpose(fn, ir_dot(fn, p, v, &pv, DT_NONE), (int64_t[]){0, 2, 1, 3});
    ir_type_t rows = ir_type(DT_F32, 2, (int64_t[]){b->batch * c->block, c->width});
    return linear(b, ir_reshape(fn, out, &rows));
}

/* table[tokens]: rows of an embedding table for [batch, block] tokens, as [batch * block, width].
 */
static ir_val_t embed(build_t *b, ir_val_t table, ir_val_t tokens)
{
    ir_fn_t *fn = b->fn;
    arena_t *arena = fn->module->arena;
    int64_t rows = b->batch * b->config->block;
    ir_type_t flat = ir_type(DT_I32, 2, (int64_t[]){rows, 1});
    ir_attrs_t attrs = {0};
    attr_set_ints(arena, &attrs, "offset_dims", (int64_t[]){1}, 1);
    attr_set_ints(arena, &attrs, "collapsed_slice_dims", (int64_t[]){0}, 1);
    attr_set_ints(arena, &attrs, "start_index_map", (int64_t[]){0}, 1);
    attr_set_int(arena, &attrs, "index_vector_dim", 1);
    attr_set_ints(arena, &attrs, "slice_sizes", (int64_t[]){1, b->config->width}, 2);
    ir_val_t in[2] = {table, ir_reshape(fn, tokens, &flat)};
    ir_op_t *op = ir_emit(fn, OP_gather, 2, in, &attrs, 1, NULL, 0, NULL);
    return op ? ir_convert(fn, op->out, DT_F32) : IR_NONE;
}

/* tokens [batch, block] -> logits [batch * block, vocab] in f32. */
static ir_val_t trunk(build_t *b, ir_val_t tokens)
{
    ir_fn_t *fn = b->fn;
    const gpt2_config_t *c = b->config;
    ir_val_t wte = next(b), wpe = ir_convert(fn, next(b), DT_F32);
    ir_type_t rows = ir_type(DT_F32, 2, (int64_t[]){b->batch * c->block, c->width});
    ir_type_t deep = ir_type(DT_F32, 3, (int64_t[]){b->batch, c->block, c->width});
    ir_val_t positions = ir_reshape(fn, ir_broadcast(fn, wpe, &deep, (int64_t[]){1, 2}), &rows);
    ir_val_t x = ir_op2(fn, OP_add, embed(b, wte, tokens), positions);
    for (int i = 0; i < c->layers; i++) {
        x = ir_op2(fn, OP_add, x, attention(b, layer_norm(b, x)));
        ir_val_t hidden = gelu(b, linear(b, layer_norm(b, x)));
        x = ir_op2(fn, OP_add, x, linear(b, hidden));
    }
    x = ir_convert(fn, layer_norm(b, x), b->dtype);
    ir_dot_t head = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    return ir_convert(fn, ir_dot(fn, x, wte, &head, DT_NONE), DT_F32);
}

/* Mean over rows of logsumexp(logits) - logits[target]. */
static ir_val_t cross_entropy(build_t *b, ir_val_t logits, ir_val_t targets)
{
    ir_fn_t *fn = b->fn;
    if (logits == IR_NONE) return IR_NONE;
    ir_type_t type = *ir_type_of(fn, logits);
    int64_t rows = type.dim[0];
    ir_type_t flat = ir_type(DT_I32, 1, &rows), index = ir_type_with(type, DT_I32);
    ir_val_t max = along_rows(b, row_reduce(b, OP_maximum, logits), &type);
    ir_val_t shifted = ir_op2(fn, OP_subtract, logits, max);
    ir_val_t sum = row_reduce(b, OP_add, ir_op1(fn, OP_exponential, shifted));
    ir_val_t target = along_rows(b, ir_reshape(fn, targets, &flat), &index);
    ir_val_t hit = ir_compare(fn, "EQ", ir_iota(fn, &index, 1), target);
    ir_val_t zero = ir_scalar_like(fn, shifted, 0.0);
    ir_val_t picked = row_reduce(b, OP_add, ir_select(fn, hit, shifted, zero));
    ir_val_t loss = ir_op2(fn, OP_subtract, ir_op1(fn, OP_log, sum), picked);
    return scale(fn, ir_reduce_all(fn, OP_add, loss), 1.0 / (double)rows);
}

/* --- functions --- */

static void describe_params(ir_fn_t *fn, const params_t *params)
{
    arena_t *arena = fn->module->arena;
    for (int i = 0; i < params->n; i++) {
        ir_attrs_t *attrs = &fn->param_attrs[i];
        attr_set_text(arena, attrs, "pcp.name", ATTR_STRING, params->at[i].name);
        attr_set_text(arena, attrs, "pcp.init", ATTR_STRING, params->at[i].init);
    }
}

static int build_fn(ir_module_t *m, const gpt2_config_t *c, const char *name, bool with_loss,
                    err_t *err)
{
    params_t params = {.arena = m->arena, .prefix = "", .bias = c->bias};
    params.dtype = c->bf16 ? DT_BF16 : DT_F32;
    params.at = ARENA_ARRAY(m->arena, param_t, PARAMS_OUTSIDE + PARAMS_PER_LAYER * c->layers);
    add_all(&params, c);
    int n = params.n;
    ir_type_t *types = ARENA_ARRAY(m->arena, ir_type_t, n + 2);
    for (int i = 0; i < n; i++) types[i] = params.at[i].type;
    int64_t batch = with_loss ? c->batch : 1;
    types[n] = types[n + 1] = ir_type(DT_I32, 2, (int64_t[]){batch, c->block});

    ir_fn_t *fn = ir_fn_new(m, name, n + (with_loss ? 2 : 1), types);
    describe_params(fn, &params);
    attr_set_text(m->arena, &fn->param_attrs[n], "pcp.name", ATTR_STRING, "x");
    build_t b = {.fn = fn, .config = c, .dtype = params.dtype, .batch = batch};
    ir_val_t y = trunk(&b, ir_fn_param(fn, n));
    if (with_loss) {
        attr_set_text(m->arena, &fn->param_attrs[n + 1], "pcp.name", ATTR_STRING, "y");
        y = cross_entropy(&b, y, ir_fn_param(fn, n + 1));
    } else {
        ir_type_t out = ir_type(DT_F32, 3, (int64_t[]){1, c->block, c->vocab});
        y = ir_reshape(fn, y, &out);
    }
    return ir_fn_finish(fn, 1, &y, err);
}

static int check_config(const gpt2_config_t *c, err_t *err)
{
    const struct {
        const char *name;
        int value, max;
    } fields[] = {{"layers", c->layers, 1024},  {"heads", c->heads, 4096},
                  {"width", c->width, 1 << 20}, {"block", c->block, 1 << 20},
                  {"vocab", c->vocab, 1 << 24}, {"batch", c->batch, 1 << 20}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].value < 1 || fields[i].value > fields[i].max)
            return err_set(err, ERR_ARG, "gpt2: %s is %d, must be 1 to %d", fields[i].name,
                           fields[i].value, fields[i].max);
    if (c->width % c->heads != 0)
        return err_set(err, ERR_ARG, "gpt2: width %d is not a multiple of heads %d", c->width,
                       c->heads);
    return 0;
}

ir_module_t *gpt2_build(const gpt2_config_t *config, err_t *err)
{
    if (check_config(config, err) < 0) return NULL;
    ir_module_t *m = ir_module_new();
    m->name = "gpt2";
    if (build_fn(m, config, "main", true, err) < 0 ||
        build_fn(m, config, "logits", false, err) < 0 || ir_verify(m, err) < 0)
        ir_module_destroy(&m);
    return m;
}
