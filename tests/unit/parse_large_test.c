/* Large constants: the same values whether they stay in memory or go to a file, whatever the text lies in;
 * and the memory that reading takes does not grow with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file_view.h"
#include "base/str.h"
#include "ir/op.h"
#include "ir/print.h"
#include "parse/parse.h"
#include "peak.h"
#include "temp.h"

static void add_hex(str_t *text, size_t n_bytes, int seed)
{
    static const char digit[] = "0123456789abcdef";
    char piece[4096];
    uint32_t x = (uint32_t)seed;
    for (size_t left = 2 * n_bytes, n; left; left -= n) {
        n = left < sizeof piece ? left : sizeof piece;
        for (size_t i = 0; i < n; i++) {
            x = x * 1664525u + 1013904223u;
            piece[i] = digit[x >> 28];
        }
        str_addn(text, piece, n);
    }
}

/* Every kind of large literal, 1.4 MB of text and more each: hex, bits of a byte each and packed, small
 * integers, a list, and a blob that two constants share. */
static char *make_text(size_t *n)
{
    str_t t = {0};
    str_add(&t, "func.func @main() -> tensor<f32> {\n  %a = stablehlo.constant dense<\"0x");
    add_hex(&t, 700000, 1);
    str_add(&t, "\"> : tensor<175000xf32>\n  %b = stablehlo.constant dense<\"0x");
    add_hex(&t, 700000, 2);
    str_add(&t, "\"> : tensor<5600000xi1>\n  %c = stablehlo.constant dense<\"0x");
    add_hex(&t, 700000, 3);
    str_add(&t, "\"> : tensor<700000xi4>\n  %d = stablehlo.constant dense<[ // a > here\n");
    for (int i = 0; i < 600000; i++)
        str_addf(&t, "%s%d", i ? ", " : "", (int)(i * 7919u % 65536) - 32768);
    str_add(&t, "]> : tensor<600000xi16>\n"
                "  %e = stablehlo.constant dense_resource<blob> : tensor<175000xf32>\n"
                "  %f = stablehlo.constant dense_resource<blob> : tensor<175000xf32>\n"
                "  %g = stablehlo.constant dense_resource<blob> : tensor<175000xi32>\n"
                "  %z = stablehlo.constant dense<1.5> : tensor<f32>\n  return %z : tensor<f32>\n}\n"
                "{-#\n  dialect_resources: {\n    builtin: {\n      blob: \"0x04000000");
    add_hex(&t, 700000, 4);
    str_add(&t, "\"\n    }\n  }\n#-}\n");
    *n = t.n;
    return t.at;
}

static const tensor_t *constant(const ir_module_t *m, int i)
{
    return attr_find(&m->fn[0]->body->op[i]->attrs, "value")->tensor;
}

static void test_same(void **state)
{
    (void)state;
    char *dir = temp_dir();
    const char *path = temp_path(dir, "large.mlir");
    size_t n;
    char *text = make_text(&n);
    err_t err = {0};
    temp_write(path, text, n);
    ir_module_t *kept = parse_stablehlo(text, n, "large", &err);
    if (!kept) fail_msg("%s", err.text);
    assert_int_equal(spill_file_bytes(kept->spill), 0);
    file_view_t view;
    assert_int_equal(file_view_open(path, &view, &err), 0);
    const parse_options_t options = {.mapped = view.mapped, .keep_bytes = -1};
    ir_module_t *spilled = parse_stablehlo_with(view.at, view.n, "large", &options, &err);
    if (!spilled) fail_msg("%s", err.text);
    assert_memory_equal(view.at, text, n); /* pages that were given back come again */
    file_view_close(&view);
    assert_true(spill_file_bytes(spilled->spill) > 4 * 700000);
    assert_int_equal(temp_count(dir), 1);
    for (int i = 0; i < 8; i++) {
        if (!tensor_equal(constant(kept, i), constant(spilled, i))) fail_msg("constant %d", i);
    }
    for (const ir_module_t *m = kept; m; m = m == kept ? spilled : NULL)
        assert_ptr_equal(constant(m, 4)->data, constant(m, 5)->data); /* decoded once */
    ir_module_t *copy = ir_module_clone(spilled, &err);
    ir_module_destroy(&spilled);
    for (int i = 0; i < 8; i++) assert_true(tensor_equal(constant(kept, i), constant(copy, i)));
    ir_module_destroy(&copy);
    ir_module_destroy(&kept);
    free(text);
    temp_remove(&dir);
}

