/* Types that only the text has: tuples, tokens and quantised tensors. Private to parse/.
 *
 * While a text is read such a type is an ir_type_t whose dtype lies beyond DT_COUNT: the place of
 * its description in the parser's list, where each is there once, so that types compare as others
 * do. A value of such a type stands for tensors, its leaves: those of a tuple's members in order,
 * none of a token's, one of a quantised tensor's (the stored integers). Ops, regions and functions
 * are made of leaves, so that nothing behind the parser knows of these types. */
#ifndef PARSE_WIDE_H
#define PARSE_WIDE_H

#include "parse/parser.h"

/* A text of n bytes may have tuples of SPARE_LEAVES + n / BYTES_PER_LEAF tensors in all. */
enum { WIDE_MAX_TYPES = 1 << 12, WIDE_SPARE_LEAVES = 256, WIDE_BYTES_PER_LEAF = 8 };

typedef enum { WIDE_TUPLE, WIDE_TOKEN, WIDE_QUANT } wide_kind_t;

/* real = (stored - zero[k]) * scale[k], k the index along `axis`; StableHLO, "Quantized types". */
typedef struct {
    dtype_t storage, expressed;
    int64_t min, max; /* of what is stored */
    int axis;         /* -1: one scale for all */
    int n;            /* scales and zero points */
    const double *scale;
    const int64_t *zero;
    ir_attrs_t attrs; /* of its conversions, once there is one */
} quant_t;

struct wide {
    wide_kind_t kind;
    uint64_t hash;
    const char *text; /* for messages */
    int n_item;       /* of a tuple */
    const ir_type_t *item;
    int64_t n_leaf;
    quant_t quant;
};

static inline bool wide_is(const ir_type_t *type)
{
    return type->dtype > DT_COUNT;
}

/* The description of a type for which wide_is holds. */
const wide_t *wide_of(const parser_t *p, const ir_type_t *type);
/* The same for quantised tensors; NULL for all other types. */
const quant_t *wide_quant(const parser_t *p, const ir_type_t *type);
/* The dtype of a description; adds it unless an equal one is there. DT_NONE with an error. */
dtype_t wide_intern(parser_t *p, const wide_t *wide, const char *at);

/* `tuple<..>` and `!stablehlo.token`; the token is the word. */
int wide_tuple_type(parser_t *p, ir_type_t *type);
int wide_token_type(parser_t *p, ir_type_t *type);

/* The tensor types behind a type, appended; charges them to the text (see above). */
int wide_leaf_types(parser_t *p, const ir_type_t *type, types_t *out);
/* n new values of these types, in a row, whose leaves are those in `leaf` one after the other;
 * returns the first. */
ir_val_t wide_values(parser_t *p, size_t n, const ir_type_t *types, ir_val_t leaf);
ir_val_t wide_value(parser_t *p, const ir_type_t *type, const ir_val_t *leaf, size_t n);
/* The leaves of a value, appended: itself, unless it was made by the two above. */
void wide_leaves(const parser_t *p, ir_val_t value, vals_t *out);

#endif
