/* Where an arena is cut into segments, and a layout that leaves places for cuts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "plan/memory/memory.h"
#include "runtime/vulkan/segments.h"

enum { A = SEGMENTS_ALIGN };

/* Segments of [0, n_bytes), which end at `ends`; n_end 0: it is refused. */
typedef struct {
    const char *name;
    uint64_t n_bytes, usual, most;
    int n_touched;
    span_t touched[4];
    size_t n_end;
    uint64_t ends[4];
} case_t;

static const case_t cases[] = {
    {"all in one", 9 * A, 9 * A, 9 * A, 1, {{0, 9 * A}}, 1, {9 * A}},
    {"nothing touched", 9 * A + 7, 9 * A, 20 * A, 0, {{0}}, 1, {9 * A + 7}},
    {"an empty arena", 0, 9 * A, 9 * A, 0, {{0}}, 1, {0}},
    {"between two", 6 * A, 4 * A, 4 * A, 2, {{3 * A, 6 * A}, {0, 3 * A}}, 2, {3 * A, 6 * A}},
    {"as few as can be",
     8 * A,
     5 * A,
     5 * A,
     4,
     {{0, 2 * A}, {2 * A, 4 * A}, {4 * A, 6 * A}, {6 * A, 8 * A}},
     2,
     {4 * A, 8 * A}},
    {"not where one goes on",
     6 * A,
     4 * A,
     4 * A,
     3,
     {{0, 2 * A}, {A, 3 * A}, {3 * A + 1, 6 * A}},
     2,
     {3 * A, 6 * A}},
    {"larger than usual",
     6 * A,
     2 * A,
     4 * A,
     3,
     {{0, A}, {A, 5 * A}, {5 * A, 6 * A}},
     3,
     {A, 5 * A, 6 * A}},
    {"not at a place between elements",
     4 * A,
     3 * A,
     3 * A,
     2,
     {{0, A + 4}, {A + 8, 4 * A}},
     0,
     {0}},
    {"one is too large", 6 * A, 2 * A, 3 * A, 2, {{0, A}, {A, 5 * A}}, 0, {0}},
};

static void test_cuts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const case_t *c = &cases[i];
        spans_t touched = {0}, out = {0};
        err_t err = {0};
        for (int k = 0; k < c->n_touched; k++) VEC_PUSH(&touched, c->touched[k]);
        int status = segments_cut(&touched, c->n_bytes, c->usual, c->most, &out, &err);
        if (status != (c->n_end ? 0 : -1)) fail_msg("%s: %d %s", c->name, status, err.text);
        if (status < 0) {
            assert_int_equal(err.code, ERR_MEMORY);
            assert_non_null(strstr(err.text, "in one buffer"));
        }
        for (size_t k = 0; k < c->n_end; k++)
            if (out.n != c->n_end || out.at[k].hi != c->ends[k] ||
                out.at[k].lo != (k ? c->ends[k - 1] : 0))
                fail_msg("%s: segment %zu of %zu ends at %llu", c->name, k, out.n,
                         (unsigned long long)out.at[k].hi);
        VEC_FREE(&touched);
        VEC_FREE(&out);
    }
}

/* Blocks that settle lie across no multiple of the segment, or of two, four, ... of it that hold them. */
static void lay_out(uint64_t seed, uint64_t from, memory_block_t *b, size_t n, uint64_t segment)
{
    for (size_t i = 0; i < n; i++) {
        int first = (int)(rng_bits(seed, 3 * i) % 40);
        uint64_t large = rng_bits(seed, 3 * i + 2) % 16 ? 9 * A : 3 * segment;
        b[i] = (memory_block_t){first, first + (int)(rng_bits(seed, 3 * i + 1) % 8),
                                1 + rng_bits(seed, 3 * i + 2) / 16 % large, 0};
    }
    memory_assign(b, n, from, segment);
    for (size_t i = 0; i < n; i++) {
        uint64_t lo = from + b[i].offset, hi = lo + b[i].n_bytes;
        uint64_t window = segment;
        while (window < b[i].n_bytes) window *= 2;
        if (lo / window != (hi - 1) / window)
            fail_msg("seed %llu: block %zu lies from %llu to %llu", (unsigned long long)seed, i,
                     (unsigned long long)lo, (unsigned long long)hi);
        for (size_t k = 0; k < i; k++) {
            bool together = b[i].first <= b[k].last && b[k].first <= b[i].last;
            bool apart = b[i].offset + b[i].n_bytes <= b[k].offset ||
                         b[k].offset + b[k].n_bytes <= b[i].offset;
            assert_true(!together || apart);
        }
    }
}

static void test_layout(void **state)
{
    enum { N = 60, SEGMENT = 16 * A };
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        memory_block_t b[N];
        uint64_t from = seed % 9 * MEMORY_ALIGN, end = 0;
        spans_t touched = {0}, out = {0};
        err_t err = {0};
        lay_out(seed, from, b, N, SEGMENT);
        for (size_t i = 0; i < N; i++) {
            span_t span = {from + b[i].offset, from + b[i].offset + b[i].n_bytes};
            VEC_PUSH(&touched, span);
            end = span.hi > end ? span.hi : end;
        }
        if (segments_cut(&touched, end, SEGMENT, 4 * SEGMENT, &out, &err) < 0)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        for (size_t i = 0; i < N; i++) {
            size_t first = segments_find(&out, from + b[i].offset);
            assert_true(from + b[i].offset + b[i].n_bytes <= out.at[first].hi);
        }
        VEC_FREE(&touched);
        VEC_FREE(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
