/* Normal forms by utf8proc, over the parts that are not ASCII alone: no normal form joins anything
 * with an ASCII character behind it, so text may be cut before each of those. */
#include "text/normalize.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/mem.h"

enum { MAX_STEPS = 16, MAX_GROWTH = 64, LEAST_ROOM = 4096 };

typedef enum { STEP_FORM, STEP_PREPEND, STEP_REPLACE } step_kind_t;

typedef struct {
    step_kind_t kind;
    normal_form_t form;
    pattern_t *pattern;
    str_t text;
} step_t;

struct normalizer {
    step_t step[MAX_STEPS];
    size_t n;
};

normalizer_t *normalizer_new(void)
{
    return mem_calloc(1, sizeof(normalizer_t));
}

void normalizer_destroy(normalizer_t **self_p)
{
    normalizer_t *self = *self_p;
    if (!self) return;
    for (size_t i = 0; i < self->n; i++) {
        pattern_destroy(&self->step[i].pattern);
        str_fini(&self->step[i].text);
    }
    free(self);
    *self_p = NULL;
}

static step_t *add_step(normalizer_t *self, step_kind_t kind, err_t *err)
{
    if (self->n == MAX_STEPS) {
        err_set(err, ERR_PARSE, "more than %d normalizers", MAX_STEPS);
        return NULL;
    }
    step_t *step = &self->step[self->n++];
    step->kind = kind;
    return step;
}

int normalizer_add_form(normalizer_t *self, normal_form_t form, err_t *err)
{
    step_t *step = add_step(self, STEP_FORM, err);
    if (!step) return -1;
    step->form = form;
    return 0;
}

int normalizer_add_prepend(normalizer_t *self, const char *text, size_t n, err_t *err)
{
    step_t *step = add_step(self, STEP_PREPEND, err);
    if (!step) return -1;
    str_addn(&step->text, text, n);
    return 0;
}

int normalizer_add_replace(normalizer_t *self, pattern_t *pattern, const char *text, size_t n,
                           err_t *err)
{
    step_t *step = add_step(self, STEP_REPLACE, err);
    if (!step) {
        pattern_destroy(&pattern);
        return -1;
    }
    step->pattern = pattern;
    str_addn(&step->text, text, n);
    return 0;
}

size_t normalizer_steps(const normalizer_t *self)
{
    return self->n;
}

static int form_part(normal_form_t form, const char *text, size_t n, str_t *out, err_t *err)
{
    static const utf8proc_option_t options[N_NORMAL_FORM] = {
        [FORM_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
        [FORM_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
        [FORM_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
        [FORM_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
    };
    utf8proc_uint8_t *made = NULL;
    utf8proc_ssize_t length = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n,
                                           &made, options[form]);
    if (length >= 0) str_addn(out, (const char *)made, (size_t)length);
    free(made);
    if (length < 0)
        return err_set(err, ERR_PARSE, "the text cannot be normalised: %s",
                       utf8proc_errmsg(length));
    return 0;
}

static int run_form(normal_form_t form, const char *text, size_t n, str_t *out, err_t *err)
{
    for (size_t at = 0; at < n;) {
        size_t plain = at;
        while (plain < n && !(text[plain] & 0x80)) plain++;
        if (plain == n) { /* ASCII to the end */
            str_addn(out, text + at, n - at);
            return 0;
        }
        size_t begin = plain > at ? plain - 1 : at, end = plain;
        while (end < n && text[end] & 0x80) end++;
        str_addn(out, text + at, begin - at);
        if (form_part(form, text + begin, end - begin, out, err) < 0) return -1;
        at = end;
    }
    return 0;
}

static int run_replace(const step_t *step, pattern_scan_t *scan, const char *text, size_t n,
                       str_t *out, err_t *err)
{
    size_t limit = MAX_GROWTH * n + LEAST_ROOM, at = 0, begin, end;
    int found;
    while (at < n && (found = pattern_find(step->pattern, scan, text, n, at, &begin, &end, err))) {
        if (found < 0) return -1;
        if (out->n + (begin - at) + step->text.n > limit)
            return err_set(err, ERR_MEMORY,
                           "the tokenizer's normalizer would make %zu bytes into "
                           "more than %zu",
                           n, limit);
        str_addn(out, text + at, begin - at);
        str_addn(out, str_text(&step->text), step->text.n);
        at = end;
    }
    str_addn(out, text + at, n - at);
    return 0;
}

static int run_step(const step_t *step, pattern_scan_t *scan, const char *text, size_t n,
                    str_t *out, err_t *err)
{
    if (step->kind == STEP_FORM) return run_form(step->form, text, n, out, err);
    if (step->kind == STEP_REPLACE) return run_replace(step, scan, text, n, out, err);
    if (n > 0) str_addn(out, str_text(&step->text), step->text.n);
    str_addn(out, text, n);
    return 0;
}

int normalizer_run(const normalizer_t *self, pattern_scan_t *scan, const char *text, size_t n,
                   str_t *out, err_t *err)
{
    str_t from = {0}, to = {0};
    int status = 0;
    for (size_t i = 0; status == 0 && i < self->n; i++) {
        to.n = 0;
        status = run_step(&self->step[i], scan, i ? str_text(&from) : text, i ? from.n : n, &to,
                          err);
        str_t swap = from;
        from = to;
        to = swap;
    }
    str_fini(&to);
    str_fini(out);
    if (status == 0)
        *out = from;
    else
        str_fini(&from);
    return status;
}
