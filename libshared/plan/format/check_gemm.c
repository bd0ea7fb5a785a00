/* Sizes, strides and reach of GEMM steps. */
#include "plan/format/check.h"

#include <limits.h>

#include "base/mem.h"

typedef struct {
    const char *name;
    int64_t rows, columns, ld, stride, inner_stride, offset;
} operand_t;

/* Elements from the first to behind the last of an operand; -1 on overflow. */
static int64_t operand_reach(const operand_t *x, int64_t batch, int64_t inner)
{
    int64_t part[3], reach = x->columns;
    if (__builtin_mul_overflow(batch - 1, x->stride, &part[0]) ||
        __builtin_mul_overflow(inner - 1, x->inner_stride, &part[1]) ||
        __builtin_mul_overflow(x->rows - 1, x->ld, &part[2]))
        return -1;
    for (int i = 0; i < 3; i++) {
        if (__builtin_add_overflow(reach, part[i], &reach)) return -1;
    }
    return reach;
}

static int check_operand(const operand_t *x, const plan_gemm_step_t *s, uint64_t arena, err_t *err)
{
    int64_t width = s->bf16 && x->name[0] != 'C' ? 2 : (int64_t)dtype_bytes(s->dtype), bytes;
    if (x->ld < x->columns || x->ld < 1 || x->ld > INT_MAX)
        return err_set(err, ERR_CORRUPT, "gemm: operand %s: leading dimension %lld of %lld columns",
                       x->name, (long long)x->ld, (long long)x->columns);
    if (x->stride < 0 || x->inner_stride < 0 || x->offset < 0 || x->offset % width ||
        (uint64_t)x->offset > arena)
        return err_set(err, ERR_CORRUPT, "gemm: operand %s: strides %lld and %lld, offset %lld",
                       x->name, (long long)x->stride, (long long)x->inner_stride,
                       (long long)x->offset);
    if (x->rows == 0 || x->columns == 0) return 0;
    int64_t reach = operand_reach(x, s->batch, s->inner);
    if (reach < 0 || __builtin_mul_overflow(reach, width, &bytes) ||
        __builtin_add_overflow(bytes, x->offset, &bytes) || (uint64_t)bytes > arena)
        return err_set(err, ERR_CORRUPT, "gemm: operand %s ends beyond the arena of %llu bytes",
                       x->name, (unsigned long long)arena);
    return 0;
}

/* Sizes are checked: no product of them overflows. */
static int check_woven(const plan_gemm_step_t *s, uint64_t arena, err_t *err)
{
    int64_t bytes;
    bool entries = s->batch == 1 || s->stride_b == 0 ||
                   (s->k % PLAN_WOVEN == 0 && !s->trans_b && s->stride_b == s->k * s->ldb);
    if (!s->bf16 || s->inner != 1 || !entries || s->n > INT_MAX / 2 ||
        (double)s->batch * (double)s->k > INT_MAX / 2)
        return err_set(err, ERR_CORRUPT, "gemm: operand B cannot be woven");
    bytes = 2 * plan_woven_count(s);
    if (__builtin_add_overflow(bytes, s->b, &bytes) || (uint64_t)bytes > arena)
        return err_set(err, ERR_CORRUPT,
                       "gemm: operand B, woven, ends beyond the arena of %llu bytes",
                       (unsigned long long)arena);
    return 0;
}

/* Entries of C are written by several threads, so no element may belong to two: with the dimensions
 * in the order of their strides, each steps over all that the smaller ones span. */
static int check_disjoint(const plan_gemm_step_t *s, err_t *err)
{
    struct {
        int64_t extent, stride;
    } dim[3] = {{s->m, s->ldc}, {s->inner, s->inner_c}, {s->batch, s->stride_c}}, swap;
    int64_t span = s->n;
    if (s->m == 0 || s->n == 0) return 0;
    for (int i = 0; i < 3; i++) {
        for (int j = i + 1; j < 3; j++) {
            if (dim[j].stride >= dim[i].stride) continue;
            swap = dim[i];
            dim[i] = dim[j];
            dim[j] = swap;
        }
        if (dim[i].extent == 1) continue;
        if (dim[i].stride < span)
            return err_set(err, ERR_CORRUPT, "gemm: entries of C overlap (stride %lld of %lld)",
                           (long long)dim[i].stride, (long long)span);
        span += (dim[i].extent - 1) * dim[i].stride;
    }
    return 0;
}

int plan_check_gemm(const plan_gemm_step_t *s, uint64_t arena_bytes, err_t *err)
{
    int64_t entries;
    if (s->dtype != DT_F32 && s->dtype != DT_F64)
        return err_set(err, ERR_CORRUPT, "gemm: element type %d, want f32 or f64", (int)s->dtype);
    if (s->bf16 && (s->dtype != DT_F32 || s->parts < 1))
        return err_set(err, ERR_CORRUPT, "gemm: bf16 without a kernel");
    if (s->batch < 1 || s->inner < 1 || s->m < 0 || s->n < 0 || s->k < 0 || s->m > INT_MAX ||
        s->n > INT_MAX || s->k > INT_MAX || !i64_mul(s->batch, s->inner, &entries) ||
        entries > INT_MAX)
        return err_set(err, ERR_CORRUPT, "gemm: sizes %lld x %lld of [%lld x %lld x %lld]",
                       (long long)s->batch, (long long)s->inner, (long long)s->m, (long long)s->n,
                       (long long)s->k);
    const operand_t a = {
        "A", s->trans_a ? s->k : s->m, s->trans_a ? s->m : s->k, s->lda, s->stride_a, s->inner_a,
        s->a};
    const operand_t b = {
        "B", s->trans_b ? s->n : s->k, s->trans_b ? s->k : s->n, s->ldb, s->stride_b, s->inner_b,
        s->b};
    const operand_t c = {"C", s->m, s->n, s->ldc, s->stride_c, s->inner_c, s->c};
    if (check_operand(&a, s, arena_bytes, err) < 0 || check_operand(&b, s, arena_bytes, err) < 0 ||
        check_operand(&c, s, arena_bytes, err) < 0 ||
        (s->woven && check_woven(s, arena_bytes, err) < 0))
        return -1;
    return check_disjoint(s, err);
}
