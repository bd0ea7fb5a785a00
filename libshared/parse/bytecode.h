/* MLIR bytecode with the VHLO dialect (StableHLO's portable artifacts) to StableHLO text, which the
 * parser reads; private to parse/.
 *
 * The bytes are untrusted: each read is checked against the end of its section, each number against
 * its table, and the text against a multiple of the file's size. Large constants do not pass through
 * the text: it says dense_resource<N>, and blob N is a range of the file (parse/blob.c). Facts: "MLIR
 * Bytecode Format" of MLIR's documentation, and VHLO's codes of attributes and types. */
#ifndef PARSE_BYTECODE_H
#define PARSE_BYTECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum {
    BYTECODE_CONTAINER = 6,   /* the newest version of the container that is known */
    BYTECODE_VHLO_MINOR = 22, /* of VHLO 1: the newest whose codes are known */
    BYTECODE_MAX_DEPTH = 64,  /* of attributes and types in each other, and of regions */
};

/* A range of the file that is read from its start. */
typedef struct {
    const uint8_t *at, *end;
} bytes_t;

typedef struct {
    const char *at;
    size_t n;
} span_t;

/* A constant's bytes in the file. */
typedef struct blob {
    const uint8_t *at;
    size_t n;
} blob_t;

typedef enum { DIALECT_OTHER, DIALECT_BUILTIN, DIALECT_VHLO, DIALECT_SDY } dialect_kind_t;

typedef struct {
    span_t name;
    dialect_kind_t kind;
} dialect_t;

/* An attribute or a type: in its dialect's own codes, or as text that ends with NUL. */
typedef struct {
    const dialect_t *dialect;
    bytes_t data;
    bool coded;
} entry_t;
typedef VEC(entry_t) entries_t;

typedef struct vhlo_op vhlo_op_t;

typedef struct {
    const dialect_t *dialect;
    span_t name;           /* without the dialect */
    const vhlo_op_t *vhlo; /* NULL: of another dialect, or unknown */
    bool unregistered;
} op_name_t;

typedef struct {
    uint64_t number; /* its name in the text: %number, or %arg<number> */
    uint64_t type;
    uint32_t index; /* among the results of one op */
    bool is_arg, is_one_of, is_defined;
} value_t;

typedef struct {
    const uint8_t *all, *end;
    const char *file;
    err_t *err;
    uint64_t version;     /* of the container */
    const char *producer; /* ends with NUL */
    int major, minor;     /* of VHLO; -1: the producer does not say */
    VEC(span_t) string;
    VEC(dialect_t) dialect;
    VEC(op_name_t) op;
    entries_t attr, type;
    VEC(bytes_t) property;
    VEC(value_t) value;
    size_t scope;             /* where the values of the innermost isolated region start */
    uint64_t n_arg, n_result; /* names that the function has given so far */
    int depth;
    size_t max_text;
    str_t out;
    VEC(blob_t) blob;
} bytecode_t;

/* What a property or attribute of an op means, by its name. */
typedef enum {
    VALUE_PLAIN,
    VALUE_SYMBOL,   /* a string that names a function */
    VALUE_SYMBOLS,  /* an array of them */
    VALUE_CHANNEL,  /* a number: the channel's */
    VALUE_UNIT,     /* true: there; false: absent */
    VALUE_ALGORITHM /* a part of dot_general's algorithm */
} value_kind_t;

/* An op of one version: its name with _v1, and the names of its properties, sorted, a blank between
 * two. */
struct vhlo_op {
    const char *name, *attrs;
};
const vhlo_op_t *vhlo_op_find(span_t name); /* NULL if unknown */
/* By number from 0; NULL behind the last. */
const char *vhlo_op_at(size_t i, const char **attrs);
value_kind_t vhlo_value_kind(span_t attr);
/* The attribute may be left out when its value is VHLO's word for absent, as `text` prints it. */
bool vhlo_is_absent(span_t attr, const char *text);
/* The word of an enumeration's attribute by its VHLO code: *name is the enumeration's; NULL if the
 * number is none of them. */
const char *vhlo_word(uint64_t code, uint64_t value, const char **name);
/* A type without parameters, by its VHLO code; NULL if it is none. */
const char *vhlo_plain_type(uint64_t code);
int vhlo_integer_bits(uint64_t code); /* of a VHLO type, 0: no integer; 64 for index */
int vhlo_float_bits(uint64_t code);   /* 0: no float that attributes have */

