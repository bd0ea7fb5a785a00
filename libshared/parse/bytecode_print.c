/* Ops of MLIR bytecode in StableHLO's generic form. VHLO's attributes are StableHLO's but for a few
 * that stand for an absent one, or that StableHLO has as one attribute. */
#include <inttypes.h>
#include <string.h>

#include "parse/bytecode.h"

/* --- attributes --- */

/* Take back what was written from `from` on. */
static void cut(str_t *out, size_t from)
{
    out->n = from;
    if (out->at) out->at[from] = '\0';
}

/* `5` of `5 : i64` */
static void cut_type(str_t *out, size_t from)
{
    const char *colon = strstr(out->at + from, " : ");
    if (colon) cut(out, (size_t)(colon - out->at));
}

static int member(bytecode_t *b, const raw_op_t *op, const char *name, const char *comma)
{
    const named_t *item = raw_op_find(op, name);
    if (!item) return 0;
    str_addf(&b->out, "%s%s = ", comma, name);
    size_t from = b->out.n;
    if (bytecode_attr(b, item->value, &b->out) < 0) return -1;
    cut_type(&b->out, from);
    return 0;
}

/* The seven attributes of dot_general's algorithm, written where the first of them stands;
 * lhs_precision_type is none where there is no algorithm. */
static int algorithm(bytecode_t *b, const raw_op_t *op, const named_t *item)
{
    static const char *const names[] = {"lhs_precision_type",          "rhs_precision_type",
                                        "accumulation_type",           "lhs_component_count",
                                        "rhs_component_count",         "num_primitive_operations",
                                        "allow_imprecise_accumulation"};
    str_t *out = &b->out;
    const named_t *first = raw_op_find(op, names[0]);
    if (!first || !span_is(item->name, "accumulation_type")) return 0;
    size_t from = out->n;
    if (bytecode_attr(b, first->value, out) < 0) return -1;
    bool none = strcmp(out->at + from, "none") == 0;
    cut(out, from);
    if (none) return 0;
    str_add(out, "\"algorithm\" = #stablehlo.dot_algorithm<");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (member(b, op, names[i], i ? ", " : "") < 0) return -1;
    str_add(out, ">");
    return 0;
}

static int channel(bytecode_t *b, const named_t *item)
{
    str_t *out = &b->out;
    size_t from = out->n;
    str_add(out, "\"channel_handle\" = #stablehlo.channel_handle<handle = ");
    size_t at = out->n;
    if (bytecode_attr(b, item->value, out) < 0) return -1;
    cut_type(out, at);
    if (strcmp(out->at + at, "0") == 0)
        cut(out, from);
    else
        str_add(out, ", type = 1>");
    return 0;
}

static int unit(bytecode_t *b, const named_t *item)
{
    str_t *out = &b->out;
    size_t from = out->n;
    if (bytecode_attr(b, item->value, out) < 0) return -1;
    bool there = strcmp(out->at + from, "false") != 0;
    cut(out, from);
    if (there) bytecode_quoted(out, item->name);
    return 0;
}

static int plain(bytecode_t *b, const named_t *item, value_kind_t kind, bool is_vhlo)
{
    str_t *out = &b->out;
    size_t from = out->n;
    bytecode_quoted(out, item->name);
    str_add(out, " = ");
    size_t at = out->n;
    if (bytecode_attr_as(b, item->value, kind, out) < 0) return -1;
    if (is_vhlo && vhlo_is_absent(item->name, out->at + at)) cut(out, from);
    return 0;
}

static int attribute(bytecode_t *b, const raw_op_t *op, const named_t *item)
{
    bool is_vhlo = op->name->vhlo != NULL;
    value_kind_t kind = is_vhlo ? vhlo_value_kind(item->name) : VALUE_PLAIN;
    switch (kind) {
    case VALUE_ALGORITHM: return algorithm(b, op, item);
    case VALUE_CHANNEL: return channel(b, item);
    case VALUE_UNIT: return unit(b, item);
    default: return plain(b, item, kind, is_vhlo);
    }
}

static int attributes(bytecode_t *b, const raw_op_t *op)
{
    str_t *out = &b->out;
    if (op->name->dialect->kind == DIALECT_SDY || op->attr.n == 0) return 0;
    str_add(out, " <{");
    bool any = false;
    for (size_t i = 0; i < op->attr.n; i++) {
        size_t from = out->n;
        if (any) str_add(out, ", ");
        size_t at = out->n;
        if (attribute(b, op, &op->attr.at[i]) < 0) return -1;
        any = any || out->n > at;
        if (out->n == at) cut(out, from);
    }
    str_add(out, "}>");
    return bytecode_room(b);
}

/* --- operands, results, regions --- */

static int results(bytecode_t *b, const raw_op_t *op, region_t *region)
{
    value_t *first = NULL;
    size_t n = op->result.n;
    if (n == 0) return 0;
    if (region_define(b, region, op->at, n, &first) < 0) return -1;
    for (size_t i = 0; i < n; i++)
        first[i] = (value_t){.number = b->n_result,
                             .type = op->result.at[i],
                             .index = (uint32_t)i,
                             .is_one_of = n > 1};
    str_addf(&b->out, "%%%" PRIu64, b->n_result++);
    if (n > 1) str_addf(&b->out, ":%zu", n);
    str_add(&b->out, " = ");
    return 0;
}

