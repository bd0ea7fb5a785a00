/* Arrays of records by name, from a folder of files or one file of several formats:
 *   NAME.npy                 an array of NumPy's
 *   any *.npz                archives of such arrays, stored or deflated
 *   any *.safetensors        tensors by name
 *   schema.json              raw files: {"NAME": {"file": "x.bin", "type": "u8", "shape": [28, 28],
 *                            "offset": 16}}, records of that shape one behind the other; and a scale
 *                            for any array: {"NAME": {"scale": 0.0039215686, "shift": -0.5}}
 * Nothing in the files is trusted; what is unpacked is bounded by the machine's memory. */
#ifndef PCP_RECORD_SOURCE_H
#define PCP_RECORD_SOURCE_H

#include "ir/tensor.h"

typedef struct {
    ir_type_t type;   /* records come first */
    const void *data; /* row-major, little-endian, not aligned; borrowed from the source */
    bool scaled;      /* values are data * scale + shift */
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

#endif
