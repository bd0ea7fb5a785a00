/* Dense literals: the body comes before its type, so its end is found first (memchr), the type is
 * read, and the body is decoded straight into the tensor. Little-endian machines only.
 *
 * Large ones go piece by piece: what was read of a mapped text and what was written of a tensor in the
 * spill file need not stay in memory, so a text may hold more constants than the machine has memory. */
#include <string.h>

#include "parse/refine.h"
#include "parse/wide.h"

/* --- room --- */

enum { SMALL_BYTES = 64 << 10, PIECE_BYTES = 1 << 19 };

void *parse_room(parser_t *p, size_t n_bytes)
{
    if (n_bytes < SMALL_BYTES) return arena_alloc(p->arena, n_bytes);
    int64_t keep = p->options->keep_bytes ? p->options->keep_bytes : PARSE_KEEP_BYTES;
    if (!p->module->spill) p->module->spill = spill_new(keep < 0 ? 0 : (size_t)keep);
    void *at = spill_alloc(p->module->spill, n_bytes, p->err);
    if (!at) err_prefix(p->err, "%s: ", p->file);
    return at;
}

/* --- bytes in hex --- */

/* 256 entries: the digit, or 0x100 for a character that is none. */
typedef struct {
    uint16_t digit[256];
} hex_table_t;

static void hex_table(hex_table_t *t)
{
    for (int c = 0; c < 256; c++) t->digit[c] = 0x100;
    for (int i = 0; i < 10; i++) t->digit['0' + i] = (uint16_t)i;
    for (int i = 0; i < 6; i++) t->digit['a' + i] = t->digit['A' + i] = (uint16_t)(10 + i);
}

/* Decode n bytes; returns NULL, or the first character that is no hex digit. */
static const char *hex_decode(const char *at, size_t n, uint8_t *out)
{
    hex_table_t t;
    hex_table(&t);
    const unsigned char *in = (const unsigned char *)at;
    for (size_t i = 0; i < n; i++) {
        unsigned value = (unsigned)t.digit[in[2 * i]] << 4 | t.digit[in[2 * i + 1]];
        if (value > 0xFF) return at + 2 * i + (t.digit[in[2 * i]] <= 0xF);
        out[i] = (uint8_t)value;
    }
    return NULL;
}

/* Sub-byte elements take a byte each: i1 becomes 0 or 1, i4 and i2 are sign-extended, ui4 and ui2
 * are cut to their bits. */
static void normalise(const ir_type_t *type, uint8_t *at, int64_t n)
{
    int bits = dtype_bits(type->dtype);
    if (bits >= 8) return;
    for (int64_t i = 0; i < n; i++) {
        uint8_t low = (uint8_t)(at[i] & ((1u << bits) - 1));
        if (type->dtype == DT_I1)
            at[i] = at[i] != 0;
        else if (dtype_is_signed(type->dtype) && low >> (bits - 1))
            at[i] = (uint8_t)(low | ~((1u << bits) - 1));
        else
            at[i] = low;
    }
}

/* Bits, lowest first, to one byte each; backwards, so that it works in place. */
static void unpack_bits(uint8_t *at, int64_t n)
{
    for (int64_t i = n - 1; i >= 0; i--) at[i] = at[i / 8] >> (i % 8) & 1;
}

/* n bytes from hex digits; NULL, or the first character that is none. Bits are not unpacked yet. */
static const char *decode(parser_t *p, const char *digits, size_t n, bool packed, tensor_t *t)
{
    uint8_t *out = t->data;
    for (size_t at = 0, before = 0, some; at < n; before = at, at += some) {
        some = n - at < PIECE_BYTES ? n - at : PIECE_BYTES;
        const char *bad = hex_decode(digits + 2 * at, some, out + at);
        if (bad) return bad;
        if (!packed) normalise(&t->type, out + at, (int64_t)some);
        if (n < SMALL_BYTES) continue;
        lex_passed(&p->lex, digits + 2 * before, digits + 2 * (at + some));
        spill_rest(p->module->spill, out + at, some);
    }
    return NULL;
}

static int hex_size_error(parser_t *p, const char *at, size_t got, const ir_type_t *type)
{
    char text[IR_TYPE_TEXT];
    return parse_fail(p, at, ERR_PARSE, "%zu bytes of data do not fill %s (%lld bytes)", got,
                      ir_type_text(type, text), (long long)ir_type_bytes(type));
}

