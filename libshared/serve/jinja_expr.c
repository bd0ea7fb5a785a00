/* Expressions by recursive descent, in Jinja's order of precedence. */
#include <string.h>

#include "serve/jinja_in.h"

static node_t *choice(parser_t *self);
static node_t *unary(parser_t *self, bool with_filters);

static node_t *with(parser_t *self, node_kind_t kind, node_t *a)
{
    node_t *node = a ? read_new(self, kind) : NULL;
    if (node) node->a = a;
    return node;
}

/* --- what stands alone --- */

static node_t *constant(parser_t *self)
{
    static const struct {
        const char *name;
        node_kind_t kind;
        bool value;
    } words[] = {{"true", NODE_BOOL, true},   {"True", NODE_BOOL, true},
                 {"false", NODE_BOOL, false}, {"False", NODE_BOOL, false},
                 {"none", NODE_NONE, false},  {"None", NODE_NONE, false}};
    const token_t *token = self->at;
    node_t *node = read_new(self, NODE_NAME);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!read_is(self, TOKEN_NAME, words[i].name)) continue;
        node->kind = words[i].kind;
        node->i = words[i].value;
    }
    node->text = token->text;
    node->n = token->n;
    self->at++;
    return node;
}

/* Strings that stand side by side are one. */
static node_t *string(parser_t *self)
{
    node_t *node = read_new(self, NODE_STRING);
    str_t all = {0};
    for (; self->at->kind == TOKEN_STRING; self->at++) str_addn(&all, self->at->text, self->at->n);
    node->text = arena_strndup(self->arena, str_text(&all), all.n);
    node->n = all.n;
    str_fini(&all);
    return node;
}

static node_t *list(parser_t *self)
{
    node_t *node = read_new(self, NODE_LIST);
    self->at++;
    while (!read_take(self, TOKEN_OP, "]")) {
        node_t *item = choice(self);
        if (!item) return NULL;
        read_push(self, &node->items, item);
        if (!read_is(self, TOKEN_OP, "]") && read_expect(self, TOKEN_OP, ",") < 0) return NULL;
    }
    return node;
}

static node_t *dict(parser_t *self)
{
    node_t *node = read_new(self, NODE_DICT);
    self->at++;
    while (!read_take(self, TOKEN_OP, "}")) {
        node_t *key = choice(self), *value = NULL;
        if (key && read_expect(self, TOKEN_OP, ":") == 0) value = choice(self);
        if (!value) return NULL;
        read_push(self, &node->items, key);
        read_push(self, &node->items, value);
        if (!read_is(self, TOKEN_OP, "}") && read_expect(self, TOKEN_OP, ",") < 0) return NULL;
    }
    return node;
}

static node_t *number(parser_t *self)
{
    node_t *node = read_new(self, self->at->kind == TOKEN_INT ? NODE_INT : NODE_FLOAT);
    node->i = self->at->i;
    node->f = self->at->f;
    self->at++;
    return node;
}

static node_t *primary(parser_t *self)
{
    if (self->at->kind == TOKEN_NAME) return constant(self);
    if (self->at->kind == TOKEN_STRING) return string(self);
    if (self->at->kind == TOKEN_INT || self->at->kind == TOKEN_FLOAT) return number(self);
    if (read_is(self, TOKEN_OP, "[")) return list(self);
    if (read_is(self, TOKEN_OP, "{")) return dict(self);
    if (!read_take(self, TOKEN_OP, "("))
        return read_refuse(self, ERR_PARSE, "a value is missing before \"%.*s\"", (int)self->at->n,
                           self->at->text);
    node_t *node = read_is(self, TOKEN_OP, ")") ? read_new(self, NODE_LIST) : read_tuple(self);
    if (node && node->kind == NODE_LIST && node->items.n == 0) node->i = 1;
    if (node && node->kind == NODE_CHOICE) node->i = 1; /* no condition of a loop */
    return node && read_expect(self, TOKEN_OP, ")") == 0 ? node : NULL;
}

/* --- what stands behind a value --- */

static void push_name(parser_t *self, node_t *node, const char *name)
{
    const char **names = ARENA_ARRAY(self->arena, const char *, node->n_names + 1);
    if (node->n_names > 0) memcpy(names, node->names, (size_t)node->n_names * sizeof *names);
    names[node->n_names++] = name;
    node->names = names;
}

/* (a, b, name=c): into a call, behind its bracket. */
static int arguments(parser_t *self, node_t *call)
{
    while (!read_take(self, TOKEN_OP, ")")) {
        bool named = self->at->kind == TOKEN_NAME && self->at[1].kind == TOKEN_OP &&
                     strcmp(self->at[1].text, "=") == 0;
        if (named) push_name(self, call, self->at->text);
        if (named) self->at += 2;
        if (!named && call->n_names > 0)
            return read_refuse(self, ERR_PARSE, "an argument without a name behind named ones"), -1;
        if (read_is(self, TOKEN_OP, "*") || read_is(self, TOKEN_OP, "**"))
            return read_refuse(self, ERR_UNSUPPORTED, "arguments from a list are not known"), -1;
        node_t *value = choice(self);
        if (!value) return -1;
        read_push(self, &call->items, value);
        if (!read_is(self, TOKEN_OP, ")") && read_expect(self, TOKEN_OP, ",") < 0) return -1;
        if (call->items.n > 64)
            return read_refuse(self, ERR_MEMORY, "a call with more than 64 arguments"), -1;
    }
    return 0;
}

