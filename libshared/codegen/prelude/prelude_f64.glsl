// The GLSL prelude's part for doubles: what C takes from libm, and the f32 functions that compute in double
// (prelude_math.h has their formulas). Subnormal doubles may count as 0.

double pcp_of_bits_f64(uint64_t bits) { return uint64BitsToDouble(bits); }
uint64_t pcp_bits_f64(double x) { return doubleBitsToUint64(x); }
const uint64_t PCP_MAGNITUDE = 0x7FFFFFFFFFFFFFFFUL, PCP_SIGN = 0x8000000000000000UL, PCP_INF = 0x7FF0000000000000UL;
bool pcp_isnan_f64(double x) { return (doubleBitsToUint64(x) & PCP_MAGNITUDE) > PCP_INF; }
bool pcp_isfinite_f64(double x) { return (doubleBitsToUint64(x) & PCP_INF) != PCP_INF; }
double pcp_nan_f64() { return uint64BitsToDouble(0x7FF8000000000000UL); }
double pcp_inf_f64() { return uint64BitsToDouble(PCP_INF); }
double pcp_copysign_f64(double x, double s)
{
    return uint64BitsToDouble((doubleBitsToUint64(x) & PCP_MAGNITUDE) | (doubleBitsToUint64(s) & PCP_SIGN));
}
double pcp_abs_f64(double x) { return uint64BitsToDouble(doubleBitsToUint64(x) & PCP_MAGNITUDE); }
double pcp_add_f64(double a, double b) { precise double r = a + b; return r; }
double pcp_sub_f64(double a, double b) { precise double r = a - b; return r; }
double pcp_mul_f64(double a, double b) { precise double r = a * b; return r; }
double pcp_div_f64(double a, double b) { precise double r = a / b; return r; }
double pcp_neg_f64(double a) { return uint64BitsToDouble(doubleBitsToUint64(a) ^ PCP_SIGN); }
double pcp_ceil_f64(double x) { return ceil(x); }
double pcp_floor_f64(double x) { return floor(x); }
double pcp_rint_f64(double x) { return pcp_copysign_f64(roundEven(x), x); }
double pcp_sqrt_f64(double x) { return sqrt(x); }
double pcp_rsqrt_f64(double x) { precise double r = 1.0lf / sqrt(x); return r; }
double pcp_round_f64(double x)
{
    precise double a = pcp_abs_f64(x), whole = trunc(a), rest = a - whole;
    return pcp_copysign_f64(whole + (rest >= 0.5lf ? 1.0lf : 0.0lf), x);
}
double pcp_sign_f64(double x) { return x > 0.0lf ? 1.0lf : x < 0.0lf ? -1.0lf : x; }
double pcp_max_f64(double a, double b)
{
    double r = a > b ? a : b, zero = uint64BitsToDouble(doubleBitsToUint64(a) & doubleBitsToUint64(b));
    r = a == b ? zero : r;
    return pcp_isnan_f64(a) ? a : pcp_isnan_f64(b) ? b : r;
}
double pcp_min_f64(double a, double b)
{
    double r = a < b ? a : b, zero = uint64BitsToDouble(doubleBitsToUint64(a) | doubleBitsToUint64(b));
    r = a == b ? zero : r;
    return pcp_isnan_f64(a) ? a : pcp_isnan_f64(b) ? b : r;
}
double pcp_clamp_f64(double lo, double x, double hi) { return pcp_min_f64(pcp_max_f64(x, lo), hi); }
int64_t pcp_key_f64(double x)
{
    int64_t bits = doubleBitsToInt64(x);
    return bits ^ int64_t(uint64_t(bits >> 63) >> 1);
}
PCP_TO_INTS(double, f64)

float pcp_f32_odd_from_f64(double x)
{
    float y = float(x);
    uint bits = floatBitsToUint(y);
    double a = pcp_abs_f64(x), b = pcp_abs_f64(double(y));
    uint towards = b > a ? bits - 1u : bits;
    return pcp_isnan_f64(x) || a == b ? y : uintBitsToFloat(towards | 1u);
}
double pcp_f64_sticky_from_i64(int64_t x)
{
    int64_t s = (x & ~0x7FFL) | ((x & 0x7FFL) != 0L ? 0x800L : 0L);
    return double(x > (1L << 53) || x < -(1L << 53) ? s : x);
}
double pcp_f64_sticky_from_u64(uint64_t x)
{
    uint64_t s = (x & ~0x7FFUL) | ((x & 0x7FFUL) != 0UL ? 0x800UL : 0UL);
    return double(x > (1UL << 53) ? s : x);
}

