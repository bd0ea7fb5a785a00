/* Who writes when: texts of different lengths, cancelled ones and newer weights, by a real model; each
 * text that is left is what it is alone. Tokens of clients from a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/rng.h"
#include "gateway/sched.h"
#include "gateway/stats.h"
#include "http/access.h"
#include "ir/print.h"
#include "model/family.h"
#include "temp.h"

enum { VOCAB = 256, BLOCK = 24, TEXTS = 12 };

typedef struct {
    str_t text, alone[TEXTS], heard[TEXTS];
    uint8_t *bytes;
    safetensors_t *params;
    tokenizer_t *tokenizer;
    writer_end_t end[TEXTS];
    char *error[TEXTS];
    int n_ended;
} rig_t;

/* Parameters by a seed, large enough that scores differ by far more than rounding. */
static void make_params(rig_t *self, const ir_fn_t *fn, uint64_t seed)
{
    safetensor_t *list = mem_calloc((size_t)fn->body->n_arg, sizeof *list);
    size_t n = 0, size, at;
    err_t err = {0};
    for (int i = 0; i < fn->body->n_arg - 1; i++) {
        const ir_type_t *t = ir_type_of(fn, ir_fn_param(fn, i));
        safetensor_t x = {.name = attr_text(&fn->param_attrs[i], "pcp.name", NULL),
                          .dtype = DT_F32,
                          .rank = t->rank,
                          .n_bytes = (size_t)ir_type_count(t) * 4};
        memcpy(x.dims, t->dim, (size_t)t->rank * sizeof *x.dims);
        list[n++] = x;
    }
    free(self->bytes);
    safetensors_close(&self->params);
    self->bytes = safetensors_pack(list, n, NULL, 0, &size, &at, &err);
    for (size_t i = at; i + 4 <= size; i += 4) {
        float x = (float)(0.15 * rng_normal(seed, i));
        memcpy(self->bytes + i, &x, 4);
    }
    self->params = safetensors_view(self->bytes, size, &err);
    assert_non_null(self->params);
    free(list);
}

static infer_t *open_model(rig_t *self, uint64_t seed, int slots)
{
    err_t err = {0};
    const gpt2_config_t c = {.layers = 1,
                             .heads = 2,
                             .width = 16,
                             .block = BLOCK,
                             .vocab = VOCAB,
                             .batch = 1,
                             .bias = true};
    ir_module_t *module = family_gpt2(&c, &err);
    str_fini(&self->text);
    ir_print_module(module, &self->text);
    make_params(self, ir_module_find(module, "logits"), seed);
    ir_module_destroy(&module);
    const infer_source_t source = {.text = str_text(&self->text),
                                   .n_text = self->text.n,
                                   .file = "test.mlir",
                                   .params = self->params};
    infer_t *model = infer_open(
        &source, &(infer_options_t){.threads = 1, .slots = slots, .cache_dir = ""}, &err);
    if (!model) print_message("%s\n", err.text);
    assert_non_null(model);
    return model;
}

static void rig_init(rig_t *self)
{
    err_t err = {0};
    *self = (rig_t){.tokenizer = tokenizer_new("byte", NULL, 0, &err)};
}

static void clear_heard(rig_t *self)
{
    for (int i = 0; i < TEXTS; i++) {
        str_fini(&self->heard[i]);
        free(self->error[i]);
        self->error[i] = NULL;
        self->end[i] = WRITER_GOES_ON;
    }
    self->n_ended = 0;
}

static void rig_fini(rig_t *self)
{
    clear_heard(self);
    for (int i = 0; i < TEXTS; i++) str_fini(&self->alone[i]);
    str_fini(&self->text);
    safetensors_close(&self->params);
    free(self->bytes);
    tokenizer_destroy(&self->tokenizer);
}

static void hear(void *user, const sched_news_t *news)
{
    rig_t *self = user;
    assert_in_range(news->id, 0, TEXTS - 1);
    assert_int_equal(self->end[news->id], WRITER_GOES_ON); /* nothing comes behind the end */
    str_addn(&self->heard[news->id], news->piece, news->n);
    if (news->error) self->error[news->id] = mem_strdup(news->error);
    self->end[news->id] = news->end;
    self->n_ended += news->end != WRITER_GOES_ON || news->error;
}

/* Text i: a prompt of 1 to 20 bytes, up to 13 tokens, drawn by its own seed. */
static job_t *job(int i)
{
    uint32_t prompt[BLOCK];
    size_t n = 1 + (size_t)(i * 7 % 20);
    for (size_t k = 0; k < n; k++) prompt[k] = (uint32_t)(rng_bits((uint64_t)i, k) % 128);
    request_t request = {.tokens = 3 + i % 11, .logprobs = -1, .choose.temperature = 1};
    return job_new((uint64_t)i, &request, prompt, n, (uint64_t)i);
}

