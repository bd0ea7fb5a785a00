/* The table of ops lowered to plain loops, and their kernels: arguments and the range that threads
 * share. */
#include "plan/loops.h"

#include <string.h>

#include "ir/build.h"
#include "passes/region_loops.h"

/* --- Regions of scalars ----------------------------------------------------------------------- */

static bool knows_regions(const ir_fn_t *fn, const ir_op_t *op)
{
    for (int r = 0; r < op->n_region; r++)
        for (int i = 0; i < op->region[r]->n_op; i++)
            if (!region_op_is_scalar(fn, op->region[r]->op[i])) return false;
    return true;
}

static bool is_inside(const ir_fn_t *fn, const ir_op_t *op, ir_val_t v)
{
    const ir_value_t *value = &fn->value[v];
    const ir_region_t *r = value->def ? value->def->parent : value->owner;
    for (; r; r = r->parent ? r->parent->parent : NULL)
        if (r->parent == op) return true;
    return false;
}

static void add_once(value_list_t *list, ir_val_t v)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i] == v) return;
    VEC_PUSH(list, v);
}

static void find_captures(const ir_fn_t *fn, const ir_op_t *top, const ir_op_t *op,
                          value_list_t *list)
{
    for (int r = 0; r < op->n_region; r++) {
        const ir_region_t *region = op->region[r];
        for (int i = 0; i < region->n_op; i++) {
            const ir_op_t *inner = region->op[i];
            for (int k = 0; k < inner->n_in; k++)
                if (!is_inside(fn, top, inner->in[k])) add_once(list, inner->in[k]);
            find_captures(fn, top, inner, list);
        }
        for (int i = 0; i < region->n_result; i++)
            if (!is_inside(fn, top, region->result[i])) add_once(list, region->result[i]);
    }
}

void loops_captures(const ir_fn_t *fn, const ir_op_t *op, value_list_t *list)
{
    find_captures(fn, op, op, list);
}

/* --- The table -------------------------------------------------------------------------------- */

static int64_t count_of(const ir_fn_t *fn, ir_val_t v)
{
    return ir_type_count(ir_type_of(fn, v));
}

static bool always(const ir_fn_t *fn, const ir_op_t *op)
{
    (void)fn, (void)op;
    return true;
}

/* Reductions that legalize.c leaves alone. */
static bool is_general_reduce(const ir_fn_t *fn, const ir_op_t *op)
{
    return op->n_in != 2 || ir_reducer_op(op->region[0]) == OP_invalid ||
           ir_type_of(fn, op->in[0])->dtype != ir_type_of(fn, op->in[1])->dtype;
}

static bool is_general_scatter(const ir_fn_t *fn, const ir_op_t *op)
{
    const ir_region_t *r = op->region[0];
    (void)fn;
    if (op->n_in != 3) return true;
    bool replaces = r->n_op == 0 && r->n_result == 1 && r->result[0] == r->arg + 1;
    return !replaces && ir_reducer_op(r) == OP_invalid;
}

static bool is_total_order(const ir_fn_t *fn, const ir_op_t *op)
{
    return strcmp(attr_text(&op->attrs, "compare_type", ""), "TOTALORDER") == 0 &&
           dtype_is_float(ir_type_of(fn, op->in[0])->dtype);
}

/* The state is written together with the first number. */
static bool draws_something(const ir_fn_t *fn, const ir_op_t *op)
{
    return count_of(fn, op->out + 1) > 0;
}

/* Independent pieces of work: elements of the last result, lines along one dimension, or one. */
static int64_t extent_elements(const ir_fn_t *fn, const ir_op_t *op)
{
    return count_of(fn, op->out + (ir_val_t)op->n_out - 1);
}

static int64_t extent_one(const ir_fn_t *fn, const ir_op_t *op)
{
    (void)fn, (void)op;
    return 1;
}

static int64_t extent_rows(const ir_fn_t *fn, const ir_op_t *op)
{
    const ir_type_t *t = ir_type_of(fn, op->in[0]);
    return ir_type_count(t) / t->dim[t->rank - 1];
}

static int64_t extent_lines(const ir_fn_t *fn, const ir_op_t *op)
{
    const ir_type_t *t = ir_type_of(fn, op->in[0]);
    int64_t dim = attr_int(&op->attrs, "dimension", -1);
    return ir_type_count(t) / t->dim[dim < 0 ? dim + t->rank : dim];
}

typedef struct {
    bool (*knows)(const ir_fn_t *fn, const ir_op_t *op); /* NULL: no row */
    int64_t (*extent)(const ir_fn_t *fn, const ir_op_t *op);
} row_t;

