/* The op table and look-up by name. */
#include "ir/op.h"

#include <string.h>

const op_def_t *const op_table[OP_COUNT] = {
#define OP(name) [OP_##name] = &op_##name,
#include "ir/op_list.h"
#undef OP
};

/* Other spellings of ops in the table. */
static const struct {
    const char *name;
    op_code_t code;
} aliases[] = {
    {"arith.constant", OP_constant},   {"chlo.constant", OP_constant},   {"call", OP_call},
    {"stablehlo.dot", OP_dot_general}, {"check.eq", OP_check_expect_eq},
};

static bool same(const char *full, const char *name, size_t n)
{
    return strlen(full) == n && memcmp(full, name, n) == 0;
}

op_code_t op_by_name(const char *name, size_t n)
{
    for (op_code_t code = OP_invalid + 1; code < OP_COUNT; code++)
        if (same(op_table[code]->name, name, n)) return code;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (same(aliases[i].name, name, n)) return aliases[i].code;
    return OP_invalid;
}
