/* The worker's parts: schedules against their formulas, feeding, and the engine with a compiled
 * model whose training can be done by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/safetensors.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "data/feed.h"
#include "temp.h"
#include "worker/engine.h"
#include "worker/schedule.h"
#include "worker/trainer.h"
#include "worker_model.h"

static void schedules(void **unused)
{
    (void)unused;
    Msg__Schedule s = MSG__SCHEDULE__INIT;
    s.lr = 1e-3, s.min_lr = 1e-4, s.warmup = 100, s.total_steps = 2000, s.decay_fraction = 0.2;
    static const struct {
        const char *kind;
        uint64_t t;
        double lr;
    } rows[] = {
        {"constant", 0, 1e-3 / 101},
        {"constant", 99, 1e-3 * 100 / 101},
        {"constant", 100, 1e-3},
        {"constant", 1999, 1e-3},
        {"cosine", 100, 1e-3},
        {"cosine", 1050, 5.5e-4}, /* half way: the middle */
        {"cosine", 2000, 1e-4},
        {"cosine", 9999, 1e-4},
        {"wsd", 100, 1e-3},
        {"wsd", 1599, 1e-3},
        {"wsd", 1700, 1e-4 + 9e-4 / 2},
        {"wsd", 2000, 1e-4}, /* a quarter done: 1 - sqrt(1/4) */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        s.kind = (char *)rows[i].kind;
        assert_int_equal(schedule_check(&s, NULL), 0);
        double lr = schedule_lr(&s, rows[i].t);
        if (fabs(lr - rows[i].lr) > 1e-12)
            fail_msg("%s at %llu: %.9g, want %.9g", s.kind, (unsigned long long)rows[i].t, lr,
                     rows[i].lr);
    }
    s.warmup = s.total_steps = 5; /* nothing but warm-up */
    s.kind = "cosine";
    assert_true(schedule_lr(&s, 5) == 1e-4);
    s.kind = "linear";
    assert_int_equal(schedule_check(&s, NULL), -1);
    s.kind = "wsd";
    s.lr = NAN;
    assert_int_equal(schedule_check(&s, NULL), -1);
}

/* --- feeding, from a token file that lies in the cache complete --- */

typedef struct {
    char dir[64];
    char hash[HASH_HEX];
    tokens_t *tokens;
} cache_t;

static cache_t cache_new(const uint16_t *values, uint64_t n)
{
    cache_t cache = {.dir = "/tmp/pcp-worker-test.XXXXXX"};
    assert_non_null(mkdtemp(cache.dir));
    hash_content(values, n * 2, cache.hash);
    char *path = mem_printf("%s/%s.u16", cache.dir, cache.hash);
    assert_int_equal(file_write_atomic(path, values, n * 2, NULL), 0);
    free(path);
    cache.tokens = tokens_new(cache.dir, &(tokens_which_t){cache.hash, n, 2, 0}, NULL);
    assert_non_null(cache.tokens);
    return cache;
}

static void cache_fini(cache_t *cache)
{
    tokens_destroy(&cache->tokens);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", cache->dir);
    assert_int_equal(system(command), 0);
}

/* A plan may say of itself that a step has so many micro-batches, of so many elements. */
static void check_hostile_steps(const batch_layout_t *layout, const data_order_t *order)
{
    static const struct {
        uint64_t units, n;
        int n_micro;
    } odd[] = {
        {2, (uint64_t)1 << 61, 8}, {2, (uint64_t)1 << 45, INT32_MAX}, {(uint64_t)1 << 63, 8, 2}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        batch_layout_t l = *layout;
        const data_range_t range = {0, 6, 2 * (uint64_t)odd[i].n_micro};
        feed_t feed;
        err_t err = {0};
        l.units = odd[i].units;
        l.n[0] = odd[i].n;
        assert_int_equal(feed_init(&feed, &l, order, &range, 42, odd[i].n_micro, &err), -1);
        assert_int_equal(err.code, i < 2 ? ERR_MEMORY : ERR_ARG);
    }
    const data_range_t none = {0, 6, 0};
    feed_t feed;
    assert_int_equal(feed_init(&feed, layout, order, &none, 42, INT32_MAX, NULL), -1);
}