/* Behind the op its results may be used. */
static void finish_results(bytecode_t *b, const raw_op_t *op, const region_t *region)
{
    for (size_t i = 0; i < op->result.n; i++) b->value.at[region->next - 1 - i].is_defined = true;
}

static int operands(bytecode_t *b, const raw_op_t *op)
{
    str_add(&b->out, "(");
    for (size_t i = 0; i < op->operand.n; i++) {
        const value_t *value = &b->value.at[b->scope + op->operand.at[i]];
        if (!value->is_defined)
            return bytecode_fail(b, op->at, ERR_CORRUPT, "an op uses a value that comes later");
        if (i) str_add(&b->out, ", ");
        value_name(value, &b->out);
    }
    str_add(&b->out, ")");
    return 0;
}

static int types(bytecode_t *b, const raw_op_t *op)
{
    str_add(&b->out, " : (");
    for (size_t i = 0; i < op->operand.n; i++) {
        if (i) str_add(&b->out, ", ");
        const value_t *value = &b->value.at[b->scope + op->operand.at[i]];
        if (bytecode_type(b, value->type, &b->out) < 0) return -1;
    }
    str_add(&b->out, ") -> (");
    for (size_t i = 0; i < op->result.n; i++) {
        if (i) str_add(&b->out, ", ");
        if (bytecode_type(b, op->result.at[i], &b->out) < 0) return -1;
    }
    str_add(&b->out, ")");
    return 0;
}

static int region_text(bytecode_t *b, const raw_op_t *op, bytes_t *in)
{
    region_t region;
    int rc = region_begin(b, in, op->isolated, &region);
    str_add(&b->out, "{");
    for (size_t i = 0; rc == 0 && i < region.arg.n; i++) {
        str_add(&b->out, i ? ", " : "^bb0(");
        rc = region_argument(b, &region, i, op->at);
    }
    str_add(&b->out, region.arg.n ? "):\n" : "\n");
    if (rc == 0) rc = print_ops(b, in, &region);
    str_add(&b->out, "}");
    region_end(b, &region);
    return rc;
}

static int regions(bytecode_t *b, const raw_op_t *op, bytes_t *in)
{
    bytes_t own, *from = raw_op_regions(b, op, in, &own);
    if (!from) return -1;
    str_add(&b->out, " (");
    for (uint64_t i = 0; i < op->n_region; i++) {
        if (i) str_add(&b->out, ", ");
        if (region_text(b, op, from) < 0) return -1;
    }
    str_add(&b->out, ")");
    return 0;
}

/* --- an op --- */

/* The name without the version: add of add_v1. */
static void op_name(const op_name_t *name, str_t *out)
{
    size_t n = name->name.n;
    if (!name->vhlo) {
        str_addn(out, name->dialect->name.at, name->dialect->name.n);
        str_add(out, ".");
    } else {
        while (name->name.at[n - 1] != '_') n--;
        n--;
        str_add(out, span_is(name->name, "call_v1") ? "func." : "stablehlo.");
    }
    str_addn(out, name->name.at, n);
}

static int generic(bytecode_t *b, const raw_op_t *op, bytes_t *in, region_t *region)
{
    if (results(b, op, region) < 0) return -1;
    str_add(&b->out, "\"");
    op_name(op->name, &b->out);
    str_add(&b->out, "\"");
    if (operands(b, op) < 0 || attributes(b, op) < 0) return -1;
    if (op->n_region && regions(b, op, in) < 0) return -1;
    if (types(b, op) < 0) return -1;
    finish_results(b, op, region);
    bool is_constant = op->name->vhlo && span_is(op->name->name, "constant_v1");
    if (is_constant && location_text(b, op->location) < 0) return -1;
    str_add(&b->out, "\n");
    return bytecode_room(b);
}

static bool is(const raw_op_t *op, const char *dialect, const char *name)
{
    return span_is(op->name->dialect->name, dialect) && span_is(op->name->name, name);
}

static int print_op(bytecode_t *b, bytes_t *in, region_t *region)
{
    raw_op_t op;
    int rc = raw_op_read(b, in, &op);
    if (rc < 0) {
        raw_op_fini(&op);
        return -1;
    }
    if (is(&op, "vhlo", "func_v1") || is(&op, "func", "func"))
        rc = print_func(b, &op, in);
    else if (is(&op, "sdy", "mesh") && op.n_region == 0 && op.result.n == 0)
        rc = 0; /* says nothing about values; the module's attributes say how many devices */
    else
        rc = generic(b, &op, in, region);
    raw_op_fini(&op);
    return rc;
}

int print_ops(bytecode_t *b, bytes_t *in, region_t *region)
{
    for (uint64_t i = 0; i < region->n_op; i++)
        if (print_op(b, in, region) < 0) return -1;
    return 0;
}
