/* Arrays of records by name, from a folder of files or one file of several formats:
 *   NAME.npy                 an array of NumPy's
 *   any *.npz                archives of such arrays, stored or deflated
 *   any *.safetensors        tensors by name
 *   schema.json              raw files: {"NAME": {"file": "x.bin", "type": "u8", "shape": [28, 28],
 *                            "offset": 16}}, records of that shape one behind the other; and a scale
 *                            for any array: {"NAME": {"scale": 0.0039215686, "shift": -0.5}}
 * Nothing in the files is trusted. Files are mapped, archives unpacked on the way: arrays may be larger than
 * memory, and are read once, from the first record to the last. */
#ifndef PCP_RECORD_SOURCE_H
#define PCP_RECORD_SOURCE_H

#include "ir/tensor.h"

/* Where the bytes of an array come from. */
typedef struct record_bytes record_bytes_t;

typedef struct {
    ir_type_t type;        /* records come first */
    record_bytes_t *bytes; /* row-major, little-endian; borrowed from the source */
    bool scaled;           /* values are bytes * scale + shift */
    double scale, shift;
    const char *where; /* the file, and the member in it; borrowed */
} record_array_t;

typedef struct record_source record_source_t;

/* The folder or file `path`. ERR_IO, ERR_PARSE, ERR_CORRUPT, ERR_UNSUPPORTED name the file. */
record_source_t *record_source_open(const char *path, err_t *err);
void record_source_close(record_source_t **self_p);

/* The array under the first of the names (NULL ones are passed over) that is there; formats in the
 * order above. 1: found, 0: nowhere, -1: found, but damaged or of a kind that is not read. */
int record_source_find(record_source_t *self, const char *const *names, int n_names,
                       record_array_t *out, err_t *err);

/* The next n bytes of the array, of which there must be so many, into to[n]. ERR_CORRUPT: a packed array is
 * damaged. */
int record_bytes_read(record_bytes_t *self, void *to, size_t n, err_t *err);

#endif