static void batches(void **unused)
{
    (void)unused;
    uint16_t values[42];
    for (uint16_t i = 0; i < 42; i++) values[i] = i;
    cache_t cache = cache_new(values, 42);
    int64_t shape[2] = {2, 4};
    ir_type_t types[2] = {ir_type(DT_I64, 2, shape), ir_type(DT_I64, 2, shape)};
    batch_layout_t layout;
    assert_int_equal(batch_layout(DATA_WINDOWS, types, 2, &layout, NULL), 0);
    data_order_t order = {.n_units = 10, .sequential = true}; /* (42 - 1) / 4 */
    data_range_t range = {0, 6, 8}; /* two steps of two micro-batches; runs into the next epoch */
    feed_t feed;
    assert_int_equal(feed_init(&feed, &layout, &order, &range, 42, 2, NULL), 0);
    assert_int_equal(tokens_fetch_feed(cache.tokens, &feed, NULL, NULL), 0);
    for (uint64_t step = 0; step < 2; step++) {
        assert_int_equal(feed_step(&feed, tokens_at(cache.tokens), step, NULL), 0);
        const int64_t *x = feed.args[0], *y = feed.args[1];
        for (int i = 0; i < 16; i++) { /* 2 micro-batches x 2 rows x 4 tokens */
            int64_t unit = (int64_t)(6 + step * 4 + (uint64_t)i / 4) % 10;
            assert_int_equal(x[i], unit * 4 + i % 4);
            assert_int_equal(y[i], x[i] + 1);
        }
    }
    feed_fini(&feed);
    err_t err = {0};
    assert_int_equal(feed_init(&feed, &layout, &order, &range, 13, 2, NULL), 0);
    assert_int_equal(feed_step(&feed, tokens_at(cache.tokens), 0, &err),
                     -1); /* a token beyond the words */
    feed_fini(&feed);
    range.count = 7;
    assert_int_equal(feed_init(&feed, &layout, &order, &range, 42, 2, &err), -1);
    range = (data_range_t){0, 10, 8};
    assert_int_equal(feed_init(&feed, &layout, &order, &range, 42, 2, &err), -1);
    check_hostile_steps(&layout, &order);
    assert_int_equal(tokens_want(cache.tokens, 40, 3, &err), -1);
    assert_int_equal(tokens_want(cache.tokens, UINT64_MAX, 3, &err), -1);
    cache_fini(&cache);
    assert_null(tokens_new("/tmp", &(tokens_which_t){"../../etc/passwd", 4, 2, 0}, &err));
    assert_null(tokens_new("/tmp", &(tokens_which_t){cache.hash, 0, 2, 0}, &err));
    assert_null(tokens_new("/tmp", &(tokens_which_t){cache.hash, 4, 3, 0}, &err));
}

/* Two workers of one process number in two containers (here: in one process) that share the
 * directory: each has a file of its own, and the one's is not cut under the other's mapping. */
static void a_cache_directory_is_shared(void **unused)
{
    (void)unused;
    uint16_t values[42];
    for (uint16_t i = 0; i < 42; i++) values[i] = (uint16_t)(i + 1);
    cache_t cache = cache_new(values, 42);
    char *path = mem_printf("%s/%s.u16", cache.dir, cache.hash);
    assert_int_equal(unlink(path), 0); /* nobody has it yet; a mapping stays */
    tokens_t *first = tokens_new(cache.dir, &(tokens_which_t){cache.hash, 42, 2, 0}, NULL);
    assert_non_null(first);
    memcpy((void *)(uintptr_t)tokens_at(first), values, sizeof values); /* as it arrives */
    tokens_t *second = tokens_new(cache.dir, &(tokens_which_t){cache.hash, 42, 2, 0}, NULL);
    assert_non_null(second);
    assert_memory_equal(tokens_at(first), values, sizeof values);
    assert_memory_equal(tokens_at(cache.tokens), values, sizeof values);
    tokens_destroy(&second);
    assert_memory_equal(tokens_at(first), values, sizeof values);
    tokens_destroy(&first);
    free(path);
    cache_fini(&cache);
}

static void a_damaged_cache_is_not_used(void **unused)
{
    (void)unused;
    uint16_t values[100] = {1, 2, 3};
    cache_t cache = cache_new(values, 100);
    char *path = mem_printf("%s/%s.u16", cache.dir, cache.hash);
    tokens_destroy(&cache.tokens);
    values[50] = 9;
    assert_int_equal(file_write_atomic(path, values, sizeof values, NULL), 0);
    cache.tokens = tokens_new(cache.dir, &(tokens_which_t){cache.hash, 100, 2, 0},
                              NULL); /* starts to fetch anew */
    assert_non_null(cache.tokens);
    assert_false(file_exists(path));
    free(path);
    cache_fini(&cache);
}

/* --- the engine: loss = sum over rows and columns of (w_j x_ij - y_ij)^2, SGD with momentum --- */

