// The GLSL prelude of generated shaders: the scalar functions that op_def_t.expr strings name, as
// prelude_math.h and prelude_int.h have them for C; the formulas and their errors are stated there. Here a
// product and a sum are rounded twice, and subnormal f32 may count as 0: Vulkan leaves that to the device.
// `precise` keeps the order and the roundings where a formula lives by them.
// Integers of less than 32 bits are int and uint, wrapped after each operation.

uint pcp_bits_f32(float x) { return floatBitsToUint(x); }
float pcp_of_bits_f32(uint bits) { return uintBitsToFloat(bits); }
float pcp_pow2_f32(int n) { return uintBitsToFloat(uint(n + 127) << 23); }
// A product and a sum, each rounded: fma() is no arithmetic that `precise` holds on to, and Mesa 22.3 takes common
// factors out of two of them, which undoes a split constant.
float pcp_fma_f32(float a, float b, float c) { precise float p = a * b, r = p + c; return r; }

// --- Exact functions ---
bool pcp_isnan_f32(float x) { return (floatBitsToUint(x) & 0x7FFFFFFFu) > 0x7F800000u; }
bool pcp_isfinite_f32(float x) { return (floatBitsToUint(x) & 0x7F800000u) != 0x7F800000u; }
float pcp_nan_f32() { return uintBitsToFloat(0x7FC00000u); }
float pcp_inf_f32() { return uintBitsToFloat(0x7F800000u); }
float pcp_copysign_f32(float x, float s)
{
    return uintBitsToFloat((floatBitsToUint(x) & 0x7FFFFFFFu) | (floatBitsToUint(s) & 0x80000000u));
}
float pcp_abs_f32(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0x7FFFFFFFu); }
float pcp_add_f32(float a, float b) { precise float r = a + b; return r; }
float pcp_sub_f32(float a, float b) { precise float r = a - b; return r; }
float pcp_mul_f32(float a, float b) { precise float r = a * b; return r; }
float pcp_neg_f32(float a) { return uintBitsToFloat(floatBitsToUint(a) ^ 0x80000000u); }
float pcp_div_f32(float a, float b) { precise float r = a / b; return r; }
float pcp_ceil_f32(float x) { return ceil(x); }
float pcp_floor_f32(float x) { return floor(x); }
float pcp_rint_f32(float x) { return pcp_copysign_f32(roundEven(x), x); }
float pcp_sqrt_f32(float x) { return sqrt(x); }
float pcp_rsqrt_f32(float x) { precise float r = 1.0 / sqrt(x); return r; }
float pcp_round_f32(float x)
{
    precise float a = pcp_abs_f32(x), whole = trunc(a), rest = a - whole;
    return pcp_copysign_f32(whole + (rest >= 0.5 ? 1.0 : 0.0), x);
}
float pcp_sign_f32(float x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }
float pcp_max_f32(float a, float b)
{
    float r = a > b ? a : b, zero = uintBitsToFloat(floatBitsToUint(a) & floatBitsToUint(b));
    r = a == b ? zero : r;
    return pcp_isnan_f32(a) ? a : pcp_isnan_f32(b) ? b : r;
}
float pcp_min_f32(float a, float b)
{
    float r = a < b ? a : b, zero = uintBitsToFloat(floatBitsToUint(a) | floatBitsToUint(b));
    r = a == b ? zero : r;
    return pcp_isnan_f32(a) ? a : pcp_isnan_f32(b) ? b : r;
}
float pcp_clamp_f32(float lo, float x, float hi) { return pcp_min_f32(pcp_max_f32(x, lo), hi); }
int pcp_key_f32(float x)
{
    int bits = floatBitsToInt(x);
    return bits ^ int(uint(bits >> 31) >> 1);
}
// What is left of a by b: the quotient's bits one after another, as fmod; exact.
float pcp_rem_f32(float a, float b)
{
    uint x = floatBitsToUint(a) & 0x7FFFFFFFu, y = floatBitsToUint(b) & 0x7FFFFFFFu;
    uint sign = floatBitsToUint(a) & 0x80000000u;
    if (y == 0u || x >= 0x7F800000u || y > 0x7F800000u) return pcp_nan_f32();
    if (x < y) return a;
    int ex = max(int(x >> 23), 1), ey = max(int(y >> 23), 1);
    uint mx = (x & 0x7FFFFFu) | (x >> 23 != 0u ? 0x800000u : 0u);
    uint my = (y & 0x7FFFFFu) | (y >> 23 != 0u ? 0x800000u : 0u);
    for (; ex > ey; ex--) mx = (mx >= my ? mx - my : mx) << 1;
    mx = mx >= my ? mx - my : mx;
    if (mx == 0u) return uintBitsToFloat(sign);
    int up = min(23 - findMSB(mx), ey - 1);
    mx <<= uint(up);
    ey -= up;
    return uintBitsToFloat(sign | (mx & 0x800000u) * uint(ey) | (mx & 0x7FFFFFu));
}
float pcp_nextafter_f32(float a, float b)
{
    uint bits = floatBitsToUint(a), zero = floatBitsToUint(b) & 0x80000000u;
    if (pcp_isnan_f32(a) || pcp_isnan_f32(b)) return pcp_nan_f32();
    if (bits == floatBitsToUint(b) || ((bits | floatBitsToUint(b)) & 0x7FFFFFFFu) == 0u) return b;
    if ((bits & 0x7FFFFFFFu) == 0u) return uintBitsToFloat(zero | 1u);
    bool up = pcp_key_f32(b) > pcp_key_f32(a);
    return uintBitsToFloat(up == (bits >> 31 == 0u) ? bits + 1u : bits - 1u);
}
// A sum in two floats (Knuth's TwoSum): what a long one loses by rounding is carried along.
void pcp_fold_sum(inout float sum, inout float lost, float x)
{
    precise float s = sum + x, t = s - sum, more = (sum - (s - t)) + (x - t), all = lost + more;
    sum = s;
    lost = all;
}
float pcp_end_sum(float sum, float lost) { return pcp_isfinite_f32(lost) ? pcp_add_f32(sum, lost) : sum; }

