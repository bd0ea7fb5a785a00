/* Literals whose bytes lie in the file that the text was made of: dense_resource<3> : tensor<2xf32>,
 * where other texts have a name for the key. */
#include <string.h>

#include "base/file.h"
#include "base/spill.h"
#include "parse/bytecode.h"
#include "parse/refine.h"
#include "parse/wide.h"

/* The type; of a quantised tensor the stored integers. */
static int literal_type(parser_t *p, tensor_t *t)
{
    const char *at = p->tok.at;
    if (parse_type(p, &p->literal) < 0 || refine_static(p, &p->literal, at) < 0) return -1;
    const quant_t *q = wide_quant(p, &p->literal);
    t->type = q ? ir_type_with(p->literal, q->storage) : p->literal;
    return wide_is(&t->type) ? parse_fail(p, at, ERR_PARSE, "expected a tensor's type") : 0;
}

/* A byte for each element of less: 0 or 1, the sign extended, or the bits alone. */
static void take_narrow(const tensor_t *t, const uint8_t *from, int64_t n)
{
    uint8_t *to = t->data;
    int bits = dtype_bits(t->type.dtype);
    for (int64_t i = 0; i < n; i++) {
        uint8_t low = (uint8_t)(from[i] & ((1u << bits) - 1));
        if (t->type.dtype == DT_I1)
            to[i] = from[i] != 0;
        else if (dtype_is_signed(t->type.dtype) && low >> (bits - 1))
            to[i] = (uint8_t)(low | ~((1u << bits) - 1));
        else
            to[i] = low;
    }
}

/* Piece by piece, so that neither the file's pages nor those of the spill file need stay in memory. */
static void copy(parser_t *p, const blob_t *blob, uint8_t *to)
{
    enum { SMALL_BYTES = 64 << 10, PIECE_BYTES = 1 << 19 };
    for (size_t at = 0, some; at < blob->n; at += some) {
        some = blob->n - at < PIECE_BYTES ? blob->n - at : PIECE_BYTES;
        memcpy(to + at, blob->at + at, some);
        if (blob->n < SMALL_BYTES) continue;
        if (p->blob_mapped) file_pages_forget(blob->at + at, some);
        spill_rest(p->module->spill, to + at, some);
    }
}

static int take(parser_t *p, const char *at, const blob_t *blob, tensor_t *t)
{
    char text[IR_TYPE_TEXT];
    size_t count = (size_t)ir_type_count(&t->type), size = dtype_bytes(t->type.dtype);
    bool packed = t->type.dtype == DT_I1 && blob->n != count && blob->n == (count + 7) / 8;
    t->splat = !packed && count > 1 && blob->n == size;
    if (!packed && !t->splat && blob->n != count * size)
        return parse_fail(p, at, ERR_PARSE, "%zu bytes of data do not fill %s (%lld bytes)",
                          blob->n, ir_type_text(&t->type, text),
                          (long long)ir_type_bytes(&t->type));
    t->data = parse_room(p, (packed ? count : blob->n) + 1);
    if (!t->data) return -1;
    if (packed)
        for (size_t i = 0; i < count; i++) ((uint8_t *)t->data)[i] = blob->at[i / 8] >> (i % 8) & 1;
    else if (dtype_bits(t->type.dtype) < 8)
        take_narrow(t, blob->at, (int64_t)blob->n);
    else
        copy(p, blob, t->data);
    return 0;
}

int parse_blob(parser_t *p, tensor_t *t)
{
    int64_t number;
    const char *at = p->tok.at;
    if (parse_int(p, &number) < 0 || parse_expect(p, '>', ">") < 0 ||
        parse_expect(p, ':', ": and the literal's type") < 0 || literal_type(p, t) < 0)
        return -1;
    if (number < 0 || (size_t)number >= p->n_blob)
        return parse_fail(p, at, ERR_PARSE, "there is no such blob");
    return take(p, at, &p->blob[number], t);
}
