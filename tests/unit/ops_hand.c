/* Hand-computed tests of single ops: see ops_hand.h. */
#include "ops_hand.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ops/eval.h"

hand_t hand_begin(void)
{
    hand_t h = {.module = ir_module_new()};
    h.fn = ir_fn_new(h.module, "main", 0, NULL);
    return h;
}

void hand_end(hand_t *self)
{
    ir_module_destroy(&self->module);
}

ir_val_t hand_value(ir_fn_t *fn, dtype_t dtype, int rank, const int64_t *dim, int n,
                    const double *values)
{
    ir_type_t type = ir_type(dtype, rank, dim);
    int64_t count = ir_type_count(&type);
    if (n == 1 && count != 1) return ir_splat(fn, &type, values[0]);
    assert_int_equal(n, count);
    tensor_t t = tensor_in(fn->module->arena, &type);
    for (int64_t i = 0; i < count; i++) tensor_set_f64(&t, i, values[i]);
    return ir_const(fn, &t);
}

ir_val_t hand_count(ir_fn_t *fn, dtype_t dtype, int rank, const int64_t *dim, double lo)
{
    ir_type_t type = ir_type(dtype, rank, dim);
    tensor_t t = tensor_in(fn->module->arena, &type);
    for (int64_t i = 0; i < ir_type_count(&type); i++) tensor_set_f64(&t, i, lo + (double)i);
    return ir_const(fn, &t);
}

static bool same(double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return a == b && signbit(a) == signbit(b);
}

void hand_expect(hand_t *h, ir_val_t y, dtype_t dtype, int rank, const int64_t *dim, int n,
                 const double *want)
{
    err_t err = {0};
    tensor_t out;
    ir_type_t type = ir_type(dtype, rank, dim);
    char have[IR_TYPE_TEXT], expected[IR_TYPE_TEXT];
    if (ir_fn_finish(h->fn, 1, &y, &err) < 0 || ir_verify(h->module, &err) < 0 ||
        eval_fn(h->module, h->fn, NULL, &out, NULL, &err) < 0)
        fail_msg("%s", err.text);
    if (!ir_type_equal(&out.type, &type))
        fail_msg("result is %s, expected %s", ir_type_text(&out.type, have),
                 ir_type_text(&type, expected));
    assert_int_equal(n, ir_type_count(&type));
    for (int i = 0; i < n; i++)
        if (!same(tensor_get_f64(&out, i), want[i]))
            fail_msg("element %d is %.17g, expected %.17g", i, tensor_get_f64(&out, i), want[i]);
    tensor_fini(&out);
    hand_end(h);
}

void hand_expect_error(hand_t *h, err_code_t code, const char *word)
{
    if (h->fn->err.code != code || !strstr(h->fn->err.text, word))
        fail_msg("expected error %d with \"%s\", got %d: %s", code, word, h->fn->err.code,
                 h->fn->err.text);
    hand_end(h);
}