// --- exp, expm1 ---
const float PCP_LN2_HI = 0.693359375, PCP_LN2_LO = -2.12194440e-4, PCP_ROUND = 12582912.0;
struct pcp_split_t { float r; int n; };
pcp_split_t pcp_split_exp(float x)
{
    precise float t = pcp_fma_f32(x, 1.44269504, PCP_ROUND), n = t - PCP_ROUND;
    precise float r = pcp_fma_f32(n, -PCP_LN2_LO, pcp_fma_f32(n, -PCP_LN2_HI, x));
    return pcp_split_t(r, int(floatBitsToUint(t) - 0x4B400000u));
}
float pcp_exp_scaled(pcp_split_t s, float scale)
{
    precise float p = 1.38143253e-3, r = s.r;
    p = pcp_fma_f32(p, r, 8.36885135e-3);
    p = pcp_fma_f32(p, r, 4.16684010e-2);
    p = pcp_fma_f32(p, r, 1.66665195e-1);
    p = pcp_fma_f32(p, r, 4.99999934e-1);
    p = pcp_fma_f32(p, r * r, r) + 1.0;
    int half_n = s.n >> 1;
    precise float y = p * scale * pcp_pow2_f32(half_n) * pcp_pow2_f32(s.n - half_n);
    return y;
}
float pcp_exp_f32(float x)
{
    if (pcp_isnan_f32(x)) return x;
    x = x > 89.0 ? 89.0 : x;
    x = x < -104.0 ? -104.0 : x;
    return pcp_exp_scaled(pcp_split_exp(x), 1.0);
}
float pcp_expm1_core(float x)
{
    pcp_split_t s = pcp_split_exp(x);
    precise float p = 1.39465103e-3, r = s.r, h = pcp_pow2_f32(s.n - 1);
    p = pcp_fma_f32(p, r, 8.36670084e-3);
    p = pcp_fma_f32(p, r, 4.16662813e-2);
    p = pcp_fma_f32(p, r, 1.66665422e-1);
    p = pcp_fma_f32(p, r, 5.00000006e-1);
    p = pcp_fma_f32(p, r * r, r);
    precise float y = pcp_fma_f32(h, p, h - 0.5) * 2.0;
    return y;
}
float pcp_expm1_f32(float x)
{
    if (pcp_isnan_f32(x) || x == 0.0) return x;
    return pcp_expm1_core(x > 89.0 ? 89.0 : x < -18.0 ? -18.0 : x);
}
float pcp_tanh_f32(float x)
{
    if (pcp_isnan_f32(x)) return x;
    float a = pcp_abs_f32(x);
    precise float t = pcp_expm1_core(2.0 * (a > 10.0 ? 10.0 : a)), y = t / (t + 2.0);
    return pcp_copysign_f32(y, x);
}
float pcp_logistic_f32(float x)
{
    if (pcp_isnan_f32(x)) return x;
    float a = pcp_abs_f32(x);
    precise float e = pcp_exp_scaled(pcp_split_exp(a > 104.0 ? -104.0 : -a), 1.0);
    precise float y = (x < 0.0 ? e : 1.0) / (1.0 + e);
    return y;
}

