/* bench decode: tokens a second that one text grows by, beside the floor that memory sets: each token
 * reads every weight once, at the rate at which all threads together can read.
 *
 *   scripts/bench decode [--threads N] [--tokens N] [--rows N] [--keep f32|bf16] [--top N] [MODEL...]
 *       gpt2 or llama, also -bf16 and -int8
 *
 * --rows texts grow side by side; the floor is that of one pass for all of them, without and with what is kept of each
 * text up to the token that it stands at. --top: a table of the N equal steps of the plan that take longest. Weights are
 * random, and plans come from the cache where they were made before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/rng.h"
#include "base/str.h"
#include "bench.h"
#include "infer/infer.h"
#include "ir/print.h"
#include "model/family.h"
#include "runtime/profile.h"

typedef struct {
    const char *name;
    infer_weights_t weights;
    bool llama;
} model_t;

static const model_t models[] = {{"gpt2", INFER_F32, false},       {"gpt2-bf16", INFER_BF16, false},
                                 {"gpt2-int8", INFER_I8, false},   {"llama", INFER_F32, true},
                                 {"llama-bf16", INFER_BF16, true}, {"llama-int8", INFER_I8, true}};

enum { BLOCK = 1024, REPEATS = 5, READ_BYTES = 256 << 20, HUGE_PAGE = 2 << 20, WATCHED = 20 };

/* GPT-2 with 124M parameters; a Llama with 135M, in SmolLM's shape. */
static ir_module_t *build(const model_t *model, err_t *err)
{
    const gpt2_config_t gpt2 = {.layers = 12,
                                .heads = 12,
                                .width = 768,
                                .block = BLOCK,
                                .vocab = 50304,
                                .batch = 1,
                                .bias = true};
    const llama_config_t llama = {.layers = 30,
                                  .heads = 9,
                                  .kv_heads = 3,
                                  .width = 576,
                                  .block = BLOCK,
                                  .vocab = 49152,
                                  .batch = 1,
                                  .hidden = 1536,
                                  .eps = 1e-5,
                                  .theta = 10000,
                                  .tied = true};
    return model->llama ? family_llama(&llama, err) : family_gpt2(&gpt2, err);
}

/* The parameters' file in memory. */
static uint8_t *make_params(const ir_fn_t *fn, size_t *size, err_t *err)
{
    int n = fn->body->n_arg - 1;
    size_t at = 0;
    safetensor_t *list = mem_calloc((size_t)n, sizeof *list);
    for (int i = 0; i < n; i++) {
        const ir_type_t *t = ir_type_of(fn, ir_fn_param(fn, i));
        list[i] = (safetensor_t){.name = attr_text(&fn->param_attrs[i], "pcp.name", NULL),
                                 .dtype = DT_F32,
                                 .rank = t->rank,
                                 .n_bytes = (size_t)ir_type_count(t) * 4};
        memcpy(list[i].dims, t->dim, (size_t)t->rank * sizeof *t->dim);
    }
    uint8_t *bytes = safetensors_pack(list, (size_t)n, NULL, 0, size, &at, err);
    for (size_t i = at; bytes && i + 4 <= *size; i += 4) {
        float x = (float)(0.04 * (rng_uniform(1, i) - 0.5));
        memcpy(bytes + i, &x, 4);
    }
    free(list);
    return bytes;
}

static infer_keep_t keep; /* as said */
static infer_activations_t activations;

static infer_t *open_model(const model_t *model, int threads, int rows, err_t *err)
{
    str_t text = {0};
    size_t size = 0;
    ir_module_t *module = build(model, err);
    if (!module) return NULL;
    ir_print_module(module, &text);
    uint8_t *bytes = make_params(ir_module_find(module, "logits"), &size, err);
    safetensors_t *params = bytes ? safetensors_view(bytes, size, err) : NULL;
    const infer_source_t source = {
        .text = str_text(&text), .n_text = text.n, .file = model->name, .params = params};
    const infer_options_t options = {.threads = threads,
                                     .slots = rows,
                                     .weights = model->weights,
                                     .keep = keep,
                                     .activations = activations,
                                     .slide = true};
    infer_t *self = params ? infer_open(&source, &options, err) : NULL;
    safetensors_close(&params);
    free(bytes);
    str_fini(&text);
    ir_module_destroy(&module);
    return self;
}

