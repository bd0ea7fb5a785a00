/* MLIR bytecode with the VHLO dialect: what the tests' own writer makes of a module reads back to
 * the module that its text is, in every version; damaged bytes are refused in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/rng.h"
#include "bytecode_by_hand.h"
#include "bytecode_write.h"
#include "corpus.h"
#include "ir/print.h"
#include "parse/parse.h"

/* The versions that StableHLO's serializers wrote together. */
static const bytecode_write_t versions[] = {
    {.container = 1, .vhlo = 9},
    {.container = 3, .vhlo = 12},
    {.container = 3, .vhlo = 13, .use_lists = true},
    {.container = 4, .vhlo = 14},
    {.container = 6, .vhlo = 15},
    {.container = 6, .vhlo = 100},
    {.container = 6, .vhlo = 101},
    {.container = 6, .vhlo = 108, .use_lists = true},
    {.container = 6, .vhlo = 113},
    {.container = 6, .vhlo = 122},
};
enum { N_VERSIONS = sizeof versions / sizeof *versions };

static char *printed(ir_module_t *module)
{
    str_t text = {0};
    bytecode_strip_defaults(module);
    ir_print_module(module, &text);
    return text.at;
}

/* 1: reads back the same; 0: the writer has no words for it; -1 with a message */
static int round_trip(const char *text, size_t n, const char *name, const bytecode_write_t *how)
{
    err_t err = {0};
    str_t bytes = {0};
    int result = -1;
    ir_module_t *m = parse_stablehlo(text, n, name, &err), *again = NULL;
    if (err.code == ERR_UNSUPPORTED) return 0;
    if (m && !bytecode_write(m, how, &bytes)) result = 0;
    if (m && result < 0) again = parse_stablehlo(bytes.at, bytes.n, name, &err);
    if (again) {
        char *first = printed(m), *second = printed(again);
        result = strcmp(first, second) == 0 ? 1 : -1;
        if (result < 0) print_error("%s in\n%s\nand\n%s\n", name, first, second);
        free(first);
        free(second);
    }
    if (result < 0)
        print_error("%s, container %d, VHLO %d: %s\n", name, how->container, how->vhlo, err.text);
    ir_module_destroy(&m);
    ir_module_destroy(&again);
    str_fini(&bytes);
    return result;
}

static void every_version(void *context, const char *path, const parse_sections_t *section)
{
    int *n = context;
    if (parse_is_blank(section->at, section->n)) return;
    for (int i = 0; i < N_VERSIONS; i++) {
        bytecode_write_t how = versions[i];
        how.mixed = true;
        int result = round_trip(section->at, section->n, path, &how);
        if (result == 0) print_message("%s: not in VHLO %d\n", path, how.vhlo);
        assert_true(result >= 0);
        *n += result;
    }
}

static void test_models(void **state)
{
    (void)state;
    int n = 0;
    corpus_sections("tests/models", every_version, &n);
    corpus_sections("tests/models/roles", every_version, &n);
    print_message("%d modules\n", n);
    assert_true(n > 12 * N_VERSIONS);
}

static int vector(const char *path, int *n_written)
{
    err_t err = {0};
    static const bytecode_write_t old = {.container = 4, .vhlo = 14, .mixed = true},
                                  new = {.container = 6, .vhlo = 122, .mixed = true};
    parse_sections_t s;
    file_map_t map;
    if (file_map(path, &map, &err) < 0) return -1;
    s = parse_sections((const char *)map.at, map.n);
    int worst = 0;
    while (parse_sections_next(&s)) {
        int a = round_trip(s.at, s.n, path, &new), b = round_trip(s.at, s.n, path, &old);
        if (a < 0 || b < 0) worst = -1;
        *n_written += (a > 0) + (b > 0);
    }
    file_unmap(&map);
    return worst;
}

static void test_vectors(void **state)
{
    (void)state;
    int n, n_written = 0, n_bad = 0;
    char **files = corpus_shared_list("data/stablehlo/stablehlo/testdata", ".mlir", &n);
    for (int i = 0; i < n; i++) n_bad += vector(files[i], &n_written) < 0;
    corpus_free(files);
    print_message("%d files, %d of %d written and read\n", n, n_written, 2 * n);
    assert_int_equal(n_bad, 0);
    assert_true(n_written > n);
}

