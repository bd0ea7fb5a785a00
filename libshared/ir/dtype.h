/* Element types, spelled as StableHLO spells them. */
#ifndef IR_DTYPE_H
#define IR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(enum suffix, text, bytes in memory, bits, class) ; classes: 'b'ool 'i'nt 'u'nsigned 'f'loat
 * 'c'omplex. i1 and the sub-byte integers take one byte each in memory; a complex number is its
 * real part, then its imaginary part. */
#define DTYPE_LIST(X)                  \
    X(I1, "i1", 1, 1, 'b')             \
    X(I2, "i2", 1, 2, 'i')             \
    X(I4, "i4", 1, 4, 'i')             \
    X(I8, "i8", 1, 8, 'i')             \
    X(I16, "i16", 2, 16, 'i')          \
    X(I32, "i32", 4, 32, 'i')          \
    X(I64, "i64", 8, 64, 'i')          \
    X(UI2, "ui2", 1, 2, 'u')           \
    X(UI4, "ui4", 1, 4, 'u')           \
    X(UI8, "ui8", 1, 8, 'u')           \
    X(UI16, "ui16", 2, 16, 'u')        \
    X(UI32, "ui32", 4, 32, 'u')        \
    X(UI64, "ui64", 8, 64, 'u')        \
    X(F16, "f16", 2, 16, 'f')          \
    X(BF16, "bf16", 2, 16, 'f')        \
    X(F32, "f32", 4, 32, 'f')          \
    X(F64, "f64", 8, 64, 'f')          \
    X(C64, "complex<f32>", 8, 64, 'c') \
    X(C128, "complex<f64>", 16, 128, 'c')

typedef enum {
    DT_NONE = 0, /* not known yet */
#define X(name, text, bytes, bits, class) DT_##name,
    DTYPE_LIST(X)
#undef X
        DT_COUNT
} dtype_t;

const char *dtype_name(dtype_t dtype);           /* "f32"; "none" for DT_NONE */
dtype_t dtype_parse(const char *text, size_t n); /* DT_NONE if unknown */
size_t dtype_bytes(dtype_t dtype);
int dtype_bits(dtype_t dtype);
bool dtype_is_float(dtype_t dtype);
bool dtype_is_int(dtype_t dtype);      /* signed or unsigned, not i1 */
bool dtype_is_signed(dtype_t dtype);   /* signed integers only */
bool dtype_is_unsigned(dtype_t dtype); /* unsigned integers only */
bool dtype_is_complex(dtype_t dtype);
/* Floats and complex numbers: what has gradients. */
bool dtype_is_inexact(dtype_t dtype);
dtype_t dtype_part(dtype_t dtype);    /* of a complex type, its parts; any other type itself */
dtype_t dtype_complex(dtype_t dtype); /* the complex type of f32 or f64; DT_NONE for others */

#endif
