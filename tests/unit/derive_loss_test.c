/* Scores that are found in a loss (derive_logits) are those of the loss: the mean of -ln softmax at the targets, summed
 * here in double, is what the module's own entry returns by the interpreter. Of texts that other programs have exported,
 * and of models of the families without their @logits. Texts of ../shared where it is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "corpus.h"
#include "derive/derive.h"
#include "infer_rig.h"
#include "ops/eval.h"

enum { ARGS = 128 };

static ir_module_t *parse(const char *text, size_t n)
{
    err_t err = {0};
    ir_module_t *module = parse_stablehlo(text, n, "loss.mlir", &err);
    check(module ? 0 : -1, &err);
    return module;
}

/* The arguments of the entry: parameters, tokens, targets, at random. Returns the number of parameters. */
static int fill_args(const ir_fn_t *fn, double scale, int64_t vocab, tensor_t *in)
{
    int n_params = 0;
    assert_in_range(fn->body->n_arg, 3, ARGS);
    for (int i = 0; i < fn->body->n_arg; i++) {
        const ir_type_t *t = ir_type_of(fn, ir_fn_param(fn, i));
        in[i] = tensor_new(t);
        for (int64_t k = 0; k < ir_type_count(t); k++) {
            uint64_t at = (uint64_t)i << 40 | (uint64_t)k;
            if (dtype_is_float(t->dtype))
                tensor_set_f64(&in[i], k, scale * rng_normal(3, at));
            else
                tensor_set_i64(&in[i], k, (int64_t)(rng_bits(5, at) % (uint64_t)vocab));
        }
        n_params += dtype_is_float(t->dtype);
    }
    assert_int_equal(fn->body->n_arg, n_params + 2);
    return n_params;
}

static double loss_of_entry(const ir_module_t *module, const ir_fn_t *fn, const tensor_t *in)
{
    err_t err = {0};
    tensor_t out = {0};
    check(eval_fn(module, fn, in, &out, NULL, &err), &err);
    double loss = tensor_get_f64(&out, 0);
    tensor_fini(&out);
    return loss;
}

/* Of one sequence: the sum over its positions. */
static double loss_of_scores(const tensor_t *scores, const tensor_t *targets, int64_t row)
{
    int64_t length = scores->type.dim[1], vocab = scores->type.dim[2];
    double sum = 0;
    for (int64_t p = 0; p < length; p++) {
        double most = -INFINITY, all = 0;
        for (int64_t v = 0; v < vocab; v++)
            most = fmax(most, tensor_get_f64(scores, p * vocab + v));
        for (int64_t v = 0; v < vocab; v++)
            all += exp(tensor_get_f64(scores, p * vocab + v) - most);
        int64_t target = tensor_get_i64(targets, row * length + p);
        sum += most + log(all) - tensor_get_f64(scores, p * vocab + target);
    }
    return sum;
}

/* Takes the module. */
static void compare_losses(const char *name, ir_module_t *module, double scale, double near)
{
    err_t err = {0};
    tensor_t in[ARGS], some[ARGS];
    const ir_fn_t *fn = ir_module_entry(module, &err);
    check(fn ? 0 : -1, &err);
    int n_args = fn->body->n_arg;
    const ir_type_t *window = ir_type_of(fn, ir_fn_param(fn, n_args - 2));
    int64_t rows = window->dim[0], length = window->dim[1];
    int n = fill_args(fn, scale, 65, in);
    double loss = loss_of_entry(module, fn, in), sum = 0;
    check(derive_logits(module, &err), &err);
    const ir_fn_t *logits = ir_module_find(module, "logits");
    assert_int_equal(logits->body->n_arg, n + 1);
    memcpy(some, in, (size_t)n * sizeof *some);
    some[n] = tensor_new(ir_type_of(logits, ir_fn_param(logits, n)));
    for (int64_t row = 0; row < rows; row++) {
        tensor_t scores = {0};
        for (int64_t p = 0; p < length; p++)
            tensor_set_i64(&some[n], p, tensor_get_i64(&in[n], row * length + p));
        check(eval_fn(module, logits, some, &scores, NULL, &err), &err);
        sum += loss_of_scores(&scores, &in[n + 1], row);
        tensor_fini(&scores);
    }
    double mean = sum / (double)(rows * length);
    print_message("%s: loss %.7f, of the scores %.7f\n", name, loss, mean);
    assert_true(loss > 1 && fabs(mean - loss) <= near * loss);
    tensor_fini(&some[n]);
    for (int i = 0; i < n_args; i++) tensor_fini(&in[i]);
    ir_module_destroy(&module);
}

static void test_families(void **state)
{
    (void)state;
    ir_module_t *const modules[] = {rig_gpt2(false), rig_llama(), rig_nanochat(false)};
    static const char *const names[] = {"gpt2", "llama", "nanochat"};
    for (int i = 0; i < 3; i++) {
        str_t text = {0};
        assert_non_null(modules[i]);
        ir_print_module(modules[i], &text);
        ir_module_t *module = modules[i];
        ir_module_destroy(&module);
        char *at = strstr(text.at, "@logits");
        assert_non_null(at);
        memcpy(at, "@points", strlen("@points"));
        compare_losses(names[i], parse(text.at, text.n), 0.15, 1e-6);
        str_fini(&text);
    }
}

static void test_exported(void **state)
{
    (void)state;
    static const char *const list[] = {"data/models/nanogpt_small.mlir",
                                       "data/models/nanochat_forward_32.mlir"};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        size_t n;
        char *path = corpus_shared(list[i]), *text = (char *)file_read(path, &n, NULL);
        if (!text) print_message("%s is not there: skipped\n", path);
        if (text) compare_losses(list[i], parse(text, n), 0.15, 1e-4);
        free(text);
        free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_exported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
