/* Pre-tokenisation: each step hands its pieces to the next as it finds them; nothing is kept but
 * where a step needs to see two pieces together. */
#include "text/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

enum { MAX_STEPS = 16 };

typedef struct {
    pattern_t *pattern; /* NULL: the step that puts a blank before */
    cut_t cut;
    bool invert;
} step_t;

struct words {
    step_t step[MAX_STEPS];
    size_t n;
};

typedef struct {
    const words_t *words;
    pattern_scan_t *scan;
    words_fn *each;
    void *user;
} walk_t;

words_t *words_new(void)
{
    return mem_calloc(1, sizeof(words_t));
}

void words_destroy(words_t **self_p)
{
    words_t *self = *self_p;
    if (!self) return;
    for (size_t i = 0; i < self->n; i++) pattern_destroy(&self->step[i].pattern);
    free(self);
    *self_p = NULL;
}

static int add_step(words_t *self, step_t step, err_t *err)
{
    if (self->n == MAX_STEPS) {
        pattern_destroy(&step.pattern);
        return err_set(err, ERR_PARSE, "more than %d pre-tokenizers", MAX_STEPS);
    }
    self->step[self->n++] = step;
    return 0;
}

int words_add_split(words_t *self, pattern_t *pattern, cut_t cut, bool invert, err_t *err)
{
    return add_step(self, (step_t){pattern, cut, invert}, err);
}

int words_add_prefix(words_t *self, err_t *err)
{
    return add_step(self, (step_t){0}, err);
}

size_t words_steps(const words_t *self)
{
    return self->n;
}

static int walk(const walk_t *w, size_t at_step, const char *text, size_t n, err_t *err);

/* The most frequent case: matches and what is between them, each for itself. */
static int isolate(const walk_t *w, size_t at_step, const char *text, size_t n, err_t *err)
{
    const step_t *step = &w->words->step[at_step];
    size_t at = 0, begin, end;
    int found = 1;
    while (at < n &&
           (found = pattern_find(step->pattern, w->scan, text, n, at, &begin, &end, err)) > 0) {
        if (begin > at && walk(w, at_step + 1, text + at, begin - at, err) < 0) return -1;
        if (walk(w, at_step + 1, text + begin, end - begin, err) < 0) return -1;
        at = end;
    }
    if (found < 0) return -1;
    return at < n ? walk(w, at_step + 1, text + at, n - at, err) : 0;
}

typedef struct {
    size_t begin, end;
    bool is_match;
} span_t;
typedef VEC(span_t) spans_t;

/* Append a span, joined with the one before where the step's cut says so. */
static void add_span(spans_t *spans, cut_t cut, size_t begin, size_t end, bool is_match,
                     bool *was_match)
{
    span_t *last = spans->n ? &spans->at[spans->n - 1] : NULL;
    bool join = false;
    if (begin == end) return;
    if (cut == CUT_CONTIGUOUS) join = last && last->is_match == is_match;
    if (cut == CUT_WITH_PREVIOUS) join = last && is_match && !*was_match;
    if (cut == CUT_WITH_NEXT) join = last && !is_match && *was_match;
    span_t span = {begin, end, is_match};
    if (join)
        last->end = end;
    else
        VEC_PUSH(spans, span);
    *was_match = is_match;
}

static int split(const walk_t *w, size_t at_step, const char *text, size_t n, err_t *err)
{
    const step_t *step = &w->words->step[at_step];
    spans_t spans = {0};
    size_t at = 0, begin, end;
    int found = 1, status = 0;
    bool was_match = false;
    while (at < n &&
           (found = pattern_find(step->pattern, w->scan, text, n, at, &begin, &end, err)) > 0) {
        add_span(&spans, step->cut, at, begin, step->invert, &was_match);
        add_span(&spans, step->cut, begin, end, !step->invert, &was_match);
        at = end;
    }
    if (found < 0) status = -1;
    if (status == 0) add_span(&spans, step->cut, at, n, step->invert, &was_match);
    for (size_t i = 0; status == 0 && i < spans.n; i++) {
        const span_t *s = &spans.at[i];
        if (step->cut == CUT_REMOVED && s->is_match) continue;
        status = walk(w, at_step + 1, text + s->begin, s->end - s->begin, err);
    }
    VEC_FREE(&spans);
    return status;
}

static int put_blank(const walk_t *w, size_t at_step, const char *text, size_t n, err_t *err)
{
    if (text[0] == ' ') return walk(w, at_step + 1, text, n, err);
    str_t copy = {0};
    str_add(&copy, " ");
    str_addn(&copy, text, n);
    int status = walk(w, at_step + 1, str_text(&copy), copy.n, err);
    str_fini(&copy);
    return status;
}

static int walk(const walk_t *w, size_t at_step, const char *text, size_t n, err_t *err)
{
    if (at_step == w->words->n) return w->each(w->user, text, n, err);
    const step_t *step = &w->words->step[at_step];
    if (!step->pattern) return put_blank(w, at_step, text, n, err);
    if (step->cut == CUT_ISOLATED) return isolate(w, at_step, text, n, err);
    return split(w, at_step, text, n, err);
}

int words_cut(const words_t *self, pattern_scan_t *scan, const char *text, size_t n, words_fn *each,
              void *user, err_t *err)
{
    walk_t w = {self, scan, each, user};
    return n ? walk(&w, 0, text, n, err) : 0;
}
