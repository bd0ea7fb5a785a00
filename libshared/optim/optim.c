/* Training programs from a loss: gradients by ad/, then clipping and the optimizer's update, all
 * ordinary ops; parameters kept wide (f32 masters) and rounded where the forward pass reads them.
 */
#include "optim/optim.h"

#include <stdlib.h>
#include <string.h>

#include "ad/ad.h"
#include "base/index.h"
#include "base/mem.h"
#include "optim/inputs.h"
#include "optim/programs.h"
#include "optim/rule.h"

typedef struct {
    ir_module_t *module;
    const train_spec_t *spec;
    const optim_rule_t *rule;
    const ir_fn_t *entry;
    const ir_fn_t *gradient; /* entry's parameters -> its results, then d loss / d parameter */
    optim_arg_t *arg;        /* entry's arguments */
    int n_arg;
} build_t;

static ir_type_t master_type(ir_type_t type)
{
    return optim_master(type);
}

/* --- signatures --- */

static void add_slot(slots_t *slots, const char *role, const char *name, ir_type_t type,
                     ir_val_t value)
{
    slot_t slot = {.role = role, .name = name, .type = type, .value = value, .first = slots->n};
    bool same = slots->n > 0 && strcmp(slots->at[slots->n - 1].role, role) == 0;
    if (same) slot.first = slots->at[slots->n - 1].first;
    VEC_PUSH(slots, slot);
    slots->at[slot.first].n_role = slots->n - slot.first;
}

/* Those of entry's arguments that are kept among the parameters, or else the batch; master types
 * when `wide`. */
static void add_args(slots_t *in, const optim_arg_t *args, int n, bool params, bool wide)
{
    for (int i = 0; i < n; i++) {
        if (params ? !args[i].is_param : args[i].role != ARG_batch) continue;
        ir_type_t type = params && wide ? master_type(args[i].type) : args[i].type;
        add_slot(in, params ? "param" : "batch", args[i].name, type, IR_NONE);
        in->at[in->n - 1].init = params ? args[i].init : NULL;
    }
}

static void add_states(const build_t *b, slots_t *in)
{
    for (int i = 0; i < b->n_arg; i++) {
        if (b->arg[i].role != ARG_param) continue;
        for (int k = 0; k < b->rule->n_state(b->spec); k++) {
            const char *name = arena_printf(b->module->arena, "%s.%s", b->rule->state[k],
                                            b->arg[i].name);
            add_slot(in, "state", name, master_type(b->arg[i].type), IR_NONE);
        }
    }
}

static void add_accumulators(const build_t *b, slots_t *in)
{
    for (int i = 0; i < b->n_arg; i++)
        if (b->arg[i].role == ARG_param)
            add_slot(in, "accumulator", b->arg[i].name, master_type(b->arg[i].type), IR_NONE);
}

static void add_scalars(slots_t *in)
{
    add_slot(in, "scalar", "lr", ir_type_scalar(DT_F32), IR_NONE);
    add_slot(in, "scalar", "step", ir_type_scalar(DT_I64), IR_NONE);
}

static void add_result(ir_fn_t *fn, slots_t *out, const char *name, ir_val_t x)
{
    ir_type_t type = x == IR_NONE ? ir_type_scalar(DT_F32) : *ir_type_of(fn, x);
    add_slot(out, "result", name, type, x);
}

/* The k-th slot of a role; those of a role come one after another. */
static slot_t *slot_at(const slots_t *slots, const char *role, int k)
{
    for (size_t i = 0; i < slots->n; i += slots->at[i].n_role)
        if (strcmp(slots->at[i].role, role) == 0) return &slots->at[i + (size_t)k];
    return NULL;
}

/* --- the parts of a step --- */

/* Does an argument read the step or the learning rate? */
static bool reads_step(const build_t *b)
{
    for (int i = 0; i < b->n_arg; i++)
        if (b->arg[i].role == ARG_scalar && b->arg[i].scalar != SCALAR_VALUE) return true;
    return false;
}

/* Call fn on the program's parameters and batch: arguments in fn's order, parameters rounded to the
 * type that fn declares. */
