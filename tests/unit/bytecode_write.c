/* See bytecode_write.h: ops, regions and functions; the tables are bytecode_put.c's. */
#include "bytecode_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytecode_put.h"
#include "bytecode_rows.h"
#include "ir/op.h"

typedef struct {
    put_t put;
    const ir_fn_t *fn;
    uint64_t *number; /* of each value of fn */
    bool bad;         /* met something that cannot be written */
} writer_t;

typedef VEC(uint64_t) list_t;

/* --- rows --- */

static const bytecode_row_t *find_row(const char *op, int version)
{
    for (size_t i = 0; i < sizeof bytecode_rows / sizeof *bytecode_rows; i++) {
        const bytecode_row_t *row = &bytecode_rows[i];
        if (strcmp(row->op, op) == 0 && row->from <= version && version <= row->to) return row;
    }
    return NULL;
}

typedef struct {
    char name[64], kind[8];
    const char *value; /* the default; NULL: none */
    size_t n_value;
} column_t;

/* The next column of a row's attributes; NULL behind the last. */
static const char *next_column(const char *at, column_t *c)
{
    if (!*at) return NULL;
    size_t n = strcspn(at, ":"), n_kind = strcspn(at + n + 1, "= ");
    snprintf(c->name, sizeof c->name, "%.*s", (int)n, at);
    snprintf(c->kind, sizeof c->kind, "%.*s", (int)n_kind, at + n + 1);
    at += n + 1 + n_kind;
    c->value = *at == '=' ? at + 1 : NULL;
    c->n_value = strcspn(at, " ") - (*at == '=');
    at += strcspn(at, " ");
    return *at ? at + 1 : at;
}

static bool has_column(const bytecode_row_t *row, const char *name)
{
    column_t c;
    for (const char *at = row->attrs; (at = next_column(at, &c));)
        if (strcmp(c.name, name) == 0) return true;
    return false;
}

/* --- values of attributes --- */

/* Dimensions that windows run over. */
static int n_window(const writer_t *w, const ir_op_t *op)
{
    const ir_type_t *x = ir_type_of(w->fn, op->in[0]);
    return op->code == OP_convolution ? x->rank - 2 : x->rank;
}

static uint64_t ints(writer_t *w, const int64_t *at, int64_t n, int n_per_row, bool row)
{
    int64_t dims[2] = {n_per_row > 1 ? n / n_per_row : n, n_per_row};
    if (row) dims[0] = 1, dims[1] = n;
    uint64_t type = put_tensor_type(&w->put, n_per_row > 1 || row ? 2 : 1, dims,
                                    put_scalar_type(&w->put, "i64"));
    return put_dense(&w->put, type, at, (size_t)n * 8);
}

static uint64_t list(writer_t *w, const ir_op_t *op, const ir_attr_t *attr, const column_t *c)
{
    int64_t filled[2 * IR_MAX_RANK];
    int per_row = *c->kind == 'p' ? 2 : 1;
    if (attr && attr->kind == ATTR_INTS)
        return ints(w, attr->ints, attr->n, per_row, *c->kind == 'g');
    w->bad = w->bad || !c->value;
    int n = c->value && c->n_value ? n_window(w, op) * per_row : 0;
    for (int i = 0; i < n; i++) filled[i] = atoi(c->value);
    return ints(w, filled, n, per_row, false);
}

static uint64_t flags(writer_t *w, const ir_op_t *op, const ir_attr_t *attr)
{
    uint8_t data[IR_MAX_RANK] = {0};
    int64_t n = attr ? attr->n : n_window(w, op);
    for (int64_t i = 0; attr && i < n; i++) data[i] = attr->ints[i] != 0;
    ir_type_t type = ir_type(DT_I1, 1, &n);
    tensor_t tensor = {.type = type, .data = data};
    return put_tensor(&w->put, &tensor);
}

static uint64_t precisions(writer_t *w, const ir_attr_t *attr)
{
    list_t items = {0};
    for (int i = 0; attr && attr->kind == ATTR_LIST && i < attr->n; i++) {
        uint64_t item = put_word(&w->put, 11, attr->items[i].text);
        VEC_PUSH(&items, item);
    }
    uint64_t array = put_array(&w->put, items.n, items.at);
    VEC_FREE(&items);
    return array;
}

static uint64_t any_attr(writer_t *w, const ir_attr_t *attr);