/* --- bytes by hand --- */

static void check_by_hand(const char *bytes, size_t n)
{
    err_t err = {0};
    str_t text = {0};
    assert_true(parse_is_bytecode(bytes, n));
    ir_module_t *m = parse_stablehlo(bytes, n, "hand.mlirbc", &err);
    if (!m) fail_msg("%s", err.text);
    ir_print_module(m, &text);
    assert_string_equal(str_text(&text),
                        "module {\n"
                        "  func.func public @main(%arg0: tensor<2xf32> {pcp.loc = \"x\"}) -> "
                        "tensor<2xf32> {\n"
                        "    return %arg0 : tensor<2xf32>\n"
                        "  }\n"
                        "}\n");
    str_fini(&text);
    ir_module_destroy(&m);
}

static void test_by_hand(void **state)
{
    (void)state;
    check_by_hand((const char *)by_hand, sizeof by_hand);
}

/* What jax.export's serialize() writes: a vector of a flatbuffer, its size in front of it. */
static void test_in_flatbuffer(void **state)
{
    (void)state;
    str_t bytes = {0};
    for (int i = 0; i < 60; i++) put_byte(&bytes, i % 3 ? 0 : 40);
    for (int i = 0; i < 4; i++) put_byte(&bytes, sizeof by_hand >> (8 * i) & 0xFF);
    str_addn(&bytes, (const char *)by_hand, sizeof by_hand);
    for (int i = 0; i < 40; i++) put_byte(&bytes, 7);
    check_by_hand(bytes.at, bytes.n);
    bytes.at[60] = 127; /* more than is there */
    bytes.at[61] = 127;
    assert_false(parse_is_bytecode(bytes.at, bytes.n));
    str_fini(&bytes);
}

/* --- constants --- */

/* Each kind of constant: by hand in the text, and in the file where it is large. */
static void test_constants(void **state)
{
    (void)state;
    static const char *const constants[] = {
        "dense<[true, false, true]> : tensor<3xi1>",
        "dense<[true, false, false, false, false, false, false, false]> : tensor<8xi1>",
        "dense<true> : tensor<20xi1>",
        "dense<false> : tensor<100000xi1>",
        "dense<> : tensor<0xf32>",
        "dense<[-1, 2, -2, 1]> : tensor<4xi4>",
        "dense<[(1.0, -2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>",
        "dense<-7> : tensor<1000xi16>",
        "dense<18446744073709551615> : tensor<ui64>",
    };
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        char text[512];
        const char *type = strstr(constants[i], " : ") + 3;
        int n = snprintf(
            text, sizeof text,
            "func.func @f() -> %s {\n %%c = stablehlo.constant %s\n return %%c : %s\n}", type,
            constants[i], type);
        for (int v = 0; v < N_VERSIONS; v++)
            assert_int_equal(round_trip(text, (size_t)n, constants[i], &versions[v]), 1);
    }
}

/* Tensors that are too large for the text: booleans of 13 to a row, and numbers that count up. */
static void test_large_constants(void **state)
{
    (void)state;
    str_t text = {0};
    str_add(&text, "func.func @f() -> (tensor<700x13xi1>, tensor<5000xi32>) {\n"
                   " %b = stablehlo.constant dense<[");
    for (int i = 0; i < 700; i++) {
        str_add(&text, i ? ", [" : "[");
        for (int k = 0; k < 13; k++)
            str_addf(&text, "%s%s", k ? ", " : "", (i * k + k) % 3 ? "true" : "false");
        str_add(&text, "]");
    }
    str_add(&text, "]> : tensor<700x13xi1>\n %c = stablehlo.constant dense<[");
    for (int i = 0; i < 5000; i++) str_addf(&text, "%s%d", i ? ", " : "", i * i);
    str_add(&text,
            "]> : tensor<5000xi32>\n return %b, %c : tensor<700x13xi1>, tensor<5000xi32>\n}");
    for (int v = 0; v < N_VERSIONS; v++)
        assert_int_equal(round_trip(text.at, text.n, "large", &versions[v]), 1);
    str_fini(&text);
}