/* digits: the hex digits of `n_digits` characters, without 0x. may_splat: one element's bytes stand
 * for all. */
static int from_hex(parser_t *p, const char *digits, size_t n_digits, bool may_splat, tensor_t *t)
{
    size_t n = n_digits / 2, count = (size_t)ir_type_count(&t->type);
    size_t size = dtype_bytes(t->type.dtype);
    bool packed = t->type.dtype == DT_I1 && n != count && n == (count + 7) / 8;
    t->splat = may_splat && n == size && count > 1;
    if (t->splat && packed && n_digits == 2) /* 2 to 8 elements in one byte, or a splat */
        t->splat = !memcmp(digits, "00", 2) || !memcmp(digits, "01", 2) ||
                   !memcmp(digits, "FF", 2) || !memcmp(digits, "ff", 2);
    if (t->splat) packed = false;
    if (n_digits % 2 || (!t->splat && !packed && n != count * size))
        return hex_size_error(p, digits, n, &t->type);
    t->data = parse_room(p, packed ? count : n ? n : 1);
    if (!t->data) return -1;
    const char *bad = decode(p, digits, n, packed, t);
    if (bad) return parse_fail(p, bad, ERR_PARSE, "expected a hex digit, got '%c'", *bad);
    if (packed) unpack_bits(t->data, (int64_t)count);
    return 0;
}

/* The token is a string "0x..". */
static int from_hex_string(parser_t *p, token_t s, bool may_splat, size_t skip, tensor_t *t)
{
    if (s.n < 4 || memcmp(s.at, "\"0x", 3) != 0)
        return parse_fail(p, s.at, ERR_PARSE, "expected \"0x and hex digits");
    size_t n_digits = s.n - 4;
    if (n_digits < 2 * skip)
        return parse_fail(p, s.at, ERR_PARSE, "expected %zu bytes of alignment first", skip);
    return from_hex(p, s.at + 3 + 2 * skip, n_digits - 2 * skip, may_splat, t);
}

/* --- numbers --- */

static void store(const tensor_t *t, int64_t i, uint64_t bits)
{
    uint8_t *at = t->data;
    switch (dtype_bytes(t->type.dtype)) {
    case 1: at[i] = (uint8_t)bits; break;
    case 2: ((uint16_t *)t->data)[i] = (uint16_t)bits; break;
    case 4: ((uint32_t *)t->data)[i] = (uint32_t)bits; break;
    default: ((uint64_t *)t->data)[i] = bits; break;
    }
}

static int integer(parser_t *p, const char *from, const char *to, tensor_t *t, int64_t i)
{
    bool negative;
    uint64_t magnitude;
    int bits = dtype_bits(t->type.dtype);
    uint64_t top = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    if (!number_int(from, (size_t)(to - from), &negative, &magnitude) ||
        (!negative && magnitude > top) || (negative && magnitude > top / 2 + 1) ||
        (negative && magnitude && dtype_is_unsigned(t->type.dtype)))
        return parse_fail(p, from, ERR_PARSE, "expected an integer in the range of %s",
                          dtype_name(t->type.dtype));
    uint64_t value = negative ? 0 - magnitude : magnitude;
    store(t, i, value);
    normalise(&t->type, (uint8_t *)t->data + i, bits < 8);
    return 0;
}

static int floating(parser_t *p, const char *from, const char *to, tensor_t *t, int64_t i)
{
    const char *behind;
    double value;
    if (to - from > 2 && from[0] == '0' && from[1] == 'x') {
        bool negative;
        uint64_t bits;
        int width = dtype_bits(t->type.dtype);
        if (!number_int(from, (size_t)(to - from), &negative, &bits) ||
            (width < 64 && bits >> width))
            return parse_fail(p, from, ERR_PARSE, "expected the bits of one %s",
                              dtype_name(t->type.dtype));
        store(t, i, bits);
        return 0;
    }
    if (!number_f64(from, to, &behind, &value) || behind != to)
        return parse_fail(p, from, ERR_PARSE, "expected a number of type %s",
                          dtype_name(t->type.dtype));
    tensor_set_f64(t, i, value);
    return 0;
}

static bool ends_scalar(char c)
{
    return c == ',' || c == ']' || c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '[' ||
           c == '(' || c == '/';
}

