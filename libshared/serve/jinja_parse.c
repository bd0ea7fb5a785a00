/* Statements, and what the parser's parts share. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "serve/jinja_in.h"

/* --- shared --- */

node_t *read_new(parser_t *self, node_kind_t kind)
{
    node_t *node = ARENA_NEW(self->arena, node_t);
    node->kind = kind;
    node->line = self->at->line;
    return node;
}

void read_push(parser_t *self, nodes_t *list, node_t *node)
{
    if (list->n == list->space) {
        int space = list->space ? 2 * list->space : 4;
        node_t **at = ARENA_ARRAY(self->arena, node_t *, space);
        if (list->n > 0) memcpy(at, list->at, (size_t)list->n * sizeof *at);
        list->at = at;
        list->space = space;
    }
    list->at[list->n++] = node;
}

bool read_is(const parser_t *self, token_kind_t kind, const char *text)
{
    return self->at->kind == kind && (!text || strcmp(self->at->text, text) == 0);
}

bool read_take(parser_t *self, token_kind_t kind, const char *text)
{
    bool is = read_is(self, kind, text);
    self->at += is;
    return is;
}

void *read_refuse(parser_t *self, err_code_t code, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    err_set(self->err, code, "line %d: %s", self->at->line, text);
    return NULL;
}

int read_expect(parser_t *self, token_kind_t kind, const char *text)
{
    if (read_take(self, kind, text)) return 0;
    const char *wanted = text                  ? text
                         : kind == TOKEN_NAME  ? "a name"
                         : kind == TOKEN_UNTAG ? "%}"
                                               : "}}";
    bool named = self->at->kind == TOKEN_NAME || self->at->kind == TOKEN_OP;
    read_refuse(self, ERR_PARSE, "expected %s before %.40s", wanted,
                named ? self->at->text : "this");
    return -1;
}

int read_deeper(parser_t *self)
{
    if (++self->depth <= JINJA_DEPTH / 2) return 0;
    self->depth--;
    read_refuse(self, ERR_MEMORY, "more than %d levels within each other", JINJA_DEPTH / 2);
    return -1;
}

/* --- statements --- */

static int body(parser_t *self, const char *const *ends, nodes_t *out);

static int end_of_tag(parser_t *self)
{
    return read_expect(self, TOKEN_UNTAG, NULL);
}

/* {% word %} */
static int end_word(parser_t *self, const char *word)
{
    return read_expect(self, TOKEN_NAME, word) < 0 ? -1 : end_of_tag(self);
}

/* a, b: into node->items, names or a member of one. */
static int targets(parser_t *self, node_t *node)
{
    bool bracket = read_take(self, TOKEN_OP, "(");
    do {
        const token_t *name = self->at;
        if (read_expect(self, TOKEN_NAME, NULL) < 0) return -1;
        node_t *target = read_new(self, NODE_NAME);
        target->text = name->text;
        if (read_take(self, TOKEN_OP, ".")) {
            target->kind = NODE_MEMBER;
            target->a = read_new(self, NODE_NAME);
            target->a->text = name->text;
            target->text = self->at->text;
            target->n = self->at->n;
            if (read_expect(self, TOKEN_NAME, NULL) < 0) return -1;
        }
        read_push(self, &node->items, target);
    } while (read_take(self, TOKEN_OP, ","));
    return bracket ? read_expect(self, TOKEN_OP, ")") : 0;
}

static node_t *statement_for(parser_t *self)
{
    static const char *const ends[] = {"else", "endfor", NULL};
    node_t *node = read_new(self, NODE_FOR);
    if (targets(self, node) < 0 || read_expect(self, TOKEN_NAME, "in") < 0) return NULL;
    /* `if` behind the list is the loop's: a list is a choice in brackets only. */
    if (!(node->a = read_tuple(self))) return NULL;
    if (node->a->kind == NODE_CHOICE && !node->a->c && !node->a->i) {
        node->b = node->a->b;
        node->a = node->a->a;
    }
    if (read_is(self, TOKEN_NAME, "recursive"))
        return read_refuse(self, ERR_UNSUPPORTED, "\"recursive\" loops are not known");
    self->loops++;
    if (end_of_tag(self) < 0 || body(self, ends, &node->body) < 0) return NULL;
    self->loops--;
    if (read_take(self, TOKEN_NAME, "else") &&
        (end_of_tag(self) < 0 || body(self, ends + 1, &node->other) < 0))
        return NULL;
    return end_word(self, "endfor") < 0 ? NULL : node;
}

static node_t *statement_if(parser_t *self)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    node_t *first = read_new(self, NODE_IF), *node = first;
    for (;;) {
        if (!(node->a = read_tuple(self)) || end_of_tag(self) < 0 ||
            body(self, ends, &node->body) < 0)
            return NULL;
        if (!read_take(self, TOKEN_NAME, "elif")) break;
        node_t *next = read_new(self, NODE_IF);
        read_push(self, &node->other, next);
        node = next;
    }
    if (read_take(self, TOKEN_NAME, "else") &&
        (end_of_tag(self) < 0 || body(self, ends + 2, &node->other) < 0))
        return NULL;
    return end_word(self, "endif") < 0 ? NULL : first;
}

static node_t *statement_set(parser_t *self)
{
    static const char *const ends[] = {"endset", NULL};
    node_t *node = read_new(self, NODE_SET);
    if (targets(self, node) < 0) return NULL;
    if (read_take(self, TOKEN_OP, "=")) {
        node->a = read_tuple(self);
        return node->a && end_of_tag(self) == 0 ? node : NULL;
    }
    if (read_is(self, TOKEN_OP, "|"))
        return read_refuse(self, ERR_UNSUPPORTED, "a block that is set through a filter");
    if (end_of_tag(self) < 0 || body(self, ends, &node->body) < 0) return NULL;
    return end_word(self, "endset") < 0 ? NULL : node;
}

