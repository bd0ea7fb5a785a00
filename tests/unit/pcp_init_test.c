/* Which tensor of a file is a parameter's: by name, by words, by number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pcp/init_file.h"

static const float zeros[2];

static const char *find(const char *const *names, const char *name, int number, err_t *err)
{
    safetensor_t tensors[8] = {0};
    size_t n = 0, n_bytes, at;
    static char found[64];
    *err = (err_t){0};
    for (; names[n]; n++)
        tensors[n] = (safetensor_t){
            .name = names[n], .dtype = DT_F32, .rank = 1, .dims = {2}, zeros, sizeof zeros};
    uint8_t *bytes = safetensors_pack(tensors, n, NULL, 0, &n_bytes, &at, err);
    safetensors_t *file = bytes ? safetensors_view(bytes, n_bytes, err) : NULL;
    if (!file) fail_msg("%s", err->text);
    const safetensor_t *t = init_file_find(file, name, number, err);
    if (t) snprintf(found, sizeof found, "%s", t->name);
    safetensors_close(&file);
    free(bytes);
    return t ? found : NULL;
}

static void test_found(void **state)
{
    (void)state;
    static const struct {
        const char *names[6], *name;
        int number;
        const char *want; /* NULL: none */
    } rows[] = {
        {{"a", "b"}, "b", 0, "b"},
        {{"dense.kernel", "dense.bias"}, "params['dense']['kernel']", 7, "dense.kernel"},
        {{"model/dense/kernel"}, "params['dense']['kernel']", 7, "model/dense/kernel"},
        {{"h.0.w", "h.1.w"}, "params['h'][1]['w']", 7, "h.1.w"},
        {{"h.0.w", "h.1.w"}, "params['h'][2]['w']", 7, NULL},
        {{"dense.kernel2"}, "params['dense']['kernel']", 7, NULL},
        {{"dense.kernel", "dense"}, "params['dense']", 7, "dense"},
        {{"model"}, "params", 7, NULL},
        {{"0", "1"}, "w", 1, "1"},
        {{"arg0", "arg1"}, "w", 1, "arg1"},
        {{"arg0", "arg1"}, "w", 2, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err_t err;
        const char *got = find(rows[i].names, rows[i].name, rows[i].number, &err);
        if (err.code) fail_msg("row %zu: %s", i, err.text);
        if (!rows[i].want)
            assert_null(got);
        else if (got)
            assert_string_equal(got, rows[i].want);
        else
            fail_msg("row %zu: want %s, got none", i, rows[i].want);
    }
}

static void test_ambiguous(void **state)
{
    (void)state;
    err_t err;
    static const char *const names[] = {"dense.w", "params/dense/w", NULL};
    assert_null(find(names, "params['dense']['w']", 0, &err));
    assert_int_equal(err.code, ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_ambiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
