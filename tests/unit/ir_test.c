/* The IR's core: types, tensors, attributes, the builder's sticky errors, the verifier, cloning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        cmocka_unit_test(test_reducer_is_recognised),
    };
    return cmocka_run_group_tests_name("ir", tests, NULL, NULL);
}
