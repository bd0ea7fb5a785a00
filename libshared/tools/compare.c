/* Sides in lockstep: after each step every side's parameters are read, once. */
#include "tools/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ir/tensor.h"

/* What is kept of a side between steps. */
typedef struct {
    int *tensor;   /* [n_param] in the side's plan, in the order of the first side's */
    double *theta; /* all parameters as they are now, one after another */
} held_t;

typedef struct {
    trial_t *trial;
    int n, n_param;
    int64_t *count; /* [n_param] elements */
    int64_t most;   /* of them */
    int64_t all;    /* together */
    held_t *held;   /* [n] */
    void *bytes;    /* room for the largest parameter */
} compare_t;

double compare_relative(double x, double reference)
{
    if (!isfinite(x) || !isfinite(reference)) return INFINITY;
    if (x == reference) return 0;
    return reference == 0 ? INFINITY : fabs(x - reference) / fabs(reference);
}

/* --- Parameters ------------------------------------------------------------------------------- */

static int list_params(compare_t *self, err_t *err)
{
    const plan_t *first = self->trial[0].plan;
    self->count = mem_calloc((size_t)first->n_tensor + 1, sizeof *self->count);
    for (int s = 0; s < self->n; s++)
        self->held[s].tensor = mem_calloc((size_t)first->n_tensor + 1, sizeof(int));
    for (int i = 0; i < first->n_tensor; i++) {
        const plan_tensor_t *t = &first->tensor[i];
        if (t->role != ROLE_PARAM) continue;
        for (int s = 0; s < self->n; s++) {
            const plan_t *plan = self->trial[s].plan;
            int at = plan_find_tensor(plan, ROLE_PARAM, t->name);
            if (at < 0 || plan->tensor[at].n_bytes != t->n_bytes)
                return err_set(err, ERR_SHAPE, "%s and %s: parameter %s is not the same",
                               first->target, plan->target, t->name);
            self->held[s].tensor[self->n_param] = at;
        }
        int64_t n = ir_type_count(&t->type);
        self->count[self->n_param++] = n;
        self->all += n;
        if (n > self->most) self->most = n;
    }
    return 0;
}

typedef struct {
    double change, apart, whole; /* sums of squares */
    double worst;                /* drift of one parameter */
    int worst_param;
} sums_t;

/* The side's parameters as they are now, beside those it had and those of the first side. */
static int read_params(compare_t *self, int s, sums_t *sums, err_t *err)
{
    const trial_t *trial = &self->trial[s];
    double *theta = self->held[s].theta;
    const double *first = self->held[0].theta;
    *sums = (sums_t){.worst = -1};
    for (int p = 0; p < self->n_param; p++) {
        int at = self->held[s].tensor[p];
        const plan_tensor_t *t = &trial->plan->tensor[at];
        if (exec_read(trial->exec, at, self->bytes, (size_t)t->n_bytes, err) < 0) return -1;
        const tensor_t read = {.type = t->type, .data = self->bytes};
        double apart = 0, whole = 0;
        for (int64_t i = 0; i < self->count[p]; i++) {
            double now = tensor_get_f64(&read, i), step = now - theta[i];
            theta[i] = now;
            sums->change += step * step;
            apart += (now - first[i]) * (now - first[i]);
            whole += first[i] * first[i];
        }
        sums->apart += apart;
        sums->whole += whole;
        double drift = apart == 0 ? 0 : sqrt(apart / whole);
        if (!(drift <= sums->worst)) {
            sums->worst = drift;
            sums->worst_param = p;
        }
        theta += self->count[p];
        first += self->count[p];
    }
    return 0;
}

static int prepare(compare_t *self, const compare_options_t *o, compare_side_t *side, err_t *err)
{
    sums_t sums;
    self->held = mem_calloc((size_t)self->n, sizeof *self->held);
    if (list_params(self, err) < 0) return -1;
    self->bytes = mem_calloc((size_t)self->most + 1, sizeof(double));
    for (int s = 0; s < self->n; s++) {
        self->held[s].theta = mem_calloc((size_t)self->all + 1, sizeof(double));
        side[s].step = mem_calloc((size_t)o->n_step, sizeof *side[s].step);
        if (read_params(self, s, &sums, err) < 0) return -1;
        if (sums.apart > 0)
            return err_set(err, ERR_STATE, "%s and %s do not begin with the same parameters",
                           self->trial[0].plan->target, self->trial[s].plan->target);
    }
    return 0;
}

/* --- Steps ------------------------------------------------------------------------------------ */

static int step_side(compare_t *self, int s, const compare_options_t *o, int64_t k,
                     const void *const *batch, compare_side_t *side, err_t *err)
{
    trial_t *trial = &self->trial[s];
    compare_step_t *step = &side[s].step[k];
    float loss = 0;
    sums_t sums;
    double start = clock_mono_s();
    if (exec_train_step(trial->exec, batch, o->lr, ++trial->step, &loss, err) < 0)
        return err_prefix(err, "%s: ", trial->plan->target);
    step->seconds = clock_mono_s() - start;
    if (read_params(self, s, &sums, err) < 0) return err_prefix(err, "%s: ", trial->plan->target);
    step->loss = loss;
    step->update = sqrt(sums.change);
    step->deviation = compare_relative(loss, side[0].step[k].loss);
    step->drift = s == 0 || sums.apart == 0 ? 0 : sqrt(sums.apart / sums.whole);
    if (!isfinite(step->drift)) step->drift = INFINITY;
    if (k + 1 < o->n_step) return 0;
    const char *name = trial->plan->tensor[self->held[s].tensor[sums.worst_param]].name;
    side[s].apart = mem_strdup(self->n_param > 0 ? name : "");
    side[s].apart_drift = sums.worst > 0 ? sums.worst : 0;
    return 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return n % 2 || isinf(x[n / 2]) ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static void sum_up(compare_side_t *side, int64_t n)
{
    double *all = mem_calloc((size_t)n, sizeof *all);
    side->largest = -1;
    for (int64_t k = 0; k < n; k++) {
        all[k] = side->step[k].deviation;
        if (!(all[k] > side->largest)) continue;
        side->largest = all[k];
        side->largest_step = k;
    }
    side->median = median(all, n);
    for (int64_t k = 0; k < n; k++) all[k] = side->step[k].seconds;
    side->seconds = median(all, n);
    side->drift = side->step[n - 1].drift;
    free(all);
}

int compare_run(trial_t *trial, int n, const compare_options_t *options, compare_side_t *side,
                err_t *err)
{
    compare_t self = {.trial = trial, .n = n};
    memset(side, 0, (size_t)n * sizeof *side);
    int status = prepare(&self, options, side, err);
    for (int64_t k = 0; status == 0 && k < options->n_step; k++) {
        const void *const *batch = options->batch(options->user, k, err);
        if (!batch) status = -1;
        for (int s = 0; status == 0 && s < n; s++)
            status = step_side(&self, s, options, k, batch, side, err);
        if (status == 0 && options->stepped) options->stepped(options->user, k + 1);
    }
    for (int s = 0; status == 0 && s < n; s++) sum_up(&side[s], options->n_step);
    for (int s = 0; self.held && s < n; s++) {
        free(self.held[s].tensor);
        free(self.held[s].theta);
    }
    free(self.held);
    free(self.count);
    free(self.bytes);
    return status;
}

void compare_fini(compare_side_t *side, int n)
{
    for (int s = 0; s < n; s++) {
        free(side[s].step);
        free(side[s].apart);
        side[s] = (compare_side_t){0};
    }
}