// 2^n for n in [-1022, 1023]; x 2^n for any n in three steps, so that the last one alone rounds.
double pcp_pow2_f64(int n) { return uint64BitsToDouble(uint64_t(n + 1023) << 52); }
double pcp_scale_f64(double x, int n)
{
    n = clamp(n, -2200, 2200);
    int a = n / 2, b = n - a;
    int c = a / 2, d = b / 2;
    precise double y = x * pcp_pow2_f64(c) * pcp_pow2_f64(a - c) * pcp_pow2_f64(d) * pcp_pow2_f64(b - d);
    return y;
}

// --- exp: x = n ln 2 + r; Taylor's series to r^13; expm1 without the one ---
double pcp_expm1_series(double r)
{
    precise double p = 1.0lf / 6227020800.0lf;
    p = p * r + 1.0lf / 479001600.0lf;
    p = p * r + 1.0lf / 39916800.0lf;
    p = p * r + 1.0lf / 3628800.0lf;
    p = p * r + 1.0lf / 362880.0lf;
    p = p * r + 1.0lf / 40320.0lf;
    p = p * r + 1.0lf / 5040.0lf;
    p = p * r + 1.0lf / 720.0lf;
    p = p * r + 1.0lf / 120.0lf;
    p = p * r + 1.0lf / 24.0lf;
    p = p * r + 1.0lf / 6.0lf;
    p = p * r + 0.5lf;
    p = p * r * r + r;
    return p;
}
// e^(x + low): low is what x has lost.
double pcp_exp_parts(double x, double low)
{
    if (pcp_isnan_f64(x)) return x;
    if (x > 710.0lf) return pcp_inf_f64();
    if (x < -746.0lf) return 0.0lf;
    precise double n = roundEven(x * 1.4426950408889634lf);
    precise double r = ((x - n * 0.693147180369123816490lf) - n * 1.90821492927058770002e-10lf) + low;
    precise double y = pcp_expm1_series(r) + 1.0lf;
    return pcp_scale_f64(y, int(n));
}
double pcp_exp_f64(double x) { return pcp_exp_parts(x, 0.0lf); }
double pcp_expm1_f64(double x)
{
    if (pcp_isnan_f64(x) || x == 0.0lf) return x;
    if (pcp_abs_f64(x) < 0.34lf) return pcp_expm1_series(x);
    precise double y = pcp_exp_f64(x) - 1.0lf;
    return x < -40.0lf ? -1.0lf : y;
}

