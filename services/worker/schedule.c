/* Learning-rate schedules as pure functions of the step, so that no recompilation is needed. */
#include "worker/schedule.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "options/train.h"

static double cosine(const Msg__Schedule *self, double t, double w, double total)
{
    double r = total > w ? (t - w) / (total - w) : 1;
    if (r > 1) r = 1;
    return self->min_lr + (self->lr - self->min_lr) * (1 + cos(acos(-1) * r)) / 2;
}

static double wsd(const Msg__Schedule *self, double t, double w, double total)
{
    (void)w;
    double n = self->decay_fraction * total, begin = total - n;
    if (t < begin || n <= 0) return self->lr;
    double x = (t - begin) / n;
    return self->min_lr + (self->lr - self->min_lr) * (1 - sqrt(x > 1 ? 1 : x));
}

static double constant(const Msg__Schedule *self, double t, double w, double total)
{
    (void)t, (void)w, (void)total;
    return self->lr;
}

#define KIND(word) {#word, word},
static const struct {
    const char *kind;
    double (*lr)(const Msg__Schedule *self, double t, double w, double total);
} kinds[] = {SCHEDULES(KIND)};
enum { N_KIND = sizeof kinds / sizeof *kinds };

static int find(const char *kind)
{
    for (int i = 0; i < N_KIND; i++)
        if (strcmp(kinds[i].kind, kind) == 0) return i;
    return -1;
}

int schedule_check(const Msg__Schedule *self, err_t *err)
{
    if (find(self->kind) < 0)
        return err_set(err, ERR_ARG, "schedule \"%.32s\" is none of %s", self->kind,
                       OPTION_WORDS(SCHEDULES));
    bool good = isfinite(self->lr) && self->lr >= 0 && isfinite(self->min_lr) &&
                self->min_lr >= 0 && self->decay_fraction >= 0 && self->decay_fraction <= 1;
    if (!good)
        return err_set(err, ERR_ARG, "schedule: lr %g, min_lr %g, decay %g", self->lr, self->min_lr,
                       self->decay_fraction);
    return 0;
}

double schedule_lr(const Msg__Schedule *self, uint64_t t)
{
    if (t < self->warmup) return self->lr * (double)(t + 1) / (double)(self->warmup + 1);
    return kinds[find(self->kind)].lr(self, (double)t, (double)self->warmup,
                                      (double)self->total_steps);
}
