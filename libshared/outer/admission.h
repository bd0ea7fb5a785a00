/* What admission of one worker's update asks of its values (services/shepherd/round/admission.c judges).
 * Pure functions. */
#ifndef OUTER_ADMISSION_H
#define OUTER_ADMISSION_H

#include <stddef.h>

/* Sum of squares in f64, in a fixed order: the same bits everywhere. Not finite where a value is
 * not. */
double admission_norm2(const float *values, size_t n);

#endif
