/* Pseudo-gradients of leases. */
#include "worker/delta.h"

#include <stdlib.h>

#include "base/mem.h"
#include "msg/limits.h"

float *delta_error(const codec_t *codec, const Msg__Lease *lease, const float *values, size_t n,
                   err_t *err)
{
    uint8_t *scratch = mem_calloc(1, codec_most(codec, MSG_CHUNK_FLOATS));
    float *error = mem_calloc(n + 1, sizeof *error);
    int rc = 0;
    for (size_t s = 0; s < lease->n_data; s++) {
        uint64_t end = lease->bounds[s + 1];
        for (uint64_t at = lease->bounds[s]; rc == 0 && at < end; at += MSG_CHUNK_FLOATS) {
            size_t count = end - at < MSG_CHUNK_FLOATS ? (size_t)(end - at) : MSG_CHUNK_FLOATS;
            rc = codec_residual(codec, values + at, count, scratch, error + at, err);
        }
    }
    free(scratch);
    if (rc == 0) return error;
    free(error);
    return NULL;
}
