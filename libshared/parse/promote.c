/* Ops that compute in a wider type than their operands have: regions of reduce, reduce_window,
 * scatter, select_and_scatter ("is_promotable" in the specification). The operands are converted
 * first, which changes no value, so that behind the parser regions have their operands' types. What
 * reduce and reduce_window fold may stay narrow: only initial values are converted. */
#include <string.h>

#include "ops/common.h"
#include "parse/parser.h"

static bool is_wider(dtype_t to, dtype_t from)
{
    return to < DT_COUNT && from < DT_COUNT && to != from && dtype_class(to) == dtype_class(from) &&
           dtype_bits(to) >= dtype_bits(from);
}

static ir_op_t *convert(parser_t *p, ir_val_t x, const ir_type_t *type, int line, ir_region_t *into)
{
    ir_op_t *op = ir_op_new(p->fn, OP_convert, 1, &x, 1, type, 0);
    op->line = line;
    ir_region_append(into, op, p->arena);
    return op;
}

/* Operand i in the type of the region's argument `arg`, if that one is wider. */
static void promote_operand(parser_t *p, draft_t *d, size_t i, const ir_region_t *region, int arg,
                            ir_region_t *into)
{
    if (i >= d->in.n || arg >= region->n_arg) return;
    const ir_type_t from = *ir_type_of(p->fn, d->in.at[i]);
    dtype_t to = ir_type_of(p->fn, region->arg + (ir_val_t)arg)->dtype;
    if (!is_wider(to, from.dtype)) return;
    ir_type_t type = ir_type_with(from, to);
    d->in.at[i] = convert(p, d->in.at[i], &type, d->line, into)->out;
}

static void replace_uses(ir_region_t *region, ir_val_t old, ir_val_t fresh)
{
    for (int i = 0; i < region->n_result; i++)
        if (region->result[i] == old) region->result[i] = fresh;
    for (int i = 0; i < region->n_op; i++) {
        ir_op_t *op = region->op[i];
        for (int k = 0; k < op->n_in; k++)
            if (op->in[k] == old) op->in[k] = fresh;
        for (int r = 0; r < op->n_region; r++) replace_uses(op->region[r], old, fresh);
    }
}

/* Argument `arg` becomes wider, and what reads it is given the narrow number, as it was. */
static void widen_argument(parser_t *p, ir_region_t *region, int arg, dtype_t to, int line)
{
    ir_val_t v = region->arg + (ir_val_t)arg;
    const ir_type_t narrow = *ir_type_of(p->fn, v);
    p->fn->value[v].type.dtype = to;
    ir_op_t *op = convert(p, v, &narrow, line, region);
    replace_uses(region, v, op->out);
    op->in[0] = v;
    memmove(region->op + 1, region->op, ((size_t)region->n_op - 1) * sizeof *region->op);
    region->op[0] = op;
}

/* The operand's type is the result's and the second region's; the first region reads elements. */
static void promote_select_and_scatter(parser_t *p, draft_t *d, ir_region_t *into)
{
    ir_region_t *select = d->region.at[0], *scatter = d->region.at[1];
    if (d->in.n != 3 || scatter->n_arg != 2 || select->n_arg != 2) return;
    dtype_t to = ir_type_of(p->fn, scatter->arg)->dtype;
    dtype_t from = ir_type_of(p->fn, d->in.at[0])->dtype;
    for (int k = 0; k < 2; k++)
        if (ir_type_of(p->fn, select->arg + (ir_val_t)k)->dtype != from) return;
    if (!is_wider(to, from)) return;
    for (size_t i = 0; i < 3; i++) promote_operand(p, d, i, scatter, 0, into);
    for (int k = 0; k < 2; k++) widen_argument(p, select, k, to, d->line);
}

/* Products of two different floats of a byte (lax.dot of f8E5M2 and f8E4M3FN) are those of f32,
 * which holds both. */
static void promote_product(parser_t *p, draft_t *d, ir_region_t *into)
{
    if (d->in.n != 2) return;
    ir_type_t types[2] = {*ir_type_of(p->fn, d->in.at[0]), *ir_type_of(p->fn, d->in.at[1])};
    if (types[0].dtype >= DT_COUNT || types[1].dtype >= DT_COUNT) return;
    if (!dtype_is_small(types[0].dtype) || !dtype_is_small(types[1].dtype)) return;
    for (int i = 0; i < 2 && types[0].dtype != types[1].dtype; i++) {
        ir_type_t type = ir_type_with(types[i], DT_F32);
        d->in.at[i] = convert(p, d->in.at[i], &type, d->line, into)->out;
    }
}

void parse_promote(parser_t *p, draft_t *d, ir_region_t *into)
{
    size_t n = d->in.n / 2;
    if (d->code == OP_dot_general || d->code == OP_convolution) promote_product(p, d, into);
    if (d->region.n == 0) return;
    switch (d->code) {
    case OP_reduce:
    case OP_reduce_window:
        for (size_t i = 0; i < n; i++) promote_operand(p, d, n + i, d->region.at[0], (int)i, into);
        break;
    case OP_scatter: /* n inputs, the indices, n updates */
        for (size_t i = 0; i < n; i++) {
            promote_operand(p, d, i, d->region.at[0], (int)i, into);
            promote_operand(p, d, n + 1 + i, d->region.at[0], (int)i, into);
        }
        break;
    case OP_select_and_scatter:
        if (d->region.n == 2) promote_select_and_scatter(p, d, into);
        break;
    default: break;
    }
}