static uint64_t dict(writer_t *w, const ir_attr_t *at, int n)
{
    list_t names = {0}, values = {0};
    for (int i = 0; i < n; i++) {
        uint64_t name = put_text(&w->put, at[i].name), value = any_attr(w, &at[i]);
        VEC_PUSH(&names, name);
        VEC_PUSH(&values, value);
    }
    uint64_t attr = put_dict(&w->put, names.n, names.at, values.at);
    VEC_FREE(&names);
    VEC_FREE(&values);
    return attr;
}

/* An attribute that no op is known by. */
static uint64_t any_attr(writer_t *w, const ir_attr_t *attr)
{
    switch (attr->kind) {
    case ATTR_BOOL: return put_bool(&w->put, attr->i);
    case ATTR_INT: return put_int(&w->put, "i64", attr->i);
    case ATTR_STRING: return put_text(&w->put, attr->text);
    case ATTR_TENSOR: return put_tensor(&w->put, attr->tensor);
    case ATTR_INTS: return ints(w, attr->ints, attr->n, 1, false);
    case ATTR_DICT: return dict(w, attr->items, attr->n);
    default: w->bad = true; return put_bool(&w->put, false);
    }
}

static uint64_t symbols(writer_t *w, const ir_attr_t *attr)
{
    list_t items = {0};
    for (int i = 0; attr && i < attr->n; i++) {
        uint64_t item = put_text(&w->put, attr->items[i].text);
        VEC_PUSH(&items, item);
    }
    uint64_t array = put_array(&w->put, items.n, items.at);
    VEC_FREE(&items);
    return array;
}

/* Mode DEFAULT, no tolerance. */
static uint64_t accuracy(writer_t *w)
{
    str_t bytes = {0};
    uint64_t mode = put_number(&w->put, 19, 0);
    put_varint(&bytes, 20);
    for (int i = 0; i < 3; i++) put_signed(&bytes, 0);
    put_varint(&bytes, mode);
    return put_entry(&w->put.attr, IN_VHLO, bytes);
}

/* The attribute of a column; `attr` is NULL where the op has none. */
static uint64_t value(writer_t *w, const ir_op_t *op, const ir_attr_t *attr, const column_t *c)
{
    char word[64] = "";
    if (c->value) snprintf(word, sizeof word, "%.*s", (int)c->n_value, c->value);
    w->bad = w->bad || (!attr && !c->value && !strchr("lYADPxahrp", *c->kind));
    if (w->bad) return 0;
    switch (*c->kind) {
    case 'i':
    case 'j': return put_int(&w->put, *c->kind == 'i' ? "i64" : "i32", attr ? attr->i : atoi(word));
    case 'f': return put_f32(&w->put, attr->f);
    case 'b': return put_bool(&w->put, attr ? attr->kind == ATTR_UNIT || attr->i : 0);
    case 'd': return put_tensor(&w->put, attr->tensor);
    case 's': return put_text(&w->put, attr ? attr->text : word);
    case 'y': return put_text(&w->put, attr->text);
    case 'Y': return symbols(w, attr);
    case 'c': return put_word(&w->put, atoi(c->kind + 1), attr ? attr->text : word);
    case 'h': return put_int(&w->put, "i64", 0);
    case 'A': w->bad = w->bad || (attr && attr->n); return put_array(&w->put, 0, NULL);
    case 'D': return attr ? dict(w, attr->items, attr->n) : dict(w, NULL, 0);
    case 'P': return precisions(w, attr);
    case 'x': return put_type_attr(&w->put, put_scalar_type(&w->put, "none"));
    case 'a': return accuracy(w);
    case 'r': return flags(w, op, attr);
    default: return list(w, op, attr, c);
    }
}

/* --- an op --- */

typedef struct {
    list_t name, value; /* of the dictionary: builtin's strings, and attributes */
    str_t property;
} held_t;

static void hold(writer_t *w, held_t *h, const char *name, uint64_t attr)
{
    uint64_t text = put_builtin_text(&w->put, name);
    VEC_PUSH(&h->name, text);
    VEC_PUSH(&h->value, attr);
}

/* The columns as properties or, before version 5, attributes; then what else the op has. */
static void hold_op(writer_t *w, const ir_op_t *op, const bytecode_row_t *row, held_t *h)
{
    column_t c;
    bool natively = w->put.how.container >= 5;
    for (const char *at = row->attrs; (at = next_column(at, &c));) {
        uint64_t attr = value(w, op, attr_find(&op->attrs, c.name), &c);
        if (natively)
            put_varint(&h->property, attr);
        else
            hold(w, h, c.name, attr);
    }
    for (int i = 0; i < op->attrs.n; i++)
        if (!has_column(row, op->attrs.at[i].name))
            hold(w, h, op->attrs.at[i].name, any_attr(w, &op->attrs.at[i]));
}

