/* Attributes of MLIR bytecode as text: VHLO's and builtin's codes. */
#include <inttypes.h>
#include <string.h>

#include "parse/bytecode.h"

/* What a code stands for, whoever's it is. */
typedef enum {
    FORM_UNKNOWN,
    FORM_ARRAY,
    FORM_BOOLEAN,
    FORM_ENUM,
    FORM_DICT, /* names are VHLO strings or builtin's */
    FORM_FLOAT,
    FORM_INTEGER,
    FORM_ALIAS, /* output_operand_alias */
    FORM_STRING,
    FORM_TENSOR,
    FORM_TYPE,
    FORM_BOUNDS,
    FORM_ACCURACY,
    FORM_SYMBOL,
    FORM_UNIT,
    FORM_INTS, /* builtin's array<i64: ..> */
    FORM_NAME_LOC,
    FORM_LOC,
} form_t;

static const uint8_t vhlo_forms[] = {
    [1] = FORM_ARRAY,   [2] = FORM_BOOLEAN, [3] = FORM_ENUM,    [4] = FORM_ENUM,
    [5] = FORM_ENUM,    [6] = FORM_DICT,    [7] = FORM_ENUM,    [8] = FORM_FLOAT,
    [9] = FORM_INTEGER, [10] = FORM_ALIAS,  [11] = FORM_ENUM,   [12] = FORM_ENUM,
    [13] = FORM_ENUM,   [14] = FORM_STRING, [15] = FORM_TENSOR, [16] = FORM_ENUM,
    [17] = FORM_TYPE,   [18] = FORM_BOUNDS, [19] = FORM_ENUM,   [20] = FORM_ACCURACY,
};

static const uint8_t builtin_forms[] = {
    [0] = FORM_ARRAY,   [1] = FORM_DICT,      [2] = FORM_STRING, [3] = FORM_STRING,
    [4] = FORM_SYMBOL,  [6] = FORM_TYPE,      [7] = FORM_UNIT,   [8] = FORM_INTEGER,
    [9] = FORM_FLOAT,   [10] = FORM_LOC,      [11] = FORM_LOC,   [12] = FORM_LOC,
    [13] = FORM_LOC,    [14] = FORM_NAME_LOC, [15] = FORM_LOC,   [17] = FORM_INTS,
    [18] = FORM_TENSOR, [22] = FORM_LOC,
};

static int dialect_shown(const dialect_t *dialect)
{
    return (int)(dialect->name.n > 40 ? 40 : dialect->name.n);
}

/* The form of a coded attribute; *in is behind the code. */
static int read_head(bytecode_t *b, const entry_t *entry, bytes_t *in, uint64_t *code)
{
    const dialect_t *d = entry->dialect;
    form_t form = FORM_UNKNOWN;
    *in = entry->data;
    if (bytes_varint(b, in, code) < 0) return -1;
    if (d->kind == DIALECT_VHLO && *code < sizeof vhlo_forms) form = (form_t)vhlo_forms[*code];
    if (d->kind == DIALECT_BUILTIN && *code < sizeof builtin_forms)
        form = (form_t)builtin_forms[*code];
    if (form != FORM_UNKNOWN) return (int)form;
    if (d->kind == DIALECT_OTHER)
        return bytecode_fail(b, entry->data.at, ERR_UNSUPPORTED,
                             "an attribute of the dialect %.*s is in that dialect's own form; only "
                             "portable artifacts of StableHLO are read: write them with "
                             "stablehlo.serialize_portable_artifact or stablehlo-translate "
                             "--serialize, or export the model as text",
                             dialect_shown(d), d->name.at);
    return bytecode_fail(b, entry->data.at, ERR_UNSUPPORTED,
                         "attribute %" PRIu64 " of the dialect %.*s is unknown", *code,
                         dialect_shown(d), d->name.at);
}

static int sub_attr(bytecode_t *b, bytes_t *in, uint64_t *index)
{
    return bytes_index(b, in, b->attr.n, "attribute", index);
}

/* --- values --- */

static int array(bytecode_t *b, bytes_t *in, value_kind_t kind, str_t *out)
{
    uint64_t n, item;
    if (bytes_count(b, in, &n) < 0) return -1;
    str_add(out, "[");
    for (uint64_t i = 0; i < n; i++) {
        if (i) str_add(out, ", ");
        if (sub_attr(b, in, &item) < 0 || bytecode_attr_as(b, item, kind, out) < 0) return -1;
    }
    str_add(out, "]");
    return 0;
}

