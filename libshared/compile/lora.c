/* Adapters beside products: the functions are copied with two more arguments for each weight. */
#include "compile/lora.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "compile/roles_in.h"
#include "ir/build.h"
#include "passes/passes.h"

/* --- Which weights ---------------------------------------------------------------------------- */

/* A weight with an adapter. */
typedef struct {
    const char *name;
    ir_type_t type;
    int in;        /* the dimension that its first product sums over */
    bool targeted; /* its name was asked for, or any will do */
    bool other;    /* something else reads it, too */
    int n_use;     /* products */
} weight_t;

typedef struct {
    ir_module_t *module;
    const lora_t *lora;
    const optim_arg_t *arg; /* the entry's */
    weight_t *weight;       /* by the entry's argument; without products: none */
    int n_arg;
    /* Of the function at hand: */
    int *which;      /* by its argument: the entry's argument of that name, or -1 */
    ir_val_t *a, *b; /* by the entry's argument: the adapters in the copy */
} rewrite_t;

static bool matches(const char *const *pattern, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (roles_name_matches(pattern[i], strlen(pattern[i]), name)) return true;
    return false;
}

/* A parameter as a product sees it: its dimension d is the weight's dim[d]. */
typedef struct {
    int arg; /* of the function; -1: no parameter of rank 2 */
    int dim[2];
} seen_t;

static seen_t see(const ir_fn_t *fn, ir_val_t v)
{
    seen_t seen = {.arg = -1, .dim = {0, 1}};
    for (const ir_op_t *op = ir_def(fn, v); op; op = ir_def(fn, v)) {
        int n;
        const int64_t *perm = attr_ints(&op->attrs, "permutation", &n);
        if (op->code == OP_transpose && n == 2) {
            if (perm[0] == 1) {
                int first = seen.dim[0];
                seen.dim[0] = seen.dim[1];
                seen.dim[1] = first;
            }
        } else if (op->code != OP_convert) {
            return seen;
        }
        v = op->in[0];
    }
    if (fn->value[v].owner == fn->body && ir_type_of(fn, v)->rank == 2)
        seen.arg = fn->value[v].index;
    return seen;
}

/* Side `side` of a product: the dimension that is summed over, where it is one of two; else -1. */
static int summed(const ir_fn_t *fn, const ir_op_t *op, int side)
{
    ir_dot_t dot;
    ir_dot_dims(op, &dot);
    if (ir_type_of(fn, op->in[side])->rank != 2 || dot.n_batch > 0 || dot.n_contract != 1)
        return -1;
    return (int)(side ? dot.rhs_contract[0] : dot.lhs_contract[0]);
}

/* The weight that a value of the function at hand is, or NULL. */
static weight_t *weight_of(const rewrite_t *self, const ir_fn_t *fn, ir_val_t v, seen_t *seen)
{
    *seen = see(fn, v);
    int k = seen->arg >= 0 ? self->which[seen->arg] : -1;
    return k >= 0 ? &self->weight[k] : NULL;
}

/* A product of two weights would have a term of both adapters: it counts as something else. */
static void note_product(rewrite_t *self, const ir_fn_t *fn, const ir_op_t *op, int side)
{
    seen_t seen;
    weight_t *beside = weight_of(self, fn, op->in[!side], &seen),
             *w = weight_of(self, fn, op->in[side], &seen);
    int d = w ? summed(fn, op, side) : -1;
    if (!w) return;
    if (d < 0 || beside)
        w->other = true;
    else if (w->n_use++ == 0)
        w->in = seen.dim[d];
}

static void note_other(rewrite_t *self, const ir_fn_t *fn, ir_val_t v)
{
    seen_t seen;
    weight_t *w = weight_of(self, fn, v, &seen);
    if (w) w->other = true;
}

/* What reads a parameter itself, its transpose or conversion, and is neither of these nor a product. */
static void note_uses(rewrite_t *self, const ir_fn_t *fn, const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        bool passes = op->code == OP_transpose || op->code == OP_convert;
        for (int k = 0; k < op->n_in && !passes; k++) {
            if (op->code == OP_dot_general)
                note_product(self, fn, op, k);
            else
                note_other(self, fn, op->in[k]);
        }
        for (int r = 0; r < op->n_region; r++) note_uses(self, fn, op->region[r]);
    }
    for (int r = 0; r < region->n_result; r++) note_other(self, fn, region->result[r]);
}

/* The entry's argument for each of a function's, by name and type. */
static void find_own(rewrite_t *self, const ir_fn_t *fn, const optim_arg_t *args)
{
    self->which = ARENA_ARRAY(self->module->arena, int, fn->body->n_arg + 1);
    for (int i = 0; i < fn->body->n_arg; i++) {
        self->which[i] = -1;
        for (int k = 0; k < self->n_arg && args[i].is_param; k++)
            if (strcmp(args[i].name, self->arg[k].name) == 0 &&
                ir_type_equal(&args[i].type, &self->arg[k].type))
                self->which[i] = k;
    }
}

