/* A sample of StableHLO's public test vectors, with what they check computed by compiled plans:
 * the checks hold. The whole list takes minutes:
 * run_conformance.sh -c 'pcp check --backend cpu FILE'. Skipped where the files are absent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "corpus.h"
#include "parse/parse.h"
#include "tools/check_compiled.h"

enum { AT_LEAST = 40, PER_FAMILY = 12 }; /* every 12th file of a family, and its first one */

/* The op in a path .../add_bfloat16_20_20.mlir: what comes before the first type. */
static size_t family(const char *path, const char **at)
{
    static const char *const types[] = {"_bf", "_float", "_int", "_uint", "_bool", "_complex"};
    const char *name = strrchr(path, '/') + 1;
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *cut = strstr(name, types[i]);
        if (cut && (size_t)(cut - name) < n) n = (size_t)(cut - name);
    }
    *at = name;
    return n;
}

static bool same_family(const char *a, const char *b)
{
    size_t n = family(a, &a), m = family(b, &b);
    return n == m && memcmp(a, b, n) == 0;
}

static void test_sample(void **state)
{
    (void)state;
    int n, n_run = 0, n_held = 0, in_family = 0;
    char **files = corpus_shared_list("data/stablehlo/stablehlo/testdata", ".mlir", &n);
    for (int i = 0; i < n; i++) {
        in_family = i > 0 && same_family(files[i - 1], files[i]) ? in_family + 1 : 0;
        if (in_family % PER_FAMILY != 0) continue;
        err_t err = {0};
        ir_module_t *module = parse_stablehlo_file(files[i], &err);
        int rc = module ? check_module_on_cpu(module, &err) : -1;
        ir_module_destroy(&module);
        n_run++;
        n_held += rc == 0;
        if (rc != 0) print_error("%s: %d: %s\n", files[i], rc, err.text);
    }
    corpus_free(files);
    print_message("%d of %d files hold\n", n_held, n_run);
    assert_true(n_run >= AT_LEAST);
    assert_int_equal(n_held, n_run);
}

/* Shapes are not believed: what is too large is an error before it is allocated. */
static void test_memory_limit(void **state)
{
    static const struct {
        const char *size, *says;
        int64_t max_bytes;
    } cases[] = {
        {"3000000x1000x1000xf32", "checked values of 12000000000000 bytes", 0},
        {"1000xf32", "checked values of 4000 bytes", 2000},
        {"1000xf32", "an arena of ", 4000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const eval_options_t limits = {.max_bytes = cases[i].max_bytes};
        err_t err = {0};
        str_t text = {0};
        str_addf(&text,
                 "func.func @main() {\n  %%0 = stablehlo.iota dim = 0 : tensor<%s>\n  %%1 = "
                 "stablehlo.negate %%0 : tensor<%s>\n  check.expect_eq %%1, %%1 : tensor<%s>\n  "
                 "return\n}\n",
                 cases[i].size, cases[i].size, cases[i].size);
        ir_module_t *module = parse_stablehlo(str_text(&text), text.n, "test", &err);
        assert_non_null(module);
        assert_int_equal(check_module_on_cpu_within(module, &limits, &err), -1);
        assert_int_equal(err.code, ERR_MEMORY);
        if (!strstr(err.text, cases[i].says)) fail_msg("%s", err.text);
        ir_module_destroy(&module);
        str_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_memory_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
