/* bench-compile: how fast text becomes IR, and a model a plan. CPU time of this process for what
 * runs in it (other load shows little), wall time where the system compiler or the disk has a part.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/str.h"
#include "bench.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ir/print.h"
#include "model/gpt2.h"
#include "parse/parse.h"

enum { REPEATS = 5, PARSE_ELEMENTS = 1 << 20 };

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what, const err_t *err)
{
    fprintf(stderr, "bench-compile: %s: %s\n", what, err->text);
    exit(1);
}

/* Median CPU seconds of parse and verify. */
static double parse_seconds(const char *text, size_t n)
{
    double seconds[REPEATS];
    err_t err = {0};
    for (int i = 0; i < REPEATS; i++) {
        double start = cpu_s();
        ir_module_t *module = parse_stablehlo(text, n, "bench", &err);
        seconds[i] = cpu_s() - start;
        if (!module) fail("parse", &err);
        ir_module_destroy(&module);
    }
    return bench_median(seconds, REPEATS);
}

typedef enum { LITERAL_HEX, LITERAL_FLOATS, LITERAL_INTEGERS } literal_t;

static void add_literal(str_t *out, literal_t kind)
{
    if (kind == LITERAL_HEX) str_add(out, "\"0x");
    if (kind != LITERAL_HEX) str_add(out, "[");
    for (uint64_t i = 0; i < PARSE_ELEMENTS; i++) {
        double u = rng_uniform(3, i);
        const char *comma = i ? ", " : "";
        if (kind == LITERAL_HEX)
            str_addf(out, "%08X", (unsigned)rng_bits(3, i) & 0x3FFFFFFFu);
        else if (kind == LITERAL_FLOATS)
            str_addf(out, "%s%.9g", comma, u - 0.5);
        else
            str_addf(out, "%s%d", comma, (int)(1e5 * u) - 50000);
    }
    str_add(out, kind == LITERAL_HEX ? "\"" : "]");
}

static void bench_literals(void)
{
    static const struct {
        const char *what, *dtype;
    } rows[] = {[LITERAL_HEX] = {"hex bytes", "f32"},
                [LITERAL_FLOATS] = {"decimal f32", "f32"},
                [LITERAL_INTEGERS] = {"decimal i32", "i32"}};
    for (int kind = LITERAL_HEX; kind <= LITERAL_INTEGERS; kind++) {
        str_t text = {0};
        const char *dtype = rows[kind].dtype;
        str_addf(&text, "func.func @main() -> tensor<%dx%s> {\n  %%0 = stablehlo.constant dense<",
                 PARSE_ELEMENTS, dtype);
        add_literal(&text, (literal_t)kind);
        str_addf(&text, "> : tensor<%dx%s>\n  return %%0 : tensor<%dx%s>\n}\n", PARSE_ELEMENTS,
                 dtype, PARSE_ELEMENTS, dtype);
        double seconds = parse_seconds(text.at, text.n);
        printf("parse+verify  %-22s %7.1f MB  %8.1f MB/s\n", rows[kind].what, (double)text.n / 1e6,
               (double)text.n / 1e6 / seconds);
        str_fini(&text);
    }
}

static void gpt2_text(const gpt2_config_t *config, str_t *text)
{
    err_t err = {0};
    ir_module_t *module = gpt2_build(config, &err);
    if (!module) fail("model", &err);
    ir_print_module(module, text);
    ir_module_destroy(&module);
}

static void bench_model_parse(void)
{
    str_t text = {0};
    int n_line = 0;
    gpt2_text(&(gpt2_config_t){7, 4, 128, 64, 256, 12, .bias = true}, &text);
    for (size_t i = 0; i < text.n; i++) n_line += text.at[i] == '\n';
    printf("parse+verify  a model of %d lines         %8.1f ms\n", n_line,
           1e3 * parse_seconds(text.at, text.n));
    str_fini(&text);
}

/* What the compiler service does when it knows the text: hash, read, unpack with every check. */
static void bench_cached(const str_t *text, const uint8_t *plan, size_t n_plan)
{
    char path[64], hash[HASH_HEX];
    double seconds[REPEATS];
    err_t err = {0};
    snprintf(path, sizeof path, "/tmp/bench-compile.%d.plan", (int)getpid());
    if (file_write_atomic(path, plan, n_plan, &err) < 0) fail("cache", &err);
    for (int i = 0; i < REPEATS; i++) {
        size_t n;
        double start = clock_mono_s();
        hash_content(text->at, text->n, hash);
        char *bytes = file_read(path, &n, &err);
        plan_t *again = bytes ? plan_unpack((uint8_t *)bytes, n, &err) : NULL;
        seconds[i] = clock_mono_s() - start;
        if (!again) fail("cache", &err);
        plan_destroy(&again);
        free(bytes);
    }
    unlink(path);
    printf("from cache: hash, read, unpack                %8.2f ms\n",
           1e3 * bench_median(seconds, REPEATS));
}

static void bench_pipeline(void)
{
    str_t text = {0};
    err_t err = {0};
    size_t n_plan;
    gpt2_text(&(gpt2_config_t){12, 12, 768, 1024, 50257, 4, .bias = true}, &text);
    double start = cpu_s();
    char *listing = compile_emit(text.at, text.n, "gpt2", STAGE_PLAN, &TRAIN_SPEC_DEFAULT,
                                 target_host(), &err);
    if (!listing) fail("plan", &err);
    printf("GPT-2, 12 layers, 85M: text to plan           %8.1f ms of CPU time\n",
           1e3 * (cpu_s() - start));
    start = clock_mono_s();
    uint8_t *plan = compile_text(text.at, text.n, "gpt2", &TRAIN_SPEC_DEFAULT, target_host(),
                                 &n_plan, &err);
    if (!plan) fail("compile", &err);
    printf("cold, with the system's C compiler            %8.1f ms\n",
           1e3 * (clock_mono_s() - start));
    bench_cached(&text, plan, n_plan);
    free(listing);
    free(plan);
    str_fini(&text);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        printf("usage: %s\n\nParsing constants and models, and the whole pipeline.\n", argv[0]);
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    bench_literals();
    bench_model_parse();
    bench_pipeline();
    return 0;
}
