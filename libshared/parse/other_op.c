/* Ops that are others in a different spelling: broadcast, broadcast_select, torch_index_select. */
#include "parse/other_op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "ir/build_index.h"
#include "parse/wide.h"

int other_fail(parser_t *p, const draft_t *d, err_code_t code, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return parse_fail(p, d->name.at, code, "%.*s: %s", (int)d->name.n, d->name.at, text);
}

int other_row(parser_t *p, draft_t *d, ir_region_t *into, const vals_t *values, ir_val_t *first)
{
    bool in_a_row = true;
    for (size_t i = 1; i < values->n; i++)
        in_a_row = in_a_row && values->at[i] == values->at[0] + (ir_val_t)i;
    *first = values->n ? values->at[0] : IR_NONE;
    if (in_a_row) return 0;
    draft_t row = {.name = d->name, .code = OP_optimization_barrier, .line = d->line};
    row.def = op_def(row.code);
    for (size_t i = 0; i < values->n; i++) {
        VEC_PUSH(&row.in, values->at[i]);
        VEC_PUSH(&row.out, *ir_type_of(p->fn, values->at[i]));
    }
    int rc = parse_emit(p, &row, into, first);
    draft_fini(&row);
    return rc;
}

/* Nothing but tensors of plain elements? */
static int check_plain(parser_t *p, const draft_t *d)
{
    char text[IR_TYPE_TEXT];
    for (size_t i = 0; i < d->in.n + d->out.n; i++) {
        const ir_type_t *type = i < d->in.n ? ir_type_of(p->fn, d->in.at[i])
                                            : &d->out.at[i - d->in.n];
        if (wide_is(type))
            return other_fail(p, d, ERR_UNSUPPORTED, "%s is not a tensor of plain elements",
                              parse_type_text(p, type, text));
    }
    return 0;
}

int other_build(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first,
                ir_val_t (*build)(parser_t *p, const draft_t *d))
{
    char want[IR_TYPE_TEXT], got[IR_TYPE_TEXT];
    if (check_plain(p, d) < 0) return -1;
    ir_fn_t *fn = p->fn;
    ir_region_t *saved = fn->cursor;
    int n_before = into->n_op;
    fn->cursor = into;
    ir_val_t y = build(p, d);
    fn->cursor = saved;
    for (int i = n_before; i < into->n_op; i++) into->op[i]->line = d->line;
    if (p->err->code) return -1;
    if (fn->err.code || y == IR_NONE) {
        err_t why = fn->err;
        fn->err = (err_t){0};
        return other_fail(p, d, why.code ? why.code : ERR_ARG, "%s", why.text);
    }
    if (!ir_type_equal(ir_type_of(fn, y), &d->out.at[0]))
        return other_fail(p, d, ERR_SHAPE, "the result is declared %s, but its rule gives %s",
                          ir_type_text(&d->out.at[0], got), ir_type_text(ir_type_of(fn, y), want));
    *first = y;
    return 0;
}

/* --- broadcast: new dimensions in front --- */

int form_broadcast(parser_t *p, draft_t *d)
{
    ints_t sizes = {0};
    if (parse_operands(p, &d->in) < 0 || parse_expect(p, ',', ",") < 0) return -1;
    if (parse_expect_word(p, "sizes") < 0 || parse_expect(p, '=', "=") < 0) return -1;
    int rc = parse_int_list(p, &sizes);
    if (rc == 0) parse_set_ints(p, &d->attrs, "broadcast_sizes", &sizes);
    VEC_FREE(&sizes);
    if (rc < 0 || parse_optional_attributes(p, &d->attrs) < 0) return -1;
    return parse_signature(p, d);
}

