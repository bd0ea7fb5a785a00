/* Chunks that end with states of the model: a codec's encoding, and f32 behind it. */
#include <string.h>

#include "outer/codec_bytes.h"

codec_chunk_t codec_chunk(const codec_t *codec, uint64_t begin, size_t n, uint64_t exact_from)
{
    codec_chunk_t self = {.codec = codec, .n = n};
    if (exact_from == 0 || begin + n <= exact_from) return self;
    self.n_exact = exact_from > begin ? (size_t)(begin + n - exact_from) : n;
    return self;
}

static size_t n_coded(const codec_chunk_t *self)
{
    return self->n - self->n_exact;
}

static size_t exact_bytes(const codec_chunk_t *self)
{
    return codec_most_f32(self->n_exact);
}

size_t codec_chunk_most(const codec_chunk_t *self)
{
    return codec_most(self->codec, n_coded(self)) + exact_bytes(self);
}

bool codec_chunk_fits(const codec_chunk_t *self, size_t n_bytes)
{
    return n_bytes >= exact_bytes(self) &&
           codec_fits(self->codec, n_coded(self), n_bytes - exact_bytes(self));
}

const float *codec_chunk_view(const codec_chunk_t *self, const void *bytes)
{
    return self->n_exact ? NULL : codec_view(self->codec, bytes);
}

int codec_chunk_encode(const codec_chunk_t *self, const float *values, uint8_t *out, size_t space,
                       size_t *n_bytes, err_t *err)
{
    size_t n = n_coded(self), behind = exact_bytes(self), coded;
    if (space < behind)
        return err_set(err, ERR_ARG, "%zu states need %zu bytes, there are %zu", self->n_exact,
                       behind, space);
    if (codec_check(values + n, self->n_exact, err) < 0 ||
        codec_encode(self->codec, values, n, out, space - behind, &coded, err) < 0)
        return -1;
    *n_bytes = coded + codec_encode_f32(values + n, self->n_exact, out + coded);
    return 0;
}

int codec_chunk_decode(const codec_chunk_t *self, const uint8_t *bytes, size_t n_bytes,
                       float *values, err_t *err)
{
    size_t n = n_coded(self), behind = exact_bytes(self);
    if (n_bytes < behind)
        return err_set(err, ERR_SHAPE, "%zu states take %zu bytes, not %zu", self->n_exact, behind,
                       n_bytes);
    size_t coded = n_bytes - behind;
    if (codec_decode(self->codec, bytes, coded, values, n, err) < 0) return -1;
    return codec_decode_f32(bytes + coded, behind, values + n, self->n_exact, err);
}

int codec_chunk_residual(const codec_chunk_t *self, const float *a, uint8_t *scratch, float *error,
                         err_t *err)
{
    size_t n = n_coded(self);
    memset(error + n, 0, self->n_exact * sizeof *error);
    if (codec_check(a + n, self->n_exact, err) < 0) return -1;
    return codec_residual(self->codec, a, n, scratch, error, err);
}