/* --- bytecode_bytes.c: reads, each -1 with an error past the end --- */
int bytecode_fail(bytecode_t *b, const uint8_t *at, err_code_t code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int bytes_byte(bytecode_t *b, bytes_t *in, uint8_t *value);
int bytes_varint(bytecode_t *b, bytes_t *in, uint64_t *value);
int bytes_signed(bytecode_t *b, bytes_t *in, int64_t *value);
/* A number of things that take a byte or more each. */
int bytes_count(bytecode_t *b, bytes_t *in, uint64_t *n);
int bytes_take(bytecode_t *b, bytes_t *in, uint64_t n, bytes_t *out);
/* (value << 1) | flag */
int bytes_flagged(bytecode_t *b, bytes_t *in, uint64_t *value, bool *flag);
/* A number below `n` of a table, called `what` in errors. */
int bytes_index(bytecode_t *b, bytes_t *in, size_t n, const char *what, uint64_t *index);
int bytes_string(bytecode_t *b, bytes_t *in, span_t *text);
/* A section's header; `data` is what it holds. */
int bytes_section(bytecode_t *b, bytes_t *in, int *id, bytes_t *data);
bool span_is(span_t span, const char *text);

/* --- bytecode_file.c --- */
/* Header and tables. *ir is the section of the ops. */
int bytecode_read_tables(bytecode_t *b, bytes_t *ir);

/* --- bytecode_text.c: text into `out` --- */
/* Is there room for the text? -1 with an error when it outgrows the file. */
int bytecode_room(bytecode_t *b);
void bytecode_quoted(str_t *out, span_t text); /* "..", escaped */
int bytecode_enter(bytecode_t *b);

/* --- bytecode_type.c --- */
int bytecode_type(bytecode_t *b, uint64_t index, str_t *out);
/* The inputs and results of a function type, as lists of types' numbers. */
typedef VEC(uint64_t) numbers_t;
int bytecode_function_type(bytecode_t *b, uint64_t index, numbers_t *in, numbers_t *results);
/* -1 for a tensor whose element type is no plain one. *boolean: of i1. */
int bytecode_tensor(bytecode_t *b, uint64_t index, uint64_t *count, bool *boolean);
/* Integer and float types of attributes: bits, 0 if the type is another. */
typedef struct {
    int int_bits, float_bits;
    bool is_unsigned;
} number_type_t;
int bytecode_number_type(bytecode_t *b, uint64_t index, number_type_t *out);

/* --- bytecode_attr.c --- */
/* The attribute's text. */
int bytecode_attr(bytecode_t *b, uint64_t index, str_t *out);
/* As what the op's attribute of this name has it. */
int bytecode_attr_as(bytecode_t *b, uint64_t index, value_kind_t kind, str_t *out);
/* A string's bytes; ERR_CORRUPT when the attribute is something else. */
int bytecode_attr_string(bytecode_t *b, uint64_t index, span_t *text);
/* The type in a type attribute. */
int bytecode_attr_type(bytecode_t *b, uint64_t index, uint64_t *type);
/* The attributes in an array. */
int bytecode_attr_array(bytecode_t *b, uint64_t index, numbers_t *items);
/* Names and values of a dictionary. */
typedef struct {
    span_t name;
    uint64_t value;
} named_t;
typedef VEC(named_t) nameds_t;
int bytecode_attr_dict(bytecode_t *b, uint64_t index, nameds_t *items);
/* The name of loc("name") or loc("name"(..)); *name.at is NULL for other places. */
int bytecode_location_name(bytecode_t *b, uint64_t index, span_t *name);

/* --- bytecode_const.c --- */
/* `dense<"0x..">` or dense_resource<N>, with the type behind it. */
int bytecode_dense(bytecode_t *b, uint64_t type, bytes_t blob, str_t *out);

/* --- bytecode_region.c: regions, blocks and the values in them --- */
typedef struct {
    uint64_t type;
    bool has_location;
    uint64_t location;
} block_arg_t;
typedef VEC(block_arg_t) block_args_list_t;
typedef struct {
    size_t first, next, end; /* its values; the next that is defined */
    size_t scope;            /* to return to */
    uint64_t n_block, n_op;
    block_args_list_t arg;
} region_t;
/* The header of a region and, if it has one, of its block; `isolated`: its values count from 0. */
int region_begin(bytecode_t *b, bytes_t *in, bool isolated, region_t *self);
void region_end(bytecode_t *b, region_t *self);
/* The next `n` values of the region. */
int region_define(bytecode_t *b, region_t *self, const uint8_t *at, size_t n, value_t **first);
/* `%arg0: T` of argument i. */
int region_argument(bytecode_t *b, region_t *self, size_t i, const uint8_t *at);
void value_name(const value_t *value, str_t *out);
/* The order of uses of n values is passed over. */
int region_skip_uses(bytecode_t *b, bytes_t *in, uint64_t n_value);

/* --- bytecode_op.c --- */
/* An op as it is read, before its regions. */
typedef struct {
    const op_name_t *name;
    const uint8_t *at;
    uint64_t location;
    nameds_t attr;
    numbers_t result, operand; /* types; values */
    uint64_t n_region;
    bool isolated;
} raw_op_t;
int raw_op_read(bytecode_t *b, bytes_t *in, raw_op_t *op);
void raw_op_fini(raw_op_t *self);
/* The attribute of this name; NULL if there is none. */
const named_t *raw_op_find(const raw_op_t *op, const char *name);
/* Where the op's regions are read from: `in`, or the section that *own is set to. */
bytes_t *raw_op_regions(bytecode_t *b, const raw_op_t *op, bytes_t *in, bytes_t *own);
/* ` loc("name")`, if the place has a name */
int location_text(bytecode_t *b, uint64_t location);

/* --- bytecode_print.c --- */
int print_ops(bytecode_t *b, bytes_t *in, region_t *region);

/* --- bytecode_func.c --- */
int print_func(bytecode_t *b, const raw_op_t *op, bytes_t *in);
int print_module(bytecode_t *b, bytes_t in);

/* --- bytecode.c --- */
/* Do the bytes begin as bytecode does? *at is where: 0, or behind what jax.export's serialize()
 * writes in front of it. */
bool bytecode_find(const void *bytes, size_t n, size_t *at, size_t *n_code);
/* -1 with an error that names the file. *text, and *blob[*n_blob] that point into the bytes, are
 * the caller's to free. */
int bytecode_text(const void *bytes, size_t n, const char *file, str_t *text, blob_t **blob,
                  size_t *n_blob, err_t *err);

#endif
