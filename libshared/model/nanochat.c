/* nanochat's model as StableHLO. */
#include "model/nanochat.h"

#include <math.h>

#include "ir/tensor.h"
#include "model/layers.h"

static int head_width(const nanochat_config_t *c)
{
    return c->width / c->heads;
}

/* --- parameters --- */

static void add_matrix(params_t *p, const char *name, int64_t in, int64_t out, bool zeros)
{
    double std = fmin(1, sqrt((double)out / (double)in)) / sqrt((double)in);
    params_add(p, name, zeros ? "zeros" : arena_printf(p->arena, "normal(%.9g)", std), 2, out, in);
}

static void add_all(params_t *p, const nanochat_config_t *c)
{
    int64_t w = c->width, kv = (int64_t)c->kv_heads * head_width(c);
    params_add(p, "model.embed_tokens.weight", "normal(1)", 2, c->vocab, w);
    for (int i = 0; i < c->layers; i++) {
        p->prefix = arena_printf(p->arena, "model.layers.%d.", i);
        add_matrix(p, "self_attn.q_proj.weight", w, w, false);
        add_matrix(p, "self_attn.k_proj.weight", w, kv, false);
        add_matrix(p, "self_attn.v_proj.weight", w, kv, false);
        add_matrix(p, "self_attn.o_proj.weight", w, w, true);
        add_matrix(p, "mlp.fc1.weight", w, c->hidden, false);
        add_matrix(p, "mlp.fc2.weight", c->hidden, w, true);
    }
    p->prefix = "";
    params_add(p, "lm_head.weight", "zeros", 2, c->vocab, w);
}

/* --- rotary positions, as tables: so all programs of a model have the same bits --- */

typedef struct {
    ir_val_t cosine, sine;
} turns_t;

/* In f32 as nanochat computes them: inverse = 1 / theta^(2i/head), angle = position inverse. */
static float angle_of(const nanochat_config_t *c, int64_t position, int64_t pair)
{
    float power = powf((float)c->theta, (float)(2 * pair) / (float)head_width(c));
    return (float)position * (1.0f / power);
}

/* [rows, head / 2]: the cosine of each position and pair, or, turned the other way, minus the sine. */
static ir_val_t table(build_t *b, int64_t rows, bool sine)
{
    const nanochat_config_t *c = b->config;
    int64_t half = head_width(c) / 2;
    ir_type_t type = ir_type(c->rope_bf16 ? DT_BF16 : DT_F32, 2, (int64_t[]){rows, half});
    arena_t *arena = b->fn->module->arena;
    tensor_t out = {.type = type, .data = ARENA_ARRAY(arena, float, rows *half)};
    for (int64_t i = 0; i < rows * half; i++) {
        double angle = (double)angle_of(c, i / half, i % half);
        tensor_set_f64(&out, i, (float)(sine ? -sin(angle) : cos(angle)));
    }
    return ir_const(b->fn, &out);
}

/* Rows of a table by position, in f32: [block, head / 2]; with steps [batch, time, head / 2]. */
static ir_val_t at_positions(build_t *b, bool sine)
{
    const nanochat_config_t *c = b->config;
    if (!b->steps) return ir_convert(b->fn, table(b, b->time, sine), DT_F32);
    ir_type_t type = ir_type(DT_F32, 3, (int64_t[]){b->batch, b->time, head_width(c) / 2});
    ir_val_t rows = layer_embed(b, table(b, c->steps->length, sine), layer_positions(b));
    return ir_reshape(b->fn, rows, &type);
}

/* --- layers; x is [rows, width] in f32 unless the name says otherwise --- */

static ir_val_t norm(build_t *b, ir_val_t x)
{
    return layer_rms_norm(b, x, ((const nanochat_config_t *)b->config)->eps);
}

/* A projection as [batch, time, heads, head] in f32. */
static ir_val_t project(build_t *b, ir_val_t x, int heads)
{
    ir_type_t type = ir_type(DT_F32, 4,
                             (int64_t[]){b->batch, b->time, heads, head_width(b->config)});
    return ir_reshape(b->fn, layer_product(b, x, layer_next(b), true), &type);
}