// --- log, log1p ---
struct pcp_parts_t { float f; int k; };
pcp_parts_t pcp_parts_f32(float x)
{
    uint i = floatBitsToUint(x) + (0x3F800000u - 0x3F3504F3u);
    float m = uintBitsToFloat((i & 0x007FFFFFu) + 0x3F3504F3u);
    return pcp_parts_t(pcp_sub_f32(m, 1.0), int(i >> 23) - 127);
}
float pcp_log_parts(pcp_parts_t s, float more)
{
    precise float q = 6.74664802e-2, f = s.f, k = float(s.k), ff = f * f;
    q = pcp_fma_f32(q, f, -1.16756361e-1);
    q = pcp_fma_f32(q, f, 1.18881577e-1);
    q = pcp_fma_f32(q, f, -1.24056047e-1);
    q = pcp_fma_f32(q, f, 1.42195577e-1);
    q = pcp_fma_f32(q, f, -1.66679940e-1);
    q = pcp_fma_f32(q, f, 2.00021180e-1);
    q = pcp_fma_f32(q, f, -2.50000097e-1);
    q = pcp_fma_f32(q, f, 3.33333126e-1);
    precise float rest = pcp_fma_f32(q, f * ff, -0.5 * ff);
    precise float y = pcp_fma_f32(k, PCP_LN2_HI, f + (rest + pcp_fma_f32(k, PCP_LN2_LO, more)));
    return y;
}
float pcp_log_f32(float x)
{
    uint bits = floatBitsToUint(x);
    bool tiny = bits - 1u < 0x007FFFFFu; // a subnormal: normalised by its bits, which no device flushes
    int up = tiny ? 23 - findMSB(bits) : 0;
    float y;
    if (tiny) {
        pcp_parts_t s = pcp_parts_f32(uintBitsToFloat((bits << uint(up)) & 0x007FFFFFu | 0x3F800000u));
        s.k += -126 - up;
        return pcp_log_parts(s, 0.0);
    }
    if ((bits & 0x7FFFFFFFu) == 0u) return -pcp_inf_f32();
    if (bits >= 0x7F800000u) return bits == 0x7F800000u ? x : pcp_nan_f32();
    return pcp_log_parts(pcp_parts_f32(x), 0.0);
}
float pcp_log1p_f32(float x)
{
    if (pcp_isnan_f32(x) || x == 0.0 || x == pcp_inf_f32()) return x;
    if (x <= -1.0) return x == -1.0 ? -pcp_inf_f32() : pcp_nan_f32();
    precise float u = 1.0 + x, low = x - (u - 1.0), high = 1.0 - (u - x), lost = u >= 2.0 ? high : low;
    precise float more = lost / u;
    return pcp_log_parts(pcp_parts_f32(u), more);
}

