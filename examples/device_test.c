/* device_test [DEVICES]: does each device compute what the reference evaluator does? The worst deviation is told. */
#include <math.h>
#include <pcp/pcp.h>
#include <stdio.h>
#include <stdlib.h>

static pcp_error_t *error;
static void *check(void *object)
{
    if (object) return object;
    fprintf(stderr, "device_test: %s\n", pcp_error_text(error));
    exit(1);
}
#define OK(call) check((call) < 0 ? NULL : error)

/* Softmax of two products, in f32; its gradient has most kinds of kernels. */
static pcp_graph_t *build(void)
{
    error = pcp_error_new();
    pcp_type_t x = PCP_TYPE(PCP_F32, 32, 48), v = PCP_TYPE(PCP_F32, 48, 96),
               w = PCP_TYPE(PCP_F32, 96, 10);
    pcp_graph_t *g = pcp_graph_new();
    pcp_function_begin(g, "main");
    pcp_value_t y = pcp_input(g, "x", &x);
    y = pcp_matmul(g, y, pcp_input(g, "v", &v));
    y = pcp_matmul(g, pcp_gelu(g, pcp_normalize(g, y, 1e-5)), pcp_input(g, "w", &w));
    y = pcp_log_softmax(g, y);
    pcp_output(g, "loss", pcp_mean(g, pcp_multiply(g, y, y)));
    OK(pcp_function_end(g, error)), OK(pcp_gradient(g, "main", "gradient", 0, NULL, error));
    return g;
}

static double deviation(const pcp_tensor_t *a, const pcp_tensor_t *b)
{
    double worst = 0, largest = 0;
    for (int64_t i = pcp_type_count(pcp_tensor_type(a)) - 1; i >= 0; i--) {
        worst = fmax(worst, fabs(pcp_tensor_get(a, i) - pcp_tensor_get(b, i)));
        largest = fmax(largest, fabs(pcp_tensor_get(a, i)));
    }
    return worst / largest;
}

/* The worst of all results of the gradient program on this device. */
static double test(pcp_graph_t *g, const char *device, pcp_tensor_t **in, pcp_tensor_t **want)
{
    static const char *const name[] = {"x", "v", "w", "loss", "grad.x", "grad.v", "grad.w"};
    double worst = 0;
    pcp_plan_t *plan = check(pcp_compile(g, device, error));
    pcp_session_t *s = check(pcp_session_new(plan, device, 0, error));
    for (int i = 0; i < 3; i++) OK(pcp_session_set(s, name[i], in[i], error));
    OK(pcp_session_run(s, "gradient", error));
    for (int i = 0; i < 4; i++) {
        pcp_tensor_t *got = check(pcp_session_get(s, name[3 + i], error));
        worst = fmax(worst, deviation(want[i], got));
        pcp_tensor_release(&got);
    }
    return pcp_session_destroy(&s), pcp_plan_release(&plan), worst;
}

int main(int argc, char **argv)
{
    int failed = 0;
    pcp_tensor_t *in[3], *want[4];
    pcp_graph_t *g = build();
    for (int i = 0; i < 3; i++) {
        pcp_type_t type = pcp_function_input(g, "gradient", i, NULL);
        pcp_tensor_normal(in[i] = check(pcp_tensor_new(&type, error)), (uint64_t)i, 0, 0.5);
    }
    OK(pcp_evaluate(g, "gradient", 3, (const pcp_tensor_t *const *)in, 4, want, error));
    pcp_devices_t *devices = check(pcp_devices_new(argc > 1 ? argv[1] : NULL, error));
    for (int i = 0; i < pcp_devices_count(devices); i++) {
        double worst = test(g, pcp_devices_name(devices, i), in, want);
        printf("%-10s %.1e of the largest\n", pcp_devices_name(devices, i), worst);
        failed += !(worst < 1e-4); /* f32 sums in another order */
    }
    for (int i = 0; i < 7; i++) pcp_tensor_release(i < 3 ? &in[i] : &want[i - 3]);
    pcp_devices_destroy(&devices), pcp_graph_destroy(&g);
    return pcp_error_destroy(&error), failed;
}
