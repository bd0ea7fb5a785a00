/* Pretty forms with regions: reduce and while. */
#include <string.h>

#include "ir/printer.h"

bool print_reduce_fits(const ir_fn_t *fn, const ir_op_t *op)
{
    (void)fn;
    return op->n_in > 0 && op->n_in % 2 == 0 && op->n_region == 1 &&
           op->region[0]->n_arg == op->n_in;
}

/* `applies op` stands for the region (a, b) -> op(a, b) on values of the initial value's type. */
static const ir_op_t *applied(const ir_fn_t *fn, const ir_op_t *op)
{
    const ir_region_t *r = op->region[0];
    if (op->n_in != 2 || r->n_op != 1 || r->n_result != 1) return NULL;
    const ir_op_t *inner = r->op[0];
    const ir_type_t *type = print_in_type(fn, op, 1);
    bool plain = inner->n_in == 2 && inner->n_out == 1 && inner->n_region == 0 &&
                 inner->attrs.n == 0 && op_def(inner->code)->form == FORM_OPERANDS &&
                 op_def(inner->code)->n_in == 2 && op_def(inner->code)->n_out == 1 &&
                 inner->in[0] == r->arg && inner->in[1] == r->arg + 1 && r->result[0] == inner->out;
    bool typed = plain && ir_type_equal(print_in_type(fn, inner, 0), type) &&
                 ir_type_equal(print_in_type(fn, inner, 1), type) &&
                 ir_type_equal(print_out_type(fn, inner, 0), type);
    return typed ? inner : NULL;
}

static void reducer(printer_t *p, const ir_op_t *op)
{
    const ir_region_t *r = op->region[0];
    int n = op->n_in / 2;
    print_name_args(p, r);
    str_add(p->out, " reducer");
    for (int i = 0; i < n; i++) {
        ir_val_t pair[2] = {r->arg + (ir_val_t)i, r->arg + (ir_val_t)(n + i)};
        for (int k = 0; k < 2; k++) {
            str_add(p->out, k ? ", " : i ? " (" : "(");
            print_value(p, pair[k]);
            str_add(p->out, ": ");
            print_type_of(p, pair[k]);
        }
        str_add(p->out, ")");
    }
    str_add(p->out, " {");
    print_region_body(p, r);
}

void print_reduce(printer_t *p, const ir_op_t *op)
{
    int n = op->n_in / 2;
    const ir_op_t *inner = applied(p->fn, op);
    str_add(p->out, op_def(op->code)->name);
    for (int i = 0; i < n; i++) {
        str_add(p->out, i ? ", (" : "(");
        print_value(p, op->in[i]);
        str_add(p->out, " init: ");
        print_value(p, op->in[n + i]);
        str_add(p->out, ")");
    }
    if (inner) str_addf(p->out, " applies %s", op_def(inner->code)->name);
    print_int_list(p, op, " across dimensions = ", "dimensions");
    print_fn_tail(p, op);
    if (!inner) reducer(p, op);
}

/* Operands, results and the arguments of both regions have the same types. */
bool print_while_fits(const ir_fn_t *fn, const ir_op_t *op)
{
    if (op->n_region != 2 || op->n_out != op->n_in) return false;
    for (int k = 0; k < 2; k++)
        if (op->region[k]->n_arg != op->n_in) return false;
    for (int i = 0; i < op->n_in; i++) {
        const ir_type_t *type = print_in_type(fn, op, i);
        if (!ir_type_equal(type, print_out_type(fn, op, i))) return false;
        for (int k = 0; k < 2; k++)
            if (!ir_type_equal(type, ir_type_of(fn, op->region[k]->arg + (ir_val_t)i)))
                return false;
    }
    return true;
}

void print_while(printer_t *p, const ir_op_t *op)
{
    const ir_region_t *cond = op->region[0], *loop = op->region[1];
    print_name_args(p, cond);
    for (int i = 0; p->number && i < op->n_in; i++) /* both regions use the same names */
        p->number[loop->arg + (ir_val_t)i] = p->number[cond->arg + (ir_val_t)i];
    str_addf(p->out, "%s(", op_def(op->code)->name);
    for (int i = 0; i < op->n_in; i++) {
        if (i) str_add(p->out, ", ");
        print_value(p, cond->arg + (ir_val_t)i);
        str_add(p->out, " = ");
        print_value(p, op->in[i]);
    }
    str_add(p->out, ")");
    for (int i = 0; i < op->n_in; i++) {
        str_add(p->out, i ? ", " : " : ");
        print_type_of(p, op->in[i]);
    }
    print_attrs(p->out, &op->attrs, " attributes");
    str_add(p->out, " cond {");
    print_region_body(p, cond);
    str_add(p->out, " do {");
    print_region_body(p, loop);
}