/* Collectives: VHLO's channel 0 and `false` are StableHLO's absent attributes. */
static void test_collectives(void **state)
{
    (void)state;
    static const char text[] =
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %y = \"stablehlo.all_reduce\"(%x) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>%s}> "
        "({\n"
        "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "    %s = stablehlo.add %a, %b : tensor<f32>\n"
        "    stablehlo.return %s : tensor<f32>\n"
        "  }) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  return %y : tensor<4xf32>\n"
        "}\n";
    const char *at = strstr(text, "%s}>");
    for (int global = 0; global < 2; global++) {
        char full[1024];
        int n = snprintf(full, sizeof full, "%.*s%s%s", (int)(at - text), text,
                         global ? ", use_global_device_ids" : "", at + 2);
        for (int v = 0; v < N_VERSIONS; v++)
            assert_int_equal(round_trip(full, (size_t)n, "collective", &versions[v]), 1);
    }
}

/* --- what is refused --- */

static const char sum[] =
    "func.func @main(%x: tensor<4xf32>) -> tensor<f32> {\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : "
    "(tensor<4xf32>, tensor<f32>) -> tensor<f32>\n"
    "  return %s : tensor<f32>\n"
    "}\n";

static str_t written(const char *text, const bytecode_write_t *how)
{
    err_t err = {0};
    str_t bytes = {0};
    ir_module_t *m = parse_stablehlo(text, strlen(text), "text", &err);
    assert_non_null(m);
    assert_true(bytecode_write(m, how, &bytes));
    ir_module_destroy(&m);
    return bytes;
}

