/* The entry is split in two: @pcp.run takes inputs and constants as arguments and returns the first
 * operand of every check; it is compiled and run. @pcp.judge takes what it returned and runs the
 * checks, by the interpreter. */
#include "tools/check_compiled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "ir/build.h"
#include "ops/check_expect.h"
#include "ops/common.h"
#include "ops/control.h"
#include "ops/eval.h"
#include "runtime/exec.h"

#define RUN "pcp.run"

typedef struct {
    const ir_fn_t *from;
    VEC(tensor_t) in; /* @run's arguments: values of @inputs (owned), then constants (not) */
    VEC(ir_type_t) in_types;
    int n_owned, n_input, n_constant; /* values of @inputs; of both, those met while cloning */
    VEC(ir_val_t) checked;            /* in @run, the first operand of each check */
    VEC(ir_type_t) types;             /* and its type */
    int n_judged;
    const eval_options_t *limits;
} split_t;

static bool is_check(const ir_op_t *op)
{
    if (op->n_in < 1) return false;
    if (op->code == OP_custom_call) return check_is_target(control_target(op));
    return strncmp(op_def(op->code)->name, "check.", 6) == 0;
}

static bool is_inputs(const ir_op_t *op)
{
    return op->code == OP_call && strcmp(attr_text(&op->attrs, "callee", ""), "inputs") == 0;
}

static int rewrite_run(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    split_t *split = self->user;
    if (is_inputs(op)) {
        if (split->n_input + op->n_out > split->n_owned)
            return err_set(err, ERR_UNSUPPORTED, "line %d: @inputs is called again", op->line);
        for (int i = 0; i < op->n_out; i++)
            self->map[op->out + (ir_val_t)i] = ir_fn_param(self->to, split->n_input++);
        return 1;
    }
    if (op->code == OP_constant && op->parent == self->from->body) {
        self->map[op->out] = ir_fn_param(self->to, split->n_owned + split->n_constant++);
        return 1;
    }
    if (!is_check(op)) return 0;
    VEC_PUSH(&split->checked, self->map[op->in[0]]);
    VEC_PUSH(&split->types, *ir_type_of(self->from, op->in[0]));
    return 1;
}

static int rewrite_judge(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    split_t *split = self->user;
    if (!is_check(op)) return 0;
    ir_val_t in[2] = {ir_fn_param(self->to, split->n_judged++), IR_NONE};
    if (op->n_in > 1) in[1] = self->map[op->in[1]];
    ir_op_t *copy = ir_emit(self->to, op->code, op->n_in < 2 ? 1 : 2, in, &op->attrs, 0, NULL, 0,
                            NULL);
    if (!copy) return err_set(err, self->to->err.code, "%s", self->to->err.text);
    copy->line = op->line;
    return 1;
}

/* A function of `params` from the entry's ops, rewritten. */
static ir_fn_t *derive(ir_module_t *module, const char *name, int n_param, const ir_type_t *params,
                       int (*rewrite)(ir_clone_t *, const ir_op_t *, err_t *), split_t *split,
                       err_t *err)
{
    ir_fn_t *fn = ir_fn_new(module, name, n_param, params);
    const ir_fn_t *from = split->from;
    ir_clone_t clone = {.from = from, .to = fn, .rewrite = rewrite, .user = split};
    clone.map = mem_calloc(from->n_value + 1u, sizeof *clone.map);
    for (uint32_t v = 0; v < from->n_value; v++) clone.map[v] = IR_NONE;
    int rc = ir_clone_ops(&clone, from->body, err);
    free(clone.map);
    return rc < 0 ? NULL : fn;
}

/* --- The compiled part ------------------------------------------------------------------------ */

static int write_inputs(exec_t *exec, const plan_t *plan, const split_t *split, err_t *err)
{
    for (size_t i = 0; i < split->in.n; i++) {
        const tensor_t *t = &split->in.at[i];
        char name[32];
        snprintf(name, sizeof name, RUN ".arg%zu", i);
        int slot = plan_find_tensor(plan, ROLE_BATCH, name);
        tensor_t whole = tensor_new(&t->type);
        for (int64_t k = 0; k < ir_type_count(&whole.type); k++) element_copy(&whole, k, t, k);
        int rc = slot < 0
                     ? 0
                     : exec_write(exec, slot, whole.data, (size_t)ir_type_bytes(&whole.type), err);
        tensor_fini(&whole);
        if (rc < 0) return -1;
    }
    return 0;
}

static int read_results(exec_t *exec, const plan_t *plan, int n, tensor_t *out, err_t *err)
{
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, RUN ".result%d", i);
        int slot = plan_find_tensor(plan, ROLE_RESULT, name);
        if (slot < 0) return err_set(err, ERR_STATE, "the plan has no %s", name);
        if (exec_read(exec, slot, out[i].data, (size_t)ir_type_bytes(&out[i].type), err) < 0)
            return -1;
    }
    return 0;
}

/* Before anything of that size is allocated. */
static int check_bytes(const split_t *split, const char *what, uint64_t n_bytes, err_t *err)
{
    int64_t limit = eval_max_bytes(split->limits);
    if (n_bytes <= (uint64_t)limit) return 0;
    return err_set(err, ERR_MEMORY, "%s of %llu bytes: over the limit of %lld", what,
                   (unsigned long long)n_bytes, (long long)limit);
}

