/* Records for a model's arguments from each format: the same bytes of training data; scales; what is
 * refused. Archives: zip_test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ckpt/safetensors.h"
#include "pcp/train_records.h"
#include "peak.h"
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
    train_records_t *records = train_records_open(from, model, &err);
    if (!records) fail_msg("%s", err.text);
    assert_int_equal(train_records_count(records), RECORDS);
    assert_int_equal(train_records_unit(records), 8);
    uint16_t units[8 * RECORDS];
    if (train_records_next(records, units, 3, &err) < 0 ||
        train_records_next(records, units + 24, 1, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(train_records_next(records, units, 1, &err), -1);
    train_records_close(&records);
    for (int r = 0; r < RECORDS; r++) {
        float got[3];
        int32_t label;
        memcpy(got, units + 8 * r, sizeof got);
        memcpy(&label, units + 8 * r + 6, sizeof label);
        for (int i = 0; i < 3; i++) assert_true(got[i] == (float)((double)x[r][i] * scale + shift));
        assert_int_equal(label, y[r]);
    }
}

static void refused(const char *from, const model_info_t *model, const char *words)
{
    err_t err = {0};
    if (train_records_open(from, model, &err)) fail_msg("not refused: %s", words);
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
        {"{}", "there is no x.npy, nor 0.npy, nor such an array"},
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

/* --- more records than may be in memory --- */

enum { MANY = 3 << 20 };

static uint8_t many_x(size_t i)
{
    return (uint8_t)(i * 2654435761u >> 24);
}

static uint8_t many_y(size_t i)
{
    return (uint8_t)(i * 40503u >> 8);
}

static void put(FILE *f, uint64_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++) fputc(i < 8 ? (int)(value >> 8 * i & 255) : 0, f);
}

/* MANY numbers as raw bytes or, `packed`, as a .npy file that is deflated on the way; how many went out,
 * and the CRC of what went in. */
static uint64_t write_many(FILE *f, bool packed, uint8_t value(size_t), size_t width, uint32_t *crc)
{
    z_stream z = {0};
    static uint8_t in[1 << 16], out[1 << 17];
    char header[129] = {0};
    uint64_t n_out = 0;
    snprintf(header, sizeof header, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d,%s), }",
             MANY, width == 3 ? " 3" : "");
    *crc = 0;
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t n = MANY * width, done = 0;
    memset(header + strlen(header), ' ', sizeof header - 1 - strlen(header));
    size_t n_head = packed ? 10 + sizeof header - 1 : 0;
    memcpy(in, "\x93NUMPY\x01\x00\x80\x00", 10);
    memcpy(in + 10, header, sizeof header - 1);
    for (size_t fill = n_head; done < n; fill = 0) {
        while (fill < sizeof in && done < n) in[fill++] = value(done++);
        *crc = (uint32_t)crc32(*crc, in, (unsigned)fill);
        z.next_in = in, z.avail_in = (unsigned)fill;
        z.next_out = packed ? out : in, z.avail_out = sizeof out;
        if (packed) assert_true(deflate(&z, done < n ? Z_NO_FLUSH : Z_FINISH) >= Z_OK);
        size_t some = packed ? sizeof out - z.avail_out : fill;
        assert_int_equal(fwrite(packed ? out : in, 1, some, f), some);
        n_out += some;
    }
    deflateEnd(&z);
    return n_out;
}

static void write_raw(const char *dir)
{
    uint32_t crc;
    for (int k = 0; k < 2; k++) {
        FILE *f = fopen(temp_path(dir, k ? "y.bin" : "x.bin"), "wb");
        assert_non_null(f);
        write_many(f, false, k ? many_y : many_x, k ? 1 : 3, &crc);
        assert_int_equal(fclose(f), 0);
    }
    static const char schema[] = "{\"x\": {\"file\": \"x.bin\", \"type\": \"u8\", \"shape\": [3]},"
                                 " \"y\": {\"file\": \"y.bin\", \"type\": \"u8\"}}";
    write_in(dir, "schema.json", schema, strlen(schema));
}

