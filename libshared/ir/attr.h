/* Attributes of ops, functions and arguments: a name and a value.
 *
 * Lists of dimensions are ATTR_INTS however they were spelled (array<i64: ..>, [..], dense<..>).
 * Struct attributes are flattened into their members: #stablehlo.gather<offset_dims = [1], ..>
 * becomes attributes offset_dims, collapsed_slice_dims, ... ; window = {..} and #stablehlo.dot<..>
 * and #stablehlo.conv<..> likewise (names in ir/op_list.h). Plain data in the module's arena. */
#ifndef IR_ATTR_H
#define IR_ATTR_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/tensor.h"

typedef enum {
    ATTR_UNIT,   /* present, no value */
    ATTR_BOOL,   /* i */
    ATTR_INT,    /* i */
    ATTR_FLOAT,  /* f */
    ATTR_STRING, /* text: the unescaped bytes, NUL-terminated */
    ATTR_ENUM,   /* text: LT, HIGHEST, THREE_FRY */
    ATTR_SYMBOL, /* text: a function's name without @ */
    ATTR_INTS,   /* ints[n] */
    ATTR_TENSOR, /* tensor */
    ATTR_TYPE,   /* type */
    ATTR_LIST,   /* items[n], names unused */
    ATTR_DICT,   /* items[n] */
    ATTR_RAW,    /* text: anything else, as written, kept and printed back */
} attr_kind_t;

typedef struct ir_attr {
    const char *name;
    attr_kind_t kind;
    union {
        int64_t i;
        double f;
        const char *text;
        const int64_t *ints;
        const tensor_t *tensor;
        const ir_type_t *type;
        const struct ir_attr *items;
    };
    int n; /* ATTR_INTS, ATTR_LIST, ATTR_DICT */
} ir_attr_t;

typedef struct {
    ir_attr_t *at; /* sorted by name */
    int n;
} ir_attrs_t;

const ir_attr_t *attr_find(const ir_attrs_t *attrs, const char *name); /* NULL if absent */
int64_t attr_int(const ir_attrs_t *attrs, const char *name, int64_t fallback);
bool attr_bool(const ir_attrs_t *attrs, const char *name, bool fallback);
const char *attr_text(const ir_attrs_t *attrs, const char *name, const char *fallback);
/* The list, or NULL with *n = 0. */
const int64_t *attr_ints(const ir_attrs_t *attrs, const char *name, int *n);

/* Add or replace, keeping the order by name. Everything the value points at is borrowed: put it
 * into the same arena. */
void attr_set(arena_t *arena, ir_attrs_t *attrs, ir_attr_t value);
void attr_set_int(arena_t *arena, ir_attrs_t *attrs, const char *name, int64_t i);
void attr_set_bool(arena_t *arena, ir_attrs_t *attrs, const char *name, bool b);
void attr_set_text(arena_t *arena, ir_attrs_t *attrs, const char *name, attr_kind_t kind,
                   const char *text); /* copied */
void attr_set_ints(arena_t *arena, ir_attrs_t *attrs, const char *name, const int64_t *ints,
                   int n); /* copied */
void attr_remove(ir_attrs_t *attrs, const char *name);

bool attr_equal(const ir_attr_t *a, const ir_attr_t *b);
bool attrs_equal(const ir_attrs_t *a, const ir_attrs_t *b);
uint64_t attrs_hash(const ir_attrs_t *attrs); /* equal attributes hash alike */

#endif
