/* Numbers: integers by hand; decimals exactly by the short path of Clinger ("How to read floating
 * point numbers accurately", PLDI 1990) where 19 digits and a small power of ten allow it, else by
 * strtod. */
#include <stdlib.h>
#include <string.h>

#include "parse/parser.h"

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

bool number_int(const char *at, size_t n, bool *negative, uint64_t *magnitude)
{
    const char *end = at + n;
    *negative = at < end && *at == '-';
    if (*negative) at++;
    uint64_t base = 10, value = 0;
    if (end - at > 2 && at[0] == '0' && at[1] == 'x') {
        base = 16;
        at += 2;
    }
    if (at == end) return false;
    for (; at < end; at++) {
        uint64_t digit = (uint64_t)digit_of(*at);
        if (digit >= base || value > (UINT64_MAX - digit) / base) return false;
        value = value * base + digit;
    }
    *magnitude = value;
    return true;
}

/* strtod on a NUL-terminated copy; the range is a well-formed decimal. */
static double slow_f64(const char *at, const char *behind)
{
    char buf[128];
    size_t n = (size_t)(behind - at);
    char *copy = n < sizeof buf ? buf : mem_calloc(n + 1, 1);
    memcpy(copy, at, n);
    copy[n] = '\0';
    double value = strtod(copy, NULL);
    if (copy != buf) free(copy);
    return value;
}

/* Digits from *at on; the first 19 significant ones go into *mantissa. Returns how many there were.
 */
static int take_digits(const char **at, const char *end, uint64_t *mantissa, int *n_digits)
{
    const char *from = *at;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        if (*n_digits < 19) *mantissa = *mantissa * 10 + (uint64_t)(**at - '0');
        if (*mantissa || *n_digits) (*n_digits)++;
    }
    return (int)(*at - from);
}

static bool take_exponent(const char **at, const char *end, int *exponent)
{
    const char *c = *at;
    if (c == end || (*c != 'e' && *c != 'E')) return true;
    c++;
    bool negative = c < end && *c == '-';
    if (c < end && (*c == '-' || *c == '+')) c++;
    const char *digits = c;
    int value = 0;
    for (; c < end && *c >= '0' && *c <= '9'; c++)
        if (value < 100000) value = value * 10 + (*c - '0');
    *exponent = negative ? -value : value;
    *at = c;
    return c > digits;
}

bool number_f64(const char *at, const char *end, const char **behind, double *value)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *c = at;
    bool negative = c < end && *c == '-';
    if (negative) c++;
    uint64_t mantissa = 0;
    int n_digits = 0, exponent = 0, n_fraction = 0;
    if (take_digits(&c, end, &mantissa, &n_digits) == 0) return false;
    if (c < end && *c == '.') {
        c++;
        n_fraction = take_digits(&c, end, &mantissa, &n_digits);
    }
    if (!take_exponent(&c, end, &exponent)) return false;
    *behind = c;
    int scale = exponent - n_fraction;
    if (n_digits <= 19 && mantissa <= 1ull << 53 && scale >= -22 && scale <= 22) {
        double exact = (double)mantissa;
        exact = scale < 0 ? exact / power[-scale] : exact * power[scale];
        *value = negative ? -exact : exact;
    } else {
        *value = slow_f64(at, c);
    }
    return true;
}
