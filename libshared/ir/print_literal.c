/* Constants as text: a splat, a nested list, or the bytes in hex when there are many. What is read
 * back has the same bits: enough digits, NaN and infinities as bit patterns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/printer.h"

enum { MAX_LISTED = 64 }; /* elements; more go out in hex */

static uint64_t bits_of(const tensor_t *t, int64_t i)
{
    size_t size = dtype_bytes(t->type.dtype);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)t->data + (size_t)i * size, size); /* little-endian */
    return bits;
}

static void element(str_t *out, const tensor_t *t, int64_t i);

static void complex_number(str_t *out, const tensor_t *t, int64_t i)
{
    tensor_t parts = {.type = ir_type_scalar(dtype_part(t->type.dtype)), .data = t->data};
    str_add(out, "(");
    element(out, &parts, 2 * i);
    str_add(out, ", ");
    element(out, &parts, 2 * i + 1);
    str_add(out, ")");
}

/* The shortest of 7 digits and more that reads back to the same value of that type. */
void print_float(str_t *out, double value, dtype_t dtype)
{
    char text[40];
    int digits = 6, most = dtype == DT_F64 ? 16 : 8;
    for (;; digits++) {
        snprintf(text, sizeof text, "%.*e", digits, value);
        double back = strtod(text, NULL);
        if (digits == most || (dtype == DT_F64 ? back == value : (float)back == (float)value))
            break;
    }
    str_add(out, text);
}

static void element(str_t *out, const tensor_t *t, int64_t i)
{
    dtype_t dtype = t->type.dtype;
    if (dtype_is_complex(dtype)) {
        complex_number(out, t, i);
    } else if (dtype == DT_I1) {
        str_add(out, bits_of(t, i) ? "true" : "false");
    } else if (dtype == DT_UI64) {
        str_addf(out, "%llu", (unsigned long long)bits_of(t, i));
    } else if (!dtype_is_float(dtype)) {
        str_addf(out, "%lld", (long long)tensor_get_i64(t, i));
    } else if (!isfinite(tensor_get_f64(t, i))) {
        str_addf(out, "0x%0*llX", (int)dtype_bytes(dtype) * 2, (unsigned long long)bits_of(t, i));
    } else {
        print_float(out, tensor_get_f64(t, i), dtype);
    }
}

static int64_t nested(str_t *out, const tensor_t *t, int dim, int64_t i)
{
    if (dim == t->type.rank) {
        element(out, t, i);
        return i + 1;
    }
    str_add(out, "[");
    for (int64_t k = 0; k < t->type.dim[dim]; k++) {
        if (k) str_add(out, ", ");
        i = nested(out, t, dim + 1, i);
    }
    str_add(out, "]");
    return i;
}

static void hex(str_t *out, const uint8_t *at, size_t n)
{
    static const char digit[] = "0123456789ABCDEF";
    char chunk[1024];
    str_add(out, "\"0x");
    while (n) {
        size_t some = n < sizeof chunk / 2 ? n : sizeof chunk / 2;
        for (size_t i = 0; i < some; i++) {
            chunk[2 * i] = digit[at[i] >> 4];
            chunk[2 * i + 1] = digit[at[i] & 15];
        }
        str_addn(out, chunk, 2 * some);
        at += some;
        n -= some;
    }
    str_add(out, "\"");
}

/* Every element has the same bits. */
static bool uniform(const tensor_t *t, int64_t count)
{
    size_t size = dtype_bytes(t->type.dtype);
    const char *at = t->data;
    return t->splat || count == 1 || memcmp(at, at + size, (size_t)(count - 1) * size) == 0;
}

void print_literal(str_t *out, const tensor_t *t)
{
    char type[IR_TYPE_TEXT];
    int64_t count = ir_type_count(&t->type);
    str_add(out, "dense<");
    if (count == 0)
        ;
    else if (uniform(t, count))
        element(out, t, 0);
    else if (count <= MAX_LISTED)
        nested(out, t, 0, 0);
    else
        hex(out, t->data, (size_t)count * dtype_bytes(t->type.dtype));
    str_addf(out, "> : %s", ir_type_text(&t->type, type));
}
