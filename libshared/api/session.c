/* Sessions: a plan on a device; values in and out, runs, training steps. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/mem.h"
#include "model/init.h"
#include "optim/optim.h"

/* --- opening --- */

static int find_place(const plan_t *plan, const char *device, device_place_t *place, err_t *err)
{
    if (device_place(device ? device : plan->target, place, err) < 0) return -1;
    const device_ops_t *ops = device_find(plan->target, err);
    if (!ops) return -1;
    if (ops == place->ops) return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "the plan is for %s, which %s does not run: compile it for %s", plan->target,
                   device, place->target);
}

pcp_session_t *pcp_session_new(pcp_plan_t *plan, const char *device, int threads,
                               pcp_error_t *error)
{
    err_t *err = api_err(error);
    device_place_t place;
    if (threads < 0) {
        err_set(err, ERR_ARG, "%d threads: 0 for all, or a number of them", threads);
        return NULL;
    }
    if (find_place(plan->plan, device, &place, err) < 0) return NULL;
    const exec_options_t options = {.ordinal = place.ordinal, .threads = threads};
    exec_t *exec = exec_new(plan->plan, &options, err);
    if (!exec) return NULL;
    pcp_session_t *self = api_alloc(sizeof *self);
    self->exec = exec;
    self->plan = pcp_plan_retain(plan);
    self->held = plan->plan->arena_bytes;
    api_hold(self->held);
    return self;
}

void pcp_session_destroy(pcp_session_t **self_p)
{
    pcp_session_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    *self_p = NULL;
    exec_destroy(&self->exec);
    pcp_plan_release(&self->plan);
    api_let_go(self->held);
    api_free(self, sizeof *self);
}

/* --- values --- */

static int check_type(const plan_tensor_t *want, const pcp_tensor_t *tensor, err_t *err)
{
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    if (ir_type_equal(&want->type, &tensor->value.type)) return 0;
    return err_set(err, ERR_SHAPE, "\"%s\" is %s in the plan, got %s", want->name,
                   ir_type_text(&want->type, a), ir_type_text(&tensor->value.type, b));
}

int pcp_session_set(pcp_session_t *self, const char *name, const pcp_tensor_t *tensor,
                    pcp_error_t *error)
{
    err_t *err = api_err(error);
    const plan_t *plan = self->plan->plan;
    int i = api_tensor_find(plan, name, err);
    if (i < 0 || check_type(&plan->tensor[i], tensor, err) < 0) return -1;
    return exec_write(self->exec, i, tensor->value.data, (size_t)plan->tensor[i].n_bytes, err);
}

int pcp_session_get_into(pcp_session_t *self, const char *name, pcp_tensor_t *tensor,
                         pcp_error_t *error)
{
    err_t *err = api_err(error);
    const plan_t *plan = self->plan->plan;
    int i = api_tensor_find(plan, name, err);
    if (i < 0 || check_type(&plan->tensor[i], tensor, err) < 0) return -1;
    return exec_read(self->exec, i, tensor->value.data, (size_t)plan->tensor[i].n_bytes, err);
}

pcp_tensor_t *pcp_session_get(pcp_session_t *self, const char *name, pcp_error_t *error)
{
    const plan_t *plan = self->plan->plan;
    int i = api_tensor_find(plan, name, api_err(error));
    if (i < 0) return NULL;
    pcp_type_t type = api_type_out(&plan->tensor[i].type);
    pcp_tensor_t *tensor = pcp_tensor_new(&type, error);
    if (tensor && pcp_session_get_into(self, name, tensor, error) < 0) pcp_tensor_release(&tensor);
    return tensor;
}

/* --- initial values --- */

