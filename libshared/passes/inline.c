/* Inlining: calls and composites are replaced by copies of their callee's ops, until no call is
 * left in a function that can be reached from outside; private functions nobody names are dropped.
 */
#include <stdlib.h>
#include <string.h>

#include "base/index.h"
#include "base/mem.h"
#include "ir/op.h"
#include "passes/passes.h"

/* A chain of functions that call each other twice doubles with each link: bound what we build. */
enum { MAX_DEPTH = 200, MAX_OPS = 4 << 20 };

typedef struct {
    const ir_module_t *module;
    int depth;
    int64_t n_op; /* ops copied so far, over all functions */
} inline_t;

static const char *callee_name(const ir_op_t *op)
{
    if (op->code == OP_call) return attr_text(&op->attrs, "callee", "");
    if (op->code == OP_composite) return attr_text(&op->attrs, "decomposition", "");
    return NULL;
}

static int check_signature(const ir_fn_t *caller, const ir_op_t *op, const ir_fn_t *callee,
                           err_t *err)
{
    const ir_region_t *body = callee->body;
    if (op->n_in != body->n_arg || op->n_out != body->n_result)
        return err_set(err, ERR_SHAPE,
                       "line %d: call of @%s with %d operands and %d results, expected %d and %d",
                       op->line, callee->name, op->n_in, op->n_out, body->n_arg, body->n_result);
    char have[IR_TYPE_TEXT], want[IR_TYPE_TEXT];
    for (int i = 0; i < op->n_in + op->n_out; i++) {
        bool is_in = i < op->n_in;
        int k = is_in ? i : i - op->n_in;
        const ir_type_t *a = ir_type_of(caller, is_in ? op->in[k] : op->out + (ir_val_t)k);
        const ir_type_t *b = ir_type_of(callee, is_in ? ir_fn_param(callee, k) : body->result[k]);
        if (!ir_type_equal(a, b))
            return err_set(err, ERR_SHAPE, "line %d: call of @%s: %s %d is %s, expected %s",
                           op->line, callee->name, is_in ? "operand" : "result", k,
                           ir_type_text(a, have), ir_type_text(b, want));
    }
    return 0;
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err);

static int splice(ir_clone_t *self, const ir_op_t *op, const ir_fn_t *callee, err_t *err)
{
    inline_t *state = self->user;
    if (check_signature(self->from, op, callee, err) < 0) return -1;
    if (state->depth == MAX_DEPTH)
        return err_set(err, ERR_UNSUPPORTED,
                       "line %d: calls are nested deeper than %d: @%s is recursive", op->line,
                       MAX_DEPTH, callee->name);
    ir_clone_t inner = {.from = callee, .to = self->to, .rewrite = rewrite, .user = self->user};
    inner.map = mem_calloc(callee->n_value, sizeof *inner.map);
    memset(inner.map, 0xFF, sizeof *inner.map * callee->n_value);
    for (int i = 0; i < op->n_in; i++) inner.map[ir_fn_param(callee, i)] = self->map[op->in[i]];
    state->depth++;
    int status = ir_clone_ops(&inner, callee->body, err);
    state->depth--;
    for (int i = 0; i < op->n_out && status == 0; i++)
        self->map[op->out + (ir_val_t)i] = inner.map[callee->body->result[i]];
    free(inner.map);
    return status < 0 ? -1 : 1;
}

static int rewrite(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    inline_t *state = self->user;
    if (++state->n_op > MAX_OPS)
        return err_set(err, ERR_UNSUPPORTED, "inlining makes more than %d ops", MAX_OPS);
    const char *name = callee_name(op);
    if (!name) return 0;
    const ir_fn_t *callee = ir_module_find(state->module, name);
    if (!callee)
        return err_set(err, ERR_ARG, "line %d: %s names @%s, which the module does not have",
                       op->line, op_def(op->code)->name, name);
    return splice(self, op, callee, err);
}

/* --- which functions stay --- */

/* Note functions named by symbol attributes, also inside lists (called_computations = [@f]). */
static void mark_symbols(const ir_attr_t *attrs, int n, index_t *named)
{
    for (int i = 0; i < n; i++) {
        const ir_attr_t *a = &attrs[i];
        if (a->kind == ATTR_LIST || a->kind == ATTR_DICT) mark_symbols(a->items, a->n, named);
        if (a->kind == ATTR_SYMBOL && index_find(named, a->text, strlen(a->text)) < 0)
            index_add(named, a->text, strlen(a->text), 0);
    }
}

static void mark_region(const ir_region_t *region, index_t *named)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        mark_symbols(op->attrs.at, op->attrs.n, named);
        for (int r = 0; r < op->n_region; r++) mark_region(op->region[r], named);
    }
}

static bool is_root(const ir_module_t *module, const ir_fn_t *fn)
{
    return !fn->is_private || fn == ir_module_entry(module, NULL);
}

/* Remove private functions that no other function names; removing one may free another. */
static void drop_unnamed(ir_module_t *module)
{
    for (bool again = true; again;) {
        again = false;
        index_t *named = index_new();
        for (int f = 0; f < module->n_fn; f++) mark_region(module->fn[f]->body, named);
        for (int f = module->n_fn - 1; f >= 0; f--) {
            const ir_fn_t *fn = module->fn[f];
            if (index_find(named, fn->name, strlen(fn->name)) >= 0 || is_root(module, fn)) continue;
            ir_module_remove(module, fn);
            again = true;
        }
        index_destroy(&named);
    }
}

int pass_inline(ir_module_t *module, const pass_options_t *options, err_t *err)
{
    (void)options;
    inline_t state = {.module = module};
    for (int second = 0; second <= 1; second++) {
        for (int f = 0; f < module->n_fn; f++) {
            ir_fn_t *fn = module->fn[f];
            if (is_root(module, fn) == (bool)second) continue;
            ir_fn_t *fresh = ir_clone_fn(module, fn, rewrite, &state, err);
            if (!fresh) return err_prefix(err, "@%s: ", fn->name);
            ir_module_replace(module, fn, fresh);
        }
        drop_unnamed(module);
    }
    return 0;
}