static int boolean(bytecode_t *b, bytes_t *in, str_t *out)
{
    uint64_t value;
    if (bytes_varint(b, in, &value) < 0) return -1;
    str_add(out, value ? "true" : "false");
    return 0;
}

static int enumeration(bytecode_t *b, bytes_t *in, uint64_t code, str_t *out)
{
    uint64_t value;
    const uint8_t *at = in->at;
    const char *name;
    if (bytes_varint(b, in, &value) < 0) return -1;
    const char *word = vhlo_word(code, value, &name);
    if (!word)
        return bytecode_fail(b, at, ERR_UNSUPPORTED, "%" PRIu64 " is no known %s", value, name);
    str_addf(out, "#stablehlo<%s %s>", name, word);
    return 0;
}

static int dict(bytecode_t *b, uint64_t index, str_t *out)
{
    nameds_t items = {0};
    int rc = bytecode_attr_dict(b, index, &items);
    str_add(out, "{");
    for (size_t i = 0; rc == 0 && i < items.n; i++) {
        if (i) str_add(out, ", ");
        bytecode_quoted(out, items.at[i].name);
        str_add(out, " = ");
        rc = bytecode_attr(b, items.at[i].value, out);
    }
    str_add(out, "}");
    VEC_FREE(&items);
    return rc;
}

/* A number's bits: one byte up to 8 bits, a signed varint behind. */
static int number_bits(bytecode_t *b, bytes_t *in, int bits, uint64_t *value)
{
    uint8_t byte;
    int64_t wide;
    if (bits <= 8 ? bytes_byte(b, in, &byte) : bytes_signed(b, in, &wide)) return -1;
    *value = bits <= 8 ? byte : (uint64_t)wide;
    if (bits < 64) *value &= ((uint64_t)1 << bits) - 1;
    return 0;
}

static int number(bytecode_t *b, bytes_t *in, bool is_float, str_t *out)
{
    uint64_t type, value;
    number_type_t t;
    const uint8_t *at = in->at;
    if (bytes_index(b, in, b->type.n, "type", &type) < 0 || bytecode_number_type(b, type, &t) < 0)
        return -1;
    int bits = is_float ? t.float_bits : t.int_bits;
    if (!bits) return bytecode_fail(b, at, ERR_UNSUPPORTED, "a number of a type that has none");
    if (number_bits(b, in, bits, &value) < 0) return -1;
    if (is_float)
        str_addf(out, "0x%0*" PRIX64, bits / 4, value);
    else if (bits == 1)
        str_add(out, value ? "true" : "false");
    else if (t.is_unsigned)
        str_addf(out, "%" PRIu64, value);
    else
        str_addf(out, "%" PRId64, (int64_t)(value << (64 - bits)) >> (64 - bits));
    if (!is_float && bits == 1) return 0;
    str_add(out, " : ");
    return bytecode_type(b, type, out);
}

static int ints(bytecode_t *b, bytes_t *in, str_t *out)
{
    uint64_t n;
    int64_t value;
    if (bytes_count(b, in, &n) < 0) return -1;
    str_add(out, "[");
    for (uint64_t i = 0; i < n; i++) {
        if (bytes_signed(b, in, &value) < 0) return -1;
        str_addf(out, "%s%" PRId64, i ? ", " : "", value);
    }
    str_add(out, "]");
    return 0;
}

static int alias(bytecode_t *b, bytes_t *in, str_t *out)
{
    int64_t operand;
    str_add(out, "#stablehlo.output_operand_alias<output_tuple_indices = ");
    if (ints(b, in, out) < 0 || bytes_signed(b, in, &operand) < 0) return -1;
    str_addf(out, ", operand_index = %" PRId64 ", operand_tuple_indices = ", operand);
    if (ints(b, in, out) < 0) return -1;
    str_add(out, ">");
    return 0;
}

static int bounds(bytecode_t *b, bytes_t *in, str_t *out)
{
    uint64_t n;
    int64_t value;
    if (bytes_count(b, in, &n) < 0) return -1;
    str_add(out, "#stablehlo.bounds<");
    for (uint64_t i = 0; i < n; i++) {
        if (bytes_signed(b, in, &value) < 0) return -1;
        if (i) str_add(out, ", ");
        if (value == INT64_MIN)
            str_add(out, "?");
        else
            str_addf(out, "%" PRId64, value);
    }
    str_add(out, ">");
    return 0;
}

