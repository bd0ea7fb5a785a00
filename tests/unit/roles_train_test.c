/* Networks of other kinds than language models (tests/models/roles), with the roles that are found for
 * their arguments, trained by a compiled plan in f32 beside the interpreter in f64: the same seeds,
 * data and initial values, and losses within 1e-4 of each other all the way. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "codegen/target.h"
#include "compile/compile.h"
#include "compile/roles.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "runtime/exec.h"

enum { STEPS = 50, MAX_VALUES = 128, BATCHES = 4 };

typedef struct {
    const char *path, *roles; /* in the text's order */
} network_t;

static train_spec_t spec_of(void)
{
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.weight_decay = 0.01;
    return spec;
}

/* --- the module, with its roles --- */

static ir_module_t *load(const network_t *network, bool wide)
{
    err_t err = {0};
    size_t n;
    char *text = file_read(network->path, &n, &err);
    if (!text) fail_msg("%s", err.text);
    for (size_t i = 0; wide && i + 4 <= n; i++) /* no f32 stands in it but as a type */
        if (memcmp(text + i, "f32>", 4) == 0) memcpy(text + i, "f64>", 4);
    ir_module_t *module = parse_stablehlo(text, n, network->path, &err);
    const roles_options_t options = {.loss_result = -1};
    roles_t roles;
    if (!module || roles_assign(module, &options, &roles, &err) < 0 ||
        roles_check(&roles, &err) < 0)
        fail_msg("%s: %s", network->path, err.text);
    str_t got = {0};
    for (int i = 0; i < roles.n; i++) str_addf(&got, "%s%s", i ? " " : "", roles.row[i].role);
    assert_string_equal(str_text(&got), network->roles);
    str_fini(&got);
    free(text);
    return module;
}

/* --- values both sides begin with --- */

static double initial(const char *name, const char *role, int64_t i, int batch)
{
    uint64_t stream = rng_derive(7 + (uint64_t)batch, name);
    if (strcmp(role, "param") == 0 && strstr(name, "stats")) return strstr(name, "var") ? 1 : 0;
    if (strcmp(role, "param") == 0)
        return strcmp(name, "arg3") == 0 ? 0.25 * rng_uniform(stream, (uint64_t)i)
                                         : 0.6 * (rng_uniform(stream, (uint64_t)i) - 0.5);
    return rng_uniform(stream, (uint64_t)i) - 0.5;
}

static void fill(tensor_t *x, const char *name, const char *role, int batch)
{
    for (int64_t i = 0; i < ir_type_count(&x->type); i++) {
        double v = initial(name, role, i, batch);
        if (dtype_is_float(x->type.dtype))
            tensor_set_f64(x, i, (double)(float)v);
        else
            tensor_set_i64(x, i, (int64_t)((v + 0.5) * 3));
    }
}

/* --- the interpreter, in f64 --- */

typedef struct {
    ir_module_t *module;
    const ir_fn_t *fn;
    tensor_t in[MAX_VALUES], out[MAX_VALUES];
} oracle_t;

static void oracle_open(oracle_t *self, const network_t *network)
{
    err_t err = {0};
    train_spec_t spec = spec_of();
    *self = (oracle_t){.module = load(network, true)};
    if (passes_run(self->module, NULL, NULL, &err) < 0 ||
        optim_build(self->module, &spec, &err) < 0 ||
        passes_run(self->module, NULL, NULL, &err) < 0)
        fail_msg("%s: %s", network->path, err.text);
    self->fn = ir_module_find(self->module, "train");
    assert_true(self->fn->body->n_arg <= MAX_VALUES);
    for (int i = 0; i < self->fn->body->n_arg; i++) {
        const ir_attrs_t *a = &self->fn->param_attrs[i];
        const char *role = attr_text(a, "pcp.role", "");
        self->in[i] = tensor_new(ir_type_of(self->fn, ir_fn_param(self->fn, i)));
        if (strcmp(role, "param") == 0) fill(&self->in[i], attr_text(a, "pcp.name", ""), role, 0);
    }
}

