/* Functions of a complex number in double: what C's libm lacks, or gives with other special values
 * than XLA. Their parts, as functions of pairs, are what plans compute with: this file is also part
 * of the prelude of generated kernels (codegen/prelude/prelude.h has the rules), so the interpreter and
 * compiled code share every formula. Includes nothing of this project. */
#ifndef OPS_COMPLEX_MATH_H
#define OPS_COMPLEX_MATH_H

#include <complex.h>
#include <math.h>
#undef I /* a short name that others want */

#ifndef PCP_FN
#define PCP_FN static inline __attribute__((always_inline, unused))
#endif
#define PCP_SLOW static __attribute__((noinline, unused, const))

#define PCP_Z(re, im) __builtin_complex((double)(re), (double)(im)) /* CMPLX, for clang too */

/* Plainly (ac - bd) + (ad + bc) i, as XLA; infinite operands are not looked after, as C would. */
PCP_FN double complex pcp_complex_mul(double complex x, double complex y)
{
    double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
    return PCP_Z(a * c - b * d, a * d + b * c);
}

/* x / 0, infinite / finite and finite / infinite, where the formula gave NaN (C11, G.5.1). */
PCP_SLOW double complex pcp_complex_div_special(double complex x, double complex y)
{
    double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
    if (c == 0 && d == 0 && (!isnan(a) || !isnan(b)))
        return PCP_Z(copysign(INFINITY, c) * a, copysign(INFINITY, c) * b);
    if ((isinf(a) || isinf(b)) && isfinite(c) && isfinite(d)) {
        a = copysign(isinf(a) ? 1 : 0, a), b = copysign(isinf(b) ? 1 : 0, b);
        return PCP_Z(INFINITY * (a * c + b * d), INFINITY * (b * c - a * d));
    }
    if ((isinf(c) || isinf(d)) && isfinite(a) && isfinite(b)) {
        c = copysign(isinf(c) ? 1 : 0, c), d = copysign(isinf(d) ? 1 : 0, d);
        return PCP_Z(0 * (a * c + b * d), 0 * (b * c - a * d));
    }
    return PCP_Z(NAN, NAN);
}

/* The divisor is scaled by a power of two, so that its square neither overflows nor vanishes. */
PCP_SLOW double complex pcp_complex_div(double complex x, double complex y)
{
    double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
    double scale = logb(fmax(fabs(c), fabs(d)));
    int shift = isfinite(scale) ? -(int)scale : 0;
    c = scalbn(c, shift), d = scalbn(d, shift);
    double square = c * c + d * d;
    double re = scalbn((a * c + b * d) / square, shift);
    double im = scalbn((b * c - a * d) / square, shift);
    if (isnan(re) && isnan(im)) return pcp_complex_div_special(x, y);
    return PCP_Z(re, im);
}

/* z / |z|; 0 where z is 0, NaN where a part is NaN. */
PCP_FN double complex pcp_complex_sign(double complex z)
{
    double a = creal(z), b = cimag(z), r = hypot(a, b);
    if (isnan(a) || isnan(b)) return PCP_Z(NAN, NAN);
    if (isinf(r) && isfinite(a) && isfinite(b)) a /= 2, b /= 2, r = hypot(a, b);
    return a == 0 && b == 0 ? PCP_Z(0, 0) : PCP_Z(a / r, b / r);
}

/* e^z - 1 = (expm1(x) cos y - 2 sin(y/2)^2) + e^x sin y i: no cancellation near 0. */
PCP_SLOW double complex pcp_complex_expm1(double complex z)
{
    double x = creal(z), y = cimag(z), half = sin(y / 2);
    if (y == 0) return PCP_Z(expm1(x), y);
    if (!(fabs(x) < 40)) {
        double complex e = cexp(z);
        return PCP_Z(creal(e) - 1, cimag(e));
    }
    return PCP_Z(expm1(x) * cos(y) - 2 * half * half, exp(x) * sin(y));
}

/* log |1 + z| = log1p(2x + x^2 + y^2) / 2, that sum in twice the precision: it may cancel. */
PCP_SLOW double complex pcp_complex_log1p(double complex z)
{
    double x = creal(z), y = cimag(z), angle = atan2(y, 1 + x);
    if (!(fabs(x) < 1e100 && fabs(y) < 1e100))
        return PCP_Z(creal(clog(PCP_Z(x + 1, y))), isnan(x) || isnan(y) ? x + y : angle);
    double xx = x * x, yy = y * y, low = fma(x, x, -xx) + fma(y, y, -yy);
    double s = 2 * x + xx, v = s - 2 * x;
    low += (2 * x - (s - v)) + (xx - v);
    double t = s + yy;
    v = t - s;
    low += (s - (t - v)) + (yy - v);
    return PCP_Z(log1p(t + low) / 2, angle);
}

PCP_SLOW double complex pcp_complex_rsqrt(double complex z)
{
    return pcp_complex_div(PCP_Z(1, 0), csqrt(z));
}

PCP_SLOW double complex pcp_complex_cbrt(double complex z)
{
    if (creal(z) == 0 && cimag(z) == 0) return z;
    double complex l = clog(z);
    return cexp(PCP_Z(creal(l) / 3, cimag(l) / 3));
}