// --- erf, erfc ---
float pcp_erf_f32(float x)
{
    if (pcp_isnan_f32(x)) return x;
    precise float a = pcp_abs_f32(x), s = a * a, t = a > 4.0 ? 4.0 : a;
    precise float p = -6.09035608e-4, u = -1.04298780e-5;
    p = pcp_fma_f32(p, s, 5.01196648e-3);
    p = pcp_fma_f32(p, s, -2.67789157e-2);
    p = pcp_fma_f32(p, s, 1.12821412e-1);
    p = pcp_fma_f32(p, s, -3.76125233e-1);
    p = pcp_fma_f32(p, s, 1.28379154e-1);
    u = pcp_fma_f32(u, t, 3.14827549e-4);
    u = pcp_fma_f32(u, t, -3.61022555e-3);
    u = pcp_fma_f32(u, t, 2.36943364e-2);
    u = pcp_fma_f32(u, t, -1.06158801e-1);
    u = pcp_fma_f32(u, t, -6.35198174e-1);
    u = pcp_fma_f32(u, t, -1.28637040e-1);
    u = pcp_fma_f32(u, t, -t);
    precise float tail = 1.0 - pcp_exp_scaled(pcp_split_exp(u), 1.0), near = pcp_fma_f32(p, x, x);
    return a > 0.92 ? pcp_copysign_f32(tail, x) : near;
}
float pcp_erfc_f32(float x)
{
    if (pcp_isnan_f32(x)) return x;
    precise float a = pcp_abs_f32(x), p = -4.00579848e-4;
    a = a > 10.1 ? 10.1 : a;
    precise float q = (a - 2.0) / (a + 2.0), hi = uintBitsToFloat(floatBitsToUint(a) & 0xFFFFF000u);
    p = pcp_fma_f32(p, q, -1.22992936e-3);
    p = pcp_fma_f32(p, q, 1.31352834e-3);
    p = pcp_fma_f32(p, q, 8.63168486e-3);
    p = pcp_fma_f32(p, q, -8.05987765e-3);
    p = pcp_fma_f32(p, q, -5.42043004e-2);
    p = pcp_fma_f32(p, q, 1.64055347e-1);
    p = pcp_fma_f32(p, q, -1.66031425e-1);
    p = pcp_fma_f32(p, q, -9.27639808e-2);
    p = pcp_fma_f32(p, q, 1.27697839) / (1.0 + 2.0 * a);
    precise float square = hi * hi;
    pcp_split_t s = pcp_split_exp(-square);
    precise float r = pcp_fma_f32(hi - a, a + hi, s.r);
    s.r = r;
    precise float y = pcp_exp_scaled(s, p), other = 2.0 - y;
    return x < 0.0 ? other : y;
}

