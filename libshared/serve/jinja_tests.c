/* Tests (x is defined), one row each. */
#include <ctype.h>
#include <string.h>

#include "serve/jinja_in.h"

typedef enum {
    TEST_KIND, /* of the value: a set of kinds */
    TEST_EQUAL,
    TEST_UNEQUAL,
    TEST_ORDER, /* a: wanted order, b: or equal */
    TEST_IN,
    TEST_TRUE,
    TEST_FALSE,
    TEST_SAME,
    TEST_REST, /* of a division */
    TEST_CASE,
} test_kind_t;

#define KIND(kind) (1u << VALUE_##kind)
static const unsigned LISTS = KIND(LIST) | KIND(TUPLE) | KIND(DICT) | KIND(STRING) |
                              KIND(UNDEFINED);
static const struct {
    const char *name;
    test_kind_t kind;
    unsigned a;
    int order;
    bool or_equal;
} tests[] = {
    {"defined", TEST_KIND, ~KIND(UNDEFINED), 0, false},
    {"undefined", TEST_KIND, KIND(UNDEFINED), 0, false},
    {"none", TEST_KIND, KIND(NONE), 0, false},
    {"string", TEST_KIND, KIND(STRING), 0, false},
    {"mapping", TEST_KIND, KIND(DICT), 0, false},
    {"sequence", TEST_KIND, LISTS, 0, false},
    {"iterable", TEST_KIND, LISTS, 0, false},
    {"number", TEST_KIND, KIND(BOOL) | KIND(INT) | KIND(FLOAT), 0, false},
    {"integer", TEST_KIND, KIND(INT), 0, false},
    {"float", TEST_KIND, KIND(FLOAT), 0, false},
    {"boolean", TEST_KIND, KIND(BOOL), 0, false},
    {"callable", TEST_KIND, KIND(FUNCTION) | KIND(MACRO), 0, false},
    {"true", TEST_TRUE, 0, 0, false},
    {"false", TEST_FALSE, 0, 0, false},
    {"equalto", TEST_EQUAL, 0, 0, false},
    {"eq", TEST_EQUAL, 0, 0, false},
    {"==", TEST_EQUAL, 0, 0, false},
    {"ne", TEST_UNEQUAL, 0, 0, false},
    {"!=", TEST_UNEQUAL, 0, 0, false},
    {"lt", TEST_ORDER, 0, -1, false},
    {"lessthan", TEST_ORDER, 0, -1, false},
    {"<", TEST_ORDER, 0, -1, false},
    {"le", TEST_ORDER, 0, -1, true},
    {"<=", TEST_ORDER, 0, -1, true},
    {"gt", TEST_ORDER, 0, 1, false},
    {"greaterthan", TEST_ORDER, 0, 1, false},
    {">", TEST_ORDER, 0, 1, false},
    {"ge", TEST_ORDER, 0, 1, true},
    {">=", TEST_ORDER, 0, 1, true},
    {"in", TEST_IN, 0, 0, false},
    {"sameas", TEST_SAME, 0, 0, false},
    {"even", TEST_REST, 2, 0, false},
    {"odd", TEST_REST, 2, 1, false},
    {"divisibleby", TEST_REST, 0, 0, false},
    {"upper", TEST_CASE, 0, 1, false},
    {"lower", TEST_CASE, 0, 0, false},
};

int test_find(const char *name)
{
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (strcmp(tests[i].name, name) == 0) return (int)i;
    return -1;
}

static int test_rest(run_t *run, const value_t *v, unsigned by, const value_t *arg, int64_t rest,
                     bool *out)
{
    value_t divisor = by ? value_int((int64_t)by) : arg ? *arg : value_int(0), r;
    if (v->kind != VALUE_INT || divisor.kind != VALUE_INT)
        return run_fail(run, ERR_TYPE, "a test of whole numbers");
    if (run_math(run, '%', v, &divisor, &r) < 0) return -1;
    *out = r.i == rest;
    return 0;
}

/* Some letter, and none of the other case. */
static int test_case(run_t *run, const value_t *v, bool upper, bool *out)
{
    *out = false;
    if (v->kind != VALUE_STRING || !text_is_ascii(v->s.at, v->s.n))
        return run_fail(run, ERR_UNSUPPORTED, "upper and lower of what is no text of ASCII");
    for (size_t i = 0; i < v->s.n; i++) {
        int c = (unsigned char)v->s.at[i];
        if (!isalpha(c)) continue;
        *out = upper ? isupper(c) : islower(c);
        if (!*out) break;
    }
    return run_charge(run, v->s.n / 64, 0);
}

static bool is_same(const value_t *a, const value_t *b)
{
    if (a->kind != b->kind) return false;
    if (a->kind == VALUE_NONE) return true;
    if (a->kind == VALUE_BOOL) return a->b == b->b;
    return a->kind == VALUE_INT ? a->i == b->i : a->dict == b->dict;
}

int test_apply(run_t *run, int test, const value_t *v, const args_t *args, bool *out)
{
    const value_t *arg = args->n > 0 ? &args->at[0] : NULL;
    test_kind_t kind = tests[test].kind;
    bool needs = kind == TEST_EQUAL || kind == TEST_UNEQUAL || kind == TEST_ORDER ||
                 kind == TEST_IN || kind == TEST_SAME;
    int same, order;
    *out = false;
    if (needs && !arg)
        return run_fail(run, ERR_TYPE, "the test %s takes a value", tests[test].name);
    switch (kind) {
    case TEST_KIND: *out = (1u << v->kind & tests[test].a) != 0; return 0;
    case TEST_TRUE: *out = v->kind == VALUE_BOOL && v->b; return 0;
    case TEST_FALSE: *out = v->kind == VALUE_BOOL && !v->b; return 0;
    case TEST_SAME: *out = is_same(v, arg); return 0;
    case TEST_IN: return value_contains(run, arg, v, out);
    case TEST_REST: return test_rest(run, v, tests[test].a, arg, tests[test].order, out);
    case TEST_CASE: return test_case(run, v, tests[test].order, out);
    case TEST_ORDER:
        if (value_order(run, v, arg, &order) < 0) return -1;
        *out = order == tests[test].order || (tests[test].or_equal && order == 0);
        return 0;
    default:
        same = value_equal(run, v, arg);
        *out = kind == TEST_EQUAL ? same == 1 : same == 0;
        return same < 0 ? -1 : 0;
    }
}