/* What a result is called updates the argument of that name and role. */
static double oracle_step(oracle_t *self, int step, uint64_t seed)
{
    err_t err = {0};
    double loss = NAN;
    const ir_fn_t *fn = self->fn;
    const eval_options_t options = {.seed = seed};
    for (int i = 0; i < fn->body->n_arg; i++) {
        const char *name = attr_text(&fn->param_attrs[i], "pcp.name", "");
        const char *role = attr_text(&fn->param_attrs[i], "pcp.role", "");
        if (strcmp(role, "batch") == 0) fill(&self->in[i], name, role, 1 + step % BATCHES);
        if (strcmp(name, "lr") == 0) tensor_set_f64(&self->in[i], 0, 0.01);
        if (strcmp(name, "step") == 0 && strcmp(role, "scalar") == 0)
            tensor_set_i64(&self->in[i], 0, step);
    }
    if (eval_fn(self->module, fn, self->in, self->out, &options, &err) < 0)
        fail_msg("%s", err.text);
    for (int r = 0; r < fn->body->n_result; r++) {
        const char *name = attr_text(&fn->result_attrs[r], "pcp.name", "");
        const char *role = attr_text(&fn->result_attrs[r], "pcp.role", "");
        bool kept = false;
        if (strcmp(name, "loss") == 0) loss = tensor_get_f64(&self->out[r], 0);
        for (int i = 0; i < fn->body->n_arg && !kept; i++) {
            if (strcmp(attr_text(&fn->param_attrs[i], "pcp.name", ""), name) != 0 ||
                strcmp(attr_text(&fn->param_attrs[i], "pcp.role", ""), role) != 0)
                continue;
            tensor_fini(&self->in[i]);
            self->in[i] = self->out[r];
            kept = true;
        }
        if (!kept) tensor_fini(&self->out[r]);
    }
    return loss;
}

static void oracle_close(oracle_t *self)
{
    for (int i = 0; i < self->fn->body->n_arg; i++) tensor_fini(&self->in[i]);
    ir_module_destroy(&self->module);
}

/* --- the plan, in f32 --- */

typedef struct {
    plan_t *plan;
    exec_t *exec;
} machine_t;

static void put(machine_t *self, int tensor, int batch)
{
    err_t err = {0};
    const plan_tensor_t *t = &self->plan->tensor[tensor];
    tensor_t x = tensor_new(&t->type);
    fill(&x, t->name, plan_role_name(t->role), batch);
    if (exec_write(self->exec, tensor, x.data, (size_t)t->n_bytes, &err) < 0)
        fail_msg("%s", err.text);
    tensor_fini(&x);
}

static void machine_open(machine_t *self, const network_t *network)
{
    err_t err = {0};
    train_spec_t spec = spec_of();
    ir_module_t *module = load(network, false);
    self->plan = compile_module(module, "", &spec, target_host(), &err);
    self->exec = self->plan ? exec_new(self->plan, &(exec_options_t){.threads = 1}, &err) : NULL;
    if (!self->exec) fail_msg("%s: %s", network->path, err.text);
    for (int i = 0; i < self->plan->n_tensor; i++)
        if (self->plan->tensor[i].role == ROLE_PARAM) put(self, i, 0);
    ir_module_destroy(&module);
}

static double machine_step(machine_t *self, int step, uint64_t seed)
{
    err_t err = {0};
    float lr = 0.01f, loss = NAN;
    int64_t number = step;
    int at_lr = plan_find_tensor(self->plan, ROLE_SCALAR, "lr");
    int at_step = plan_find_tensor(self->plan, ROLE_SCALAR, "step");
    int at_loss = plan_find_tensor(self->plan, ROLE_RESULT, "loss");
    for (int i = 0; i < self->plan->n_tensor; i++)
        if (self->plan->tensor[i].role == ROLE_BATCH) put(self, i, 1 + step % BATCHES);
    exec_seed(self->exec, seed);
    if (exec_write(self->exec, at_lr, &lr, sizeof lr, &err) < 0 ||
        exec_write(self->exec, at_step, &number, sizeof number, &err) < 0 ||
        exec_run(self->exec, "train", &err) < 0 ||
        exec_read(self->exec, at_loss, &loss, sizeof loss, &err) < 0)
        fail_msg("%s", err.text);
    return (double)loss;
}

