/* Which axes of a model each dimension of a value is made of: sequences side by side, positions, keys' positions, and
 * others. Reshapes merge and split axes; a program with other numbers of sequences and positions has the same
 * layouts, of other sizes. Internal to derive/. */
#ifndef DERIVE_LAYOUT_H
#define DERIVE_LAYOUT_H

#include <stdbool.h>

#include "ir/type.h"

typedef enum {
    AXIS_PLAIN, /* heads, channels, ...: as the module has them */
    AXIS_ROW,   /* sequences side by side */
    AXIS_TIME,  /* positions of tokens that are read */
    AXIS_SPAN,  /* positions of tokens that may be looked at */
    AXIS_SAME,  /* all entries are equal, and one is kept */
} axis_kind_t;

typedef struct {
    axis_kind_t kind;
    int64_t size; /* in the module */
} axis_t;

enum { LAYOUT_AXES = 6 };

/* The axes of a dimension, the outermost first. None: its size is 1. Neighbours that are both plain, or
 * both the same, are one. */
typedef struct {
    int n;
    axis_t at[LAYOUT_AXES];
} axes_t;

typedef struct {
    int rank;
    axes_t dim[IR_MAX_RANK];
} layout_t;

/* Of a program: what axes of three kinds have there. */
typedef struct {
    int64_t rows, time, span;
} sizes_t;

int64_t axis_size(axis_t axis, const sizes_t *sizes);
int64_t axes_size(const axes_t *self, const sizes_t *sizes);
bool axes_have(const axes_t *self, axis_kind_t kind);
/* No axes but plain ones, and those along which all is the same. */
bool axes_are_plain(const axes_t *self);
bool axes_add(axes_t *self, axis_t axis); /* false: too many */

/* Two values of one shape, element by element: an axis that one of them lacks is the other's. False when
 * one's positions meet something else of the other. */
bool axes_join(const axes_t *a, const axes_t *b, axes_t *out);
/* The same, with both cut into as many axes, x[i] against y[i]; neighbours are not made one. */
int axes_pair(const axes_t *a, const axes_t *b, axis_t *x, axis_t *y, int space);

int layout_count(const layout_t *self, axis_kind_t kind);
/* False when an axis that is not plain would be cut. */
bool layout_reshape(const layout_t *self, const ir_type_t *to, layout_t *out);
/* All dimensions plain. */
layout_t layout_plain(const ir_type_t *type);
/* Axes along which all is the same become plain ones. */
layout_t layout_full(const layout_t *self);
ir_type_t layout_type(const layout_t *self, dtype_t dtype, const sizes_t *sizes);

#endif