// --- log: x = 2^k m, m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m - 1) / (m + 1)), in two parts ---
struct pcp_log_t { double hi, lo; };
pcp_log_t pcp_log_parts_f64(double x, double lost) // of x + lost, x positive and normal
{
    uint64_t i = doubleBitsToUint64(x) + (0x3FF0000000000000UL - 0x3FE6A09E667F3BCDUL);
    int k = int(i >> 52) - 1023;
    double m = uint64BitsToDouble((i & 0xFFFFFFFFFFFFFUL) + 0x3FE6A09E667F3BCDUL);
    precise double f = m - 1.0lf, d = f + 2.0lf, s = f / d;
    precise double rest = ((f - s * d) + lost * pcp_scale_f64(1.0lf, -k)) / d; // nearly what s has lost
    // the product s d is not exact: split s, so that the remainder is
    precise double sh = uint64BitsToDouble(doubleBitsToUint64(s) & 0xFFFFFFFFF8000000UL), sl = s - sh;
    precise double dh = uint64BitsToDouble(doubleBitsToUint64(d) & 0xFFFFFFFFF8000000UL), dl = (2.0lf - dh) + f;
    rest = ((((f - sh * dh) - sh * dl) - sl * dh) - sl * dl + lost * pcp_scale_f64(1.0lf, -k)) / d;
    precise double z = s * s, p = 2.0lf / 25.0lf;
    p = p * z + 2.0lf / 23.0lf;
    p = p * z + 2.0lf / 21.0lf;
    p = p * z + 2.0lf / 19.0lf;
    p = p * z + 2.0lf / 17.0lf;
    p = p * z + 2.0lf / 15.0lf;
    p = p * z + 2.0lf / 13.0lf;
    p = p * z + 2.0lf / 11.0lf;
    p = p * z + 2.0lf / 9.0lf;
    p = p * z + 2.0lf / 7.0lf;
    p = p * z + 2.0lf / 5.0lf;
    p = p * z + 2.0lf / 3.0lf;
    precise double low = p * z * s + 2.0lf * rest + double(k) * 1.90821492927058770002e-10lf;
    precise double high = double(k) * 0.693147180369123816490lf, two = 2.0lf * s;
    precise double hi = high + two, t = hi - high, lo = (high - (hi - t)) + (two - t) + low;
    return pcp_log_t(hi, lo);
}
double pcp_log_f64(double x)
{
    if (pcp_isnan_f64(x) || x < 0.0lf) return pcp_nan_f64();
    if (x == 0.0lf) return -pcp_inf_f64();
    if (!pcp_isfinite_f64(x)) return x;
    pcp_log_t t = pcp_log_parts_f64(x, 0.0lf);
    return pcp_add_f64(t.hi, t.lo);
}
double pcp_log1p_f64(double x)
{
    if (pcp_isnan_f64(x) || x == 0.0lf || x == pcp_inf_f64()) return x;
    if (x <= -1.0lf) return x == -1.0lf ? -pcp_inf_f64() : pcp_nan_f64();
    precise double u = 1.0lf + x, t = u - 1.0lf, lost = (1.0lf - (u - t)) + (x - t);
    pcp_log_t y = pcp_log_parts_f64(u, lost);
    return pcp_add_f64(y.hi, y.lo);
}
double pcp_logistic_f64(double x) { precise double r = 1.0lf / (1.0lf + pcp_exp_f64(-x)); return r; }
double pcp_tanh_f64(double x)
{
    double a = pcp_abs_f64(x);
    if (pcp_isnan_f64(x)) return x;
    precise double t = pcp_expm1_f64(2.0lf * min(a, 20.0lf)), y = t / (t + 2.0lf);
    return pcp_copysign_f64(y, x);
}
double pcp_pow_f64(double x, double y)
{
    double a = pcp_abs_f64(x), half_y = 0.5lf * y;
    bool whole = floor(y) == y, odd = whole && pcp_isfinite_f64(y) && floor(half_y) != half_y;
    if (y == 0.0lf || x == 1.0lf) return 1.0lf;
    if (pcp_isnan_f64(x) || pcp_isnan_f64(y)) return pcp_nan_f64();
    double r;
    if (a == 0.0lf || !pcp_isfinite_f64(a)) {
        r = (a == 0.0lf) == (y > 0.0lf) ? 0.0lf : pcp_inf_f64();
    } else if (!pcp_isfinite_f64(y)) {
        r = a == 1.0lf ? 1.0lf : (a > 1.0lf) == (y > 0.0lf) ? pcp_inf_f64() : 0.0lf;
    } else {
        if (x < 0.0lf && !whole) return pcp_nan_f64();
        pcp_log_t t = pcp_log_parts_f64(a, 0.0lf);
        precise double hi = uint64BitsToDouble(doubleBitsToUint64(t.hi) & 0xFFFFFFFFF8000000UL), lo = (t.hi - hi) + t.lo;
        precise double yh = uint64BitsToDouble(doubleBitsToUint64(y) & 0xFFFFFFFFF8000000UL), yl = y - yh;
        precise double high = hi * yh, low = (lo * y + hi * yl);
        if (pcp_abs_f64(high) > 2000.0lf) high = high > 0.0lf ? 2000.0lf : -2000.0lf, low = 0.0lf;
        precise double s = high + low, left = (high - s) + low;
        r = pcp_exp_parts(s, left);
    }
    return doubleBitsToUint64(x) >> 63 != 0UL && odd ? -r : r;
}

