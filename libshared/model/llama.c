/* Llama as StableHLO. */
#include "model/llama.h"

#include <math.h>

#include "ir/tensor.h"
#include "model/layers.h"

static int head_width(const llama_config_t *c)
{
    return c->head_width ? c->head_width : c->width / c->heads;
}

/* --- parameters --- */

static void add_linear(params_t *p, const char *name, const char *init, int64_t in, int64_t out,
                       bool bias)
{
    params_add(p, arena_printf(p->arena, "%s.weight", name), init, 2, out, in);
    if (bias) params_add(p, arena_printf(p->arena, "%s.bias", name), "zeros", 1, out, 0);
}

static void add_layer(params_t *p, const llama_config_t *c, int layer)
{
    const char *normal = "normal(0.02)";
    const char *residual = arena_printf(p->arena, "normal(%.9g)", 0.02 / sqrt(2.0 * c->layers));
    int64_t w = c->width, d = head_width(c);
    p->prefix = arena_printf(p->arena, "model.layers.%d.", layer);
    params_add(p, "input_layernorm.weight", "ones", 1, w, 0);
    add_linear(p, "self_attn.q_proj", normal, w, c->heads * d, c->qkv_bias);
    add_linear(p, "self_attn.k_proj", normal, w, c->kv_heads * d, c->qkv_bias);
    add_linear(p, "self_attn.v_proj", normal, w, c->kv_heads * d, c->qkv_bias);
    if (c->qk_norm) params_add(p, "self_attn.q_norm.weight", "ones", 1, d, 0);
    if (c->qk_norm) params_add(p, "self_attn.k_norm.weight", "ones", 1, d, 0);
    add_linear(p, "self_attn.o_proj", residual, c->heads * d, w, c->out_bias);
    params_add(p, "post_attention_layernorm.weight", "ones", 1, w, 0);
    add_linear(p, "mlp.gate_proj", normal, w, c->hidden, c->mlp_bias);
    add_linear(p, "mlp.up_proj", normal, w, c->hidden, c->mlp_bias);
    add_linear(p, "mlp.down_proj", residual, c->hidden, w, c->mlp_bias);
    p->prefix = "";
}

static void add_all(params_t *p, const llama_config_t *c)
{
    params_add(p, "model.embed_tokens.weight", "normal(0.02)", 2, c->vocab, c->width);
    for (int i = 0; i < c->layers; i++) add_layer(p, c, i);
    params_add(p, "model.norm.weight", "ones", 1, c->width, 0);
    if (!c->tied) params_add(p, "lm_head.weight", "normal(0.02)", 2, c->vocab, c->width);
}

/* --- layers; x is [rows, width] in f32 unless the name says otherwise --- */

/* y = x / sqrt(mean(x^2) + eps) * gain, over the last axis, in f32. */
static ir_val_t rms_norm(build_t *b, ir_val_t x, ir_val_t weight)
{
    ir_val_t gain = ir_convert(b->fn, weight, DT_F32);
    ir_val_t y = layer_rms_norm(b, x, ((const llama_config_t *)b->config)->eps);
    if (y == IR_NONE) return IR_NONE;
    ir_type_t type = *ir_type_of(b->fn, y);
    return ir_op2(b->fn, OP_multiply, y, layer_along_last(b, gain, &type));
}

static ir_val_t linear(build_t *b, ir_val_t x, bool has_bias)
{
    ir_val_t weight = layer_next(b), bias = has_bias ? layer_next(b) : IR_NONE;
    return layer_add_bias(b, layer_product(b, x, weight, true), bias);
}

/* theta^(-2i/d); with a longer context (Llama 3.1): frequencies that turn less than rope_low times
 * in the old context are divided by the factor, those that turn more than rope_high times are kept,
 * what is between is interpolated. */
void llama_frequencies(const llama_config_t *c, double *inverse)
{
    int d = head_width(c);
    for (int i = 0; i < d / 2; i++) {
        double f = pow(c->theta, -2.0 * i / d), turns = c->rope_block * f / (2 * M_PI);
        if (c->rope == ROPE_LINEAR) f /= c->rope_factor;
        if (c->rope == ROPE_LLAMA3) {
            double keep = (turns - c->rope_low) / (c->rope_high - c->rope_low);
            keep = keep < 0 ? 0 : keep > 1 ? 1 : keep;
            f = keep * f + (1 - keep) * f / c->rope_factor;
        }
        inverse[i] = f;
    }
}

/* The angle of each position and pair: [block, head / 2] in f32; with steps [batch, time, head / 2]. */
static ir_val_t angles(build_t *b)
{
    const llama_config_t *c = b->config;
    arena_t *arena = b->fn->module->arena;
    int64_t half = head_width(c) / 2;
    double *inverse = ARENA_ARRAY(arena, double, half);
    llama_frequencies(c, inverse);
    ir_type_t row = ir_type(DT_F32, 1, &half);
    tensor_t tensor = {.type = row, .data = ARENA_ARRAY(arena, float, half)};
    for (int64_t i = 0; i < half; i++) tensor_set_f64(&tensor, i, inverse[i]);
    ir_type_t all = ir_type(DT_F32, 2, (int64_t[]){c->block, half});
    if (b->steps) all = ir_type(DT_F32, 3, (int64_t[]){b->batch, b->time, half});
    ir_val_t frequency = layer_along_last(b, ir_const(b->fn, &tensor), &all);
    if (b->steps) {
        ir_val_t position = ir_convert(b->fn, layer_positions(b), DT_F32);
        return ir_op2(b->fn, OP_multiply, layer_along_rows(b, position, &all), frequency);
    }
    return ir_op2(b->fn, OP_multiply, ir_iota(b->fn, &all, 0), frequency);
}

