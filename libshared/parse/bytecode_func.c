/* Functions and modules of MLIR bytecode in the form that people write, which says where arguments
 * come from: their names are in their locations. */
#include <string.h>

#include "parse/bytecode.h"

/* What a function's attributes say. */
typedef struct {
    span_t name, visibility;
    uint64_t type;
    numbers_t arg, result;             /* their types */
    numbers_t arg_attrs, result_attrs; /* dictionaries; may be empty */
} func_t;

static void func_fini(func_t *self)
{
    VEC_FREE(&self->arg);
    VEC_FREE(&self->result);
    VEC_FREE(&self->arg_attrs);
    VEC_FREE(&self->result_attrs);
}

static int read_func(bytecode_t *b, const raw_op_t *op, func_t *f)
{
    const named_t *name = raw_op_find(op, "sym_name"), *type = raw_op_find(op, "function_type"),
                  *seen = raw_op_find(op, "sym_visibility"), *args = raw_op_find(op, "arg_attrs"),
                  *results = raw_op_find(op, "res_attrs");
    if (!name || !type)
        return bytecode_fail(b, op->at, ERR_CORRUPT, "a function has no name or no type");
    if (bytecode_attr_string(b, name->value, &f->name) < 0 ||
        bytecode_attr_type(b, type->value, &f->type) < 0 ||
        bytecode_function_type(b, f->type, &f->arg, &f->result) < 0)
        return -1;
    if (seen && bytecode_attr_string(b, seen->value, &f->visibility) < 0) return -1;
    if (args && bytecode_attr_array(b, args->value, &f->arg_attrs) < 0) return -1;
    return results ? bytecode_attr_array(b, results->value, &f->result_attrs) : 0;
}

static int dictionary(bytecode_t *b, const numbers_t *dicts, size_t i)
{
    if (i >= dicts->n) return 0;
    str_add(&b->out, " ");
    return bytecode_attr(b, dicts->at[i], &b->out);
}

static int arguments(bytecode_t *b, const raw_op_t *op, const func_t *f, region_t *region)
{
    for (size_t i = 0; i < region->arg.n; i++) {
        const block_arg_t *arg = &region->arg.at[i];
        if (i) str_add(&b->out, ", ");
        if (region_argument(b, region, i, op->at) < 0 || dictionary(b, &f->arg_attrs, i) < 0)
            return -1;
        if (arg->has_location && location_text(b, arg->location) < 0) return -1;
    }
    return 0;
}

/* A declaration's: types alone. */
static int argument_types(bytecode_t *b, const func_t *f)
{
    for (size_t i = 0; i < f->arg.n; i++) {
        if (i) str_add(&b->out, ", ");
        if (bytecode_type(b, f->arg.at[i], &b->out) < 0 || dictionary(b, &f->arg_attrs, i) < 0)
            return -1;
    }
    return 0;
}

static int result_types(bytecode_t *b, const func_t *f)
{
    str_add(&b->out, ") -> (");
    for (size_t i = 0; i < f->result.n; i++) {
        if (i) str_add(&b->out, ", ");
        if (bytecode_type(b, f->result.at[i], &b->out) < 0 ||
            dictionary(b, &f->result_attrs, i) < 0)
            return -1;
    }
    str_add(&b->out, ")");
    return 0;
}