static int run_model(ir_fn_t *to, const ir_fn_t *fn, const optim_arg_t *args, int n_arg,
                     const slots_t *in, ir_val_t *results, err_t *err)
{
    ir_val_t *values = mem_calloc((size_t)n_arg + 1, sizeof *values);
    const slot_t *lr = slot_at(in, "scalar", 0), *step = lr ? slot_at(in, "scalar", 1) : NULL;
    int n_param = 0, n_batch = 0, n_seed = 0;
    for (int i = 0; i < n_arg; i++) {
        const optim_arg_t *arg = &args[i];
        if (arg->is_param)
            values[i] = optim_from_master(to, slot_at(in, "param", n_param++)->value,
                                          arg->type.dtype);
        else if (arg->role == ARG_batch)
            values[i] = slot_at(in, "batch", n_batch++)->value;
        else if (arg->role == ARG_seed)
            values[i] = optim_seed(to, &arg->type, n_seed++);
        else
            values[i] = optim_scalar(to, arg, lr ? lr->value : IR_NONE,
                                     step ? step->value : IR_NONE);
    }
    int status = program_inline(to, fn, values, results, err);
    free(values);
    return status;
}

/* Loss and gradients (master types) of the entry, grads[] in order of those that are trained; the
 * states' next values are appended to out. */
static int run_gradient(const build_t *b, ir_fn_t *fn, const slots_t *in, ir_val_t *loss,
                        ir_val_t *grads, slots_t *out, err_t *err)
{
    int n = b->gradient->body->n_result, n_primal = b->entry->body->n_result;
    ir_val_t *results = mem_calloc((size_t)n + 1, sizeof *results);
    int status = run_model(fn, b->gradient, b->arg, b->n_arg, in, results, err);
    *loss = status == 0 ? ir_convert(fn, results[0], DT_F32) : IR_NONE;
    for (int i = n_primal; i < n && status == 0; i++) {
        dtype_t dtype = master_type(*ir_type_of(fn, results[i])).dtype;
        grads[i - n_primal] = ir_convert(fn, results[i], dtype);
    }
    for (int i = 0, k = 0; i < b->n_arg && status == 0; i++) {
        if (!b->arg[i].is_param) continue;
        slot_t slot = *slot_at(in, "param", k++);
        if (b->arg[i].role != ARG_state) continue;
        slot.value = ir_convert(fn, results[b->arg[i].next], slot.type.dtype);
        VEC_PUSH(out, slot);
    }
    free(results);
    return status;
}

static int n_params(const build_t *b)
{
    int n = 0;
    for (int i = 0; i < b->n_arg; i++) n += b->arg[i].role == ARG_param;
    return n;
}

/* The slot of the i-th parameter that is trained. */
static slot_t *trained_at(const build_t *b, const slots_t *in, int i)
{
    for (int a = 0, k = 0; a < b->n_arg; a++) {
        if (b->arg[a].role == ARG_param && i-- == 0) return slot_at(in, "param", k);
        k += b->arg[a].is_param;
    }
    return NULL;
}

/* |g| over all parameters, in f32, or in f64 when a parameter is. */
static ir_val_t global_norm(ir_fn_t *fn, int n, const ir_val_t *grads)
{
    dtype_t dtype = DT_F32;
    for (int i = 0; i < n; i++)
        if (grads[i] != IR_NONE && ir_type_of(fn, grads[i])->dtype == DT_F64) dtype = DT_F64;
    ir_val_t sum = ir_scalar(fn, dtype, 0);
    for (int i = 0; i < n; i++) {
        ir_val_t square = ir_op2(fn, OP_multiply, grads[i], grads[i]);
        ir_val_t part = ir_reduce_all(fn, OP_add, square);
        sum = ir_op2(fn, OP_add, sum, ir_convert(fn, part, dtype));
    }
    return ir_op1(fn, OP_sqrt, sum);
}

/* g *= min(1, clip / (norm + 1e-6)) */
static void clip_all(ir_fn_t *fn, double clip, ir_val_t norm, int n, ir_val_t *grads)
{
    if (clip == 0) return;
    ir_val_t below = ir_op2(fn, OP_add, norm, ir_scalar_like(fn, norm, 1e-6));
    ir_val_t ratio = ir_op2(fn, OP_divide, ir_scalar_like(fn, norm, clip), below);
    ir_val_t factor = ir_op2(fn, OP_minimum, ir_scalar_like(fn, norm, 1), ratio);
    for (int i = 0; i < n; i++)
        grads[i] = ir_op2(fn, OP_multiply, grads[i], optim_spread(fn, factor, grads[i]));
}