static int init_one(pcp_session_t *self, int tensor, const char *rule, uint64_t seed, err_t *err)
{
    const plan_tensor_t *t = &self->plan->plan->tensor[tensor];
    int64_t n = ir_type_count(&t->type);
    float *values = mem_calloc((size_t)n + 1, sizeof *values);
    tensor_t wide = tensor_new(&t->type);
    int status = init_fill(rule, seed, t->name, values, n, err);
    for (int64_t i = 0; status == 0 && i < n; i++) tensor_set_f64(&wide, i, values[i]);
    if (status == 0) status = exec_write(self->exec, tensor, wide.data, (size_t)t->n_bytes, err);
    tensor_fini(&wide);
    free(values);
    return status;
}

int pcp_session_init(pcp_session_t *self, const pcp_graph_t *graph, uint64_t seed,
                     pcp_error_t *error)
{
    err_t *err = api_err(error);
    const plan_t *plan = self->plan->plan;
    ir_module_t *copy = api_module_copy(graph, err);
    ir_fn_t *fn = copy ? ir_module_entry(copy, err) : NULL;
    optim_arg_t *args = fn ? optim_args(copy, fn, err) : NULL;
    int status = args ? 0 : -1;
    for (int i = 0; status == 0 && i < fn->body->n_arg; i++) {
        if (!args[i].is_param) continue;
        int tensor = plan_find_tensor(plan, ROLE_PARAM, args[i].name);
        if (tensor < 0) tensor = plan_find_tensor(plan, ROLE_BATCH, args[i].name);
        if (tensor >= 0) status = init_one(self, tensor, init_rule(fn, i), seed, err);
    }
    ir_module_destroy(&copy);
    return status;
}

/* --- running --- */

int pcp_session_run(pcp_session_t *self, const char *program, pcp_error_t *error)
{
    return exec_run(self->exec, program, api_err(error));
}

void pcp_session_seed(pcp_session_t *self, uint64_t seed)
{
    exec_seed(self->exec, seed);
}

/* A batch tensor holds all micro-batches, one after another. */
static int check_batch(const plan_t *plan, int i, const pcp_tensor_t *tensor, err_t *err)
{
    const plan_tensor_t *want = &plan->tensor[i];
    const ir_type_t *have = &tensor->value.type;
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    if (plan->accumulate <= 1) return check_type(want, tensor, err);
    if (want->type.rank == IR_MAX_RANK)
        return err_set(err, ERR_SHAPE,
                       "\"%s\" has %d dimensions, and one more for the micro-batches is too many",
                       want->name, want->type.rank);
    ir_type_t all = {
        .dtype = want->type.dtype, .rank = want->type.rank + 1, .dim = {plan->accumulate}};
    for (int k = 0; k < want->type.rank && k + 1 < IR_MAX_RANK; k++)
        all.dim[k + 1] = want->type.dim[k];
    if (ir_type_equal(&all, have)) return 0;
    return err_set(err, ERR_SHAPE, "\"%s\" of %d micro-batches is %s, got %s", want->name,
                   plan->accumulate, ir_type_text(&all, a), ir_type_text(have, b));
}

int pcp_session_train(pcp_session_t *self, int n_batch, const pcp_tensor_t *const *batch, double lr,
                      int64_t step, float *loss, pcp_error_t *error)
{
    err_t *err = api_err(error);
    const plan_t *plan = self->plan->plan;
    const void **values = mem_calloc((size_t)plan->n_tensor + 1, sizeof *values);
    int n = 0, status = step >= 1
                            ? 0
                            : err_set(err, ERR_ARG, "step %lld: the first is 1", (long long)step);
    for (int i = 0; status == 0 && i < plan->n_tensor; i++) {
        if (!plan_trains_on(plan, i)) continue;
        if (n < n_batch) status = check_batch(plan, i, batch[n], err);
        if (status == 0 && n < n_batch) values[n] = batch[n]->value.data;
        n++;
    }
    if (status == 0 && n != n_batch)
        status = err_set(err, ERR_ARG, "a step takes %d batch tensors, got %d", n, n_batch);
    if (status == 0) status = exec_train_step(self->exec, values, lr, (long)step, loss, err);
    free(values);
    return status;
}
