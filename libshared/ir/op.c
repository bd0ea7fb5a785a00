/* The op table and look-up by name. */
#include "ir/op.h"

#include <string.h>

#include "ir/struct_attr.h"

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

/* Of a member, what is missing is the struct attribute that holds it. */
static int has_attribute(const ir_op_t *op, const char *name, err_t *err)
{
    if (attr_find(&op->attrs, name)) return 0;
    const struct_attr_t *s = struct_attr_of_op(op->code);
    return err_set(err, ERR_SHAPE, "%s: attribute %s is missing", op_def(op->code)->name,
                   s && struct_attr_has(s, name) ? s->holder : name);
}

int op_infer(const ir_fn_t *fn, const ir_op_t *op, ir_type_t *out, err_t *err)
{
    const op_def_t *def = op_def(op->code);
    if (def->dims_attr && has_attribute(op, def->dims_attr, err) < 0) return -1;
    for (const char *const *name = def->needs; *name; name++)
        if (has_attribute(op, *name, err) < 0) return -1;
    return def->infer ? def->infer(fn, op, out, err) : 0;
}
