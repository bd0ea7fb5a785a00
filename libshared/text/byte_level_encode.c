/* Text to tokens: valid UTF-8 from the rest, added tokens from text, normalised, cut into words,
 * merged. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/byte_level.h"
#include "text/spans.h"

struct byte_level_scratch {
    pattern_scan_t *scan;
    bpe_cache_t *cache;
    str_t normal; /* the piece that was normalised last */
};

byte_level_scratch_t *byte_level_scratch_new(size_t n_text)
{
    byte_level_scratch_t *self = mem_calloc(1, sizeof *self);
    self->scan = pattern_scan_new();
    self->cache = bpe_cache_new(n_text);
    return self;
}

void byte_level_scratch_destroy(byte_level_scratch_t **self_p)
{
    byte_level_scratch_t *self = *self_p;
    if (!self) return;
    str_fini(&self->normal);
    pattern_scan_destroy(&self->scan);
    bpe_cache_destroy(&self->cache);
    free(self);
    *self_p = NULL;
}

typedef struct {
    const byte_level_t *self;
    byte_level_scratch_t *scratch;
    tokens_t *out;
} run_t;

static int add_word(void *user, const char *word, size_t n, err_t *err)
{
    run_t *run = user;
    return bpe_encode(run->self->bpe, run->scratch->cache, word, n, run->out, err);
}

static int cut(run_t *run, const char *text, size_t n, err_t *err)
{
    return words_cut(run->self->words, run->scratch->scan, text, n, add_word, run, err);
}

typedef int piece_fn(run_t *run, const char *text, size_t n, err_t *err);

/* Added tokens are tokens; what lies between them goes on to `rest`. */
static int around_added(run_t *run, const added_t *added, piece_fn *rest, const char *text,
                        size_t n, err_t *err)
{
    size_t at = 0, begin, end;
    uint32_t token;
    while (at < n && added_find(added, text, n, at, &begin, &end, &token)) {
        if (begin > at && rest(run, text + at, begin - at, err) < 0) return -1;
        VEC_PUSH(run->out, token);
        at = end;
    }
    return at < n ? rest(run, text + at, n - at, err) : 0;
}

static int normalise(run_t *run, const char *text, size_t n, err_t *err)
{
    const byte_level_t *self = run->self;
    if (normalizer_steps(self->normalizer) == 0)
        return around_added(run, self->added_normalized, cut, text, n, err);
    str_t *normal = &run->scratch->normal;
    if (normalizer_run(self->normalizer, run->scratch->scan, text, n, normal, err) < 0) return -1;
    return around_added(run, self->added_normalized, cut, str_text(normal), normal->n, err);
}

int byte_level_encode(const byte_level_t *self, byte_level_scratch_t *scratch, const char *text,
                      size_t n, tokens_t *out, err_t *err)
{
    run_t run = {.self = self, .scratch = scratch, .out = out};
    int status = 0;
    for (size_t at = 0; status == 0 && at < n;) {
        size_t valid = spans_valid(text + at, n - at);
        if (valid > 0) status = around_added(&run, self->added, normalise, text + at, valid, err);
        at += valid;
        size_t invalid = spans_invalid(text + at, n - at);
        if (status == 0 && invalid > 0)
            status = bpe_encode(self->bpe, scratch->cache, text + at, invalid, out, err);
        at += invalid;
    }
    return status;
}
