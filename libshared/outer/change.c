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

uint8_t change_word(const change_t *self)
{
    uint32_t id = self->codec ? self->codec->id : 0;
    return (uint8_t)(id && self->exact_from ? id | CHANGE_EXACT : id);
}

int change_of_word(uint32_t word, uint64_t states, change_t *out, err_t *err)
{
    uint32_t id = word & ~(uint32_t)CHANGE_EXACT;
    err_t why = {0};
    *out = (change_t){change_codec(id, &why), word & CHANGE_EXACT ? states : 0};
    return why.code ? err_set(err, why.code, "%s", why.text) : 0;
}

static codec_chunk_t chunk_of(const change_t *self, uint64_t begin, size_t n)
{
    return codec_chunk(self->codec, begin, n, self->exact_from);
}

size_t change_bytes(const change_t *self, uint64_t begin, size_t n)
{
    const codec_chunk_t as = chunk_of(self, begin, n);
    return CHANGE_HEAD + codec_chunk_most(&as);
}

/* The states are the last elements: whole chunks that the codec makes, what it makes of one more, and the rest as it is. */
size_t change_room(const change_t *self, uint64_t begin, uint64_t n, size_t chunk)
{
    uint64_t from = self->exact_from, coded = n;
    if (from && begin + n > from) coded = from > begin ? from - begin : 0;
    return (size_t)((n + chunk - 1) / chunk) * CHANGE_HEAD +
           (size_t)(coded / chunk) * codec_most(self->codec, chunk) +
           codec_most(self->codec, (size_t)(coded % chunk)) + (size_t)(n - coded) * sizeof(float);
}

uint32_t change_rounds(const codec_t *codec)
{
    size_t each = CHANGE_HEAD + codec_most(codec, CHANGE_GRAIN);
    return (uint32_t)((CHANGE_GRAIN * sizeof(float) + each / 2) / each);
}

/* In one place, so that everybody rounds alike. */
static void add(float *theta, const float *change, size_t n)
{
    for (size_t i = 0; i < n; i++) theta[i] += change[i];
}

int change_make(const change_t *self, const change_grain_t *grain, uint8_t *out, err_t *err)
{
    const codec_chunk_t as = chunk_of(self, grain->begin, grain->n);
    size_t n = as.n - as.n_exact, n_bytes;
    float *a = grain->error_next, *sent = grain->scratch;
    for (size_t i = 0; i < n; i++) a[i] = (grain->x[i] - grain->theta[i]) + grain->error[i];
    memcpy(a + n, grain->x + n, as.n_exact * sizeof *a);
    if (codec_chunk_encode(&as, a, out, codec_chunk_most(&as), &n_bytes, err) < 0 ||
        codec_chunk_decode(&as, out, n_bytes, sent, err) < 0)
        return err_prefix(err, "the way down: ");
    for (size_t i = 0; i < n; i++) a[i] -= sent[i];
    memset(a + n, 0, as.n_exact * sizeof *a);
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

int change_apply(const change_t *self, const uint8_t *bytes, size_t n_bytes,
                 const change_place_t *to, err_t *err)
{
    uint8_t head[CHANGE_HEAD];
    size_t n = to->n;
    const codec_chunk_t as = chunk_of(self, to->begin, n);
    if (n == 0 || n_bytes != change_bytes(self, to->begin, n))
        return err_set(err, ERR_SHAPE, "a change of %zu parameters has %zu bytes", n, n_bytes);
    if (codec_chunk_decode(&as, bytes + CHANGE_HEAD, n_bytes - CHANGE_HEAD, to->scratch, err) < 0)
        return -1;
    add(to->theta, to->scratch, n - as.n_exact);
    memcpy(to->theta + (n - as.n_exact), to->scratch + (n - as.n_exact),
           as.n_exact * sizeof *to->theta);
    change_seal(to->theta, n, head);
    if (memcmp(head, bytes, CHANGE_HEAD) == 0) return 0;
    return err_set(err, ERR_CORRUPT, "a change was made for other parameters");
}
