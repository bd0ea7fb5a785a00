/* The IR's core: types, tensors, attributes, the builder's sticky errors, the verifier, cloning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ir/build.h"
#include "ir/print.h"

static ir_type_t f32(int rank, int64_t a, int64_t b)
{
    return ir_type(DT_F32, rank, (int64_t[]){a, b});
}

static void test_dtype_names_read_back(void **state)
{
    (void)state;
    for (dtype_t d = DT_NONE + 1; d < DT_COUNT; d++) {
        const char *name = dtype_name(d);
        assert_int_equal(dtype_parse(name, strlen(name)), d);
        assert_true(dtype_bytes(d) >= 1);
        int classes = (d == DT_I1) + dtype_is_float(d) + dtype_is_int(d) + dtype_is_complex(d);
        assert_int_equal(classes, 1);
    }
    assert_int_equal(dtype_parse("f31", 3), DT_NONE);
}

static void test_type_limits(void **state)
{
    (void)state;
    err_t err = {0};
    char text[IR_TYPE_TEXT];
    ir_type_t t = f32(2, 3, 5);
    assert_int_equal(ir_type_count(&t), 15);
    assert_string_equal(ir_type_text(&t, text), "tensor<3x5xf32>");
    assert_int_equal(ir_type_check(&t, &err), 0);
    t = f32(2, 1ll << 40, 1ll << 40);
    assert_int_equal(ir_type_check(&t, &err), -1);
    t = f32(2, 0, 1ll << 62); /* empty, but its strides would not fit */
    assert_int_equal(ir_type_check(&t, &err), -1);
    t = f32(1, -1, 0);
    assert_int_equal(ir_type_check(&t, &err), -1);
    assert_non_null(strstr(err.text, "negative"));
}

static void test_tensor_elements(void **state)
{
    (void)state;
    for (dtype_t d = DT_NONE + 1; d < DT_COUNT; d++) {
        ir_type_t type = ir_type(d, 1, (int64_t[]){3});
        tensor_t t = tensor_new(&type);
        tensor_set_i64(&t, 1, 1);
        assert_int_equal(tensor_get_i64(&t, 0), 0);
        assert_int_equal(tensor_get_i64(&t, 1), 1);
        assert_true(tensor_get_f64(&t, 1) == 1.0);
        tensor_fini(&t);
    }
    arena_t *arena = arena_new();
    ir_type_t i4 = ir_type(DT_I4, 0, NULL), u2 = ir_type(DT_UI2, 0, NULL);
    tensor_t t = tensor_splat_i64(arena, &i4, 9); /* wraps to 9 - 16 */
    assert_int_equal(tensor_get_i64(&t, 0), -7);
    t = tensor_splat_i64(arena, &u2, 7);
    assert_int_equal(tensor_get_i64(&t, 0), 3);
    arena_destroy(&arena);
}

static void test_splat_equals_its_expansion(void **state)
{
    (void)state;
    arena_t *arena = arena_new();
    ir_type_t type = f32(2, 2, 3);
    tensor_t splat = tensor_splat_f64(arena, &type, 1.5), full = tensor_in(arena, &type);
    for (int i = 0; i < 6; i++) tensor_set_f64(&full, i, 1.5);
    assert_true(tensor_equal(&splat, &full));
    ir_attrs_t a = {0}, b = {0};
    attr_set(arena, &a, (ir_attr_t){.name = "value", .kind = ATTR_TENSOR, .tensor = &splat});
    attr_set(arena, &b, (ir_attr_t){.name = "value", .kind = ATTR_TENSOR, .tensor = &full});
    assert_true(attrs_equal(&a, &b));
    assert_true(attrs_hash(&a) == attrs_hash(&b));
    tensor_set_f64(&full, 4, 2.5);
    assert_false(tensor_equal(&splat, &full));
    arena_destroy(&arena);
}

