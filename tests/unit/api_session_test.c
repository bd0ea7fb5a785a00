/* libpcp: plans, sessions, training, files and texts, against what does not depend on them: differences, the reference
 * evaluators, golden losses of the shared material, and an optimizer that is written out here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "corpus.h"
#include "pcp/pcp.h"
#include "temp.h"

static pcp_error_t *error;

static void fine(int status)
{
    if (status < 0) fail_msg("%s", pcp_error_text(error));
}

static void *there(void *object)
{
    if (!object) fail_msg("%s", pcp_error_text(error));
    return object;
}

static int begin(void **state)
{
    (void)state;
    error = pcp_error_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    pcp_error_destroy(&error);
    if (pcp_memory_in_use() != 0) print_error("%zu bytes are held\n", pcp_memory_in_use());
    return pcp_memory_in_use() == 0 ? 0 : -1;
}

/* --- a network in f64: cross-entropy of a layer of tanh, with its parameters declared where they are used --- */

enum { ROWS = 5, IN = 4, HIDDEN = 6, CLASSES = 3 };

static pcp_value_t linear(pcp_graph_t *g, pcp_value_t x, const char *name, int64_t in, int64_t out)
{
    char weight[32], bias[32];
    pcp_type_t matrix = PCP_TYPE(PCP_F64, in, out), vector = PCP_TYPE(PCP_F64, out);
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    pcp_value_t y = pcp_matmul(g, x, pcp_param(g, weight, &matrix, "normal(0.7)"));
    return pcp_add(g, y, pcp_broadcast_like(g, pcp_param(g, bias, &vector, "uniform(-1,1)"), y));
}

static pcp_graph_t *network(void)
{
    pcp_type_t x = PCP_TYPE(PCP_F64, ROWS, IN), t = PCP_TYPE(PCP_I32, ROWS);
    pcp_graph_t *g = pcp_graph_new();
    pcp_function_begin(g, "main");
    pcp_value_t h = pcp_tanh(g, linear(g, pcp_input(g, "x", &x), "first", IN, HIDDEN));
    h = linear(g, pcp_normalize(g, pcp_gelu(g, h), 1e-5), "second", HIDDEN, CLASSES);
    pcp_output(g, "loss", pcp_cross_entropy(g, h, pcp_input(g, "target", &t)));
    pcp_output(g, "scores", h);
    fine(pcp_function_end(g, error));
    return g;
}

enum { MOST = 16 };
typedef struct {
    int n;
    pcp_tensor_t *at[MOST];
    const char *name[MOST];
} tensors_t;

/* One for each argument, with made-up values. */
static tensors_t inputs(const pcp_graph_t *g, const char *function)
{
    tensors_t in = {.n = pcp_function_inputs(g, function)};
    for (int i = 0; i < in.n; i++) {
        pcp_type_t type = pcp_function_input(g, function, i, &in.name[i]);
        in.at[i] = there(pcp_tensor_new(&type, error));
        if (type.dtype == PCP_I32)
            for (int k = 0; k < ROWS; k++) pcp_tensor_set(in.at[i], k, k % CLASSES);
        else
            pcp_tensor_normal(in.at[i], (uint64_t)i, 0, 0.7);
    }
    return in;
}

static void release(tensors_t *t)
{
    for (int i = 0; i < t->n; i++) pcp_tensor_release(&t->at[i]);
}

static tensors_t evaluate(const pcp_graph_t *g, const char *function, const tensors_t *in)
{
    tensors_t out = {.n = pcp_function_outputs(g, function)};
    fine(pcp_evaluate(g, function, in->n, (const pcp_tensor_t *const *)in->at, out.n, out.at,
                      error));
    for (int i = 0; i < out.n; i++) pcp_function_output(g, function, i, &out.name[i]);
    return out;
}

static double loss_at(const pcp_graph_t *g, const tensors_t *in)
{
    tensors_t out = evaluate(g, "main", in);
    double loss = pcp_tensor_get(out.at[0], 0);
    release(&out);
    return loss;
}

