/* The f32 functions of the prelude give the same bits whatever the instruction set: compiled as
 * plans are for every target that runs here, vectorised, with and without fused multiply-add.
 * `prelude_bits_test` walks the f32 inputs with a stride; `prelude_bits_test --all [name...]` takes
 * all 2^32 (minutes a function). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "codegen/c/compiler.h"
#include "codegen/prelude/prelude_text.h"
#include "codegen/target.h"
#include "runtime/code.h"

/* Those that libm computes in double are not among them: it chooses by the processor. */
static const char *const functions[] = {"exp",  "expm1", "log",  "log1p", "logistic",
                                        "tanh", "erf",   "erfc", "sin",   "cos",
                                        "tan",  "cbrt",  "atan", "sqrt",  "rsqrt"};
static const char *const targets[] = {"cpu:x86-64", "cpu:x86-64-v2", "cpu:x86-64-v3",
                                      "cpu:x86-64-v4"};
enum {
    N_FUNCTION = sizeof functions / sizeof functions[0],
    N_TARGET = sizeof targets / sizeof targets[0],
    BLOCK = 4096
};

typedef void apply_fn(const float *x, float *y, int64_t n);

typedef struct {
    code_t *code[N_TARGET];
    apply_fn *apply[N_TARGET][N_FUNCTION]; /* NULL: the target does not run here */
    int n_target;
} set_t;

/* One loop for each function of the prelude. */
static char *source(void)
{
    str_t out = {0};
    str_add(&out, prelude_text());
    for (int f = 0; f < N_FUNCTION; f++)
        str_addf(&out,
                 "void %s_all(const float *restrict x, float *restrict y, int64_t n)\n{\n"
                 "#pragma omp simd\n    for (int64_t i = 0; i < n; i++) y[i] = pcp_%s_f32(x[i]);\n"
                 "}\n",
                 functions[f], functions[f]);
    return out.at;
}

static void compile(set_t *set, int t, const char *text)
{
    err_t err = {0};
    size_t n = 0;
    uint8_t *bytes = compiler_run(NULL, 1, &text, target_find(targets[t], NULL)->flags, &n, &err);
    set->code[t] = bytes ? code_load(bytes, n, &err) : NULL;
    if (!set->code[t]) fail_msg("%s: %s", targets[t], err.text);
    for (int f = 0; f < N_FUNCTION; f++) {
        char name[32];
        snprintf(name, sizeof name, "%s_all", functions[f]);
        void *address = code_symbol(set->code[t], name, &err);
        if (!address) fail_msg("%s", err.text);
        memcpy(&set->apply[t][f], &address, sizeof address);
    }
    free(bytes);
}

static void set_init(set_t *set)
{
    char *text = source();
    *set = (set_t){0};
    for (int t = 0; t < N_TARGET; t++) {
        if (target_runs_here(targets[t], NULL) < 0) {
            print_message("%s does not run here: skipped\n", targets[t]);
            continue;
        }
        compile(set, t, text);
        set->n_target++;
    }
    free(text);
}

static void set_fini(set_t *set)
{
    for (int t = 0; t < N_TARGET; t++) code_destroy(&set->code[t]);
}

static int same(const float *a, const float *b, int i)
{
    return memcmp(&a[i], &b[i], sizeof a[i]) == 0 || (a[i] != a[i] && b[i] != b[i]);
}

/* Inputs whose results differ between targets. */
static uint64_t walk(const set_t *set, int f, uint32_t stride)
{
    float x[BLOCK], want[BLOCK], got[BLOCK];
    uint64_t bits = 0, n_different = 0;
    while (bits <= UINT32_MAX) {
        int n = 0, first = -1;
        for (; n < BLOCK && bits <= UINT32_MAX; bits += stride, n++) {
            uint32_t word = (uint32_t)bits;
            memcpy(&x[n], &word, sizeof word);
        }
        for (int t = 0; t < N_TARGET; t++) {
            if (!set->apply[t][f]) continue;
            set->apply[t][f](x, first < 0 ? want : got, n);
            for (int i = 0; first >= 0 && i < n; i++) {
                if (same(want, got, i)) continue;
                if (n_different++ < 4)
                    print_message("%s(%a) = %a for %s, %a for %s\n", functions[f], (double)x[i],
                                  (double)want[i], targets[first], (double)got[i], targets[t]);
            }
            if (first < 0) first = t;
        }
    }
    return n_different;
}

static void test_same_bits(void **state)
{
    set_t set;
    uint64_t n_different = 0;
    (void)state;
    set_init(&set);
    for (int f = 0; f < N_FUNCTION; f++) n_different += walk(&set, f, 20011);
    set_fini(&set);
    assert_int_equal(n_different, 0);
}

/* --all: those named, or all. */
static int walk_all(int n_name, char **names)
{
    set_t set;
    int status = 0;
    set_init(&set);
    for (int f = 0; f < N_FUNCTION; f++) {
        int wanted = n_name == 0;
        for (int i = 0; i < n_name; i++) wanted |= strcmp(names[i], functions[f]) == 0;
        if (!wanted) continue;
        uint64_t n = walk(&set, f, 1);
        printf("%-9s %llu of 2^32 inputs differ between %d targets\n", functions[f],
               (unsigned long long)n, set.n_target);
        fflush(stdout);
        status |= n != 0;
    }
    set_fini(&set);
    return status;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits)};
    if (argc > 1 && strcmp(argv[1], "--all") == 0) return walk_all(argc - 2, argv + 2);
    return cmocka_run_group_tests_name("prelude_bits", tests, NULL, NULL);
}
