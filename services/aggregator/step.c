/* The outer step, grain by grain: pure but for scratch memory. */
#include "aggregator/step.h"

#include <string.h>

#include "base/mem.h"
#include "msg/limits.h"
#include "outer/admission.h"

/* A grain: elements [first, first + n) of the range, STATE_GRAIN at most, from a multiple of that. */
typedef struct {
    uint64_t first;
    size_t n;
    float *values;              /* n parameters of the next round */
    float *outer[OUTER_STATES]; /* and the vectors beside them, as many as the range has */
    uint8_t
        *change; /* where the way down has a codec: the encoding of their change, without a head */
} step_t;

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
    const change_grain_t grain = {.begin = self->meta.begin + to->first,
                                  .n = to->n,
                                  .theta = self->now->values + to->first,
                                  .error = self->now->outer[of_rule] + to->first,
                                  .x = to->values,
                                  .error_next = to->outer[of_rule],
                                  .scratch = self->scratch};
    return change_make(&self->down, &grain, to->change, err);
}

fragment_t *step_fragment(const aggregator_t *self, size_t chunk)
{
    fragment_t *part = self->fragment;
    while (chunk >= part->first + part->n_chunk) part++;
    return part;
}

static int step_grain(aggregator_t *self, const step_t *to, err_t *err)
{
    const fragment_t *part = step_fragment(self, (size_t)(to->first / MSG_CHUNK_FLOATS));
    uint64_t begin = (uint64_t)part->first * MSG_CHUNK_FLOATS, end = to->first + to->n;
    bool is_summed = fixed_sum_weight(part->sum) > 0;
    if (!is_summed) keep_grain(self, to);
    for (uint64_t at = to->first; at < end; at += AGGREGATOR_BLOCK) {
        size_t left = (size_t)(end - at);
        size_t count = left < AGGREGATOR_BLOCK ? left : AGGREGATOR_BLOCK;
        float *mean = self->scratch;
        self->block_norm2[at / AGGREGATOR_BLOCK] = 0;
        if (!is_summed) continue;
        if (fixed_sum_mean(part->sum, (size_t)(at - begin), mean, count, err) < 0 ||
            step_block(self, to, at, mean, count, err) < 0)
            return -1;
        self->block_norm2[at / AGGREGATOR_BLOCK] = admission_norm2(mean, count);
    }
    return self->down.codec ? encode_change(self, to, err) : 0;
}

uint64_t step_chunk_count(const aggregator_t *self, size_t chunk)
{
    uint64_t left = self->meta.end - self->meta.begin - (uint64_t)chunk * MSG_CHUNK_FLOATS;
    return left < MSG_CHUNK_FLOATS ? left : MSG_CHUNK_FLOATS;
}

int step_chunk(aggregator_t *self, shared_t *next, size_t chunk, err_t *err)
{
    uint64_t first = (uint64_t)chunk * MSG_CHUNK_FLOATS, n = step_chunk_count(self, chunk);
    uint8_t *head = self->down.codec ? next->change + values_change_at(self, chunk) : NULL;
    uint8_t *change = head ? head + CHANGE_HEAD : NULL;
    for (uint64_t at = first; at < first + n; at += STATE_GRAIN) {
        uint64_t left = first + n - at;
        step_t to = {.first = at,
                     .n = (size_t)(left < STATE_GRAIN ? left : STATE_GRAIN),
                     .values = next->values + at,
                     .change = change};
        for (size_t s = 0; s < self->n_outer; s++) to.outer[s] = next->outer[s] + at;
        if (step_grain(self, &to, err) < 0) return -1;
        if (change) change += change_bytes(&self->down, self->meta.begin + at, to.n) - CHANGE_HEAD;
    }
    const float *values = next->values + first;
    next->checks[chunk] = head ? change_seal(values, (size_t)n, head)
                               : hash_fast(values, (size_t)n * sizeof *values);
    return 0;
}

shared_t *step_slot(aggregator_t *self, err_t *err)
{
    const state_shape_t shape = {.n = self->meta.end - self->meta.begin,
                                 .n_outer = self->n_outer,
                                 .begin = self->meta.begin,
                                 .down = self->down};
    shared_t *keep[STATE_KEEPS] = {self->now, self->held};
    memcpy(&keep[2], self->before, sizeof self->before);
    shared_t *slot = state_slot(&self->disk, &shape, keep, err);
    if (slot)
        slot->checks = mem_calloc((1 + self->n_outer) * self->n_chunk + 1, sizeof *slot->checks);
    return slot;
}
