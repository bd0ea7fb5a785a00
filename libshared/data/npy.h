/* Arrays in NumPy's format (.npy, versions 1 to 3): numpy.lib.format of NumPy's documentation. */
#ifndef DATA_NPY_H
#define DATA_NPY_H

#include "ir/tensor.h"

/* Type and length of the header in the first bytes[n] of a file: 64 KB and a bit more are enough.
 * Errors as below, but for the shape's size. */
int npy_header(const void *bytes, size_t n, ir_type_t *type, size_t *n_header, err_t *err);

/* The array in bytes[n], which are borrowed: *out has its type and its data points into them, row by
 * row, not aligned. ERR_PARSE: no such file; ERR_UNSUPPORTED: an element type that tensors do not have,
 * big-endian numbers, columns first (fortran_order); ERR_CORRUPT: fewer bytes than the shape says.
 * Pure. */
int npy_view(const void *bytes, size_t n, ir_type_t *type, const void **data, err_t *err);

#endif