static node_t *statement_macro(parser_t *self)
{
    static const char *const ends[] = {"endmacro", NULL};
    node_t *node = read_new(self, NODE_MACRO);
    const char **names = ARENA_ARRAY(self->arena, const char *, 64);
    node->text = self->at->text;
    node->names = names;
    if (read_expect(self, TOKEN_NAME, NULL) < 0 || read_expect(self, TOKEN_OP, "(") < 0)
        return NULL;
    while (!read_take(self, TOKEN_OP, ")")) {
        names[node->n_names++] = self->at->text;
        if (read_expect(self, TOKEN_NAME, NULL) < 0) return NULL;
        node_t *value = NULL;
        if (read_take(self, TOKEN_OP, "=") && !(value = read_expression(self))) return NULL;
        read_push(self, &node->items, value);
        if (!read_is(self, TOKEN_OP, ")") && read_expect(self, TOKEN_OP, ",") < 0) return NULL;
        if (node->n_names == 64) return read_refuse(self, ERR_MEMORY, "64 arguments of a macro");
    }
    int loops = self->loops;
    self->loops = 0;
    if (end_of_tag(self) < 0 || body(self, ends, &node->body) < 0) return NULL;
    self->loops = loops;
    return end_word(self, "endmacro") < 0 ? NULL : node;
}

static node_t *leave(parser_t *self, node_kind_t kind)
{
    if (self->loops == 0) return read_refuse(self, ERR_PARSE, "outside of a loop");
    node_t *node = read_new(self, kind);
    return end_of_tag(self) < 0 ? NULL : node;
}

static node_t *statement_break(parser_t *self)
{
    return leave(self, NODE_BREAK);
}

static node_t *statement_continue(parser_t *self)
{
    return leave(self, NODE_CONTINUE);
}

/* Marks what an assistant says, for training: here its body alone. */
static node_t *statement_generation(parser_t *self)
{
    static const char *const ends[] = {"endgeneration", NULL};
    node_t *node = read_new(self, NODE_IF);
    node->a = read_new(self, NODE_BOOL);
    node->a->i = 1;
    if (end_of_tag(self) < 0 || body(self, ends, &node->body) < 0) return NULL;
    return end_word(self, "endgeneration") < 0 ? NULL : node;
}

static const struct {
    const char *word;
    node_t *(*parse)(parser_t *self);
} statements[] = {
    {"for", statement_for},
    {"if", statement_if},
    {"set", statement_set},
    {"macro", statement_macro},
    {"break", statement_break},
    {"continue", statement_continue},
    {"generation", statement_generation},
};

static node_t *statement(parser_t *self)
{
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (read_take(self, TOKEN_NAME, statements[i].word)) return statements[i].parse(self);
    if (self->at->kind != TOKEN_NAME) return read_refuse(self, ERR_PARSE, "a tag without a name");
    bool closes = strncmp(self->at->text, "end", 3) == 0 || read_is(self, TOKEN_NAME, "else") ||
                  read_is(self, TOKEN_NAME, "elif");
    err_code_t code = closes ? ERR_PARSE : ERR_UNSUPPORTED;
    return read_refuse(self, code, "the tag \"%.60s\" is not known%s", self->at->text,
                       code == ERR_PARSE ? " here" : "");
}

static bool is_end(const parser_t *self, const char *const *ends)
{
    for (; ends && *ends; ends++)
        if (self->at[1].kind == TOKEN_NAME && strcmp(self->at[1].text, *ends) == 0) return true;
    return false;
}

/* Up to one of the words, whose tag is open then; NULL: to the end. */
static int body_of(parser_t *self, const char *const *ends, nodes_t *out)
{
    for (;;) {
        node_t *node = NULL;
        const token_t *token = self->at;
        if (token->kind == TOKEN_END && !ends) return 0;
        if (token->kind == TOKEN_END) {
            while (ends[1]) ends++;
            read_refuse(self, ERR_PARSE, "%s is missing", *ends);
            return -1;
        }
        if (token->kind == TOKEN_TAG && is_end(self, ends)) return self->at++, 0;
        self->at++;
        if (token->kind == TOKEN_TEXT) {
            node = read_new(self, NODE_TEXT);
            node->text = token->text;
            node->n = token->n;
        } else if (token->kind == TOKEN_PRINT) {
            node = read_new(self, NODE_PRINT);
            if (!(node->a = read_tuple(self)) || read_expect(self, TOKEN_CLOSE, NULL) < 0)
                return -1;
        } else {
            node = statement(self);
        }
        if (!node) return -1;
        read_push(self, out, node);
    }
}

static int body(parser_t *self, const char *const *ends, nodes_t *out)
{
    if (read_deeper(self) < 0) return -1;
    int status = body_of(self, ends, out);
    self->depth--;
    return status;
}

jinja_t *jinja_parse(const char *text, size_t n, err_t *err)
{
    if (n > JINJA_SOURCE_BYTES) {
        err_set(err, ERR_MEMORY, "a template of %zu bytes: %d at most", n, JINJA_SOURCE_BYTES);
        return NULL;
    }
    jinja_t *self = mem_calloc(1, sizeof *self);
    self->arena = arena_new();
    parser_t parser = {.arena = self->arena, .err = err};
    parser.at = jinja_lex(self->arena, text, n, err);
    if (!parser.at || body(&parser, NULL, &self->body) < 0) jinja_destroy(&self);
    return self;
}

void jinja_destroy(jinja_t **self_p)
{
    jinja_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    arena_destroy(&self->arena);
    free(self);
}