// --- sin, cos, tan: the quadrant by integers, the rest in two floats ---
struct pcp_angle_t { float r; uint q; };
pcp_angle_t pcp_reduce_f32(float x)
{
    const uint two_over_pi[8] = uint[8](0u, 0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u, 0xF534DDC0u, 0xDB629599u,
                                        0x3C439041u, 0xFE5163ABu);
    uint bits = floatBitsToUint(x) & 0x7FFFFFFFu;
    int at = max(int(bits >> 23) - 120, 6);
    uint word = uint(at) >> 5, shift = uint(at) & 31u;
    uint a = two_over_pi[word], b = two_over_pi[word + 1u], c = two_over_pi[word + 2u];
    uint d = two_over_pi[word + 3u], m = (bits & 0x007FFFFFu) | 0x00800000u;
    uint w0 = shift == 0u ? a : a << shift | b >> (32u - shift);
    uint w1 = shift == 0u ? b : b << shift | c >> (32u - shift);
    uint w2 = shift == 0u ? c : c << shift | d >> (32u - shift);
    uint h1, l1, h2, l2, carry;
    umulExtended(m, w1, h1, l1);
    umulExtended(m, w2, h2, l2);
    uint low = uaddCarry(l1, h2, carry), high = m * w0 + h1 + carry;
    uint q = (high + 0x20000000u) >> 30;
    int f = int(high - (q << 30)); // behind the point: 30 bits of f, then 32 of low
    precise float part = float(f), left = float(f - int(part)) * 4294967296.0 + float(low);
    // f 2^32 + low in two floats; pi / 2 2^-62 in two
    precise float p = part * 4294967296.0;
    precise float r = p * 3.40612167e-19 + (p * -9.48400676e-27 + left * 3.40612167e-19);
    float a32 = pcp_abs_f32(x);
    bool small = a32 < 0.75;
    return pcp_angle_t(small ? a32 : r, small ? 0u : q & 3u);
}
float pcp_circle_f32(float r, uint which)
{
    precise float s = r * r, p = -1.95146249e-4, c = 2.44324829e-5;
    p = pcp_fma_f32(p, s, 8.33215604e-3);
    p = pcp_fma_f32(p, s, -1.66666545e-1);
    p = pcp_fma_f32(p, s * r, r);
    c = pcp_fma_f32(c, s, -1.38873108e-3);
    c = pcp_fma_f32(c, s, 4.16666456e-2);
    c = pcp_fma_f32(c, s * s, 1.0 - 0.5 * s);
    float y = (which & 1u) != 0u ? c : p;
    return uintBitsToFloat(floatBitsToUint(y) ^ (which & 2u) << 30);
}
float pcp_sin_f32(float x)
{
    if (!pcp_isfinite_f32(x)) return pcp_nan_f32();
    pcp_angle_t t = pcp_reduce_f32(x);
    return uintBitsToFloat(floatBitsToUint(pcp_circle_f32(t.r, t.q)) ^ (floatBitsToUint(x) & 0x80000000u));
}
float pcp_cos_f32(float x)
{
    if (!pcp_isfinite_f32(x)) return pcp_nan_f32();
    pcp_angle_t t = pcp_reduce_f32(x);
    return pcp_circle_f32(t.r, t.q + 1u);
}
float pcp_tan_f32(float x)
{
    if (!pcp_isfinite_f32(x)) return pcp_nan_f32();
    pcp_angle_t t = pcp_reduce_f32(x);
    precise float y = pcp_circle_f32(t.r, t.q) / pcp_circle_f32(t.r, t.q + 1u);
    return uintBitsToFloat(floatBitsToUint(y) ^ (floatBitsToUint(x) & 0x80000000u));
}

// --- Integers ---
// To 64 bits by halves: Mesa 22.3 is wrong about comparisons of a widened integer with constants.
int64_t pcp_wide(int x) { return packInt2x32(ivec2(x, x >> 31)); }
uint64_t pcp_wide(uint x) { return packUint2x32(uvec2(x, 0u)); }
int kc_wrap_i2(int x) { return x << 30 >> 30; }
int kc_wrap_i4(int x) { return x << 28 >> 28; }
int kc_wrap_i8(int x) { return x << 24 >> 24; }
int kc_wrap_i16(int x) { return x << 16 >> 16; }
uint kc_wrap_ui2(uint x) { return x & 3u; }
uint kc_wrap_ui4(uint x) { return x & 15u; }
uint kc_wrap_ui8(uint x) { return x & 255u; }
uint kc_wrap_ui16(uint x) { return x & 65535u; }
int kc_wrap_i2(uint x) { return kc_wrap_i2(int(x)); }
int kc_wrap_i4(uint x) { return kc_wrap_i4(int(x)); }

