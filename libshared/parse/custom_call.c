/* Custom calls by their targets: CHLO's ops as XLA exports them, sorts of the largest, LAPACK's
 * routines that are ops of StableHLO, callbacks into the exporter's process, and parts of programs
 * for several devices. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "ir/build.h"
#include "ops/check_expect.h"
#include "parse/other_op.h"
#include "parse/wide.h"

static const char *target_of(const draft_t *d)
{
    return attr_text(&d->attrs, "call_target_name", "");
}

static void become(draft_t *d, op_code_t code, ir_attrs_t attrs)
{
    d->attrs = attrs;
    d->code = code;
    d->def = op_def(code);
}

/* --- callbacks --- */

static bool gives_nothing(const parser_t *p, const draft_t *d)
{
    for (size_t i = 0; i < d->out.n; i++)
        if (!wide_is(&d->out.at[i]) || wide_of(p, &d->out.at[i])->n_leaf > 0) return false;
    return true;
}

static int finish_dropped(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    (void)into;
    for (size_t i = 0; i < d->out.n; i++) {
        ir_val_t value = wide_value(p, &d->out.at[i], NULL, 0);
        if (i == 0) *first = value;
    }
    return 0;
}

static int callback(parser_t *p, draft_t *d)
{
    const char *target = target_of(d);
    bool calls = strstr(target, "python") && strstr(target, "callback");
    if (gives_nothing(p, d) && !check_is_target(target)) {
        bool is_mark = str_starts(target, "xla.sdy.") || strcmp(target, "Sharding") == 0;
        if (!is_mark) parse_note(p, SEEN_CALLBACK, d->line, target);
        d->finish = finish_dropped;
        return 1;
    }
    if (!calls) return 0;
    return other_fail(p, d, ERR_UNSUPPORTED,
                      "@%.64s takes results from the process that exported the model; compute them "
                      "in the model, or pass them as arguments",
                      target);
}

/* --- ops under other names --- */

static op_code_t op_of_target(const char *target)
{
    char name[64];
    if (!str_starts(target, "mhlo.")) return OP_invalid;
    const char *stem = strcmp(target, "mhlo.topk") == 0 ? "top_k" : target + strlen("mhlo.");
    static const char *const dialects[] = {"chlo", "stablehlo"};
    for (size_t i = 0; i < 2; i++) {
        int n = snprintf(name, sizeof name, "%s.%s", dialects[i], stem);
        op_code_t code = n < (int)sizeof name ? op_by_name(name, (size_t)n) : OP_invalid;
        const op_def_t *def = op_def(code);
        if (def && (def->kind == K_MAP || code == OP_chlo_top_k)) return code;
    }
    return OP_invalid;
}

/* The smallest are the largest of what orders the other way round: -x, for integers not x. */
static int finish_smallest(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    ir_region_t *saved = p->fn->cursor;
    bool is_float = dtype_is_float(ir_type_of(p->fn, d->in.at[0])->dtype);
    op_code_t turn = is_float ? OP_negate : OP_not;
    vals_t values = {0};
    ir_val_t best = IR_NONE;
    p->fn->cursor = into;
    d->in.at[0] = ir_op1(p->fn, turn, d->in.at[0]);
    p->fn->cursor = saved;
    int rc = parse_emit(p, d, into, &best);
    if (rc == 0) {
        p->fn->cursor = into;
        ir_val_t turned = ir_op1(p->fn, turn, best);
        p->fn->cursor = saved;
        VEC_PUSH(&values, turned);
        VEC_PUSH(&values, best + 1);
        rc = other_row(p, d, into, &values, first);
    }
    VEC_FREE(&values);
    return rc;
}

static int set_largest(parser_t *p, draft_t *d, bool largest)
{
    const ir_type_t *x = d->in.n == 1 ? ir_type_of(p->fn, d->in.at[0]) : NULL;
    bool plain = x && !wide_is(x) && d->out.n == 2 && x->dtype != DT_I1 && x->rank > 0;
    if (!plain) return other_fail(p, d, ERR_TYPE, "@%.32s takes one tensor", "topk");
    if (!largest) d->finish = finish_smallest;
    return 1;
}

static int named_op(parser_t *p, draft_t *d)
{
    op_code_t code = op_of_target(target_of(d));
    if (code == OP_invalid) return 0;
    const ir_attr_t *given = attr_find(&d->attrs, "mhlo.attributes");
    ir_attrs_t attrs = {0};
    bool largest = true;
    for (int i = 0; given && given->kind == ATTR_DICT && i < given->n; i++) {
        const ir_attr_t *item = &given->items[i];
        if (code != OP_chlo_top_k || strcmp(item->name, "largest") != 0)
            attr_set(p->arena, &attrs, *item);
        else
            largest = item->kind != ATTR_BOOL || item->i;
    }
    become(d, code, attrs);
    return code == OP_chlo_top_k ? set_largest(p, d, largest) : 1;
}

/* @TopK: k is the last dimension of the results, the order the name of the function that compares
 * (XLA calls its own top_k_gt_.. and top_k_lt_..). */
