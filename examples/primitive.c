/* Primitive operations: a graph of a few ops, its values by the reference evaluator, and what is said of shapes
 * that do not fit. No compiler is needed. */
#include <pcp/pcp.h>
#include <stdio.h>
#include <stdlib.h>

static void ok(int status, const pcp_error_t *error)
{
    if (status == 0) return;
    fprintf(stderr, "primitive: %s\n", pcp_error_text(error));
    exit(1);
}

static void print(const char *name, const pcp_tensor_t *t)
{
    char type[PCP_TYPE_TEXT];
    printf("%s: %s =", name, pcp_type_text(pcp_tensor_type(t), type));
    for (int64_t i = 0; i < pcp_type_count(pcp_tensor_type(t)); i++)
        printf(" %g", pcp_tensor_get(t, i));
    printf("\n");
}

/* Each of these is wrong in its own way. The graph keeps the first error; the function is not added. */
static void wrong(pcp_graph_t *g, int which, pcp_error_t *error)
{
    pcp_type_t matrix = PCP_TYPE(PCP_F32, 2, 3), vector = PCP_TYPE(PCP_F32, 2);
    pcp_function_begin(g, "wrong");
    pcp_value_t a = pcp_input(g, "a", &matrix), b = pcp_input(g, "b", &vector);
    if (which == 0) a = pcp_add(g, a, b);
    if (which == 1) a = pcp_matmul(g, a, a);
    if (which == 2) a = pcp_reshape(g, a, 2, (int64_t[]){4, 2});
    if (which == 3) a = pcp_op1(g, "stablehlo.and", 2, (pcp_value_t[]){a, a}, NULL, NULL);
    a = pcp_tanh(g, a); /* of no value: nothing more is said */
    pcp_output(g, "y", a);
    if (pcp_function_end(g, error) < 0) printf("refused: %s\n", pcp_error_text(error));
}

int main(void)
{
    pcp_error_t *error = pcp_error_new();
    pcp_graph_t *g = pcp_graph_new();
    pcp_type_t type = PCP_TYPE(PCP_F32, 2, 3);

    /* y = tanh(x) * 2; its sums along rows; its columns in the order of their numbers from behind */
    pcp_function_begin(g, "main");
    pcp_value_t y = pcp_scale(g, pcp_tanh(g, pcp_input(g, "x", &type)), 2);
    pcp_output(g, "y", y);
    pcp_output(g, "sums", pcp_reduce(g, "stablehlo.add", y, 1, (int64_t[]){1}));
    /* any op of the table by its name, with attributes as StableHLO writes them */
    pcp_output(g, "turned", pcp_op1(g, "stablehlo.reverse", 1, &y, "dimensions = [1]", NULL));
    ok(pcp_function_end(g, error), error);

    pcp_tensor_t *x = pcp_tensor_new(&type, error), *out[3];
    for (int i = 0; i < 6; i++) pcp_tensor_set(x, i, i - 2);
    ok(pcp_evaluate(g, "main", 1, (const pcp_tensor_t *[]){x}, 3, out, error), error);
    print("x", x);
    for (int i = 0; i < 3; i++) {
        const char *name;
        pcp_function_output(g, "main", i, &name);
        print(name, out[i]);
        pcp_tensor_release(&out[i]);
    }
    for (int which = 0; which < 4; which++) wrong(g, which, error);

    pcp_tensor_release(&x);
    pcp_graph_destroy(&g);
    pcp_error_destroy(&error);
    return 0;
}
