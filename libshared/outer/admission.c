/* What admission asks of an update. */
#include "outer/admission.h"

#include "outer/kernels.h"

double admission_norm2(const float *values, size_t n)
{
    return outer_kernels()->squares(values, n);
}