static int check_results(const split_t *split, err_t *err)
{
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < split->types.n; i++) {
        n_bytes += (uint64_t)ir_type_bytes(&split->types.at[i]);
        if (check_bytes(split, "checked values", n_bytes, err) < 0) return -1;
    }
    return 0;
}

/* Compile the module (its only public function is @run), run it, fill out[]. */
static int run_plan(ir_module_t *module, const split_t *split, tensor_t *out, err_t *err)
{
    plan_t *plan = compile_module(module, "", NULL, target_host(), err);
    exec_options_t options = {.threads = 1};
    bool fits = plan && check_bytes(split, "an arena", plan->arena_bytes, err) == 0;
    exec_t *exec = fits ? exec_new(plan, &options, err) : NULL;
    int rc = exec ? write_inputs(exec, plan, split, err) : -1;
    if (rc == 0) rc = exec_run(exec, RUN, err);
    if (rc == 0) rc = read_results(exec, plan, (int)split->checked.n, out, err);
    exec_destroy(&exec);
    plan_destroy(&plan);
    return rc;
}

/* The module with @run as the only public function, in an arena of its own. */
static ir_module_t *only_run(const ir_module_t *module, const char *entry, err_t *err)
{
    ir_module_t *copy = ir_module_clone(module, err);
    if (!copy) return NULL;
    ir_module_remove(copy, ir_module_find(copy, entry));
    for (int i = 0; i < copy->n_fn; i++)
        copy->fn[i]->is_private = strcmp(copy->fn[i]->name, RUN) != 0;
    return copy;
}

/* --- The whole -------------------------------------------------------------------------------- */

static void add_input(split_t *split, tensor_t t)
{
    VEC_PUSH(&split->in, t);
    VEC_PUSH(&split->in_types, t.type);
}

static int collect_inputs(const ir_module_t *module, split_t *split, err_t *err)
{
    const ir_fn_t *inputs = ir_module_find(module, "inputs");
    int n = inputs ? inputs->body->n_result : 0;
    if (inputs && inputs->body->n_arg > 0)
        return err_set(err, ERR_ARG, "@inputs takes arguments: it must take none");
    tensor_t *out = mem_calloc((size_t)n + 1, sizeof *out);
    int rc = inputs ? eval_fn(module, inputs, NULL, out, split->limits, err) : 0;
    for (int i = 0; rc == 0 && i < n; i++) add_input(split, out[i]);
    free(out);
    split->n_owned = (int)split->in.n;
    for (int i = 0; rc == 0 && i < split->from->body->n_op; i++) {
        const ir_op_t *op = split->from->body->op[i];
        if (op->code == OP_constant) add_input(split, *ir_const_of(split->from, op->out));
    }
    return rc;
}

static int judge(ir_module_t *module, split_t *split, err_t *err)
{
    int n = (int)split->checked.n;
    if (check_results(split, err) < 0) return -1;
    ir_module_t *copy = only_run(module, split->from->name, err);
    if (!copy) return -1;
    tensor_t *out = mem_calloc((size_t)n + 1, sizeof *out);
    for (int i = 0; i < n; i++) out[i] = tensor_new(&split->types.at[i]);
    int rc = run_plan(copy, split, out, err);
    ir_fn_t *fn = NULL;
    if (rc == 0) fn = derive(module, "pcp.judge", n, split->types.at, rewrite_judge, split, err);
    rc = fn && ir_fn_finish(fn, 0, NULL, err) == 0
             ? eval_fn(module, fn, out, NULL, split->limits, err)
             : -1;
    for (int i = 0; i < n; i++) tensor_fini(&out[i]);
    free(out);
    ir_module_destroy(&copy);
    return rc;
}

static int check_entry(ir_module_t *module, split_t *split, err_t *err)
{
    if (split->from->body->n_arg > 0)
        return err_set(err, ERR_ARG,
                       "@%s takes %d arguments: only a function without can be checked",
                       split->from->name, split->from->body->n_arg);
    if (collect_inputs(module, split, err) < 0) return -1;
    ir_fn_t *run = derive(module, RUN, (int)split->in.n, split->in_types.at, rewrite_run, split,
                          err);
    if (!run || ir_fn_finish(run, (int)split->checked.n, split->checked.at, err) < 0) return -1;
    return judge(module, split, err);
}

int check_module_on_cpu(ir_module_t *module, err_t *err)
{
    return check_module_on_cpu_within(module, NULL, err);
}

int check_module_on_cpu_within(ir_module_t *module, const eval_options_t *limits, err_t *err)
{
    err_t why = {0};
    split_t split = {.limits = limits};
    split.from = ir_verify(module, &why) == 0 ? ir_module_entry(module, &why) : NULL;
    int rc = split.from ? check_entry(module, &split, &why) : -1;
    for (int i = 0; i < split.n_owned; i++) tensor_fini(&split.in.at[i]);
    VEC_FREE(&split.in);
    VEC_FREE(&split.in_types);
    VEC_FREE(&split.checked);
    VEC_FREE(&split.types);
    if (rc < 0 && why.code == ERR_MISMATCH) rc = 1;
    if (rc != 0 && err) *err = why;
    return rc;
}