/* x[batch, time, heads, head] turned by its positions. */
static ir_val_t rotate(build_t *b, ir_val_t x, ir_val_t angle)
{
    return layer_rotate(b, x, ir_op1(b->fn, OP_cosine, angle), ir_op1(b->fn, OP_sine, angle));
}

/* A projection as [batch, time, heads, head] in f32. */
static ir_val_t project(build_t *b, ir_val_t x, int heads)
{
    const llama_config_t *c = b->config;
    ir_type_t type = ir_type(DT_F32, 4, (int64_t[]){b->batch, b->time, heads, head_width(c)});
    return ir_reshape(b->fn, linear(b, x, c->qkv_bias), &type);
}

static ir_val_t attention(build_t *b, ir_val_t x, ir_val_t angle)
{
    const llama_config_t *c = b->config;
    ir_val_t q = project(b, x, c->heads), k = project(b, x, c->kv_heads);
    ir_val_t v = ir_convert(b->fn, project(b, x, c->kv_heads), b->dtype);
    if (c->qk_norm) q = rms_norm(b, q, layer_next(b));
    if (c->qk_norm) k = rms_norm(b, k, layer_next(b));
    q = ir_convert(b->fn, rotate(b, q, angle), b->dtype);
    k = ir_convert(b->fn, rotate(b, k, angle), b->dtype);
    ir_val_t y = layer_attention(b, q, k, v, 1.0 / sqrt((double)head_width(c)));
    return linear(b, y, c->out_bias);
}

/* (silu(x G) * x U) D, silu(x) = x / (1 + e^-x). */
static ir_val_t feed_forward(build_t *b, ir_val_t x)
{
    const llama_config_t *c = b->config;
    ir_val_t gate = linear(b, x, c->mlp_bias), up = linear(b, x, c->mlp_bias);
    ir_val_t silu = ir_op2(b->fn, OP_multiply, gate, ir_op1(b->fn, OP_logistic, gate));
    return linear(b, ir_op2(b->fn, OP_multiply, silu, up), c->mlp_bias);
}

static ir_val_t trunk(build_t *b, ir_val_t tokens)
{
    const llama_config_t *c = b->config;
    ir_val_t table = layer_next(b), x = layer_embed(b, table, tokens), angle = angles(b);
    for (int i = 0; i < c->layers; i++) {
        ir_val_t in = rms_norm(b, x, layer_next(b));
        x = ir_op2(b->fn, OP_add, x, attention(b, in, angle));
        ir_val_t middle = rms_norm(b, x, layer_next(b));
        x = ir_op2(b->fn, OP_add, x, feed_forward(b, middle));
    }
    x = rms_norm(b, layer_wanted(b, x), layer_next(b));
    return layer_head(b, x, c->tied ? table : layer_next(b));
}

static int check_config(const llama_config_t *c, err_t *err)
{
    const model_field_t fields[] = {{"layers", c->layers, 1024},     {"heads", c->heads, 4096},
                                    {"kv_heads", c->kv_heads, 4096}, {"width", c->width, 1 << 20},
                                    {"hidden", c->hidden, 1 << 20},  {"block", c->block, 1 << 20},
                                    {"vocab", c->vocab, 1 << 24},    {"batch", c->batch, 1 << 20}};
    if (model_check("llama", fields, sizeof fields / sizeof *fields, err) < 0) return -1;
    if (c->heads % c->kv_heads != 0)
        return err_set(err, ERR_ARG, "llama: heads %d are not a multiple of kv_heads %d", c->heads,
                       c->kv_heads);
    if (!c->head_width && c->width % c->heads != 0)
        return err_set(err, ERR_ARG, "llama: width %d is not a multiple of heads %d", c->width,
                       c->heads);
    if (head_width(c) < 2 || head_width(c) % 2 != 0 || head_width(c) > 1 << 16)
        return err_set(err, ERR_ARG, "llama: heads of width %d, must be even", head_width(c));
    if (!(c->eps > 0 && c->theta > 0 && isfinite(c->eps) && isfinite(c->theta)))
        return err_set(err, ERR_ARG, "llama: eps %g and theta %g must be above 0", c->eps,
                       c->theta);
    bool scaled = c->rope != ROPE_PLAIN,
         bounded = c->rope != ROPE_LLAMA3 || (c->rope_high > c->rope_low && c->rope_block > 0);
    if ((scaled && !(c->rope_factor > 0 && isfinite(c->rope_factor))) || !bounded)
        return err_set(err, ERR_ARG, "llama: rotary positions scaled by %g (%g to %g of %d)",
                       c->rope_factor, c->rope_low, c->rope_high, c->rope_block);
    return 0;
}

ir_module_t *llama_build(const llama_config_t *config, err_t *err)
{
    if (check_config(config, err) < 0) return NULL;
    ir_module_t *m = ir_module_new();
    params_t params = {.arena = m->arena, .prefix = "", .dtype = config->bf16 ? DT_BF16 : DT_F32};
    add_all(&params, config);
    const model_t model = {.name = "llama",
                           .config = config,
                           .batch = config->batch,
                           .block = config->block,
                           .weighted = config->weighted,
                           .vocab = config->vocab,
                           .layers = config->layers,
                           .kv_heads = config->kv_heads,
                           .head = head_width(config),
                           .steps = config->steps,
                           .trunk = trunk};
    return model_build(&model, &params, m, err);
}
