/* Codecs for pseudo-gradients: the table, and what holds for every row of it. */
#include "outer/codec.h"

#include <float.h>
#include <stdio.h>

#include "base/str.h"
#include "outer/codec_bytes.h"
#include "outer/kernels.h"

static int refuse_value(size_t i, float value, err_t *err)
{
    return err_set(err, ERR_NUMERIC, "pseudo-gradient element %zu is %g", i, (double)value);
}

/* Largest input of most(): keeps all of them free of overflow. */
static const size_t most_values = SIZE_MAX / 16;

#define CODEC(word, number, is_exact, beta) \
    {#word, number, is_exact, beta, codec_most_##word, codec_encode_##word, codec_decode_##word},
static const codec_t codecs[] = {CODECS(CODEC)};
enum { N_CODECS = sizeof codecs / sizeof *codecs };

static const codec_t *refuse_name(const char *name, err_t *err)
{
    str_t known = {0};
    for (int i = 0; i < N_CODECS; i++)
        str_addf(&known, "%s%s (%u)", i ? ", " : "", codecs[i].name, codecs[i].id);
    err_set(err, ERR_ARG, "codec %s is unknown; known are %s", name, str_text(&known));
    str_fini(&known);
    return NULL;
}

const codec_t *codec_find(const char *name, err_t *err)
{
    for (int i = 0; i < N_CODECS; i++)
        if (strcmp(codecs[i].name, name) == 0) return &codecs[i];
    return refuse_name(name, err);
}

const codec_t *codec_find_id(uint32_t id, err_t *err)
{
    for (int i = 0; i < N_CODECS; i++)
        if (codecs[i].id == id) return &codecs[i];
    char text[16];
    snprintf(text, sizeof text, "%u", id);
    return refuse_name(text, err);
}

size_t codec_most(const codec_t *codec, size_t n)
{
    return n <= most_values ? codec->most(n) : 0;
}

bool codec_fits(const codec_t *codec, size_t n, size_t n_bytes)
{
    size_t most = codec_most(codec, n);
    return n <= most_values && (codec->exact ? n_bytes == most : n_bytes <= most);
}

int codec_check(const float *values, size_t n, err_t *err)
{
    bool finite = outer_kernels()->within(values, n, FLT_MAX);
    for (size_t i = 0; !finite && i < n; i++)
        if (!isfinite(values[i])) return refuse_value(i, values[i], err);
    return 0;
}

int codec_encode(const codec_t *codec, const float *values, size_t n, uint8_t *out, size_t space,
                 size_t *n_bytes, err_t *err)
{
    size_t need = codec_most(codec, n);
    if (n > most_values || need > space)
        return err_set(err, ERR_ARG, "%s: %zu values need %zu bytes, there are %zu", codec->name, n,
                       need, space);
    if (codec_check(values, n, err) < 0) return -1;
    *n_bytes = codec->encode(values, n, out);
    return 0;
}

int codec_decode(const codec_t *codec, const uint8_t *bytes, size_t n_bytes, float *values,
                 size_t n, err_t *err)
{
    if (!codec_fits(codec, n, n_bytes))
        return err_set(err, ERR_SHAPE, "%s: %zu values take %s%zu bytes, not %zu", codec->name, n,
                       codec->exact ? "" : "at most ", codec_most(codec, n), n_bytes);
    return codec->decode(bytes, n_bytes, values, n, err);
}

const float *codec_view(const codec_t *codec, const void *bytes)
{
    bool same = codec->encode == codec_encode_f32 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    return same && (uintptr_t)bytes % _Alignof(float) == 0 ? bytes : NULL;
}

void codec_feedback(const codec_t *codec, const float *error, float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (float)(codec->feedback * (double)error[i] + (double)values[i]);
}

int codec_residual(const codec_t *codec, const float *a, size_t n, uint8_t *scratch, float *error,
                   err_t *err)
{
    size_t n_bytes;
    if (codec_encode(codec, a, n, scratch, codec_most(codec, n), &n_bytes, err) < 0 ||
        codec_decode(codec, scratch, n_bytes, error, n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) error[i] = (float)((double)a[i] - (double)error[i]);
    return 0;
}