/* One element that starts at *at. */
static int scalar(parser_t *p, const char **at, const char *end, tensor_t *t, int64_t i)
{
    const char *from = *at, *to = from;
    while (to < end && !ends_scalar(*to)) to++;
    *at = to;
    if (from == to) return parse_fail(p, from, ERR_PARSE, "expected a number");
    size_t n = (size_t)(to - from);
    bool is_true = n == 4 && !memcmp(from, "true", 4);
    if (is_true || (n == 5 && !memcmp(from, "false", 5))) {
        if (t->type.dtype != DT_I1)
            return parse_fail(p, from, ERR_PARSE, "true and false are for i1, not %s",
                              dtype_name(t->type.dtype));
        store(t, i, is_true);
        return 0;
    }
    return dtype_is_float(t->type.dtype) ? floating(p, from, to, t, i) : integer(p, from, to, t, i);
}

/* `(1.0, 2.0)`: the parts of element i. */
static int complex_number(parser_t *p, const char **at, const char *end, tensor_t *t, int64_t i)
{
    dtype_t part = dtype_part(t->type.dtype);
    tensor_t parts = {.type = ir_type_scalar(part), .data = t->data};
    if (**at != '(') return parse_fail(p, *at, ERR_PARSE, "expected ( of a complex number");
    for (int k = 0; k < 2; k++) {
        const char *from = lex_skip_blank(*at + 1, end), *to = from;
        while (to < end && !ends_scalar(*to) && *to != ')') to++;
        if (floating(p, from, to, &parts, 2 * i + k) < 0) return -1;
        *at = lex_skip_blank(to, end);
        if (*at == end || **at != ",)"[k])
            return parse_fail(p, *at, ERR_PARSE, "expected %c in a complex number", ",)"[k]);
    }
    ++*at;
    return 0;
}

/* --- nested lists --- */

typedef struct {
    const char *at, *end;
    int depth;                     /* brackets that are open */
    int64_t seen[IR_MAX_RANK + 1]; /* items of each open bracket */
    int64_t n;                     /* elements stored */
    const char *behind;            /* text up to here, and so many elements, are done with */
    int64_t n_behind;
} list_t;

static int close_bracket(parser_t *p, list_t *l, const ir_type_t *type)
{
    int64_t want = type->dim[l->depth - 1], got = l->seen[l->depth - 1];
    if (got != want)
        return parse_fail(p, l->at, ERR_PARSE, "expected %lld elements in dimension %d, got %lld",
                          (long long)want, l->depth - 1, (long long)got);
    l->depth--;
    l->at++;
    return 0;
}

/* An element, or an opening bracket. */
static int list_item(parser_t *p, list_t *l, tensor_t *t)
{
    int rank = t->type.rank;
    if (l->depth && ++l->seen[l->depth - 1] > t->type.dim[l->depth - 1])
        return parse_fail(p, l->at, ERR_PARSE, "more than %lld elements in dimension %d",
                          (long long)t->type.dim[l->depth - 1], l->depth - 1);
    if (*l->at != '[') {
        if (l->depth != rank)
            return parse_fail(p, l->at, ERR_PARSE, "expected [ of dimension %d", l->depth);
        return (dtype_is_complex(t->type.dtype) ? complex_number : scalar)(p, &l->at, l->end, t,
                                                                           l->n++);
    }
    if (l->depth == rank)
        return parse_fail(p, l->at, ERR_PARSE, "expected a number: the type has rank %d", rank);
    l->seen[l->depth++] = 0;
    l->at = lex_skip_blank(l->at + 1, l->end);
    return l->at < l->end && *l->at == ']' ? 0 : 1; /* 1: an item must follow */
}

/* A piece of the list is done with. */
static void pass_piece(parser_t *p, list_t *l, const tensor_t *t)
{
    enum { PAGE = 4096 };
    size_t size = dtype_bytes(t->type.dtype), from = (size_t)l->n_behind * size / PAGE * PAGE;
    lex_passed(&p->lex, l->behind, l->at);
    spill_rest(p->module->spill, (char *)t->data + from, (size_t)l->n * size - from);
    l->behind = l->at;
    l->n_behind = l->n;
}

