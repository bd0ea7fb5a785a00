/* A network of two layers that learns XOR: its gradients printed once, then trained by the optimizer. */
#include <pcp/pcp.h>
#include <stdio.h>
#include <stdlib.h>

static pcp_error_t *error;

static void *check(void *object)
{
    if (object) return object;
    fprintf(stderr, "network: %s\n", pcp_error_text(error));
    exit(1);
}
#define OK(call) check((call) < 0 ? NULL : error)

/* x [4, 2] -> tanh(x W1 + b1) W2 + b2 [4, 1]; the loss is the mean square of what is missing to t. */
static pcp_graph_t *build(void)
{
    pcp_type_t x = PCP_TYPE(PCP_F32, 4, 2), t = PCP_TYPE(PCP_F32, 4, 1);
    pcp_type_t w1 = PCP_TYPE(PCP_F32, 2, 8), b1 = PCP_TYPE(PCP_F32, 8);
    pcp_type_t w2 = PCP_TYPE(PCP_F32, 8, 1), b2 = PCP_TYPE(PCP_F32, 1);
    pcp_graph_t *g = pcp_graph_new();
    pcp_function_begin(g, "main");
    pcp_value_t y = pcp_input(g, "x", &x);
    y = pcp_matmul(g, y, pcp_param(g, "w1", &w1, "normal(1)"));
    y = pcp_tanh(g, pcp_add(g, y, pcp_broadcast_like(g, pcp_param(g, "b1", &b1, "zeros"), y)));
    y = pcp_matmul(g, y, pcp_param(g, "w2", &w2, "normal(1)"));
    y = pcp_add(g, y, pcp_broadcast_like(g, pcp_param(g, "b2", &b2, "zeros"), y));
    pcp_value_t d = pcp_subtract(g, y, pcp_input(g, "t", &t));
    pcp_output(g, "loss", pcp_mean(g, pcp_multiply(g, d, d)));
    OK(pcp_function_end(g, error));
    OK(pcp_gradient(g, "main", "gradient", 0, NULL, error)); /* with respect to all parameters */
    return g;
}

static void print_gradients(const pcp_graph_t *g, const pcp_tensor_t *x, const pcp_tensor_t *t)
{
    static const char *const name[] = {"loss", "grad.w1", "grad.b1", "grad.w2", "grad.b2"};
    pcp_plan_t *plan = check(pcp_compile(g, NULL, error));
    pcp_session_t *s = check(pcp_session_new(plan, NULL, 0, error));
    OK(pcp_session_init(s, g, 7, error));
    OK(pcp_session_set(s, "x", x, error));
    OK(pcp_session_set(s, "t", t, error));
    OK(pcp_session_run(s, "gradient", error));
    for (int k = 0; k < 5; k++) {
        pcp_tensor_t *value = check(pcp_session_get(s, name[k], error));
        printf("%-8s", name[k]);
        for (int64_t i = 0; i < pcp_type_count(pcp_tensor_type(value)); i++)
            printf(" %8.4f", pcp_tensor_get(value, i));
        printf("\n");
        pcp_tensor_release(&value);
    }
    pcp_session_destroy(&s);
    pcp_plan_release(&plan);
}

int main(void)
{
    static const float inputs[] = {0, 0, 0, 1, 1, 0, 1, 1}, xor[] = {0, 1, 1, 0};
    error = pcp_error_new();
    pcp_graph_t *g = build();
    pcp_type_t x_type = PCP_TYPE(PCP_F32, 4, 2), t_type = PCP_TYPE(PCP_F32, 4, 1);
    pcp_tensor_t *x = check(pcp_tensor_from(&x_type, inputs, sizeof inputs, error));
    pcp_tensor_t *t = check(pcp_tensor_from(&t_type, xor, sizeof xor, error));
    print_gradients(g, x, t);
    pcp_plan_t *plan = check(pcp_compile_training(g, "weight_decay=0", NULL, error));
    pcp_session_t *s = check(pcp_session_new(plan, NULL, 0, error));
    float loss = 1;
    OK(pcp_session_init(s, g, 7, error));
    for (int step = 1; step <= 300; step++) {
        OK(pcp_session_train(s, 2, (const pcp_tensor_t *[]){x, t}, 0.03, step, &loss, error));
        if (step % 60 == 0) printf("step %3d: loss %.6f\n", step, loss);
    }
    pcp_tensor_release(&x), pcp_tensor_release(&t), pcp_session_destroy(&s);
    pcp_plan_release(&plan), pcp_graph_destroy(&g), pcp_error_destroy(&error);
    return loss < 1e-3 ? 0 : 1; /* it has learned XOR */
}
