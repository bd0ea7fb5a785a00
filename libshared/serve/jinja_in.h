/* The parts of a template and the values of a rendering. Internal to serve/jinja*.c. */
#ifndef SERVE_JINJA_IN_H
#define SERVE_JINJA_IN_H

#include <stdbool.h>

#include "base/arena.h"
#include "serve/jinja.h"

/* --- tokens (jinja_lex.c) --- */

typedef enum {
    TOKEN_END,   /* of the source */
    TOKEN_TEXT,  /* outside of tags */
    TOKEN_PRINT, /* {{ */
    TOKEN_CLOSE, /* }} */
    TOKEN_TAG,   /* {% */
    TOKEN_UNTAG, /* %} */
    TOKEN_NAME,
    TOKEN_STRING, /* text: without escapes */
    TOKEN_INT,
    TOKEN_FLOAT,
    TOKEN_OP, /* text: the operator */
} token_kind_t;

typedef struct {
    token_kind_t kind;
    int line;
    const char *text; /* n bytes */
    size_t n;
    int64_t i;
    double f;
} token_t;

/* All tokens of a source, in the arena, TOKEN_END last. NULL: err. */
token_t *jinja_lex(arena_t *arena, const char *text, size_t n, err_t *err);

/* --- the tree (jinja_parse.c, jinja_expr.c) --- */

typedef enum {
    /* expressions */
    NODE_NONE,
    NODE_BOOL,
    NODE_INT,
    NODE_FLOAT,
    NODE_STRING,
    NODE_NAME,
    NODE_LIST,   /* items */
    NODE_DICT,   /* items: keys and values by turns */
    NODE_MEMBER, /* a.name */
    NODE_INDEX,  /* a[b] */
    NODE_SLICE,  /* a[items 0:1:2], NULL where left out */
    NODE_CALL,   /* a(items, named) */
    NODE_FILTER, /* a|name(items, named) */
    NODE_TEST,   /* a is name(items) */
    NODE_NOT,
    NODE_NEGATE,
    NODE_PLUS,
    NODE_AND,
    NODE_OR,
    NODE_COMPARE, /* a, then items with ops: a < b <= c */
    NODE_MATH,    /* a op b */
    NODE_CHOICE,  /* a if b else c, c may be NULL */
    /* statements */
    NODE_TEXT,
    NODE_PRINT, /* a */
    NODE_FOR,   /* for items in a if b: body, other */
    NODE_IF,    /* if a: body, other */
    NODE_SET,   /* items = a, or body in the place of a */
    NODE_MACRO, /* name(items = named): body; named[i] NULL: no default */
    NODE_BREAK,
    NODE_CONTINUE,
} node_kind_t;

typedef struct node node_t;
typedef struct {
    node_t **at;
    int n, space;
} nodes_t;

struct node {
    node_kind_t kind;
    int line;
    const char *text; /* a name, a string, an operator; n bytes and a NUL */
    size_t n;
    int64_t i;
    double f;
    node_t *a, *b, *c;
    nodes_t items;
    const char **names; /* of the last n_names items of a call, a filter, of a macro's arguments;
                           * operators of a comparison */
    int n_names;
    int function; /* a filter's or test's number */
    nodes_t body, other;
};

typedef struct {
    arena_t *arena;
    const token_t *at;
    int depth, loops; /* loops: that are open here */
    err_t *err;
} parser_t;

node_t *read_expression(parser_t *self); /* NULL: err; with commas: read_tuple */
node_t *read_tuple(parser_t *self);
node_t *read_new(parser_t *self, node_kind_t kind);
void read_push(parser_t *self, nodes_t *list, node_t *node);
bool read_is(const parser_t *self, token_kind_t kind, const char *text); /* text NULL: any */
bool read_take(parser_t *self, token_kind_t kind, const char *text);     /* and go on */
int read_expect(parser_t *self, token_kind_t kind, const char *text);
void *read_refuse(parser_t *self, err_code_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4))); /* NULL */
int read_deeper(parser_t *self);           /* and self->depth-- after */

struct jinja {
    arena_t *arena;
    nodes_t body;
};

/* --- values (jinja_value.c, jinja_print.c) --- */

typedef enum {
    VALUE_UNDEFINED,
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_STRING,
    VALUE_LIST,
    VALUE_TUPLE, /* as a list, printed otherwise */
    VALUE_DICT,
    VALUE_NAMESPACE,
    VALUE_LOOP,
    VALUE_FUNCTION, /* i: its number */
    VALUE_MACRO,
} value_kind_t;

typedef struct value value_t;
typedef struct list list_t;
typedef struct dict dict_t;
struct value {
    value_kind_t kind;
    union {
        bool b;
        int64_t i;
        double f;
        struct {
            const char *at;
            size_t n;
        } s; /* also of an undefined one: its name */
        list_t *list;
        dict_t *dict; /* of a namespace, too */
        struct loop *loop;
        const node_t *macro;
    };
};
struct list {
    value_t *at;
    size_t n, space;
};
struct dict {
    list_t keys, values;
};

typedef struct loop {
    list_t *items;
    size_t at;
} loop_t;