static int nested_list(parser_t *p, const char *from, const char *end, tensor_t *t)
{
    list_t l = {.at = from, .end = end, .behind = from};
    bool item = true;
    do {
        l.at = lex_skip_blank(l.at, end);
        if (l.at == end) return parse_fail(p, l.at, ERR_PARSE, "expected ] before the end");
        if (l.at - l.behind >= 4 * PIECE_BYTES) pass_piece(p, &l, t);
        if (item) {
            int rc = list_item(p, &l, t);
            if (rc < 0) return -1;
            item = rc == 1;
        } else if (*l.at == ']') {
            if (close_bracket(p, &l, &t->type) < 0) return -1;
        } else if (*l.at == ',') {
            l.at++;
            item = true;
        } else {
            return parse_fail(p, l.at, ERR_PARSE, "expected , or ], got '%c'", *l.at);
        }
    } while (l.depth);
    l.at = lex_skip_blank(l.at, end);
    return l.at == end ? 0 : parse_fail(p, l.at, ERR_PARSE, "expected > of dense");
}

/* --- the whole --- */

/* A list whose elements have the same bits is a splat, so that equal constants look equal. */
static void find_splat(tensor_t *t)
{
    size_t n = (size_t)tensor_data_bytes(t), size = dtype_bytes(t->type.dtype);
    const char *at = t->data;
    if (!t->splat && n > size) t->splat = memcmp(at, at + size, n - size) == 0;
    if (!t->splat && n == size) t->splat = true;
}

static int body(parser_t *p, const char *from, const char *end, tensor_t *t)
{
    int64_t count = ir_type_count(&t->type);
    from = lex_skip_blank(from, end);
    if (from == end) {
        if (count == 0) return 0;
        return parse_fail(p, from, ERR_PARSE, "expected %lld elements", (long long)count);
    }
    if (*from == '"') {
        const lexer_t text = {.end = end, .mapped = p->lex.mapped};
        const char *behind = lex_string_end(&text, from);
        if (!behind || lex_skip_blank(behind, end) != end)
            return parse_fail(p, from, ERR_PARSE, "expected > after the string");
        return from_hex_string(p, (token_t){TOK_STRING, from, (size_t)(behind - from)}, true, 0, t);
    }
    bool is_list = *from == '[';
    if (is_list && count > end - from)
        return parse_fail(p, from, ERR_PARSE, "expected %lld elements; this list is shorter",
                          (long long)count);
    size_t n = is_list ? (size_t)count : 1;
    t->splat = !is_list;
    t->data = parse_room(p, n * dtype_bytes(t->type.dtype) + 1);
    if (!t->data) return -1;
    if (is_list) return nested_list(p, from, end, t);
    ir_type_t whole = t->type;
    t->type = ir_type_scalar(whole.dtype);
    int rc = nested_list(p, from, end, t);
    t->type = whole;
    return rc;
}

/* The closing > of a body that starts where the lexer stands; NULL if there is none. */
static const char *body_end(const lexer_t *lex)
{
    const char *at = lex_skip_blank(lex->at, lex->end);
    if (at < lex->end && *at == '"') {
        at = lex_string_end(lex, at);
        at = at ? lex_skip_blank(at, lex->end) : lex->end;
    }
    for (;;) {
        const char *hit = lex_find(lex, at, '>', '/');
        if (!hit || *hit == '>') return hit;
        at = lex_skip_blank(hit, lex->end); /* a comment may hold a > */
        if (at == hit) at++;
    }
}

/* The type of a literal; of a quantised tensor it has the stored integers. */
static int literal_type(parser_t *p, tensor_t *t)
{
    const char *at = p->tok.at;
    const char *type_at = p->tok.at;
    if (parse_type(p, &p->literal) < 0 || refine_static(p, &p->literal, type_at) < 0) return -1;
    const quant_t *q = wide_quant(p, &p->literal);
    t->type = q ? ir_type_with(p->literal, q->storage) : p->literal;
    return wide_is(&t->type) ? parse_fail(p, at, ERR_PARSE, "expected a tensor's type") : 0;
}

static const tensor_t *finish(parser_t *p, tensor_t *t)
{
    if (!t->data) t->data = arena_alloc(p->arena, 1);
    if (ir_type_count(&t->type) == 0) t->splat = false;
    find_splat(t);
    return arena_copy(p->arena, t, sizeof *t);
}