static int top_k(parser_t *p, draft_t *d)
{
    if (strcmp(target_of(d), "TopK") != 0) return 0;
    const ir_attr_t *called = attr_find(&d->attrs, "called_computations");
    const char *order = called && called->kind == ATTR_LIST && called->n == 1 &&
                                called->items[0].kind == ATTR_SYMBOL
                            ? called->items[0].text
                            : "gt";
    bool largest = strstr(order, "gt") != NULL;
    if (!largest && !strstr(order, "lt"))
        return other_fail(p, d, ERR_UNSUPPORTED,
                          "@TopK by @%.64s: only orders called ..gt.. and ..lt.. are known", order);
    if (set_largest(p, d, largest) < 0) return -1;
    const ir_type_t *y = &d->out.at[0];
    if (wide_is(y) || y->rank == 0) return other_fail(p, d, ERR_TYPE, "@TopK gives two tensors");
    ir_attrs_t attrs = {0};
    attr_set_int(p->arena, &attrs, "k", y->dim[y->rank - 1]);
    become(d, OP_chlo_top_k, attrs);
    return 1;
}

/* --- LAPACK's routines as jaxlib names them: lapack_spotrf_ffi, cusolver_potrf_ffi, .. --- */

static const ir_attr_t *setting(const draft_t *d, const char *name)
{
    static const char *const places[] = {"mhlo.backend_config", "backend_config"};
    for (size_t i = 0; i < 2; i++) {
        const ir_attr_t *dict = attr_find(&d->attrs, places[i]);
        for (int k = 0; dict && dict->kind == ATTR_DICT && k < dict->n; k++)
            if (strcmp(dict->items[k].name, name) == 0) return &dict->items[k];
    }
    return NULL;
}

/* A letter as LAPACK has it, 'L' or 'U' and the like; 0 when it is not given. */
static int letter(const draft_t *d, const char *name)
{
    const ir_attr_t *value = setting(d, name);
    return value && value->kind == ATTR_INT && value->i > 0 && value->i < 128 ? (int)value->i : 0;
}

static void set_bool(parser_t *p, ir_attrs_t *attrs, const char *name, bool value)
{
    attr_set(p->arena, attrs, (ir_attr_t){.name = name, .kind = ATTR_BOOL, .i = value});
}

static const op_def_t two_results = {.name = "stablehlo.cholesky", .n_in = 1, .n_out = 2};

/* (factor, info): info is 0, as a matrix that has no factor gives NaN. */
static int finish_cholesky(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    ir_type_t info = d->out.at[1];
    vals_t values = {0};
    ir_val_t y = IR_NONE;
    d->def = op_def(d->code);
    d->out.n = 1;
    int rc = parse_emit(p, d, into, &y);
    d->out.n = 2;
    if (rc == 0) {
        ir_region_t *saved = p->fn->cursor;
        p->fn->cursor = into;
        ir_val_t zero = ir_splat(p->fn, &info, 0);
        p->fn->cursor = saved;
        VEC_PUSH(&values, y);
        VEC_PUSH(&values, zero);
        rc = other_row(p, d, into, &values, first);
    }
    VEC_FREE(&values);
    return rc;
}

static int cholesky(parser_t *p, draft_t *d)
{
    int uplo = letter(d, "uplo");
    if ((uplo != 'L' && uplo != 'U') || d->in.n != 1 || d->out.n != 2 || wide_is(&d->out.at[0]) ||
        wide_is(&d->out.at[1]) || dtype_is_inexact(d->out.at[1].dtype))
        return 0;
    ir_attrs_t attrs = {0};
    set_bool(p, &attrs, "lower", uplo == 'L');
    become(d, OP_cholesky, attrs);
    d->finish = finish_cholesky;
    d->def = &two_results;
    return 1;
}

static int triangular(parser_t *p, draft_t *d)
{
    int side = letter(d, "side"), uplo = letter(d, "uplo"), trans = letter(d, "trans_x"),
        diag = letter(d, "diag");
    if (!side || !uplo || !trans || !diag || d->in.n != 2 || d->out.n != 1) return 0;
    ir_attrs_t attrs = {0};
    set_bool(p, &attrs, "left_side", side == 'L');
    set_bool(p, &attrs, "lower", uplo == 'L');
    set_bool(p, &attrs, "unit_diagonal", diag == 'U');
    attr_set_text(p->arena, &attrs, "transpose_a", ATTR_ENUM,
                  trans == 'T'   ? "TRANSPOSE"
                  : trans == 'C' ? "ADJOINT"
                                 : "NO_TRANSPOSE");
    become(d, OP_triangular_solve, attrs);
    return 1;
}

static int lapack(parser_t *p, draft_t *d)
{
    const char *target = target_of(d);
    if (!str_ends(target, "_ffi")) return 0;
    if (strstr(target, "potrf_ffi")) return cholesky(p, d);
    return strstr(target, "trsm_ffi") ? triangular(p, d) : 0;
}

/* --- parts of programs for several devices --- */

static int part(parser_t *p, draft_t *d)
{
    static const char *const parts[] = {"SPMDFullToShardShape", "SPMDShardToFullShape",
                                        "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"};
    const char *target = target_of(d);
    if (strcmp(target, "Sharding") == 0 || str_starts(target, "xla.sdy."))
        parse_note(p, SEEN_SHARDING, d->line, target);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(target, parts[i]) != 0) continue;
        for (size_t k = 0; k < d->in.n && k < d->out.n; k++)
            if (!ir_type_equal(ir_type_of(p->fn, d->in.at[k]), &d->out.at[k]))
                return sharding_refuse_part(p, d->name.at);
    }
    return 0;
}

int form_named_call(parser_t *p, draft_t *d)
{
    static int (*const rules[])(parser_t *, draft_t *) = {callback, named_op, top_k, lapack, part};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof rules / sizeof *rules; i++) rc = rules[i](p, d);
    return rc < 0 ? -1 : 0;
}
