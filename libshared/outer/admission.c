/* Admission of one update: all finite, norm within its limit. */
#include "outer/admission.h"

#include <math.h>

#include "outer/kernels.h"

int admission_check(const float *values, size_t n, double max_norm, admission_t *out, err_t *err)
{
    double squares = 0, largest = 0;
    size_t n_bad = 0, first_bad = 0;
    for (size_t i = 0; i < n; i++) {
        double value = (double)values[i];
        if (!isfinite(value)) {
            if (n_bad++ == 0) first_bad = i;
            continue;
        }
        squares += value * value; /* at most n * 2^256: no overflow in f64 */
        largest = fmax(largest, fabs(value));
    }
    if (n_bad > 0)
        return err_set(err, ERR_NUMERIC,
                       "update: %zu of %zu elements are not finite, first %zu = %g", n_bad, n,
                       first_bad, (double)values[first_bad]);
    double norm = sqrt(squares);
    if (max_norm > 0 && norm > max_norm)
        return err_set(err, ERR_NUMERIC, "update: norm %g is above the limit %g", norm, max_norm);
    *out = (admission_t){norm, largest};
    return 0;
}

double admission_norm2(const float *values, size_t n)
{
    return outer_kernels()->squares(values, n);
}