static node_t *subscript(parser_t *self, node_t *a)
{
    node_t *node = with(self, NODE_INDEX, a), *part[3] = {NULL, NULL, NULL};
    int n = 0;
    for (; n < 3; n++) {
        bool none = read_is(self, TOKEN_OP, ":") || read_is(self, TOKEN_OP, "]");
        if (!none && !(part[n] = choice(self))) return NULL;
        if (!read_take(self, TOKEN_OP, ":")) break;
        node->kind = NODE_SLICE;
    }
    if (node->kind == NODE_INDEX && !(node->b = part[0]))
        return read_refuse(self, ERR_PARSE, "an index is missing");
    for (int i = 0; node->kind == NODE_SLICE && i < 3; i++) read_push(self, &node->items, part[i]);
    return read_expect(self, TOKEN_OP, "]") < 0 ? NULL : node;
}

static node_t *member(parser_t *self, node_t *a)
{
    node_t *node = with(self, NODE_MEMBER, a);
    const token_t *token = self->at;
    if (token->kind == TOKEN_INT) {
        node->kind = NODE_INDEX;
        node->b = number(self);
        return node;
    }
    if (read_expect(self, TOKEN_NAME, NULL) < 0) return NULL;
    node->text = token->text;
    node->n = token->n;
    return node;
}

static node_t *postfix(parser_t *self, node_t *node)
{
    while (node) {
        if (read_take(self, TOKEN_OP, ".")) {
            node = member(self, node);
        } else if (read_take(self, TOKEN_OP, "[")) {
            node = subscript(self, node);
        } else if (read_take(self, TOKEN_OP, "(")) {
            node = with(self, NODE_CALL, node);
            if (arguments(self, node) < 0) return NULL;
        } else {
            return node;
        }
    }
    return NULL;
}

/* A name, which may have dots. */
static const char *dotted(parser_t *self)
{
    const char *name = self->at->text;
    if (read_expect(self, TOKEN_NAME, NULL) < 0) return NULL;
    while (read_take(self, TOKEN_OP, ".")) {
        const char *next = self->at->text;
        if (read_expect(self, TOKEN_NAME, NULL) < 0) return NULL;
        name = arena_printf(self->arena, "%.60s.%.60s", name, next);
    }
    return name;
}

static node_t *filter(parser_t *self, node_t *a)
{
    node_t *node = with(self, NODE_FILTER, a);
    const char *name = dotted(self);
    if (!name) return NULL;
    node->text = name;
    node->function = filter_find(name);
    if (node->function < 0)
        return read_refuse(self, ERR_UNSUPPORTED, "the filter \"%.60s\" is not known", name);
    return read_take(self, TOKEN_OP, "(") && arguments(self, node) < 0 ? NULL : node;
}