/* Central differences with h = 1e-5 are good to about 1e-9 here. */
static double difference(const pcp_graph_t *g, const tensors_t *in, pcp_tensor_t *x, int64_t i)
{
    double was = pcp_tensor_get(x, i), h = 1e-5;
    pcp_tensor_set(x, i, was + h);
    double up = loss_at(g, in);
    pcp_tensor_set(x, i, was - h);
    double down = loss_at(g, in);
    pcp_tensor_set(x, i, was);
    return (up - down) / (2 * h);
}

static void test_gradient(void **state)
{
    pcp_graph_t *g = network();
    double worst = 0, largest = 0;
    int n_compared = 0;
    (void)state;
    fine(pcp_gradient(g, "main", "grad", 0, NULL, error));
    tensors_t in = inputs(g, "main"), out = evaluate(g, "grad", &in);
    assert_int_equal(out.n, 2 + 4); /* loss, scores, and of each parameter */
    for (int i = 0; i < in.n; i++) {
        char name[64];
        snprintf(name, sizeof name, "grad.%s", in.name[i]);
        for (int k = 2; k < out.n; k++) {
            if (strcmp(out.name[k], name) != 0) continue;
            for (int64_t e = 0; e < pcp_type_count(pcp_tensor_type(in.at[i])); e++) {
                double d = difference(g, &in, in.at[i], e), rule = pcp_tensor_get(out.at[k], e);
                worst = fmax(worst, fabs(d - rule));
                largest = fmax(largest, fabs(d));
                n_compared++;
            }
        }
    }
    assert_int_equal(n_compared, IN * HIDDEN + HIDDEN + HIDDEN * CLASSES + CLASSES);
    print_message("worst %.2g of %.2g\n", worst, largest);
    assert_true(worst < 1e-7 * largest && largest > 0.01);
    release(&in);
    release(&out);
    pcp_graph_destroy(&g);
}

/* d/dx of |d loss/dx|^2 / 2 along a direction: a gradient of a function that calls a gradient. */
static void test_second_order(void **state)
{
    pcp_type_t s = pcp_scalar(PCP_F64);
    pcp_graph_t *g = pcp_graph_new();
    pcp_value_t in, out[2];
    (void)state;
    pcp_function_begin(g, "f"); /* x^4 */
    in = pcp_input(g, "x", &s);
    out[0] = pcp_multiply(g, in, in);
    pcp_output(g, "y", pcp_multiply(g, out[0], out[0]));
    fine(pcp_function_end(g, error));
    fine(pcp_gradient(g, "f", "df", 1, (const char *[]){"x"}, error));
    pcp_function_begin(g, "slope");
    in = pcp_input(g, "x", &s);
    pcp_call(g, "df", 1, &in, 2, out);
    pcp_output(g, "y", out[1]);
    fine(pcp_function_end(g, error));
    fine(pcp_gradient(g, "slope", "ddf", 0, NULL, error));
    fine(pcp_vjp(g, "f", "pull", 0, NULL, error));
    pcp_tensor_t *x = pcp_tensor_new(&s, error), *ct = pcp_tensor_new(&s, error), *y[2];
    pcp_tensor_fill(x, 3);
    pcp_tensor_fill(ct, -2);
    fine(pcp_evaluate(g, "ddf", 1, (const pcp_tensor_t *[]){x}, 2, y, error));
    assert_float_equal(pcp_tensor_get(y[0], 0), 4 * 27, 1e-12);
    assert_float_equal(pcp_tensor_get(y[1], 0), 12 * 9, 1e-12);
    pcp_tensor_release(&y[0]);
    pcp_tensor_release(&y[1]);
    fine(pcp_evaluate(g, "pull", 2, (const pcp_tensor_t *[]){x, ct}, 2, y, error));
    assert_float_equal(pcp_tensor_get(y[1], 0), -2 * 4 * 27, 1e-12);
    pcp_tensor_release(&y[0]);
    pcp_tensor_release(&y[1]);
    pcp_tensor_release(&x);
    pcp_tensor_release(&ct);
    pcp_graph_destroy(&g);
}

