/* Types of MLIR bytecode as text: VHLO's and builtin's codes, whose forms are the same where both
 * have the type. */
#include <inttypes.h>
#include <string.h>

#include "parse/bytecode.h"

/* What a code stands for, whoever's it is. */
typedef enum {
    FORM_UNKNOWN,
    FORM_PLAIN, /* `word` */
    FORM_COMPLEX,
    FORM_FUNCTION,
    FORM_TENSOR,
    FORM_ENCODED_TENSOR,
    FORM_UNRANKED,
    FORM_TUPLE,
    FORM_QUANT,
    FORM_QUANT_AXIS,
    FORM_BUFFER,
    FORM_FUTURE,
    FORM_INTEGER, /* builtin's: width and sign follow */
} form_t;

typedef struct {
    form_t form;
    uint64_t code;
    const char *word;
    bool is_vhlo;
} head_t;

/* VHLO's types with parameters, by their codes. */
static const uint8_t vhlo_forms[] = {
    [1] = FORM_COMPLEX, [8] = FORM_FUNCTION, [20] = FORM_TENSOR,   [21] = FORM_ENCODED_TENSOR,
    [23] = FORM_TUPLE,  [24] = FORM_QUANT,   [25] = FORM_UNRANKED, [30] = FORM_QUANT_AXIS,
    [41] = FORM_BUFFER, [42] = FORM_FUTURE,
};

static const struct {
    uint8_t form;
    const char *word;
} builtin_types[] = {
    [0] = {FORM_INTEGER, NULL},   [1] = {FORM_PLAIN, "index"},        [2] = {FORM_FUNCTION, NULL},
    [3] = {FORM_PLAIN, "bf16"},   [4] = {FORM_PLAIN, "f16"},          [5] = {FORM_PLAIN, "f32"},
    [6] = {FORM_PLAIN, "f64"},    [9] = {FORM_COMPLEX, NULL},         [12] = {FORM_PLAIN, "none"},
    [13] = {FORM_TENSOR, NULL},   [14] = {FORM_ENCODED_TENSOR, NULL}, [15] = {FORM_TUPLE, NULL},
    [18] = {FORM_UNRANKED, NULL},
};

static int unknown(bytecode_t *b, const uint8_t *at, const dialect_t *dialect, uint64_t code)
{
    return bytecode_fail(b, at, ERR_UNSUPPORTED, "type %" PRIu64 " of the dialect %.*s is unknown",
                         code, (int)(dialect->name.n > 40 ? 40 : dialect->name.n),
                         dialect->name.at);
}

static int read_head(bytecode_t *b, const entry_t *entry, bytes_t *in, head_t *head)
{
    *head = (head_t){.is_vhlo = entry->dialect->kind == DIALECT_VHLO};
    *in = entry->data;
    if (bytes_varint(b, in, &head->code) < 0) return -1;
    uint64_t code = head->code;
    if (head->is_vhlo) {
        head->word = vhlo_plain_type(code);
        head->form = head->word                 ? FORM_PLAIN
                     : code < sizeof vhlo_forms ? (form_t)vhlo_forms[code]
                                                : FORM_UNKNOWN;
    } else if (entry->dialect->kind == DIALECT_BUILTIN &&
               code < sizeof builtin_types / sizeof *builtin_types) {
        head->form = (form_t)builtin_types[code].form;
        head->word = builtin_types[code].word;
    }
    return head->form == FORM_UNKNOWN ? unknown(b, entry->data.at, entry->dialect, code) : 0;
}

/* --- parts --- */

static int element(bytecode_t *b, bytes_t *in, str_t *out)
{
    uint64_t type;
    if (bytes_index(b, in, b->type.n, "type", &type) < 0) return -1;
    return bytecode_type(b, type, out);
}

static int elements(bytecode_t *b, bytes_t *in, const char *open, const char *close, str_t *out)
{
    uint64_t n;
    if (bytes_count(b, in, &n) < 0) return -1;
    str_add(out, open);
    for (uint64_t i = 0; i < n; i++) {
        if (i) str_add(out, ", ");
        if (element(b, in, out) < 0) return -1;
    }
    str_add(out, close);
    return 0;
}

/* `2x?x` */
static int shape(bytecode_t *b, bytes_t *in, str_t *out)
{
    uint64_t n;
    int64_t dim;
    if (bytes_count(b, in, &n) < 0) return -1;
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *at = in->at;
        if (bytes_signed(b, in, &dim) < 0) return -1;
        if (dim == INT64_MIN)
            str_add(out, "?x");
        else if (dim < 0)
            return bytecode_fail(b, at, ERR_CORRUPT, "a dimension of %" PRId64, dim);
        else
            str_addf(out, "%" PRId64 "x", dim);
    }
    return 0;
}

