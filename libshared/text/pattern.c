/* PCRE2 behind a small face. A pattern from outside may be as bad as it likes: its length, nesting
 * and compiled size are bounded when it is compiled, its steps, stack and heap when it runs. */
#include "text/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

enum {
    MATCH_STEPS = 10000000,
    HEAP_KIB = 65536,
    STACK_BYTES = 32768,
    STACK_MAX_BYTES = 8 << 20,
    NESTING = 64,
};

struct pattern {
    pcre2_code *code;
    char *text;
    bool is_fast; /* compiled to machine code */
};

struct pattern_scan {
    pcre2_match_context *context;
    pcre2_match_data *data;
    pcre2_jit_stack *stack;
};

/* --- Oniguruma's spelling to PCRE2's --- */

/* White_Space of Unicode; PCRE2's own \s has U+180E, too. */
#define SPACE_SET                                                            \
    "\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x" \
    "{2029}\\x{202f}\\x{205f}\\x{3000}"

/* General categories by their long names, and properties that are no scripts. */
static const struct {
    const char *name, *to;
} properties[] = {
    {"Letter", "L"},
    {"Mark", "M"},
    {"Number", "N"},
    {"Punctuation", "P"},
    {"Symbol", "S"},
    {"Separator", "Z"},
    {"Other", "C"},
    {"Any", "Any"},
    {"Alphabetic", "Alphabetic"},
    {"Uppercase", "Uppercase"},
    {"Lowercase", "Lowercase"},
    {"White_Space", "White_Space"},
    {"Emoji", "Emoji"},
    {"Extended_Pictographic", "Extended_Pictographic"},
};

/* \p{NAME} from text[at], just behind the p: appended; returns how many bytes it took. */
static size_t add_property(str_t *out, const char *text, size_t n)
{
    const char *end = n > 0 && text[0] == '{' ? memchr(text, '}', n) : NULL;
    if (!end) return 0; /* \pL, or broken: PCRE2 judges */
    const char *name = text + 1;
    size_t not = name[0] == '^', length = (size_t)(end - name) - not ;
    const char *to = NULL;
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (strlen(properties[i].name) == length &&
            memcmp(properties[i].name, name + not, length) == 0)
            to = properties[i].to;
    str_add(out, not ? "{^" : "{");
    if (to) {
        str_add(out, to);
    } else {
        bool plain = length <= 2 || memchr(name, '=', length + not ) ||
                     memchr(name, ':', length + not );
        if (!plain) str_add(out, "sc:");
        str_addn(out, name + not, length);
    }
    str_add(out, "}");
    return (size_t)(end - text) + 1;
}

/* The escape at text[0], behind the backslash; 0: it is not known here. */
static size_t add_escape(str_t *out, const char *text, size_t n, bool in_class)
{
    size_t used = 1;
    if (text[0] == 's') {
        str_add(out, in_class ? SPACE_SET : "[" SPACE_SET "]");
    } else if (text[0] == 'S' && !in_class) {
        str_add(out, "[^" SPACE_SET "]");
    } else if (text[0] == 'p' || text[0] == 'P') {
        str_addf(out, "\\%c", text[0]);
        used += add_property(out, text + 1, n - 1);
    } else if (text[0] == 'h' || text[0] == 'H' || (text[0] == 'S' && in_class)) {
        return 0;
    } else {
        str_add(out, "\\");
        size_t length = utf8_next(text, n, NULL);
        used = length ? length : 1;
        str_addn(out, text, used);
    }
    return used;
}

static int translate(const char *text, size_t n, str_t *out, err_t *err)
{
    int in_class = 0;
    for (size_t at = 0; at < n;) {
        char c = text[at++];
        if (c == '\\' && at < n) {
            size_t used = add_escape(out, text + at, n - at, in_class > 0);
            if (used == 0)
                return err_set(err, ERR_UNSUPPORTED, "the pattern has \"\\%c\"%s", text[at],
                               in_class ? " within a set" : "");
            at += used;
            continue;
        }
        bool posix = in_class && c == '[' && at < n && text[at] == ':';
        if (c == '[' && !posix) {
            if (in_class)
                return err_set(err, ERR_UNSUPPORTED, "the pattern has a set within a set");
            in_class = 1;
        } else if (c == ']') {
            in_class = 0;
        }
        str_addn(out, &c, 1);
        if (posix) { /* [:name:] */
            const char *end = memchr(text + at, ']', n - at);
            size_t length = end ? (size_t)(end - (text + at)) + 1 : n - at;
            str_addn(out, text + at, length);
            at += length;
        }
    }
    return 0;
}

