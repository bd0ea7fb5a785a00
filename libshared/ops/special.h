/* Special functions that libm lacks, in double. Pure functions. */
#ifndef OPS_SPECIAL_H
#define OPS_SPECIAL_H

/* Inverse of erf on [-1, 1]: +-infinity at the ends, NaN outside. Giles' rational start
 * ("Approximating the erfinv function", GPU Computing Gems 2, 2011), then Newton steps. */
double special_erf_inv(double x);

/* Logarithmic derivative of gamma: NaN at the poles 0, -1, -2, ..., reflection for x < 0.5, then
 * upward recurrence and the asymptotic series (Abramowitz & Stegun 6.3.5, 6.3.7, 6.3.18). */
double special_digamma(double x);

/* log |gamma(x)|, +infinity at the poles; thread-safe. */
double special_lgamma(double x);

#endif