static ir_val_t build_broadcast(parser_t *p, const draft_t *d)
{
    int n;
    const int64_t *sizes = attr_ints(&d->attrs, "broadcast_sizes", &n);
    ir_type_t x = *ir_type_of(p->fn, d->in.at[0]), y = x;
    int64_t dims[IR_MAX_RANK];
    if (n + x.rank > IR_MAX_RANK) {
        other_fail(p, d, ERR_UNSUPPORTED, "more than %d dimensions", IR_MAX_RANK);
        return IR_NONE;
    }
    y.rank = n + x.rank;
    for (int i = 0; i < n; i++) y.dim[i] = sizes[i];
    for (int i = 0; i < x.rank; i++) {
        y.dim[n + i] = x.dim[i];
        dims[i] = n + i;
    }
    err_t why = {0};
    if (ir_type_check(&y, &why) < 0) {
        other_fail(p, d, why.code, "broadcast_sizes: %s", why.text);
        return IR_NONE;
    }
    return ir_broadcast(p->fn, d->in.at[0], &y, dims);
}

int finish_broadcast(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    return other_build(p, d, into, first, build_broadcast);
}

/* --- chlo.broadcast_select: operands of lower rank are spread along the leading dimensions, and
 * dimensions of one along the others' --- */

static ir_val_t build_broadcast_select(parser_t *p, const draft_t *d)
{
    const ir_type_t y = d->out.at[0];
    ir_val_t x[3];
    for (size_t i = 0; i < 3; i++) {
        const ir_type_t from = *ir_type_of(p->fn, d->in.at[i]);
        int64_t dims[IR_MAX_RANK];
        if (from.rank > y.rank) {
            char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
            other_fail(p, d, ERR_SHAPE, "operand %zu is %s, the result %s", i,
                       ir_type_text(&from, a), ir_type_text(&y, b));
            return IR_NONE;
        }
        for (int k = 0; k < from.rank; k++) dims[k] = y.rank - from.rank + k;
        x[i] = ir_shape_equal(&from, &y) ? d->in.at[i] : ir_broadcast(p->fn, d->in.at[i], &y, dims);
    }
    return ir_select(p->fn, x[0], x[1], x[2]);
}

int finish_broadcast_select(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    return other_build(p, d, into, first, build_broadcast_select);
}

/* --- torch_index_select: y[b.., i.., j.., k..] = x[b.., i.., index[b.., j..], k..] with batch_dims
 * dimensions b and the indexed one at `dim`; indices are clamped as gather's are --- */

static ir_val_t build_index_select(parser_t *p, const draft_t *d)
{
    ir_fn_t *fn = p->fn;
    const ir_type_t x = *ir_type_of(fn, d->in.at[0]), index = *ir_type_of(fn, d->in.at[1]);
    int64_t dim = attr_int(&d->attrs, "dim", 0), batch = attr_int(&d->attrs, "batch_dims", 0);
    if (dim < 0) dim += x.rank;
    if (batch < 0) batch += index.rank;
    if (dim < 0 || dim >= x.rank || batch < 0 || batch > index.rank || batch > dim ||
        x.rank - 1 + index.rank - batch > IR_MAX_RANK) {
        char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
        other_fail(p, d, ERR_SHAPE, "dim %lld and batch_dims %lld do not fit %s and %s",
                   (long long)dim, (long long)batch, ir_type_text(&x, a), ir_type_text(&index, b));
        return IR_NONE;
    }
    ir_gather_t g = {.n_batch = (int)batch, .n_collapsed = 1, .n_start = 1};
    g.collapsed[0] = g.start_map[0] = dim;
    g.index_vector_dim = index.rank;
    for (int i = 0; i < x.rank; i++) g.slice[i] = i < batch || i == dim ? 1 : x.dim[i];
    for (int i = 0; i < batch; i++) g.batch[i] = g.index_batch[i] = i;
    for (int64_t i = batch; i < dim; i++) g.offset_dims[g.n_offset++] = i;
    for (int64_t i = dim + 1; i < x.rank; i++)
        g.offset_dims[g.n_offset++] = i - 1 + index.rank - batch;
    if (x.dim[dim] == 0) { /* nothing to clamp to */
        other_fail(p, d, ERR_SHAPE, "dimension %lld of the operand is empty", (long long)dim);
        return IR_NONE;
    }
    return ir_gather(fn, d->in.at[0], d->in.at[1], &g);
}

int finish_torch_index_select(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    return other_build(p, d, into, first, build_index_select);
}
