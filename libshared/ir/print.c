/* Modules, functions and ops as StableHLO text. Values are numbered anew: arguments %arg0, %arg1,
 * .. and results %0, %1, .. in the order of the text. */
#include "ir/print.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/printer.h"
#include "ir/struct_attr.h"

void print_new_line(const printer_t *p)
{
    str_add(p->out, "\n");
    for (int i = 0; i < p->indent; i++) str_add(p->out, "  ");
}

void print_value(const printer_t *p, ir_val_t v)
{
    if (v >= p->fn->n_value) {
        str_add(p->out, "%none");
        return;
    }
    const ir_value_t *value = &p->fn->value[v];
    if (!p->number && value->name)
        str_addf(p->out, "%%%s", value->name);
    else if (!p->number)
        str_addf(p->out, "%%v%u", v);
    else if (!value->def)
        str_addf(p->out, "%%arg%u", p->number[v]);
    else if (value->def->n_out == 1)
        str_addf(p->out, "%%%u", p->number[v]);
    else
        str_addf(p->out, "%%%u#%d", p->number[value->def->out], value->index);
}

void print_values(const printer_t *p, int n, const ir_val_t *values)
{
    for (int i = 0; i < n; i++) {
        if (i) str_add(p->out, ", ");
        print_value(p, values[i]);
    }
}

void print_type(const printer_t *p, const ir_type_t *type)
{
    char text[IR_TYPE_TEXT];
    str_add(p->out, ir_type_text(type, text));
}

void print_type_of(const printer_t *p, ir_val_t v)
{
    if (v < p->fn->n_value)
        print_type(p, ir_type_of(p->fn, v));
    else
        str_add(p->out, "none");
}

void print_function_type(const printer_t *p, const ir_op_t *op)
{
    str_add(p->out, "(");
    for (int i = 0; i < op->n_in; i++) {
        if (i) str_add(p->out, ", ");
        print_type_of(p, op->in[i]);
    }
    str_add(p->out, op->n_out == 1 ? ") -> " : ") -> (");
    for (int i = 0; i < op->n_out; i++) {
        if (i) str_add(p->out, ", ");
        print_type_of(p, op->out + (ir_val_t)i);
    }
    if (op->n_out != 1) str_add(p->out, ")");
}

void print_name_args(printer_t *p, const ir_region_t *region)
{
    for (int i = 0; p->number && i < region->n_arg; i++)
        p->number[region->arg + (ir_val_t)i] = p->n_arg++;
}

/* --- the generic form --- */

/* Struct attributes are put together again from their members. */
static void struct_attribute(const printer_t *p, const ir_op_t *op, const struct_attr_t *s)
{
    str_addf(p->out, "%s = %s<%s", s->holder, s->mnemonic,
             op->code == OP_convolution ? "raw " : "");
    for (int i = 0; s->member[i]; i++) {
        int n;
        const int64_t *list = attr_ints(&op->attrs, s->member[i], &n);
        str_addf(p->out, "%s%s = ", i ? ", " : "", s->member[i]);
        if (struct_attr_is_scalar(s->member[i]))
            str_addf(p->out, "%lld", (long long)attr_int(&op->attrs, s->member[i], 0));
        else
            print_ints(p->out, list, n);
    }
    str_add(p->out, ">");
}

/* Attributes of a dialect of their own, like mhlo.sharding, are no properties of the op. */
static bool is_discardable(const ir_attr_t *a)
{
    return strchr(a->name, '.') != NULL;
}

static void properties(const printer_t *p, const ir_op_t *op)
{
    const struct_attr_t *s = struct_attr_of_op(op->code);
    const char *before = " <{";
    if (s) {
        str_add(p->out, before);
        struct_attribute(p, op, s);
        before = ", ";
    }
    for (int i = 0; i < op->attrs.n; i++) {
        const ir_attr_t *a = &op->attrs.at[i];
        if (is_discardable(a) || (s && struct_attr_has(s, a->name))) continue;
        str_add(p->out, before);
        print_named_attr(p->out, a);
        before = ", ";
    }
    if (*before == ',') str_add(p->out, "}>");
}

static void discardable(const printer_t *p, const ir_op_t *op)
{
    const char *before = " {";
    for (int i = 0; i < op->attrs.n; i++) {
        if (!is_discardable(&op->attrs.at[i])) continue;
        str_add(p->out, before);
        print_named_attr(p->out, &op->attrs.at[i]);
        before = ", ";
    }
    if (*before == ',') str_add(p->out, "}");
}

static void block_label(printer_t *p, const ir_region_t *region)
{
    print_name_args(p, region);
    if (region->n_arg == 0) return;
    print_new_line(p);
    str_add(p->out, "^bb0(");
    for (int i = 0; i < region->n_arg; i++) {
        ir_val_t arg = region->arg + (ir_val_t)i;
        if (i) str_add(p->out, ", ");
        print_value(p, arg);
        str_add(p->out, ": ");
        print_type_of(p, arg);
    }
    str_add(p->out, "):");
}