static void write_alone(rig_t *self, sched_t *sched)
{
    for (int i = 0; i < TEXTS; i++) {
        sched_add(sched, job(i));
        while (sched_busy(sched)) sched_step(sched);
        assert_int_not_equal(self->end[i], WRITER_GOES_ON);
        str_addn(&self->alone[i], str_text(&self->heard[i]), self->heard[i].n);
    }
    clear_heard(self);
}

static void check_text(const rig_t *self, int i)
{
    assert_int_equal(self->heard[i].n, self->alone[i].n);
    assert_memory_equal(str_text(&self->heard[i]), str_text(&self->alone[i]), self->alone[i].n);
}

static void test_together(void **state)
{
    (void)state;
    rig_t rig;
    rig_init(&rig);
    sched_t *sched = sched_new(hear, &rig);
    sched_add(sched, job(0)); /* before there is a model, it waits */
    assert_false(sched_busy(sched));
    sched_cancel(sched, 0);
    sched_load(sched, open_model(&rig, 7, 4), rig.tokenizer);
    write_alone(&rig, sched);
    for (int i = 0; i < TEXTS; i++) {
        sched_add(sched, job(i));
        if (i > 6) sched_step(sched); /* the last ones come later */
        assert_true(sched_running(sched) <= 4);
    }
    while (sched_busy(sched)) sched_step(sched);
    assert_int_equal(rig.n_ended, TEXTS);
    for (int i = 0; i < TEXTS; i++) check_text(&rig, i);
    sched_destroy(&sched);
    rig_fini(&rig);
}

static void test_cancelled(void **state)
{
    (void)state;
    rig_t rig;
    rig_init(&rig);
    sched_t *sched = sched_new(hear, &rig);
    sched_load(sched, open_model(&rig, 7, 4), rig.tokenizer);
    write_alone(&rig, sched);
    for (int i = 0; i < TEXTS; i++) sched_add(sched, job(i));
    sched_step(sched);
    assert_int_equal(sched_running(sched), 4);
    assert_int_equal(sched_waiting(sched), TEXTS - 4);
    sched_cancel(sched, 1);  /* is written */
    sched_cancel(sched, 11); /* waits, the last one */
    sched_cancel(sched, 6);
    sched_cancel(sched, 6); /* is gone */
    assert_int_equal(sched_running(sched), 3);
    assert_int_equal(sched_waiting(sched), TEXTS - 6);
    sched_add(sched, job(11)); /* behind what is the last one now */
    while (sched_busy(sched)) sched_step(sched);
    assert_int_equal(rig.n_ended, TEXTS - 2);
    for (int i = 0; i < TEXTS; i++)
        if (i != 1 && i != 6) check_text(&rig, i);
    assert_true(rig.heard[6].n == 0 && rig.end[1] == WRITER_GOES_ON);
    sched_destroy(&sched);
    rig_fini(&rig);
}

/* What has begun is written with the old weights, what begins with the new ones. */
static void test_newer(void **state)
{
    (void)state;
    rig_t rig;
    str_t newer[TEXTS];
    rig_init(&rig);
    sched_t *sched = sched_new(hear, &rig);
    sched_load(sched, open_model(&rig, 8, 2), rig.tokenizer);
    write_alone(&rig, sched);
    memcpy(newer, rig.alone, sizeof newer);
    memset(rig.alone, 0, sizeof rig.alone);
    sched_load(sched, open_model(&rig, 7, 2), rig.tokenizer);
    assert_int_equal(sched_models(sched), 1); /* the other one had nothing to write */
    write_alone(&rig, sched);
    for (int i = 8; i < TEXTS; i++) sched_add(sched, job(i));
    sched_step(sched);
    sched_load(sched, open_model(&rig, 8, 2), rig.tokenizer);
    assert_int_equal(sched_models(sched), 2);
    while (sched_busy(sched)) sched_step(sched);
    assert_int_equal(sched_models(sched), 1);
    check_text(&rig, 8);
    check_text(&rig, 9);
    for (int i = 10; i < TEXTS; i++) str_fini(&rig.alone[i]);
    memcpy(rig.alone + 10, newer + 10, 2 * sizeof *newer);
    check_text(&rig, 10);
    check_text(&rig, 11);
    for (int i = 0; i < 10; i++) str_fini(&newer[i]);
    sched_destroy(&sched);
    rig_fini(&rig);
}

/* A text that cannot begin says so, and holds up nobody. */
static void test_failed(void **state)
{
    (void)state;
    rig_t rig;
    rig_init(&rig);
    const uint32_t bad[] = {VOCAB};
    const request_t request = {.tokens = 3, .logprobs = -1};
    sched_t *sched = sched_new(hear, &rig);
    sched_load(sched, open_model(&rig, 7, 1), rig.tokenizer);
    sched_add(sched, job_new(3, &request, bad, 1, 0));
    sched_add(sched, job(4));
    while (sched_busy(sched)) sched_step(sched);
    assert_non_null(strstr(rig.error[3], "outside"));
    assert_true(!rig.error[4] && rig.end[4] == WRITER_LENGTH);
    sched_destroy(&sched);
    rig_fini(&rig);
}

