/* Whole files: the exported models and StableHLO's public test vectors parse, print, and read back
 * to the same text. Skipped where the files are absent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"
#include "ir/print.h"
#include "parse/parse.h"

static bool round_trip(const char *path)
{
    err_t err = {0};
    str_t first = {0}, second = {0};
    ir_module_t *m = parse_stablehlo_file(path, &err), *again = NULL;
    if (m) {
        ir_print_module(m, &first);
        again = parse_stablehlo(str_text(&first), first.n, "printed", &err);
    }
    if (again) ir_print_module(again, &second);
    bool same = again && strcmp(str_text(&first), str_text(&second)) == 0;
    if (!same) print_error("%s: %s\n", path, again ? "the text differs" : err.text);
    ir_module_destroy(&m);
    ir_module_destroy(&again);
    str_fini(&first);
    str_fini(&second);
    return same;
}

static void all_in(const char *folder)
{
    int n, n_good = 0;
    char **files = corpus_shared_list(folder, ".mlir", &n);
    for (int i = 0; i < n; i++) n_good += round_trip(files[i]);
    corpus_free(files);
    print_message("%d of %d files\n", n_good, n);
    assert_int_equal(n_good, n);
}

static void test_models(void **state)
{
    (void)state;
    all_in("data/models");
}

static void test_vectors(void **state)
{
    (void)state;
    all_in("data/stablehlo/stablehlo/testdata");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_vectors),
    };
    return cmocka_run_group_tests_name("parse_files", tests, NULL, NULL);
}