/* Name, mask, place, attributes and properties; `mask` holds what follows. */
static void head(writer_t *w, str_t *out, uint64_t name, unsigned mask, uint64_t place, held_t *h)
{
    put_varint(out, name);
    put_byte(out, mask | (h->name.n ? 1 : 0) | (h->property.n ? 64 : 0));
    put_varint(out, place);
    if (h->name.n) put_varint(out, put_builtin_dict(&w->put, h->name.n, h->name.at, h->value.at));
    if (h->property.n) put_varint(out, put_property(&w->put, h->property));
    VEC_FREE(&h->name);
    VEC_FREE(&h->value);
}

static uint64_t op_number(writer_t *w, in_dialect_t dialect, const char *name)
{
    str_t bytes = {0};
    str_add(&bytes, name);
    return put_entry(&w->put.op, dialect, bytes);
}

static void operands(writer_t *w, str_t *out, int n, const ir_val_t *in)
{
    if (n) put_varint(out, (uint64_t)n);
    for (int i = 0; i < n; i++) put_varint(out, w->number[in[i]]);
}

/* --- regions --- */

/* Numbers for what a region defines itself, from `first` on; returns the one behind. */
static uint64_t number_region(writer_t *w, const ir_region_t *r, uint64_t first)
{
    for (int i = 0; i < r->n_arg; i++) w->number[r->arg + (ir_val_t)i] = first++;
    for (int k = 0; k < r->n_op; k++)
        for (int i = 0; i < r->op[k]->n_out; i++) w->number[r->op[k]->out + (ir_val_t)i] = first++;
    return first;
}

static bool defined_in(const writer_t *w, const ir_region_t *region, ir_val_t v)
{
    const ir_value_t *at = &w->fn->value[v];
    const ir_region_t *r = at->def ? at->def->parent : at->owner;
    while (r && r != region) r = r->parent ? r->parent->parent : NULL;
    return r == region;
}

/* Does the region use nothing of those around it? `root` is the region asked about. */
static bool is_closed(const writer_t *w, const ir_region_t *root, const ir_region_t *r)
{
    for (int i = 0; i < r->n_result; i++)
        if (!defined_in(w, root, r->result[i])) return false;
    for (int k = 0; k < r->n_op; k++) {
        for (int i = 0; i < r->op[k]->n_in; i++)
            if (!defined_in(w, root, r->op[k]->in[i])) return false;
        for (int i = 0; i < r->op[k]->n_region; i++)
            if (!is_closed(w, root, r->op[k]->region[i])) return false;
    }
    return true;
}

static void write_op(writer_t *w, str_t *out, const ir_op_t *op, uint64_t behind);

/* The name in the location of argument i; NULL: it has none. */
static const char *place_of(const writer_t *w, const ir_region_t *r, const ir_attrs_t *attrs, int i)
{
    const char *name = attrs ? attr_text(&attrs[i], "pcp.loc", NULL) : NULL;
    const char *spoken = w->fn->value[r->arg + (ir_val_t)i].name;
    return name || !attrs || !w->put.how.name_args ? name : spoken;
}

static void write_args(writer_t *w, str_t *out, const ir_region_t *r, const ir_attrs_t *attrs)
{
    put_varint(out, (uint64_t)r->n_arg);
    for (int i = 0; i < r->n_arg; i++) {
        uint64_t type = put_type(&w->put, ir_type_of(w->fn, r->arg + (ir_val_t)i));
        const char *name = place_of(w, r, attrs, i);
        uint64_t place = put_place(&w->put, name);
        bool elided = w->put.how.container >= 4;
        put_varint(out, elided ? type << 1 | (name != NULL) : type);
        if (!elided || name) put_varint(out, place);
    }
    if (w->put.how.container < 3) return;
    put_byte(out, w->put.how.use_lists);
    if (!w->put.how.use_lists) return;
    if (r->n_arg > 1) {
        put_varint(out, 1);
        put_varint(out, 0);
    }
    put_varint(out, 2 << 1 | 1);
    put_varint(out, 1);
    put_varint(out, 0);
}

static void write_return(writer_t *w, str_t *out, const ir_region_t *r)
{
    held_t none = {0};
    head(w, out, op_number(w, IN_VHLO, "return_v1"), r->n_result ? 4 : 0, put_place(&w->put, NULL),
         &none);
    operands(w, out, r->n_result, r->result);
}