static const int64_t X[6] = {1, 2, 0, 3, 1, 2}, Y[6] = {2, 1, 4, 0, 3, 1};
static const void *const BATCH[2] = {X, Y};
static const double MU = 0.9, LR = 0.01;

static engine_t *engine_make(void)
{
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.optimizer = "sgd";
    spec.momentum = MU;
    spec.clip = 0;
    spec.weight_decay = 0;
    err_t err = {0};
    size_t n = 0;
    uint8_t *plan = compile_text(MODEL, strlen(MODEL), "model.mlir", &spec, target_host(), &n,
                                 &err);
    if (!plan) fail_msg("%s", err.text);
    engine_t *engine = engine_new(plan, n, &(exec_options_t){.threads = 1}, &err);
    if (!engine) fail_msg("%s", err.text);
    return engine;
}

/* One step by hand, in f64. */
static double by_hand(double w[3], double v[3])
{
    double loss = 0;
    for (int j = 0; j < 3; j++) {
        double g = 0;
        for (int i = 0; i < 2; i++) {
            double d = w[j] * (double)X[3 * i + j] - (double)Y[3 * i + j];
            loss += d * d;
            g += 2 * d * (double)X[3 * i + j];
        }
        v[j] = MU * v[j] + g;
    }
    for (int j = 0; j < 3; j++) w[j] -= LR * v[j];
    return loss;
}

/* The inner state of a replica: v is by hand, bytes the engine's; NULL: zero moments. */
typedef struct {
    uint8_t *bytes;
    size_t n;
    double v[3];
} inner_t;

