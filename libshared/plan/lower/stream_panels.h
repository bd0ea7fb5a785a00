/* Products of few rows whose matrix lies in panels (ir/panels.h): how they are cut, and the step before one that makes lines of
 * rows of A (codegen/prelude/prelude_stream_panels.h has the words). Products that read the same rows in the same way
 * share it. */
#ifndef PLAN_STREAM_PANELS_H
#define PLAN_STREAM_PANELS_H

#include "plan/lower/stream.h"

/* What of two operands the sums are made of. */
typedef enum {
    PANELS_F32,
    PANELS_HALVES, /* f32 and bf16 */
    PANELS_PAIRS,  /* bf16, A rounded */
    PANELS_DIGITS, /* i8, each number of A two or three of them */
    PANELS_BYTES,  /* i8, A rounded */
} stream_panels_t;

/* rows: lines that are summed together, with so many panels; side: rows of A of a section. */
typedef struct {
    stream_panels_t kind;
    int rows, side, panels;
} stream_cut_t;

/* A section: lines at most, where its words are and where it ends, in bytes; words from a block of lines to the next. Terms of a block
 * of them, and such blocks. */
typedef struct {
    int64_t sections, lines, at, next, apart, terms, blocks;
} stream_form_t;

stream_cut_t stream_panels_cut(const stream_t *self);
stream_form_t stream_panels_form(const stream_t *self);

/* Does the product read rows of A as they lie? One row of f32 is its own line. */
bool stream_panels_direct(const stream_t *self);

int64_t stream_panels_columns(const stream_t *self); /* that a part is a multiple of */

/* Is the second operand an argument in panels (*b)? */
bool stream_panels_reads(const lower_t *self, const ir_op_t *op, ir_val_t *b);

/* Of a product whose second operand strides do not describe (*bad): if it is such an argument, *b, the step is filled. The result
 * lies row by row. */
void stream_panels_describe(const lower_t *self, const ir_op_t *op, stream_t *s, ir_val_t *b,
                            int *bad);

/* The lines of the rows a, made by the step that comes next or by one that is there; IR_NONE: it reads them as they lie. */
ir_val_t stream_panels_lines(lower_t *self, const stream_t *s, ir_val_t a);

#endif
