/* golden-check MODEL.mlir GOLDEN.json: compare a model's loss and gradients, or its training, with golden
 * values made by another library in f64 (format and input generator: conformance/README.md of the shared
 * material). One line per entry with the largest deviation; exit 0 all hold, 1 a mismatch, 2 an error. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "compile/compile.h"
#include "ops/eval.h"
#include "optim/optim.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "plan/target.h"
#include "runtime/exec.h"

static const char USAGE[] =
    "golden-check MODEL.mlir GOLDEN.json [--backend interp|cpu] [--training]\n"
    "  Checks the entries of GOLDEN.json whose \"file\" is MODEL's file name.\n"
    "  --backend    interp (reference evaluators; the default) or cpu (compiled plan)\n"
    "  --training   GOLDEN.json holds training traces (AdamW steps, DiLoCo), not gradients\n"
    "  Exit status: 0 all entries hold, 1 a mismatch, 2 an error or no such entry.\n";

typedef struct {
    const char *model, *golden;
    bool compiled, training;
} options_t;

enum { MATCH = 0, MISMATCH = 1, FAILED = 2 };

/* --- a machine: programs and the tensors they share, by role and name --- */

typedef struct {
    const char *role, *name; /* borrowed from the module */
    tensor_t value;
} cell_t;

typedef struct {
    ir_module_t *module; /* the programs */
    plan_t *plan;        /* the same compiled; NULL: interpreted */
    exec_t *exec;
    VEC(cell_t) cell;
    optim_arg_t *arg; /* of the model's entry: which cell is argument i */
    int n_arg;
} machine_t;

static tensor_t *find_cell(machine_t *self, const char *role, const char *name)
{
    for (size_t i = 0; i < self->cell.n; i++)
        if (!strcmp(self->cell.at[i].role, role) && !strcmp(self->cell.at[i].name, name))
            return &self->cell.at[i].value;
    return NULL;
}

