/* The outer step, grain by grain: pure but for scratch memory. */
#include "aggregator/step.h"

#include <string.h>

#include "msg/limits.h"
#include "outer/admission.h"

/* How many of `count` elements from `at` on are parameters; the rest are states of the model. */
static size_t n_ruled(const aggregator_t *self, uint64_t at, size_t count)
{
    uint64_t from = self->meta.averaged_from, first = self->meta.begin + at;
    if (from == 0 || first + count <= from) return count;
    return first < from ? (size_t)(from - first) : 0;
}

/* The model's states are the mean of the replicas', and have no outer state of their own. */
static int average_block(aggregator_t *self, const step_t *to, uint64_t at, const float *mean,
                         size_t count, err_t *err)
{
    const outer_options_t options = {.rule = outer_rule_find("average", err)};
    const outer_slice_t slice = {.n = count,
                                 .d = mean,
                                 .theta = self->now->values + at,
                                 .theta_next = to->values + (at - to->first)};
    for (size_t s = 0; s < self->n_outer; s++)
        memcpy(to->outer[s] + (at - to->first), self->now->outer[s] + at, count * sizeof(float));
    return count ? outer_step(&options, &slice, err) : 0;
}

/* `count` elements from `at` on. */
static int step_block(aggregator_t *self, const step_t *to, uint64_t at, const float *mean,
                      size_t count, err_t *err)
{
    size_t ruled = n_ruled(self, at, count);
    if (average_block(self, to, at + ruled, mean + ruled, count - ruled, err) < 0) return -1;
    if (ruled == 0) return 0;
    outer_slice_t slice = {.n = ruled,
                           .d = mean,
                           .theta = self->now->values + at,
                           .theta_next = to->values + (at - to->first)};
    for (size_t s = 0; s < outer_states(self->outer.rule); s++) {
        slice.state[s] = self->now->outer[s] + at;
        slice.state_next[s] = to->outer[s] + (at - to->first);
    }
    return outer_step(&self->outer, &slice, err);
}

/* A fragment without a contribution stays as it is. */
static void keep_grain(const aggregator_t *self, const step_t *to)
{
    memcpy(to->values, self->now->values + to->first, to->n * sizeof(float));
    for (size_t s = 0; s < self->n_outer; s++)
        memcpy(to->outer[s], self->now->outer[s] + to->first, to->n * sizeof(float));
}

/* What the outer step has made of a grain becomes what its encoded change makes. */
static int encode_change(aggregator_t *self, const step_t *to, err_t *err)
{
    size_t of_rule = self->n_outer - 1;
    const change_grain_t grain = {.n = to->n,
                                  .theta = self->now->values + to->first,
                                  .error = self->now->outer[of_rule] + to->first,
                                  .x = to->values,
                                  .error_next = to->outer[of_rule],
                                  .scratch = self->scratch};
    return change_make(self->down, &grain, to->change, err);
}

fragment_t *step_fragment(const aggregator_t *self, size_t chunk)
{
    fragment_t *part = self->fragment;
    while (chunk >= part->first + part->n_chunk) part++;
    return part;
}

int step_grain(aggregator_t *self, const step_t *to, double *norm2, err_t *err)
{
    const fragment_t *part = step_fragment(self, (size_t)(to->first / MSG_CHUNK_FLOATS));
    uint64_t begin = (uint64_t)part->first * MSG_CHUNK_FLOATS, end = to->first + to->n;
    bool is_summed = fixed_sum_weight(part->sum) > 0;
    if (!is_summed) keep_grain(self, to);
    for (uint64_t at = to->first; is_summed && at < end; at += AGGREGATOR_BLOCK) {
        size_t left = (size_t)(end - at);
        size_t count = left < AGGREGATOR_BLOCK ? left : AGGREGATOR_BLOCK;
        float *mean = self->scratch;
        if (fixed_sum_mean(part->sum, (size_t)(at - begin), mean, count, err) < 0 ||
            step_block(self, to, at, mean, count, err) < 0)
            return -1;
        *norm2 += admission_norm2(mean, count);
    }
    return self->down ? encode_change(self, to, err) : 0;
}
