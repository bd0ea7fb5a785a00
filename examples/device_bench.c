/* device_bench [DEVICES [N]]: how fast each device of this machine multiplies two N x N matrices of f32, and reads memory: a sum
 * over N x N. The best of several runs counts; data stay on the device. */
#include <pcp/pcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pcp_error_t *error;

static void *check(void *object)
{
    if (object) return object;
    fprintf(stderr, "device_bench: %s\n", pcp_error_text(error));
    exit(1);
}
#define OK(call) check((call) < 0 ? NULL : error)

static pcp_graph_t *build(int64_t n)
{
    pcp_type_t type = PCP_TYPE(PCP_F32, n, n);
    pcp_graph_t *g = pcp_graph_new();
    pcp_function_begin(g, "multiply");
    pcp_value_t a = pcp_input(g, "a", &type);
    pcp_output(g, "product", pcp_matmul(g, a, pcp_input(g, "b", &type)));
    OK(pcp_function_end(g, error));
    pcp_function_begin(g, "sum");
    pcp_output(g, "total", pcp_reduce_all(g, "stablehlo.add", pcp_input(g, "a", &type)));
    OK(pcp_function_end(g, error));
    return g;
}

static double seconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Seconds of the fastest of ten runs. Reading the result waits for the device. */
static double best_of(pcp_session_t *s, const char *program, const char *result)
{
    double best = 1e9;
    for (int i = 0; i < 10; i++) {
        double begin = seconds();
        OK(pcp_session_run(s, program, error));
        pcp_tensor_t *got = check(pcp_session_get(s, result, error));
        double took = seconds() - begin;
        pcp_tensor_release(&got);
        if (took < best) best = took;
    }
    return best;
}

int main(int argc, char **argv)
{
    int64_t n = argc > 2 ? atoi(argv[2]) : 512;
    error = pcp_error_new();
    pcp_graph_t *g = build(n);
    pcp_type_t type = PCP_TYPE(PCP_F32, n, n);
    pcp_tensor_t *values = check(pcp_tensor_new(&type, error));
    pcp_devices_t *devices = check(pcp_devices_new(argc > 1 ? argv[1] : NULL, error));
    pcp_tensor_uniform(values, 1, -1, 1);
    for (int i = 0; i < pcp_devices_count(devices); i++) {
        const char *name = pcp_devices_name(devices, i);
        pcp_plan_t *plan = check(pcp_compile(g, name, error));
        pcp_session_t *s = check(pcp_session_new(plan, name, 0, error));
        OK(pcp_session_set(s, "a", values, error)), OK(pcp_session_set(s, "b", values, error));
        double product = best_of(s, "multiply", "product"), sum = best_of(s, "sum", "total");
        printf("%-10s %8.1f GFLOP/s (with reading the result), %7.1f GB/s\n", name,
               2e-9 * (double)(n * n * n) / product, 4e-9 * (double)(n * n) / sum);
        pcp_session_destroy(&s), pcp_plan_release(&plan);
    }
    pcp_tensor_release(&values), pcp_devices_destroy(&devices), pcp_graph_destroy(&g);
    pcp_error_destroy(&error);
    return 0;
}
