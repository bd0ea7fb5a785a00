/* The reverse walk: from the last op to the first, ask each op's rule for its operands' cotangents
 * and add them up. Regions are differentiated in place on behalf of the rules of the ops that hold
 * them. Names no op. */
#include "ad/walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/build.h"

void ad_scope_init(ad_scope_t *self, ad_t *ad, ir_val_t first)
{
    *self = (ad_scope_t){.ad = ad, .first = first, .n_ct = ad->fn->n_value};
    self->ct = mem_calloc(self->n_ct + 1, sizeof *self->ct);
    memset(self->ct, 0xFF, self->n_ct * sizeof *self->ct);
}

void ad_scope_fini(ad_scope_t *self)
{
    free(self->ct);
    self->ct = NULL;
}

/* --- sums of contributions --- */

static ir_val_t widened(ir_fn_t *fn, ir_val_t x)
{
    return dtype_is_narrow(ir_type_of(fn, x)->dtype) ? ir_convert(fn, x, DT_F32) : x;
}

int ad_add(ad_scope_t *self, ir_val_t v, ir_val_t ct, err_t *err)
{
    ir_fn_t *fn = self->ad->fn;
    if (ct == IR_NONE || !ad_is_active(self->ad, v) || v >= self->n_ct) return 0;
    const ir_type_t *have = ir_type_of(fn, ct), *want = ir_type_of(fn, v);
    if (!ir_shape_equal(have, want) || !dtype_is_inexact(have->dtype)) {
        char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
        return err_set(err, ERR_TYPE, "the gradient rule gives %s for an operand of %s",
                       ir_type_text(have, a), ir_type_text(want, b));
    }
    ir_val_t sum = self->ct[v];
    self->ct[v] = sum == IR_NONE ? ct : ir_op2(fn, OP_add, widened(fn, sum), widened(fn, ct));
    return 0;
}

ir_val_t ad_take(ad_scope_t *self, ir_val_t v)
{
    ir_val_t ct = v < self->n_ct ? self->ct[v] : IR_NONE;
    return ct == IR_NONE ? IR_NONE
                         : ir_convert(self->ad->fn, ct, ir_type_of(self->ad->fn, v)->dtype);
}

/* --- regions, for the rules of ops that hold them --- */

static void add_outer(vjp_t *v, ir_val_t value, ir_val_t ct)
{
    err_t err = {0};
    ad_scope_t *scope = v->ad;
    if (ad_add(scope, value, ct, &err) < 0 && !v->fn->err.code) v->fn->err = err;
}

static int place_of(const ir_region_t *region, const ir_op_t *op)
{
    int i = region->n_op;
    while (--i >= 0 && region->op[i] != op) continue;
    return i;
}

static void rename_in(ir_op_t *op, ir_val_t from, int n, ir_val_t to)
{
    for (int i = 0; i < op->n_in; i++)
        if (op->in[i] >= from && op->in[i] < from + (ir_val_t)n) op->in[i] += to - from;
    for (int r = 0; r < op->n_region; r++) {
        ir_region_t *region = op->region[r];
        for (int i = 0; i < region->n_op; i++) rename_in(region->op[i], from, n, to);
        for (int i = 0; i < region->n_result; i++)
            if (region->result[i] >= from && region->result[i] < from + (ir_val_t)n)
                region->result[i] += to - from;
    }
}

static void stand_in(vjp_t *v, const ir_op_t *fresh, int first)
{
    const ad_scope_t *scope = v->ad;
    ir_region_t *region = v->fn->cursor;
    int at = place_of(region, v->op) + 1, last = place_of(region, fresh);
    int from = scope->rule_from, n = last + 1 - from;
    if (at == 0 || last < from || from < at) return;
    ir_op_t **moved = mem_calloc((size_t)n, sizeof *moved);
    memcpy(moved, region->op + from, (size_t)n * sizeof *moved);
    memmove(region->op + at + n, region->op + at, (size_t)(from - at) * sizeof *moved);
    memcpy(region->op + at, moved, (size_t)n * sizeof *moved);
    free(moved);
    for (int i = at; i < at + n; i++)
        if (!region->op[i]->line) region->op[i]->line = v->op->line;
    for (int i = at + n; i < region->n_op; i++)
        rename_in(region->op[i], v->op->out, v->op->n_out, fresh->out + (ir_val_t)first);
}

