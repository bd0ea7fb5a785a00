/* The parser's state and the helpers its files share; private to parse/.
 *
 * Every function that reads something starts with the token under the cursor (p->tok) and leaves
 * the first token behind it there. Returns 0, or -1 with p->err set: the first error ends the
 * parse. */
#ifndef PARSE_PARSER_H
#define PARSE_PARSER_H

#include "base/vec.h"
#include "ir/build.h"
#include "ir/ir.h"
#include "ir/op.h"
#include "parse/lex.h"
#include "parse/names.h"
#include "parse/parse.h"

enum {
    PARSE_MAX_DEPTH = 256,
    PARSE_MAX_RESULTS = 1 << 16,
    PARSE_MAX_NESTED_ALIASES = 1 << 16, /* aliases inside aliases double with each level */
};

typedef VEC(ir_val_t) vals_t;
typedef VEC(ir_type_t) types_t;
typedef VEC(ir_region_t *) regions_t;
typedef VEC(int64_t) ints_t;
typedef VEC(token_t) tokens_t;
typedef VEC(ir_attrs_t) attrs_list_t;

/* `#name = value` or `!name = value` at the start of a line; `at` is the value. */
typedef struct {
    const char *name; /* with # or ! */
    size_t n;
    const char *at;
} alias_t;

/* A blob of `{-# dialect_resources`. */
typedef struct {
    token_t key, value;
    tensor_t read; /* of the last use; data NULL: none yet */
} resource_t;

/* A use of a function, checked when all are known. */
typedef struct {
    const char *at; /* in the text */
    const char *callee;
    int n_in, n_out;
    const ir_type_t *types;            /* of operands, then results, as written */
    const struct known_operand *known; /* n_in, or NULL (refine.h) */
} use_t;

/* The types of a function's arguments, then results, as written; one per function. */
typedef struct {
    int n_in, n_out;
    const ir_type_t *types;
} fn_types_t;

typedef struct wide wide_t; /* parse/wide.h */

/* A value that stands for others. */
typedef struct {
    ir_val_t value;
    size_t n;
    const ir_val_t *leaf;
} pack_t;

/* What is read and left out, or taken otherwise than it is written: one note for each kind. */
typedef enum { SEEN_CALLBACK, SEEN_SHARDING, SEEN_COMPARE, N_SEEN } seen_kind_t;
typedef struct {
    int n, line;      /* how often; the first */
    const char *what; /* of the first, in the arena */
} parse_seen_t;

typedef struct {
    lexer_t lex;
    token_t tok;
    const char *behind; /* the end of the token before */
    const char *file;
    const parse_options_t *options;
    uint64_t shapes_used; /* bit k: rule k of options->shapes named an argument */
    err_t *err;
    ir_module_t *module;
    arena_t *arena; /* the module's */
    ir_fn_t *fn;    /* being read */
    names_t names;
    names_t functions; /* value: the place in the module */
    int depth;         /* of regions, attributes and aliases */
    int first_line;    /* number of the text's first line */
    int line;          /* of line_at; both only move forward */
    const char *line_at;
    int alias_depth, n_nested_aliases;
    const char *resources;   /* where {-# stands, or NULL */
    const struct blob *blob; /* bytes that dense_resource<N> stands for, or NULL */
    size_t n_blob;
    bool blob_mapped; /* they lie in a read-only mapping of a file */
    VEC(alias_t) aliases;
    VEC(use_t) uses;
    VEC(fn_types_t) fn_types;
    VEC(wide_t) wide;
    VEC(pack_t) packs;             /* of fn, in order of their values */
    int64_t n_leaf;                /* tensors that tuples stood for so far */
    ir_type_t literal;             /* the last literal's type as written */
    VEC(resource_t) resource_list; /* read at the first use */
    size_t isolated;               /* names before this one may be used again */
    const char *scope;             /* of a nested module: its functions are "scope.name"; or NULL */
    int64_t n_device;              /* that the text is written for, as far as it says */
    parse_seen_t seen[N_SEEN];     /* what the module's notes tell of */
} parser_t;

