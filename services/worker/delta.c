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

static int shard_digest(const codec_t *codec, const float *values, uint64_t count, uint8_t *scratch,
                        char digest[HASH_HEX], err_t *err)
{
    size_t space = codec_most(codec, MSG_CHUNK_FLOATS), n_bytes = 0;
    hash_stream_t *stream = hash_stream_new();
    int rc = 0;
    for (uint64_t at = 0; rc == 0 && at < count; at += MSG_CHUNK_FLOATS) {
        size_t n = count - at < MSG_CHUNK_FLOATS ? (size_t)(count - at) : MSG_CHUNK_FLOATS;
        rc = codec_encode(codec, values + at, n, scratch, space, &n_bytes, err);
        if (rc == 0) hash_stream_add(stream, scratch, n_bytes);
    }
    hash_stream_finish(&stream, digest);
    return rc;
}

int delta_digest(const codec_t *codec, const Msg__Lease *lease, const float *values,
                 char digest[HASH_HEX], err_t *err)
{
    uint8_t *scratch = mem_calloc(1, codec_most(codec, MSG_CHUNK_FLOATS));
    hash_stream_t *all = hash_stream_new();
    int rc = 0;
    for (size_t s = 0; rc == 0 && s < lease->n_data; s++) {
        char of_shard[HASH_HEX];
        rc = shard_digest(codec, values + lease->bounds[s], lease->bounds[s + 1] - lease->bounds[s],
                          scratch, of_shard, err);
        if (rc == 0) hash_stream_add(all, of_shard, HASH_HEX - 1);
    }
    hash_stream_finish(&all, digest);
    free(scratch);
    return rc;
}