/* --- plans --- */

static void compare(pcp_session_t *s, const tensors_t *want, double tolerance)
{
    for (int i = 0; i < want->n; i++) {
        pcp_tensor_t *got = there(pcp_session_get(s, want->name[i], error));
        double worst = 0, largest = 0;
        for (int64_t e = 0; e < pcp_type_count(pcp_tensor_type(got)); e++) {
            worst = fmax(worst, fabs(pcp_tensor_get(got, e) - pcp_tensor_get(want->at[i], e)));
            largest = fmax(largest, fabs(pcp_tensor_get(want->at[i], e)));
        }
        if (!(worst <= tolerance * largest))
            fail_msg("%s: off by %g of %g", want->name[i], worst, largest);
        pcp_tensor_release(&got);
    }
}

static void set_all(pcp_session_t *s, const tensors_t *in)
{
    for (int i = 0; i < in->n; i++) fine(pcp_session_set(s, in->name[i], in->at[i], error));
}

/* A plan, saved and loaded again, computes what the evaluators do; f64: 1e-12 for sums in another order. */
static void test_plan(void **state)
{
    char *dir = temp_dir();
    const char *path = temp_path(dir, "plan"), *role;
    pcp_graph_t *g = network();
    (void)state;
    fine(pcp_gradient(g, "main", "grad", 0, NULL, error));
    pcp_plan_t *made = there(pcp_compile(g, NULL, error));
    fine(pcp_plan_save(made, path, error));
    pcp_plan_t *plan = there(pcp_plan_load(path, error));
    assert_string_equal(pcp_plan_target(plan), pcp_plan_target(made));
    pcp_plan_release(&made);
    assert_string_equal(pcp_plan_program(plan, 0), "main");
    assert_string_equal(pcp_plan_program(plan, 1), "grad");
    assert_null(pcp_plan_program(plan, 2));
    assert_string_equal(pcp_plan_tensor(plan, 0, &role, NULL), "x");
    assert_string_equal(role, "batch");
    assert_null(pcp_plan_tensor(plan, 99, &role, NULL));
    pcp_session_t *s = there(pcp_session_new(plan, NULL, 2, error));
    pcp_plan_release(&plan); /* the session holds it */
    tensors_t in = inputs(g, "main");
    set_all(s, &in);
    fine(pcp_session_run(s, "grad", error));
    tensors_t want = evaluate(g, "grad", &in);
    compare(s, &want, 1e-12);
    assert_null(pcp_session_get(s, "nothing", error));
    assert_non_null(strstr(pcp_error_text(error), "param:first.weight"));
    assert_int_equal(pcp_session_set(s, "x", in.at[1], error), -1);
    assert_int_equal(pcp_error_code(error), PCP_ERROR_SHAPE);
    assert_int_equal(pcp_session_run(s, "train", error), -1);
    assert_int_equal(pcp_error_code(error), PCP_ERROR_ARGUMENT);
    release(&in);
    release(&want);
    pcp_session_destroy(&s);
    pcp_graph_destroy(&g);
    temp_write(path, "no plan", 7);
    assert_null(pcp_plan_load(path, error));
    temp_remove(&dir);
}

/* --- training against formulas written out here --- */

