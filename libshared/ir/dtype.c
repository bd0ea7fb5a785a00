/* Element types: one table from the list in dtype.h. */
#include "ir/dtype.h"

#include <string.h>

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