static void check_refused(const str_t *bytes, err_code_t code, const char *const *words)
{
    err_t err = {0};
    assert_null(parse_stablehlo(bytes->at, bytes->n, "m.mlirbc", &err));
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.text, "m.mlirbc"));
    for (; *words; words++)
        if (!strstr(err.text, *words)) fail_msg("no '%s' in: %s", *words, err.text);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        bytecode_write_t how;
        err_code_t code;
        const char *words[4];
    } cases[] = {
        {{.container = 7, .vhlo = 122}, ERR_UNSUPPORTED, {"version 7", "0 to 6", "--target=1.0.0"}},
        {{.container = 6, .vhlo = 200}, ERR_UNSUPPORTED, {"StableHLO 2.0", "0.9 to 1.22"}},
        {{.container = 6, .vhlo = 130, .extra = "frobnicate_v3"},
         ERR_UNSUPPORTED,
         {"vhlo.frobnicate_v3", "StableHLO 1.30", "--target=1.0.0"}},
        {{.container = 4, .vhlo = 14, .extra = "add_v9"}, ERR_UNSUPPORTED, {"vhlo.add_v9"}},
        /* an op that is known, and not for one device alone */
        {{.container = 6, .vhlo = 122, .extra = "outfeed_v1"}, ERR_UNSUPPORTED, {"outfeed"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        str_t bytes = written(sum, &cases[i].how);
        check_refused(&bytes, cases[i].code, cases[i].words);
        str_fini(&bytes);
    }
}

/* A newer minor version is read while all of it is known. */
static void test_newer_minor(void **state)
{
    (void)state;
    static const bytecode_write_t newer = {.container = 6, .vhlo = 199};
    assert_int_equal(round_trip(sum, strlen(sum), "newer", &newer), 1);
}

static void test_unknown_codes(void **state)
{
    (void)state;
    static const struct {
        size_t at; /* in by_hand */
        unsigned char byte;
        const char *words[3];
    } cases[] = {
        {BY_HAND_TYPE, 0xC9, {"type 100 of the dialect vhlo is unknown"}},
        {BY_HAND_ATTR, 0xC9, {"attribute 100 of the dialect vhlo is unknown"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        str_t bytes = {0};
        str_addn(&bytes, (const char *)by_hand, sizeof by_hand);
        bytes.at[cases[i].at] = (char)cases[i].byte;
        check_refused(&bytes, ERR_UNSUPPORTED, cases[i].words);
        str_fini(&bytes);
    }
}

/* Dictionaries in dictionaries, each twice in the next: 2^40 in the text. */
static void test_too_long(void **state)
{
    (void)state;
    enum { LEVELS = 40 };
    ir_attr_t level[LEVELS][2];
    err_t err = {0};
    str_t bytes = {0};
    static const bytecode_write_t how = {.container = 6, .vhlo = 100};
    ir_module_t *m = parse_stablehlo(sum, strlen(sum), "text", &err);
    level[0][0] = (ir_attr_t){.name = "a", .kind = ATTR_BOOL, .i = 1};
    level[0][1] = (ir_attr_t){.name = "b", .kind = ATTR_BOOL, .i = 0};
    for (int i = 1; i < 12; i++) /* the writer walks all of it: as deep as it can afford */
        for (int k = 0; k < 2; k++)
            level[i][k] = (ir_attr_t){
                .name = k ? "b" : "a", .kind = ATTR_DICT, .items = level[i - 1], .n = 2};
    for (int i = 0; i < 400; i++) {
        char *name = arena_printf(m->arena, "x%d", i);
        attr_set(m->arena, &m->attrs,
                 (ir_attr_t){.name = name, .kind = ATTR_DICT, .items = level[11], .n = 2});
    }
    assert_true(bytecode_write(m, &how, &bytes));
    check_refused(&bytes, ERR_MEMORY, (const char *const[]){"used in each other too often", NULL});
    str_fini(&bytes);
    ir_module_destroy(&m);
}

/* --- damage --- */

/* Cuts everywhere, and bytes that are others: an error with the file's name, or a valid module. */
static void test_damaged(void **state)
{
    (void)state;
    int n_read = 0, n_refused = 0;
    for (int v = 0; v < N_VERSIONS; v++) {
        str_t bytes = written(sum, &versions[v]);
        for (size_t i = 0; i < 3 * bytes.n; i++) {
            uint64_t r = rng_bits(5, i);
            char *copy = malloc(bytes.n);
            memcpy(copy, bytes.at, bytes.n);
            size_t n = i < bytes.n ? i : bytes.n;
            if (i >= bytes.n)
                copy[i % bytes.n] = (char)(i < 2 * bytes.n ? (int)(r & 255)
                                                           : copy[i % bytes.n] ^ 1 << r % 8);
            err_t err = {0};
            ir_module_t *m = n < 4 ? NULL : parse_stablehlo(copy, n, "damaged", &err);
            if (m) assert_int_equal(ir_verify(m, &err), 0);
            if (!m && n >= 4) assert_non_null(strstr(err.text, "damaged"));
            n_read += m != NULL;
            n_refused += m == NULL;
            ir_module_destroy(&m);
            free(copy);
        }
        str_fini(&bytes);
    }
    print_message("%d read, %d refused\n", n_read, n_refused);
    assert_true(n_refused > n_read);
}

/* A constant whose bytes spell what parts texts does not part bytecode. */
static void test_one_section(void **state)
{
    (void)state;
    static const bytecode_write_t how = {.container = 6, .vhlo = 100};
    str_t bytes = written("module attributes {note = \"\n// -----\n\"} {\n"
                          "  func.func @f(%x: tensor<f32>) -> tensor<f32> {\n"
                          "    return %x : tensor<f32>\n  }\n}\n",
                          &how);
    parse_sections_t s = parse_sections(bytes.at, bytes.n);
    assert_true(parse_sections_next(&s));
    assert_int_equal(s.n, bytes.n);
    assert_false(parse_sections_next(&s));
    str_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),      cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_by_hand),     cmocka_unit_test(test_in_flatbuffer),
        cmocka_unit_test(test_constants),   cmocka_unit_test(test_large_constants),
        cmocka_unit_test(test_collectives), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_newer_minor), cmocka_unit_test(test_unknown_codes),
        cmocka_unit_test(test_too_long),    cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_one_section),
    };
    return cmocka_run_group_tests_name("bytecode", tests, NULL, NULL);
}
