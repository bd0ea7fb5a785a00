/* check-cpu FILE: the checks of a StableHLO test file, with what they check computed by a compiled plan
 * instead of the interpreter. Exit status as `pcp check`: 0 every check holds, 1 one does not, 2 the file
 * cannot be read, compiled or run. For run_conformance.sh -c 'build/bin/check-cpu FILE'.
 *
 * @main is split in two: @run takes @inputs' values as arguments and returns the first operand of every
 * check; @judge takes those and runs the checks, by the interpreter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "compile/compile.h"
#include "ir/build.h"
#include "ops/check.h"
#include "ops/common.h"
#include "ops/control.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "plan/target.h"
#include "runtime/exec.h"

typedef struct {
    const ir_fn_t *from;
    ir_val_t next_param;   /* @run: the argument that the next value of @inputs becomes */
    VEC(ir_val_t) checked; /* in @run, the first operand of each check */
    VEC(ir_type_t) types;  /* and its type */
    int n_judged;
} split_t;

static bool is_check(const ir_op_t *op)
{
    if (op->n_in != 2) return false;
    if (op->code == OP_custom_call) return check_is_target(control_target(op));
    return strncmp(op_def(op->code)->name, "check.", 6) == 0;
}

static bool is_inputs(const ir_op_t *op)
{
    return op->code == OP_call && strcmp(attr_text(&op->attrs, "callee", ""), "inputs") == 0;
}

static int rewrite_run(ir_clone_t *self, const ir_op_t *op, err_t *err)
{
    (void)err;
    split_t *split = self->user;
    if (is_inputs(op)) {
        for (int i = 0; i < op->n_out; i++) self->map[op->out + (ir_val_t)i] = split->next_param++;
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
    ir_val_t in[] = {ir_fn_param(self->to, split->n_judged++), self->map[op->in[1]]};
    if (ir_emit(self->to, op->code, 2, in, &op->attrs, 0, NULL, 0, NULL)) return 1;
    return err_set(err, self->to->err.code, "%s", self->to->err.text);
}

/* A function of `params` from @main's ops, rewritten. */
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

static int write_inputs(exec_t *exec, const plan_t *plan, int n, const tensor_t *in, err_t *err)
{
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "run.arg%d", i);
        int slot = plan_find_tensor(plan, ROLE_BATCH, name);
        tensor_t whole = tensor_new(&in[i].type);
        for (int64_t k = 0; k < ir_type_count(&whole.type); k++) element_copy(&whole, k, &in[i], k);
        int rc = slot < 0
                     ? 0
                     : exec_write(exec, slot, whole.data, (size_t)ir_type_bytes(&whole.type), err);
        tensor_fini(&whole);
        if (rc < 0) return -1;
    }
    return 0;
}

/* Compile the module (its only public function is @run), run it on in[n], fill out[]. */
static int run_plan(ir_module_t *module, int n, const tensor_t *in, int n_out, tensor_t *out,
                    err_t *err)
{
    plan_t *plan = compile_module(module, "", NULL, target_host(), err);
    exec_options_t options = {.threads = 1};
    exec_t *exec = plan ? exec_new(plan, &options, err) : NULL;
    int rc = exec ? write_inputs(exec, plan, n, in, err) : -1;
    if (rc == 0) rc = exec_run(exec, "run", err);
    for (int i = 0; rc == 0 && i < n_out; i++) {
        char name[32];
        snprintf(name, sizeof name, "run.result%d", i);
        int slot = plan_find_tensor(plan, ROLE_RESULT, name);
        rc = slot < 0
                 ? err_set(err, ERR_STATE, "the plan has no %s", name)
                 : exec_read(exec, slot, out[i].data, (size_t)ir_type_bytes(&out[i].type), err);
    }
    exec_destroy(&exec);
    plan_destroy(&plan);
    return rc;
}

/* The module with @run as the only public function, in an arena of its own. */
static ir_module_t *only_run(const ir_module_t *module, err_t *err)
{
    ir_module_t *copy = ir_module_clone(module, err);
    if (!copy) return NULL;
    ir_module_remove(copy, ir_module_find(copy, "main"));
    for (int i = 0; i < copy->n_fn; i++)
        copy->fn[i]->is_private = strcmp(copy->fn[i]->name, "run") != 0;
    return copy;
}

static int judge(ir_module_t *module, split_t *split, int n_in, const tensor_t *in, err_t *err)
{
    int n = (int)split->checked.n;
    ir_module_t *copy = only_run(module, err);
    if (!copy) return -1;
    tensor_t *out = mem_calloc((size_t)n + 1, sizeof *out);
    for (int i = 0; i < n; i++) out[i] = tensor_new(&split->types.at[i]);
    int rc = run_plan(copy, n_in, in, n, out, err);
    ir_fn_t *fn = rc == 0 ? derive(module, "judge", n, split->types.at, rewrite_judge, split, err)
                          : NULL;
    rc = fn && ir_fn_finish(fn, 0, NULL, err) == 0 ? eval_fn(module, fn, out, NULL, NULL, err) : -1;
    for (int i = 0; i < n; i++) tensor_fini(&out[i]);
    free(out);
    ir_module_destroy(&copy);
    return rc;
}

static int check(ir_module_t *module, err_t *err)
{
    tensor_t in[16];
    ir_type_t types[16];
    split_t split = {.from = ir_module_find(module, "main")};
    const ir_fn_t *inputs = ir_module_find(module, "inputs");
    int n = inputs ? inputs->body->n_result : 0;
    if (!split.from || n > 16)
        return err_set(err, ERR_UNSUPPORTED, "no @main, or more than 16 inputs");
    if (inputs && eval_fn(module, inputs, NULL, in, NULL, err) < 0) return -1;
    for (int i = 0; i < n; i++) types[i] = in[i].type;
    ir_fn_t *run = derive(module, "run", n, types, rewrite_run, &split, err);
    int rc = run ? ir_fn_finish(run, (int)split.checked.n, split.checked.at, err) : -1;
    if (rc == 0 && split.checked.n == 0) rc = err_set(err, ERR_UNSUPPORTED, "no check to run");
    if (rc == 0) rc = judge(module, &split, n, in, err);
    for (int i = 0; i < n; i++) tensor_fini(&in[i]);
    VEC_FREE(&split.checked);
    VEC_FREE(&split.types);
    return rc;
}

int main(int argc, char **argv)
{
    err_t err = {0};
    if (argc != 2) {
        fprintf(stderr, "usage: check-cpu FILE\n");
        return 2;
    }
    ir_module_t *module = parse_stablehlo_file(argv[1], &err);
    int rc = module ? check(module, &err) : -1;
    if (rc != 0) fprintf(stderr, "%s\n", err.text);
    ir_module_destroy(&module);
    return rc == 0 ? 0 : err.code == ERR_MISMATCH ? 1 : 2;
}
