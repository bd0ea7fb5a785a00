/* Attribute values and dictionaries, normalised as ir/attr.h says. What has no meaning here is kept
 * as text (ATTR_RAW). */
#include <string.h>

#include "ir/struct_attr.h"
#include "parse/parser.h"

enum { MAX_ATTRIBUTES = 1024, MAX_LIST_OF_DENSE = 4096 };

ir_attr_t parse_raw(parser_t *p, const char *from, const char *to)
{
    ir_attr_t attr = {.kind = ATTR_RAW};
    attr.text = arena_strndup(p->arena, from, (size_t)(to - from));
    return attr;
}

void parse_set_ints(parser_t *p, ir_attrs_t *attrs, const char *name, const ints_t *ints)
{
    static const int64_t none = 0;
    attr_set_ints(p->arena, attrs, name, ints->n ? ints->at : &none, (int)ints->n);
}

/* The token's text up to where the cursor stands after `skip`. */
static int raw_skip(parser_t *p, int (*skip)(parser_t *), ir_attr_t *attr)
{
    const char *from = p->tok.at;
    if (skip(p) < 0) return -1;
    *attr = parse_raw(p, from, p->behind);
    return 0;
}

/* A word and the bracket behind it, if any: #d.name<..>, loc(..), affine_map<..> */
static int skip_word(parser_t *p)
{
    parse_next(p);
    return p->tok.kind == '<' || p->tok.kind == '(' ? parse_skip_balanced(p) : 0;
}

/* `: type` behind a number; *is_float says whether the type is one of floats. */
static int number_type(parser_t *p, dtype_t *dtype)
{
    *dtype = DT_NONE;
    if (!parse_accept(p, ':')) return 0;
    if (p->tok.kind == TOK_ID) *dtype = dtype_parse(p->tok.at, p->tok.n);
    return parse_skip_type(p);
}

/* Attributes hold integers as i64. What is beyond: hex stands for the bits, a ui64 stays as it is
 * written, others are wrong. */
static int large_int(parser_t *p, token_t t, dtype_t dtype, ir_attr_t *attr)
{
    if (dtype != DT_UI64)
        return parse_fail(p, t.at, ERR_PARSE,
                          "this integer does not fit into an i64; up to 18446744073709551615 go "
                          "into a ui64");
    *attr = parse_raw(p, t.at, p->behind);
    return 0;
}

static int number_value(parser_t *p, ir_attr_t *attr)
{
    token_t t = p->tok;
    dtype_t dtype;
    bool negative;
    uint64_t magnitude;
    const char *behind;
    parse_next(p);
    if (number_type(p, &dtype) < 0) return -1;
    if (t.kind == TOK_FLOAT) {
        attr->kind = ATTR_FLOAT;
        if (number_f64(t.at, t.at + t.n, &behind, &attr->f)) return 0;
        return parse_fail(p, t.at, ERR_PARSE, "expected a number");
    }
    if (!number_int(t.at, t.n, &negative, &magnitude))
        return parse_fail(p, t.at, ERR_PARSE, "this integer does not fit in 64 bits");
    bool is_hex = t.n > 2 && t.at[1] == 'x';
    if (magnitude > (uint64_t)INT64_MAX + negative && (!is_hex || dtype == DT_UI64))
        return large_int(p, t, dtype, attr);
    attr->kind = ATTR_INT;
    attr->i = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    if (!dtype_is_float(dtype)) return 0;
    attr->kind = ATTR_FLOAT;
    uint8_t bits[8];
    memcpy(bits, &attr->i, sizeof bits); /* hex is the bit pattern */
    tensor_t one = {.type = ir_type_scalar(dtype), .splat = true, .data = bits};
    attr->f = is_hex ? tensor_get_f64(&one, 0) : (double)attr->i;
    return 0;
}

/* Integer tensors become lists of numbers, except under the name `value` (see parse_attributes). */
static void tensor_to_ints(parser_t *p, ir_attr_t *attr)
{
    const tensor_t *t = attr->tensor;
    int64_t n = ir_type_count(&t->type);
    if (dtype_is_inexact(t->type.dtype) || n > MAX_LIST_OF_DENSE) return;
    int64_t *ints = ARENA_ARRAY(p->arena, int64_t, n + 1);
    for (int64_t i = 0; i < n; i++) {
        ints[i] = tensor_get_i64(t, i);
        if (t->type.dtype == DT_UI64 && ints[i] < 0) return; /* beyond an i64: stays a tensor */
    }
    *attr = (ir_attr_t){.name = attr->name, .kind = ATTR_INTS, .ints = ints, .n = (int)n};
}

