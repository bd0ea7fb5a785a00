/* The printer's state and the helpers its files share; private to ir/print*.c. */
#ifndef IR_PRINTER_H
#define IR_PRINTER_H

#include "base/str.h"
#include "ir/ir.h"
#include "ir/op.h"

typedef struct {
    const ir_fn_t *fn;
    str_t *out;
    uint32_t *number; /* per value: its number in the text; NULL: values go by their own names */
    uint32_t n_arg, n_result; /* numbers given so far: %arg3, %7 */
    int indent;
    bool one_line; /* regions are left out */
} printer_t;

/* --- print.c --- */
void print_value(const printer_t *p, ir_val_t v);
void print_values(const printer_t *p, int n, const ir_val_t *values); /* %a, %b */
void print_type(const printer_t *p, const ir_type_t *type);
void print_type_of(const printer_t *p, ir_val_t v);
/* (T, U) -> V */
void print_function_type(const printer_t *p, const ir_op_t *op);
void print_name_args(printer_t *p, const ir_region_t *region); /* give the arguments numbers */
/* ops, terminator and the closing brace */
void print_region_body(printer_t *p, const ir_region_t *region);
void print_new_line(const printer_t *p);

/* --- print_attr.c --- */
/* A value; `name` is the attribute's, which decides some spellings. */
void print_attr(str_t *out, const char *name, const ir_attr_t *attr);
/* name = value, or the name alone */
void print_named_attr(str_t *out, const ir_attr_t *attr);
/* " {..}" or nothing when there are none; `before` goes in front: " attributes" */
void print_attrs(str_t *out, const ir_attrs_t *attrs, const char *before);
void print_ints(str_t *out, const int64_t *at, int n); /* [1, 2] */
void print_quoted(str_t *out, const char *text);
void print_symbol(str_t *out, const char *name); /* @name or @"name" */
/* --- print_literal.c --- */
void print_literal(str_t *out, const tensor_t *tensor); /* dense<..> : T */
void print_float(str_t *out, double value, dtype_t dtype);

/* --- print_form.c --- */
/* The op without its results, in its pretty form; false when that form cannot say it. */
bool print_pretty(printer_t *p, const ir_op_t *op);
/* Pieces of forms. */
const ir_type_t *print_in_type(const ir_fn_t *fn, const ir_op_t *op, int i);
const ir_type_t *print_out_type(const ir_fn_t *fn, const ir_op_t *op, int i);
void print_head(const printer_t *p, const ir_op_t *op); /* its name and operands */
void print_int_list(const printer_t *p, const ir_op_t *op, const char *word, const char *name);
/* The attributes that the op's form does not spell out, in braces. */
void print_other_attrs(const printer_t *p, const ir_op_t *op);
void print_fn_tail(const printer_t *p, const ir_op_t *op); /* {..} : (T, U) -> V */
void print_tail(const printer_t *p, const ir_op_t *op);    /* {..} : T, when all types are T */

/* --- print_contract.c, print_region.c: can the form say the op; write it --- */
bool print_dot_fits(const ir_fn_t *fn, const ir_op_t *op);
void print_dot(printer_t *p, const ir_op_t *op);
bool print_conv_fits(const ir_fn_t *fn, const ir_op_t *op);
void print_convolution(printer_t *p, const ir_op_t *op);
bool print_reduce_fits(const ir_fn_t *fn, const ir_op_t *op);
void print_reduce(printer_t *p, const ir_op_t *op);
bool print_while_fits(const ir_fn_t *fn, const ir_op_t *op);
void print_while(printer_t *p, const ir_op_t *op);

#endif