/* attrs: of a function's arguments, or NULL */
static void write_region(writer_t *w, str_t *out, const ir_region_t *r, uint64_t first,
                         const ir_attrs_t *attrs)
{
    uint64_t behind = number_region(w, r, first);
    const char *extra = attrs ? w->put.how.extra : NULL;
    held_t none = {0};
    put_varint(out, 1);
    put_varint(out, behind - first);
    uint64_t n_op = (uint64_t)r->n_op + 1 + (extra != NULL);
    put_varint(out, n_op << 1 | (r->n_arg > 0));
    if (r->n_arg) write_args(w, out, r, attrs);
    if (extra) head(w, out, op_number(w, IN_VHLO, extra), 0, put_place(&w->put, NULL), &none);
    for (int i = 0; i < r->n_op; i++) write_op(w, out, r->op[i], behind);
    write_return(w, out, r);
}

/* The regions of an op: in a section of their own when they use nothing around them. */
static void write_regions(writer_t *w, str_t *out, const ir_op_t *op, uint64_t behind)
{
    bool closed = w->put.how.container >= 2;
    for (int i = 0; i < op->n_region; i++)
        closed = closed && is_closed(w, op->region[i], op->region[i]);
    put_varint(out, (uint64_t)op->n_region << 1 | closed);
    str_t own = {0};
    for (int i = 0; i < op->n_region; i++)
        write_region(w, closed ? &own : out, op->region[i], closed ? 0 : behind, NULL);
    if (closed) put_section(out, 4, &own);
    str_fini(&own);
}

static void write_op(writer_t *w, str_t *out, const ir_op_t *op, uint64_t behind)
{
    const char *name = op_def(op->code)->name;
    const bytecode_row_t *row = find_row(name, w->put.how.vhlo);
    static const bytecode_row_t unknown = {.attrs = ""};
    held_t h = {0};
    bool lists = w->put.how.use_lists && w->put.how.container >= 3 && op->n_out == 1;
    bool is_chlo = strncmp(name, "chlo.", 5) == 0;
    w->bad = w->bad || (!row && !(w->put.how.mixed && is_chlo));
    hold_op(w, op, row ? row : &unknown, &h);
    uint64_t number = row ? op_number(w, IN_VHLO, row->vhlo)
                          : op_number(w, IN_CHLO, is_chlo ? name + 5 : name);
    const char *place = op->code == OP_constant ? "a constant" : NULL;
    head(w, out, number,
         (op->n_out ? 2 : 0) | (op->n_in ? 4 : 0) | (op->n_region ? 16 : 0) | (lists ? 32 : 0),
         put_place(&w->put, place), &h);
    if (op->n_out) put_varint(out, (uint64_t)op->n_out);
    for (int i = 0; i < op->n_out; i++)
        put_varint(out, put_type(&w->put, ir_type_of(w->fn, op->out + (ir_val_t)i)));
    operands(w, out, op->n_in, op->in);
    if (lists) {
        put_varint(out, 2 << 1);
        put_varint(out, 1);
        put_varint(out, 0);
    }
    if (op->n_region) write_regions(w, out, op, behind);
}

/* --- functions and the module --- */

/* Dictionaries of arguments or results; an empty array where none has any. */
static uint64_t dicts(writer_t *w, const ir_attrs_t *attrs, int n)
{
    list_t items = {0};
    bool any = false;
    for (int i = 0; i < n; i++) {
        ir_attr_t kept[64];
        int n_kept = 0;
        for (int k = 0; k < attrs[i].n && n_kept < 64; k++)
            if (strcmp(attrs[i].at[k].name, "pcp.loc") != 0) kept[n_kept++] = attrs[i].at[k];
        uint64_t item = dict(w, kept, n_kept);
        VEC_PUSH(&items, item);
        any = any || n_kept;
    }
    uint64_t array = put_array(&w->put, any ? items.n : 0, items.at);
    VEC_FREE(&items);
    return array;
}

static uint64_t fn_type(writer_t *w)
{
    const ir_region_t *r = w->fn->body;
    list_t in = {0}, out = {0};
    for (int i = 0; i < r->n_arg; i++) {
        uint64_t type = put_type(&w->put, ir_type_of(w->fn, r->arg + (ir_val_t)i));
        VEC_PUSH(&in, type);
    }
    for (int i = 0; i < r->n_result; i++) {
        uint64_t type = put_type(&w->put, ir_type_of(w->fn, r->result[i]));
        VEC_PUSH(&out, type);
    }
    uint64_t type = put_function_type(&w->put, in.n, in.at, out.n, out.at);
    VEC_FREE(&in);
    VEC_FREE(&out);
    return put_type_attr(&w->put, type);
}