static int tensor(bytecode_t *b, bytes_t *in, const char *word, bool encoded, str_t *out)
{
    uint64_t encoding = 0;
    str_addf(out, "%s<", word);
    if (encoded && bytes_index(b, in, b->attr.n, "attribute", &encoding) < 0) return -1;
    if (shape(b, in, out) < 0 || element(b, in, out) < 0) return -1;
    if (encoded) {
        str_add(out, ", ");
        if (bytecode_attr(b, encoding, out) < 0) return -1;
    }
    str_add(out, ">");
    return 0;
}

static int integer(bytecode_t *b, bytes_t *in, str_t *out)
{
    static const char *const sign[] = {"i", "si", "ui", "i"};
    uint64_t both;
    if (bytes_varint(b, in, &both) < 0) return -1;
    str_addf(out, "%s%" PRIu64, sign[both & 3], both >> 2);
    return 0;
}

/* --- quantised elements --- */

typedef struct {
    uint64_t flags, storage, expressed, axis;
    int64_t min, max;
} quant_head_t;

static int scale(bytecode_t *b, bytes_t *in, str_t *out)
{
    int64_t bits;
    double value;
    if (bytes_signed(b, in, &bits) < 0) return -1;
    memcpy(&value, &bits, sizeof value);
    str_addf(out, "%.17e", value);
    return 0;
}

/* `!quant.uniform<i8<-127:127>:f32` and the axis */
static int quant_open(bytecode_t *b, const quant_head_t *q, bool has_axis, str_t *out)
{
    str_add(out, "!quant.uniform<");
    if (bytecode_type(b, q->storage, out) < 0) return -1;
    str_addf(out, "<%" PRId64 ":%" PRId64 ">:", q->min, q->max);
    if (bytecode_type(b, q->expressed, out) < 0) return -1;
    if (has_axis) str_addf(out, ":%" PRIu64, q->axis);
    str_add(out, has_axis ? ", {" : ", ");
    return 0;
}

static int quant_types(bytecode_t *b, bytes_t *in, quant_head_t *q)
{
    if (bytes_varint(b, in, &q->flags) < 0 ||
        bytes_index(b, in, b->type.n, "type", &q->storage) < 0)
        return -1;
    return bytes_index(b, in, b->type.n, "type", &q->expressed);
}

static int quant(bytecode_t *b, bytes_t *in, str_t *out)
{
    quant_head_t q = {0};
    str_t text = {0};
    int64_t zero;
    int rc = quant_types(b, in, &q);
    if (rc == 0) rc = scale(b, in, &text);
    if (rc == 0) rc = bytes_signed(b, in, &zero);
    if (rc == 0) rc = bytes_signed(b, in, &q.min);
    if (rc == 0) rc = bytes_signed(b, in, &q.max);
    if (rc == 0) rc = quant_open(b, &q, false, out);
    if (rc == 0) str_addf(out, "%s:%" PRId64 ">", str_text(&text), zero);
    str_fini(&text);
    return rc;
}

/* Scales, then as many zero points. */
static int quant_axis(bytecode_t *b, bytes_t *in, str_t *out)
{
    quant_head_t q = {0};
    uint64_t n, n_zero;
    if (quant_types(b, in, &q) < 0 || bytes_varint(b, in, &q.axis) < 0 ||
        bytes_signed(b, in, &q.min) < 0 || bytes_signed(b, in, &q.max) < 0 ||
        bytes_count(b, in, &n) < 0 || quant_open(b, &q, true, out) < 0)
        return -1;
    bytes_t scales = *in;
    int64_t value;
    for (uint64_t i = 0; i < n; i++)
        if (bytes_signed(b, in, &value) < 0) return -1;
    if (bytes_count(b, in, &n_zero) < 0) return -1;
    if (n != n_zero)
        return bytecode_fail(b, in->at, ERR_CORRUPT, "there are not as many zero points as scales");
    for (uint64_t i = 0; i < n; i++) {
        if (i) str_add(out, ", ");
        if (scale(b, &scales, out) < 0 || bytes_signed(b, in, &value) < 0) return -1;
        str_addf(out, ":%" PRId64, value);
    }
    str_add(out, "}>");
    return 0;
}

/* --- the whole --- */

static int function(bytecode_t *b, bytes_t *in, str_t *out)
{
    return elements(b, in, "(", ") -> ", out) < 0 ? -1 : elements(b, in, "(", ")", out);
}