// --- sin, cos, tan: pi / 2 in three parts (Cody and Waite), Taylor's series; for |x| < 10^6 ---
struct pcp_angle64_t { double r; uint q; };
pcp_angle64_t pcp_reduce_f64(double x)
{
    precise double n = roundEven(x * 0.63661977236758134308lf);
    precise double r = x - n * 1.57079632673412561417e+00lf;
    r = r - n * 6.07710050630396597660e-11lf;
    r = r - n * 2.02226624871116645580e-21lf;
    return pcp_angle64_t(r, uint(int(n)) & 3u);
}
double pcp_circle_f64(double r, uint which)
{
    precise double s = r * r, p = 1.0lf / 355687428096000.0lf, c = -1.0lf / 6402373705728000.0lf;
    p = p * s - 1.0lf / 1307674368000.0lf;
    p = p * s + 1.0lf / 6227020800.0lf;
    p = p * s - 1.0lf / 39916800.0lf;
    p = p * s + 1.0lf / 362880.0lf;
    p = p * s - 1.0lf / 5040.0lf;
    p = p * s + 1.0lf / 120.0lf;
    p = p * s - 1.0lf / 6.0lf;
    p = p * s * r + r;
    c = c * s + 1.0lf / 20922789888000.0lf;
    c = c * s - 1.0lf / 87178291200.0lf;
    c = c * s + 1.0lf / 479001600.0lf;
    c = c * s - 1.0lf / 3628800.0lf;
    c = c * s + 1.0lf / 40320.0lf;
    c = c * s - 1.0lf / 720.0lf;
    c = c * s + 1.0lf / 24.0lf;
    c = c * s * s + (1.0lf - 0.5lf * s);
    double y = (which & 1u) != 0u ? c : p;
    return (which & 2u) != 0u ? -y : y;
}
double pcp_sin_f64(double x)
{
    if (!pcp_isfinite_f64(x) || x == 0.0lf) return x == 0.0lf ? x : pcp_nan_f64();
    pcp_angle64_t t = pcp_reduce_f64(x);
    return pcp_circle_f64(t.r, t.q);
}
double pcp_cos_f64(double x)
{
    if (!pcp_isfinite_f64(x)) return pcp_nan_f64();
    pcp_angle64_t t = pcp_reduce_f64(x);
    return pcp_circle_f64(t.r, t.q + 1u);
}
double pcp_tan_f64(double x) { precise double y = pcp_sin_f64(x) / pcp_cos_f64(x); return y; }

// --- atan: |x| <= tan(pi / 8) by the series, else by one step of its addition theorem ---
double pcp_atan_small(double x)
{
    precise double s = x * x, p = -1.0lf / 43.0lf;
    for (int k = 41; k >= 3; k -= 2) p = p * s + ((k & 2) != 0 ? -1.0lf : 1.0lf) / double(k);
    p = p * s * x + x;
    return p;
}
double pcp_atan_half(double q) // q in [0, 1]
{
    if (q <= 0.26794919243112270lf) return pcp_atan_small(q);
    precise double t = (q - 0.57735026918962573lf) / (1.0lf + q * 0.57735026918962573lf);
    precise double y = 0.52359877559829882lf + pcp_atan_small(t);
    return y;
}
double pcp_atan2_f64(double y, double x)
{
    if (pcp_isnan_f64(x) || pcp_isnan_f64(y)) return pcp_nan_f64();
    double ax = pcp_abs_f64(x), ay = pcp_abs_f64(y), low = min(ax, ay), high = max(ax, ay);
    precise double q = high == 0.0lf ? 0.0lf : ax == ay ? 1.0lf : low / high, r = pcp_atan_half(q);
    if (ay > ax) r = (1.5707963267948966lf - r) + 6.123233995736766e-17lf;
    if (doubleBitsToUint64(x) >> 63 != 0UL) r = (3.141592653589793lf - r) + 1.2246467991473532e-16lf;
    return pcp_copysign_f64(r, y);
}
double pcp_atan_f64(double x) { return pcp_isnan_f64(x) ? x : pcp_atan2_f64(x, 1.0lf); }
double pcp_asin_f64(double x)
{
    precise double c = sqrt((1.0lf - x) * (1.0lf + x));
    return pcp_abs_f64(x) <= 1.0lf ? pcp_atan2_f64(x, c) : pcp_nan_f64();
}
double pcp_acos_f64(double x)
{
    precise double s = sqrt((1.0lf - x) * (1.0lf + x));
    return pcp_abs_f64(x) <= 1.0lf ? pcp_atan2_f64(s, x) : pcp_nan_f64();
}
double pcp_asinh_f64(double x)
{
    double a = pcp_abs_f64(x);
    if (!pcp_isfinite_f64(x) || x == 0.0lf) return x;
    precise double small = pcp_log1p_f64(a + a * a / (1.0lf + sqrt(a * a + 1.0lf))), large = pcp_log_f64(a) + 0.69314718055994530942lf;
    return pcp_copysign_f64(a > 1e9lf ? large : small, x);
}
double pcp_acosh_f64(double x)
{
    precise double t = x - 1.0lf, small = pcp_log1p_f64(t + sqrt(2.0lf * t + t * t));
    precise double large = pcp_log_f64(x) + 0.69314718055994530942lf;
    return !(x >= 1.0lf) ? pcp_nan_f64() : x > 1e9lf ? large : small;
}
double pcp_atanh_f64(double x)
{
    double a = pcp_abs_f64(x);
    if (!(a < 1.0lf)) return a == 1.0lf ? pcp_copysign_f64(pcp_inf_f64(), x) : pcp_nan_f64();
    precise double y = 0.5lf * pcp_log1p_f64(2.0lf * a / (1.0lf - a));
    return pcp_copysign_f64(y, x);
}
double pcp_sinh_f64(double x)
{
    double a = pcp_abs_f64(x);
    if (!pcp_isfinite_f64(x) || x == 0.0lf) return x;
    precise double t = pcp_expm1_f64(min(a, 700.0lf)), y = 0.5lf * (t + t / (t + 1.0lf));
    precise double h = pcp_exp_f64(0.5lf * a), large = 0.5lf * h * h;
    return pcp_copysign_f64(a > 700.0lf ? large : y, x);
}
double pcp_cosh_f64(double x)
{
    double a = pcp_abs_f64(x);
    precise double h = pcp_exp_f64(0.5lf * a), y = 0.5lf * h * h + 0.5lf / h / h;
    return y;
}
double pcp_cbrt_f64(double x)
{
    double a = pcp_abs_f64(x);
    if (!pcp_isfinite_f64(x) || x == 0.0lf) return x;
    int e = int(doubleBitsToUint64(a) >> 52) - 1023, third = (e + 3000) / 3 - 1000;
    double m = pcp_scale_f64(a, -3 * third); // in [1, 8)
    precise double y = 0.7lf + 0.2lf * m;
    for (int i = 0; i < 4; i++) {
        precise double cube = y * y * y;
        y = y * (cube + 2.0lf * m) / (2.0lf * cube + m);
    }
    precise double last = y - (y * y * y - m) / (3.0lf * y * y);
    return pcp_copysign_f64(pcp_scale_f64(last, third), x);
}

