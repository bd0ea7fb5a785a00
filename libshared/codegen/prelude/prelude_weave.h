/* Prelude, behind codegen/c/pack_amx.h, whose functions it uses: numbers of f32, rounded to bf16, in the order in which
 * a matrix unit takes them (plan/format/plan.h, plan_gemm_step_t.woven). */
#ifndef CODEGEN_PRELUDE_WEAVE_H
#define CODEGEN_PRELUDE_WEAVE_H

#ifndef PCP_FN
#include "codegen/prelude/prelude.h"
#endif

#ifdef KC_JOIN
enum { PCP_WOVEN = 32, PCP_WOVEN_SQUARE = PCP_WOVEN * PCP_WOVEN, PCP_WEAVE_AHEAD = 4 * PCP_WOVEN };

/* A square, rounded: rows x cols of it lie at `from`, rows `row` numbers apart; the rest is zero. */
PCP_FN void pcp_weave_round(uint16_t to[PCP_WOVEN][PCP_WOVEN], const float *from, int64_t row,
                            int64_t rows, int64_t cols)
{
    if (rows < PCP_WOVEN || cols < PCP_WOVEN) {
        __builtin_memset(to, 0, 2 * PCP_WOVEN_SQUARE);
        for (int64_t r = 0; r < rows && r < PCP_WOVEN; r++)
            for (int64_t c = 0; c < cols && c < PCP_WOVEN; c++)
                to[r][c] = pcp_bf16_from_f32(from[r * row + c]);
        return;
    }
    for (int r = 0; r < PCP_WOVEN; r++, from += row) {
        __builtin_prefetch(from + PCP_WEAVE_AHEAD);
        __builtin_prefetch(from + PCP_WEAVE_AHEAD + PCP_WOVEN / 2);
#pragma omp simd
        for (int c = 0; c < PCP_WOVEN; c++) to[r][c] = pcp_bf16_from_f32(from[c]);
    }
}

#ifndef KC_STREAM
#define KC_STREAM(to, from) __builtin_memcpy(to, from, 64)
#endif

/* To memory, past the caches: what is woven is more than they hold, or read much later. */
PCP_FN void pcp_weave_store(uint16_t *to, const uint16_t *from)
{
    for (int i = 0; i < PCP_WOVEN_SQUARE; i += PCP_WOVEN) KC_STREAM(to + i, from + i);
}

/* The square at row i and column k of squares of a matrix of rows x cols: by rows and by columns, where each is
 * wanted (not NULL). Of either all squares of a panel follow each other. */
PCP_FN void pcp_weave_square(const float *from, int64_t rows, int64_t cols, int64_t i, int64_t k,
                             uint16_t *by_rows, uint16_t *by_cols)
{
    const int64_t n_row = (rows + PCP_WOVEN - 1) / PCP_WOVEN;
    const int64_t n_col = (cols + PCP_WOVEN - 1) / PCP_WOVEN;
    uint16_t x[PCP_WOVEN][PCP_WOVEN] __attribute__((aligned(64)));
    uint16_t y[PCP_WOVEN_SQUARE] __attribute__((aligned(64))), *to = y;
    pcp_weave_round(x, from + (i * cols + k) * PCP_WOVEN, cols, rows - i * PCP_WOVEN,
                    cols - k * PCP_WOVEN);
    if (by_rows) {
        for (int r = 0; r < PCP_WOVEN; r += 2, to += 2 * PCP_WOVEN) {
            *(kc_w32 *)to = KC_WEAVE(x[r], x[r + 1]);
            *(kc_w32 *)(to + PCP_WOVEN) = KC_WEAVE(x[r] + 16, x[r + 1] + 16);
        }
        pcp_weave_store(by_rows + (k * n_row + i) * PCP_WOVEN_SQUARE, y);
    }
    if (by_cols) {
        for (int c = 0; c < PCP_WOVEN; c += 8)
            for (int r = 0; r < PCP_WOVEN; r += 16)
                kc_turn_pairs(y + c * PCP_WOVEN + 2 * r, 2 * PCP_WOVEN, &x[r][c], PCP_WOVEN);
        pcp_weave_store(by_cols + (i * n_col + k) * PCP_WOVEN_SQUARE, y);
    }
}
#endif

#endif
