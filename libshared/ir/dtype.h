/* Element types, spelled as StableHLO spells them. */
#ifndef IR_DTYPE_H
#define IR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(enum suffix, text, bytes in memory, bits, class) ; classes: 'b'ool 'i'nt 'u'nsigned 'f'loat
 * 'c'omplex. i1 and the types of less than a byte take one byte each in memory; a complex number is
 * its real part, then its imaginary part. */
#define DTYPE_LIST(X)                            \
    X(I1, "i1", 1, 1, 'b')                       \
    X(I2, "i2", 1, 2, 'i')                       \
    X(I4, "i4", 1, 4, 'i')                       \
    X(I8, "i8", 1, 8, 'i')                       \
    X(I16, "i16", 2, 16, 'i')                    \
    X(I32, "i32", 4, 32, 'i')                    \
    X(I64, "i64", 8, 64, 'i')                    \
    X(UI2, "ui2", 1, 2, 'u')                     \
    X(UI4, "ui4", 1, 4, 'u')                     \
    X(UI8, "ui8", 1, 8, 'u')                     \
    X(UI16, "ui16", 2, 16, 'u')                  \
    X(UI32, "ui32", 4, 32, 'u')                  \
    X(UI64, "ui64", 8, 64, 'u')                  \
    X(F4E2M1FN, "f4E2M1FN", 1, 4, 'f')           \
    X(F6E2M3FN, "f6E2M3FN", 1, 6, 'f')           \
    X(F6E3M2FN, "f6E3M2FN", 1, 6, 'f')           \
    X(F8E3M4, "f8E3M4", 1, 8, 'f')               \
    X(F8E4M3, "f8E4M3", 1, 8, 'f')               \
    X(F8E4M3FN, "f8E4M3FN", 1, 8, 'f')           \
    X(F8E4M3FNUZ, "f8E4M3FNUZ", 1, 8, 'f')       \
    X(F8E4M3B11FNUZ, "f8E4M3B11FNUZ", 1, 8, 'f') \
    X(F8E5M2, "f8E5M2", 1, 8, 'f')               \
    X(F8E5M2FNUZ, "f8E5M2FNUZ", 1, 8, 'f')       \
    X(F8E8M0FNU, "f8E8M0FNU", 1, 8, 'f')         \
    X(F16, "f16", 2, 16, 'f')                    \
    X(BF16, "bf16", 2, 16, 'f')                  \
    X(F32, "f32", 4, 32, 'f')                    \
    X(F64, "f64", 8, 64, 'f')                    \
    X(C64, "complex<f32>", 8, 64, 'c')           \
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
/* Floats of less than 32 bits: computed with in f32 and rounded after every op. Those of a byte and
 * less are small. */
bool dtype_is_narrow(dtype_t dtype);
bool dtype_is_small(dtype_t dtype);
/* Floats and complex numbers: what has gradients. */
bool dtype_is_inexact(dtype_t dtype);
dtype_t dtype_part(dtype_t dtype);    /* of a complex type, its parts; any other type itself */
dtype_t dtype_complex(dtype_t dtype); /* the complex type of f32 or f64; DT_NONE for others */

/* How a float lies in its bits: sign, exponent, mantissa; a number is 2^(e - bias) 1.m. */
typedef struct {
    int exp_bits, man_bits, bias;
    int kind; /* SMALL_FLOAT_..: infinities, NaN and zero (base/small_float.h) */
} dtype_format_t;
const dtype_format_t *dtype_format(dtype_t dtype); /* NULL for what is no float */
/* Nothing of a float type is less (or more): an infinity, or the number at the end. */
double dtype_limit(dtype_t dtype, bool lowest);

#endif