#define PCP_IN_F64(name)                                                                            \
    float pcp_##name##_f32(float x) { return float(pcp_##name##_f64(double(x))); }
PCP_IN_F64(asin)
PCP_IN_F64(acos)
PCP_IN_F64(asinh)
PCP_IN_F64(acosh)
PCP_IN_F64(atanh)
PCP_IN_F64(atan)
PCP_IN_F64(cbrt)
float pcp_atan2_f32(float y, float x) { return float(pcp_atan2_f64(double(y), double(x))); }
float pcp_pow_f32(float x, float y) { return float(pcp_pow_f64(double(x), double(y))); }
double pcp_half_exp(float x) { precise float e = x - 0.693147182464599609375; return pcp_exp_f64(double(e)); }
float pcp_sinh_f32(float x)
{
    if (pcp_abs_f32(x) < 1.0) return float(pcp_sinh_f64(double(x)));
    precise double y = pcp_half_exp(x) - pcp_half_exp(-x);
    return float(y);
}
float pcp_cosh_f32(float x) { precise double y = pcp_half_exp(x) + pcp_half_exp(-x); return float(y); }

// x to a format of e bits of exponent and m of mantissa, as prelude_math.h has it.
double pcp_reduce_precision(double x, int e, int m)
{
    if (pcp_isnan_f64(x) && m == 0) return pcp_copysign_f64(pcp_inf_f64(), x);
    if (!pcp_isfinite_f64(x) || x == 0.0lf) return x;
    uint64_t bits = doubleBitsToUint64(x), sign = bits & PCP_SIGN;
    bits &= PCP_MAGNITUDE;
    if (m < 52) {
        int drop = 52 - m;
        bits += (1UL << (drop - 1)) - 1UL + (m == 0 ? 1UL : bits >> drop & 1UL); // of one digit, it is odd
        bits = bits >> drop << drop;
    }
    int at = int(bits >> 52) - 1023;
    if (e < 11) {
        int bias = (1 << (e - 1)) - 1;
        if (at > bias) bits = PCP_INF;
        if (at < 1 - bias) bits = 0UL;
    }
    return uint64BitsToDouble(sign | bits);
}

