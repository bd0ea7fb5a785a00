/* Matrices in panels, the order in which vectors read them for products of few rows: [n, k] lies as
 * [ceil(n / 16), k / g, 16, g]. A panel is 16 rows; of each in turn come g numbers, as many as have 32 bits (1 of f32, 2 of
 * bf16, 4 of i8), so that 64 bytes behind each other are the same terms of 16 sums, and a panel is read from its first byte to
 * its last. Rows beyond n are zero. Pure functions of types; values belong to their function. */
#ifndef IR_PANELS_H
#define IR_PANELS_H

#include "ir/build.h"

enum { IR_PANEL_ROWS = 16 };

/* Numbers of a row that lie together; 0: there are no panels of this type. */
int ir_panels_together(dtype_t dtype);

/* May a matrix [n, k] lie in panels? Its k is a multiple of what lies together. */
bool ir_panels_suit(const ir_type_t *matrix);

/* The type that such a matrix has in panels. */
ir_type_t ir_panels_type(const ir_type_t *matrix);

/* Element (row, col) of a matrix of k columns: its place in panels. */
int64_t ir_panels_place(dtype_t dtype, int64_t k, int64_t row, int64_t col);

/* The matrix [n, k] that x is in panels. */
ir_val_t ir_panels_view(ir_fn_t *fn, ir_val_t x, int64_t n);

/* Is v, or what v widens to f32, such a view of an argument of the function, with dimensions of 1 in front or without? Then *from is that. */
bool ir_panels_behind(const ir_fn_t *fn, ir_val_t v, ir_val_t *from);

#endif