int pcp_clz_bits(uint x, int bits) { return bits - 1 - findMSB(x); } // findMSB(0) is -1
int pcp_popcnt_bits(uint x) { return bitCount(x); }
int pcp_clz_bits64(uint64_t x)
{
    uint high = uint(x >> 32);
    return high != 0u ? 31 - findMSB(high) : 63 - findMSB(uint(x));
}
int pcp_popcnt_bits64(uint64_t x) { return bitCount(uint(x >> 32)) + bitCount(uint(x)); }

// T the register type, U its unsigned twin, BITS of the element, W the wrap, M the mask of an element's bits
#define PCP_INT_BOTH(T, t, U, BITS, W, M, POPCNT, CLZ)                                              \
    T pcp_add_##t(T a, T b) { return W(a + b); }                                                    \
    T pcp_sub_##t(T a, T b) { return W(a - b); }                                                    \
    T pcp_mul_##t(T a, T b) { return W(a * b); }                                                    \
    T pcp_neg_##t(T a) { return W(T(0) - a); }                                                      \
    T pcp_max_##t(T a, T b) { return a > b ? a : b; }                                               \
    T pcp_min_##t(T a, T b) { return a < b ? a : b; }                                               \
    T pcp_clamp_##t(T lo, T x, T hi) { return pcp_min_##t(pcp_max_##t(x, lo), hi); }                \
    T pcp_not_##t(T a) { return W(~a); }                                                            \
    T pcp_and_##t(T a, T b) { return a & b; }                                                       \
    T pcp_or_##t(T a, T b) { return a | b; }                                                        \
    T pcp_xor_##t(T a, T b) { return a ^ b; }                                                       \
    T pcp_popcnt_##t(T a) { return W(T(POPCNT)); }                                                  \
    T pcp_clz_##t(T a) { return W(T(CLZ)); }                                                        \
    T pcp_shl_##t(T a, T b) { return (U(b) & M) < U(BITS) ? W(a << (b & T(BITS - 1))) : T(0); }     \
    T pcp_shrl_##t(T a, T b)                                                                        \
    {                                                                                               \
        return (U(b) & M) < U(BITS) ? W(T((U(a) & M) >> (U(b) & U(BITS - 1)))) : T(0);              \
    }
#define PCP_SIGNED(T, t, U, BITS, W, M, POPCNT, CLZ)                                                \
    PCP_INT_BOTH(T, t, U, BITS, W, M, POPCNT, CLZ)                                                  \
    T pcp_abs_##t(T a) { return a < T(0) ? W(T(0) - a) : a; }                                       \
    T pcp_sign_##t(T a) { return a > T(0) ? T(1) : a < T(0) ? T(-1) : T(0); }                       \
    T pcp_quot_##t(T a, T b)                                                                        \
    {                                                                                               \
        U x = a < T(0) ? U(0) - U(a) : U(a), y = b < T(0) ? U(0) - U(b) : U(b), q = x / y;          \
        return W((a < T(0)) != (b < T(0)) ? T(U(0) - q) : T(q));                                    \
    }                                                                                               \
    T pcp_div_##t(T a, T b) { return b == T(0) ? T(-1) : pcp_quot_##t(a, b); }                      \
    T pcp_rem_##t(T a, T b) { return b == T(0) ? a : W(a - pcp_quot_##t(a, b) * b); }               \
    T pcp_shra_##t(T a, T b) { return W(a >> ((U(b) & M) < U(BITS) ? b & T(BITS - 1) : T(BITS - 1))); } \
    T pcp_pow_##t(T a, T b)                                                                         \
    {                                                                                               \
        T y = T(1), x = a;                                                                          \
        if (b < T(0)) return a == T(1) ? T(1) : a == T(-1) ? ((b & T(1)) != T(0) ? T(-1) : T(1)) : T(0); \
        for (; b > T(0); b >>= 1, x = W(x * x)) y = (b & T(1)) != T(0) ? W(y * x) : y;              \
        return y;                                                                                   \
    }