/* Two steps of SGD with momentum on y = (w x - 1)^2, over two micro-batches. */
static void test_sgd(void **state)
{
    pcp_type_t s = pcp_scalar(PCP_F32), two = PCP_TYPE(PCP_F32, 2);
    pcp_graph_t *g = pcp_graph_new();
    double w = 0.5, v = 0, x[2] = {1.5, -0.75};
    (void)state;
    pcp_function_begin(g, "main");
    pcp_value_t d = pcp_multiply(g, pcp_param(g, "w", &s, "constant(0.5)"), pcp_input(g, "x", &s));
    d = pcp_subtract(g, d, pcp_like(g, d, 1));
    pcp_output(g, "loss", pcp_multiply(g, d, d));
    fine(pcp_function_end(g, error));
    pcp_plan_t *plan = there(pcp_compile_training(
        g, "optimizer=sgd momentum=0.9, clip=0 weight_decay=0 accumulate=2", NULL, error));
    pcp_session_t *session = there(pcp_session_new(plan, "cpu", 1, error));
    fine(pcp_session_init(session, g, 1, error));
    pcp_tensor_t *batch = pcp_tensor_new(&two, error);
    for (int i = 0; i < 2; i++) pcp_tensor_set(batch, i, x[i]);
    for (int step = 1; step <= 2; step++) {
        float loss = 0;
        double want = 0, slope = 0;
        for (int i = 0; i < 2; i++) {
            want += pow(w * x[i] - 1, 2) / 2;
            slope += 2 * (w * x[i] - 1) * x[i] / 2;
        }
        fine(pcp_session_train(session, 1, (const pcp_tensor_t *[]){batch}, 0.1, step, &loss,
                               error));
        v = 0.9 * v + slope;
        w -= 0.1 * v;
        assert_float_equal(loss, want, 1e-6);
        pcp_tensor_t *now = there(pcp_session_get(session, "w", error));
        assert_float_equal(pcp_tensor_get(now, 0), w, 1e-6);
        pcp_tensor_release(&now);
        now = there(pcp_session_get(session, "state:momentum.w", error));
        assert_float_equal(pcp_tensor_get(now, 0), v, 1e-6);
        pcp_tensor_release(&now);
    }
    assert_int_equal(pcp_session_train(session, 0, NULL, 0.1, 3, NULL, error), -1);
    assert_non_null(strstr(pcp_error_text(error), "takes 1 batch tensors, got 0"));
    pcp_tensor_release(&batch);
    batch = pcp_tensor_new(&s, error);
    assert_int_equal(
        pcp_session_train(session, 1, (const pcp_tensor_t *[]){batch}, 0.1, 3, NULL, error), -1);
    assert_non_null(strstr(pcp_error_text(error), "2 micro-batches"));
    pcp_tensor_release(&batch);
    pcp_session_destroy(&session);
    pcp_plan_release(&plan);
    pcp_graph_destroy(&g);
}