static int accuracy(bytecode_t *b, bytes_t *in, str_t *out)
{
    int64_t bits[2], ulps;
    double tolerance[2];
    uint64_t mode;
    if (bytes_signed(b, in, &bits[0]) < 0 || bytes_signed(b, in, &bits[1]) < 0 ||
        bytes_signed(b, in, &ulps) < 0 || sub_attr(b, in, &mode) < 0)
        return -1;
    memcpy(tolerance, bits, sizeof tolerance);
    str_addf(out, "#stablehlo.result_accuracy<atol = %e, rtol = %e, ulps = %" PRId64 ", mode = ",
             tolerance[0], tolerance[1], ulps);
    if (bytecode_attr(b, mode, out) < 0) return -1;
    str_add(out, ">");
    return 0;
}

static int symbol(bytecode_t *b, span_t name, str_t *out)
{
    (void)b;
    str_add(out, "@");
    bytecode_quoted(out, name);
    return 0;
}

static int type_of(bytecode_t *b, bytes_t *in, str_t *out)
{
    uint64_t type;
    if (bytes_index(b, in, b->type.n, "type", &type) < 0) return -1;
    return bytecode_type(b, type, out);
}

static int dense(bytecode_t *b, bytes_t *in, str_t *out)
{
    uint64_t type, n;
    bytes_t blob;
    if (bytes_index(b, in, b->type.n, "type", &type) < 0 || bytes_varint(b, in, &n) < 0 ||
        bytes_take(b, in, n, &blob) < 0)
        return -1;
    return bytecode_dense(b, type, blob, out);
}

/* array<i64: ..>: the element type, their number, their bytes */
static int int_array(bytecode_t *b, bytes_t *in, str_t *out)
{
    uint64_t type, n, size;
    number_type_t t;
    bytes_t blob;
    const uint8_t *at = in->at;
    if (bytes_index(b, in, b->type.n, "type", &type) < 0 || bytes_varint(b, in, &n) < 0 ||
        bytes_varint(b, in, &size) < 0 || bytes_take(b, in, size, &blob) < 0 ||
        bytecode_number_type(b, type, &t) < 0)
        return -1;
    size_t width = (size_t)(t.int_bits + 7) / 8;
    if (width == 0 || size % width || size / width != n)
        return bytecode_fail(b, at, ERR_UNSUPPORTED, "an array of a type that is none of integers");
    str_add(out, "[");
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, blob.at + i * width, width); /* little-endian, as files are */
        int shift = 64 - 8 * (int)width;
        str_addf(out, "%s%" PRId64, i ? ", " : "", (int64_t)(bits << shift) >> shift);
    }
    str_add(out, "]");
    return 0;
}

/* --- the whole --- */

static int coded(bytecode_t *b, uint64_t index, value_kind_t kind, str_t *out)
{
    const entry_t *entry = &b->attr.at[index];
    bytes_t in;
    uint64_t code;
    span_t text;
    int form = read_head(b, entry, &in, &code);
    switch (form) {
    case FORM_ARRAY: return array(b, &in, kind == VALUE_SYMBOLS ? VALUE_SYMBOL : VALUE_PLAIN, out);
    case FORM_BOOLEAN: return boolean(b, &in, out);
    case FORM_ENUM: return enumeration(b, &in, code, out);
    case FORM_DICT: return dict(b, index, out);
    case FORM_FLOAT:
    case FORM_INTEGER: return number(b, &in, form == FORM_FLOAT, out);
    case FORM_ALIAS: return alias(b, &in, out);
    case FORM_TENSOR: return dense(b, &in, out);
    case FORM_TYPE: return type_of(b, &in, out);
    case FORM_BOUNDS: return bounds(b, &in, out);
    case FORM_ACCURACY: return accuracy(b, &in, out);
    case FORM_INTS: return int_array(b, &in, out);
    case FORM_SYMBOL: return bytecode_attr_string(b, index, &text) < 0 ? -1 : symbol(b, text, out);
    case FORM_STRING:
        if (bytecode_attr_string(b, index, &text) < 0) return -1;
        if (kind == VALUE_SYMBOL) return symbol(b, text, out);
        bytecode_quoted(out, text);
        return 0;
    case FORM_UNIT: str_add(out, "unit"); return 0;
    case FORM_NAME_LOC:
    case FORM_LOC: str_add(out, "unit"); return 0; /* places say nothing here */
    default: return -1;
    }
}