static int note_function(rewrite_t *self, const ir_fn_t *fn, err_t *err)
{
    const optim_arg_t *args = optim_args(self->module, fn, err);
    if (!args) return -1;
    find_own(self, fn, args);
    note_uses(self, fn, fn->body);
    return 0;
}

static bool is_adapted(const weight_t *w)
{
    return w->targeted && w->n_use > 0 && !w->other;
}

/* Every pattern names something. */
static int check_patterns(const rewrite_t *self, err_t *err)
{
    const lora_t *o = self->lora;
    for (int i = 0; i < o->n_target + o->n_train; i++) {
        bool target = i < o->n_target, found = false, read = false;
        const char *pattern = target ? o->target[i] : o->train[i - o->n_target];
        for (int k = 0; k < self->n_arg; k++) {
            if (self->arg[k].role != ARG_param || !matches(&pattern, 1, self->arg[k].name))
                continue;
            found = true;
            read = read || !target || is_adapted(&self->weight[k]);
        }
        if (!found) return err_set(err, ERR_ARG, "--lora: no parameter is called %s", pattern);
        if (!read)
            return err_set(
                err, ERR_ARG,
                "--lora: %s: an adapter belongs to a weight that products read, and nothing else",
                pattern);
    }
    return 0;
}

static int find_weights(rewrite_t *self, const ir_fn_t *entry, err_t *err)
{
    const lora_t *o = self->lora;
    int n = 0;
    self->n_arg = entry->body->n_arg;
    self->arg = optim_args(self->module, entry, err);
    if (!self->arg) return -1;
    self->weight = mem_calloc((size_t)self->n_arg + 1, sizeof *self->weight);
    for (int i = 0; i < self->n_arg; i++) {
        bool is_param = self->arg[i].role == ARG_param;
        self->weight[i] = (weight_t){.name = self->arg[i].name, .type = self->arg[i].type};
        self->weight[i].targeted = is_param && (o->n_target == 0 ||
                                                matches(o->target, o->n_target, self->arg[i].name));
    }
    if (note_function(self, entry, err) < 0) return -1; /* the first one says which way round */
    for (int i = 0; i < self->module->n_fn; i++)
        if (self->module->fn[i] != entry && note_function(self, self->module->fn[i], err) < 0)
            return -1;
    if (check_patterns(self, err) < 0) return -1;
    for (int i = 0; i < self->n_arg; i++) n += is_adapted(&self->weight[i]);
    return n ? 0
             : err_set(
                   err, ERR_ARG,
                   "--lora: no parameter of @%s is a weight that products read, and nothing else",
                   entry->name);
}

/* --- Products with adapters ------------------------------------------------------------------- */

/* x's dimension `xd` against dimension `fd` of the factor, which stands on the side of the weight. */
static ir_val_t through(ir_fn_t *to, ir_val_t x, int64_t xd, ir_val_t factor, int64_t fd, int side,
                        dtype_t dtype)
{
    ir_dot_t dot = {.n_contract = 1};
    dot.lhs_contract[0] = side ? xd : fd;
    dot.rhs_contract[0] = side ? fd : xd;
    return side ? ir_dot(to, x, factor, &dot, dtype) : ir_dot(to, factor, x, &dot, dtype);
}

/* alpha / rank * (x F) G, which is added to the product `out` of x and the weight on `side`. */
static ir_val_t add_adapter(rewrite_t *self, ir_clone_t *clone, const ir_op_t *op, int side,
                            seen_t seen, ir_val_t out)
{
    ir_fn_t *to = clone->to;
    int k = self->which[seen.arg], d = summed(clone->from, op, side);
    ir_dot_t dot;
    ir_dot_dims(op, &dot);
    ir_val_t x = clone->map[op->in[!side]];
    dtype_t dtype = ir_type_of(to, x)->dtype, result = ir_type_of(to, out)->dtype;
    /* The weight may be read both ways round: x (B A)^T or x (B A). */
    bool forward = seen.dim[d] == self->weight[k].in;
    ir_val_t first = ir_convert(to, forward ? self->a[k] : self->b[k], dtype);
    ir_val_t second = ir_convert(to, forward ? self->b[k] : self->a[k], dtype);
    ir_val_t low = through(to, x, side ? dot.lhs_contract[0] : dot.rhs_contract[0], first,
                           forward ? 1 : 0, side, dtype);
    if (low == IR_NONE) return IR_NONE;
    ir_val_t high = through(to, low, side ? ir_type_of(to, low)->rank - 1 : 0, second,
                            forward ? 1 : 0, side, result);
    if (high == IR_NONE) return IR_NONE;
    ir_val_t scale = ir_scalar_like(to, high, self->lora->alpha / self->lora->rank);
    return ir_op2(to, OP_add, out, ir_op2(to, OP_multiply, high, scale));
}