/* Copy the region's ops to the cursor. Each argument becomes a value of its own (a reshape to the
 * same type, which pass_simplify drops), so that its cotangent is told apart from other uses of
 * args[i]. */
static int copy_region(ad_t *ad, const ir_region_t *region, const ir_val_t *args,
                       ir_val_t *arg_copy, ir_val_t *result_copy, err_t *err)
{
    ir_fn_t *fn = ad->fn;
    uint32_t n = fn->n_value;
    ir_clone_t clone = {.from = fn, .to = fn, .map = mem_calloc(n + 1, sizeof *clone.map)};
    for (ir_val_t v = 0; v < n; v++) clone.map[v] = v;
    for (int i = 0; i < region->n_arg; i++) {
        ir_type_t type = *ir_type_of(fn, region->arg + (ir_val_t)i);
        ir_op_t *alias = ir_emit(fn, OP_reshape, 1, &args[i], NULL, 1, &type, 0, NULL);
        arg_copy[i] = alias ? alias->out : IR_NONE;
        clone.map[region->arg + (ir_val_t)i] = arg_copy[i];
    }
    int status = fn->err.code ? err_set(err, fn->err.code, "%s", fn->err.text)
                              : ir_clone_ops(&clone, region, err);
    for (int i = 0; i < region->n_result && status == 0; i++)
        result_copy[i] = clone.map[region->result[i]];
    free(clone.map);
    return status;
}

/* The ops appended to `region` since it had n_before, as a list that later emits do not move. */
static ir_op_t **ops_since(const ir_region_t *region, int n_before, int *n)
{
    *n = region->n_op - n_before;
    ir_op_t **ops = mem_calloc((size_t)*n + 1, sizeof *ops);
    if (*n > 0) memcpy(ops, region->op + n_before, (size_t)*n * sizeof *ops);
    return ops;
}

static int reverse_copy(vjp_t *v, ad_scope_t *scope, const ir_region_t *region, ir_op_t *const *ops,
                        int n_op, const ir_val_t *arg_copy, const ir_val_t *result_copy,
                        const ir_val_t *result_ct, ir_val_t *arg_ct, err_t *err)
{
    for (int i = 0; i < region->n_result; i++)
        if (ad_add(scope, result_copy[i], result_ct[i], err) < 0) return -1;
    if (ad_reverse(scope, ops, n_op, err) < 0) return -1;
    for (int i = 0; i < region->n_arg; i++) arg_ct[i] = ad_take(scope, arg_copy[i]);
    for (ir_val_t outer = 0; outer < scope->first; outer++) {
        ir_val_t ct = ad_take(scope, outer);
        if (ct != IR_NONE) v->add_outer(v, outer, ct);
    }
    return 0;
}

/* A copy of such an op would draw other numbers than the original. */
static const ir_op_t *drawing_op(const ir_region_t *region)
{
    const ir_op_t *found = NULL;
    for (int i = 0; i < region->n_op && !found; i++) {
        const ir_op_t *op = region->op[i];
        if (op_def(op->code)->draws) return op;
        for (int r = 0; r < op->n_region && !found; r++) found = drawing_op(op->region[r]);
    }
    return found;
}

