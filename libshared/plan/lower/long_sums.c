/* Long sums in parts. */
#include "plan/lower/long_sums.h"

#include "plan/kernel/tiles.h"
#include "plan/lower/stream.h"

enum {
    SUM_UNIT = 32, /* terms: those of a part are a multiple */

    MOST_FOR_MATRIX = 8,  /* parts for a matrix unit ... */
    FEWEST_TERMS = 1024,  /* ... of so many terms, in f32 ... */
    FEWEST_PAIRED = 4096, /* ... and in bf16, which are copied sooner */

    MOST_FOR_MANY = 16,    /* parts for threads without number ... */
    FEWEST_FOR_MANY = 256, /* ... of so many terms ... */
    WANTED_TILES = 128,    /* ... until there are tiles for all processors of a large device, */
    SIDE = 128,
    SIDE_FEW = 32, /* of a tile: where rows and columns are many, and few */
};

/* For a matrix unit, whose operands are copied: a part copies its own terms once, where rows and columns of one long
 * sum would each copy those of others. Whole, where the parts' results were more than a quarter of what is copied. */
static int64_t parts_for_matrix(const caps_t *caps, int64_t m, int64_t n, int64_t k, bool bf16)
{
    tiles_t tiles;
    plan_gemm_step_t whole = {
        DT_F32, 1, 1, m, n, k, .lda = m, .ldb = n, .ldc = n, .trans_a = true, .bf16 = bf16};
    if (!tiles_choose(&tiles, &whole, *caps) || !(bf16 || tiles.split)) return 1;
    for (int64_t parts = MOST_FOR_MATRIX; parts > 1; parts /= 2)
        if (k % (parts * SUM_UNIT) == 0 && k / parts >= (bf16 ? FEWEST_PAIRED : FEWEST_TERMS) &&
            4 * parts * m * n <= (m + n) * k)
            return parts;
    return 1;
}

/* For threads without number, most of which had nothing to do while a few tiles take one term after the other. Not where
 * the parts' results, written and read again, were more than half of the operands. */
static int64_t parts_for_many(int64_t m, int64_t n, int64_t k)
{
    int side = m > SIDE / 2 && n > SIDE / 2 ? SIDE : SIDE_FEW;
    int64_t parts = 1;
    int64_t tiles = tiles_n_group(&(plan_gemm_step_t){.batch = 1, .inner = 1, .m = m, .n = n},
                                  side);
    for (int64_t more = 2; more <= MOST_FOR_MANY && tiles * parts < WANTED_TILES; more *= 2)
        if (k % (more * SUM_UNIT) == 0 && k / more >= FEWEST_FOR_MANY &&
            4 * more * m * n <= (m + n) * k)
            parts = more;
    return parts;
}

int64_t long_sums_parts(const caps_t *caps, int64_t m, int64_t n, int64_t k, bool bf16)
{
    if (m <= STREAM_ROWS || n <= STREAM_ROWS) return 1;
    if (caps->matrix) return parts_for_matrix(caps, m, n, k, bf16);
    return caps->many ? parts_for_many(m, n, k) : 1;
}

/* x[1, lines, k] as [parts, lines, k / parts]. */
static ir_val_t cut(ir_fn_t *fn, ir_val_t x, int64_t parts)
{
    const ir_type_t t = *ir_type_of(fn, x);
    ir_type_t to = ir_type(t.dtype, 3, (int64_t[]){t.dim[1], parts, t.dim[2] / parts});
    return ir_transpose(fn, ir_reshape(fn, x, &to), (int64_t[]){1, 0, 2});
}

ir_val_t long_sums_dot(ir_fn_t *fn, ir_val_t a, ir_val_t b, int64_t parts)
{
    const ir_dot_t three = {1, 1, {0}, {0}, {2}, {2}};
    return ir_dot(fn, cut(fn, a, parts), cut(fn, b, parts), &three, DT_F32);
}

ir_val_t long_sums_add(ir_fn_t *fn, ir_val_t y)
{
    const ir_type_t t = *ir_type_of(fn, y);
    int64_t half = t.dim[0] / 2, start[3] = {0}, middle[] = {half, t.dim[1], t.dim[2]};
    if (half == 0) return y;
    ir_val_t low = ir_slice(fn, y, start, middle, NULL);
    start[0] = half;
    ir_val_t high = ir_slice(fn, y, start, t.dim, NULL);
    return long_sums_add(fn, ir_op2(fn, OP_add, low, high));
}
