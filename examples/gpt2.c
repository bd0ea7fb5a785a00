/* GPT-2 from scratch: the transformer from single ops, trained on one batch. Its parameters are called as published ones
 * are, so that the library's own builder, pcp_model_gpt2, begins at the same loss: both are trained side by side. */
#include <stdlib.h>

#include "gpt2_layers.h"

enum { LAYERS = 2, HEADS = 4, WIDTH = 32, TIME = 16, VOCAB = 65, BATCH = 2, STEPS = 30 };

static pcp_error_t *error;

static void *check(void *object)
{
    if (object) return object;
    fprintf(stderr, "gpt2: %s\n", pcp_error_text(error));
    exit(1);
}
#define OK(call) check((call) < 0 ? NULL : error)

static const char *in_layer(int layer, const char *name)
{
    static char text[4][32];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(text[turn], sizeof text[turn], "h.%d.%s", layer, name);
    return text[turn];
}

static pcp_graph_t *build(void)
{
    pcp_graph_t *g = pcp_graph_new();
    pcp_type_t tokens = PCP_TYPE(PCP_I32, BATCH, TIME);
    double residual = 0.02 / sqrt(2.0 * LAYERS); /* of what is added to the stream */
    pcp_function_begin(g, "main");
    pcp_value_t wte = param(g, "wte", "weight", VOCAB, WIDTH, 0.02);
    pcp_value_t wpe = param(g, "wpe", "weight", TIME, WIDTH, 0.02);
    pcp_value_t x = pcp_rows(g, wte, pcp_input(g, "x", &tokens)); /* [BATCH, TIME, WIDTH] */
    x = pcp_reshape(g, pcp_add(g, x, pcp_broadcast_like(g, wpe, x)), 2,
                    (int64_t[]){BATCH * TIME, WIDTH});
    for (int i = 0; i < LAYERS; i++) {
        pcp_value_t y = norm(g, x, in_layer(i, "ln_1"));
        y = linear(g, y, in_layer(i, "attn.c_attn"), WIDTH, 3 * WIDTH, 0.02);
        y = attention(g, y, BATCH, TIME, HEADS);
        x = pcp_add(g, x, linear(g, y, in_layer(i, "attn.c_proj"), WIDTH, WIDTH, residual));
        y = norm(g, x, in_layer(i, "ln_2"));
        y = pcp_gelu(g, linear(g, y, in_layer(i, "mlp.c_fc"), WIDTH, 4 * WIDTH, 0.02));
        x = pcp_add(g, x, linear(g, y, in_layer(i, "mlp.c_proj"), 4 * WIDTH, WIDTH, residual));
    }
    const int64_t width = 1; /* the head is the embedding: x wte^T */
    x = pcp_dot(g, norm(g, x, "ln_f"), wte, 0, NULL, NULL, 1, &width, &width);
    pcp_value_t next = pcp_reshape(g, pcp_input(g, "y", &tokens), 1, (int64_t[]){BATCH * TIME});
    pcp_output(g, "loss", pcp_cross_entropy(g, x, next));
    OK(pcp_function_end(g, error));
    return g;
}

int main(void)
{
    static const char shape[] = "layers=2 heads=4 width=32 block=16 vocab=65 batch=2";
    pcp_type_t tokens = PCP_TYPE(PCP_I32, BATCH, TIME);
    error = pcp_error_new();
    pcp_graph_t *graph[2] = {build(), check(pcp_model_gpt2(shape, error))};
    pcp_tensor_t *x = pcp_tensor_new(&tokens, error), *y = pcp_tensor_new(&tokens, error);
    float first[2], loss[2];
    pcp_tensor_uniform(x, 1, 0, VOCAB - 1), pcp_tensor_uniform(y, 2, 0, VOCAB - 1);
    for (int k = 0; k < 2; k++) {
        pcp_plan_t *plan = check(pcp_compile_training(graph[k], NULL, NULL, error));
        pcp_session_t *s = check(pcp_session_new(plan, NULL, 0, error));
        OK(pcp_session_init(s, graph[k], 1, error)); /* by name and seed: the same in both */
        for (int i = 1; i <= STEPS; i++, first[k] = i == 2 ? loss[k] : first[k])
            OK(pcp_session_train(s, 2, (const pcp_tensor_t *[]){x, y}, 3e-3, i, &loss[k], error));
        printf("%s: loss %.5f, then %.5f\n", k ? "pcp_model_gpt2" : "from scratch", first[k],
               loss[k]);
        pcp_session_destroy(&s), pcp_plan_release(&plan), pcp_graph_destroy(&graph[k]);
    }
    pcp_tensor_release(&x), pcp_tensor_release(&y), pcp_error_destroy(&error);
    return fabsf(first[0] - first[1]) < 1e-4f && loss[0] < first[0] - 1 ? 0 : 1;
}
