/* Text to tokens: valid UTF-8 from the rest, added tokens from text, normalised, cut into words,
 * merged. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/byte_level.h"
#include "text/spans.h"

typedef struct {
    const byte_level_t *self;
    pattern_scan_t *scan;
    bpe_cache_t *cache;
    tokens_t *out;
    str_t normal;     /* the piece that was normalised last */
    const char *text; /* all of it */
    size_t n, n_told;
    byte_level_watch_fn *watch;
    void *user;
} run_t;

enum { TELL_BYTES = 1 << 20 };

static int add_word(void *user, const char *word, size_t n, err_t *err)
{
    run_t *run = user;
    if (bpe_encode(run->self->bpe, run->cache, word, n, run->out, err) < 0) return -1;
    uintptr_t at = (uintptr_t)word - (uintptr_t)run->text; /* a copy lies elsewhere */
    if (run->watch && at < run->n && at >= run->n_told + TELL_BYTES)
        run->watch(run->user, run->n_told = at);
    return 0;
}

static int cut(run_t *run, const char *text, size_t n, err_t *err)
{
    return words_cut(run->self->words, run->scan, text, n, add_word, run, err);
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
    if (normalizer_run(self->normalizer, run->scan, text, n, &run->normal, err) < 0) return -1;
    return around_added(run, self->added_normalized, cut, str_text(&run->normal), run->normal.n,
                        err);
}

int byte_level_encode(const byte_level_t *self, const char *text, size_t n, tokens_t *out,
                      byte_level_watch_fn *watch, void *user, err_t *err)
{
    run_t run = {.self = self, .out = out, .text = text, .n = n, .watch = watch, .user = user};
    run.scan = pattern_scan_new();
    run.cache = bpe_cache_new(n);
    int status = 0;
    for (size_t at = 0; status == 0 && at < n;) {
        size_t valid = spans_valid(text + at, n - at);
        if (valid > 0) status = around_added(&run, self->added, normalise, text + at, valid, err);
        at += valid;
        size_t invalid = spans_invalid(text + at, n - at);
        if (status == 0 && invalid > 0)
            status = bpe_encode(self->bpe, run.cache, text + at, invalid, out, err);
        at += invalid;
    }
    str_fini(&run.normal);
    pattern_scan_destroy(&run.scan);
    bpe_cache_destroy(&run.cache);
    return status;
}