static int region_vjp(vjp_t *v, const ir_region_t *region, const ir_val_t *args,
                      const ir_val_t *result_ct, ir_val_t *arg_ct, err_t *err)
{
    ad_t *ad = ((ad_scope_t *)v->ad)->ad;
    ir_fn_t *fn = ad->fn;
    ir_region_t *cursor = fn->cursor;
    ir_val_t first = fn->n_value;
    const ir_op_t *drawing = drawing_op(region);
    if (drawing)
        return err_set(err, ERR_UNSUPPORTED,
                       "line %d: %s in a region would be drawn again; run the pass \"draw\" first",
                       drawing->line, op_def(drawing->code)->name);
    int n_before = cursor->n_op, n_op;
    ir_val_t *copies = mem_calloc((size_t)(region->n_arg + region->n_result) + 1, sizeof *copies);
    ir_val_t *arg_copy = copies, *result_copy = copies + region->n_arg;
    int status = copy_region(ad, region, args, arg_copy, result_copy, err);
    if (status == 0) {
        ir_op_t **ops = ops_since(cursor, n_before + region->n_arg, &n_op);
        for (int i = 0; i < region->n_arg; i++)
            ad_set_active(ad, arg_copy[i], dtype_is_inexact(ir_type_of(fn, arg_copy[i])->dtype));
        ad_mark_region(ad, cursor, n_before + region->n_arg);
        ad_scope_t scope;
        ad_scope_init(&scope, ad, first);
        status = reverse_copy(v, &scope, region, ops, n_op, arg_copy, result_copy, result_ct,
                              arg_ct, err);
        ad_scope_fini(&scope);
        free(ops);
    }
    free(copies);
    return status;
}

/* --- one op --- */

static int missing_rule(const ir_op_t *op, err_t *err)
{
    const char *name = op_def(op->code)->name;
    if (op->line > 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "line %d: %s has no gradient rule, but the result depends on a parameter "
                       "through it",
                       op->line, name);
    return err_set(err, ERR_UNSUPPORTED,
                   "%s has no gradient rule, but the result depends on a parameter through it",
                   name);
}

static int run_rule(vjp_t *v, ad_scope_t *scope, err_t *err)
{
    const ir_op_t *op = v->op;
    const op_def_t *def = op_def(op->code);
    if (!def->vjp) return missing_rule(op, err);
    int n_before = scope->rule_from = v->fn->cursor->n_op, status = def->vjp(v, err);
    if (status == 0 && v->fn->err.code)
        status = err_set(err, v->fn->err.code, "%s", v->fn->err.text);
    for (int i = 0; i < op->n_in && status == 0; i++)
        if (v->need[i]) status = ad_add(scope, op->in[i], v->in_ct[i], err);
    for (int i = n_before; i < v->fn->cursor->n_op; i++)
        if (!v->fn->cursor->op[i]->line) v->fn->cursor->op[i]->line = op->line;
    if (status == 0) return 0;
    if (op->line == 0) return err_prefix(err, "gradient of %s: ", def->name);
    return err_prefix(err, "line %d: gradient of %s: ", op->line, def->name);
}

static int reverse_op(ad_scope_t *self, const ir_op_t *op, err_t *err)
{
    size_t n = (size_t)op->n_in + 1, n_out = (size_t)op->n_out + 1;
    ir_val_t *ct = mem_calloc(n_out, sizeof *ct), *in_ct = mem_calloc(n, sizeof *in_ct);
    bool *need = mem_calloc(n, sizeof *need), any = false;
    for (int i = 0; i < op->n_out; i++) {
        ir_val_t y = op->out + (ir_val_t)i;
        ct[i] = ad_is_active(self->ad, y) ? ad_take(self, y) : IR_NONE;
        any |= ct[i] != IR_NONE;
    }
    for (int i = 0; i < op->n_in; i++) {
        in_ct[i] = IR_NONE;
        need[i] = ad_is_active(self->ad, op->in[i]);
    }
    vjp_t v = {.fn = self->ad->fn, .op = op, .ct = ct, .need = need, .in_ct = in_ct};
    v.add_outer = add_outer;
    v.region_vjp = region_vjp;
    v.stand_in = stand_in;
    v.ad = self;
    int status = any ? run_rule(&v, self, err) : 0;
    free(ct);
    free(in_ct);
    free(need);
    return status;
}

int ad_reverse(ad_scope_t *self, ir_op_t *const *ops, int n_op, err_t *err)
{
    for (int i = n_op - 1; i >= 0; i--)
        if (reverse_op(self, ops[i], err) < 0) return -1;
    return 0;
}