/* A variable of a scope. */
typedef struct var var_t;
struct var {
    const char *name;
    value_t value;
    var_t *next;
};
typedef struct scope scope_t;
struct scope {
    var_t *vars;
    scope_t *outer;
};

/* A rendering. */
typedef struct {
    arena_t *arena;
    size_t used;   /* bytes of values */
    int64_t steps; /* that are left */
    int depth, line;
    scope_t *scope, *top;
    str_t *out; /* may be that of a block or a macro */
    size_t n_out;
    int64_t now_s;
    enum { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE } flow;
    err_t *err;
} run_t;

static inline value_t value_bool(bool b)
{
    return (value_t){.kind = VALUE_BOOL, .b = b};
}
static inline value_t value_int(int64_t i)
{
    return (value_t){.kind = VALUE_INT, .i = i};
}
static inline value_t value_text(const char *at, size_t n)
{
    return (value_t){.kind = VALUE_STRING, .s = {at, n}};
}
static inline bool value_is_list(const value_t *v)
{
    return v->kind == VALUE_LIST || v->kind == VALUE_TUPLE;
}
static inline bool value_is_number(const value_t *v)
{
    return v->kind == VALUE_BOOL || v->kind == VALUE_INT || v->kind == VALUE_FLOAT;
}

int run_fail(run_t *run, err_code_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));              /* -1; the line is added */
int run_charge(run_t *run, size_t steps, size_t bytes); /* -1: a bound is reached */
int run_deeper(run_t *run);                             /* and run->depth-- after, when it is 0 */

const char *value_kind(const value_t *v); /* as Python calls it */
bool value_truth(const value_t *v);
double value_f64(const value_t *v);                              /* of a number */
int value_equal(run_t *run, const value_t *a, const value_t *b); /* 1, 0; -1: err */
int value_order(run_t *run, const value_t *a, const value_t *b, int *order);
int value_print(run_t *run, const value_t *v, str_t *out);            /* as str() */
int value_json(run_t *run, const value_t *v, int indent, str_t *out); /* indent -1: on one line */
int value_length(run_t *run, const value_t *v, int64_t *n);
int value_list(run_t *run, const value_t *v, list_t **list); /* what for goes over */
int value_contains(run_t *run, const value_t *in, const value_t *what, bool *out);
int value_copy(run_t *run, const char *at, size_t n, value_t *out); /* a string of its own */
int value_take(run_t *run, str_t *text, int status, value_t *out);  /* the same; text is freed */
int value_push(run_t *run, list_t *list, value_t v);
int value_new_list(run_t *run, value_kind_t kind, value_t *out);
int value_new_dict(run_t *run, value_kind_t kind, value_t *out);
int value_put(run_t *run, dict_t *dict, value_t key, value_t v);
int value_get(run_t *run, const dict_t *dict, const value_t *key, value_t *out); /* undefined */
int value_member(run_t *run, const value_t *v, const char *name, size_t n, value_t *out);
int value_index(run_t *run, const value_t *v, const value_t *key, value_t *out);
int value_slice(run_t *run, const value_t *v, const value_t *part, value_t *out); /* [3] */
int value_from_json(run_t *run, const json_t *json, value_t *out);
bool value_says(const value_t *v, const char *text); /* a string that is this text */

/* --- texts (jinja_text.c): UTF-8 of any bytes; a byte that is no character counts as one --- */

size_t text_count(const char *at, size_t n);
size_t text_skip(const char *at, size_t n, size_t characters); /* bytes */
bool text_is_ascii(const char *at, size_t n);
/* Without leading and trailing characters of a set; NULL: white space. */
value_t text_strip(const value_t *s, const value_t *set, bool left, bool right);

/* --- running (jinja_eval.c, jinja_run.c) --- */

int run_eval(run_t *run, const node_t *node, value_t *out);
int run_body(run_t *run, const nodes_t *body);
int run_macro(run_t *run, const node_t *macro, const list_t *args, const dict_t *named,
              value_t *out);
int run_set(run_t *run, const char *name, value_t v); /* in the inner scope */
value_t run_find(run_t *run, const char *name);
int run_math(run_t *run, char op, const value_t *a, const value_t *b, value_t *out);

/* --- filters (jinja_filter.c), tests (jinja_tests.c), methods and functions (jinja_call.c) --- */

typedef struct {
    const value_t *at;
    size_t n;
    const dict_t *named; /* NULL: none */
} args_t;

int filter_find(const char *name); /* -1: not known */
int filter_apply(run_t *run, int filter, const value_t *v, const args_t *args, value_t *out);
int test_find(const char *name);
int test_apply(run_t *run, int test, const value_t *v, const args_t *args, bool *out);
int call_method(run_t *run, const value_t *v, const char *name, const args_t *args, value_t *out);
int function_find(const char *name);
int function_call(run_t *run, int function, const args_t *args, value_t *out);
int text_method(run_t *run, const value_t *v, const char *name, const args_t *args, value_t *out);
int text_replace(run_t *run, const value_t *v, const value_t *from, const value_t *to, int64_t most,
                 value_t *out);

/* Argument i, or that of the name; NULL: it is not there. */
const value_t *args_get(const args_t *args, size_t i, const char *name);

#endif
