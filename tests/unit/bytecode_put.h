/* Tables of MLIR bytecode while it is written: strings, attributes, types, names of ops, properties,
 * each once. */
#ifndef TESTS_BYTECODE_PUT_H
#define TESTS_BYTECODE_PUT_H

#include "base/str.h"
#include "base/vec.h"
#include "bytecode_write.h"

typedef enum { IN_BUILTIN, IN_VHLO, IN_CHLO, N_IN } in_dialect_t;

typedef struct {
    in_dialect_t dialect;
    str_t bytes;
    bool as_text; /* not in the dialect's codes */
} put_entry_t;
typedef VEC(put_entry_t) put_entries_t;

typedef struct {
    bytecode_write_t how;
    VEC(str_t) string;
    put_entries_t attr, type, op; /* an op's bytes are its name */
    VEC(str_t) property;
} put_t;

void put_fini(put_t *self);
void put_section(str_t *out, int id, const str_t *data);
uint64_t put_string(put_t *w, const char *text, size_t n);
/* The number of the attribute, type or op whose bytes these are; they are taken over. */
uint64_t put_entry(put_entries_t *table, in_dialect_t dialect, str_t bytes);
uint64_t put_property(put_t *w, str_t bytes);

/* --- attributes and types --- */
uint64_t put_type(put_t *w, const ir_type_t *type);
uint64_t put_tensor_type(put_t *w, int rank, const int64_t *dims, uint64_t element);
uint64_t put_scalar_type(put_t *w, const char *name); /* "i64" */
uint64_t put_function_type(put_t *w, size_t n_in, const uint64_t *in, size_t n_out,
                           const uint64_t *out);
uint64_t put_code(put_t *w, uint64_t code); /* an attribute of VHLO that is its code alone */
uint64_t put_number(put_t *w, uint64_t code, uint64_t value); /* a code and a varint */
uint64_t put_text(put_t *w, const char *text);
uint64_t put_builtin_text(put_t *w, const char *text);
uint64_t put_int(put_t *w, const char *type, int64_t value);
uint64_t put_f32(put_t *w, double value);
uint64_t put_bool(put_t *w, bool value);
uint64_t put_word(put_t *w, int code, const char *word);
uint64_t put_type_attr(put_t *w, uint64_t type);
uint64_t put_array(put_t *w, size_t n, const uint64_t *items);
uint64_t put_dict(put_t *w, size_t n, const uint64_t *names, const uint64_t *values);
/* The same of builtin, which attributes of ops are in. */
uint64_t put_builtin_dict(put_t *w, size_t n, const uint64_t *names, const uint64_t *values);
uint64_t put_dense(put_t *w, uint64_t type, const void *bytes, size_t n);
uint64_t put_tensor(put_t *w, const tensor_t *tensor);
uint64_t put_place(put_t *w, const char *name); /* loc("name"), or loc(unknown) for NULL */

/* The whole, once the ops' section is written. */
void put_file(put_t *w, const str_t *ir, str_t *out);

#endif