/* The i-th trained parameter's: by its group. */
static optim_step_t step_of(const build_t *b, const optim_step_t *step, int i)
{
    optim_step_t own = *step;
    const optim_arg_t *arg = b->arg;
    while (arg->role != ARG_param || i-- > 0) arg++;
    own.decay = b->spec->weight_decay * arg->decay;
    if (arg->lr != 1) own.lr = optim_scale(step->fn, step->lr, arg->lr);
    return own;
}

/* Clip, update, and list the new parameters and states as results, then more[0..], grad_norm. */
static void update_all(const build_t *b, ir_fn_t *fn, const slots_t *in, ir_val_t *grads,
                       slots_t *out, ir_val_t *norm)
{
    int n = n_params(b), n_state = b->rule->n_state(b->spec);
    *norm = global_norm(fn, n, grads);
    clip_all(fn, b->spec->clip, *norm, n, grads);
    optim_step_t step = {.fn = fn, .spec = b->spec};
    step.lr = slot_at(in, "scalar", 0)->value;
    step.step = slot_at(in, "scalar", 1)->value;
    if (b->rule->prepare) b->rule->prepare(&step);

    slots_t states = {0};
    for (int i = 0; i < n; i++) {
        slot_t p = *trained_at(b, in, i);
        ir_val_t old[OPTIM_MAX_STATE], fresh[OPTIM_MAX_STATE];
        for (int k = 0; k < n_state; k++) old[k] = slot_at(in, "state", i * n_state + k)->value;
        const optim_step_t own = step_of(b, &step, i);
        p.value = b->rule->update(&own, p.value, grads[i], old, fresh);
        VEC_PUSH(out, p);
        for (int k = 0; k < n_state; k++) {
            slot_t s = *slot_at(in, "state", i * n_state + k);
            s.value = fresh[k];
            VEC_PUSH(&states, s);
        }
    }
    for (size_t i = 0; i < states.n; i++) VEC_PUSH(out, states.at[i]);
    VEC_FREE(&states);
}

/* --- the programs --- */

static int build_train(const build_t *b, err_t *err)
{
    slots_t in = {0}, out = {0};
    add_args(&in, b->arg, b->n_arg, true, true);
    add_states(b, &in);
    add_args(&in, b->arg, b->n_arg, false, true);
    add_scalars(&in);
    ir_fn_t *fn = program_begin(b->module, "train", &in);
    ir_val_t loss, norm, *grads = mem_calloc((size_t)n_params(b) + 1, sizeof *grads);
    slots_t next = {0};
    int status = run_gradient(b, fn, &in, &loss, grads, &next, err);
    if (status == 0) {
        update_all(b, fn, &in, grads, &out, &norm);
        for (size_t i = 0; i < next.n; i++) VEC_PUSH(&out, next.at[i]);
        add_result(fn, &out, "loss", loss);
        add_result(fn, &out, "grad_norm", ir_convert(fn, norm, DT_F32));
        status = program_end(fn, &out, err);
    }
    VEC_FREE(&next);
    free(grads);
    VEC_FREE(&in);
    VEC_FREE(&out);
    return status;
}

static int build_accumulate(const build_t *b, err_t *err)
{
    slots_t in = {0}, out = {0};
    add_args(&in, b->arg, b->n_arg, true, true);
    add_accumulators(b, &in);
    add_args(&in, b->arg, b->n_arg, false, true);
    if (reads_step(b)) add_scalars(&in);
    ir_fn_t *fn = program_begin(b->module, "accumulate", &in);
    ir_val_t loss, *grads = mem_calloc((size_t)n_params(b) + 1, sizeof *grads);
    int status = run_gradient(b, fn, &in, &loss, grads, &out, err);
    if (status == 0) {
        for (int i = 0; i < n_params(b); i++) {
            slot_t sum = *slot_at(&in, "accumulator", i);
            sum.value = ir_op2(fn, OP_add, sum.value, grads[i]);
            VEC_PUSH(&out, sum);
        }
        add_result(fn, &out, "loss", loss);
        status = program_end(fn, &out, err);
    }
    free(grads);
    VEC_FREE(&in);
    VEC_FREE(&out);
    return status;
}

