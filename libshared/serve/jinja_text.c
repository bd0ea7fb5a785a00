/* Texts as Python sees them: by characters, and their methods. Letters beyond ASCII have no upper and
 * lower case here, and are refused where it would matter. */
#include <ctype.h>
#include <string.h>

#include "base/utf8.h"
#include "serve/jinja_in.h"

static size_t step(const char *at, size_t n, unsigned *code)
{
    size_t k = utf8_next(at, n, code);
    if (k == 0) *code = 0xfffd;
    return k ? k : 1;
}

size_t text_count(const char *at, size_t n)
{
    size_t count = 0;
    unsigned code;
    for (size_t i = 0; i < n; i += step(at + i, n - i, &code)) count++;
    return count;
}

size_t text_skip(const char *at, size_t n, size_t characters)
{
    size_t i = 0;
    unsigned code;
    for (; i < n && characters > 0; characters--) i += step(at + i, n - i, &code);
    return i;
}

bool text_is_ascii(const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)at[i] >= 0x80) return false;
    return true;
}

static bool is_space(unsigned c)
{
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

static bool in_set(const char *at, size_t n, unsigned code, const value_t *set)
{
    if (!set) return is_space(code);
    for (size_t i = 0; i + n <= set->s.n; i++)
        if (memcmp(set->s.at + i, at, n) == 0) return true;
    return false;
}

value_t text_strip(const value_t *s, const value_t *set, bool left, bool right)
{
    const char *at = s->s.at;
    size_t n = s->s.n, from = 0, to = 0;
    unsigned code;
    bool begun = !left;
    for (size_t i = 0, k; i < n; i += k) {
        k = step(at + i, n - i, &code);
        bool stays = !in_set(at + i, k, code, set);
        if (!begun && stays) from = i;
        begun = begun || stays;
        if (begun && (stays || !right)) to = i + k;
    }
    if (!begun) from = to = 0;
    return value_text(at + from, to > from ? to - from : 0);
}

/* --- case --- */

typedef char case_fn(char c, bool begins);

static char to_upper(char c, bool begins)
{
    (void)begins;
    return (char)toupper((unsigned char)c);
}

static char to_lower(char c, bool begins)
{
    (void)begins;
    return (char)tolower((unsigned char)c);
}

static char to_title(char c, bool begins)
{
    return begins ? to_upper(c, true) : to_lower(c, false);
}

static int change_case(run_t *run, const value_t *v, case_fn *change, bool words, value_t *out)
{
    if (!text_is_ascii(v->s.at, v->s.n))
        return run_fail(run, ERR_UNSUPPORTED, "upper and lower case of letters beyond ASCII");
    if (value_copy(run, v->s.at, v->s.n, out) < 0) return -1;
    char *at = (char *)(uintptr_t)out->s.at;
    for (size_t i = 0; i < v->s.n; i++) {
        bool begins = i == 0 || (words && !isalpha((unsigned char)v->s.at[i - 1]));
        at[i] = change(v->s.at[i], begins);
    }
    return 0;
}

/* --- searching --- */

static const char *find(const char *at, size_t n, const value_t *what)
{
    return what->s.n == 0 ? at : memmem(at, n, what->s.at, what->s.n);
}

int text_replace(run_t *run, const value_t *v, const value_t *from, const value_t *to, int64_t most,
                 value_t *out)
{
    str_t text = {0};
    const char *at = v->s.at, *end = at + v->s.n;
    int status = 0;
    if (from->s.n == 0) return run_fail(run, ERR_UNSUPPORTED, "replacing an empty text");
    for (const char *hit; status == 0 && most != 0 && (hit = find(at, (size_t)(end - at), from));) {
        status = run_charge(run, 1 + to->s.n / 64, to->s.n);
        str_addn(&text, at, (size_t)(hit - at));
        str_addn(&text, to->s.at, to->s.n);
        at = hit + from->s.n;
        most--;
    }
    str_addn(&text, at, (size_t)(end - at));
    return value_take(run, &text, status, out);
}

static int split_words(run_t *run, const value_t *v, list_t *list)
{
    value_t rest = text_strip(v, NULL, true, false);
    while (rest.s.n > 0) {
        size_t i = 0, k;
        unsigned code;
        for (; i < rest.s.n; i += k) {
            k = step(rest.s.at + i, rest.s.n - i, &code);
            if (is_space(code)) break;
        }
        if (value_push(run, list, value_text(rest.s.at, i)) < 0) return -1;
        rest = value_text(rest.s.at + i, rest.s.n - i);
        rest = text_strip(&rest, NULL, true, false);
    }
    return 0;
}

static int split_at(run_t *run, const value_t *v, const value_t *by, int64_t most, list_t *list)
{
    const char *at = v->s.at, *end = at + v->s.n;
    if (by->s.n == 0) return run_fail(run, ERR_ARG, "split by an empty text");
    for (const char *hit; most != 0 && (hit = find(at, (size_t)(end - at), by)); most--) {
        if (value_push(run, list, value_text(at, (size_t)(hit - at))) < 0) return -1;
        at = hit + by->s.n;
    }
    return value_push(run, list, value_text(at, (size_t)(end - at)));
}

static int split_lines(run_t *run, const value_t *v, list_t *list)
{
    const char *at = v->s.at, *end = at + v->s.n;
    while (at < end) {
        const char *line = at;
        while (at < end && *at != '\n' && *at != '\r') at++;
        if (value_push(run, list, value_text(line, (size_t)(at - line))) < 0) return -1;
        at += at + 1 < end && *at == '\r' && at[1] == '\n' ? 2 : 1;
    }
    return 0;
}

static int split(run_t *run, const value_t *v, const value_t *by, int64_t most, value_t *out)
{
    if (value_new_list(run, VALUE_LIST, out) < 0) return -1;
    if (by && by->kind == VALUE_STRING) return split_at(run, v, by, most, out->list);
    if (most >= 0) return run_fail(run, ERR_UNSUPPORTED, "split by white space a few times");
    return split_words(run, v, out->list);
}

/* Starts or ends with one text, or one of a tuple. */
static int has_end(run_t *run, const value_t *v, const value_t *what, bool start, value_t *out)
{
    *out = value_bool(false);
    if (what && what->kind == VALUE_TUPLE) {
        for (size_t i = 0; i < what->list->n && !out->b; i++)
            if (has_end(run, v, &what->list->at[i], start, out) < 0) return -1;
        return 0;
    }
    if (!what || what->kind != VALUE_STRING)
        return run_fail(run, ERR_TYPE, "startswith and endswith take a text");
    if (what->s.n > v->s.n) return 0;
    const char *at = start ? v->s.at : v->s.at + v->s.n - what->s.n;
    out->b = what->s.n == 0 || memcmp(at, what->s.at, what->s.n) == 0;
    return 0;
}

static int cut_end(run_t *run, const value_t *v, const value_t *what, bool start, value_t *out)
{
    value_t has;
    if (has_end(run, v, what, start, &has) < 0) return -1;
    size_t cut = has.b ? what->s.n : 0;
    *out = value_text(v->s.at + (start ? cut : 0), v->s.n - cut);
    return 0;
}

static int position(run_t *run, const value_t *v, const value_t *what, value_t *out)
{
    if (!what || what->kind != VALUE_STRING) return run_fail(run, ERR_TYPE, "find takes a text");
    const char *hit = find(v->s.at, v->s.n, what);
    *out = value_int(hit ? (int64_t)text_count(v->s.at, (size_t)(hit - v->s.at)) : -1);
    return 0;
}

static int count(run_t *run, const value_t *v, const value_t *what, value_t *out)
{
    const char *at = v->s.at, *end = at + v->s.n;
    if (!what || what->kind != VALUE_STRING || what->s.n == 0)
        return run_fail(run, ERR_TYPE, "count takes a text");
    *out = value_int(0);
    for (; (at = find(at, (size_t)(end - at), what)); at += what->s.n) out->i++;
    return 0;
}

static bool all(const value_t *v, int (*is)(int c))
{
    for (size_t i = 0; i < v->s.n; i++)
        if (!is((unsigned char)v->s.at[i])) return false;
    return v->s.n > 0;
}

static int join(run_t *run, const value_t *v, const args_t *args, value_t *out)
{
    return args->n == 1 ? filter_apply(run, filter_find("join"), &args->at[0],
                                       &(args_t){.at = v, .n = 1}, out)
                        : run_fail(run, ERR_TYPE, "join takes a list");
}

static int64_t most_of(const args_t *args, size_t i, const char *name)
{
    const value_t *most = args_get(args, i, name);
    return most && most->kind == VALUE_INT ? most->i : -1;
}

int text_method(run_t *run, const value_t *v, const char *name, const args_t *args, value_t *out)
{
    const value_t *a = args_get(args, 0, "sep"), *b = args_get(args, 1, "new");
    bool plain = a && a->kind == VALUE_STRING;
#define IS(word) (strcmp(name, word) == 0)
    if (run_charge(run, v->s.n / 64 + 1, 0) < 0) return -1;
    if (a && !plain && a->kind != VALUE_NONE && a->kind != VALUE_TUPLE && !IS("join"))
        return run_fail(run, ERR_TYPE, "%s of a text takes a text, not %s", name, value_kind(a));
    if (IS("strip") || IS("lstrip") || IS("rstrip"))
        *out = text_strip(v, plain ? a : NULL, *name != 'r', *name != 'l');
    else if (IS("split"))
        return split(run, v, a, most_of(args, 1, "maxsplit"), out);
    else if (IS("splitlines"))
        return value_new_list(run, VALUE_LIST, out) < 0 ? -1 : split_lines(run, v, out->list);
    else if (IS("startswith") || IS("endswith"))
        return has_end(run, v, a, *name == 's', out);
    else if (IS("removeprefix") || IS("removesuffix"))
        return plain ? cut_end(run, v, a, name[6] == 'p', out)
                     : run_fail(run, ERR_TYPE, "%s takes a text", name);
    else if (IS("replace"))
        return plain && b && b->kind == VALUE_STRING
                   ? text_replace(run, v, a, b, most_of(args, 2, "count"), out)
                   : run_fail(run, ERR_TYPE, "replace takes two texts");
    else if (IS("find"))
        return position(run, v, a, out);
    else if (IS("count"))
        return count(run, v, a, out);
    else if (IS("join"))
        return join(run, v, args, out);
    else if (IS("upper"))
        return change_case(run, v, to_upper, false, out);
    else if (IS("lower"))
        return change_case(run, v, to_lower, false, out);
    else if (IS("title"))
        return change_case(run, v, to_title, true, out);
    else if (IS("capitalize"))
        return change_case(run, v, to_title, false, out);
    else if ((IS("isdigit") || IS("isalpha") || IS("isspace")) && text_is_ascii(v->s.at, v->s.n))
        *out = value_bool(all(v, IS("isdigit") ? isdigit : IS("isalpha") ? isalpha : isspace));
    else
        return run_fail(run, ERR_UNSUPPORTED, "the method .%.60s of a text is not known", name);
#undef IS
    return 0;
}
