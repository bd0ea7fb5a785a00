/* Admission of one worker's update before it is averaged: finite, of sane size. Pure functions. */
#ifndef OUTER_ADMISSION_H
#define OUTER_ADMISSION_H

#include <stddef.h>

#include "base/err.h"

typedef struct {
    double norm;    /* L2, summed in f64 in index order: the same bits everywhere */
    double max_abs; /* largest magnitude */
} admission_t;

/* Measure `values` and judge them. max_norm <= 0: no limit on the norm. ERR_NUMERIC names the first
 * element that is NaN or Inf (and how many there are), or the norm and its limit; *out is set only
 * on success. n = 0 is admitted with norm 0. */
int admission_check(const float *values, size_t n, double max_norm, admission_t *out, err_t *err);

/* Sum of squares in f64, in a fixed order: the same bits everywhere. */
double admission_norm2(const float *values, size_t n);

#endif
