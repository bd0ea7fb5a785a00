/* GPT-2 as StableHLO: one function builds the trunk for @main and @logits alike. */
#include "model/gpt2.h"

#include <math.h>

#include "model/layers.h"

/* What the layers see: a gpt2_config_t, and more. */
typedef struct {
    gpt2_config_t shape; /* first */
    int positions;       /* rows of wpe */
} gpt2_t;

/* --- parameters --- */

static void add_norm(params_t *p, const gpt2_config_t *c, const char *name)
{
    params_add(p, arena_printf(p->arena, "%s.weight", name), "ones", 1, c->width, 0);
    if (c->bias) params_add(p, arena_printf(p->arena, "%s.bias", name), "zeros", 1, c->width, 0);
}

static void add_linear(params_t *p, const gpt2_config_t *c, const char *name, const char *init,
                       int64_t in, int64_t out)
{
    params_add(p, arena_printf(p->arena, "%s.weight", name), init, 2, in, out);
    p->at[p->n - 1].turned = true;
    if (c->bias) params_add(p, arena_printf(p->arena, "%s.bias", name), "zeros", 1, out, 0);
}

static void add_layer(params_t *p, const gpt2_config_t *c, int layer)
{
    int64_t w = c->width;
    const char *residual = arena_printf(p->arena, "normal(%.9g)", 0.02 / sqrt(2.0 * c->layers));
    p->prefix = arena_printf(p->arena, "h.%d.", layer);
    add_norm(p, c, "ln_1");
    add_linear(p, c, "attn.c_attn", "normal(0.02)", w, 3 * w);
    add_linear(p, c, "attn.c_proj", residual, w, w);
    add_norm(p, c, "ln_2");
    add_linear(p, c, "mlp.c_fc", "normal(0.02)", w, 4 * w);
    add_linear(p, c, "mlp.c_proj", residual, 4 * w, w);
    p->prefix = "";
}

static void add_all(params_t *p, const gpt2_t *model)
{
    const gpt2_config_t *c = &model->shape;
    params_add(p, "wte.weight", "normal(0.02)", 2, c->vocab, c->width);
    params_add(p, "wpe.weight", "normal(0.02)", 2, model->positions, c->width);
    for (int i = 0; i < c->layers; i++) add_layer(p, c, i);
    add_norm(p, c, "ln_f");
}

/* --- layers; x is [rows, width] in f32 unless the name says otherwise --- */

static ir_val_t next_bias(build_t *b)
{
    return ((const gpt2_config_t *)b->config)->bias ? layer_next(b) : IR_NONE;
}

/* y = (x - mean) / sqrt(var + 1e-5) * gain + bias, over the last axis, in f32. */
static ir_val_t layer_norm(build_t *b, ir_val_t x)
{
    ir_fn_t *fn = b->fn;
    ir_val_t gain = ir_convert(fn, layer_next(b), DT_F32), bias = next_bias(b);
    if (x == IR_NONE) return IR_NONE;
    ir_type_t type = *ir_type_of(fn, x);
    double n = (double)type.dim[type.rank - 1];
    ir_val_t mean = layer_scale(b, layer_row_reduce(b, OP_add, x), 1.0 / n);
    ir_val_t centred = ir_op2(fn, OP_subtract, x, layer_along_rows(b, mean, &type));
    ir_val_t square = ir_op2(fn, OP_multiply, centred, centred);
    ir_val_t var = layer_scale(b, layer_row_reduce(b, OP_add, square), 1.0 / n);
    ir_val_t eps = ir_scalar_like(fn, var, 1e-5);
    ir_val_t rstd = ir_op1(fn, OP_rsqrt, ir_op2(fn, OP_add, var, eps));
    ir_val_t y = ir_op2(fn, OP_multiply, centred, layer_along_rows(b, rstd, &type));
    return layer_add_bias(b, ir_op2(fn, OP_multiply, y, layer_along_last(b, gain, &type)), bias);
}

static ir_val_t linear(build_t *b, ir_val_t x)
{
    ir_val_t weight = layer_next(b), bias = next_bias(b);
    return layer_add_bias(b, layer_product(b, x, weight, b->steps != NULL), bias);
}

/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))  (Hendrycks and Gimpel 2016). */
static ir_val_t gelu(build_t *b, ir_val_t x)
{
    ir_fn_t *fn = b->fn;
    ir_val_t cube = ir_op2(fn, OP_multiply, ir_op2(fn, OP_multiply, x, x), x);
    ir_val_t inner = ir_op2(fn, OP_add, x, layer_scale(b, cube, 0.044715));
    ir_val_t t = ir_op1(fn, OP_tanh, layer_scale(b, inner, 0.7978845608028654));
    ir_val_t one = ir_scalar_like(fn, t, 1.0);
    return ir_op2(fn, OP_multiply, layer_scale(b, x, 0.5), ir_op2(fn, OP_add, t, one));
}

