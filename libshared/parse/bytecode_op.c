/* An op of MLIR bytecode: its fields in their order, and its properties by name. */
#include <stdio.h>
#include <string.h>

#include "parse/bytecode.h"

enum {
    HAS_ATTRS = 1,
    HAS_RESULTS = 2,
    HAS_OPERANDS = 4,
    HAS_SUCCESSORS = 8,
    HAS_REGIONS = 16,
    HAS_USE_LISTS = 32,
    HAS_PROPERTIES = 64
};
enum { WITH_LAZY_REGIONS = 2, WITH_USE_LISTS = 3, WITH_PROPERTIES = 5 };

void raw_op_fini(raw_op_t *self)
{
    VEC_FREE(&self->attr);
    VEC_FREE(&self->result);
    VEC_FREE(&self->operand);
}

const named_t *raw_op_find(const raw_op_t *op, const char *name)
{
    for (size_t i = 0; i < op->attr.n; i++)
        if (span_is(op->attr.at[i].name, name)) return &op->attr.at[i];
    return NULL;
}

/* --- properties --- */

/* An attribute's number for each of the sorted names. */
static int named_properties(bytecode_t *b, bytes_t *in, const char *names, raw_op_t *op)
{
    while (*names) {
        const char *blank = strchr(names, ' ');
        named_t item = {.name = {names, blank ? (size_t)(blank - names) : strlen(names)}};
        if (bytes_index(b, in, b->attr.n, "attribute", &item.value) < 0) return -1;
        VEC_PUSH(&op->attr, item);
        names += item.name.n + (blank != NULL);
    }
    return 0;
}

/* builtin.module: what may be absent is a number + 1 with a flag in front. */
static int module_properties(bytecode_t *b, bytes_t *in, raw_op_t *op)
{
    static const char *const names[] = {"sym_name", "sym_visibility"};
    for (size_t i = 0; i < 2; i++) {
        bool there;
        const uint8_t *at = in->at;
        named_t item = {.name = {names[i], strlen(names[i])}};
        if (bytes_flagged(b, in, &item.value, &there) < 0) return -1;
        if (!there) continue;
        if (item.value >= b->attr.n)
            return bytecode_fail(b, at, ERR_CORRUPT, "the module's %s is no attribute", names[i]);
        VEC_PUSH(&op->attr, item);
    }
    return 0;
}

static int properties(bytecode_t *b, bytes_t *in, raw_op_t *op)
{
    uint64_t index;
    const op_name_t *name = op->name;
    if (b->version < WITH_PROPERTIES)
        return bytecode_fail(b, in->at, ERR_CORRUPT, "an op has properties before version 5");
    if (bytes_index(b, in, b->property.n, "property", &index) < 0) return -1;
    bytes_t data = b->property.at[index];
    if (name->vhlo) return named_properties(b, &data, name->vhlo->attrs, op);
    if (name->dialect->kind == DIALECT_BUILTIN && span_is(name->name, "module"))
        return module_properties(b, &data, op);
    if (name->unregistered) { /* one attribute: a dictionary */
        if (bytes_index(b, &data, b->attr.n, "attribute", &index) < 0) return -1;
        return bytecode_attr_dict(b, index, &op->attr);
    }
    if (name->dialect->kind != DIALECT_OTHER) return 0;
    return bytecode_fail(b, op->at, ERR_UNSUPPORTED,
                         "the op %.*s.%.*s has properties in a form of its own; only portable "
                         "artifacts of StableHLO are read: write them with "
                         "stablehlo.serialize_portable_artifact or stablehlo-translate "
                         "--serialize, or export the model as text",
                         (int)(name->dialect->name.n % 41), name->dialect->name.at,
                         (int)(name->name.n > 60 ? 60 : name->name.n), name->name.at);
}

/* --- fields --- */