/* A lease of three steps from theta on both sides; w and the inner state carry on. */
static void lease(engine_t *engine, double w[3], inner_t *inner)
{
    float theta[3], loss = 0;
    err_t err = {0};
    for (int j = 0; j < 3; j++) theta[j] = (float)w[j];
    const source_t state = source_of_bytes(inner->bytes, inner->n);
    if (engine_begin(engine, theta, inner->bytes ? &state : NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
    for (int step = 0; step < 3; step++) {
        assert_int_equal(engine_step(engine, BATCH, LR, &loss, NULL), 0);
        double want = by_hand(w, inner->v);
        if (fabs(loss - want) > 1e-5 * want) fail_msg("loss %g, by hand %g", loss, want);
    }
    float fall[3] = {0};
    assert_int_equal(engine_fall(engine, fall, NULL), 0);
    for (int j = 0; j < 3; j++)
        if (fabs(fall[j] + w[j]) > 1e-5) fail_msg("w[%d] %g, by hand %g", j, -fall[j], w[j]);
    free(inner->bytes);
    source_t end;
    assert_int_equal(engine_state(engine, NULL, &end, NULL), 0);
    inner->bytes = source_take(&end, NULL);
    inner->n = (size_t)end.n;
    assert_non_null(inner->bytes);
    assert_true(inner->n <= engine_state_limit(engine));
}

/* Read in pieces of any size, a state is the file that safetensors_pack makes of its tensors: what was named before
 * states were read in pieces has the same name now. */
static void states_are_their_files(void **unused)
{
    (void)unused;
    engine_t *engine = engine_make();
    inner_t inner = {0};
    double w[3] = {0.5, -1, 2};
    lease(engine, w, &inner);
    const float error[3] = {1, 0, -3};
    for (int with = 0; with < 2; with++) {
        source_t state;
        assert_int_equal(engine_state(engine, with ? error : NULL, &state, NULL), 0);
        safetensors_t *view = safetensors_view(inner.bytes, inner.n, NULL);
        safetensor_t two[2] = {*safetensors_at(view, 0),
                               {"codec.error", DT_F32, 1, {3}, error, sizeof error}};
        safetensors_meta_t meta = {"steps", "3"};
        size_t n, at;
        uint8_t *want = safetensors_pack(two, with ? 2 : 1, &meta, 1, &n, &at, NULL);
        assert_int_equal(state.n, n);
        for (size_t piece = 1; piece <= n; piece++) {
            uint8_t *have = mem_calloc(n, 1);
            for (size_t i = 0; i < n; i += piece)
                assert_int_equal(
                    source_read(&state, i, have + i, n - i < piece ? n - i : piece, NULL), 0);
            assert_memory_equal(have, want, n);
            free(have);
        }
        free(want);
        safetensors_close(&view);
    }
    free(inner.bytes);
    engine_destroy(&engine);
}

static void inner_states_are_bytes(void **unused)
{
    (void)unused;
    engine_t *engine = engine_make(), *other = engine_make();
    assert_int_equal(engine_params(engine), 3);
    assert_int_equal(engine_accumulate(engine), 1);
    double a[3] = {0.5, -1, 2}, b[3] = {3, 0, 1};
    inner_t at_a = {0}, at_b = {0};
    lease(engine, a, &at_a);
    lease(engine, b, &at_b);
    lease(engine, b, &at_b); /* each goes on with its own momentum */
    lease(other, a, &at_a);  /* anywhere */
    /* A lease that is broken off leaves no trace. */
    float theta[3] = {9, 9, 9}, loss;
    const source_t state = source_of_bytes(at_a.bytes, at_a.n);
    assert_int_equal(engine_begin(engine, theta, &state, NULL, NULL), 0);
    assert_int_equal(engine_step(engine, BATCH, 1.0, &loss, NULL), 0);
    lease(engine, a, &at_a);
    free(at_a.bytes);
    free(at_b.bytes);
    engine_destroy(&engine);
    engine_destroy(&other);
}

static void state_begins(engine_t *engine, const safetensor_t *tensors, size_t n, const char *steps,
                         err_code_t want)
{
    safetensors_meta_t meta = {"steps", steps};
    size_t n_bytes, at;
    float theta[3] = {0};
    err_t err = {0};
    uint8_t *bytes = safetensors_pack(tensors, n, &meta, 1, &n_bytes, &at, &err);
    assert_non_null(bytes);
    source_t state = source_of_bytes(bytes, n_bytes);
    assert_int_equal(engine_begin(engine, theta, &state, NULL, &err), want ? -1 : 0);
    if (err.code != want) fail_msg("code %d, want %d: %s", err.code, want, err.text);
    /* Every shorter file is refused, and leaves nothing. */
    for (state.n = 0; state.n < n_bytes; state.n++)
        assert_int_equal(engine_begin(engine, theta, &state, NULL, &err), -1);
    free(bytes);
}

/* A state's codec.error: taken, absent (zeros), refused. */
static void errors_of_codecs(engine_t *engine, safetensor_t good)
{
    static const float values[4] = {1, -2, 3, 4}, bad[3] = {1, NAN, 3};
    const struct {
        safetensor_t tensor;
        size_t n; /* tensors in the state */
        err_code_t want;
    } cases[] = {
        {{"codec.error", DT_F32, 1, {3}, values, 12}, 2, ERR_OK},
        {{"codec.error", DT_F32, 1, {3}, values, 12}, 1, ERR_OK},
        {{"codec.error", DT_F32, 1, {4}, values, 16}, 2, ERR_SHAPE},
        {{"codec.error", DT_I32, 1, {3}, values, 12}, 2, ERR_SHAPE},
        {{"codec.error", DT_F32, 1, {3}, bad, 12}, 2, ERR_CORRUPT},
        {{"codec.errors", DT_F32, 1, {3}, values, 12}, 2, ERR_SHAPE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const safetensor_t two[2] = {good, cases[i].tensor};
        safetensors_meta_t meta = {"steps", "3"};
        size_t n_bytes, at;
        float theta[3] = {0}, error[3] = {7, 7, 7};
        err_t err = {0};
        uint8_t *bytes = safetensors_pack(two, cases[i].n, &meta, 1, &n_bytes, &at, &err);
        const source_t state = source_of_bytes(bytes, n_bytes);
        assert_int_equal(engine_begin(engine, theta, &state, error, &err), cases[i].want ? -1 : 0);
        assert_int_equal(err.code, cases[i].want);
        for (int j = 0; j < 3 && !cases[i].want; j++)
            assert_true(error[j] == (cases[i].n == 2 ? values[j] : 0));
        free(bytes);
    }
}

static void states_of_another_model_are_refused(void **unused)
{
    (void)unused;
    engine_t *engine = engine_make();
    inner_t inner = {0};
    double w[3] = {1, 1, 1};
    lease(engine, w, &inner);
    safetensors_t *file = safetensors_view(inner.bytes, inner.n, NULL);
    assert_non_null(file);
    assert_int_equal(safetensors_count(file), 1);
    safetensor_t good = *safetensors_at(file, 0), tensor = good;
    state_begins(engine, &tensor, 1, "3", ERR_OK);
    state_begins(engine, &tensor, 1, "-1", ERR_CORRUPT);
    state_begins(engine, &tensor, 1, "3 or so", ERR_CORRUPT);
    state_begins(engine, &tensor, 1, "", ERR_CORRUPT);
    state_begins(engine, &tensor, 0, "3", ERR_SHAPE);
    tensor.name = "somebody else's";
    state_begins(engine, &tensor, 1, "3", ERR_SHAPE);
    tensor = good;
    tensor.dims[0] = 2, tensor.n_bytes = 8;
    state_begins(engine, &tensor, 1, "3", ERR_SHAPE);
    tensor = good;
    tensor.dtype = DT_I32;
    state_begins(engine, &tensor, 1, "3", ERR_SHAPE);
    safetensor_t two[2] = {good, good};
    two[1].name = "z";
    state_begins(engine, two, 2, "3", ERR_SHAPE);
    errors_of_codecs(engine, good);
    safetensors_close(&file);
    free(inner.bytes);
    engine_destroy(&engine);
}

/* --- what it does not do --- */

static void evaluation_changes_nothing(void **unused)
{
    (void)unused;
    engine_t *engine = engine_make();
    double w[3] = {0.5, -1, 2};
    inner_t inner = {0};
    lease(engine, w, &inner);
    float theta[3] = {1, 1, 1}, loss = 0;
    assert_int_equal(engine_load(engine, theta, NULL), 0);
    assert_int_equal(engine_loss(engine, BATCH, &loss, NULL), 0);
    double want = 0;
    for (int i = 0; i < 6; i++) want += (double)((X[i] - Y[i]) * (X[i] - Y[i]));
    assert_true(fabs(loss - want) < 1e-5);
    lease(engine, w, &inner);
    free(inner.bytes);
    engine_destroy(&engine);
}

static void plans_that_cannot_run(void **unused)
{
    (void)unused;
    err_t err = {0};
    assert_null(
        engine_new((uint8_t *)mem_strdup("no plan"), 7, &(exec_options_t){.threads = 1}, &err));
    assert_int_not_equal(err.code, ERR_OK);
    size_t n = 0;
    const char *text =
        "func.func @main(%w: tensor<3xf32>) -> tensor<3xf32> { return %w : tensor<3xf32> }";
    uint8_t *plan = compile_text(text, strlen(text), "m", NULL, target_host(), &n, &err);
    if (!plan) fail_msg("%s", err.text);
    assert_null(
        engine_new(plan, n, &(exec_options_t){.threads = 1}, &err)); /* no program to train */
    assert_int_equal(err.code, ERR_UNSUPPORTED);
}

static void leases_that_make_no_sense(void **unused)
{
    (void)unused;
    trainer_t trainer;
    err_t err = {0};
    char dir[] = "/tmp/pcp-worker-test.XXXXXX";
    assert_non_null(mkdtemp(dir));
    assert_int_equal(trainer_init(&trainer, dir, dir, 1, &err), 0);
    Msg__Lease lease = MSG__LEASE__INIT;
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    Msg__Schedule schedule = MSG__SCHEDULE__INIT;
    assert_int_equal(trainer_lease(&trainer, &lease, &done, &err), -1); /* no steps */
    lease.inner_steps = 1;
    assert_int_equal(trainer_lease(&trainer, &lease, &done, &err), -1); /* no schedule */
    lease.schedule = &schedule;
    assert_int_equal(trainer_lease(&trainer, &lease, &done, &err), -1);
    assert_int_equal(err.code, ERR_ARG); /* an unknown codec or schedule is wrong on any machine */
    assert_true(trainer_is_fatal(err.code));
    assert_non_null(strstr(err.text, "codec 0 is unknown"));
    lease.codec = 1;
    assert_int_equal(trainer_lease(&trainer, &lease, &done, &err), -1);
    assert_true(trainer_is_fatal(err.code) && strstr(err.text, "schedule"));
    schedule.kind = "constant";
    assert_int_equal(trainer_lease(&trainer, &lease, &done, &err), -1); /* no aggregators */
    assert_false(trainer_is_fatal(err.code));
    Msg__Eval eval = MSG__EVAL__INIT;
    Msg__EvalDone eval_done = MSG__EVAL_DONE__INIT;
    assert_int_equal(trainer_eval(&trainer, &eval, &eval_done, &err), -1);
    trainer_fini(&trainer);
    rmdir(dir);
}

int main(void)
{
    log_init("worker_test", LOG_OFF, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules),
        cmocka_unit_test(batches),
        cmocka_unit_test(a_cache_directory_is_shared),
        cmocka_unit_test(a_damaged_cache_is_not_used),
        cmocka_unit_test(inner_states_are_bytes),
        cmocka_unit_test(states_are_their_files),
        cmocka_unit_test(states_of_another_model_are_refused),
        cmocka_unit_test(evaluation_changes_nothing),
        cmocka_unit_test(plans_that_cannot_run),
        cmocka_unit_test(leases_that_make_no_sense),
    };
    return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
