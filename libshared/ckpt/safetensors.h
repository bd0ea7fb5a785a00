/* Safetensors files: 8 bytes header length (little-endian), a JSON header, then the tensors' bytes
 * (https://huggingface.co/docs/safetensors, format 0.x). Names, shapes and bytes; no code.
 *
 * Reading maps the file and trusts nothing in it. Threads may share an open file. */
#ifndef CKPT_SAFETENSORS_H
#define CKPT_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pieces.h"
#include "ir/dtype.h"

enum { SAFETENSORS_MAX_RANK = 8 };

typedef struct {
    const char *name;
    dtype_t dtype; /* i1 (BOOL), i8..i64, ui8..ui64, f16, bf16, f32, f64, complex<f32> (C64),
                    * f8E4M3FN (F8_E4M3), f8E5M2 (F8_E5M2), f8E8M0FNU (F8_E8M0) */
    int rank;
    int64_t dims[SAFETENSORS_MAX_RANK];
    const void *data; /* row-major, little-endian */
    size_t n_bytes;   /* product of dims times the element size */
} safetensor_t;

/* A pair of the header's __metadata__ object. */
typedef struct {
    const char *key, *value;
} safetensors_meta_t;

typedef struct safetensors safetensors_t;

/* Map and check a whole file: header length and JSON, every dtype, shape, offset and size; tensors
 * must cover the data without gap, overlap or rest. NULL with ERR_IO (cannot be read), ERR_CORRUPT
 * (names file, tensor and value) or ERR_UNSUPPORTED (a dtype). */
safetensors_t *safetensors_open(const char *path, err_t *err);
/* The same for a file's bytes in memory, borrowed until close. */
safetensors_t *safetensors_view(const void *bytes, size_t n, err_t *err);
/* The same of a file that is never in memory whole: only its header is read. Tensors have no data
 * (NULL), but a place in it. */
safetensors_t *safetensors_look(const source_t *file, err_t *err);
void safetensors_close(safetensors_t **self_p);
/* The first byte in the file of a tensor of `self`. */
uint64_t safetensors_place(const safetensors_t *self, const safetensor_t *tensor);

/* In the order of their bytes in the file. Borrowed until close. */
size_t safetensors_count(const safetensors_t *self);
const safetensor_t *safetensors_at(const safetensors_t *self, size_t i);
const safetensor_t *safetensors_find(const safetensors_t *self, const char *name); /* or NULL */
const char *safetensors_meta(const safetensors_t *self, const char *key);          /* or NULL */

/* Write tensors in the given order, streamed to a temporary name, fsync, rename: `path` is the old
 * file or the whole new one. ERR_ARG: a doubled or empty name, n_bytes that do not fit the shape;
 * ERR_IO (full disk, ...) names the file, and nothing is left behind. */
int safetensors_write(const char *path, const safetensor_t *tensors, size_t n,
                      const safetensors_meta_t *meta, size_t n_meta, err_t *err);

/* The same where no tensor has data: fill writes all of it, `to` being the file from its first
 * tensor's first byte on, where they lie end to end in the given order. */
typedef int safetensors_fill_fn(void *user, const sink_t *to, err_t *err);
int safetensors_write_by(const char *path, const safetensor_t *tensors, size_t n,
                         const safetensors_meta_t *meta, size_t n_meta, safetensors_fill_fn *fill,
                         void *user, err_t *err);

/* What such a file has before the tensors' bytes, which nobody looks at: *n_bytes long. Returns,
 * caller frees; NULL with ERR_ARG. */
uint8_t *safetensors_head(const safetensor_t *tensors, size_t n, const safetensors_meta_t *meta,
                          size_t n_meta, size_t *n_bytes, err_t *err);

/* The same file in memory, *n_bytes long; returns, caller frees. A tensor whose data is NULL gets
 * zeroed room: the tensors' bytes lie end to end in the given order, from *at on. ERR_ARG. */
uint8_t *safetensors_pack(const safetensor_t *tensors, size_t n, const safetensors_meta_t *meta,
                          size_t n_meta, size_t *n_bytes, size_t *at, err_t *err);

#endif