static int build_update(const build_t *b, err_t *err)
{
    slots_t in = {0}, out = {0};
    add_args(&in, b->arg, b->n_arg, true, true);
    add_states(b, &in);
    add_accumulators(b, &in);
    add_scalars(&in);
    ir_fn_t *fn = program_begin(b->module, "update", &in);
    int n = n_params(b);
    ir_val_t norm, *grads = mem_calloc((size_t)n + 1, sizeof *grads);
    for (int i = 0; i < n; i++)
        grads[i] = optim_scale(fn, slot_at(&in, "accumulator", i)->value,
                               1.0 / b->spec->accumulate);
    update_all(b, fn, &in, grads, &out, &norm);
    for (int i = 0; i < n; i++) {
        slot_t empty = *slot_at(&in, "accumulator", i);
        empty.value = ir_splat(fn, &empty.type, 0);
        VEC_PUSH(&out, empty);
    }
    add_result(fn, &out, "grad_norm", ir_convert(fn, norm, DT_F32));
    int status = program_end(fn, &out, err);
    free(grads);
    VEC_FREE(&in);
    VEC_FREE(&out);
    return status;
}

/* A forward program: (params, batch) -> the first result of fn, in f32, called `result`; NULL: all
 * scalars, called "result<i>". */
static int build_forward(ir_module_t *module, const ir_fn_t *fn, const char *name,
                         optim_arg_t *args, const char *result, err_t *err)
{
    slots_t in = {0}, out = {0};
    int n_arg = fn->body->n_arg;
    add_args(&in, args, n_arg, true, true);
    add_args(&in, args, n_arg, false, true);
    ir_fn_t *to = program_begin(module, name, &in);
    ir_val_t *results = mem_calloc((size_t)fn->body->n_result + 1, sizeof *results);
    int status = run_model(to, fn, args, n_arg, &in, results, err);
    for (int r = 0; status == 0 && r < (result ? 1 : fn->body->n_result); r++) {
        const char *called = result ? result : arena_printf(module->arena, "result%d", r);
        if (result || ir_type_of(to, results[r])->rank == 0)
            add_result(to, &out, called, ir_convert(to, results[r], DT_F32));
    }
    if (status == 0) status = program_end(to, &out, err);
    free(results);
    VEC_FREE(&in);
    VEC_FREE(&out);
    return status;
}

/* Programs share parameters by name: those of @logits must be parameters of the entry. */
static int check_logits(const build_t *b, const ir_fn_t *fn, const optim_arg_t *args, err_t *err)
{
    char have[IR_TYPE_TEXT];
    if (fn->body->n_result < 1)
        return err_set(err, ERR_TYPE, "@%s returns nothing; expected logits", fn->name);
    index_t *params = index_new();
    int status = 0;
    for (int k = 0; k < b->n_arg; k++)
        if (b->arg[k].is_param) index_add(params, b->arg[k].name, strlen(b->arg[k].name), k);
    for (int i = 0; status == 0 && i < fn->body->n_arg; i++) {
        int k = index_find(params, args[i].name, strlen(args[i].name));
        bool found = !args[i].is_param || (k >= 0 && ir_type_equal(&b->arg[k].type, &args[i].type));
        if (!found)
            status = err_set(err, ERR_ARG, "@%s: parameter \"%s\" of %s is not one of @%s",
                             fn->name, args[i].name, ir_type_text(&args[i].type, have),
                             b->entry->name);
    }
    index_destroy(&params);
    return status;
}

/* Its data may have another shape than the loss's data of the same name: call it by its own. */
static void name_tokens(ir_module_t *module, optim_arg_t *args, int n_arg)
{
    int n_batch = 0;
    for (int i = 0; i < n_arg; i++) n_batch += args[i].role == ARG_batch;
    for (int i = 0; i < n_arg; i++)
        if (args[i].role == ARG_batch)
            args[i].name = n_batch == 1 ? "tokens"
                                        : arena_printf(module->arena, "logits.%s", args[i].name);
}

static int build_logits(const build_t *b, const ir_fn_t *fn, err_t *err)
{
    optim_arg_t *args = optim_args(b->module, fn, err);
    if (!args || check_logits(b, fn, args, err) < 0) return -1;
    name_tokens(b->module, args, fn->body->n_arg);
    return build_forward(b->module, fn, "logits", args, "logits", err);
}

/* --- entry points --- */

/* Make room for the programs; the ops of removed functions can still be copied. */
static void remove_public(ir_module_t *module, const ir_fn_t *entry)
{
    for (int i = module->n_fn - 1; i >= 0; i--)
        if (!module->fn[i]->is_private || module->fn[i] == entry)
            ir_module_remove(module, module->fn[i]);
}