#define PCP_UNSIGNED(T, t, S, BITS, W, M, WS, POPCNT, CLZ)                                          \
    PCP_INT_BOTH(T, t, T, BITS, W, M, POPCNT, CLZ)                                                  \
    T pcp_sign_##t(T a) { return a > T(0) ? T(1) : T(0); }                                          \
    T pcp_abs_##t(T a) { return a; }                                                                \
    T pcp_div_##t(T a, T b) { return b == T(0) ? W(~T(0)) : a / b; }                                \
    T pcp_rem_##t(T a, T b) { return b == T(0) ? a : a % b; }                                       \
    T pcp_shra_##t(T a, T b) { return W(T(WS(S(a)) >> S(b < T(BITS) ? b : T(BITS - 1)))); }         \
    T pcp_pow_##t(T a, T b)                                                                         \
    {                                                                                               \
        T y = T(1), x = a;                                                                          \
        for (; b > T(0); b >>= 1, x = W(x * x)) y = (b & T(1)) != T(0) ? W(y * x) : y;              \
        return y;                                                                                   \
    }
#define PCP_AS_IT_IS(x) (x)
PCP_SIGNED(int, i8, uint, 8, kc_wrap_i8, 255u, pcp_popcnt_bits(uint(a) & 255u), pcp_clz_bits(uint(a) & 255u, 8))
PCP_SIGNED(int, i16, uint, 16, kc_wrap_i16, 65535u, pcp_popcnt_bits(uint(a) & 65535u),
           pcp_clz_bits(uint(a) & 65535u, 16))
PCP_SIGNED(int, i32, uint, 32, PCP_AS_IT_IS, 0xFFFFFFFFu, pcp_popcnt_bits(uint(a)), pcp_clz_bits(uint(a), 32))
PCP_SIGNED(int64_t, i64, uint64_t, 64, PCP_AS_IT_IS, 0xFFFFFFFFFFFFFFFFUL, pcp_popcnt_bits64(uint64_t(a)),
           pcp_clz_bits64(uint64_t(a)))
PCP_UNSIGNED(uint, u8, int, 8, kc_wrap_ui8, 255u, kc_wrap_i8, pcp_popcnt_bits(a), pcp_clz_bits(a, 8))
PCP_UNSIGNED(uint, u16, int, 16, kc_wrap_ui16, 65535u, kc_wrap_i16, pcp_popcnt_bits(a), pcp_clz_bits(a, 16))
PCP_UNSIGNED(uint, u32, int, 32, PCP_AS_IT_IS, 0xFFFFFFFFu, PCP_AS_IT_IS, pcp_popcnt_bits(a), pcp_clz_bits(a, 32))
PCP_UNSIGNED(uint64_t, u64, int64_t, 64, PCP_AS_IT_IS, 0xFFFFFFFFFFFFFFFFUL, PCP_AS_IT_IS, pcp_popcnt_bits64(a),
             pcp_clz_bits64(a))

int pcp_shra_i8(int a, uint b) { return pcp_shra_i8(a, int(b)); }

bool pcp_add_i1(bool a, bool b) { return a || b; }
bool pcp_max_i1(bool a, bool b) { return a || b; }
bool pcp_or_i1(bool a, bool b) { return a || b; }
bool pcp_mul_i1(bool a, bool b) { return a && b; }
bool pcp_min_i1(bool a, bool b) { return a && b; }
bool pcp_and_i1(bool a, bool b) { return a && b; }
bool pcp_div_i1(bool a, bool b) { return a && b; }
bool pcp_xor_i1(bool a, bool b) { return a != b; }
bool pcp_sub_i1(bool a, bool b) { return a != b; }
bool pcp_not_i1(bool a) { return !a; }
bool pcp_popcnt_i1(bool a) { return a; }
bool pcp_clz_i1(bool a) { return !a; }
bool pcp_clamp_i1(bool lo, bool x, bool hi) { return (x || lo) && hi; }

