/* Order-free sums: fixed point in 64-bit integers, at the largest scale that cannot overflow. */
#include "outer/fixed_sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "outer/kernels.h"

enum { SUM_BITS = 62, LEAST_SCALE = 8 };

struct fixed_sum {
    size_t n;
    double range, factor; /* factor = 2^scale */
    float limit;          /* the largest float that is not above range */
    int scale;
    uint64_t weight, weight_max;
    int64_t *sum;
};

static int ceil_log2(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent); /* x = fraction * 2^exponent, fraction in [1/2, 1) */
    return fraction == 0.5 ? exponent - 1 : exponent;
}

fixed_sum_t *fixed_sum_new(size_t n, double range, uint64_t weight_max, err_t *err)
{
    if (!(range >= 0x1p-20 && range <= 0x1p20)) {
        err_set(err, ERR_ARG, "fixed sum: range %g is outside [2^-20, 2^20]", range);
        return NULL;
    }
    if (weight_max < 1 || weight_max > (uint64_t)1 << 40) {
        err_set(err, ERR_ARG, "fixed sum: largest weight %llu is outside [1, 2^40]",
                (unsigned long long)weight_max);
        return NULL;
    }
    int scale = SUM_BITS - ceil_log2(range) - ceil_log2((double)weight_max);
    if (scale < LEAST_SCALE) {
        err_set(
            err, ERR_ARG,
            "fixed sum: range %g and weight %llu leave %d bits behind the point, %d are needed; "
            "count weights in larger units",
            range, (unsigned long long)weight_max, scale, LEAST_SCALE);
        return NULL;
    }
    fixed_sum_t *self = mem_calloc(1, sizeof *self);
    *self = (fixed_sum_t){.n = n, .range = range, .scale = scale, .weight_max = weight_max};
    self->factor = ldexp(1.0, scale);
    self->limit = (float)range;
    if ((double)self->limit > range) self->limit = nextafterf(self->limit, 0);
    self->sum = mem_calloc(n, sizeof *self->sum);
    return self;
}

void fixed_sum_destroy(fixed_sum_t **self_p)
{
    if (!self_p || !*self_p) return;
    free((*self_p)->sum);
    free(*self_p);
    *self_p = NULL;
}

void fixed_sum_reset(fixed_sum_t *self)
{
    self->weight = 0;
    memset(self->sum, 0, self->n * sizeof *self->sum);
}

int fixed_sum_scale(const fixed_sum_t *self)
{
    return self->scale;
}

int fixed_sum_add_weight(fixed_sum_t *self, uint64_t weight, err_t *err)
{
    if (weight < 1 || weight > self->weight_max - self->weight)
        return err_set(
            err, ERR_ARG,
            "fixed sum: weight %llu must be at least 1 and, with the %llu so far, at most "
            "%llu",
            (unsigned long long)weight, (unsigned long long)self->weight,
            (unsigned long long)self->weight_max);
    self->weight += weight;
    return 0;
}

void fixed_sum_drop_weight(fixed_sum_t *self)
{
    self->weight = 0;
}

static int check_chunk(const fixed_sum_t *self, size_t offset, size_t count, err_t *err)
{
    if (offset <= self->n && count <= self->n - offset) return 0;
    return err_set(err, ERR_ARG, "fixed sum: elements [%zu, +%zu) lie outside the vector of %zu",
                   offset, count, self->n);
}

static int refuse(const fixed_sum_t *self, size_t offset, const float *values, size_t count,
                  err_t *err)
{
    size_t i = 0;
    while (i + 1 < count && fabsf(values[i]) <= self->limit) i++;
    return err_set(err, ERR_NUMERIC,
                   "fixed sum: element %zu is %g, outside the accepted range +-%g", offset + i,
                   (double)values[i], self->range);
}

int fixed_sum_add(fixed_sum_t *self, size_t offset, const float *values, size_t count,
                  uint64_t weight, err_t *err)
{
    if (check_chunk(self, offset, count, err) < 0) return -1;
    if (weight < 1 || weight > self->weight_max)
        return err_set(err, ERR_ARG, "fixed sum: weight %llu is outside [1, %llu]",
                       (unsigned long long)weight, (unsigned long long)self->weight_max);
    /* All are judged before the first is added, so that an error leaves nothing behind. */
    const outer_kernels_t *kernels = outer_kernels();
    if (!kernels->within(values, count, self->limit))
        return refuse(self, offset, values, count, err);
    /* Announced weights bound the sum to 2^62; a caller that adds more than it announced still gets
     * defined (wrapping) arithmetic. */
    kernels->add((uint64_t *)self->sum + offset, values, count, weight, self->factor);
    return 0;
}

uint64_t fixed_sum_weight(const fixed_sum_t *self)
{
    return self->weight;
}

int fixed_sum_mean(const fixed_sum_t *self, size_t offset, float *out, size_t count, err_t *err)
{
    if (check_chunk(self, offset, count, err) < 0) return -1;
    if (self->weight == 0)
        return err_set(err, ERR_STATE, "fixed sum: no contribution yet, so there is no mean");
    double divisor = (double)self->weight * self->factor; /* exact: 2^40 * 2^scale */
    outer_kernels()->mean(self->sum + offset, out, count, divisor);
    return 0;
}
