/* A dense host tensor: row-major elements, or one element that stands for all (splat).
 *
 * Constants, evaluator inputs and results, and parsed literals are tensors. i1 is one byte, 0 or 1;
 * sub-byte integers are one sign- or zero-extended byte each. Plain data; not shared while written.
 */
#ifndef IR_TENSOR_H
#define IR_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "ir/type.h"

typedef struct {
    ir_type_t type;
    bool splat; /* data holds one element */
    void *data;
} tensor_t;

/* Heap-owned, zeroed data for every element. tensor_fini frees it. */
tensor_t tensor_new(const ir_type_t *type);
void tensor_fini(tensor_t *self);

/* Arena-owned. */
tensor_t tensor_in(arena_t *arena, const ir_type_t *type);
tensor_t tensor_splat_f64(arena_t *arena, const ir_type_t *type, double value);
tensor_t tensor_splat_i64(arena_t *arena, const ir_type_t *type, int64_t value);

/* Element i in row-major order (any i when splat). get: exact for every type but u64 (as i64 bits)
 * and i64 beyond 2^53 (get_f64). set: rounds once to nearest even; integers wrap modulo 2^bits; a
 * float stored to an integer type must be in range. Of complex elements get gives the real part;
 * set makes the imaginary part 0. */
double tensor_get_f64(const tensor_t *self, int64_t i);
int64_t tensor_get_i64(const tensor_t *self, int64_t i);
double tensor_get_imag(const tensor_t *self, int64_t i); /* imaginary part; 0 of real numbers */
void tensor_set_f64(tensor_t *self, int64_t i, double value);
void tensor_set_i64(tensor_t *self, int64_t i, int64_t value);
void tensor_set_complex(tensor_t *self, int64_t i, double re, double im); /* complex types only */

/* Bytes behind data: one element when splat, else all. */
int64_t tensor_data_bytes(const tensor_t *self);

/* Same type and, element for element, the same bits. */
bool tensor_equal(const tensor_t *a, const tensor_t *b);

#endif