/* --- compiling --- */

static pcre2_code *compile(const char *text, size_t n, uint32_t options, err_t *err)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context) mem_fail(sizeof context);
    pcre2_set_parens_nest_limit(context, NESTING);
    pcre2_set_max_pattern_length(context, 16 * PATTERN_BYTES);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int code;
    size_t at;
    pcre2_code *out = pcre2_compile((PCRE2_SPTR)text, n, options, &code, &at, context);
    pcre2_compile_context_free(context);
    if (out) return out;
    char why[160];
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
    err_set(err, ERR_PARSE, "the pattern is wrong: %s, after \"%.*s\"", why,
            at < 200 ? (int)at : 200, text + (at < 200 ? 0 : at - 200));
    return NULL;
}

pattern_t *pattern_new(const char *text, size_t n, bool literal, err_t *err)
{
    if (n == 0 || n > PATTERN_BYTES) {
        err_set(err, ERR_PARSE, "a pattern of %zu bytes: it must have 1 to %d", n, PATTERN_BYTES);
        return NULL;
    }
    const uint32_t shared = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C;
    str_t translated = {0};
    pcre2_code *code = NULL;
    if (literal)
        code = compile(text, n, PCRE2_UTF | PCRE2_LITERAL, err);
    else if (translate(text, n, &translated, err) == 0)
        code = compile(str_text(&translated), translated.n, shared | PCRE2_UCP | PCRE2_MULTILINE,
                       err);
    str_fini(&translated);
    if (!code) return NULL;
    pattern_t *self = mem_calloc(1, sizeof *self);
    self->code = code;
    self->is_fast = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
    self->text = mem_calloc(n + 1, 1);
    memcpy(self->text, text, n);
    return self;
}

void pattern_destroy(pattern_t **self_p)
{
    pattern_t *self = *self_p;
    if (!self) return;
    pcre2_code_free(self->code);
    free(self->text);
    free(self);
    *self_p = NULL;
}

/* --- matching --- */

pattern_scan_t *pattern_scan_new(void)
{
    pattern_scan_t *self = mem_calloc(1, sizeof *self);
    self->context = pcre2_match_context_create(NULL);
    self->data = pcre2_match_data_create(1, NULL);
    self->stack = pcre2_jit_stack_create(STACK_BYTES, STACK_MAX_BYTES, NULL);
    if (!self->context || !self->data) mem_fail(sizeof *self);
    pcre2_set_match_limit(self->context, MATCH_STEPS);
    pcre2_set_heap_limit(self->context, HEAP_KIB);
    if (self->stack) pcre2_jit_stack_assign(self->context, NULL, self->stack);
    return self;
}

void pattern_scan_destroy(pattern_scan_t **self_p)
{
    pattern_scan_t *self = *self_p;
    if (!self) return;
    pcre2_jit_stack_free(self->stack);
    pcre2_match_data_free(self->data);
    pcre2_match_context_free(self->context);
    free(self);
    *self_p = NULL;
}

static int too_hard(const pattern_t *self, int code, size_t at, err_t *err)
{
    char why[160];
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
    return err_set(err, ERR_UNSUPPORTED,
                   "the tokenizer's pattern \"%.200s\" cannot be matched at byte %zu: %s",
                   self->text, at, why);
}

int pattern_find(const pattern_t *self, pattern_scan_t *scan, const char *text, size_t n,
                 size_t from, size_t *begin, size_t *end, err_t *err)
{
    PCRE2_SPTR at = (PCRE2_SPTR)text;
    for (;;) {
        int found = self->is_fast
                        ? pcre2_jit_match(self->code, at, n, from, 0, scan->data, scan->context)
                        : pcre2_match(self->code, at, n, from, PCRE2_NO_UTF_CHECK, scan->data,
                                      scan->context);
        if (found == PCRE2_ERROR_NOMATCH) return 0;
        if (found < 0) return too_hard(self, found, from, err);
        const size_t *span = pcre2_get_ovector_pointer(scan->data);
        if (span[0] < from || span[1] < span[0] || span[1] > n) return 0; /* \K and its like */
        if (span[1] > span[0]) {
            *begin = span[0];
            *end = span[1];
            return 1;
        }
        if (span[0] >= n) return 0;
        from = span[0] + utf8_next(text + span[0], n - span[0], NULL);
    }
}
