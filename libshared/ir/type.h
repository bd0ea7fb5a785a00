/* A static ranked tensor type: tensor<2x3xf32>. Plain data, compared by value. */
#ifndef IR_TYPE_H
#define IR_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "ir/dtype.h"

enum { IR_MAX_RANK = 16 };

typedef struct {
    dtype_t dtype;
    int rank;
    int64_t dim[IR_MAX_RANK]; /* entries from rank on are zero */
} ir_type_t;

ir_type_t ir_type(dtype_t dtype, int rank, const int64_t *dim);
ir_type_t ir_type_scalar(dtype_t dtype);
ir_type_t ir_type_with(ir_type_t shape, dtype_t dtype); /* same shape, other element type */

/* True when dtype, rank and every dimension agree. */
bool ir_type_equal(const ir_type_t *a, const ir_type_t *b);
bool ir_shape_equal(const ir_type_t *a, const ir_type_t *b);

/* Number of elements; the verifier has made sure that count times 8 bytes (complex: 16) fits in
 * int64. */
int64_t ir_type_count(const ir_type_t *type);
int64_t ir_type_bytes(const ir_type_t *type);

/* -1 with ERR_SHAPE when a dimension is negative or the product does not fit (see above). */
int ir_type_check(const ir_type_t *type, err_t *err);

/* Row-major strides in elements: stride[rank-1] = 1. */
void ir_type_strides(const ir_type_t *type, int64_t stride[IR_MAX_RANK]);

/* "tensor<2x3xf32>" into buf (returns buf) or appended to s. A buf of IR_TYPE_TEXT always holds it.
 */
enum { IR_TYPE_TEXT = 384 };
const char *ir_type_text(const ir_type_t *type, char buf[IR_TYPE_TEXT]);

#endif