int bytecode_attr_as(bytecode_t *b, uint64_t index, value_kind_t kind, str_t *out)
{
    const entry_t *entry = &b->attr.at[index];
    if (bytecode_enter(b) < 0) return -1;
    int rc = 0;
    if (entry->coded && entry->dialect->kind == DIALECT_SDY) {
        str_add(out, "unit"); /* how to share work among devices: not read */
    } else if (entry->coded) {
        rc = coded(b, index, kind, out);
    } else {
        size_t n = (size_t)(entry->data.end - entry->data.at);
        str_addn(out, (const char *)entry->data.at, strnlen((const char *)entry->data.at, n));
    }
    b->depth--;
    return rc < 0 ? -1 : bytecode_room(b);
}

int bytecode_attr(bytecode_t *b, uint64_t index, str_t *out)
{
    return bytecode_attr_as(b, index, VALUE_PLAIN, out);
}

/* --- questions --- */

/* The attribute has this form; *in is behind its code. */
static int want(bytecode_t *b, uint64_t index, form_t form, const char *what, bytes_t *in)
{
    uint64_t code;
    const entry_t *entry = &b->attr.at[index];
    int got = entry->coded ? read_head(b, entry, in, &code) : (int)FORM_UNKNOWN;
    if (got < 0) return -1;
    if (got == (int)form) return 0;
    return bytecode_fail(b, entry->data.at, ERR_CORRUPT, "%s is another attribute", what);
}

int bytecode_attr_string(bytecode_t *b, uint64_t index, span_t *text)
{
    bytes_t in;
    uint64_t code, inner;
    const entry_t *entry = &b->attr.at[index];
    if (entry->coded && entry->dialect->kind == DIALECT_BUILTIN) {
        int form = read_head(b, entry, &in, &code);
        if (form < 0) return -1;
        if (form == FORM_SYMBOL) { /* a string's number */
            if (sub_attr(b, &in, &inner) < 0) return -1;
            if (want(b, inner, FORM_STRING, "a symbol's name", &in) < 0) return -1;
            return bytes_string(b, &in, text);
        }
    }
    return want(b, index, FORM_STRING, "a string", &in) < 0 ? -1 : bytes_string(b, &in, text);
}

int bytecode_attr_type(bytecode_t *b, uint64_t index, uint64_t *type)
{
    bytes_t in;
    if (want(b, index, FORM_TYPE, "a type", &in) < 0) return -1;
    return bytes_index(b, &in, b->type.n, "type", type);
}

int bytecode_attr_array(bytecode_t *b, uint64_t index, numbers_t *items)
{
    bytes_t in;
    uint64_t n, item;
    if (want(b, index, FORM_ARRAY, "an array", &in) < 0 || bytes_count(b, &in, &n) < 0) return -1;
    for (uint64_t i = 0; i < n; i++) {
        if (sub_attr(b, &in, &item) < 0) return -1;
        VEC_PUSH(items, item);
    }
    return 0;
}

int bytecode_attr_dict(bytecode_t *b, uint64_t index, nameds_t *items)
{
    bytes_t in;
    uint64_t n, name;
    if (want(b, index, FORM_DICT, "a dictionary", &in) < 0 || bytes_count(b, &in, &n) < 0)
        return -1;
    for (uint64_t i = 0; i < n; i++) {
        named_t item;
        if (sub_attr(b, &in, &name) < 0 || sub_attr(b, &in, &item.value) < 0 ||
            bytecode_attr_string(b, name, &item.name) < 0)
            return -1;
        VEC_PUSH(items, item);
    }
    return 0;
}

int bytecode_location_name(bytecode_t *b, uint64_t index, span_t *name)
{
    bytes_t in;
    uint64_t code, text;
    const entry_t *entry = &b->attr.at[index];
    *name = (span_t){0};
    if (!entry->coded || entry->dialect->kind != DIALECT_BUILTIN) return 0;
    in = entry->data;
    if (bytes_varint(b, &in, &code) < 0) return -1;
    if (code >= sizeof builtin_forms || builtin_forms[code] != FORM_NAME_LOC) return 0;
    return sub_attr(b, &in, &text) < 0 ? -1 : bytecode_attr_string(b, text, name);
}
