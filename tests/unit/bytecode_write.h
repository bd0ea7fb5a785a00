/* Modules as MLIR bytecode with the VHLO dialect, as StableHLO's serializers write them: a writer
 * for tests, with tables of its own. */
#ifndef TESTS_BYTECODE_WRITE_H
#define TESTS_BYTECODE_WRITE_H

#include "base/str.h"
#include "ir/ir.h"

typedef struct {
    int container;     /* version of the container: 0 to 6 */
    int vhlo;          /* 100 * major + minor: 9 is 0.9, 110 is 1.10 */
    bool use_lists;    /* with orders of uses, which say nothing */
    bool mixed;        /* with CHLO's ops, as those of a dialect that nobody registered */
    bool name_args;    /* the names of arguments in the text as their locations */
    const char *extra; /* an op without operands, put first into each function; or NULL */
} bytecode_write_t;

/* The bytes; false where the module has what the writer cannot write. */
bool bytecode_write(const ir_module_t *module, const bytecode_write_t *how, str_t *out);

/* Remove what has the value that VHLO's readers take for absent, as texts have both. */
void bytecode_strip_defaults(ir_module_t *module);

/* The primitives, for bytes by hand. */
void put_byte(str_t *out, unsigned byte);
void put_varint(str_t *out, uint64_t value);
void put_signed(str_t *out, int64_t value);

#endif