static int skip_dense(parser_t *p)
{
    if (skip_word(p) < 0) return -1;
    return parse_accept(p, ':') ? parse_skip_type(p) : 0;
}

/* Run `parse`; when it meets something the IR does not have, skip it and keep the text. */
static int or_raw(parser_t *p, int (*parse)(parser_t *, ir_attr_t *), int (*skip)(parser_t *),
                  ir_attr_t *attr)
{
    const char *from = p->tok.at;
    int depth = p->depth, alias_depth = p->alias_depth;
    if (parse(p, attr) == 0) return 0;
    if (p->err->code != ERR_UNSUPPORTED) return -1;
    err_clear(p->err);
    p->depth = depth;
    p->alias_depth = alias_depth;
    parse_jump(p, from);
    return raw_skip(p, skip, attr);
}

static int dense_value(parser_t *p, ir_attr_t *attr)
{
    attr->kind = ATTR_TENSOR;
    return parse_literal(p, &attr->tensor);
}

static int type_value(parser_t *p, ir_attr_t *attr)
{
    ir_type_t type;
    if (parse_plain_type(p, &type) < 0) return -1;
    attr->kind = ATTR_TYPE;
    attr->type = arena_copy(p->arena, &type, sizeof type);
    return 0;
}

typedef VEC(ir_attr_t) items_t;

static int list_items(parser_t *p, items_t *items, bool *all_ints)
{
    *all_ints = true;
    if (parse_accept(p, ']')) return 0;
    do {
        ir_attr_t item = {0};
        if (parse_attribute(p, &item, NULL) < 0) return -1;
        *all_ints = *all_ints && item.kind == ATTR_INT;
        VEC_PUSH(items, item);
    } while (parse_accept(p, ','));
    return parse_expect(p, ']', ", or ] of the list");
}

/* Items that are read; ints when all of them are. */
static void set_list(parser_t *p, const items_t *items, bool all_ints, ir_attr_t *attr)
{
    attr->n = (int)items->n;
    attr->kind = all_ints ? ATTR_INTS : ATTR_LIST;
    if (!all_ints) {
        attr->items = arena_copy(p->arena, items->at, items->n * sizeof *items->at);
        return;
    }
    int64_t *ints = ARENA_ARRAY(p->arena, int64_t, items->n + 1);
    for (size_t i = 0; i < items->n; i++) ints[i] = items->at[i].i;
    attr->ints = ints;
}

static int list_value(parser_t *p, ir_attr_t *attr)
{
    items_t items = {0};
    bool all_ints;
    parse_next(p);
    int rc = list_items(p, &items, &all_ints);
    if (rc == 0) set_list(p, &items, all_ints, attr);
    VEC_FREE(&items);
    return rc;
}

static int array_items(parser_t *p, items_t *items, bool *all_ints)
{
    *all_ints = true;
    if (p->tok.kind != TOK_ID) return parse_expected(p, "an element type");
    parse_next(p);
    if (!parse_accept(p, ':')) return parse_expect(p, '>', ": or > of the array");
    do {
        ir_attr_t item = {0};
        if (parse_at(p, "true") || parse_at(p, "false")) {
            item = (ir_attr_t){.kind = ATTR_INT, .i = parse_at(p, "true")};
            parse_next(p);
        } else if (p->tok.kind != TOK_INT && p->tok.kind != TOK_FLOAT) {
            return parse_expected(p, "a number");
        } else if (number_value(p, &item) < 0) {
            return -1;
        }
        *all_ints = *all_ints && item.kind == ATTR_INT;
        VEC_PUSH(items, item);
    } while (parse_accept(p, ','));
    return parse_expect(p, '>', ", or > of the array");
}

/* array<i64: 1, 2>; the token is the word. */
static int array_value(parser_t *p, ir_attr_t *attr)
{
    items_t items = {0};
    bool all_ints;
    parse_next(p);
    int rc = parse_expect(p, '<', "< after array");
    if (rc == 0) rc = array_items(p, &items, &all_ints);
    if (rc == 0) set_list(p, &items, all_ints, attr);
    VEC_FREE(&items);
    return rc;
}

static int dict_value(parser_t *p, ir_attr_t *attr)
{
    ir_attrs_t dict = {0};
    parse_next(p);
    if (parse_attributes(p, &dict, '}') < 0) return -1;
    *attr = (ir_attr_t){.kind = ATTR_DICT, .items = dict.at, .n = dict.n};
    return 0;
}