/* What stands in front of a member, and of it in the directory. */
static void put_entry(FILE *f, bool directory, uint32_t crc, uint64_t packed, uint64_t n, int name,
                      uint64_t place)
{
    put(f, directory ? 0x02014B50 : 0x04034B50, 4);
    put(f, 20, 2);
    if (directory) put(f, 20, 2);
    put(f, 0, 2), put(f, 8, 2), put(f, 0, 4), put(f, crc, 4), put(f, packed, 4), put(f, n, 4);
    put(f, 5, 2), put(f, 0, 2);
    if (directory) put(f, 0, 10), put(f, place, 4);
    fputc(name, f);
    fputs(".npy", f);
}

static void write_archive(const char *dir)
{
    FILE *f = fopen(temp_path(dir, "all.npz"), "wb");
    assert_non_null(f);
    uint64_t place[2], packed[2], n[2];
    uint32_t crc[2];
    for (int k = 0; k < 2; k++) {
        n[k] = 138 + (uint64_t)MANY * (k ? 1 : 3);
        place[k] = (uint64_t)ftell(f);
        put_entry(f, false, 0, 0, n[k], 'x' + k, 0); /* only the directory is believed */
        packed[k] = write_many(f, true, k ? many_y : many_x, k ? 1 : 3, &crc[k]);
    }
    uint64_t begin = (uint64_t)ftell(f);
    for (int k = 0; k < 2; k++) put_entry(f, true, crc[k], packed[k], n[k], 'x' + k, place[k]);
    uint64_t end = (uint64_t)ftell(f);
    put(f, 0x06054B50, 4), put(f, 0, 4), put(f, 2, 2), put(f, 2, 2), put(f, end - begin, 4);
    put(f, begin, 4), put(f, 0, 2);
    assert_int_equal(fclose(f), 0);
}

/* All records, each as it should be, in less memory than a third of them. */
static void check_many(const char *dir, const model_info_t *model)
{
    enum { SOME = 4096, MOST = 4 << 20 };
    err_t err = {0};
    static uint16_t units[8 * SOME];
    memset(units, 0, sizeof units);
    peak_bytes();
    size_t before = peak_bytes();
    train_records_t *records = train_records_open(dir, model, &err);
    if (!records) fail_msg("%s", err.text);
    assert_int_equal(train_records_count(records), MANY);
    for (size_t r = 0; r < MANY; r++) {
        if (r % SOME == 0 && train_records_next(records, units, SOME, &err) < 0)
            fail_msg("%s", err.text);
        float got[3];
        int32_t label;
        memcpy(got, units + 8 * (r % SOME), sizeof got);
        memcpy(&label, units + 8 * (r % SOME) + 6, sizeof label);
        for (size_t i = 0; i < 3; i++)
            if (got[i] != (float)many_x(3 * r + i)) fail_msg("record %zu", r);
        if (label != many_y(r)) fail_msg("label %zu", r);
    }
    train_records_close(&records);
    size_t most = peak_bytes() - before;
    if (most > MOST) fail_msg("reading %d MB took %zu MB", MANY * 4 >> 20, most >> 20);
}

static void test_many(void **state)
{
    (void)state;
    err_t err = {0};
    char *dir = temp_dir();
    model_info_t model = open_model(dir);
    write_raw(dir);
    check_many(dir, &model);
    assert_int_equal(remove(temp_path(dir, "schema.json")), 0);
    write_archive(dir);
    check_many(dir, &model);
    const char *path = temp_path(dir, "all.npz");
    FILE *f = fopen(path, "r+b"); /* damage in the middle is seen when it is reached */
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    fseek(f, ftell(f) / 3, SEEK_SET);
    put(f, 0, 64);
    fclose(f);
    train_records_t *records = train_records_open(path, &model, &err);
    if (!records) fail_msg("%s", err.text);
    uint16_t *all = mem_calloc((size_t)MANY, 16);
    assert_int_equal(train_records_next(records, all, MANY, &err), -1);
    assert_int_equal(err.code, ERR_CORRUPT);
    assert_non_null(strstr(err.text, "all.npz: x.npy"));
    free(all);
    train_records_close(&records);
    model_info_fini(&model);
    temp_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safetensors),
        cmocka_unit_test(test_raw),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