/* --- the floor --- */

/* As the kernels read: several rows side by side, each fetched ahead, from huge pages. */
enum { SIDE_BY_SIDE = 4, ROW = 4096, AHEAD = SIDE_BY_SIDE * ROW, CHUNK = 256 << 10 };
typedef uint64_t lanes_t __attribute__((vector_size(64), aligned(64)));
static volatile uint64_t sink;

#if defined __x86_64__
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static uint64_t
read_rows(const char *x, size_t n)
{
    lanes_t sum[SIDE_BY_SIDE] = {{0}};
    for (size_t at = 0; at < n; at += AHEAD)
        for (size_t i = at; i < at + ROW; i += sizeof(lanes_t))
            for (int k = 0; k < SIDE_BY_SIDE; k++) {
                __builtin_prefetch(x + i + k * ROW + AHEAD);
                sum[k] += *(const lanes_t *)(x + i + k * ROW);
            }
    sum[0] += sum[1] + sum[2] + sum[3];
    return sum[0][0];
}

static void read_part(void *context, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    sink += read_rows((const char *)context + begin * CHUNK, (size_t)(end - begin) * CHUNK);
}

/* GB/s. */
static double read_rate(pool_t *pool, void *bytes)
{
    double start = clock_mono_s();
    pool_run(pool, read_part, bytes, READ_BYTES / CHUNK, 4);
    return READ_BYTES / (clock_mono_s() - start) / 1e9;
}

/* --- decoding --- */

static int grow(infer_t *model, int rows, int tokens, err_t *err)
{
    for (int i = 0; i < tokens; i++) {
        if (infer_step(model, err) < 0) return -1;
        for (int r = 0; r < rows; r++)
            if (infer_scores(model, r) && infer_push(model, r, (uint32_t)(7 * i + r), err) < 0)
                return -1;
    }
    return 0;
}

/* --- where a step's time goes --- */

static int by_label(const void *a, const void *b)
{
    const profile_row_t *x = a, *y = b;
    return strcmp(x->program->step[x->step].label, y->program->step[y->step].label);
}

static int by_seconds(const void *a, const void *b)
{
    const profile_row_t *x = a, *y = b;
    return x->seconds < y->seconds ? 1 : x->seconds > y->seconds ? -1 : by_label(a, b);
}

/* Rows of one label together; returns how many are left. */
static int join_rows(profile_row_t *row, int n)
{
    int kept = 0;
    qsort(row, (size_t)n, sizeof *row, by_label);
    for (int i = 0; i < n; i++)
        if (kept > 0 && by_label(&row[kept - 1], &row[i]) == 0) {
            row[kept - 1].calls += row[i].calls;
            row[kept - 1].seconds += row[i].seconds;
            row[kept - 1].cpu += row[i].cpu;
            row[kept - 1].bytes += row[i].bytes;
        } else {
            row[kept++] = row[i];
        }
    qsort(row, (size_t)kept, sizeof *row, by_seconds);
    return kept;
}

static void print_rows(const profile_t *profile, int top)
{
    int n;
    profile_row_t *row = profile_rows(profile, &n);
    double all = 0, step = profile_turn_seconds(profile);
    n = join_rows(row, n);
    printf("%9s %7s %9s %8s %6s  equal steps\n", "ms", "share", "CPU ms", "GB/s", "calls");
    for (int i = 0; i < n; i++) {
        all += row[i].seconds;
        if (i < top)
            printf("%9.3f %6.1f%% %9.3f %8.1f %6.0f  %s\n", row[i].seconds * 1e3,
                   100 * row[i].seconds / step, row[i].cpu * 1e3,
                   row[i].bytes / row[i].seconds / 1e9, row[i].calls,
                   row[i].program->step[row[i].step].label);
    }
    printf("%9.3f ms a step, of which %.3f in steps of the plan\n", step * 1e3, all * 1e3);
    free(row);
}

