/* AdamW steps and DiLoCo rounds against golden traces. */
#include "base/clock.h"
#include "base/mem.h"
#include "golden.h"

/* Allowed: 1e-4 relative; single elements relative to at least the parameter's root mean square. */
static int check_params(machine_t *self, const json_t *golden, report_t *report, err_t *err)
{
    for (size_t k = 0; k < json_array_size(golden); k++) {
        const json_t *row = json_array_get(golden, k);
        int arg = (int)json_integer_value(json_object_get(row, "arg"));
        if (machine_need_param(self, arg, err) < 0) return -1;
        const tensor_t *p = machine_argument(self, arg);
        int64_t n = ir_type_count(&p->type);
        double l2 = json_double(row, "l2"), rms = l2 / sqrt((double)n);
        double first = json_double(row, "first"), last = json_double(row, "last");
        report_note(report, summary_of(p).l2, l2, 1e-4 * l2, "l2", arg);
        report_note(report, tensor_get_f64(p, 0), first, 1e-4 * fmax(rms, fabs(first)), "first",
                    arg);
        report_note(report, tensor_get_f64(p, n - 1), last, 1e-4 * fmax(rms, fabs(last)), "last",
                    arg);
    }
    return 0;
}

/* One step on batch number b; the loss is noted against golden loss `want`. */
static int train_step(machine_t *self, int64_t vocab, double lr, int step, int b, double want,
                      report_t *report, err_t *err)
{
    machine_fill_batch(self, vocab, b, NULL);
    tensor_set_f64(machine_find(self, "scalar", "lr"), 0, lr);
    tensor_set_i64(machine_find(self, "scalar", "step"), 0, step);
    if (machine_run(self, "train", err) < 0) return -1;
    report_note(report, tensor_get_f64(machine_find(self, "result", "loss"), 0), want,
                1e-4 * fabs(want), "a loss", -1);
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
    machine_fill_params(self);
    zero_state(self);
    for (size_t s = 0; s < json_array_size(losses); s++) {
        double want = json_number_value(json_array_get(losses, s));
        if (train_step(self, vocab, lr, (int)s + 1, (int)s, want, &report, err) < 0) return FAILED;
    }
    if (check_params(self, json_object_get(golden, "params"), &report, err) < 0) return FAILED;
    char label[160];
    snprintf(label, sizeof label, "%s %zu AdamW steps, last loss %.9g",
             json_string_value(json_object_get(entry, "file")), json_array_size(losses),
             tensor_get_f64(machine_find(self, "result", "loss"), 0));
    return report_end(&report, label, clock_mono_s() - start);
}

/* --- DiLoCo: K workers from one master, their inner state kept across rounds; d = mean of start -
 * end; v = mu v + d; p = p - lr (d + mu v) --- */

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
    diloco_t d = {.inner_lr = lr, .vocab = vocab, .lr = json_double(golden, "outer_lr")};
    d.momentum = json_double(golden, "outer_momentum");
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
    machine_fill_params(self);
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
    return report_end(&report, label, clock_mono_s() - start);
}

int check_training(const options_t *o, const json_t *entry, err_t *err)
{
    const json_t *conf = json_object_get(entry, "adamw_conf");
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.beta1 = json_double(conf, "b1");
    spec.beta2 = json_double(conf, "b2");
    spec.eps = json_double(conf, "eps");
    spec.weight_decay = json_double(conf, "wd");
    spec.clip = json_double(conf, "clip_global_norm");
    machine_t machine;
    int result = FAILED;
    if (machine_init(&machine, o, &spec, err) == 0) {
        /* Traces name no vocabulary: argument 0 is the embedding. */
        int64_t vocab = json_integer_value(json_object_get(entry, "vocab"));
        if (vocab < 1) vocab = machine.arg[0].type.rank ? machine.arg[0].type.dim[0] : 1;
        result = check_adamw(&machine, entry, vocab, json_double(conf, "lr"), err);
        if (result != FAILED && json_object_get(entry, "diloco")) {
            int outer = check_diloco(&machine, entry, vocab, json_double(conf, "lr"), err);
            result = outer > result ? outer : result;
        }
    }
    machine_fini(&machine);
    return result;
}