static tensor_t *cell_of(machine_t *self, const ir_attrs_t *attrs, const ir_type_t *type)
{
    const char *role = attr_text(attrs, "pcp.role", ""), *name = attr_text(attrs, "pcp.name", "");
    tensor_t *found = find_cell(self, role, name);
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

static int machine_run(machine_t *self, const char *program, err_t *err)
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

static void machine_fini(machine_t *self)
{
    for (size_t i = 0; i < self->cell.n; i++) tensor_fini(&self->cell.at[i].value);
    VEC_FREE(&self->cell);
    exec_destroy(&self->exec);
    plan_destroy(&self->plan);
    ir_module_destroy(&self->module);
}

/* Parse, classify the arguments, build the programs: "grad", or with a spec "train". */
static int machine_init(machine_t *self, const options_t *o, const train_spec_t *spec, err_t *err)
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

static tensor_t *argument(machine_t *self, int i)
{
    return find_cell(self, self->arg[i].is_param ? "param" : "batch", self->arg[i].name);
}

static double scalar_result(machine_t *self, const char *name)
{
    return tensor_get_f64(find_cell(self, "result", name), 0);
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

static void fill_params(machine_t *self)
{
    for (int i = 0; i < self->n_arg; i++)
        if (self->arg[i].is_param) fill_param(argument(self, i), i);
}

/* Batch number b; ignore: every seventh target (the last integer argument) becomes *ignore. */
static void fill_batch(machine_t *self, int64_t vocab, int b, const int64_t *ignore)
{
    int targets = -1;
    for (int i = 0; i < self->n_arg; i++)
        if (!self->arg[i].is_param) targets = i;
    for (int a = 0; a < self->n_arg; a++) {
        if (self->arg[a].is_param) continue;
        tensor_t *x = argument(self, a);
        for (int64_t i = 0; i < ir_type_count(&x->type); i++) {
            bool masked = ignore && a == targets && i % 7 == 3;
            int64_t token = (int64_t)(element_hash(a + 1000 * b, i) % (uint64_t)vocab);
            tensor_set_i64(x, i, masked ? *ignore : token);
        }
    }
}

/* --- deviations --- */

typedef struct {
    double worst; /* largest deviation, in units of its tolerance */
    char where[96];
} report_t;

static void note(report_t *self, double have, double want, double allowed, const char *what,
                 int arg)
{
    double d = fabs(have - want);
    d = d == 0 ? 0 : d / allowed;
    if (isnan(d)) d = INFINITY;
    if (d < self->worst || (d == self->worst && self->where[0])) return;
    self->worst = d;
    if (arg < 0)
        snprintf(self->where, sizeof self->where, "%s", what);
    else
        snprintf(self->where, sizeof self->where, "%s of argument %d", what, arg);
}

typedef struct {
    double l2, sum, maxabs;
} summary_t;

static summary_t summarize(const tensor_t *x)
{
    summary_t s = {0};
    for (int64_t i = 0; i < ir_type_count(&x->type); i++) {
        double v = tensor_get_f64(x, i);
        s.l2 += v * v;
        s.sum += v;
        if (!(fabs(v) <= s.maxabs)) s.maxabs = fabs(v); /* keeps NaN */
    }
    s.l2 = sqrt(s.l2);
    return s;
}

static int finish(const report_t *report, const char *entry, double seconds)
{
    bool ok = report->worst <= 1;
    printf("%s %s: largest deviation %.3g of what is allowed, %s (%.1f s)\n", ok ? "ok  " : "FAIL",
           entry, report->worst, report->where[0] ? report->where : "none", seconds);
    fflush(stdout);
    return ok ? MATCH : MISMATCH;
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* --- gradients --- */

/* Allowed: samples and maximum 1e-5 of max|g|; l2 1e-5 of itself; sum 1e-5 of the largest it could be,
 * sqrt(n) l2, because sums that cancel have no accuracy of their own. */
static int check_gradient(machine_t *self, const json_t *golden, report_t *report, err_t *err)
{
    int arg = (int)json_integer_value(json_object_get(golden, "arg"));
    char name[256], type[IR_TYPE_TEXT];
    if (arg < 0 || arg >= self->n_arg || !self->arg[arg].is_param)
        return err_set(err, ERR_ARG, "argument %d of the model is no parameter", arg);
    snprintf(name, sizeof name, "grad.%s", self->arg[arg].name);
    const tensor_t *g = find_cell(self, "result", name);
    const char *want_type = json_string_value(json_object_get(golden, "type"));
    if (want_type && strcmp(ir_type_text(&g->type, type), want_type) != 0)
        return err_set(err, ERR_TYPE, "argument %d is %s, the golden file says %s", arg, type,
                       want_type);
    summary_t have = summarize(g);
    int64_t n = ir_type_count(&g->type);
    double l2 = number(golden, "l2"), maxabs = number(golden, "maxabs");
    note(report, have.l2, l2, 1e-5 * l2, "l2", arg);
    note(report, have.maxabs, maxabs, 1e-5 * maxabs, "maxabs", arg);
    note(report, have.sum, number(golden, "sum"), 1e-5 * sqrt((double)n) * l2, "sum", arg);
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(golden, "samples"), key, value)
    {
        int64_t i = strtoll(key, NULL, 10);
        char what[48];
        snprintf(what, sizeof what, "element %lld", (long long)i);
        if (i < 0 || i >= n) return err_set(err, ERR_ARG, "argument %d has no %s", arg, what);
        note(report, tensor_get_f64(g, i), json_number_value(value), 1e-5 * maxabs, what, arg);
    }
    return 0;
}

static int check_unused(machine_t *self, const json_t *entry, report_t *report, err_t *err)
{
    const json_t *unused = json_object_get(entry, "unused_args");
    for (size_t i = 0; i < json_array_size(unused); i++) {
        int arg = (int)json_integer_value(json_array_get(unused, i));
        if (arg < 0 || arg >= self->n_arg || !self->arg[arg].is_param)
            return err_set(err, ERR_ARG, "unused argument %d of the model is no parameter", arg);
        char name[256];
        snprintf(name, sizeof name, "grad.%s", self->arg[arg].name);
        summary_t have = summarize(find_cell(self, "result", name));
        note(report, have.maxabs, 0, 0, "zero gradient", arg);
    }
    return 0;
}

static int check_gradients(machine_t *self, const json_t *entry, err_t *err)
{
    double start = clock_mono_s();
    int64_t ignore = json_integer_value(json_object_get(entry, "ignore_index"));
    int64_t vocab = json_integer_value(json_object_get(entry, "vocab"));
    bool masked = json_is_true(json_object_get(entry, "masked_targets"));
    if (vocab < 1) return err_set(err, ERR_PARSE, "an entry has no vocab"), FAILED;
    fill_params(self);
    fill_batch(self, vocab, 0, masked ? &ignore : NULL);
    if (machine_run(self, "grad", err) < 0) return FAILED;

    report_t report = {0};
    double loss = scalar_result(self, "loss"), want = number(entry, "loss_f64");
    note(&report, loss, want, 1e-5 * fmax(1, fabs(want)), "loss", -1);
    const json_t *grads = json_object_get(entry, "grads");
    for (size_t i = 0; i < json_array_size(grads); i++)
        if (check_gradient(self, json_array_get(grads, i), &report, err) < 0) return FAILED;
    if (check_unused(self, entry, &report, err) < 0) return FAILED;
    char label[160];
    snprintf(label, sizeof label, "%s %s targets, loss %.9g, %zu gradients",
             json_string_value(json_object_get(entry, "file")), masked ? "masked" : "plain", loss,
             json_array_size(grads));
    return finish(&report, label, clock_mono_s() - start);
}

/* --- training --- */

/* Allowed: 1e-4 relative; single elements relative to at least the parameter's root mean square. */
static int check_params(machine_t *self, const json_t *golden, report_t *report, err_t *err)
{
    for (size_t k = 0; k < json_array_size(golden); k++) {
        const json_t *row = json_array_get(golden, k);
        int arg = (int)json_integer_value(json_object_get(row, "arg"));
        if (arg < 0 || arg >= self->n_arg || !self->arg[arg].is_param)
            return err_set(err, ERR_ARG, "argument %d of the model is no parameter", arg);
        const tensor_t *p = argument(self, arg);
        int64_t n = ir_type_count(&p->type);
        double l2 = number(row, "l2"), rms = l2 / sqrt((double)n);
        double first = number(row, "first"), last = number(row, "last");
        note(report, summarize(p).l2, l2, 1e-4 * l2, "l2", arg);
        note(report, tensor_get_f64(p, 0), first, 1e-4 * fmax(rms, fabs(first)), "first", arg);
        note(report, tensor_get_f64(p, n - 1), last, 1e-4 * fmax(rms, fabs(last)), "last", arg);
    }
    return 0;
}

/* One step on batch number b; the loss is noted against golden loss `want`. */
static int train_step(machine_t *self, int64_t vocab, double lr, int step, int b, double want,
                      report_t *report, err_t *err)
{
    fill_batch(self, vocab, b, NULL);
    tensor_set_f64(find_cell(self, "scalar", "lr"), 0, lr);
    tensor_set_i64(find_cell(self, "scalar", "step"), 0, step);
    if (machine_run(self, "train", err) < 0) return -1;
    note(report, scalar_result(self, "loss"), want, 1e-4 * fabs(want), "a loss", -1);
    return 0;
}

static void zero_state(machine_t *self)
{
    for (size_t i = 0; i < self->cell.n; i++) {
        cell_t *c = &self->cell.at[i];
        if (strcmp(c->role, "state") != 0) continue;
        ir_type_t type = c->value.type;
        tensor_fini(&c->value);
        c->value = tensor_new(&type);
    }
}

static int check_adamw(machine_t *self, const json_t *entry, int64_t vocab, double lr, err_t *err)
{
    double start = clock_mono_s();
    const json_t *golden = json_object_get(entry, "adamw5");
    const json_t *losses = json_object_get(golden, "losses");
    report_t report = {0};
    fill_params(self);
    zero_state(self);
    for (size_t s = 0; s < json_array_size(losses); s++) {
        double want = json_number_value(json_array_get(losses, s));
        if (train_step(self, vocab, lr, (int)s + 1, (int)s, want, &report, err) < 0) return FAILED;
    }
    if (check_params(self, json_object_get(golden, "params"), &report, err) < 0) return FAILED;
    char label[160];
    snprintf(label, sizeof label, "%s %zu AdamW steps, last loss %.9g",
             json_string_value(json_object_get(entry, "file")), json_array_size(losses),
             scalar_result(self, "loss"));
    return finish(&report, label, clock_mono_s() - start);
}

/* --- DiLoCo: K workers from one master, their inner state kept across rounds; d = mean of start - end;
 *     v = mu v + d; p = p - lr (d + mu v) --- */

/* All values of the cells of a role, one after another. */
static size_t role_size(const machine_t *self, const char *role)
{
    size_t n = 0;
    for (size_t i = 0; i < self->cell.n; i++)
        if (strcmp(self->cell.at[i].role, role) == 0)
            n += (size_t)ir_type_count(&self->cell.at[i].value.type);
    return n;
}

static void save_role(const machine_t *self, const char *role, double *to)
{
    for (size_t i = 0; i < self->cell.n; i++) {
        const cell_t *c = &self->cell.at[i];
        if (strcmp(c->role, role) != 0) continue;
        for (int64_t k = 0; k < ir_type_count(&c->value.type); k++)
            *to++ = tensor_get_f64(&c->value, k);
    }
}

static void load_role(machine_t *self, const char *role, const double *from)
{
    for (size_t i = 0; i < self->cell.n; i++) {
        cell_t *c = &self->cell.at[i];
        if (strcmp(c->role, role) != 0) continue;
        ir_type_t type = c->value.type;
        tensor_fini(&c->value);
        c->value = tensor_new(&type);
        for (int64_t k = 0; k < ir_type_count(&type); k++) tensor_set_f64(&c->value, k, *from++);
    }
}

typedef struct {
    int workers, steps; /* inner steps of a round */
    double inner_lr, lr, momentum;
    int64_t vocab;
    size_t n_param, n_state;
    double *master, *velocity, *mean, *end; /* n_param each */
    double *state;                          /* workers * n_state */
} diloco_t;

static int diloco_worker(machine_t *self, diloco_t *d, int round, int w, const json_t *losses,
                         report_t *report, err_t *err)
{
    load_role(self, "param", d->master);
    load_role(self, "state", d->state + (size_t)w * d->n_state);
    for (int i = 0; i < d->steps; i++) {
        double want = json_number_value(json_array_get(losses, (size_t)(w * d->steps + i)));
        int batch = 100 * (round + 1) + 10 * (w + 1) + i + 1, step = round * d->steps + i + 1;
        if (train_step(self, d->vocab, d->inner_lr, step, batch, want, report, err) < 0) return -1;
    }
    save_role(self, "state", d->state + (size_t)w * d->n_state);
    save_role(self, "param", d->end);
    for (size_t k = 0; k < d->n_param; k++) d->mean[k] += (d->master[k] - d->end[k]) / d->workers;
    return 0;
}

static int diloco_round(machine_t *self, diloco_t *d, int round, const json_t *golden,
                        report_t *report, err_t *err)
{
    memset(d->mean, 0, d->n_param * sizeof *d->mean);
    const json_t *losses = json_object_get(golden, "losses");
    for (int w = 0; w < d->workers; w++)
        if (diloco_worker(self, d, round, w, losses, report, err) < 0) return -1;
    for (size_t k = 0; k < d->n_param; k++) {
        d->velocity[k] = d->momentum * d->velocity[k] + d->mean[k];
        d->master[k] -= d->lr * (d->mean[k] + d->momentum * d->velocity[k]);
    }
    load_role(self, "param", d->master);
    return check_params(self, json_object_get(golden, "master"), report, err);
}

static int check_diloco(machine_t *self, const json_t *entry, int64_t vocab, double lr, err_t *err)
{
    double start = clock_mono_s();
    const json_t *golden = json_object_get(entry, "diloco");
    const json_t *rounds = json_object_get(golden, "rounds");
    diloco_t d = {.inner_lr = lr, .vocab = vocab, .lr = number(golden, "outer_lr")};
    d.momentum = number(golden, "outer_momentum");
    d.workers = (int)json_integer_value(json_object_get(golden, "workers"));
    d.steps = (int)json_integer_value(json_object_get(golden, "tau"));
    if (d.workers < 1 || d.workers > 64 || d.steps < 1)
        return err_set(err, ERR_PARSE, "diloco: workers %d, tau %d", d.workers, d.steps), FAILED;
    d.n_param = role_size(self, "param");
    d.n_state = role_size(self, "state");
    double *block = mem_calloc(4 * d.n_param + (size_t)d.workers * d.n_state, sizeof *block);
    d.master = block;
    d.velocity = d.master + d.n_param;
    d.mean = d.velocity + d.n_param;
    d.end = d.mean + d.n_param;
    d.state = d.end + d.n_param;
    fill_params(self);
    save_role(self, "param", d.master);
    report_t report = {0};
    int status = 0, n = (int)json_array_size(rounds);
    for (int r = 0; r < n && status == 0; r++)
        status = diloco_round(self, &d, r, json_array_get(rounds, (size_t)r), &report, err);
    free(block);
    if (status < 0) return FAILED;
    char label[160];
    snprintf(label, sizeof label, "%s DiLoCo %d workers x %d steps x %d rounds",
             json_string_value(json_object_get(entry, "file")), d.workers, d.steps, n);
    return finish(&report, label, clock_mono_s() - start);
}

/* --- entries --- */

static int worse(int a, int b)
{
    return a > b ? a : b;
}

static int check_training(const options_t *o, const json_t *entry, err_t *err)
{
    const json_t *conf = json_object_get(entry, "adamw_conf");
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.beta1 = number(conf, "b1");
    spec.beta2 = number(conf, "b2");
    spec.eps = number(conf, "eps");
    spec.weight_decay = number(conf, "wd");
    spec.clip = number(conf, "clip_global_norm");
    machine_t machine;
    int result = FAILED;
    if (machine_init(&machine, o, &spec, err) == 0) {
        /* Traces name no vocabulary: argument 0 is the embedding. */
        int64_t vocab = json_integer_value(json_object_get(entry, "vocab"));
        if (vocab < 1) vocab = machine.arg[0].type.rank ? machine.arg[0].type.dim[0] : 1;
        result = check_adamw(&machine, entry, vocab, number(conf, "lr"), err);
        if (result != FAILED && json_object_get(entry, "diloco"))
            result = worse(result, check_diloco(&machine, entry, vocab, number(conf, "lr"), err));
    }
    machine_fini(&machine);
    return result;
}

static int check_entries(const options_t *o, const json_t *entries, err_t *err)
{
    const char *slash = strrchr(o->model, '/'), *base = slash ? slash + 1 : o->model;
    machine_t machine = {0};
    int result = MATCH, n = 0;
    for (size_t i = 0; i < json_array_size(entries) && result != FAILED; i++) {
        const json_t *entry = json_array_get(entries, i);
        const char *file = json_string_value(json_object_get(entry, "file"));
        if (!file || strcmp(file, base) != 0) continue;
        if (o->training) {
            result = worse(result, check_training(o, entry, err));
        } else if (n == 0 && machine_init(&machine, o, NULL, err) < 0) {
            result = FAILED;
        } else {
            result = worse(result, check_gradients(&machine, entry, err));
        }
        n++;
    }
    machine_fini(&machine);
    if (n == 0) return err_set(err, ERR_ARG, "%s has no entry for %s", o->golden, base), FAILED;
    return result;
}

static int parse_options(int argc, char **argv, options_t *o, err_t *err)
{
    const char *backend = "interp";
    *o = (options_t){0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--training") == 0) {
            o->training = true;
        } else if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc) {
            backend = argv[++i];
        } else if (argv[i][0] == '-') {
            return err_set(err, ERR_ARG, "unknown or unfinished option %s", argv[i]);
        } else if (!o->model) {
            o->model = argv[i];
        } else if (!o->golden) {
            o->golden = argv[i];
        } else {
            return err_set(err, ERR_ARG, "one argument too many: %s", argv[i]);
        }
    }
    if (!o->golden) return err_set(err, ERR_ARG, "MODEL.mlir and GOLDEN.json are needed");
    o->compiled = strcmp(backend, "cpu") == 0;
    if (!o->compiled && strcmp(backend, "interp") != 0)
        return err_set(err, ERR_ARG, "no backend is called %s; there are: interp, cpu", backend);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(USAGE, stdout);
        return MATCH;
    }
    err_t err = {0};
    options_t options;
    if (parse_options(argc, argv, &options, &err) < 0) {
        fprintf(stderr, "golden-check: %s\n%s", err.text, USAGE);
        return FAILED;
    }
    json_error_t why;
    json_t *root = json_load_file(options.golden, 0, &why);
    if (!root) {
        fprintf(stderr, "golden-check: %s:%d: %s\n", options.golden, why.line, why.text);
        return FAILED;
    }
    const json_t *models = json_object_get(root, "models");
    int result = check_entries(&options, models ? models : root, &err);
    json_decref(root);
    if (result == FAILED) fprintf(stderr, "golden-check: %s: %s\n", options.model, err.text);
    return result;
}