/* One of q, k, v: columns [part * width, (part + 1) * width) of qkv as [batch, block, heads, head].
 */
static ir_val_t split_heads(build_t *b, ir_val_t qkv, int part)
{
    const gpt2_config_t *c = b->config;
    int64_t rows = b->batch * b->time, w = c->width;
    int64_t start[2] = {0, part * w}, limit[2] = {rows, (part + 1) * w};
    ir_val_t x = ir_slice(b->fn, qkv, start, limit, NULL);
    ir_type_t heads = ir_type(b->dtype, 4, (int64_t[]){b->batch, b->time, c->heads, w / c->heads});
    return ir_reshape(b->fn, x, &heads);
}

static ir_val_t attention(build_t *b, ir_val_t x)
{
    const gpt2_config_t *c = b->config;
    ir_val_t qkv = ir_convert(b->fn, linear(b, x), b->dtype);
    ir_val_t q = split_heads(b, qkv, 0), k = split_heads(b, qkv, 1), v = split_heads(b, qkv, 2);
    return linear(b, layer_attention(b, q, k, v, 1.0 / sqrt((double)c->width / c->heads)));
}

/* The row of wpe of each token. */
static ir_val_t place(build_t *b, ir_val_t table)
{
    ir_fn_t *fn = b->fn;
    const gpt2_config_t *c = b->config;
    if (b->steps) return layer_embed(b, table, layer_positions(b));
    ir_val_t wpe = ir_convert(fn, table, DT_F32);
    ir_type_t rows = ir_type(DT_F32, 2, (int64_t[]){b->batch * c->block, c->width});
    ir_type_t deep = ir_type(DT_F32, 3, (int64_t[]){b->batch, c->block, c->width});
    if (((const gpt2_t *)b->config)->positions > c->block)
        wpe = ir_slice(fn, wpe, (int64_t[]){0, 0}, (int64_t[]){c->block, c->width}, NULL);
    return ir_reshape(fn, ir_broadcast(fn, wpe, &deep, (int64_t[]){1, 2}), &rows);
}

static ir_val_t trunk(build_t *b, ir_val_t tokens)
{
    ir_fn_t *fn = b->fn;
    const gpt2_config_t *c = b->config;
    ir_val_t wte = layer_next(b), positions = place(b, layer_next(b));
    ir_val_t x = ir_op2(fn, OP_add, layer_embed(b, wte, tokens), positions);
    for (int i = 0; i < c->layers; i++) {
        x = ir_op2(fn, OP_add, x, attention(b, layer_norm(b, x)));
        ir_val_t hidden = gelu(b, linear(b, layer_norm(b, x)));
        x = ir_op2(fn, OP_add, x, linear(b, hidden));
    }
    return layer_head(b, layer_norm(b, layer_wanted(b, x)), wte);
}

static int check_config(const gpt2_t *model, err_t *err)
{
    const gpt2_config_t *c = &model->shape;
    const model_field_t fields[] = {{"layers", c->layers, 1024},  {"heads", c->heads, 4096},
                                    {"width", c->width, 1 << 20}, {"block", c->block, 1 << 20},
                                    {"vocab", c->vocab, 1 << 24}, {"batch", c->batch, 1 << 20}};
    if (model_check("gpt2", fields, sizeof fields / sizeof *fields, err) < 0) return -1;
    if (model->positions < c->block || model->positions > 1 << 20)
        return err_set(err, ERR_ARG, "gpt2: positions is %d, block %d", model->positions, c->block);
    if (c->width % c->heads != 0)
        return err_set(err, ERR_ARG, "gpt2: width %d is not a multiple of heads %d", c->width,
                       c->heads);
    return 0;
}

ir_module_t *gpt2_build(const gpt2_config_t *config, err_t *err)
{
    return gpt2_build_within(config, config->block, NULL, err);
}

ir_module_t *gpt2_build_within(const gpt2_config_t *config, int positions,
                               const model_steps_t *steps, err_t *err)
{
    const gpt2_t all = {*config, positions};
    if (check_config(&all, err) < 0) return NULL;
    ir_module_t *m = ir_module_new();
    params_t params = {.arena = m->arena, .prefix = "", .dtype = config->bf16 ? DT_BF16 : DT_F32};
    add_all(&params, &all);
    const model_t model = {.name = "gpt2",
                           .config = &all,
                           .batch = config->batch,
                           .block = config->block,
                           .weighted = config->weighted,
                           .vocab = config->vocab,
                           .layers = config->layers,
                           .kv_heads = config->heads,
                           .head = config->width / config->heads,
                           .steps = steps,
                           .trunk = trunk};
    return model_build(&model, &params, m, err);
}