static void write_fn(writer_t *w, str_t *out, const ir_fn_t *fn)
{
    static const char *const names[] = {"arg_attrs", "function_type", "res_attrs", "sym_name",
                                        "sym_visibility"};
    held_t h = {0};
    str_t own = {0};
    w->fn = fn;
    w->number = calloc(fn->n_value + 1, sizeof *w->number);
    uint64_t values[5] = {dicts(w, fn->param_attrs, fn->body->n_arg), fn_type(w),
                          dicts(w, fn->result_attrs, fn->body->n_result),
                          put_text(&w->put, fn->name),
                          put_text(&w->put, fn->is_private ? "private" : "public")};
    for (int i = 0; i < 5; i++) {
        if (w->put.how.container >= 5)
            put_varint(&h.property, values[i]);
        else
            hold(w, &h, names[i], values[i]);
    }
    head(w, out, op_number(w, IN_VHLO, "func_v1"), 16, put_place(&w->put, NULL), &h);
    put_varint(out, 1 << 1 | 1);
    write_region(w, w->put.how.container >= 2 ? &own : out, fn->body, 0, fn->param_attrs);
    if (w->put.how.container >= 2) put_section(out, 4, &own);
    str_fini(&own);
    free(w->number);
}

static void write_module(writer_t *w, str_t *out, const ir_module_t *module)
{
    held_t h = {0};
    str_t own = {0};
    bool natively = w->put.how.container >= 5;
    uint64_t name = put_builtin_text(&w->put, module->name ? module->name : "");
    if (natively) {
        put_varint(&h.property, module->name ? name << 1 | 1 : 0);
        put_varint(&h.property, 0); /* no visibility */
    } else if (module->name) {
        hold(w, &h, "sym_name", name);
    }
    for (int i = 0; i < module->attrs.n; i++)
        hold(w, &h, module->attrs.at[i].name, any_attr(w, &module->attrs.at[i]));
    put_varint(out, 1 << 1);
    head(w, out, op_number(w, IN_BUILTIN, "module"), 16, put_place(&w->put, NULL), &h);
    put_varint(out, 1 << 1 | 1);
    put_varint(&own, 1);
    put_varint(&own, 0);
    put_varint(&own, (uint64_t)module->n_fn << 1);
    for (int i = 0; i < module->n_fn; i++) write_fn(w, &own, module->fn[i]);
    if (w->put.how.container >= 2)
        put_section(out, 4, &own);
    else
        str_addn(out, str_text(&own), own.n);
    str_fini(&own);
}

bool bytecode_write(const ir_module_t *module, const bytecode_write_t *how, str_t *out)
{
    writer_t w = {.put = {.how = *how}};
    str_t ir = {0};
    write_module(&w, &ir, module);
    put_file(&w.put, &ir, out);
    str_fini(&ir);
    put_fini(&w.put);
    return !w.bad;
}

/* --- defaults --- */

static bool is_default(const ir_attr_t *attr, const column_t *c)
{
    char word[64];
    if (*c->kind == 'P') {
        for (int i = 0; i < attr->n; i++)
            if (strcmp(attr->items[i].text, "DEFAULT") != 0) return false;
        return true;
    }
    if (!c->value) return strchr("AYD", *c->kind) && attr->n == 0;
    snprintf(word, sizeof word, "%.*s", (int)c->n_value, c->value);
    if (attr->kind == ATTR_STRING || attr->kind == ATTR_ENUM) return strcmp(attr->text, word) == 0;
    if (attr->kind == ATTR_BOOL) return !attr->i;
    if (attr->kind == ATTR_INT) return attr->i == atoi(word);
    if (attr->kind != ATTR_INTS) return false;
    for (int i = 0; i < attr->n; i++)
        if (attr->ints[i] != atoi(word)) return false;
    return true;
}

static void strip_region(ir_region_t *r)
{
    for (int k = 0; k < r->n_op; k++) {
        ir_op_t *op = r->op[k];
        const bytecode_row_t *row = find_row(op_def(op->code)->name, FOREVER);
        column_t c;
        for (const char *at = row ? row->attrs : ""; (at = next_column(at, &c));) {
            const ir_attr_t *attr = attr_find(&op->attrs, c.name);
            if (attr && is_default(attr, &c)) attr_remove(&op->attrs, c.name);
        }
        for (int i = 0; i < op->n_region; i++) strip_region(op->region[i]);
    }
}

void bytecode_strip_defaults(ir_module_t *module)
{
    for (int i = 0; i < module->n_fn; i++) strip_region(module->fn[i]->body);
}
