/* Records for a model's arguments from each format: the same bytes of training data; scales; what is
 * refused. Archives: zip_test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ckpt/safetensors.h"
#include "pcp/train_records.h"
#include "temp.h"

static const char text[] =
    "func.func @main(%w: tensor<3xf32> {pcp.role = \"param\"}, %x: tensor<2x3xf32> {pcp.name = "
    "\"x\", pcp.role = \"batch\"}, %y: tensor<2xi32> {pcp.name = \"y\"}) -> tensor<f32> {\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, "
    "tensor<3xf32>) -> tensor<2xf32>\n"
    "  %1 = stablehlo.convert %y : (tensor<2xi32>) -> tensor<2xf32>\n"
    "  %2 = stablehlo.multiply %0, %1 : tensor<2xf32>\n"
    "  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0] : "
    "(tensor<2xf32>, tensor<f32>) -> tensor<f32>\n"
    "  return %3 : tensor<f32>\n}\n";

enum { RECORDS = 4 };
static const float x[RECORDS][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 255}};
static const uint8_t x_bytes[RECORDS * 3] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255};
static const uint8_t y[RECORDS] = {7, 8, 9, 200};

static model_info_t open_model(const char *dir)
{
    err_t err = {0};
    model_info_t model;
    const roles_options_t options = {.loss_result = -1};
    const char *path = temp_path(dir, "m.mlir");
    temp_write(path, text, strlen(text));
    if (model_info_load(path, &options, &model, &err) < 0) fail_msg("%s", err.text);
    return model;
}

/* Record r is x[r] * scale + shift, then y[r]. */
static void check_units(const char *from, const model_info_t *model, double scale, double shift)
{
    err_t err = {0};
    size_t n_unit, n;
    uint16_t *units = train_records_read(from, model, &n_unit, &n, &err);
    if (!units) fail_msg("%s", err.text);
    assert_int_equal(n, RECORDS);
    assert_int_equal(n_unit, 8);
    for (int r = 0; r < RECORDS; r++) {
        float got[3];
        int32_t label;
        memcpy(got, units + 8 * r, sizeof got);
        memcpy(&label, units + 8 * r + 6, sizeof label);
        for (int i = 0; i < 3; i++) assert_true(got[i] == (float)((double)x[r][i] * scale + shift));
        assert_int_equal(label, y[r]);
    }
    free(units);
}

static void refused(const char *from, const model_info_t *model, const char *words)
{
    err_t err = {0};
    size_t n_unit, n;
    if (train_records_read(from, model, &n_unit, &n, &err)) fail_msg("not refused: %s", words);
    if (!strstr(err.text, words)) fail_msg("want %s, got %s", words, err.text);
}

static void write_in(const char *dir, const char *name, const void *bytes, size_t n)
{
    temp_write(temp_path(dir, name), bytes, n);
}

static void test_safetensors(void **state)
{
    (void)state;
    err_t err = {0};
    char *dir = temp_dir();
    model_info_t model = open_model(dir);
    const safetensor_t tensors[] = {
        {.name = "x", .dtype = DT_F32, .rank = 2, .dims = {RECORDS, 3}, x, sizeof x},
        {.name = "y", .dtype = DT_UI8, .rank = 1, .dims = {RECORDS}, y, sizeof y}};
    char *path = mem_strdup(temp_path(dir, "all.safetensors"));
    if (safetensors_write(path, tensors, 2, NULL, 0, &err) < 0) fail_msg("%s", err.text);
    check_units(dir, &model, 1, 0);
    check_units(path, &model, 1, 0); /* the file alone */
    write_in(dir, "schema.json", "{\"y\": {\"scale\": 2}}", 19);
    refused(dir, &model, "has a scale, but the argument \"y\" is tensor<2xi32>");
    write_in(dir, "schema.json", "{\"x\": {\"scale\": 0.5, \"shift\": -1}}", 34);
    check_units(dir, &model, 0.5, -1);
    write_in(dir, "b.npz", "PK", 2);
    refused(dir, &model, "b.npz: this is no zip archive");
    free(path);
    model_info_fini(&model);
    temp_remove(&dir);
}

static void test_raw(void **state)
{
    (void)state;
    char *dir = temp_dir(), labels[16 + RECORDS] = "header of sixtee";
    model_info_t model = open_model(dir);
    memcpy(labels + 16, y, sizeof y);
    write_in(dir, "x.bin", x_bytes, sizeof x_bytes);
    write_in(dir, "y.bin", labels, sizeof labels);
    static const char schema[] =
        "{\"x\": {\"file\": \"x.bin\", \"type\": \"u8\", \"shape\": [3], \"scale\": "
        "0.0039215686},\n"
        " \"y\": {\"file\": \"y.bin\", \"type\": \"ui8\", \"offset\": 16}}";
    write_in(dir, "schema.json", schema, strlen(schema));
    check_units(dir, &model, 0.0039215686, 0);
    write_in(dir, "x.bin", x_bytes, sizeof x_bytes - 1);
    refused(dir, &model, "11 bytes behind the first 0 are no whole number of records of 3 bytes");
    write_in(dir, "x.bin", x_bytes, sizeof x_bytes - 3);
    refused(dir, &model, "\"x\" has 3 records, \"y\" 4");
    model_info_fini(&model);
    temp_remove(&dir);
}

static void test_schema(void **state)
{
    (void)state;
    static const struct {
        const char *schema, *words;
    } rows[] = {
        {"[]", "expected an object of columns"},
        {"{\"x\": 1}", "\"x\": expected an object"},
        {"{\"x\": {\"scal\": 1}}", "known keys are"},
        {"{\"x\": {\"scale\": \"1\"}}", "are numbers"},
        {"{\"x\": {\"shape\": [3]}}", "are for a \"file\""},
        {"{\"x\": {\"file\": \"../x\", \"type\": \"u8\"}}", "a file in this folder"},
        {"{\"x\": {\"file\": \"x\", \"type\": \"u9\"}}", "is one of"},
        {"{\"x\": {\"file\": \"x\", \"type\": \"i4\"}}", "is one of"},
        {"{\"x\": {\"file\": \"x\", \"type\": \"u8\", \"shape\": [0]}}", "no size"},
        {"{\"x\": {\"file\": \"x\", \"type\": \"u8\", \"shape\": 3}}", "is the list"},
        {"{\"x\": {\"file\": \"x\", \"type\": \"f64\", \"shape\": [9223372036854775807, 9]}}",
         "\"x\""},
        {"{\"x\": {\"file\": \"x\", \"type\": \"u8\", \"offset\": -1}}", "number of bytes"},
        {"{\"x\": {\"file\": \"x\", \"type\": \"u8\"}}", "/x: "},
        {"{", "schema.json: line 1"},
        {"{}", "there is no x.npy, nor x.npy, nor 0.npy, nor such an array"},
    };
    char *dir = temp_dir();
    model_info_t model = open_model(dir);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_in(dir, "schema.json", rows[i].schema, strlen(rows[i].schema));
        refused(dir, &model, rows[i].words);
    }
    refused("/nowhere", &model, "/nowhere");
    model_info_fini(&model);
    temp_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safetensors),
        cmocka_unit_test(test_raw),
        cmocka_unit_test(test_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