/* Classify and differentiate the entry; then every public function leaves the module (their ops can
 * still be copied: the arena keeps them). *logits: the function of that name, or NULL. */
static int begin(build_t *b, ir_module_t *module, const ir_fn_t **logits, err_t *err)
{
    b->module = module;
    b->entry = ir_module_entry(module, err);
    if (!b->entry) return -1;
    b->n_arg = b->entry->body->n_arg;
    b->arg = optim_args(module, b->entry, err);
    if (!b->arg) return -1;
    if (n_params(b) == 0)
        return err_set(err, ERR_ARG,
                       "@%s has no parameter to train (no argument has the role param)",
                       b->entry->name);
    bool *wanted = mem_calloc((size_t)b->n_arg + 1, sizeof *wanted);
    for (int i = 0; i < b->n_arg; i++) wanted[i] = b->arg[i].role == ARG_param;
    b->gradient = ad_gradient(module, b->entry, "gradient of the entry", wanted, err);
    free(wanted);
    if (!b->gradient) return -1;
    *logits = ir_module_find(module, "logits");
    remove_public(module, b->entry);
    return 0;
}

int optim_build(ir_module_t *module, const train_spec_t *spec, err_t *err)
{
    build_t b = {.spec = spec, .rule = optim_rule_find(spec->optimizer, err)};
    const ir_fn_t *logits;
    if (!b.rule || begin(&b, module, &logits, err) < 0) return -1;
    if (spec->accumulate <= 1) {
        if (build_train(&b, err) < 0) return -1;
    } else if (build_accumulate(&b, err) < 0 || build_update(&b, err) < 0) {
        return -1;
    }
    if (build_forward(module, b.entry, "loss", b.arg, "loss", err) < 0) return -1;
    return logits && logits != b.entry ? build_logits(&b, logits, err) : 0;
}

int optim_build_gradient(ir_module_t *module, err_t *err)
{
    build_t b = {0};
    const ir_fn_t *logits;
    if (begin(&b, module, &logits, err) < 0) return -1;
    slots_t in = {0}, out = {0};
    add_args(&in, b.arg, b.n_arg, true, false);
    add_args(&in, b.arg, b.n_arg, false, false);
    ir_fn_t *fn = program_begin(module, "grad", &in);
    int n = b.gradient->body->n_result, n_primal = b.entry->body->n_result;
    ir_val_t *results = mem_calloc((size_t)n + 1, sizeof *results);
    int status = run_model(fn, b.gradient, b.arg, b.n_arg, &in, results, err);
    if (status == 0) {
        add_result(fn, &out, "loss", results[0]);
        for (int i = n_primal; i < n; i++) {
            const char *name = trained_at(&b, &in, i - n_primal)->name;
            add_result(fn, &out, arena_printf(module->arena, "grad.%s", name), results[i]);
        }
        status = program_end(fn, &out, err);
    }
    free(results);
    VEC_FREE(&in);
    VEC_FREE(&out);
    return status;
}

int optim_build_logits(ir_module_t *module, err_t *err)
{
    const ir_fn_t *fn = ir_module_find(module, "logits");
    if (!fn || fn->body->n_result < 1)
        return err_set(err, ERR_ARG,
                       "the module has no function @logits (parameters, tokens) -> logits");
    optim_arg_t *args = optim_args(module, fn, err);
    if (!args) return -1;
    name_tokens(module, args, fn->body->n_arg);
    remove_public(module, fn);
    return build_forward(module, fn, "logits", args, "logits", err);
}

int optim_build_evaluation(ir_module_t *module, const char *name, err_t *err)
{
    const ir_fn_t *fn = ir_module_find(module, name);
    if (!fn) return err_set(err, ERR_ARG, "the module has no function @%s", name);
    optim_arg_t *args = optim_args(module, fn, err);
    if (!args) return -1;
    bool any = false;
    for (int r = 0; r < fn->body->n_result; r++) {
        const ir_type_t *type = ir_type_of(fn, fn->body->result[r]);
        any = any || (type->rank == 0 && !dtype_is_complex(type->dtype));
    }
    if (!any) return err_set(err, ERR_TYPE, "no result of @%s is a number", name);
    remove_public(module, fn);
    return build_forward(module, fn, "evaluate", args, NULL, err);
}