static bool is_part(span_t name)
{
    static const char *const parts[] = {"sym_name", "function_type", "sym_visibility", "arg_attrs",
                                        "res_attrs"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (span_is(name, parts[i])) return true;
    return false;
}

/* ` attributes {..}`: what is no part of the signature */
static int other_attributes(bytecode_t *b, const raw_op_t *op)
{
    const char *before = " attributes {";
    for (size_t i = 0; i < op->attr.n; i++) {
        const named_t *item = &op->attr.at[i];
        if (is_part(item->name)) continue;
        str_add(&b->out, before);
        bytecode_quoted(&b->out, item->name);
        str_add(&b->out, " = ");
        if (bytecode_attr(b, item->value, &b->out) < 0) return -1;
        before = ", ";
    }
    if (*before == ',') str_add(&b->out, "}");
    return 0;
}

static int head(bytecode_t *b, const func_t *f)
{
    bool hidden = span_is(f->visibility, "private") || span_is(f->visibility, "nested");
    str_add(&b->out, hidden ? "func.func private @" : "func.func public @");
    bytecode_quoted(&b->out, f->name);
    str_add(&b->out, "(");
    b->n_arg = b->n_result = 0;
    return 0;
}

static int body(bytecode_t *b, const raw_op_t *op, const func_t *f, bytes_t *in)
{
    region_t region;
    int rc = region_begin(b, in, op->isolated, &region);
    bool declared = region.n_block == 0;
    if (rc == 0) rc = head(b, f);
    if (rc == 0) rc = declared ? argument_types(b, f) : arguments(b, op, f, &region);
    if (rc == 0) rc = result_types(b, f);
    if (rc == 0) rc = other_attributes(b, op);
    str_add(&b->out, declared ? "\n" : " {\n");
    if (rc == 0 && !declared) rc = print_ops(b, in, &region);
    if (!declared) str_add(&b->out, "}\n");
    region_end(b, &region);
    return rc < 0 ? -1 : bytecode_room(b);
}

int print_func(bytecode_t *b, const raw_op_t *op, bytes_t *in)
{
    func_t f = {0};
    int rc = read_func(b, op, &f);
    bytes_t own, *from = rc < 0 ? NULL : raw_op_regions(b, op, in, &own);
    if (from && op->n_region != 1)
        rc = bytecode_fail(b, op->at, ERR_CORRUPT, "a function has %llu bodies",
                           (unsigned long long)op->n_region);
    else if (from)
        rc = body(b, op, &f, from);
    func_fini(&f);
    return from ? rc : -1;
}

/* --- the module --- */

static int module_head(bytecode_t *b, const raw_op_t *op)
{
    const named_t *name = raw_op_find(op, "sym_name");
    span_t text;
    str_add(&b->out, "module");
    if (name) {
        if (bytecode_attr_string(b, name->value, &text) < 0) return -1;
        str_add(&b->out, " @");
        bytecode_quoted(&b->out, text);
    }
    if (other_attributes(b, op) < 0) return -1;
    str_add(&b->out, " {\n");
    return 0;
}

static int module_body(bytecode_t *b, const raw_op_t *op, bytes_t *in)
{
    region_t region;
    bytes_t own, *from = raw_op_regions(b, op, in, &own);
    if (!from) return -1;
    int rc = region_begin(b, from, op->isolated, &region);
    if (rc == 0) rc = print_ops(b, from, &region);
    region_end(b, &region);
    str_add(&b->out, "}\n");
    return rc < 0 ? -1 : bytecode_room(b);
}

int print_module(bytecode_t *b, bytes_t in)
{
    raw_op_t op = {0};
    uint64_t n_op;
    bool has_args;
    int rc = bytes_flagged(b, &in, &n_op, &has_args);
    if (rc == 0 && (n_op != 1 || has_args))
        rc = bytecode_fail(b, in.at, ERR_CORRUPT, "there are %llu ops where the module must be",
                           (unsigned long long)n_op);
    if (rc == 0) rc = raw_op_read(b, &in, &op);
    bool is_module = rc == 0 && op.name->dialect->kind == DIALECT_BUILTIN &&
                     span_is(op.name->name, "module") && op.n_region == 1;
    if (rc == 0 && !is_module)
        rc = bytecode_fail(b, op.at, ERR_UNSUPPORTED, "its first op is no module");
    if (rc == 0) rc = module_head(b, &op);
    if (rc == 0) rc = module_body(b, &op, &in);
    raw_op_fini(&op);
    return rc;
}
