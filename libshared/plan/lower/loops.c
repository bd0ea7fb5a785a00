/* The table of ops lowered to plain loops, and their kernels: arguments, the range that threads
 * share, elements, and regions of scalars as expressions. */
#include "plan/lower/loops_in.h"

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
    loops_fn *emit;
} row_t;

static const row_t rows[OP_COUNT] = {
    [OP_reduce] = {is_general_reduce, extent_elements, loops_reduce},
    [OP_reduce_window] = {always, extent_elements, loops_reduce_window},
    [OP_select_and_scatter] = {always, extent_one, loops_select_and_scatter},
    [OP_scatter] = {is_general_scatter, extent_one, loops_scatter},
    [OP_convolution] = {always, extent_elements, loops_convolution},
    [OP_sort] = {always, extent_lines, loops_sort},
    [OP_chlo_top_k] = {always, extent_rows, loops_top_k},
    [OP_bitcast_convert] = {always, extent_elements, loops_bitcast},
    [OP_rng_bit_generator] = {draws_something, extent_elements, loops_rng_bits},
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

static void add_args(lower_t *self, loops_t *l)
{
    const ir_op_t *op = l->op;
    value_list_t captured = {0};
    loops_captures(self->fn, op, &captured);
    for (int i = 0; i < op->n_in; i++) read_arg(self, l->kernel, op->in[i]);
    for (size_t i = 0; i < captured.n; i++) read_arg(self, l->kernel, captured.at[i]);
    for (int i = 0; i < op->n_out; i++) {
        ir_val_t v = op->out + (ir_val_t)i;
        kernel_arg(l->kernel, v, ir_type_of(self->fn, v)->dtype, true);
    }
    for (size_t i = 0; i < self->scratch.n; i++)
        if (self->scratch.at[i].op == op) {
            l->scratch = kernel_arg(l->kernel, self->scratch.at[i].value, DT_I64, true);
            self->value[self->scratch.at[i].value].stored = true;
        }
    for (size_t i = 0; i < captured.n; i++) /* the others are bound where a region runs */
        l->bound[captured.at[i]] = loops_load(l, captured.at[i], kx_int(l->g, 0));
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

static void emit(lower_t *self, kernel_t *kernel, const ir_op_t *op)
{
    loops_t l = {.lower = self, .fn = self->fn, .op = op, .kernel = kernel, .g = &kernel->graph};
    l.scratch = -1;
    l.bound = mem_calloc(self->fn->n_value, sizeof *l.bound);
    memset(l.bound, 0xFF, self->fn->n_value * sizeof *l.bound);
    kernel->in_order = true;
    kernel->extent = rows[op->code].extent(self->fn, op);
    add_args(self, &l);
    kstmt_t *all = kernel_stmt(&kernel->body, KS_FOR);
    l.o = kx_var(l.g, kernel->extent, &all->var);
    l.block = &all->body;
    rows[op->code].emit(&l);
    free(l.bound);
}

void loops_place(lower_t *self, const ir_op_t *op)
{
    group_t *group = mem_calloc(1, sizeof *group);
    kernel_t *kernel = group->kernel = kernel_new();
    emit(self, kernel, op);
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

/* --- Elements, statements, regions ------------------------------------------------------------ */

const ir_type_t *loops_type(const loops_t *l, ir_val_t v)
{
    return ir_type_of(l->fn, v);
}

static int arg_of(const loops_t *l, ir_val_t v)
{
    for (size_t i = 0; i < l->kernel->arg.n; i++)
        if (l->kernel->arg.at[i].value == v) return (int)i;
    return -1;
}

kx_t loops_load(loops_t *l, ir_val_t v, kx_t index)
{
    int arg = arg_of(l, v);
    return kx_load(l->g, arg, l->kernel->arg.at[arg].dtype, index);
}

void loops_store(loops_t *l, ir_val_t v, kx_t index, kx_t value)
{
    int arg = arg_of(l, v);
    kstmt_t *s = kernel_stmt(l->block, KS_STORE);
    s->target = arg;
    s->index = index;
    s->value = kx_convert(l->g, value, l->kernel->arg.at[arg].dtype);
}

static dtype_t word_of(dtype_t dtype)
{
    static const dtype_t words[] = {[1] = DT_UI8, [2] = DT_UI16, [4] = DT_UI32, [8] = DT_UI64};
    return words[dtype_bytes(dtype)];
}

void loops_as_bits(loops_t *l, ir_val_t v)
{
    l->kernel->arg.at[arg_of(l, v)].dtype = word_of(loops_type(l, v)->dtype);
}

void loops_move(loops_t *l, ir_val_t v, kx_t index, ir_val_t w, kx_t from)
{
    dtype_t dtype = loops_type(l, v)->dtype;
    kstmt_t *s = kernel_stmt(l->block, KS_STORE);
    s->target = arg_of(l, v);
    s->index = index;
    s->value = kx_load(l->g, arg_of(l, w), dtype_is_narrow(dtype) ? word_of(dtype) : dtype, from);
}

kx_t loops_let(loops_t *l, kx_t value)
{
    dtype_t dtype = l->g->node.at[value].dtype;
    kstmt_t *s = kernel_stmt(l->block, KS_LET);
    s->target = kernel_cell(l->kernel, dtype);
    s->value = value;
    return kx_cell(l->g, s->target, dtype);
}

void loops_set(loops_t *l, int n, const kx_t *cell, const kx_t *value)
{
    kstmt_t *s = kernel_stmt(l->block, KS_SET);
    for (int i = 0; i < n; i++)
        VEC_PUSH(&s->set, ((kset_t){(int)l->g->node.at[cell[i]].i, value[i]}));
}

kblock_t *loops_for(loops_t *l, int64_t extent, kx_t lo, kx_t hi, kx_t *at)
{
    kblock_t *outside = l->block;
    kstmt_t *s = kernel_stmt(l->block, KS_FOR);
    *at = kx_var(l->g, extent, &s->var);
    s->lo = lo;
    s->hi = hi;
    l->block = &s->body;
    return outside;
}

kblock_t *loops_over(loops_t *l, int rank, const int64_t *dim, kx_t *index)
{
    kblock_t *outside = l->block;
    for (int d = 0; d < rank; d++)
        loops_for(l, dim[d], kx_int(l->g, 0), kx_int(l->g, dim[d]), &index[d]);
    return outside;
}

kblock_t *loops_if(loops_t *l, kx_t condition)
{
    kblock_t *outside = l->block;
    kstmt_t *s = kernel_stmt(l->block, KS_IF);
    s->value = condition;
    l->block = &s->body;
    return outside;
}

kblock_t *loops_while(loops_t *l, kx_t condition)
{
    kblock_t *outside = loops_if(l, condition);
    outside->at[outside->n - 1]->kind = KS_WHILE;
    return outside;
}

kx_t loops_sum(loops_t *l, int n, const kx_t *index, const int64_t *stride)
{
    kx_t sum = kx_int(l->g, 0);
    for (int d = 0; d < n; d++) sum = kx_add(l->g, sum, kx_scale(l->g, index[d], stride[d]));
    return sum;
}

void loops_region(loops_t *l, const ir_region_t *region, const kx_t *args, kx_t *results)
{
    inline_t in = {.lower = l->lower, .graph = l->g, .bound = l->bound};
    for (int i = 0; i < region->n_arg; i++) l->bound[region->arg + (ir_val_t)i] = args[i];
    for (int i = 0; i < region->n_op; i++)
        l->bound[region->op[i]->out] = inline_value(&in, region->op[i]->out, NULL);
    for (int i = 0; i < region->n_result; i++) results[i] = l->bound[region->result[i]];
    for (int i = 0; i < region->n_op; i++) l->bound[region->op[i]->out] = KX_NONE;
    inline_fini(&in);
}