static int rewrite_product(ir_clone_t *clone, const ir_op_t *op, err_t *err)
{
    rewrite_t *self = clone->user;
    ir_val_t out = IR_NONE;
    for (int side = 0; op->code == OP_dot_general && side < 2; side++) {
        seen_t seen;
        const weight_t *w = weight_of(self, clone->from, op->in[side], &seen);
        if (!w || !is_adapted(w)) continue;
        if (out == IR_NONE) {
            const ir_op_t *copy = ir_clone_op(clone, op, err);
            if (!copy) return -1;
            out = copy->out;
        }
        out = add_adapter(self, clone, op, side, seen, out);
    }
    if (out == IR_NONE)
        return clone->to->err.code ? err_set(err, clone->to->err.code, "%s", clone->to->err.text)
                                   : 0;
    clone->map[op->out] = out;
    return 1;
}

/* --- A function with more arguments ----------------------------------------------------------- */

static void describe(rewrite_t *self, ir_fn_t *to, int arg, const char *name, const char *role,
                     const char *init)
{
    ir_attrs_t *attrs = &to->param_attrs[arg];
    arena_t *arena = self->module->arena;
    attr_set_text(arena, attrs, "pcp.name", ATTR_STRING, name);
    attr_set_text(arena, attrs, "pcp.role", ATTR_STRING, role);
    if (init) attr_set_text(arena, attrs, "pcp.init", ATTR_STRING, init);
}

/* The argument of the copy that was argument i: adapters come first, so that what was last is last. */
static int moved(const ir_fn_t *to, const ir_fn_t *from, int i)
{
    return to->body->n_arg - from->body->n_arg + i;
}

/* What was there keeps its attributes, but is frozen where it is not to be trained. */
static void describe_old(rewrite_t *self, ir_fn_t *to, const ir_fn_t *from, const optim_arg_t *args)
{
    arena_t *arena = self->module->arena;
    for (int i = 0; i < from->body->n_arg; i++) {
        int at = moved(to, from, i);
        ir_attrs_t copy = {0};
        const ir_attrs_t *old = &from->param_attrs[i];
        for (int k = 0; k < old->n; k++) attr_set(arena, &copy, old->at[k]);
        to->param_attrs[at] = copy;
        bool frozen = args[i].role == ARG_param &&
                      !matches(self->lora->train, self->lora->n_train, args[i].name);
        if (frozen) attr_set_text(arena, &to->param_attrs[at], "pcp.role", ATTR_STRING, "frozen");
        if (args[i].is_param)
            attr_set_text(arena, &to->param_attrs[at], "pcp.name", ATTR_STRING, args[i].name);
        to->value[ir_fn_param(to, at)].name = from->value[ir_fn_param(from, i)].name;
    }
}

static void describe_new(rewrite_t *self, ir_fn_t *to, int k, int at)
{
    arena_t *arena = self->module->arena;
    const weight_t *w = &self->weight[k];
    double bound = 1 / sqrt((double)w->type.dim[w->in]);
    describe(self, to, at, arena_printf(arena, "%s" LORA_A, w->name), "param",
             arena_printf(arena, "uniform(%.9g,%.9g)", -bound, bound));
    attr_set_text(arena, &to->param_attrs[at], LORA_ATTR, ATTR_STRING,
                  arena_printf(arena, "%d %.17g", w->in, self->lora->alpha / self->lora->rank));
    describe(self, to, at + 1, arena_printf(arena, "%s" LORA_B, w->name), "param", "zeros");
}

static int copy_body(rewrite_t *self, const ir_fn_t *from, ir_fn_t *to, err_t *err)
{
    int n_result = from->body->n_result;
    ir_clone_t clone = {.from = from, .to = to, .rewrite = rewrite_product, .user = self};
    ir_val_t *results = mem_calloc((size_t)n_result + 1, sizeof *results);
    clone.map = mem_calloc(from->n_value + 1u, sizeof *clone.map);
    memset(clone.map, 0xFF, from->n_value * sizeof *clone.map);
    for (int i = 0; i < from->body->n_arg; i++)
        clone.map[ir_fn_param(from, i)] = ir_fn_param(to, moved(to, from, i));
    int status = ir_clone_ops(&clone, from->body, err);
    for (int r = 0; status == 0 && r < n_result; r++) results[r] = clone.map[from->body->result[r]];
    if (status == 0) status = ir_fn_finish(to, n_result, results, err);
    for (int r = 0; status == 0 && from->result_attrs && r < n_result; r++)
        to->result_attrs[r] = from->result_attrs[r];
    free(results);
    free(clone.map);
    return status;
}