// Floats of up to 8 bits by their table row (base/small_float.h): KIND 0 IEEE, 1 FN, 2 FNUZ, 3 FINITE, 4 SCALE.
float pcp_small_float_value(uint code, int exp_bits, int man_bits, int bias, int kind)
{
    uint magnitude = code & ((1u << (exp_bits + man_bits)) - 1u), top = (1u << exp_bits) - 1u;
    uint e = magnitude >> man_bits, man = magnitude & ((1u << man_bits) - 1u);
    bool negative = kind != 4 && (code >> (exp_bits + man_bits) & 1u) != 0u, below = e == 0u && kind != 4;
    bool all_ones = e == top && man == (1u << man_bits) - 1u;
    bool is_nan = kind == 0 ? e == top && man != 0u : kind == 2 ? negative && magnitude == 0u : kind != 3 && all_ones;
    double ulp = pcp_pow2_f64((below ? 1 : int(e)) - bias - man_bits);
    double value = double(below ? man : man | 1u << man_bits) * ulp;
    float y = float(value);
    if (kind == 0 && e == top) y = pcp_inf_f32();
    if (is_nan) y = pcp_nan_f32();
    // 2^-127 is subnormal as f32: by its bits
    if (kind == 4 && code == 0u) y = uintBitsToFloat(0x00400000u);
    return negative ? pcp_neg_f32(y) : y;
}
uint pcp_small_float_code(float single, int exp_bits, int man_bits, int bias, int kind)
{
    uint64_t bits = doubleBitsToUint64(double(single));
    uint raw = floatBitsToUint(single);
    int top = (1 << exp_bits) - 1, e = int(bits >> 52 & 0x7FFUL), drop = 52 - man_bits;
    uint64_t man = bits & 0xFFFFFFFFFFFFFUL;
    if (kind == 4) {
        if ((raw & 0x7F800000u) == 0u && (raw & 0x007FFFFFu) != 0u) /* a subnormal, whatever the device makes of it */
            return raw >> 31 != 0u ? uint(top) : (raw & 0x007FFFFFu) >= 0x00600000u ? 1u : 0u;
        int field = e - 1023 + bias + int(man >> 51);
        if (e == 0x7FF || (raw >> 31 != 0u && raw << 1 != 0u)) return uint(top);
        return field < 0 ? 0u : field > top ? uint(top) : uint(field);
    }
    uint sign = uint(bits >> 63) << (exp_bits + man_bits);
    uint ones = (1u << (exp_bits + man_bits)) - 1u, inf = ones >> man_bits << man_bits;
    uint largest = kind == 0 ? inf - 1u : ones - (kind == 1 ? 1u : 0u);
    uint nan = kind == 0 ? sign | inf | 1u << (man_bits - 1) : kind == 1 ? sign | ones : ones + 1u;
    uint beyond = kind == 0 ? sign | inf : kind == 3 ? sign | largest : nan;
    if (pcp_isnan_f32(single)) return nan;
    e = e - 1023 + bias;
    if (e > 0) {
        man |= uint64_t(e) << 52;
    } else {
        man |= 1UL << 52;
        drop = min(drop + 1 - e, 62);
    }
    uint64_t rest = man & ((1UL << drop) - 1UL), middle = 1UL << (drop - 1), up = man >> drop;
    up += rest > middle || (rest == middle && (up & 1UL) != 0UL) ? 1UL : 0UL;
    if (up > uint64_t(largest)) return beyond;
    return kind == 2 && up == 0UL ? 0u : sign | uint(up);
}
float pcp_small_float_next(float a, float b, int exp_bits, int man_bits, int bias, int kind)
{
    uint code = pcp_small_float_code(a, exp_bits, man_bits, bias, kind), negative = 1u << (exp_bits + man_bits);
    if (pcp_isnan_f32(a) || pcp_isnan_f32(b)) return pcp_nan_f32();
    if (a == b) return b;
    code = a == 0.0 ? (b < 0.0 ? negative : 0u) | 1u : (b > a) == (a > 0.0) ? code + 1u : code - 1u;
    if (kind == 2 && code == negative) code = 0u;
    return pcp_small_float_value(code, exp_bits, man_bits, bias, kind);
}