/* `dense<tensor<3xi32> : [..]>`; the token is the word tensor. */
static int typed_first(parser_t *p, tensor_t *t)
{
    if (literal_type(p, t) < 0) return -1;
    if (p->tok.kind != ':') return parse_expected(p, ":");
    const char *from = p->lex.at, *end = body_end(&p->lex);
    if (!end) return parse_fail(p, from, ERR_PARSE, "dense< is never closed");
    if (body(p, from, end, t) < 0) return -1;
    parse_jump(p, end + 1);
    return 0;
}

static int dense(parser_t *p, tensor_t *t)
{
    const char *open = p->tok.at, *from = lex_skip_blank(p->lex.at, p->lex.end);
    if (p->lex.end - from > 7 && !memcmp(from, "tensor<", 7)) {
        parse_next(p);
        return typed_first(p, t);
    }
    const char *end = body_end(&p->lex);
    if (!end) return parse_fail(p, open, ERR_PARSE, "dense< is never closed");
    parse_jump(p, end + 1);
    if (parse_expect(p, ':', ": and the literal's type") < 0) return -1;
    return literal_type(p, t) < 0 ? -1 : body(p, from, end, t);
}

/* Every `key: "0x.."` of `{-# dialect_resources: { builtin: { .. } } #-}`; the cursor is left
 * anywhere. */
static void list_resources(parser_t *p)
{
    parse_jump(p, p->resources);
    while (p->tok.kind != TOK_END && p->tok.kind != TOK_BAD) {
        token_t key = p->tok;
        parse_next(p);
        if (key.kind != TOK_ID && key.kind != TOK_STRING) continue;
        if (!parse_accept(p, ':') || p->tok.kind != TOK_STRING) continue;
        resource_t r = {.key = key, .value = p->tok};
        VEC_PUSH(&p->resource_list, r);
        parse_next(p);
    }
}

static resource_t *find_resource(parser_t *p, token_t key)
{
    int shown = (int)(key.n > 64 ? 64 : key.n);
    if (p->resources && !p->resource_list.n) list_resources(p);
    for (size_t i = 0; i < p->resource_list.n; i++) {
        resource_t *r = &p->resource_list.at[i];
        if (r->key.kind == key.kind && r->key.n == key.n && !memcmp(r->key.at, key.at, key.n))
            return r;
    }
    if (p->resources)
        parse_fail(p, key.at, ERR_PARSE, "resource '%.*s' is not in dialect_resources", shown,
                   key.at);
    else
        parse_fail(p, key.at, ERR_PARSE,
                   "resource '%.*s' is not there: the text has no {-# dialect_resources", shown,
                   key.at);
    return NULL;
}

/* A blob of which several constants are made is decoded once. */
static int read_resource(parser_t *p, resource_t *r, tensor_t *t)
{
    if (r->read.data && ir_type_equal(&r->read.type, &t->type)) {
        *t = r->read;
        return 0;
    }
    if (from_hex_string(p, r->value, false, 4, t) < 0) return -1;
    r->read = *t;
    return 0;
}

static int resource(parser_t *p, tensor_t *t)
{
    token_t key = p->tok;
    if (key.kind == TOK_INT && p->blob) return parse_blob(p, t);
    if (key.kind != TOK_ID && key.kind != TOK_STRING) return parse_expected(p, "a resource's key");
    if (lex_is(key, "__elided__"))
        return parse_fail(p, key.at, ERR_PARSE,
                          "the data of this constant was left out when the text was written "
                          "(__elided__); export it again with large constants");
    parse_next(p);
    if (parse_expect(p, '>', "> of dense_resource") < 0) return -1;
    if (parse_expect(p, ':', ": and the literal's type") < 0) return -1;
    if (literal_type(p, t) < 0) return -1;
    const char *here = p->tok.at;
    resource_t *r = find_resource(p, key);
    if (!r || read_resource(p, r, t) < 0) return -1;
    parse_jump(p, here);
    return 0;
}

int parse_literal(parser_t *p, const tensor_t **tensor)
{
    bool is_resource = parse_at(p, "dense_resource");
    if (!is_resource && !parse_at(p, "dense")) return parse_expected(p, "dense<..>");
    parse_next(p);
    if (p->tok.kind != '<') return parse_expected(p, "<");
    tensor_t t = {0};
    if (is_resource) parse_next(p);
    if ((is_resource ? resource(p, &t) : dense(p, &t)) < 0) return -1;
    *tensor = finish(p, &t);
    return 0;
}
