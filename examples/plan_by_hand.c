/* A plan and its gradient plan, run by hand: one says how good the parameters are, the other one where down is, and the
 * steps between are ours. A plan is a file: what is saved here runs where there is no compiler and no graph. */
#include <pcp/pcp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64 };

static pcp_error_t *error;

static void *check(void *object)
{
    if (object) return object;
    fprintf(stderr, "plan_by_hand: %s\n", pcp_error_text(error));
    exit(1);
}
#define OK(call) check((call) < 0 ? NULL : error)

/* Fit t = x w, x [N, 2], by the mean of squares. */
static pcp_graph_t *build(void)
{
    pcp_type_t x = PCP_TYPE(PCP_F32, N, 2), w = PCP_TYPE(PCP_F32, 2, 1);
    pcp_type_t t = PCP_TYPE(PCP_F32, N, 1);
    pcp_graph_t *g = pcp_graph_new();
    pcp_function_begin(g, "main");
    pcp_value_t y = pcp_input(g, "x", &x);
    y = pcp_matmul(g, y, pcp_param(g, "w", &w, NULL));
    y = pcp_subtract(g, y, pcp_input(g, "t", &t));
    pcp_output(g, "loss", pcp_mean(g, pcp_multiply(g, y, y)));
    OK(pcp_function_end(g, error));
    return g;
}

/* Compile, to a file, and from there onto this machine's processor, with the data. */
static pcp_session_t *load(pcp_graph_t *g, const char *path, pcp_tensor_t *x, pcp_tensor_t *t)
{
    pcp_plan_t *plan = check(pcp_compile(g, NULL, error));
    OK(pcp_plan_save(plan, path, error)), pcp_plan_release(&plan);
    plan = check(pcp_plan_load(path, error)), remove(path);
    pcp_session_t *s = check(pcp_session_new(plan, NULL, 1, error));
    printf("%s: a plan for %s\n", path, pcp_plan_target(plan));
    pcp_plan_release(&plan); /* the session keeps it */
    OK(pcp_session_set(s, "x", x, error)), OK(pcp_session_set(s, "t", t, error));
    return s;
}

int main(void)
{
    error = pcp_error_new();
    pcp_type_t x_type = PCP_TYPE(PCP_F32, N, 2), t_type = PCP_TYPE(PCP_F32, N, 1);
    pcp_type_t w_type = PCP_TYPE(PCP_F32, 2, 1), number = pcp_scalar(PCP_F32);
    pcp_tensor_t *x = pcp_tensor_new(&x_type, error), *t = pcp_tensor_new(&t_type, error);
    pcp_tensor_t *w = pcp_tensor_new(&w_type, error), *grad = pcp_tensor_new(&w_type, error);
    pcp_tensor_t *loss = pcp_tensor_new(&number, error);
    pcp_tensor_uniform(x, 1, -1, 1);
    for (int i = 0; i < N; i++) /* what is to be found: w = (3, -2) */
        pcp_tensor_set(t, i, 3 * pcp_tensor_get(x, 2 * i) - 2 * pcp_tensor_get(x, 2 * i + 1));
    pcp_graph_t *g = build();
    pcp_session_t *forward = load(g, "forward.plan", x, t);
    OK(pcp_gradient(g, "main", "gradient", 0, NULL, error));
    pcp_session_t *backward = load(g, "backward.plan", x, t);
    for (int step = 0; step <= 40; step++) {
        OK(pcp_session_set(backward, "w", w, error));
        OK(pcp_session_run(backward, "gradient", error));
        OK(pcp_session_get_into(backward, "grad.w", grad, error));
        for (int i = 0; i < 2; i++) /* down, by a part of the slope */
            pcp_tensor_set(w, i, pcp_tensor_get(w, i) - 0.5 * pcp_tensor_get(grad, i));
        OK(pcp_session_set(forward, "w", w, error)), OK(pcp_session_run(forward, "main", error));
        OK(pcp_session_get_into(forward, "loss", loss, error));
        printf("step %2d: w (%7.4f, %7.4f), loss %.6f\n", step, pcp_tensor_get(w, 0),
               pcp_tensor_get(w, 1), pcp_tensor_get(loss, 0));
    }
    int found = pcp_tensor_get(loss, 0) < 1e-6;
    pcp_tensor_t **all[] = {&x, &t, &w, &grad, &loss};
    for (int i = 0; i < 5; i++) pcp_tensor_release(all[i]);
    pcp_session_destroy(&forward), pcp_session_destroy(&backward), pcp_graph_destroy(&g);
    pcp_error_destroy(&error);
    return found ? 0 : 1;
}