static const row_t rows[OP_COUNT] = {
    [OP_reduce] = {is_general_reduce, extent_elements},
    [OP_reduce_window] = {always, extent_elements},
    [OP_select_and_scatter] = {always, extent_one},
    [OP_scatter] = {is_general_scatter, extent_one},
    [OP_convolution] = {always, extent_elements},
    [OP_sort] = {always, extent_lines},
    [OP_chlo_top_k] = {always, extent_rows},
    [OP_bitcast_convert] = {always, extent_elements},
    [OP_reduce_precision] = {always, extent_elements},
    [OP_compare] = {is_total_order, extent_elements},
    [OP_rng_bit_generator] = {draws_something, extent_elements},
};

bool loops_has_row(op_code_t code)
{
    return rows[code].knows != NULL;
}

bool loops_has_form(const ir_fn_t *fn, const ir_op_t *op)
{
    return rows[op->code].knows && rows[op->code].knows(fn, op);
}

bool loops_knows(const ir_fn_t *fn, const ir_op_t *op)
{
    return loops_has_form(fn, op) && knows_regions(fn, op);
}

/* --- Kernels ---------------------------------------------------------------------------------- */

ir_val_t loops_scratch(ir_fn_t *fn, const ir_op_t *op)
{
    if (op->code != OP_sort || !loops_knows(fn, op)) return IR_NONE;
    ir_type_t two = ir_type(DT_I64, 1, (int64_t[]){2 * count_of(fn, op->in[0])});
    return ir_region_new(fn, 1, &two)->arg; /* two orders of each line */
}

static void mark(lower_t *self, ir_val_t v)
{
    self->value[v].root = true;
    self->value[v].plain = true;
}

void loops_mark(lower_t *self, const ir_op_t *op)
{
    value_list_t captured = {0};
    loops_captures(self->fn, op, &captured);
    for (size_t i = 0; i < captured.n; i++) mark(self, captured.at[i]);
    for (int i = 0; i < op->n_in; i++) mark(self, op->in[i]);
    for (int i = 0; i < op->n_out; i++) mark(self, op->out + (ir_val_t)i);
    VEC_FREE(&captured);
}

static void read_arg(lower_t *self, kernel_t *kernel, ir_val_t v)
{
    self->value[v].stored = true;
    kernel_arg(kernel, v, ir_type_of(self->fn, v)->dtype, false);
}

static void add_args(lower_t *self, kernel_t *kernel, const ir_op_t *op)
{
    value_list_t captured = {0};
    loops_captures(self->fn, op, &captured);
    for (int i = 0; i < op->n_in; i++) read_arg(self, kernel, op->in[i]);
    for (size_t i = 0; i < captured.n; i++) read_arg(self, kernel, captured.at[i]);
    for (int i = 0; i < op->n_out; i++) {
        ir_val_t v = op->out + (ir_val_t)i;
        kernel_arg(kernel, v, ir_type_of(self->fn, v)->dtype, true);
    }
    for (size_t i = 0; i < self->scratch.n; i++)
        if (self->scratch.at[i].op == op) {
            kernel->scratch = kernel_arg(kernel, self->scratch.at[i].value, DT_I64, true);
            self->value[self->scratch.at[i].value].stored = true;
        }
    VEC_FREE(&captured);
}

/* Threads take pieces worth 20 us, at a guess of a nanosecond per element read. */
static void estimate(const lower_t *self, kernel_t *kernel)
{
    double elements = 0;
    for (size_t i = 0; i < kernel->arg.n; i++) {
        const ir_type_t *t = ir_type_of(self->fn, kernel->arg.at[i].value);
        elements += (double)ir_type_count(t);
        kernel->bytes += (double)ir_type_bytes(t);
    }
    double grain = 20000 * (double)kernel->extent / (elements + 1);
    kernel->flops = elements;
    kernel->grain = grain < 1                        ? 1
                    : grain > (double)kernel->extent ? kernel->extent
                                                     : (int64_t)grain;
}

void loops_place(lower_t *self, const ir_op_t *op)
{
    group_t *group = mem_calloc(1, sizeof *group);
    kernel_t *kernel = group->kernel = kernel_new();
    kernel->fn = self->fn;
    kernel->kind = KERNEL_OP;
    kernel->op = op;
    kernel->scratch = -1;
    kernel->extent = rows[op->code].extent(self->fn, op);
    add_args(self, kernel, op);
    estimate(self, kernel);
    const char *name = op_def(op->code)->name, *dot = strchr(name, '.');
    kernel->label = mem_printf("%s, loops over %lld", dot ? dot + 1 : name,
                               (long long)kernel->extent);
    group->order = (int)self->step.n;
    for (int i = 0; i < op->n_out; i++) {
        lvalue_t *lv = &self->value[op->out + (ir_val_t)i];
        lv->group = (int)self->group.n;
        lv->order = group->order;
        lv->stored = true;
    }
    lstep_t step = {.kind = LOWER_GROUP, .group = (int)self->group.n, .value = op->out};
    VEC_PUSH(&self->group, group);
    VEC_PUSH(&self->step, step);
}
