/* Programs run by the interpreter or compiled, on tensors found by role and name. */
#include "base/mem.h"
#include "base/rng.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "golden.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "passes/passes.h"

tensor_t *machine_find(machine_t *self, const char *role, const char *name)
{
    for (size_t i = 0; i < self->cell.n; i++)
        if (!strcmp(self->cell.at[i].role, role) && !strcmp(self->cell.at[i].name, name))
            return &self->cell.at[i].value;
    return NULL;
}

static tensor_t *cell_of(machine_t *self, const ir_attrs_t *attrs, const ir_type_t *type)
{
    const char *role = attr_text(attrs, "pcp.role", ""), *name = attr_text(attrs, "pcp.name", "");
    tensor_t *found = machine_find(self, role, name);
    if (found) return found;
    cell_t fresh = {role, name, tensor_new(type)};
    VEC_PUSH(&self->cell, fresh);
    return &self->cell.at[self->cell.n - 1].value;
}

/* Make a zero cell for each parameter of the program. */
static int machine_prepare(machine_t *self, const char *program, err_t *err)
{
    const ir_fn_t *fn = ir_module_find(self->module, program);
    if (!fn) return err_set(err, ERR_STATE, "no program is called %s", program);
    for (int i = 0; i < fn->body->n_arg; i++)
        cell_of(self, &fn->param_attrs[i], ir_type_of(fn, ir_fn_param(fn, i)));
    return 0;
}

static int run_interpreted(machine_t *self, const ir_fn_t *fn, err_t *err)
{
    int n_in = fn->body->n_arg, n_out = fn->body->n_result;
    tensor_t *in = mem_calloc((size_t)n_in + 1, sizeof *in);
    tensor_t *out = mem_calloc((size_t)n_out + 1, sizeof *out);
    for (int i = 0; i < n_in; i++)
        in[i] = *cell_of(self, &fn->param_attrs[i], ir_type_of(fn, ir_fn_param(fn, i)));
    int status = eval_fn(self->module, fn, in, out, NULL, err);
    for (int i = 0; i < n_out && status == 0; i++) {
        tensor_t *to = cell_of(self, &fn->result_attrs[i], &out[i].type);
        tensor_fini(to);
        *to = out[i];
    }
    free(in);
    free(out);
    return status;
}

static int find_tensor(const machine_t *self, const ir_attrs_t *attrs, err_t *err)
{
    const char *role = attr_text(attrs, "pcp.role", ""), *name = attr_text(attrs, "pcp.name", "");
    plan_role_t code;
    if (plan_role_parse(role, &code, err) < 0) return -1;
    int i = plan_find_tensor(self->plan, code, name);
    return i < 0 ? err_set(err, ERR_STATE, "the plan has no %s called %s", role, name) : i;
}

static int run_compiled(machine_t *self, const ir_fn_t *fn, err_t *err)
{
    for (int i = 0; i < fn->body->n_arg; i++) {
        const ir_type_t *type = ir_type_of(fn, ir_fn_param(fn, i));
        const tensor_t *x = cell_of(self, &fn->param_attrs[i], type);
        int k = find_tensor(self, &fn->param_attrs[i], err);
        if (k < 0 || exec_write(self->exec, k, x->data, (size_t)ir_type_bytes(type), err) < 0)
            return -1;
    }
    if (exec_run(self->exec, fn->name, err) < 0) return -1;
    for (int i = 0; i < fn->body->n_result; i++) {
        const ir_type_t *type = ir_type_of(fn, fn->body->result[i]);
        tensor_t *y = cell_of(self, &fn->result_attrs[i], type);
        int k = find_tensor(self, &fn->result_attrs[i], err);
        if (k < 0 || exec_read(self->exec, k, y->data, (size_t)ir_type_bytes(type), err) < 0)
            return -1;
    }
    return 0;
}

int machine_run(machine_t *self, const char *program, err_t *err)
{
    const ir_fn_t *fn = ir_module_find(self->module, program);
    return self->exec ? run_compiled(self, fn, err) : run_interpreted(self, fn, err);
}

/* Compile a copy of the programs for this machine. */
static int machine_compile(machine_t *self, err_t *err)
{
    ir_module_t *copy = ir_module_clone(self->module, err);
    self->plan = copy ? compile_module(copy, "", NULL, target_host(), err) : NULL;
    self->exec = self->plan ? exec_new(self->plan, &(exec_options_t){0}, err) : NULL;
    ir_module_destroy(&copy);
    return self->exec ? 0 : -1;
}

void machine_fini(machine_t *self)
{
    for (size_t i = 0; i < self->cell.n; i++) tensor_fini(&self->cell.at[i].value);
    VEC_FREE(&self->cell);
    exec_destroy(&self->exec);
    plan_destroy(&self->plan);
    ir_module_destroy(&self->module);
}

int machine_init(machine_t *self, const options_t *o, const train_spec_t *spec, err_t *err)
{
    *self = (machine_t){.module = parse_stablehlo_file(o->model, err)};
    if (!self->module || passes_run(self->module, NULL, NULL, err) < 0) return -1;
    const ir_fn_t *entry = ir_module_entry(self->module, err);
    if (!entry) return -1;
    self->n_arg = entry->body->n_arg;
    self->arg = optim_args(self->module, entry, err);
    if (!self->arg) return -1;
    int status = spec ? optim_build(self->module, spec, err)
                      : optim_build_gradient(self->module, err);
    if (status < 0 || passes_run(self->module, NULL, NULL, err) < 0) return -1;
    if (o->compiled && machine_compile(self, err) < 0) return -1;
    return machine_prepare(self, spec ? "train" : "grad", err);
}

tensor_t *machine_argument(machine_t *self, int i)
{
    return machine_find(self, self->arg[i].is_param ? "param" : "batch", self->arg[i].name);
}

int machine_need_param(const machine_t *self, int i, err_t *err)
{
    if (i >= 0 && i < self->n_arg && self->arg[i].is_param) return 0;
    return err_set(err, ERR_ARG, "argument %d of the model is no parameter", i);
}

/* --- generated inputs --- */

static uint64_t element_hash(int arg, int64_t i)
{
    return rng_mix(((uint64_t)arg << 32) + (uint64_t)i + 1);
}

static void fill_param(tensor_t *x, int arg)
{
    double base = x->type.rank == 1 ? 1 : 0;
    for (int64_t i = 0; i < ir_type_count(&x->type); i++) {
        double v = (double)((int64_t)(element_hash(arg, i) >> 44) - (1 << 19)) * 0x1p-22;
        tensor_set_f64(x, i, base + v);
    }
}

void machine_fill_params(machine_t *self)
{
    for (int i = 0; i < self->n_arg; i++)
        if (self->arg[i].is_param) fill_param(machine_argument(self, i), i);
}

void machine_fill_batch(machine_t *self, int64_t vocab, int b, const int64_t *ignore)
{
    int targets = -1;
    for (int i = 0; i < self->n_arg; i++)
        if (!self->arg[i].is_param) targets = i;
    for (int a = 0; a < self->n_arg; a++) {
        if (self->arg[a].is_param) continue;
        tensor_t *x = machine_argument(self, a);
        for (int64_t i = 0; i < ir_type_count(&x->type); i++) {
            bool masked = ignore && a == targets && i % 7 == 3;
            int64_t token = (int64_t)(element_hash(a + 1000 * b, i) % (uint64_t)vocab);
            tensor_set_i64(x, i, masked ? *ignore : token);
        }
    }
}