static ir_fn_t *add_arguments(rewrite_t *self, const ir_fn_t *fn)
{
    int n = fn->body->n_arg, at = 0;
    int64_t rank = self->lora->rank;
    ir_type_t *types = mem_calloc((size_t)(3 * n) + 1, sizeof *types);
    for (int i = 0; i < n; i++) {
        int k = self->which[i];
        if (k < 0 || !is_adapted(&self->weight[k])) continue;
        const weight_t *w = &self->weight[k];
        types[at++] = ir_type(w->type.dtype, 2, (const int64_t[]){rank, w->type.dim[w->in]});
        types[at++] = ir_type(w->type.dtype, 2, (const int64_t[]){w->type.dim[!w->in], rank});
    }
    for (int i = 0; i < n; i++) types[at++] = *ir_type_of(fn, ir_fn_param(fn, i));
    ir_fn_t *to = ir_fn_new(self->module, fn->name, at, types);
    free(types);
    return to;
}

static int rebuild(rewrite_t *self, ir_fn_t *fn, err_t *err)
{
    const optim_arg_t *args = optim_args(self->module, fn, err);
    if (!args) return -1;
    int n = fn->body->n_arg, at = 0, status;
    find_own(self, fn, args);
    ir_fn_t *to = add_arguments(self, fn);
    for (int i = 0; i < n; i++) {
        int k = self->which[i];
        if (k < 0 || !is_adapted(&self->weight[k])) continue;
        self->a[k] = ir_fn_param(to, at);
        self->b[k] = ir_fn_param(to, at + 1);
        describe_new(self, to, k, at);
        at += 2;
    }
    status = copy_body(self, fn, to, err);
    if (status == 0) {
        describe_old(self, to, fn, args);
        to->attrs = fn->attrs;
        to->is_private = fn->is_private;
        ir_module_replace(self->module, fn, to);
    } else {
        ir_module_remove(self->module, to);
    }
    return status;
}

/* --- The module ------------------------------------------------------------------------------- */

/* A function that arguments are told of by name: it may be run by itself, as @accuracy. */
static bool is_own(const ir_fn_t *fn)
{
    for (int i = 0; i < fn->body->n_arg; i++)
        if (attr_find(&fn->param_attrs[i], "pcp.name")) return true;
    return false;
}

/* Calls hide what reads a weight. Inlining drops private functions, but for those that we keep. */
static int inline_calls(ir_module_t *module, const ir_fn_t *entry, err_t *err)
{
    const char **kept = mem_calloc((size_t)module->n_fn + 1, sizeof *kept);
    int n = 0;
    for (int i = 0; i < module->n_fn; i++) {
        ir_fn_t *fn = module->fn[i];
        if (fn == entry || !fn->is_private || !is_own(fn)) continue;
        kept[n++] = fn->name;
        fn->is_private = false;
    }
    int status = passes_run_one(module, "inline", err);
    for (int i = 0; status == 0 && i < n; i++) ir_module_find(module, kept[i])->is_private = true;
    free(kept);
    return status;
}

static const char *tell(const rewrite_t *self)
{
    int64_t n_adapter = 0, n_all = 0, n = 0;
    for (int i = 0; i < self->n_arg; i++) {
        const weight_t *w = &self->weight[i];
        if (self->arg[i].role == ARG_param) n_all += ir_type_count(&self->arg[i].type);
        if (!is_adapted(w)) continue;
        n++;
        n_adapter += (w->type.dim[0] + w->type.dim[1]) * self->lora->rank;
    }
    return arena_printf(self->module->arena,
                        "adapters of rank %d, alpha %g beside %lld weights: %lld values, %.2f%% of "
                        "the %lld that were trained",
                        self->lora->rank, self->lora->alpha, (long long)n, (long long)n_adapter,
                        100.0 * (double)n_adapter / (double)n_all, (long long)n_all);
}

int lora_rewrite(ir_module_t *module, const lora_t *lora, const char **told, err_t *err)
{
    const ir_fn_t *entry = ir_module_entry(module, err);
    if (!entry || inline_calls(module, entry, err) < 0) return -1;
    rewrite_t self = {.module = module, .lora = lora};
    int status = find_weights(&self, ir_module_entry(module, err), err), n = module->n_fn;
    self.a = mem_calloc((size_t)self.n_arg + 1, sizeof *self.a);
    self.b = mem_calloc((size_t)self.n_arg + 1, sizeof *self.b);
    for (int i = 0; status == 0 && i < n; i++) status = rebuild(&self, module->fn[i], err);
    if (status == 0) *told = tell(&self);
    free(self.a);
    free(self.b);
    free(self.weight);
    return status == 0 ? ir_verify(module, err) : -1;
}
