/* Pseudo-gradients of leases. */
#include "worker/delta.h"

#include <stdlib.h>

#include "base/mem.h"
#include "msg/limits.h"

float *delta_error(const codec_t *codec, const Msg__Lease *lease, const float *values, size_t n,
                   err_t *err)
{
    uint8_t *scratch = mem_calloc(1, MSG_PAYLOAD_BYTES);
    float *error = mem_calloc(n + 1, sizeof *error);
    int rc = 0;
    for (size_t s = 0; s < lease->n_data; s++) {
        uint64_t end = lease->bounds[s + 1];
        for (uint64_t at = lease->bounds[s]; rc == 0 && at < end; at += MSG_CHUNK_FLOATS) {
            size_t count = end - at < MSG_CHUNK_FLOATS ? (size_t)(end - at) : MSG_CHUNK_FLOATS;
            const codec_chunk_t as = codec_chunk(codec, at, count, lease->exact_from);
            rc = codec_chunk_residual(&as, values + at, scratch, error + at, err);
        }
    }
    free(scratch);
    if (rc == 0) return error;
    free(error);
    return NULL;
}

static int shard_digest(const codec_t *codec, const Msg__Lease *lease, size_t s,
                        const float *values, uint8_t *scratch, char digest[HASH_HEX], err_t *err)
{
    hash_stream_t *stream = hash_stream_new();
    uint64_t end = lease->bounds[s + 1];
    int rc = 0;
    for (uint64_t at = lease->bounds[s]; rc == 0 && at < end; at += MSG_CHUNK_FLOATS) {
        size_t n = end - at < MSG_CHUNK_FLOATS ? (size_t)(end - at) : MSG_CHUNK_FLOATS, n_bytes = 0;
        const codec_chunk_t as = codec_chunk(codec, at, n, lease->exact_from);
        rc = codec_chunk_encode(&as, values + at, scratch, MSG_PAYLOAD_BYTES, &n_bytes, err);
        if (rc == 0) hash_stream_add(stream, scratch, n_bytes);
    }
    hash_stream_finish(&stream, digest);
    return rc;
}

int delta_digest(const codec_t *codec, const Msg__Lease *lease, const float *values,
                 char digest[HASH_HEX], err_t *err)
{
    uint8_t *scratch = mem_calloc(1, MSG_PAYLOAD_BYTES);
    hash_stream_t *all = hash_stream_new();
    int rc = 0;
    for (size_t s = 0; rc == 0 && s < lease->n_data; s++) {
        char of_shard[HASH_HEX];
        rc = shard_digest(codec, lease, s, values, scratch, of_shard, err);
        if (rc == 0) hash_stream_add(all, of_shard, HASH_HEX - 1);
    }
    hash_stream_finish(&all, digest);
    free(scratch);
    return rc;
}