/* As many dimensions as there may be leave none for the micro-batches. */
static void test_deep_batch(void **state)
{
    (void)state;
    pcp_type_t s = pcp_scalar(PCP_F32);
    pcp_type_t deep = PCP_TYPE(PCP_F32, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    pcp_graph_t *g = pcp_graph_new();
    pcp_function_begin(g, "main");
    pcp_value_t x = pcp_reshape(g, pcp_input(g, "x", &deep), 0, NULL);
    pcp_value_t d = pcp_multiply(g, pcp_param(g, "w", &s, "constant(0.5)"), x);
    pcp_output(g, "loss", pcp_multiply(g, d, d));
    fine(pcp_function_end(g, error));
    pcp_plan_t *plan = there(
        pcp_compile_training(g, "optimizer=sgd clip=0 weight_decay=0 accumulate=2", NULL, error));
    pcp_session_t *session = there(pcp_session_new(plan, "cpu", 1, error));
    pcp_tensor_t *batch = pcp_tensor_new(&deep, error);
    assert_int_equal(
        pcp_session_train(session, 1, (const pcp_tensor_t *[]){batch}, 0.1, 1, NULL, error), -1);
    assert_non_null(strstr(pcp_error_text(error), "one more for the micro-batches"));
    pcp_tensor_release(&batch);
    pcp_session_destroy(&session);
    pcp_plan_release(&plan);
    pcp_graph_destroy(&g);
}

/* conformance/README.md of the shared material: h(argument, element). */
static uint64_t golden_bits(uint64_t arg, uint64_t i)
{
    uint64_t z = ((arg << 32) + i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static pcp_tensor_t *golden_tensor(const pcp_type_t *type, uint64_t arg)
{
    pcp_tensor_t *t = there(pcp_tensor_new(type, error));
    for (int64_t i = 0; i < pcp_type_count(type); i++) {
        uint64_t h = golden_bits(arg, (uint64_t)i);
        double v = ((double)(h >> 44) - 0x1p19) * 0x1p-22;
        pcp_tensor_set(t, i, type->dtype != PCP_F32 ? (double)(h % 65) : v + (type->rank == 1));
    }
    return t;
}

/* The plan's tensor of argument i: graphs that were read may name nothing. */
static const char *argument_name(const char *name, int i, char room[16])
{
    snprintf(room, 16, "arg%d", i);
    return name ? name : room;
}

/* Five steps of AdamW on an exported model, against losses of another library in f64. Tolerance: f32. */
static void test_golden_training(void **state)
{
    char *model = corpus_shared("data/models/nanogpt_small.mlir"), room[16];
    char *golden = corpus_shared("conformance/golden/training.json");
    json_t *json = json_load_file(golden, 0, NULL);
    (void)state;
    if (!json) {
        free(model);
        free(golden);
        print_message("no conformance/golden/training.json: golden losses are not compared\n");
        pcp_error_destroy(&error); /* skip() leaves at once */
        skip();
    }
    json_t *losses = json_object_get(json_object_get(json_array_get(json, 0), "adamw5"), "losses");
    pcp_graph_t *g = there(pcp_graph_load(model, error));
    pcp_plan_t *plan = there(pcp_compile_training(
        g, "optimizer=adamw beta1=0.9 beta2=0.95 eps=1e-8 weight_decay=0.1 clip=1", NULL, error));
    pcp_session_t *s = there(pcp_session_new(plan, NULL, 0, error));
    assert_int_equal(json_array_size(losses), 5);
    for (int b = 0; b < 5; b++) {
        const pcp_tensor_t *batch[2];
        int n = 0, n_in = pcp_function_inputs(g, "main");
        float loss;
        for (int i = 0; i < n_in; i++) {
            const char *name;
            pcp_type_t type = pcp_function_input(g, "main", i, &name);
            bool is_data = type.dtype != PCP_F32;
            if (!is_data && b > 0) continue;
            pcp_tensor_t *t = golden_tensor(&type, (uint64_t)(i + (is_data ? 1000 * b : 0)));
            if (is_data) {
                assert_true(n < 2);
                batch[n++] = t;
                continue;
            }
            fine(pcp_session_set(s, argument_name(name, i, room), t, error));
            pcp_tensor_release(&t);
        }
        fine(pcp_session_train(s, n, batch, 6e-4, b + 1, &loss, error));
        double want = json_real_value(json_array_get(losses, (size_t)b));
        print_message("step %d: %.7f, golden %.7f\n", b + 1, loss, want);
        assert_float_equal(loss, want, 2e-5 * want);
        for (int i = 0; i < n; i++) pcp_tensor_release((pcp_tensor_t **)&batch[i]);
    }
    pcp_session_destroy(&s);
    pcp_plan_release(&plan);
    pcp_graph_destroy(&g);
    json_decref(json);
    free(model);
    free(golden);
}

/* --- files: what is saved goes on as if it had not been --- */

static float train_on(pcp_session_t *s, const pcp_tensor_t *x, const pcp_tensor_t *y, int from,
                      int to)
{
    float loss = 0;
    for (int step = from; step <= to; step++)
        fine(pcp_session_train(s, 2, (const pcp_tensor_t *[]){x, y}, 1e-2, step, &loss, error));
    return loss;
}

static void test_files(void **state)
{
    char *dir = temp_dir();
    const char *path = temp_path(dir, "params.safetensors");
    pcp_graph_t *g = there(
        pcp_model_gpt2("layers=1 heads=2 width=16 block=8 vocab=32 batch=2", error));
    pcp_type_t tokens = PCP_TYPE(PCP_I32, 2, 8);
    pcp_plan_t *plan = there(pcp_compile_training(g, NULL, NULL, error));
    pcp_session_t *s = there(pcp_session_new(plan, NULL, 1, error));
    pcp_session_t *twin = there(pcp_session_new(plan, NULL, 1, error));
    pcp_tensor_t *x = pcp_tensor_new(&tokens, error), *y = pcp_tensor_new(&tokens, error);
    (void)state;
    pcp_tensor_uniform(x, 1, 0, 31);
    pcp_tensor_uniform(y, 2, 0, 31);
    fine(pcp_session_init(s, g, 5, error));
    float first = train_on(s, x, y, 1, 3);
    fine(pcp_session_save(s, path, 1, error));
    float kept = train_on(s, x, y, 4, 8);
    fine(pcp_session_load(twin, path, error));
    assert_float_equal(train_on(twin, x, y, 4, 8), kept, 0); /* the same bits */
    assert_true(kept < first && first < logf(32) + 0.5f);
    fine(pcp_session_save(s, path, 0, error)); /* without states: not the same */
    fine(pcp_session_load(twin, path, error));
    pcp_graph_t *other = there(
        pcp_model_gpt2("layers=2 heads=2 width=16 block=8 vocab=32 batch=2", error));
    pcp_plan_t *larger = there(pcp_compile_training(other, NULL, NULL, error));
    pcp_session_t *wrong = there(pcp_session_new(larger, NULL, 1, error));
    assert_int_equal(pcp_session_load(wrong, path, error), -1);
    assert_int_equal(pcp_error_code(error), PCP_ERROR_CORRUPT);
    pcp_session_destroy(&wrong);
    pcp_plan_release(&larger);
    pcp_graph_destroy(&other);
    pcp_tensor_release(&x);
    pcp_tensor_release(&y);
    pcp_session_destroy(&s);
    pcp_session_destroy(&twin);
    pcp_plan_release(&plan);
    pcp_graph_destroy(&g);
    temp_remove(&dir);
}

/* --- texts --- */

static void join(void *user, const char *piece, size_t n)
{
    strncat(user, piece, n);
}

/* Where a tokenizer puts a blank before a text, decoding takes it away again. */
static void test_tokenizer(void **state)
{
    static const char json[] = "{\"normalizer\": {\"type\": \"Prepend\", \"prepend\": \"\u2581\"}, "
                               "\"decoder\": {\"type\": "
                               "\"Sequence\", \"decoders\": [{\"type\": \"Replace\", \"pattern\": "
                               "{\"String\": \"\u2581\"}, "
                               "\"content\": \" \"}, {\"type\": \"Strip\", \"content\": \" \", "
                               "\"start\": 1, \"stop\": 0}]}, "
                               "\"model\": {\"type\": \"BPE\", \"byte_fallback\": true, \"vocab\": "
                               "{\"\u2581\": 0, \"a\": 1}, "
                               "\"merges\": []}}";
    char *dir = temp_dir();
    const char *path = temp_path(dir, "tokenizer.json");
    (void)state;
    temp_write(path, json, strlen(json));
    pcp_tokenizer_t *tok = there(pcp_tokenizer_open(path, error));
    pcp_tensor_t *tokens = there(pcp_tokenizer_encode(tok, "aa", 2, error));
    assert_int_equal(pcp_type_count(pcp_tensor_type(tokens)), 3);
    char *back = there(pcp_tokenizer_decode(tok, tokens, error));
    assert_string_equal(back, "aa");
    pcp_free(back);
    pcp_tensor_release(&tokens);
    pcp_tokenizer_destroy(&tok);
    temp_remove(&dir);
}

/* A model that learned one text by heart writes it on; what is told piece by piece is the whole. */
static void test_generate(void **state)
{
    static const char text[] = "abcdefghijklmnopqrstuvwxyz ";
    char *dir = temp_dir(), told[256] = "";
    const char *path = temp_path(dir, "params.safetensors");
    pcp_tokenizer_t *tok = there(pcp_tokenizer_new("char", text, strlen(text), error));
    pcp_graph_t *g = there(
        pcp_model_gpt2("layers=1 heads=2 width=32 block=16 vocab=27 batch=4", error));
    pcp_plan_t *plan = there(pcp_compile_training(g, "weight_decay=0", NULL, error));
    pcp_session_t *s = there(pcp_session_new(plan, NULL, 1, error));
    pcp_type_t batch = PCP_TYPE(PCP_I32, 4, 16);
    pcp_tensor_t *x = pcp_tensor_new(&batch, error), *y = pcp_tensor_new(&batch, error);
    pcp_tensor_t *tokens = there(pcp_tokenizer_encode(tok, text, strlen(text), error));
    (void)state;
    assert_int_equal(pcp_tokenizer_vocab(tok), 27);
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < 16; i++) {
            pcp_tensor_set(x, r * 16 + i, pcp_tensor_get(tokens, (7 * r + i) % 27));
            pcp_tensor_set(y, r * 16 + i, pcp_tensor_get(tokens, (7 * r + i + 1) % 27));
        }
    fine(pcp_session_init(s, g, 5, error));
    assert_true(train_on(s, x, y, 1, 150) < 0.1);
    pcp_generator_t *writer = there(pcp_generator_new(g, s, tok, 1, error));
    char *written = there(
        pcp_generate(writer, "abc", "tokens=12 temperature=0", join, told, error));
    assert_string_equal(written, "defghijklmno");
    assert_string_equal(told, written);
    fine(pcp_session_save(s, path, 0, error));
    pcp_generator_t *again = there(pcp_generator_open(g, path, tok, 1, error));
    char *same = there(pcp_generate(again, "abc", "tokens=12 temperature=0", NULL, NULL, error));
    assert_string_equal(same, written);
    assert_null(pcp_generate(again, "ABC", NULL, NULL, NULL, error));
    assert_int_equal(pcp_error_code(error), PCP_ERROR_PARSE);
    assert_null(pcp_generate(again, "abc", "temperature=-1", NULL, NULL, error));
    assert_int_equal(pcp_error_code(error), PCP_ERROR_ARGUMENT);
    char *back = there(pcp_tokenizer_decode(tok, tokens, error));
    assert_string_equal(back, text);
    pcp_free(back);
    pcp_free(same);
    pcp_free(written);
    pcp_generator_destroy(&again);
    pcp_generator_destroy(&writer);
    pcp_tensor_release(&tokens);
    pcp_tensor_release(&x);
    pcp_tensor_release(&y);
    pcp_session_destroy(&s);
    pcp_plan_release(&plan);
    pcp_graph_destroy(&g);
    pcp_tokenizer_destroy(&tok);
    temp_remove(&dir);
}

static void test_models(void **state)
{
    pcp_graph_t *g = there(
        pcp_model_llama("layers=1 heads=2 width=16 block=8 vocab=32 batch=2", error));
    (void)state;
    assert_int_equal(pcp_function_outputs(g, "logits"), 1);
    pcp_graph_t *copy = there(pcp_graph_clone(g, error));
    char *a = pcp_graph_print(g, error), *b = pcp_graph_print(copy, error);
    assert_string_equal(a, b);
    pcp_graph_destroy(&g);
    g = there(pcp_graph_parse(a, strlen(a), "again", error));
    pcp_free(b);
    b = pcp_graph_print(g, error);
    assert_string_equal(a, b);
    pcp_free(a);
    pcp_free(b);
    pcp_graph_destroy(&g);
    pcp_graph_destroy(&copy);
    g = there(pcp_model_from_config(
        "{\"model_type\": \"gpt2\", \"n_layer\": 1, \"n_head\": 2, \"n_embd\": 16,"
        " \"n_positions\": 8, \"vocab_size\": 32}",
        0, 2, error));
    pcp_graph_destroy(&g);
    g = there(
        pcp_model_nanochat("layers=1 heads=2 width=16 block=8 vocab=32 batch=2 softcap=0", error));
    assert_int_equal(pcp_function_outputs(g, "logits"), 1);
    pcp_graph_destroy(&g);
    assert_null(pcp_model_nanochat("layers=1 bias=true", error));
    assert_non_null(strstr(pcp_error_text(error), "bias"));
    pcp_error_clear(error);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gradient), TEST(second_order), TEST(plan),     TEST(sgd),    TEST(deep_batch),
        TEST(files),    TEST(tokenizer),    TEST(generate), TEST(models), TEST(golden_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
