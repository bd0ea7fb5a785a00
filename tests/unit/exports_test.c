/* Texts as exporters write them (tests/golden/exports, and ../shared/exports where it is there): how
 * far each of them must come, and with which words it is refused. And files that are no text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "corpus.h"
#include "parse/parse.h"
#include "temp.h"

static const char seeds[] = "tests/golden/exports";

/* --- one text --- */

/* Where a text ends up: "plan", "ir" (read, but not trained), or the words it is refused with. */
static const char *reach(const char *text, size_t n, const char *path, err_t *err)
{
    ir_module_t *module = parse_section(text, n, path, 1, err);
    if (!module) return "refused";
    ir_module_destroy(&module);
    char *plan = compile_emit(text, n, path, STAGE_PLAN, &TRAIN_SPEC_DEFAULT, target_host(), err);
    free(plan);
    return plan ? "plan" : "ir";
}

/* What stands behind "// want: " in the section. */
static char *wanted(const parse_sections_t *s)
{
    static const char mark[] = "// want: ";
    const char *at = memmem(s->at, s->n, mark, strlen(mark));
    if (!at) return NULL;
    at += strlen(mark);
    const char *end = memchr(at, '\n', (size_t)(s->at + s->n - at));
    return end ? mem_printf("%.*s", (int)(end - at), at) : NULL;
}

static void check_section(void *context, const char *path, const parse_sections_t *s)
{
    int *n_wrong = context;
    err_t err = {0};
    char *want = wanted(s);
    if (!want) fail_msg("%s:%d: no want", path, s->line);
    const char *got = reach(s->at, s->n, path, &err);
    bool refused = strncmp(want, "refused ", 8) == 0;
    bool ok = refused ? strcmp(got, "refused") == 0 && strstr(err.text, want + 8)
                      : strcmp(got, want) == 0;
    if (!ok) print_error("%s:%d: want %s, got %s %s\n", path, s->line, want, got, err.text);
    *n_wrong += !ok;
    free(want);
}

static void test_seeds(void **state)
{
    (void)state;
    int n_wrong = 0, n = corpus_sections(seeds, check_section, &n_wrong);
    print_message("%d texts\n", n);
    assert_true(n >= 60);
    assert_int_equal(n_wrong, 0);
}

/* Nothing of it is refused but the one whose loss is not the first result. */
static void test_shared(void **state)
{
    (void)state;
    int n, n_wrong = 0;
    char **paths = corpus_shared_list("exports", ".mlir", &n);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        err_t err = {0};
        file_map_t map;
        if (file_map(paths[i], &map, &err) < 0) fail_msg("%s", err.text);
        const char *want = strstr(paths[i], "aux_first") ? "ir" : "plan";
        const char *got = reach((const char *)map.at, map.n, paths[i], &err);
        file_unmap(&map);
        if (strcmp(got, want) == 0) continue;
        print_error("%s: %s: %s\n", paths[i], got, err.text);
        n_wrong++;
    }
    corpus_free(paths);
    assert_int_equal(n_wrong, 0);
}

/* --- what is told --- */

static void test_notes(void **state)
{
    (void)state;
    static const char text[] =
        "module attributes {mhlo.num_partitions = 8 : i32} {\n"
        "func.func @main(%x: tensor<i32>) -> tensor<i1> {\n"
        "  stablehlo.custom_call @xla_python_cpu_callback(%x) : (tensor<i32>) -> ()\n"
        "  stablehlo.custom_call @xla_python_cpu_callback(%x) : (tensor<i32>) -> ()\n"
        "  %0 = stablehlo.custom_call @Sharding(%x) : (tensor<i32>) -> tensor<i32>\n"
        "  %1 = stablehlo.compare LT, %x, %0, UNSIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "  return %1 : tensor<i1>\n}\n}\n";
    err_t err = {0};
    ir_module_t *module = parse_stablehlo(text, strlen(text), "t", &err);
    if (!module) fail_msg("%s", err.text);
    assert_non_null(strstr(module->notes, "line 3: custom_call @xla_python_cpu_callback has no"));
    assert_non_null(strstr(module->notes, "calls back (2 places)\n"));
    assert_non_null(strstr(module->notes, "line 5: written for 8 devices"));
    assert_non_null(strstr(module->notes, "line 6: compare_type UNSIGNED"));
    ir_module_destroy(&module);
}

/* --- files that are no text --- */

typedef struct {
    const char *bytes;
    size_t n;
    const char *words;
} foreign_t;

#define BYTES(text, words)           \
    {                                \
        text, sizeof text - 1, words \
    }

static void test_foreign(void **state)
{
    (void)state;
    static const foreign_t rows[] = {
        BYTES("ML\xEFR\x11StableHLO_v1.8.0\0\1", "format version 8"),
        BYTES("HloModule jit_f, entry_computation_layout={}\n", "this is HLO text"),
        BYTES("\n// dump\nHloModule jit_f\n", "lower(..).as_text()"),
        BYTES("PK\x03\x04\x14\0\0\0", "unzip"),
        BYTES("\x1F\x8B\x08\0\0\0\0\0", "gunzip"),
        BYTES("\x28\xB5\x2F\xFD\x04\0", "zstd -d"),
        BYTES("\xFF\xFEm\0o\0d\0", "iconv -f UTF-16"),
        BYTES("\x0A\x08jit_f.12\x12\x04main\x1A\x02\x08\x01", "protocol buffer"),
        BYTES("\x0A\x93\x04\x0A\x05jit_f\x12\x04main", "protocol buffer"),
        BYTES("\x08\x08\x12\x07pytorch\x1A\x05", "protocol buffer"),
        BYTES("\x93NUMPY\x01\0v\0", "NumPy"),
        BYTES("{ lambda ; a:f32[4]. let b:f32[4] = tanh a in (b,) }", "jaxpr"),
        BYTES("module \0 {}", "NUL byte"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err_t err = {0};
        ir_module_t *module = parse_stablehlo(rows[i].bytes, rows[i].n, "m", &err);
        if (module || !strstr(err.text, rows[i].words))
            fail_msg("row %zu: want %s, got %s", i, rows[i].words, module ? "a module" : err.text);
    }
    static const char marked[] =
        "\xEF\xBB\xBF#l = loc(unknown)\r\nfunc.func @main() { return }\r\n";
    err_t err = {0};
    ir_module_t *module = parse_stablehlo(marked, strlen(marked), "m", &err);
    if (!module) fail_msg("a byte-order mark: %s", err.text);
    ir_module_destroy(&module);
}

static void test_directory(void **state)
{
    (void)state;
    err_t err = {0};
    char *dir = temp_dir();
    assert_int_equal(parse_check_path(dir, &err), -1);
    assert_non_null(strstr(err.text, "this is a directory; give"));
    char *functions = mem_printf("%s/functions", dir);
    assert_int_equal(mkdir(functions, 0700), 0);
    assert_null(parse_stablehlo_file(dir, &err));
    assert_non_null(strstr(err.text, "functions/forward.mlir"));
    free(functions);
    temp_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds),     cmocka_unit_test(test_shared),
        cmocka_unit_test(test_notes),     cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