/* Errors behind and inside large literals name their place. */
static void test_places(void **state)
{
    static const struct {
        const char *from, *to, *where;
    } cases[] = {
        {"return %z", "return %y", "large:11:"},
        {"tensor<700000xi4>", "tensor<700001xi4>", "large:4:"},
        {"\"\n    }\n  }", "g\"\n    }\n  }", "large:16:"},
        {"tensor<600000xi16>", "tensor<600000xi8>", "large:6:"},
        {" // a > here", " \x01", "large:5:"},
    };
    (void)state;
    size_t n;
    char *text = make_text(&n);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *at = strstr(text, cases[i].from);
        assert_non_null(at);
        str_t changed = {0};
        str_addn(&changed, text, (size_t)(at - text));
        str_add(&changed, cases[i].to);
        str_add(&changed, at + strlen(cases[i].from));
        for (int64_t keep = -1; keep <= 0; keep++) {
            err_t err = {0};
            const parse_options_t options = {.keep_bytes = keep};
            assert_null(parse_stablehlo_with(changed.at, changed.n, "large", &options, &err));
            if (!str_starts(err.text, cases[i].where)) fail_msg("case %zu: %s", i, err.text);
        }
        str_fini(&changed);
    }
    free(text);
}

static void test_full_disk(void **state)
{
    (void)state;
    size_t n;
    char *text = make_text(&n);
    const parse_options_t options = {.keep_bytes = -1};
    err_t err = {0};
    temp_disk_full(1 << 20);
    ir_module_t *m = parse_stablehlo_with(text, n, "large", &options, &err);
    temp_disk_free();
    assert_null(m);
    assert_int_equal(err.code, ERR_IO);
    assert_true(str_starts(err.text, "large: "));
    assert_non_null(strstr(err.text, "set TMPDIR"));
    free(text);
}

/* 48 MB of text and 24 MB of constants in less than 8 MB. */
static void test_memory(void **state)
{
#ifdef __SANITIZE_ADDRESS__ /* its shadow counts */
    enum { BYTES = 24 << 20, MOST = 16 << 20 };
#else
    enum { BYTES = 24 << 20, MOST = 8 << 20 };
#endif
    (void)state;
    char *dir = temp_dir();
    const char *path = temp_path(dir, "large.mlir");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "func.func @main() -> tensor<f32> {\n  %%a = stablehlo.constant dense<\"0x");
    for (int i = 0; i < BYTES / 16; i++) fprintf(f, "%032x", i);
    fprintf(f,
            "\"> : tensor<%dxf32>\n  %%z = stablehlo.constant dense<1.5> : tensor<f32>\n"
            "  return %%z : tensor<f32>\n}\n",
            BYTES / 4);
    assert_int_equal(fclose(f), 0);
    file_view_t view;
    err_t err = {0};
    assert_int_equal(file_view_open(path, &view, &err), 0);
    const parse_options_t options = {.mapped = view.mapped, .keep_bytes = -1};
    peak_bytes();
    size_t before = peak_bytes();
    ir_module_t *m = parse_stablehlo_with(view.at, view.n, "large", &options, &err);
    size_t most = peak_bytes() - before;
    if (!m) fail_msg("%s", err.text);
    if (most > MOST) fail_msg("reading took %zu MB", most >> 20);
    assert_int_equal(spill_file_bytes(m->spill), BYTES);
    ir_module_destroy(&m);
    file_view_close(&view);
    temp_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