static int coded(bytecode_t *b, const entry_t *entry, str_t *out)
{
    bytes_t in;
    head_t head;
    if (read_head(b, entry, &in, &head) < 0) return -1;
    switch (head.form) {
    case FORM_PLAIN: str_add(out, head.word); return 0;
    case FORM_INTEGER: return integer(b, &in, out);
    case FORM_FUNCTION: return function(b, &in, out);
    case FORM_TENSOR:
    case FORM_ENCODED_TENSOR:
        return tensor(b, &in, "tensor", head.form == FORM_ENCODED_TENSOR, out);
    case FORM_BUFFER: return tensor(b, &in, "memref", false, out);
    case FORM_TUPLE: return elements(b, &in, "tuple<", ">", out);
    case FORM_QUANT: return quant(b, &in, out);
    case FORM_QUANT_AXIS: return quant_axis(b, &in, out);
    default: break;
    }
    static const char *const open[] = {[FORM_COMPLEX] = "complex<",
                                       [FORM_UNRANKED] = "tensor<*x",
                                       [FORM_FUTURE] = "!stablehlo.future<"};
    str_add(out, open[head.form]);
    if (element(b, &in, out) < 0) return -1;
    str_add(out, ">");
    return 0;
}

int bytecode_type(bytecode_t *b, uint64_t index, str_t *out)
{
    const entry_t *entry = &b->type.at[index];
    if (bytecode_enter(b) < 0) return -1;
    int rc = 0;
    if (entry->coded) {
        rc = coded(b, entry, out);
    } else {
        size_t n = (size_t)(entry->data.end - entry->data.at);
        str_addn(out, (const char *)entry->data.at, strnlen((const char *)entry->data.at, n));
    }
    b->depth--;
    return rc < 0 ? -1 : bytecode_room(b);
}

/* --- questions --- */

static int numbers(bytecode_t *b, bytes_t *in, numbers_t *out)
{
    uint64_t n, type;
    if (bytes_count(b, in, &n) < 0) return -1;
    for (uint64_t i = 0; i < n; i++) {
        if (bytes_index(b, in, b->type.n, "type", &type) < 0) return -1;
        VEC_PUSH(out, type);
    }
    return 0;
}

int bytecode_function_type(bytecode_t *b, uint64_t index, numbers_t *in, numbers_t *results)
{
    const entry_t *entry = &b->type.at[index];
    bytes_t data;
    head_t head = {0};
    if (entry->coded && read_head(b, entry, &data, &head) < 0) return -1;
    if (head.form != FORM_FUNCTION)
        return bytecode_fail(b, entry->data.at, ERR_CORRUPT, "a function's type is another");
    return numbers(b, &data, in) < 0 ? -1 : numbers(b, &data, results);
}

int bytecode_tensor(bytecode_t *b, uint64_t index, uint64_t *count, bool *boolean)
{
    const entry_t *entry = &b->type.at[index];
    bytes_t in, part;
    head_t head = {0}, of = {0};
    uint64_t n, type, encoding;
    *boolean = false;
    *count = 1;
    if (!entry->coded) return -1;
    if (read_head(b, entry, &in, &head) < 0) return -1;
    bool encoded = head.form == FORM_ENCODED_TENSOR;
    if (encoded && bytes_varint(b, &in, &encoding) < 0) return -1;
    if (head.form != FORM_TENSOR && !encoded) return -1;
    if (bytes_count(b, &in, &n) < 0) return -1;
    for (uint64_t i = 0; i < n; i++) {
        int64_t dim;
        if (bytes_signed(b, &in, &dim) < 0) return -1;
        if (dim < 0 || __builtin_mul_overflow(*count, (uint64_t)dim, count)) return -1;
    }
    if (bytes_index(b, &in, b->type.n, "type", &type) < 0) return -1;
    const entry_t *inner = &b->type.at[type];
    if (!inner->coded || read_head(b, inner, &part, &of) < 0) return -1;
    *boolean = of.is_vhlo && of.word && strcmp(of.word, "i1") == 0;
    if (of.form == FORM_INTEGER && bytes_varint(b, &part, &n) == 0) *boolean = n >> 2 == 1;
    return 0;
}

int bytecode_number_type(bytecode_t *b, uint64_t index, number_type_t *out)
{
    static const uint8_t builtin_floats[] = {[3] = 16, [4] = 16, [5] = 32, [6] = 64};
    const entry_t *entry = &b->type.at[index];
    bytes_t in;
    head_t head;
    uint64_t both;
    *out = (number_type_t){0};
    if (!entry->coded) return 0;
    if (read_head(b, entry, &in, &head) < 0) return -1;
    if (head.is_vhlo) {
        out->int_bits = vhlo_integer_bits(head.code);
        out->float_bits = vhlo_float_bits(head.code);
        out->is_unsigned = head.word && head.word[0] == 'u';
    } else if (head.form == FORM_INTEGER) {
        if (bytes_varint(b, &in, &both) < 0) return -1;
        out->int_bits = both >> 2 <= 64 ? (int)(both >> 2) : 0;
        out->is_unsigned = (both & 3) == 2;
    } else if (head.form == FORM_PLAIN) {
        out->int_bits = head.code == 1 ? 64 : 0;
        out->float_bits = head.code < sizeof builtin_floats ? builtin_floats[head.code] : 0;
    }
    return 0;
}
