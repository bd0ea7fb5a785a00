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

#include "corpus.h"
#include "parse/parse.h"
#include "runtime/check.h"

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
    char *folder = corpus_shared("data/stablehlo/stablehlo/testdata");
    char **files = corpus_list(folder, ".mlir", &n);
    if (!files) print_message("no folder %s: skipped\n", folder);
    free(folder);
    if (!files) skip();
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sample)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
