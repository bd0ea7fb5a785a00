/* shakespeare FILE [STEPS]: train a small GPT-2 on a text, letter by letter, and let it write.
 * On Tiny Shakespeare (a megabyte), 500 steps take some minutes on two cores and give words and names. */
#include <pcp/pcp.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 16, BLOCK = 64 };

static pcp_error_t *error;

static void *check(void *object)
{
    if (object) return object;
    fprintf(stderr, "shakespeare: %s\n", pcp_error_text(error));
    exit(1);
}
#define OK(call) check((call) < 0 ? NULL : error)
static char text[4 << 20];

static size_t read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(text, 1, sizeof text, file) : 0;
    if (n < 2 * BLOCK) fprintf(stderr, "shakespeare: no text in %s\n", path), exit(1);
    return fclose(file), n;
}

/* BATCH windows of the text, at random, and the same one token on: what comes next. */
static void draw(const pcp_tensor_t *tokens, uint64_t step, pcp_tensor_t *x, pcp_tensor_t *y)
{
    const int32_t *all = pcp_tensor_bytes(tokens);
    int32_t *in = pcp_tensor_data(x), *out = pcp_tensor_data(y);
    double starts = (double)pcp_type_count(pcp_tensor_type(tokens)) - BLOCK - 1;
    pcp_type_t places = PCP_TYPE(PCP_I64, BATCH);
    pcp_tensor_t *start = check(pcp_tensor_new(&places, error));
    pcp_tensor_uniform(start, step, 0, starts);
    for (int i = 0; i < BATCH * BLOCK; i++) {
        int64_t at = (int64_t)pcp_tensor_get(start, i / BLOCK) + i % BLOCK;
        in[i] = all[at], out[i] = all[at + 1];
    }
    pcp_tensor_release(&start);
}

static void show(void *user, const char *piece, size_t n)
{
    fwrite(piece, 1, n, user), fflush(user);
}

int main(int argc, char **argv)
{
    char shape[128];
    size_t n = read_text(argc > 1 ? argv[1] : "");
    int steps = argc > 2 ? atoi(argv[2]) : 500;
    error = pcp_error_new();
    pcp_tokenizer_t *letters = check(pcp_tokenizer_new("char", text, n, error));
    pcp_tensor_t *tokens = check(pcp_tokenizer_encode(letters, text, n, error));
    snprintf(shape, sizeof shape, "layers=4 heads=4 width=128 block=%d batch=%d vocab=%d", BLOCK,
             BATCH, (int)pcp_tokenizer_vocab(letters));
    pcp_graph_t *model = check(pcp_model_gpt2(shape, error));
    pcp_plan_t *plan = check(pcp_compile_training(model, "beta2=0.99", NULL, error));
    pcp_session_t *s = check(pcp_session_new(plan, NULL, 0, error));
    OK(pcp_session_init(s, model, 1337, error));
    pcp_type_t type = PCP_TYPE(PCP_I32, BATCH, BLOCK);
    pcp_tensor_t *x = pcp_tensor_new(&type, error), *y = pcp_tensor_new(&type, error);
    float loss;
    for (int step = 1; step <= steps; step++) {
        draw(tokens, (uint64_t)step, x, y);
        OK(pcp_session_train(s, 2, (const pcp_tensor_t *[]){x, y}, 1e-3, step, &loss, error));
        if (step % 50 == 0 || step == steps) printf("step %4d: loss %.3f\n", step, loss);
    }
    pcp_generator_t *writer = check(pcp_generator_new(model, s, letters, 0, error));
    char *written = check(
        pcp_generate(writer, "The ", "tokens=200 temperature=0.8 top_k=20", show, stdout, error));
    pcp_free(written), pcp_generator_destroy(&writer), pcp_session_destroy(&s);
    pcp_plan_release(&plan), pcp_graph_destroy(&model), pcp_tokenizer_destroy(&letters);
    pcp_tensor_release(&x), pcp_tensor_release(&y), pcp_tensor_release(&tokens);
    pcp_error_destroy(&error);
    return 0;
}