static void generic_regions(printer_t *p, const ir_op_t *op)
{
    if (op->n_region == 0) return;
    str_add(p->out, " (");
    for (int i = 0; i < op->n_region; i++) {
        str_add(p->out, i ? ", {" : "{");
        if (!p->one_line) block_label(p, op->region[i]);
        print_region_body(p, op->region[i]);
    }
    str_add(p->out, ")");
}

static void generic_form(printer_t *p, const ir_op_t *op)
{
    str_addf(p->out, "\"%s\"(", op_def(op->code)->name);
    print_values(p, op->n_in, op->in);
    str_add(p->out, ")");
    properties(p, op);
    generic_regions(p, op);
    discardable(p, op);
    str_add(p->out, " : ");
    print_function_type(p, op);
}

/* --- ops and regions --- */

static void results(printer_t *p, const ir_op_t *op)
{
    if (op->n_out == 0) return;
    for (int i = 0; p->number && i < op->n_out; i++) p->number[op->out + (ir_val_t)i] = p->n_result;
    if (p->number) {
        str_addf(p->out, "%%%u", p->n_result++);
        if (op->n_out > 1) str_addf(p->out, ":%d", op->n_out);
    } else {
        ir_val_t first = op->out;
        for (int i = 0; i < op->n_out; i++) {
            if (i) str_add(p->out, ", ");
            print_value(p, first + (ir_val_t)i);
        }
    }
    str_add(p->out, " = ");
}

static void operation(printer_t *p, const ir_op_t *op)
{
    if (op->code <= OP_invalid || op->code >= OP_COUNT) {
        str_addf(p->out, "<op code %d>", op->code);
        return;
    }
    results(p, op);
    if (!print_pretty(p, op)) generic_form(p, op);
}

static void terminator(const printer_t *p, const ir_region_t *region, const char *name)
{
    print_new_line(p);
    str_add(p->out, name);
    for (int i = 0; i < region->n_result; i++) {
        str_add(p->out, i ? ", " : " ");
        print_value(p, region->result[i]);
    }
    for (int i = 0; i < region->n_result; i++) {
        str_add(p->out, i ? ", " : " : ");
        print_type_of(p, region->result[i]);
    }
}

static void body(printer_t *p, const ir_region_t *region, const char *return_name)
{
    p->indent++;
    for (int i = 0; i < region->n_op; i++) {
        print_new_line(p);
        operation(p, region->op[i]);
    }
    terminator(p, region, return_name);
    p->indent--;
    print_new_line(p);
    str_add(p->out, "}");
}

void print_region_body(printer_t *p, const ir_region_t *region)
{
    if (p->one_line)
        str_add(p->out, " .. }");
    else
        body(p, region, "stablehlo.return");
}

/* --- functions and modules --- */

static void parameters(const printer_t *p)
{
    const ir_fn_t *fn = p->fn;
    str_add(p->out, "(");
    for (int i = 0; i < fn->body->n_arg; i++) {
        if (i) str_add(p->out, ", ");
        print_value(p, ir_fn_param(fn, i));
        str_add(p->out, ": ");
        print_type_of(p, ir_fn_param(fn, i));
        if (fn->param_attrs) print_attrs(p->out, &fn->param_attrs[i], "");
    }
    str_add(p->out, ")");
}

static void result_types(const printer_t *p)
{
    const ir_fn_t *fn = p->fn;
    int n = fn->body->n_result;
    if (n == 0) return;
    bool bare = n == 1 && (!fn->result_attrs || fn->result_attrs[0].n == 0);
    str_add(p->out, bare ? " -> " : " -> (");
    for (int i = 0; i < n; i++) {
        if (i) str_add(p->out, ", ");
        print_type_of(p, fn->body->result[i]);
        if (fn->result_attrs) print_attrs(p->out, &fn->result_attrs[i], "");
    }
    if (!bare) str_add(p->out, ")");
}

static void function(const ir_fn_t *fn, str_t *out, int indent)
{
    printer_t p = {.fn = fn, .out = out, .indent = indent};
    p.number = mem_calloc(fn->n_value ? fn->n_value : 1, sizeof *p.number);
    print_name_args(&p, fn->body);
    for (int i = 0; i < indent; i++) str_add(out, "  ");
    str_addf(out, "func.func %s ", fn->is_private ? "private" : "public");
    print_symbol(out, fn->name);
    parameters(&p);
    result_types(&p);
    print_attrs(out, &fn->attrs, " attributes");
    str_add(out, " {");
    body(&p, fn->body, "return");
    str_add(out, "\n");
    free(p.number);
}

void ir_print_module(const ir_module_t *module, str_t *out)
{
    str_add(out, "module");
    if (module->name) {
        str_add(out, " ");
        print_symbol(out, module->name);
    }
    print_attrs(out, &module->attrs, " attributes");
    str_add(out, " {\n");
    for (int i = 0; i < module->n_fn; i++) function(module->fn[i], out, 1);
    str_add(out, "}\n");
}

void ir_print_op(const ir_fn_t *fn, const ir_op_t *op, str_t *out)
{
    printer_t p = {.fn = fn, .out = out, .one_line = true};
    operation(&p, op);
}
