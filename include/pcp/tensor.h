/* Tensors in this machine's memory: a type and its elements, row-major (the last dimension is next to itself).
 *
 * Booleans (i1) and integers of less than a byte take a byte each; a complex number is its real part, then its
 * imaginary part. Tensors are counted: a tensor is freed with its last holder. Views share the elements of
 * the tensor that they were made of, and keep them alive. Elements are not locked: threads that write to one
 * tensor have to agree among themselves. */
#ifndef PCP_TENSOR_H
#define PCP_TENSOR_H

#include <pcp/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types, as StableHLO spells them ("f32", "ui8", "complex<f32>"). A number never changes its meaning. */
typedef enum {
    PCP_NONE = 0,
    PCP_I1 = 1,
    PCP_I2 = 2,
    PCP_I4 = 3,
    PCP_I8 = 4,
    PCP_I16 = 5,
    PCP_I32 = 6,
    PCP_I64 = 7,
    PCP_UI2 = 8,
    PCP_UI4 = 9,
    PCP_UI8 = 10,
    PCP_UI16 = 11,
    PCP_UI32 = 12,
    PCP_UI64 = 13,
    PCP_F4E2M1FN = 14,
    PCP_F6E2M3FN = 15,
    PCP_F6E3M2FN = 16,
    PCP_F8E3M4 = 17,
    PCP_F8E4M3 = 18,
    PCP_F8E4M3FN = 19,
    PCP_F8E4M3FNUZ = 20,
    PCP_F8E4M3B11FNUZ = 21,
    PCP_F8E5M2 = 22,
    PCP_F8E5M2FNUZ = 23,
    PCP_F8E8M0FNU = 24,
    PCP_F16 = 25,
    PCP_BF16 = 26,
    PCP_F32 = 27,
    PCP_F64 = 28,
    PCP_C64 = 29, /* complex<f32> */
    PCP_C128 = 30 /* complex<f64> */
} pcp_dtype_t;

enum { PCP_MAX_RANK = 16, PCP_TYPE_TEXT = 384 };

/* An element type and a shape. Plain data. */
typedef struct {
    pcp_dtype_t dtype;
    int32_t rank; /* 0 to PCP_MAX_RANK; 0: one element */
    int64_t dim[PCP_MAX_RANK];
} pcp_type_t;

/* dim[rank]. In C, PCP_TYPE(PCP_F32, 2, 3) is the type 2x3xf32, and pcp_scalar(PCP_F32) is f32. A rank outside
 * of the range gives dtype PCP_NONE, which everything refuses. */
pcp_type_t pcp_type(pcp_dtype_t dtype, int rank, const int64_t *dim);
pcp_type_t pcp_scalar(pcp_dtype_t dtype);
#ifndef __cplusplus
#define PCP_TYPE(dtype, ...)                                                     \
    pcp_type((dtype), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
             (const int64_t[]){__VA_ARGS__})
#endif

/* "2x3xf32", "f32" or "tensor<2x3xf32>". PCP_ERROR_PARSE. */
int pcp_type_parse(const char *text, pcp_type_t *type, pcp_error_t *error);
/* "tensor<2x3xf32>" into buf, which is returned. */
const char *pcp_type_text(const pcp_type_t *type, char buf[PCP_TYPE_TEXT]);
int64_t pcp_type_count(const pcp_type_t *type); /* elements; -1: no type */
int64_t pcp_type_bytes(const pcp_type_t *type); /* -1: no type */

typedef struct pcp_tensor pcp_tensor_t;

/* Zeros. PCP_ERROR_SHAPE, PCP_ERROR_TYPE: no type; PCP_ERROR_MEMORY. */
pcp_tensor_t *pcp_tensor_new(const pcp_type_t *type, pcp_error_t *error);
/* A copy of n_bytes bytes, which must be the type's. */
pcp_tensor_t *pcp_tensor_from(const pcp_type_t *type, const void *bytes, size_t n_bytes,
                              pcp_error_t *error);
/* Around memory of the caller's, which is neither copied nor freed and must outlive the tensor and its views;
 * `release` (or NULL) is called with `user` when the last of them is gone. */
pcp_tensor_t *pcp_tensor_around(const pcp_type_t *type, void *bytes, size_t n_bytes,
                                void (*release)(void *user), void *user, pcp_error_t *error);
/* A view: the elements from number `first` on as another type of the same element type. A reshape, or a range
 * of rows. PCP_ERROR_SHAPE: beyond the end. */
pcp_tensor_t *pcp_tensor_view(pcp_tensor_t *of, const pcp_type_t *type, int64_t first,
                              pcp_error_t *error);

pcp_tensor_t *pcp_tensor_retain(pcp_tensor_t *self); /* one more holder; returns self */
void pcp_tensor_release(pcp_tensor_t **self_p);

const pcp_type_t *pcp_tensor_type(const pcp_tensor_t *self);
void *pcp_tensor_data(pcp_tensor_t *self);
const void *pcp_tensor_bytes(const pcp_tensor_t *self);
size_t pcp_tensor_size(const pcp_tensor_t *self); /* in bytes */

/* Element i in row-major order, 0 to count - 1; of complex elements the real part. Outside: NaN, and nothing.
 * A number is rounded once to the element type; one that an integer type cannot hold goes to its nearest end,
 * NaN to 0. */
double pcp_tensor_get(const pcp_tensor_t *self, int64_t i);
void pcp_tensor_set(pcp_tensor_t *self, int64_t i, double value);
/* The imaginary part: 0 of real elements, which have no other. */
double pcp_tensor_imag(const pcp_tensor_t *self, int64_t i);
void pcp_tensor_set_complex(pcp_tensor_t *self, int64_t i, double re, double im);

/* Every element. uniform: in [low, high); normal: Gaussian. The same seed gives the same numbers on every
 * machine. */
void pcp_tensor_fill(pcp_tensor_t *self, double value);
void pcp_tensor_uniform(pcp_tensor_t *self, uint64_t seed, double low, double high);
void pcp_tensor_normal(pcp_tensor_t *self, uint64_t seed, double mean, double deviation);

#ifdef __cplusplus
}
#endif
#endif