static void test_attributes_stay_sorted(void **state)
{
    (void)state;
    arena_t *arena = arena_new();
    ir_attrs_t attrs = {0};
    attr_set_int(arena, &attrs, "m", 1);
    attr_set_text(arena, &attrs, "z", ATTR_ENUM, "LT");
    attr_set_ints(arena, &attrs, "a", (int64_t[]){4, 5}, 2);
    attr_set_int(arena, &attrs, "m", 2); /* replaces */
    assert_int_equal(attrs.n, 3);
    assert_string_equal(attrs.at[0].name, "a");
    assert_int_equal(attr_int(&attrs, "m", -1), 2);
    assert_string_equal(attr_text(&attrs, "z", ""), "LT");
    int n;
    assert_int_equal(attr_ints(&attrs, "a", &n)[1], 5);
    assert_null(attr_ints(&attrs, "absent", &n));
    assert_int_equal(n, 0);
    attr_remove(&attrs, "m");
    assert_int_equal(attr_int(&attrs, "m", -1), -1);
    arena_destroy(&arena);
}

/* f(x, w) = sum(tanh(x w)) */
static ir_module_t *small_module(void)
{
    ir_module_t *m = ir_module_new();
    ir_type_t types[2] = {f32(2, 2, 3), f32(2, 3, 4)};
    ir_fn_t *fn = ir_fn_new(m, "main", 2, types);
    ir_val_t y = ir_op1(fn, OP_tanh, ir_matmul(fn, ir_fn_param(fn, 0), ir_fn_param(fn, 1)));
    ir_val_t sum = ir_reduce_all(fn, OP_add, y);
    err_t err = {0};
    if (ir_fn_finish(fn, 1, &sum, &err) < 0) fail_msg("%s", err.text);
    return m;
}

static void test_builder_makes_valid_ir(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *m = small_module();
    assert_int_equal(ir_verify(m, &err), 0);
    ir_fn_t *fn = ir_module_entry(m, &err);
    const ir_type_t *result = ir_type_of(fn, fn->body->result[0]);
    assert_int_equal(result->rank, 0);
    uint32_t *uses = ir_count_uses(fn);
    assert_int_equal(uses[ir_fn_param(fn, 0)], 1);
    assert_int_equal(uses[fn->body->result[0]], 1);
    free(uses);
    ir_module_destroy(&m);
}

static void test_builder_errors_stick(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *m = ir_module_new();
    ir_type_t types[2] = {f32(1, 2, 0), f32(1, 3, 0)};
    ir_fn_t *fn = ir_fn_new(m, "main", 2, types);
    ir_val_t bad = ir_op2(fn, OP_add, ir_fn_param(fn, 0), ir_fn_param(fn, 1));
    assert_int_equal(bad, IR_NONE);
    ir_val_t worse = ir_op1(fn, OP_tanh, bad);
    assert_int_equal(worse, IR_NONE);
    assert_int_equal(ir_fn_finish(fn, 1, &worse, &err), -1);
    assert_non_null(strstr(err.text, "tensor<2xf32>")); /* the first error, with its shapes */
    assert_non_null(strstr(err.text, "tensor<3xf32>"));
    ir_module_destroy(&m);
}

static void test_verifier_refuses(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *m = small_module();
    ir_fn_t *fn = m->fn[0];
    ir_op_t *tanh = fn->body->op[1];
    ir_val_t in = tanh->in[0];
    tanh->in[0] = tanh->out; /* uses itself */
    assert_int_equal(ir_verify(m, &err), -1);
    tanh->in[0] = in;
    fn->value[tanh->out].type.dim[0] = 7; /* declared wrongly */
    assert_int_equal(ir_verify(m, &err), -1);
    assert_non_null(strstr(err.text, "tanh"));
    ir_module_destroy(&m);
}

static void test_clone_prints_alike(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *m = small_module(), *copy = ir_module_clone(m, &err);
    assert_non_null(copy);
    assert_int_equal(ir_verify(copy, &err), 0);
    str_t a = {0}, b = {0};
    ir_print_module(m, &a);
    ir_module_destroy(&m); /* the copy must not point into it */
    ir_print_module(copy, &b);
    assert_string_equal(str_text(&a), str_text(&b));
    str_fini(&a);
    str_fini(&b);
    ir_module_destroy(&copy);
}

static int drop_tanh(ir_clone_t *clone, const ir_op_t *op, err_t *err)
{
    (void)err;
    if (op->code != OP_tanh) return 0;
    clone->map[op->out] = clone->map[op->in[0]];
    return 1;
}

static void test_clone_rewrites(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *m = small_module();
    ir_fn_t *fresh = ir_clone_fn(m, m->fn[0], drop_tanh, NULL, &err);
    assert_non_null(fresh);
    ir_module_replace(m, m->fn[0], fresh);
    assert_int_equal(m->n_fn, 1);
    assert_int_equal(ir_verify(m, &err), 0);
    for (int i = 0; i < fresh->body->n_op; i++)
        assert_int_not_equal(fresh->body->op[i]->code, OP_tanh);
    ir_module_destroy(&m);
}

