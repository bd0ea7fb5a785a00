/* Special functions that libm lacks; see special.h. */
#include "ops/special.h"

#include <math.h>

/* Giles' polynomials for w = -log(1 - x^2), central and tail. */
static double erf_inv_start(double x)
{
    static const double central[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                     -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                     -0.00417768164,  0.246640727,    1.50140941};
    static const double tail[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                  -0.00367342844,  0.00573950773,  -0.0076224613,
                                  0.00943887047,   1.00167406,     2.83297682};
    double w = -log1p(-x * x);
    const double *c = w < 5 ? central : tail;
    double t = w < 5 ? w - 2.5 : sqrt(w) - 3, y = c[0];
    for (int i = 1; i < 9; i++) y = c[i] + y * t;
    return y * x;
}

double special_erf_inv(double x)
{
    const double two_by_sqrt_pi = 1.1283791670955126;
    if (isnan(x) || fabs(x) > 1) return NAN;
    if (fabs(x) == 1) return copysign(INFINITY, x);
    if (x == 0) return x;
    double a = fabs(x), y = erf_inv_start(a);
    /* Near 1 solve for log erfc, whose Newton steps converge from afar and keep their digits. */
    for (int i = 0; i < 4; i++) {
        double slope = two_by_sqrt_pi * exp(-y * y);
        if (a < 0.5)
            y -= (erf(y) - a) / slope;
        else
            y += log(erfc(y) / (1 - a)) * erfc(y) / slope;
    }
    return copysign(y, x);
}

double special_digamma(double x)
{
    const double pi = 3.14159265358979323846;
    if (isnan(x) || x == -INFINITY) return NAN;
    if (x == INFINITY) return x;
    if (x <= 0 && x == floor(x)) return NAN;
    if (x < 0.5) {
        double r = x - nearbyint(x); /* tan has period pi: keep the argument small */
        return special_digamma(1 - x) - pi / tan(pi * r);
    }
    double y = 0;
    for (; x < 10; x += 1) y -= 1 / x;
    double z = 1 / (x * x);
    double series =
        z *
        (1.0 / 12 -
         z * (1.0 / 120 -
              z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
    return y + log(x) - 0.5 / x - series;
}

double special_lgamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}
