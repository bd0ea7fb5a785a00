/* Building blocks of generated matrix products, for any kernel that is written as C: a register
 * tile C [rows, cols] (+)= A [rows, n] x B [n, cols] in f32, and the packing of operands for it.
 *
 * Sizes and strides (in elements) are constants of the generated function, which the compiler then
 * folds into addresses; the length of the sum is an argument. Each function adds a helper when it
 * is new and returns its name, which lives as long as the helpers. The code is C with vector types
 * of gcc and clang; unaligned addresses are fine.
 *
 * Operands are f32, or bf16 for targets with a dot product of pairs (caps_t). A *term* of the sum
 * is then a pair of neighbours along the sum, 32 bits wide: n counts pairs, and vectors hold as
 * many pairs as they hold numbers of f32. */
#ifndef CODEGEN_TILE_H
#define CODEGEN_TILE_H

#include <stdbool.h>
#include <stdint.h>

#include "codegen/helper.h"

/* void tile(const X *a, const X *b, float *c, int64_t n, int add)      X: float, bf16: uint16_t
 * c[i * c_row + j] = (add ? c[..] : 0) + sum over p < n of a[i * a_row + p * a_sum] * b[p * b_sum
 * + j], each sum from its first term to its last, by fused multiply-adds where the target has them.
 * bf16: term p of row i is the pair at a[i * a_row + p * a_sum], of column j at b[p * b_sum + 2 j].
 * rows * vectors + vectors + 1 registers keep it out of memory, vectors = cols / lanes rounded up.
 * When cols is no multiple of lanes, rows of B must be readable up to the next one (pack them);
 * C is not touched beyond cols. n >= 0; c overlaps neither a nor b. */
typedef struct {
    int lanes, rows, cols;
    int64_t a_row, a_sum, b_sum, c_row; /* a_sum, b_sum: from term to term */
    bool stream;    /* 16 lanes: C goes past the caches; add is 0, cols and c_row multiples of 16 */
    bool bf16, amx; /* amx: codegen/c/tile_amx.h */
    /* amx, stream: the sum of the tile's squares is wanted, too. Then the function has one more parameter: float *square. */
    bool squares;
    /* amx: lines to ask for, for each 16 pairs of B, of what comes after B. Then the function has one more
     * parameter: const X *next, the first of these, which lie as those of B. 0: none. */
    int ahead;
} tile_t;
const char *tile_function(helpers_t *helpers, const tile_t *tile);

/* void pack(X *to, const X *from, int64_t n)
 * to[p * width + j] = j < cols ? from[p * from_sum + j * from_col] : 0 for p < n, j < width: a
 * panel of B for tiles with b_sum = width. One of from_sum and from_col is 1. No overlap.
 * bf16: elements 2 p and 2 p + 1 of column j become the pair to[2 * (p * width + j)]; tiles have
 * b_sum = 2 * width. last: the one term at the end of an odd sum, element 0 of column j and a zero;
 * n is 1. */
typedef struct {
    int lanes, cols, width;     /* lanes: of the vectors that turn squares of 8 x 8 or 4 x 4 */
    int64_t from_sum, from_col; /* from element to element, of pairs too */
    bool bf16, last;
} pack_t;
const char *pack_function(helpers_t *helpers, const pack_t *pack);

/* Types that the functions use: part of the head of every generated file. */
extern const char tile_head[];

#endif