// --- Conversions ---
// Float to integer truncates and saturates; NaN gives 0. LO and END are exact.
#define PCP_TO_INT(T, t, F, f, LO, END, MIN, MAX)                                                   \
    T pcp_##t##_from_##f(F x)                                                                       \
    {                                                                                               \
        return x >= F(END) ? T(MAX) : x < F(LO) ? T(MIN) : x >= F(LO) ? T(x) : T(0);                \
    }
#define PCP_TO_INTS(F, f)                                                                           \
    PCP_TO_INT(int, i8, F, f, -128.0, 128.0, -128, 127)                                             \
    PCP_TO_INT(int, i16, F, f, -32768.0, 32768.0, -32768, 32767)                                    \
    PCP_TO_INT(int, i32, F, f, -2147483648.0, 2147483648.0, 0x80000000u, 0x7FFFFFFF)                \
    PCP_TO_INT(int64_t, i64, F, f, -9223372036854775808.0, 9223372036854775808.0,                   \
               0x8000000000000000UL, 0x7FFFFFFFFFFFFFFFL)                                           \
    PCP_TO_INT(uint, u8, F, f, 0.0, 256.0, 0u, 255u)                                                \
    PCP_TO_INT(uint, u16, F, f, 0.0, 65536.0, 0u, 65535u)                                           \
    PCP_TO_INT(uint, u32, F, f, 0.0, 4294967296.0, 0u, 0xFFFFFFFFu)                                 \
    PCP_TO_INT(uint64_t, u64, F, f, 0.0, 18446744073709551616.0, 0UL, 0xFFFFFFFFFFFFFFFFUL)
PCP_TO_INTS(float, f32)

float pcp_f32_from_bf16(uint bits) { return uintBitsToFloat(bits << 16); }
uint pcp_bf16_from_f32(float x)
{
    uint bits = floatBitsToUint(x);
    uint rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
    return pcp_isnan_f32(x) ? (bits >> 16 & 0x8000u) | 0x7FC0u : rounded;
}
uint pcp_bf16_of_f32(float x) { return floatBitsToUint(x) >> 16; }
float pcp_f32_from_f16(uint h)
{
    uint bits = (h & 0x7FFFu) << 13, e = bits & 0x0F800000u;
    float normal = uintBitsToFloat(bits + 0x38000000u);
    float special = uintBitsToFloat(bits | 0x7F800000u | ((bits & 0x007FFFFFu) != 0u ? 0x00400000u : 0u));
    precise float subnormal = float(int(h & 0x3FFu)) * 5.9604644775390625e-8;
    float y = e == 0u ? subnormal : e == 0x0F800000u ? special : normal;
    return uintBitsToFloat(floatBitsToUint(y) | (h & 0x8000u) << 16);
}
uint pcp_f16_from_f32(float x)
{
    uint bits = floatBitsToUint(x) & 0x7FFFFFFFu, sign = floatBitsToUint(x) >> 16 & 0x8000u;
    float a = uintBitsToFloat(bits);
    precise float shifted = (bits < 0x3F800000u ? a : 0.0) + 0.5;
    uint subnormal = floatBitsToUint(shifted) - 0x3F000000u;
    uint normal = (bits - 0x38000000u + 0xFFFu + (bits >> 13 & 1u)) >> 13;
    uint y = bits < 0x38800000u ? subnormal : bits >= 0x477FF000u ? 0x7C00u : normal;
    return sign | (bits > 0x7F800000u ? 0x7E00u : y);
}
float kc_round_bf16(float x) { return pcp_f32_from_bf16(pcp_bf16_from_f32(x)); }
float kc_round_f16(float x) { return pcp_f32_from_f16(pcp_f16_from_f32(x)); }