/* Does a test's argument without brackets stand here? */
static bool has_argument(const parser_t *self)
{
    static const char *const words[] = {"else", "or", "and", "if", "is", "in", "not"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (read_is(self, TOKEN_NAME, words[i])) return false;
    return self->at->kind == TOKEN_NAME || self->at->kind == TOKEN_STRING ||
           self->at->kind == TOKEN_INT || self->at->kind == TOKEN_FLOAT ||
           read_is(self, TOKEN_OP, "[") || read_is(self, TOKEN_OP, "{");
}

static node_t *test(parser_t *self, node_t *a)
{
    bool negated = read_take(self, TOKEN_NAME, "not");
    node_t *node = with(self, NODE_TEST, a);
    const char *name = dotted(self);
    if (!name) return NULL;
    node->text = name;
    node->function = test_find(name);
    if (node->function < 0)
        return read_refuse(self, ERR_UNSUPPORTED, "the test \"%.60s\" is not known", name);
    if (read_take(self, TOKEN_OP, "(")) {
        if (arguments(self, node) < 0) return NULL;
    } else if (has_argument(self)) {
        node_t *value = postfix(self, primary(self));
        if (!value) return NULL;
        read_push(self, &node->items, value);
    }
    return negated ? with(self, NODE_NOT, node) : node;
}

static node_t *filters(parser_t *self, node_t *node)
{
    while (node) {
        if (read_take(self, TOKEN_OP, "|")) {
            node = filter(self, node);
        } else if (read_take(self, TOKEN_NAME, "is")) {
            node = test(self, node);
        } else if (read_is(self, TOKEN_OP, "(")) {
            self->at++;
            node = with(self, NODE_CALL, node);
            if (arguments(self, node) < 0) return NULL;
        } else {
            return node;
        }
    }
    return NULL;
}

/* --- operators --- */

static node_t *unary_of(parser_t *self, bool with_filters)
{
    node_t *node;
    if (read_take(self, TOKEN_OP, "-"))
        node = with(self, NODE_NEGATE, unary(self, false));
    else if (read_take(self, TOKEN_OP, "+"))
        node = with(self, NODE_PLUS, unary(self, false));
    else
        node = primary(self);
    node = postfix(self, node);
    return with_filters ? filters(self, node) : node;
}

static node_t *unary(parser_t *self, bool with_filters)
{
    if (read_deeper(self) < 0) return NULL;
    node_t *node = unary_of(self, with_filters);
    self->depth--;
    return node;
}

/* Operators of one level, from the left. */
static node_t *level(parser_t *self, int n)
{
    static const char *const levels[3][4] = {{"+", "-"}, {"~"}, {"*", "/", "//", "%"}};
    node_t *node = n == 2 ? unary(self, true) : level(self, n + 1);
    for (int i = 0; node && i < 4 && levels[n][i];) {
        const char *op = levels[n][i++];
        if (n == 2 && read_is(self, TOKEN_OP, "**"))
            return read_refuse(self, ERR_UNSUPPORTED, "the operator ** is not known");
        if (!read_take(self, TOKEN_OP, op)) continue;
        node = with(self, NODE_MATH, node);
        node->text = strcmp(op, "//") == 0 ? "f" : op;
        node->b = n == 2 ? unary(self, true) : level(self, n + 1);
        if (!node->b) return NULL;
        i = 0;
    }
    return node;
}

static const char *comparison(parser_t *self)
{
    static const char *const operators[] = {"==", "!=", "<=", ">=", "<", ">"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (read_take(self, TOKEN_OP, operators[i])) return operators[i];
    if (read_take(self, TOKEN_NAME, "in")) return "in";
    if (read_is(self, TOKEN_NAME, "not") && self->at[1].kind == TOKEN_NAME &&
        strcmp(self->at[1].text, "in") == 0) {
        self->at += 2;
        return "not in";
    }
    return NULL;
}

static node_t *compare(parser_t *self)
{
    node_t *node = level(self, 0), *all = NULL;
    for (const char *op; node && (op = comparison(self));) {
        if (!all) all = with(self, NODE_COMPARE, node);
        node = level(self, 0);
        if (!node) return NULL;
        push_name(self, all, op);
        read_push(self, &all->items, node);
        if (all->n_names > JINJA_DEPTH)
            return read_refuse(self, ERR_MEMORY, "a chain of %d comparisons", all->n_names);
    }
    return node && all ? all : node;
}

static node_t *negation(parser_t *self)
{
    if (!read_take(self, TOKEN_NAME, "not")) return compare(self);
    if (read_deeper(self) < 0) return NULL;
    node_t *node = with(self, NODE_NOT, negation(self));
    self->depth--;
    return node;
}

static node_t *conjunction(parser_t *self)
{
    node_t *node = negation(self);
    while (node && read_take(self, TOKEN_NAME, "and")) {
        node = with(self, NODE_AND, node);
        if (!(node->b = negation(self))) return NULL;
    }
    return node;
}

static node_t *disjunction(parser_t *self)
{
    node_t *node = conjunction(self);
    while (node && read_take(self, TOKEN_NAME, "or")) {
        node = with(self, NODE_OR, node);
        if (!(node->b = conjunction(self))) return NULL;
    }
    return node;
}

static node_t *choice_of(parser_t *self)
{
    node_t *node = disjunction(self);
    while (node && read_take(self, TOKEN_NAME, "if")) {
        node_t *all = read_new(self, NODE_CHOICE);
        all->a = node;
        if (!(all->b = disjunction(self))) return NULL;
        if (read_take(self, TOKEN_NAME, "else") && !(all->c = choice(self))) return NULL;
        node = all;
    }
    return node;
}

static node_t *choice(parser_t *self)
{
    if (read_deeper(self) < 0) return NULL;
    node_t *node = choice_of(self);
    self->depth--;
    return node;
}

node_t *read_expression(parser_t *self)
{
    return choice(self);
}

node_t *read_tuple(parser_t *self)
{
    node_t *node = choice(self), *all = NULL;
    while (node && read_take(self, TOKEN_OP, ",")) {
        if (!all) {
            all = read_new(self, NODE_LIST);
            all->i = 1;
            read_push(self, &all->items, node);
        }
        token_kind_t kind = self->at->kind;
        if (read_is(self, TOKEN_OP, ")") || kind == TOKEN_CLOSE || kind == TOKEN_UNTAG) break;
        if (!(node = choice(self))) return NULL;
        read_push(self, &all->items, node);
    }
    return node && all ? all : node;
}