static int list(bytecode_t *b, bytes_t *in, size_t n_table, const char *what, numbers_t *out)
{
    uint64_t n, item;
    if (bytes_count(b, in, &n) < 0) return -1;
    for (uint64_t i = 0; i < n; i++) {
        if (bytes_index(b, in, n_table, what, &item) < 0) return -1;
        VEC_PUSH(out, item);
    }
    return 0;
}

static int attributes(bytecode_t *b, bytes_t *in, raw_op_t *op)
{
    uint64_t index;
    if (bytes_index(b, in, b->attr.n, "attribute", &index) < 0) return -1;
    return bytecode_attr_dict(b, index, &op->attr);
}

static int check_name(bytecode_t *b, const raw_op_t *op)
{
    const op_name_t *name = op->name;
    if (name->dialect->kind != DIALECT_VHLO || name->vhlo) return 0;
    char from[64] = "";
    if (b->major >= 0)
        snprintf(from, sizeof from, " (the file is of StableHLO %d.%d)", b->major, b->minor);
    return bytecode_fail(b, op->at, ERR_UNSUPPORTED,
                         "the op vhlo.%.*s is unknown%s; versions up to 1.%d are known: export the "
                         "model for one of them (stablehlo.serialize_portable_artifact(module, "
                         "\"1.0.0\"), stablehlo-translate --serialize --target=1.0.0), or as text",
                         (int)(name->name.n > 60 ? 60 : name->name.n), name->name.at, from,
                         BYTECODE_VHLO_MINOR);
}

static int values(bytecode_t *b, bytes_t *in, uint8_t mask, raw_op_t *op)
{
    const uint8_t *at = in->at;
    if (mask & HAS_RESULTS && list(b, in, b->type.n, "type", &op->result) < 0) return -1;
    if (mask & HAS_OPERANDS && list(b, in, b->value.n - b->scope, "value", &op->operand) < 0)
        return -1;
    if (mask & HAS_SUCCESSORS)
        return bytecode_fail(b, at, ERR_UNSUPPORTED, "blocks that follow each other");
    if (!(mask & HAS_USE_LISTS)) return 0;
    if (b->version < WITH_USE_LISTS)
        return bytecode_fail(b, at, ERR_CORRUPT, "an order of uses before version 3");
    return region_skip_uses(b, in, op->result.n);
}

int raw_op_read(bytecode_t *b, bytes_t *in, raw_op_t *op)
{
    uint64_t name;
    uint8_t mask;
    *op = (raw_op_t){.at = in->at};
    if (bytes_index(b, in, b->op.n, "op", &name) < 0) return -1;
    op->name = &b->op.at[name];
    if (check_name(b, op) < 0 || bytes_byte(b, in, &mask) < 0 ||
        bytes_index(b, in, b->attr.n, "attribute", &op->location) < 0)
        return -1;
    if (mask & HAS_ATTRS && attributes(b, in, op) < 0) return -1;
    if (mask & HAS_PROPERTIES && properties(b, in, op) < 0) return -1;
    if (values(b, in, mask, op) < 0) return -1;
    return mask & HAS_REGIONS ? bytes_flagged(b, in, &op->n_region, &op->isolated) : 0;
}

bytes_t *raw_op_regions(bytecode_t *b, const raw_op_t *op, bytes_t *in, bytes_t *own)
{
    enum { SECTION_IR = 4 };
    int id;
    if (!op->isolated || b->version < WITH_LAZY_REGIONS) return in;
    if (bytes_section(b, in, &id, own) < 0) return NULL;
    if (id == SECTION_IR) return own;
    bytecode_fail(b, own->at, ERR_CORRUPT, "section %d where an op's regions must be", id);
    return NULL;
}

int location_text(bytecode_t *b, uint64_t location)
{
    span_t name;
    if (bytecode_location_name(b, location, &name) < 0) return -1;
    if (!name.at) return 0;
    str_add(&b->out, " loc(");
    bytecode_quoted(&b->out, name);
    str_add(&b->out, ")");
    return 0;
}
