/* Between pack.c and unpack.c. */
#ifndef PLAN_WIRE_H
#define PLAN_WIRE_H

#include "plan/format/plan.h"

enum { WIRE_VERSION = 1 };

/* Limits of what is believed; far above any real plan. */
#define WIRE_MAX_ARENA ((uint64_t)1 << 46) /* bytes */
enum {
    WIRE_MAX_TENSORS = 1 << 20,
    WIRE_MAX_PROGRAMS = 1 << 16, /* each batch tensor is looked for among them */
    WIRE_MAX_BATCH = 1 << 14,    /* tensors of that role */
    WIRE_MAX_STEPS = 1 << 22,
    WIRE_MAX_ARGS = 4096,
};

/* X(type, name): the fields of a GEMM step that copy as they are. */
// clang-format off
#define WIRE_GEMM_FIELDS(X)                                       \
    X(int64_t, batch) X(int64_t, inner) X(int64_t, m)             \
    X(int64_t, n) X(int64_t, k) X(int64_t, a)                     \
    X(int64_t, b) X(int64_t, c) X(int64_t, lda)                   \
    X(int64_t, ldb) X(int64_t, ldc) X(int64_t, stride_a)          \
    X(int64_t, stride_b) X(int64_t, stride_c) X(int64_t, inner_a) \
    X(int64_t, inner_b) X(int64_t, inner_c) X(bool, trans_a)      \
    X(bool, trans_b) X(bool, accumulate) X(int64_t, parts)        \
    X(uint32_t, kernel) X(bool, bf16) X(bool, woven)
// clang-format on

#endif
