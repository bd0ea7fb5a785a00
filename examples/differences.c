/* Reverse-mode gradients against finite differences, in double precision: (f(x + h) - f(x - h)) / 2h is good to about
 * h^2, so with h = 1e-5 all digits that are compared here are the gradient's. */
#include <math.h>
#include <pcp/pcp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 3, COLUMNS = 4 };

static pcp_error_t *error;

static void ok(int status)
{
    if (status == 0) return;
    fprintf(stderr, "differences: %s\n", pcp_error_text(error));
    exit(1);
}

/* A function with a bit of everything: a product, a softmax, a logarithm, rows that data choose. */
static void build(pcp_graph_t *g)
{
    pcp_type_t x_type = PCP_TYPE(PCP_F64, ROWS, COLUMNS), pick_type = PCP_TYPE(PCP_I32, 5);
    pcp_function_begin(g, "f");
    pcp_value_t x = pcp_input(g, "x", &x_type), pick = pcp_input(g, "pick", &pick_type);
    pcp_value_t gram = pcp_dot(g, x, x, 0, NULL, NULL, 1, (int64_t[]){1}, (int64_t[]){1});
    pcp_value_t rows = pcp_rows(g, pcp_softmax(g, gram), pick);
    pcp_value_t y = pcp_log(g, pcp_add(g, rows, pcp_like(g, rows, 0.1)));
    pcp_output(g, "y", pcp_mean(g, pcp_multiply(g, y, y)));
    ok(pcp_function_end(g, error));
    ok(pcp_gradient(g, "f", "df", 1, (const char *[]){"x"}, error));
}

static double value(const pcp_graph_t *g, const pcp_tensor_t *x, const pcp_tensor_t *pick)
{
    pcp_tensor_t *y;
    ok(pcp_evaluate(g, "f", 2, (const pcp_tensor_t *[]){x, pick}, 1, &y, error));
    double result = pcp_tensor_get(y, 0);
    pcp_tensor_release(&y);
    return result;
}

int main(void)
{
    const double h = 1e-5;
    double worst = 0;
    error = pcp_error_new();
    pcp_graph_t *g = pcp_graph_new();
    build(g);
    pcp_type_t x_type = PCP_TYPE(PCP_F64, ROWS, COLUMNS), pick_type = PCP_TYPE(PCP_I32, 5);
    pcp_tensor_t *x = pcp_tensor_new(&x_type, error), *pick = pcp_tensor_new(&pick_type, error);
    pcp_tensor_t *out[2]; /* y, and d y / d x */
    pcp_tensor_normal(x, 1, 0, 1);
    for (int i = 0; i < 5; i++) pcp_tensor_set(pick, i, i % ROWS);
    ok(pcp_evaluate(g, "df", 2, (const pcp_tensor_t *[]){x, pick}, 2, out, error));
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        double at = pcp_tensor_get(x, i), reverse = pcp_tensor_get(out[1], i);
        pcp_tensor_set(x, i, at + h);
        double up = value(g, x, pick);
        pcp_tensor_set(x, i, at - h);
        double difference = (up - value(g, x, pick)) / (2 * h);
        pcp_tensor_set(x, i, at);
        worst = fmax(worst, fabs(difference - reverse));
        printf("dy/dx[%2d]  reverse %13.10f  difference %13.10f\n", i, reverse, difference);
    }
    printf("worst deviation %.1e\n", worst);
    pcp_tensor_release(&out[0]), pcp_tensor_release(&out[1]);
    pcp_tensor_release(&x), pcp_tensor_release(&pick);
    pcp_graph_destroy(&g), pcp_error_destroy(&error);
    return worst < 1e-8 ? 0 : 1;
}
