/* Prelude, behind codegen/c/pack_amx.h, whose kc_turn_pairs and KC_JOIN it uses: operands of f32 for a matrix unit
 * that multiplies bf16.
 *
 * A number of f32 is the sum of three of bf16, to the bit: what is nearest with 8 bits, what is nearest to the
 * rest, and the rest of that (but for what is below 2^-126). Of the nine products of two such sums the six
 * largest are added in f32; the other three are below 2^-23 of the product in the worst case and below 2^-27 of it
 * usually, where one rounding of f32 is 2^-24 and a sum of k terms has k. (G. Henry, P. T. P. Tang,
 * A. Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", IEEE
 * ARITH 2019.) Infinities become NaN; so do numbers within 2^-9 of the largest.
 *
 * A *line* is a row of A or a column of B. Lines come by 16, terms by 32: a square of 512 numbers, three tiles of
 * 16 x 16 pairs. A block holds two squares of lines beside each other, piece by piece. */
#ifndef CODEGEN_PRELUDE_SPLIT_H
#define CODEGEN_PRELUDE_SPLIT_H

#ifndef PCP_FN
#include "codegen/prelude/prelude.h"
#endif

#ifdef KC_JOIN
enum {
    PCP_SPLIT_LINES = 16,
    PCP_SPLIT_TERMS = 32,
    PCP_SPLIT_TILE = 512,   /* halves */
    PCP_SPLIT_PIECE = 1024, /* of a block: two tiles */
    PCP_SPLIT_BLOCK = 3072  /* three pieces */
};

typedef float pcp_split_f __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t pcp_split_u __attribute__((vector_size(64), aligned(4), may_alias));

/* Each piece in the upper half of its word; the lower half is zero. The third one's has bits to cut off only where
 * it is below 2^-126. */
PCP_FN void pcp_split_numbers(pcp_split_f x, pcp_split_u *piece)
{
    const pcp_split_u high = (pcp_split_u){0} + 0xffff0000u;
    piece[0] = ((pcp_split_u)x + 0x8000u) & high;
    x -= (pcp_split_f)piece[0];
    piece[1] = ((pcp_split_u)x + 0x8000u) & high;
    x -= (pcp_split_f)piece[1];
    piece[2] = (pcp_split_u)x & high;
}

/* Lines whose terms follow each other, `next` numbers apart, line by line. */
PCP_FN void pcp_split_along(uint16_t *to, int64_t piece, const float *from, int64_t next)
{
    for (int i = 0; i < PCP_SPLIT_LINES; i++, from += next, to += PCP_SPLIT_TERMS) {
        pcp_split_u x[3], y[3];
        pcp_split_numbers(*(const pcp_split_f *)from, x);
        pcp_split_numbers(*(const pcp_split_f *)(from + 16), y);
        for (int p = 0; p < 3; p++)
            *(kc_w32 *)(to + p * piece) = KC_JOIN(
                (kc_w32)x[p], (kc_w32)y[p], 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29,
                31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63);
    }
}

/* Lines beside each other, terms `next` numbers apart, pair of terms by pair. */
PCP_FN void pcp_split_across(uint16_t *to, int64_t piece, const float *from, int64_t next)
{
    for (int i = 0; i < PCP_SPLIT_TERMS; i += 2, from += 2 * next, to += 2 * PCP_SPLIT_LINES) {
        pcp_split_u x[3], y[3];
        pcp_split_numbers(*(const pcp_split_f *)from, x);
        pcp_split_numbers(*(const pcp_split_f *)(from + next), y);
        for (int p = 0; p < 3; p++) *(pcp_split_u *)(to + p * piece) = x[p] >> 16 | y[p];
    }
}

/* A square. along: terms of a line follow each other; turn: A is wanted pair by pair of terms, B line by line. */
PCP_FN void pcp_split_square(uint16_t *to, const float *from, int64_t next, int along, int turn)
{
    uint16_t square[3 * PCP_SPLIT_TILE] __attribute__((aligned(64)));
    uint16_t *const at = turn ? square : to;
    const int64_t piece = turn ? PCP_SPLIT_TILE : PCP_SPLIT_PIECE;
    if (along)
        pcp_split_along(at, piece, from, next);
    else
        pcp_split_across(at, piece, from, next);
    for (int p = 0; turn && p < 3; p++)
        for (int i = 0; i < 16; i += 4)
            kc_turn_pairs(to + p * PCP_SPLIT_PIECE + i * 32, 32,
                          square + p * PCP_SPLIT_TILE + 2 * i, 32);
}

/* What a square holds of lines and terms at the edge, zeros beyond, in the order of `from`. */
PCP_FN void pcp_split_edge(float *to, const float *from, int64_t next, int along, int64_t lines,
                           int64_t terms)
{
    const int64_t width = along ? PCP_SPLIT_TERMS : PCP_SPLIT_LINES;
    const int64_t rows = along ? lines : terms, n = along ? terms : lines;
    __builtin_memset(to, 0, 4 * PCP_SPLIT_TILE);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) to[i * width + j] = from[i * next + j];
}

PCP_FN void pcp_split_some(uint16_t *to, const float *from, int64_t next, int along, int turn,
                           int64_t lines, int64_t terms)
{
    float edge[PCP_SPLIT_TILE] __attribute__((aligned(64)));
    if (lines >= PCP_SPLIT_LINES && terms >= PCP_SPLIT_TERMS) {
        pcp_split_square(to, from, next, along, turn);
        return;
    }
    pcp_split_edge(edge, from, next, along, lines < PCP_SPLIT_LINES ? lines : PCP_SPLIT_LINES,
                   terms < PCP_SPLIT_TERMS ? terms : PCP_SPLIT_TERMS);
    pcp_split_square(to, edge, along ? PCP_SPLIT_TERMS : PCP_SPLIT_LINES, along, turn);
}

/* All of an operand's block: lines [0, lines) by terms [0, terms), `next` numbers from line to line (along) or from
 * term to term; from 32 lines to the next `apart` halves. Zeros fill the last squares. */
PCP_FN void pcp_split(uint16_t *to, const float *from, int64_t next, int along, int turn,
                      int64_t lines, int64_t terms, int64_t apart)
{
    const int64_t outer = along ? lines : terms, inner = along ? terms : lines;
    const int64_t o_step = along ? PCP_SPLIT_LINES : PCP_SPLIT_TERMS;
    const int64_t i_step = along ? PCP_SPLIT_TERMS : PCP_SPLIT_LINES;
    for (int64_t o = 0; o < outer; o += o_step)
        for (int64_t i = 0; i < inner; i += i_step) {
            const int64_t line = along ? o : i, term = along ? i : o;
            uint16_t *const at = to + line / 32 * apart + term / 32 * PCP_SPLIT_BLOCK +
                                 line / 16 % 2 * PCP_SPLIT_TILE;
            pcp_split_some(at, from + o * next + i, next, along, turn, lines - line, terms - term);
        }
}
#endif

#endif