/* --- cursor.c: tokens and errors --- */
void parse_next(parser_t *p);
bool parse_at(const parser_t *p, const char *word); /* the token is an id spelled so */
bool parse_accept(parser_t *p, int kind);
bool parse_accept_word(parser_t *p, const char *word);
int parse_expect(parser_t *p, int kind, const char *what);
int parse_expect_word(parser_t *p, const char *word);
/* Always -1. `at` is a place in the text. */
int parse_fail(parser_t *p, const char *at, err_code_t code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int parse_expected(parser_t *p, const char *what); /* "expected what, got <token>" */
int parse_enter(parser_t *p);                      /* one level deeper; -1 beyond the limit */
void parse_leave(parser_t *p);
int parse_line_of(parser_t *p, const char *at); /* `at` never moves backwards */
/* Put the cursor at a place in the text. */
void parse_jump(parser_t *p, const char *at);
const alias_t *parse_alias(const parser_t *p, token_t tok);
/* Move the cursor to an alias's value, and back to `behind`. */
int parse_enter_alias(parser_t *p, const alias_t *alias);
void parse_leave_alias(parser_t *p, const char *behind);
int parse_skip_balanced(parser_t *p); /* the token is a bracket */
int parse_location(parser_t *p);      /* an optional loc(..) is skipped */
/* The name in loc("name") or loc("name"(..)), through aliases; NULL for places in files. Nothing is
 * consumed; the token is `loc`. -1 in p->err for a bad string. */
const char *parse_location_name(parser_t *p);
int parse_string(parser_t *p, const char **text); /* unescaped, in the arena */
/* The unescaped bytes of a quoted range, in the arena; *n their number; NULL on a bad escape. */
const char *parse_unescape(parser_t *p, token_t quoted, size_t *n);
int parse_int(parser_t *p, int64_t *value);
/* `[1, 2, -3]` */
int parse_int_list(parser_t *p, ints_t *out);
char *parse_dup(parser_t *p, token_t tok, size_t skip); /* the token's bytes from `skip` on */
/* A symbol's name without the sign and quotes. */
int parse_symbol(parser_t *p, const char **name);

/* --- number.c --- */
/* Sign and magnitude of an integer token; false when it does not fit in 64 bits. */
bool number_int(const char *at, size_t n, bool *negative, uint64_t *magnitude);
/* A decimal number, correctly rounded; *behind is the position after it; false if there is none. */
bool number_f64(const char *at, const char *end, const char **behind, double *value);

/* --- types.c --- */
int parse_type(parser_t *p, ir_type_t *type);
/* `T, U` up to something else, or `(T, U)`; appended. */
int parse_type_list(parser_t *p, types_t *types);
int parse_type_group(parser_t *p, types_t *types);
/* A type that is a tensor of plain elements; ERR_UNSUPPORTED otherwise. */
int parse_plain_type(parser_t *p, ir_type_t *type);
/* As ir_type_text, also for tuples and their like. */
const char *parse_type_text(const parser_t *p, const ir_type_t *type, char buf[IR_TYPE_TEXT]);
/* Skip any type, also those the IR does not have. */
int parse_skip_type(parser_t *p);

/* --- literal.c --- */
/* `dense<..> : T` or `dense_resource<..> : T`; the token is the word. p->literal is T; the tensor
 * has what is stored of it. */
int parse_literal(parser_t *p, const tensor_t **tensor);
/* Room for a tensor's elements that lives as long as the module: large ones may lie in its spill file.
 * NULL with an error. */
void *parse_room(parser_t *p, size_t n_bytes);

/* --- blob.c --- */
/* `N> : T` behind `dense_resource<`, where N is the number of a blob. */
int parse_blob(parser_t *p, tensor_t *t);

/* --- attribute.c --- */
/* A value; struct attributes come back as a dictionary with *is_struct set (NULL: not wanted). */
int parse_attribute(parser_t *p, ir_attr_t *attr, bool *is_struct);
/* `{a = 1, "b" = 2, c}` with the given closing character, added to attrs; the token is behind the
 * opening bracket. Struct attributes are flattened into attrs. */
int parse_attributes(parser_t *p, ir_attrs_t *attrs, int closing);
/* `{..}` if there is one. */
int parse_optional_attributes(parser_t *p, ir_attrs_t *attrs);
void parse_set_ints(parser_t *p, ir_attrs_t *attrs, const char *name, const ints_t *ints);
/* `[b, 0, f]x[0, i, o]->[b, 0, f]`, added as conv's member attributes. */
int parse_conv_dims(parser_t *p, ir_attrs_t *attrs);
/* Text between two places, kept as it is. */
ir_attr_t parse_raw(parser_t *p, const char *from, const char *to);

/* --- signature.c, operation.c --- */
/* What a region returned, as written. */
typedef struct {
    const ir_type_t *type;
    size_t n;
} yield_t;

/* An op while it is read. */
typedef struct draft draft_t;
/* Make the op, or what stands for it, in `into`; its results are *first and those behind it. */
typedef int op_finish_t(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);
struct draft {
    token_t name;        /* as written, for messages */
    op_finish_t *finish; /* NULL: parse_emit */
    ir_region_t *into;
    op_code_t code;
    const op_def_t *def;
    int line;
    vals_t in;
    types_t out;
    regions_t region;
    VEC(yield_t) yield; /* of each region */
    vals_t inner;       /* what a region that is spliced in gave */
    ir_attrs_t attrs;
};

void draft_fini(draft_t *self);

/* Names and types of a region's arguments that were read before its `{`. */
typedef struct {
    tokens_t name;
    types_t type;
} block_args_t;

int parse_operand(parser_t *p, vals_t *out);
/* `%a, %b`, possibly none; appended */
int parse_operands(parser_t *p, vals_t *out);
/* `(T, U) -> V`, checked against the operands; or, without parenthesis, `T` for every operand and
 * result, or one type per operand (and result). The token is `:`. */
int parse_signature(parser_t *p, draft_t *d);
/* The part from `(` on. */
int parse_function_type(parser_t *p, draft_t *d);
/* The types after `->`: one, or a group. */
int parse_result_types(parser_t *p, draft_t *d);
/* Operand i has this type? */
/* Dimensions that were left open (refine.h) become the operand's. */
int parse_check_operand(parser_t *p, const draft_t *d, size_t i, ir_type_t *type, const char *at);
/* A region `{..}`; args NULL: they stand in a label ^bb0(..), or there are none. Appended to d. */
int parse_region(parser_t *p, draft_t *d, const block_args_t *args);
/* Ops up to the terminator and `}` (consumed); results are appended. */
int parse_block(parser_t *p, ir_region_t *into, vals_t *results);
/* `(%a: T loc(..) {..}, ..)` behind the label or in front of a pretty region; appended. */
int parse_block_args(parser_t *p, block_args_t *args);
void block_args_fini(block_args_t *self);
int parse_properties(parser_t *p, ir_attrs_t *attrs); /* `<{..}>`, if there is one */
/* Make the names stand for values from `first` on, the tensors behind the arguments. */
int parse_bind_args(parser_t *p, const block_args_t *args, ir_val_t first);
/* The types of those tensors, appended. */
int parse_arg_types(parser_t *p, const block_args_t *args, types_t *out);

/* A function's name as the module has it: with the names of the modules around it. */
const char *parse_scoped(parser_t *p, const char *name);

/* --- notes.c --- */
void parse_note(parser_t *p, seen_kind_t kind, int line, const char *what);
/* The notes as lines of text into the module. */
void parse_write_notes(parser_t *p);

/* --- foreign.c --- */
/* -1 when the bytes are of some other format: the error names it and what makes text of it. */
int parse_foreign(parser_t *p);

/* --- alias.c --- */
/* The name of the op in StableHLO or CHLO for one in MHLO (`mhlo.add`), whose ops these two took
 * over; other names as they are. The bytes are the text's or the arena's. */
token_t parse_op_alias(parser_t *p, token_t name);

/* --- emit.c --- */
/* As many operands, results and regions as d->def says? */
int parse_check_counts(parser_t *p, const draft_t *d);
/* A comparison's type that does not fit its integers is dropped: these say how they compare. */
void parse_settle_compare(parser_t *p, draft_t *d);
/* promote.c: convert operands to the wider types that the op's regions compute in. */
void parse_promote(parser_t *p, draft_t *d, ir_region_t *into);
/* Append the op, or what stands for it, to `into`; its results are *first and those behind it. */
int parse_emit(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first);

/* --- text_op.c: ops that are gone once the text is read --- */
typedef struct {
    const char *name;
    const op_def_t *def;
    int (*form)(parser_t *p, draft_t *d); /* NULL: as def->form has it */
    op_finish_t *finish;
} text_op_t;
const text_op_t *parse_text_op(token_t name); /* NULL if it is none */
const char *parse_refusal(token_t name);      /* why an op is refused; NULL if unknown */

/* --- form.c: one function per op_form_t; the token is behind the op's name --- */
int parse_form(parser_t *p, draft_t *d);
/* --- form_region.c --- */
int form_reduce(parser_t *p, draft_t *d);
int form_while(parser_t *p, draft_t *d);
/* --- form_call.c --- */
int form_call(parser_t *p, draft_t *d);
int form_custom_call(parser_t *p, draft_t *d);
int form_composite(parser_t *p, draft_t *d);
int form_check(parser_t *p, draft_t *d);
int form_chlo(parser_t *p, draft_t *d);
int form_top_k(parser_t *p, draft_t *d);
/* --- form_dot.c --- */
int form_dot(parser_t *p, draft_t *d);
int form_convolution(parser_t *p, draft_t *d);
/* stablehlo.dot's contraction, once operands and types are known. */
int form_legacy_dot(parser_t *p, draft_t *d);

/* --- function.c --- */
/* Everything at the top level, to the end of the text. */
int parse_top(parser_t *p);

#endif