static int string_value(parser_t *p, ir_attr_t *attr)
{
    size_t n;
    const char *text = parse_unescape(p, p->tok, &n);
    if (!text) return -1;
    *attr = (ir_attr_t){.kind = ATTR_STRING, .text = text};
    if (strlen(text) != n) *attr = parse_raw(p, p->tok.at, p->tok.at + p->tok.n);
    parse_next(p);
    return 0;
}

static int skip_token(parser_t *p)
{
    parse_next(p);
    return 0;
}

/* --- # --- */

/* Members of a struct attribute behind its `<`; those that are absent get [] or 0. */
static int struct_members(parser_t *p, const struct_attr_t *s, ir_attrs_t *members)
{
    if (parse_attributes(p, members, '>') < 0) return -1;
    for (const char *const *m = s->member; *m; m++) {
        if (attr_find(members, *m)) continue;
        if (struct_attr_is_scalar(*m))
            attr_set_int(p->arena, members, *m, 0);
        else
            parse_set_ints(p, members, *m, &(ints_t){0});
    }
    return 0;
}

/* `#mhlo.gather` for "#stablehlo.gather". */
static bool is_stem(token_t hash, const char *mnemonic)
{
    const char *stem = strchr(mnemonic, '.');
    size_t n = strlen(stem), n_head = strlen("#mhlo");
    return hash.n == n_head + n && memcmp(hash.at + n_head, stem, n) == 0;
}

static const struct_attr_t *find_struct(token_t hash)
{
    bool is_mhlo = hash.n > 6 && memcmp(hash.at, "#mhlo.", 6) == 0;
    for (const struct_attr_t *s = struct_attrs; s->holder; s++)
        if (lex_is(hash, s->mnemonic) || (is_mhlo && is_stem(hash, s->mnemonic))) return s;
    return NULL;
}

static int struct_value(parser_t *p, const struct_attr_t *s, ir_attr_t *attr)
{
    ir_attrs_t members = {0};
    parse_next(p);
    if (parse_expect(p, '<', "< of the struct attribute") < 0) return -1;
    if (s->op == OP_convolution && p->tok.kind == '[') {
        if (parse_conv_dims(p, &members) < 0 || parse_expect(p, '>', ">") < 0) return -1;
    } else {
        if (s->op == OP_convolution) parse_accept_word(p, "raw");
        if (struct_members(p, s, &members) < 0) return -1;
    }
    *attr = (ir_attr_t){.kind = ATTR_DICT, .items = members.at, .n = members.n};
    return 0;
}

static int alias_value(parser_t *p, const alias_t *alias, ir_attr_t *attr, bool *is_struct)
{
    const char *behind = p->lex.at;
    if (parse_enter_alias(p, alias) < 0 || parse_attribute(p, attr, is_struct) < 0) return -1;
    parse_leave_alias(p, behind);
    return 0;
}

/* `<comparison_direction LT>` behind #stablehlo or #chlo. */
static bool enum_value(parser_t *p, ir_attr_t *attr)
{
    if (p->tok.kind != '<') return false;
    parse_next(p);
    bool ok = p->tok.kind == TOK_ID;
    parse_next(p);
    ok = ok && p->tok.kind == TOK_ID;
    token_t word = p->tok;
    parse_next(p);
    if (!ok || p->tok.kind != '>') return false;
    parse_next(p);
    attr->kind = ATTR_ENUM;
    attr->text = parse_dup(p, word, 0);
    return true;
}

static int hash_value(parser_t *p, ir_attr_t *attr, bool *is_struct)
{
    token_t hash = p->tok;
    const alias_t *alias = parse_alias(p, hash);
    if (alias) return alias_value(p, alias, attr, is_struct);
    const struct_attr_t *s = find_struct(hash);
    if (s && is_struct) {
        *is_struct = true;
        return struct_value(p, s, attr);
    }
    if (lex_is(hash, "#stablehlo") || lex_is(hash, "#chlo") || lex_is(hash, "#mhlo")) {
        parse_next(p);
        if (enum_value(p, attr)) return 0;
        parse_jump(p, hash.at);
    } else if (!memchr(hash.at, '.', hash.n)) {
        const char *behind = lex_skip_blank(p->lex.at, p->lex.end);
        if (behind == p->lex.end || *behind != '<')
            return parse_fail(p, hash.at, ERR_PARSE, "'%.*s' is not defined in this text",
                              (int)(hash.n > 64 ? 64 : hash.n), hash.at);
    }
    return raw_skip(p, skip_word, attr);
}

/* --- values --- */

