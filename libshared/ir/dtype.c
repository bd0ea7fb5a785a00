/* Element types: one table from the list in dtype.h. */
#include "ir/dtype.h"

#include <string.h>

#include "base/small_float.h"

static const struct {
    const char *name;
    size_t bytes;
    int bits;
    char class;
} table[DT_COUNT] = {[DT_NONE] = {"none", 0, 0, 0},
#define X(name, text, bytes, bits, class) [DT_##name] = {text, bytes, bits, class},
                     DTYPE_LIST(X)
#undef X
};

static const dtype_format_t formats[DT_COUNT] = {
    [DT_F4E2M1FN] = {2, 1, 1, SMALL_FLOAT_FINITE},
    [DT_F6E2M3FN] = {2, 3, 1, SMALL_FLOAT_FINITE},
    [DT_F6E3M2FN] = {3, 2, 3, SMALL_FLOAT_FINITE},
    [DT_F8E3M4] = {3, 4, 3, SMALL_FLOAT_IEEE},
    [DT_F8E4M3] = {4, 3, 7, SMALL_FLOAT_IEEE},
    [DT_F8E4M3FN] = {4, 3, 7, SMALL_FLOAT_FN},
    [DT_F8E4M3FNUZ] = {4, 3, 8, SMALL_FLOAT_FNUZ},
    [DT_F8E4M3B11FNUZ] = {4, 3, 11, SMALL_FLOAT_FNUZ},
    [DT_F8E5M2] = {5, 2, 15, SMALL_FLOAT_IEEE},
    [DT_F8E5M2FNUZ] = {5, 2, 16, SMALL_FLOAT_FNUZ},
    [DT_F8E8M0FNU] = {8, 0, 127, SMALL_FLOAT_SCALE},
    [DT_F16] = {5, 10, 15, SMALL_FLOAT_IEEE},
    [DT_BF16] = {8, 7, 127, SMALL_FLOAT_IEEE},
    [DT_F32] = {8, 23, 127, SMALL_FLOAT_IEEE},
    [DT_F64] = {11, 52, 1023, SMALL_FLOAT_IEEE},
};

const char *dtype_name(dtype_t dtype)
{
    return table[dtype].name;
}

dtype_t dtype_parse(const char *text, size_t n)
{
    for (dtype_t d = DT_NONE + 1; d < DT_COUNT; d++)
        if (strlen(table[d].name) == n && memcmp(table[d].name, text, n) == 0) return d;
    return DT_NONE;
}

size_t dtype_bytes(dtype_t dtype)
{
    return table[dtype].bytes;
}

int dtype_bits(dtype_t dtype)
{
    return table[dtype].bits;
}

bool dtype_is_float(dtype_t dtype)
{
    return table[dtype].class == 'f';
}

bool dtype_is_int(dtype_t dtype)
{
    return table[dtype].class == 'i' || table[dtype].class == 'u';
}

bool dtype_is_signed(dtype_t dtype)
{
    return table[dtype].class == 'i';
}

bool dtype_is_unsigned(dtype_t dtype)
{
    return table[dtype].class == 'u';
}

bool dtype_is_complex(dtype_t dtype)
{
    return table[dtype].class == 'c';
}

bool dtype_is_narrow(dtype_t dtype)
{
    return dtype_is_float(dtype) && dtype_bits(dtype) < 32;
}

bool dtype_is_small(dtype_t dtype)
{
    return dtype_is_float(dtype) && dtype_bits(dtype) <= 8;
}

const dtype_format_t *dtype_format(dtype_t dtype)
{
    return dtype_is_float(dtype) ? &formats[dtype] : NULL;
}

bool dtype_is_inexact(dtype_t dtype)
{
    return dtype_is_float(dtype) || dtype_is_complex(dtype);
}

dtype_t dtype_part(dtype_t dtype)
{
    return dtype == DT_C64 ? DT_F32 : dtype == DT_C128 ? DT_F64 : dtype;
}

dtype_t dtype_complex(dtype_t dtype)
{
    return dtype == DT_F32 ? DT_C64 : dtype == DT_F64 ? DT_C128 : DT_NONE;
}

double dtype_limit(dtype_t dtype, bool lowest)
{
    const dtype_format_t *f = &formats[dtype];
    double inf = __builtin_inf(), largest;
    if (f->kind == SMALL_FLOAT_IEEE) return lowest ? -inf : inf;
    uint32_t ones = (1u << (f->exp_bits + f->man_bits)) - 1;
    bool has_nan = f->kind == SMALL_FLOAT_FN || f->kind == SMALL_FLOAT_SCALE;
    largest = pcp_small_float_value(ones - has_nan, f->exp_bits, f->man_bits, f->bias, f->kind);
    if (!lowest) return largest;
    return f->kind == SMALL_FLOAT_SCALE ? 1 / largest : -largest;
}
