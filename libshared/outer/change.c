/* Changes of parameters: made by the aggregator, added by the workers. */
#include "outer/change.h"

#include <string.h>

#include "base/hash.h"

_Static_assert(CHANGE_GRAIN % CODEC_BLOCK == 0, "grains are whole blocks");

static const codec_t *usable(const codec_t *codec, err_t *err)
{
    if (!codec || strcmp(codec->name, "f32") == 0) return NULL;
    if (codec->exact) return codec;
    err_set(err, ERR_ARG, "codec %s: the way down takes those whose size is fixed", codec->name);
    return NULL;
}

const codec_t *change_codec(uint32_t id, err_t *err)
{
    return id ? usable(codec_find_id(id, err), err) : NULL;
}

const codec_t *change_codec_named(const char *name, err_t *err)
{
    return usable(codec_find(name, err), err);
}

size_t change_bytes(const codec_t *codec, size_t n)
{
    return CHANGE_HEAD + codec_most(codec, n);
}

size_t change_room(const codec_t *codec, uint64_t n, size_t chunk)
{
    size_t whole = (size_t)(n / chunk), rest = (size_t)(n % chunk);
    return whole * change_bytes(codec, chunk) + (rest ? change_bytes(codec, rest) : 0);
}

uint32_t change_rounds(const codec_t *codec)
{
    size_t each = change_bytes(codec, CHANGE_GRAIN);
    return (uint32_t)((CHANGE_GRAIN * sizeof(float) + each / 2) / each);
}

/* In one place, so that everybody rounds alike. */
static void add(float *theta, const float *change, size_t n)
{
    for (size_t i = 0; i < n; i++) theta[i] += change[i];
}

int change_make(const codec_t *codec, const change_grain_t *grain, uint8_t *out, err_t *err)
{
    size_t n = grain->n, n_bytes;
    float *a = grain->error_next, *sent = grain->scratch;
    for (size_t i = 0; i < n; i++) a[i] = (grain->x[i] - grain->theta[i]) + grain->error[i];
    if (codec_encode(codec, a, n, out, codec_most(codec, n), &n_bytes, err) < 0 ||
        codec_decode(codec, out, n_bytes, sent, n, err) < 0)
        return err_prefix(err, "the way down: ");
    for (size_t i = 0; i < n; i++) a[i] -= sent[i];
    memcpy(grain->x, grain->theta, n * sizeof *grain->x);
    add(grain->x, sent, n);
    return 0;
}

uint64_t change_seal(const float *theta_next, size_t n, uint8_t head[CHANGE_HEAD])
{
    uint64_t hash = hash_fast(theta_next, n * sizeof *theta_next);
    for (int i = 0; i < CHANGE_HEAD; i++) head[i] = (uint8_t)(hash >> 8 * i);
    return hash;
}

int change_apply(const codec_t *codec, const uint8_t *bytes, size_t n_bytes, float *theta, size_t n,
                 float *scratch, err_t *err)
{
    uint8_t head[CHANGE_HEAD];
    if (n == 0 || n_bytes != change_bytes(codec, n))
        return err_set(err, ERR_SHAPE, "a change of %zu parameters has %zu bytes", n, n_bytes);
    if (codec_decode(codec, bytes + CHANGE_HEAD, n_bytes - CHANGE_HEAD, scratch, n, err) < 0)
        return -1;
    add(theta, scratch, n);
    change_seal(theta, n, head);
    if (memcmp(head, bytes, CHANGE_HEAD) == 0) return 0;
    return err_set(err, ERR_CORRUPT, "a change was made for other parameters");
}