static int word_value(parser_t *p, ir_attr_t *attr)
{
    bool is_true = parse_at(p, "true");
    if (is_true || parse_at(p, "false")) {
        *attr = (ir_attr_t){.kind = ATTR_BOOL, .i = is_true};
        parse_next(p);
        return 0;
    }
    if (parse_accept_word(p, "unit")) {
        attr->kind = ATTR_UNIT;
        return 0;
    }
    if (parse_at(p, "dense") || parse_at(p, "dense_resource"))
        return or_raw(p, dense_value, skip_dense, attr);
    if (parse_at(p, "array")) return array_value(p, attr);
    if (parse_at(p, "tensor")) return or_raw(p, type_value, parse_skip_type, attr);
    const char *behind = lex_skip_blank(p->lex.at, p->lex.end);
    bool bracket = behind < p->lex.end && (*behind == '<' || *behind == '(');
    bool is_type = dtype_parse(p->tok.at, p->tok.n) != DT_NONE || parse_at(p, "index") ||
                   parse_at(p, "none") || parse_at(p, "tf32");
    if (bracket || is_type) return raw_skip(p, skip_word, attr);
    return parse_expected(p, "an attribute's value");
}

static int value(parser_t *p, ir_attr_t *attr, bool *is_struct)
{
    switch (p->tok.kind) {
    case TOK_INT:
    case TOK_FLOAT: return number_value(p, attr);
    case TOK_STRING: return string_value(p, attr);
    case '[': return list_value(p, attr);
    case '{': return dict_value(p, attr);
    case '(': return raw_skip(p, parse_skip_type, attr);
    case TOK_BANG: return or_raw(p, type_value, parse_skip_type, attr);
    case TOK_HASH: return hash_value(p, attr, is_struct);
    case TOK_ID: return word_value(p, attr);
    case TOK_SYMBOL:
        if (memchr(p->tok.at, ':', p->tok.n)) return raw_skip(p, skip_token, attr);
        attr->kind = ATTR_SYMBOL;
        return parse_symbol(p, &attr->text);
    default: return parse_expected(p, "an attribute's value");
    }
}

int parse_attribute(parser_t *p, ir_attr_t *attr, bool *is_struct)
{
    *attr = (ir_attr_t){0};
    if (parse_enter(p) < 0 || value(p, attr, is_struct) < 0) return -1;
    parse_leave(p);
    return 0;
}

/* --- dictionaries --- */

static int add_attribute(parser_t *p, ir_attrs_t *attrs, ir_attr_t attr, const char *at)
{
    if (attr_find(attrs, attr.name))
        return parse_fail(p, at, ERR_PARSE, "attribute '%.64s' is given twice", attr.name);
    if (attrs->n == MAX_ATTRIBUTES)
        return parse_fail(p, at, ERR_PARSE, "more than %d attributes", MAX_ATTRIBUTES);
    attr_set(p->arena, attrs, attr);
    return 0;
}

/* `name`, or `name = value`. */
static int entry(parser_t *p, ir_attrs_t *attrs)
{
    token_t name = p->tok;
    ir_attr_t attr = {0};
    const char *text;
    if (name.kind == TOK_STRING) {
        if (parse_string(p, &text) < 0) return -1;
    } else if (name.kind == TOK_ID) {
        text = parse_dup(p, name, 0);
        parse_next(p);
    } else {
        return parse_expected(p, "an attribute's name");
    }
    bool is_struct = false;
    if (parse_accept(p, '=') && parse_attribute(p, &attr, &is_struct) < 0) return -1;
    for (int i = 0; is_struct && i < attr.n; i++)
        if (add_attribute(p, attrs, attr.items[i], name.at) < 0) return -1;
    if (is_struct) return 0;
    attr.name = text;
    if (attr.kind == ATTR_TENSOR && strcmp(text, "value") != 0) tensor_to_ints(p, &attr);
    return add_attribute(p, attrs, attr, name.at);
}

int parse_attributes(parser_t *p, ir_attrs_t *attrs, int closing)
{
    const char what[] = {',', ' ', 'o', 'r', ' ', (char)closing, '\0'};
    while (p->tok.kind != closing) {
        if (entry(p, attrs) < 0) return -1;
        if (p->tok.kind != closing && parse_expect(p, ',', what) < 0) return -1;
    }
    parse_next(p);
    return 0;
}

int parse_optional_attributes(parser_t *p, ir_attrs_t *attrs)
{
    return parse_accept(p, '{') ? parse_attributes(p, attrs, '}') : 0;
}