/* 1 / (1 + e^-z), by e^z where e^-z is large. */
PCP_SLOW double complex pcp_complex_logistic(double complex z)
{
    double complex e = cexp(creal(z) < 0 ? z : -z), one = PCP_Z(1 + creal(e), cimag(e));
    return pcp_complex_div(creal(z) < 0 ? e : PCP_Z(1, 0), one);
}

/* x^y = e^(y log x). 0^0 is 1, and 0 to a power with a positive real part 0. */
PCP_SLOW double complex pcp_complex_pow(double complex x, double complex y)
{
    if (creal(x) == 0 && cimag(x) == 0) {
        if (creal(y) == 0 && cimag(y) == 0) return PCP_Z(1, 0);
        if (creal(y) > 0) return PCP_Z(0, 0);
    }
    return cexp(pcp_complex_mul(y, clog(x)));
}

/* -i log((x + iy) / sqrt(x^2 + y^2)) for the pair (y, x). */
PCP_SLOW double complex pcp_complex_atan2(double complex y, double complex x)
{
    if (cimag(x) == 0 && cimag(y) == 0) return PCP_Z(atan2(creal(y), creal(x)), 0);
    double complex up = PCP_Z(creal(x) - cimag(y), cimag(x) + creal(y));
    double complex xx = pcp_complex_mul(x, x), yy = pcp_complex_mul(y, y);
    double complex l = clog(pcp_complex_div(up, csqrt(xx + yy)));
    return PCP_Z(cimag(l), -creal(l));
}

/* X(name, function) : pcp_<name>_real_<type>(a, b), the real part of the function at a + bi, and
 * pcp_<name>_imag_<type>. */
#define PCP_COMPLEX_UNARY(X)           \
    X(cexp, cexp)                      \
    X(cexpm1, pcp_complex_expm1)       \
    X(clog, clog)                      \
    X(clog1p, pcp_complex_log1p)       \
    X(clogistic, pcp_complex_logistic) \
    X(csqrt, csqrt)                    \
    X(crsqrt, pcp_complex_rsqrt)       \
    X(ccbrt, pcp_complex_cbrt)         \
    X(csign, pcp_complex_sign)         \
    X(csin, csin)                      \
    X(ccos, ccos)                      \
    X(ctan, ctan)                      \
    X(csinh, csinh)                    \
    X(ccosh, ccosh)                    \
    X(ctanh, ctanh)                    \
    X(casin, casin)                    \
    X(cacos, cacos) X(catan, catan) X(casinh, casinh) X(cacosh, cacosh) X(catanh, catanh)
/* The same of (a, b, c, d): the function at a + bi and c + di. */
#define PCP_COMPLEX_BINARY(X) \
    X(cmul, pcp_complex_mul)  \
    X(cdiv, pcp_complex_div) X(cpow, pcp_complex_pow) X(catan2, pcp_complex_atan2)

#define PCP_PART1(name, f)                                  \
    PCP_FN double pcp_##name##_real_f64(double a, double b) \
    {                                                       \
        return creal(f(PCP_Z(a, b)));                       \
    }                                                       \
    PCP_FN double pcp_##name##_imag_f64(double a, double b) \
    {                                                       \
        return cimag(f(PCP_Z(a, b)));                       \
    }                                                       \
    PCP_FN float pcp_##name##_real_f32(float a, float b)    \
    {                                                       \
        return (float)creal(f(PCP_Z(a, b)));                \
    }                                                       \
    PCP_FN float pcp_##name##_imag_f32(float a, float b)    \
    {                                                       \
        return (float)cimag(f(PCP_Z(a, b)));                \
    }
#define PCP_PART2(name, f)                                                      \
    PCP_FN double pcp_##name##_real_f64(double a, double b, double c, double d) \
    {                                                                           \
        return creal(f(PCP_Z(a, b), PCP_Z(c, d)));                              \
    }                                                                           \
    PCP_FN double pcp_##name##_imag_f64(double a, double b, double c, double d) \
    {                                                                           \
        return cimag(f(PCP_Z(a, b), PCP_Z(c, d)));                              \
    }                                                                           \
    PCP_FN float pcp_##name##_real_f32(float a, float b, float c, float d)      \
    {                                                                           \
        return (float)creal(f(PCP_Z(a, b), PCP_Z(c, d)));                       \
    }                                                                           \
    PCP_FN float pcp_##name##_imag_f32(float a, float b, float c, float d)      \
    {                                                                           \
        return (float)cimag(f(PCP_Z(a, b), PCP_Z(c, d)));                       \
    }
PCP_COMPLEX_UNARY(PCP_PART1)
PCP_COMPLEX_BINARY(PCP_PART2)
#undef PCP_PART1
#undef PCP_PART2

/* |a + bi| */
PCP_FN double pcp_cabs_f64(double a, double b)
{
    return hypot(a, b);
}
PCP_FN float pcp_cabs_f32(float a, float b)
{
    return (float)hypot((double)a, (double)b);
}

#endif