/* A token that ends texts, and a stop string, are not told. */
static void test_ends(void **state)
{
    (void)state;
    rig_t rig;
    rig_init(&rig);
    sched_t *sched = sched_new(hear, &rig);
    sched_load(sched, open_model(&rig, 7, 1), rig.tokenizer);
    request_t request = {.tokens = 9, .logprobs = -1, .choose.bias = (choose_bias_t[]){{'x', 99}}};
    request.choose.n_bias = 1; /* greedy: it says x again and again */
    job_t *end = job_new(0, &request, (uint32_t[]){65}, 1, 0);
    job_set_end(end, (uint32_t[]){7, 'x'}, 2);
    job_t *stop = job_new(1, &request, (uint32_t[]){65}, 1, 0);
    job_add_stop(stop, "none");
    job_add_stop(stop, "xxx");
    sched_add(sched, end);
    sched_add(sched, stop);
    while (sched_busy(sched)) sched_step(sched);
    assert_true(rig.end[0] == WRITER_STOP && rig.heard[0].n == 0);
    assert_true(rig.end[1] == WRITER_STOP && rig.heard[1].n == 0);
    sched_destroy(&sched);
    rig_fini(&rig);
}

/* --- tokens of clients --- */

static void check_access(const char *path, const char *text, const char *words)
{
    err_t err = {0};
    temp_write(path, text, strlen(text));
    chmod(path, 0600);
    access_t *access = access_open(path, &err);
    assert_null(access);
    if (!strstr(err.text, words)) print_message("%s\n", err.text);
    assert_non_null(strstr(err.text, words));
}

static void test_access(void **state)
{
    (void)state;
    static const char text[] = "# people\nada 0123456789abcdef\n\n  bob\tfedcba9876543210 \r\n";
    char *dir = temp_dir();
    const char *path = temp_path(dir, "tokens");
    err_t err = {0};
    temp_write(path, text, strlen(text));
    chmod(path, 0640);
    assert_null(access_open(path, &err));
    assert_non_null(strstr(err.text, "mode 640"));
    chmod(path, 0600);
    access_t *access = access_open(path, &err);
    assert_non_null(access);
    assert_string_equal(access_name(access, "Bearer 0123456789abcdef"), "ada");
    assert_string_equal(access_name(access, "bearer fedcba9876543210"), "bob");
    static const char *const wrong[] = {"",
                                        "Bearer ",
                                        "Bearer 0123456789abcde",
                                        "0123456789abcdef",
                                        "Bearer 0123456789abcdeff",
                                        "Basic 0123456789abcdef"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_null(access_name(access, wrong[i]));
    assert_null(access_name(access, NULL));
    access_destroy(&access);
    check_access(path, "# nobody\n", "has no token");
    check_access(path, "ada\n", "line 1: expected NAME TOKEN");
    check_access(path, "\nada 0123456789abcdef more\n", "line 2: expected NAME TOKEN");
    check_access(path, "ada short\n", "fewer than 16");
    temp_remove(&dir);
}

static void test_stats(void **state)
{
    (void)state;
    stats_t *stats = stats_new();
    str_t out = {0};
    stats_add(stats, STATS_TEXTS, "m\"\n", "stop", 2);
    stats_add(stats, STATS_TEXTS, "m\"\n", "stop", 1);
    stats_set(stats, STATS_CONNECTIONS, NULL, NULL, 4);
    stats_observe(stats, STATS_FIRST, "m", 0.02);
    stats_observe(stats, STATS_FIRST, "m", 1000);
    stats_expose(stats, &out);
    static const char *const lines[] = {
        "# TYPE pcp_gateway_texts_total "
        "counter\npcp_gateway_texts_total{model=\"m__\",end=\"stop\"} 3\n",
        "\npcp_gateway_connections 4\n",
        "\npcp_gateway_first_token_seconds_bucket{model=\"m\",le=\"0.01\"} 0\n",
        "\npcp_gateway_first_token_seconds_bucket{model=\"m\",le=\"0.025\"} 1\n",
        "\npcp_gateway_first_token_seconds_bucket{model=\"m\",le=\"+Inf\"} 2\n",
        "\npcp_gateway_first_token_seconds_sum{model=\"m\"} 1000.02\n",
        "\npcp_gateway_first_token_seconds_count{model=\"m\"} 2\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!strstr(str_text(&out), lines[i])) print_message("no %s in\n%s\n", lines[i], out.at);
        assert_non_null(strstr(str_text(&out), lines[i]));
    }
    str_fini(&out);
    stats_destroy(&stats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_together), cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_newer),    cmocka_unit_test(test_failed),
        cmocka_unit_test(test_ends),     cmocka_unit_test(test_access),
        cmocka_unit_test(test_stats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