static ir_module_t *many_functions(int n)
{
    ir_module_t *m = ir_module_new();
    char name[16];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "f%d", i);
        ir_fn_new(m, name, 0, NULL);
    }
    return m;
}

static void test_functions_by_name(void **state)
{
    (void)state;
    enum { N = 100 };
    char name[16];
    ir_module_t *m = ir_module_new();
    assert_null(ir_module_find(m, "f0"));
    ir_module_destroy(&m);
    m = many_functions(N);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "f%d", i);
        assert_ptr_equal(ir_module_find(m, name), m->fn[i]);
    }
    assert_null(ir_module_find(m, "f"));
    ir_fn_t *old = m->fn[7], *twin = ir_fn_new(m, "f7", 0, NULL), *last = ir_fn_new(m, "", 0, NULL);
    assert_ptr_equal(ir_module_find(m, "f7"), old); /* the first of two */
    ir_fn_rename(last, "last");
    assert_null(ir_module_find(m, ""));
    assert_ptr_equal(ir_module_find(m, "last"), last);
    ir_module_replace(m, old, twin);
    assert_ptr_equal(m->fn[7], twin);
    assert_int_equal(m->n_fn, N + 1);
    assert_ptr_equal(ir_module_find(m, "f7"), twin);
    ir_module_replace(m, twin, last); /* of another name */
    assert_ptr_equal(m->fn[7], last);
    assert_null(ir_module_find(m, "f7"));
    assert_ptr_equal(ir_module_find(m, "last"), last);
    for (int i = N - 1; i >= 0; i -= 2) ir_module_remove(m, m->fn[i]);
    assert_int_equal(m->n_fn, N / 2);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "f%d", i);
        ir_fn_t *found = ir_module_find(m, name);
        if (i % 2 == 1) assert_null(found);
        if (i % 2 == 0) assert_ptr_equal(found, m->fn[i / 2]);
    }
    ir_module_destroy(&m);
}

/* Processor time of so many look-ups of the names in turn. */
static double find_all(const ir_module_t *m, int n_find)
{
    clock_t begun = clock();
    for (int i = 0; i < n_find; i++)
        assert_non_null(ir_module_find(m, m->fn[i * 7 % m->n_fn]->name));
    return (double)(clock() - begun);
}

/* In a list without a table the second takes 500 times as long. */
static void test_many_functions_are_found_as_fast(void **state)
{
    (void)state;
    ir_module_t *few = many_functions(16), *many = many_functions(16000);
    double a = find_all(few, 20000), b = find_all(many, 20000);
    print_message("20000 look-ups: %g us among 16, %g us among 16000\n", a, b);
    assert_true(b < 50 * a + 0.02 * CLOCKS_PER_SEC);
    ir_module_destroy(&few);
    ir_module_destroy(&many);
}

static void test_reducer_is_recognised(void **state)
{
    (void)state;
    ir_module_t *m = small_module();
    ir_fn_t *fn = m->fn[0];
    ir_region_t *region = ir_reducer(fn, OP_maximum, DT_F32);
    assert_int_equal(ir_reducer_op(region), OP_maximum);
    region->result[0] = region->arg; /* returns its first argument instead */
    assert_int_equal(ir_reducer_op(region), OP_invalid);
    ir_module_destroy(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype_names_read_back),
        cmocka_unit_test(test_type_limits),
        cmocka_unit_test(test_tensor_elements),
        cmocka_unit_test(test_splat_equals_its_expansion),
        cmocka_unit_test(test_attributes_stay_sorted),
        cmocka_unit_test(test_builder_makes_valid_ir),
        cmocka_unit_test(test_builder_errors_stick),
        cmocka_unit_test(test_verifier_refuses),
        cmocka_unit_test(test_clone_prints_alike),
        cmocka_unit_test(test_clone_rewrites),
        cmocka_unit_test(test_functions_by_name),
        cmocka_unit_test(test_many_functions_are_found_as_fast),
        cmocka_unit_test(test_reducer_is_recognised),
    };
    return cmocka_run_group_tests_name("ir", tests, NULL, NULL);
}