static double kept_value(const machine_t *self, const char *name)
{
    err_t err = {0};
    float value = NAN;
    tensor_t x;
    int i = plan_find_tensor(self->plan, ROLE_PARAM, name);
    assert_true(i >= 0);
    x = tensor_new(&self->plan->tensor[i].type);
    if (exec_read(self->exec, i, x.data, (size_t)self->plan->tensor[i].n_bytes, &err) < 0)
        fail_msg("%s", err.text);
    value = (float)tensor_get_f64(&x, 0);
    tensor_fini(&x);
    return (double)value;
}

/* --- beside each other --- */

static void train_beside(const network_t *network, machine_t *machine, oracle_t *oracle)
{
    double largest = 0, first = 0, last = 0;
    machine_open(machine, network);
    oracle_open(oracle, network);
    for (int step = 1; step <= STEPS; step++) {
        uint64_t seed = rng_bits(99, (uint64_t)step);
        double a = machine_step(machine, step, seed), b = oracle_step(oracle, step, seed);
        if (!(fabs(a - b) <= 1e-4))
            fail_msg("%s, step %d: loss %.9g, in f64 %.9g", network->path, step, a, b);
        if (fabs(a - b) > largest) largest = fabs(a - b);
        if (step <= BATCHES) first += a;
        if (step > STEPS - BATCHES) last += a;
    }
    print_message("%s: loss %.4f to %.4f, largest deviation %.2g\n", network->path, first / BATCHES,
                  last / BATCHES, largest);
    assert_true(last < first);
}

static void close_both(machine_t *machine, oracle_t *oracle)
{
    exec_destroy(&machine->exec);
    plan_destroy(&machine->plan);
    oracle_close(oracle);
}

static void test_convnet(void **state)
{
    (void)state;
    static const network_t network = {"tests/models/roles/convnet.mlir",
                                      "param param param param state:1 state:2 batch batch seed"};
    machine_t machine;
    oracle_t oracle;
    train_beside(&network, &machine, &oracle);
    /* the running variance left its start, as no gradient could have moved it */
    double var = kept_value(&machine, "batch_stats['bn']['var']");
    assert_true(fabs(var - 1) > 0.5);
    close_both(&machine, &oracle);
}

static void test_lstm(void **state)
{
    (void)state;
    static const network_t network = {"tests/models/roles/lstm.mlir",
                                      "param param param param frozen batch batch"};
    machine_t machine;
    oracle_t oracle;
    train_beside(&network, &machine, &oracle);
    assert_true(kept_value(&machine, "arg4") == (double)(float)initial("arg4", "param", 0, 0));
    close_both(&machine, &oracle);
}

/* Networks of which no single value needs a look. */
static void train_alone(const network_t *network)
{
    machine_t machine;
    oracle_t oracle;
    train_beside(network, &machine, &oracle);
    close_both(&machine, &oracle);
}

static void test_mlp(void **state)
{
    (void)state;
    static const network_t network = {"tests/models/roles/mlp.mlir",
                                      "param param param state:1 batch batch seed scalar:step"};
    train_alone(&network);
}

static void test_vit(void **state)
{
    (void)state;
    static const network_t network = {
        "tests/models/roles/vit.mlir",
        "param param param param param param param param param param param param param param "
        "param param param param batch batch"};
    train_alone(&network);
}

static void test_moe(void **state)
{
    (void)state;
    static const network_t network = {"tests/models/roles/moe.mlir",
                                      "param param param param batch batch"};
    train_alone(&network);
}

static void test_rope(void **state)
{
    (void)state;
    static const network_t network = {"tests/models/roles/rope.mlir",
                                      "param param param param param param param param param param "
                                      "frozen batch batch"};
    train_alone(&network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convnet), cmocka_unit_test(test_mlp), cmocka_unit_test(test_lstm),
        cmocka_unit_test(test_vit),     cmocka_unit_test(test_moe), cmocka_unit_test(test_rope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