static int watch(infer_t *model, int rows, int top, err_t *err)
{
    int status = 0;
    if (top == 0 || !infer_exec(model)) return 0;
    profile_t *profile = profile_new(infer_exec(model));
    for (int i = 0; status >= 0 && i < WATCHED; i++) {
        profile_begin(profile);
        status = grow(model, rows, 1, err);
        profile_end(profile);
    }
    print_rows(profile, top);
    profile_destroy(&profile);
    return status;
}

static int bench(const model_t *model, int threads, int rows, int tokens, int top, err_t *err)
{
    double rate[REPEATS], speed[REPEATS], share[REPEATS], both[REPEATS], position = 7;
    infer_t *self = open_model(model, threads, rows, err);
    if (!self) return -1;
    pool_t *pool = pool_new(threads, false, err);
    const uint32_t prompt[] = {1, 2, 3, 4};
    void *bytes = aligned_alloc(HUGE_PAGE, READ_BYTES);
    if (!bytes) mem_fail(READ_BYTES);
    madvise(bytes, READ_BYTES, MADV_HUGEPAGE);
    memset(bytes, 1, READ_BYTES);
    int status = 0;
    for (int r = 0; status >= 0 && r < rows; r++) status = infer_add(self, prompt, 4, err);
    if (status >= 0) status = grow(self, rows, 3, err);
    const infer_facts_t facts = infer_facts(self);
    double gb = (double)facts.weight_bytes / 1e9;
    double each = (double)facts.kept_bytes / (double)(facts.slots * facts.length) / 1e9;
    for (int i = 0; status >= 0 && i < REPEATS; i++) {
        rate[i] = read_rate(pool, bytes);
        double start = clock_mono_s();
        status = grow(self, rows, tokens, err);
        speed[i] = tokens / (clock_mono_s() - start);
        double after = read_rate(pool, bytes);
        rate[i] = after > rate[i] ? after : rate[i];
        share[i] = speed[i] * gb / rate[i];
        both[i] = speed[i] * (gb + rows * (position + tokens / 2.0) * each) / rate[i];
        position += tokens;
    }
    if (status >= 0)
        printf("%-11s %d rows  %7.1f tokens/s  weights %.3f GB  reading %.1f GB/s  floor %.1f "
               "steps/s  share of it %.2f, with what is kept %.2f\n",
               model->name, rows, rows * bench_median(speed, REPEATS), gb,
               bench_median(rate, REPEATS), bench_median(rate, REPEATS) / gb,
               bench_median(share, REPEATS), bench_median(both, REPEATS));
    if (status >= 0) status = watch(self, rows, top, err);
    fflush(stdout);
    free(bytes);
    pool_destroy(&pool);
    infer_close(&self);
    return status < 0 ? -1 : 0;
}

static bool wanted(const char *name, int n, char **names)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return true;
    return n == 0;
}

int main(int argc, char **argv)
{
    int threads = pool_cores(), tokens = 20, rows = 1, top = 0, at = 1;
    err_t err = {0};
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        int value = atoi(argv[at + 1]);
        if (strcmp(argv[at], "--threads") == 0) threads = value;
        if (strcmp(argv[at], "--tokens") == 0) tokens = value;
        if (strcmp(argv[at], "--rows") == 0) rows = value;
        if (strcmp(argv[at], "--top") == 0) top = value;
        if (strcmp(argv[at], "--keep") == 0) keep = infer_keep(argv[at + 1]);
        if (strcmp(argv[at], "--activations") == 0) activations = infer_activations(argv[at + 1]);
    }
    if (argc > at && argv[at][0] == '-') {
        puts("usage: bench decode [--threads N] [--tokens N] [--rows N] [--keep f32|bf16] "
             "[--activations f32|weights] [--top N] "
             "[gpt2|gpt2-bf16|gpt2-int8|llama|llama-bf16|llama-int8 ...]");
        return 2;
    }
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (wanted(models[i].name, argc - at, argv + at) &&
            bench(&models[i], threads, rows, tokens, top, &err) < 0) {
            fprintf(stderr, "bench decode: %s: %s\n", models[i].name, err.text);
            return 1;
        }
    return 0;
}