static ir_val_t attention(build_t *b, ir_val_t x, const turns_t *turns)
{
    const nanochat_config_t *c = b->config;
    ir_val_t q = project(b, x, c->heads), k = project(b, x, c->kv_heads);
    ir_val_t v = ir_convert(b->fn, project(b, x, c->kv_heads), b->dtype);
    q = norm(b, layer_rotate(b, q, turns->cosine, turns->sine));
    k = norm(b, layer_rotate(b, k, turns->cosine, turns->sine));
    ir_val_t y = layer_attention(b, ir_convert(b->fn, q, b->dtype), ir_convert(b->fn, k, b->dtype),
                                 v, 1.0 / sqrt((double)head_width(c)));
    return layer_product(b, y, layer_next(b), true);
}

/* relu(x F1)^2 F2. */
static ir_val_t feed_forward(build_t *b, ir_val_t x)
{
    ir_val_t in = layer_product(b, x, layer_next(b), true);
    ir_val_t relu = ir_op2(b->fn, OP_maximum, in, ir_scalar_like(b->fn, in, 0));
    return layer_product(b, ir_op2(b->fn, OP_multiply, relu, relu), layer_next(b), true);
}

static ir_val_t trunk(build_t *b, ir_val_t tokens)
{
    const nanochat_config_t *c = b->config;
    turns_t turns = {at_positions(b, false), at_positions(b, true)};
    ir_val_t x = norm(b, layer_embed(b, layer_next(b), tokens));
    for (int i = 0; i < c->layers; i++) {
        x = ir_op2(b->fn, OP_add, x, attention(b, norm(b, x), &turns));
        x = ir_op2(b->fn, OP_add, x, feed_forward(b, norm(b, x)));
    }
    ir_val_t y = layer_head(b, norm(b, layer_wanted(b, x)), layer_next(b));
    if (c->softcap == 0) return y;
    return layer_scale(b, ir_op1(b->fn, OP_tanh, layer_scale(b, y, 1 / c->softcap)), c->softcap);
}

static int check_config(const nanochat_config_t *c, err_t *err)
{
    const model_field_t fields[] = {{"layers", c->layers, 1024},     {"heads", c->heads, 4096},
                                    {"kv_heads", c->kv_heads, 4096}, {"width", c->width, 1 << 20},
                                    {"hidden", c->hidden, 1 << 20},  {"block", c->block, 1 << 20},
                                    {"vocab", c->vocab, 1 << 24},    {"batch", c->batch, 1 << 20}};
    if (model_check("nanochat", fields, sizeof fields / sizeof *fields, err) < 0) return -1;
    if (c->heads % c->kv_heads != 0 || c->width % c->heads != 0 || head_width(c) % 2 != 0)
        return err_set(
            err, ERR_ARG,
            "nanochat: width %d, heads %d, kv_heads %d: heads must be of one even width, "
            "and as many for each head of keys",
            c->width, c->heads, c->kv_heads);
    if (!(c->eps > 0 && c->theta > 0 && c->softcap >= 0 &&
          isfinite(c->eps + c->theta + c->softcap)))
        return err_set(err, ERR_ARG,
                       "nanochat: eps %g and theta %g must be above 0, softcap %g not below",
                       c->eps, c->theta, c->softcap);
    return 0;
}

ir_module_t *nanochat_build(const nanochat_config_t *config, err_t *err)
{
    if (check_config(config, err) < 0) return NULL;
    ir_module_t *m = ir_module_new();
    params_t params = {.arena = m->arena, .prefix = "", .dtype = config->bf16 ? DT_BF16 : DT_F32};
    add_all(&params, config);
    const model_t model = {.name = "nanochat",
                           .config = config,
                           .batch = config->batch,
                           .block = config->block,
                           .weighted = config->weighted,
                           .vocab = config->vocab,
                           .layers = config->layers,
                           .kv_heads = config->kv_heads,
                           .head = head_width(config),
                           .masked = true,
                           .steps = config->steps,
                           .trunk = trunk};
    return model_build(&model, &params, m, err);
}
