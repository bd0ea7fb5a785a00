/* Who holds what: tensors are counted, views keep what they look at, sessions keep their plan; and when all is given back,
 * pcp_memory_in_use is zero. */
#include <pcp/pcp.h>
#include <stdio.h>
#include <stdlib.h>

static pcp_error_t *error;

static void *check(void *object)
{
    if (object) return object;
    fprintf(stderr, "memory: %s\n", pcp_error_text(error));
    exit(1);
}

static void tell(const char *what)
{
    printf("%9zu bytes: %s\n", pcp_memory_in_use(), what);
}

/* The caller's memory, until the last tensor around it is gone. */
static void given_back(void *user)
{
    printf("                 (the array is ours again: %s)\n", (const char *)user);
}

int main(void)
{
    static float array[1000];
    tell("at the beginning");
    error = pcp_error_new();
    tell("an error to write into");

    pcp_type_t all = PCP_TYPE(PCP_F32, 1000, 1000), row = PCP_TYPE(PCP_F32, 1000);
    pcp_tensor_t *matrix = check(pcp_tensor_new(&all, error));
    tell("a million floats");
    pcp_tensor_t *second = check(pcp_tensor_view(matrix, &row, 1000, error));
    pcp_tensor_release(&matrix);
    tell("its second row alone, which keeps the rest alive");
    pcp_tensor_t *again = pcp_tensor_retain(second); /* one more holder, no more memory */
    pcp_tensor_release(&second);
    tell("the row has another holder");
    pcp_tensor_release(&again);
    tell("and is given back");

    pcp_tensor_t *around = check(
        pcp_tensor_around(&row, array, sizeof array, given_back, "it was never copied", error));
    tell("a tensor around an array of the program's");
    pcp_tensor_fill(around, 1);
    pcp_tensor_release(&around);

    pcp_graph_t *g = check(pcp_model_gpt2("layers=2 width=64", error));
    tell("a graph");
    pcp_plan_t *plan = check(pcp_compile_training(g, NULL, NULL, error));
    tell("and a plan that trains it, for this machine");
    pcp_graph_destroy(&g);
    tell("which needs no graph any more");
    pcp_session_t *s = check(pcp_session_new(plan, NULL, 0, error));
    pcp_plan_release(&plan);
    tell("a session with room for all tensors, which holds the plan");
    pcp_session_destroy(&s);
    tell("given back");

    pcp_error_destroy(&error);
    tell("at the end");
    return pcp_memory_in_use() == 0 ? 0 : 1;
}
