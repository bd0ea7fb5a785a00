/* The table of plans: one for each target that workers have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shepherd/round/plans.h"

enum { MOST_TARGETS = 64 };

plan_row_t *plans_find(const plans_t *self, const char *target)
{
    for (size_t i = 0; i < self->rows.n; i++)
        if (strcmp(self->rows.at[i].target, target) == 0) return &self->rows.at[i];
    return NULL;
}

const char *plans_refusal(const plans_t *self, const char *target)
{
    const plan_row_t *row = plans_find(self, target);
    if (!row && self->rows.n >= MOST_TARGETS) return "there are workers of too many targets";
    return row && row->state == PLAN_FAILED ? row->why : NULL;
}

void plans_retry(plans_t *self)
{
    for (size_t i = 0; i < self->rows.n; i++) {
        plan_row_t *row = &self->rows.at[i];
        if (row->state != PLAN_FAILED) continue;
        row->state = PLAN_WANTED;
        row->attempts = 0;
    }
}

void plans_missing(const plans_t *self, str_t *text)
{
    for (size_t i = 0; i < self->rows.n; i++)
        if (self->rows.at[i].state == PLAN_FAILED || self->rows.at[i].rest_ms)
            str_addf(text, "%s%s", text->n ? "; " : "", self->rows.at[i].why);
}

void plans_fini(plans_t *self)
{
    for (size_t i = 0; i < self->rows.n; i++) {
        free(self->rows.at[i].target);
        free(self->rows.at[i].why);
        free(self->rows.at[i].seal);
    }
    VEC_FREE(&self->rows);
}

void plans_want(plans_t *self, const char *target)
{
    if (plans_find(self, target)) return;
    plan_row_t row = {.target = mem_strdup(target), .state = PLAN_WANTED};
    VEC_PUSH(&self->rows, row);
}

void plans_forget(plans_t *self)
{
    for (size_t i = 0; i < self->rows.n; i++)
        if (self->rows.at[i].state == PLAN_READY) self->rows.at[i].state = PLAN_WANTED;
}

void plans_moved(plans_t *self, uint64_t places)
{
    for (size_t i = 0; i < self->rows.n; i++)
        self->rows.at[i].moved = self->rows.at[i].places != places;
}

const char *plans_ready(const plans_t *self, const char *target)
{
    const plan_row_t *row = plans_find(self, target);
    return row && row->state == PLAN_READY ? row->hash : NULL;
}

const char *plans_seal(const plans_t *self, const char *target)
{
    const plan_row_t *row = plans_find(self, target);
    return row && row->seal ? row->seal : "";
}

bool plans_asked(const plans_t *self, uint32_t serial)
{
    for (size_t i = 0; i < self->rows.n; i++)
        if (self->rows.at[i].state == PLAN_ASKED && self->rows.at[i].compiler == serial)
            return true;
    return false;
}

void plans_lost(plans_t *self, uint32_t serial)
{
    for (size_t i = 0; i < self->rows.n; i++) {
        plan_row_t *row = &self->rows.at[i];
        if (row->state != PLAN_ASKED || row->compiler != serial) continue;
        row->state = PLAN_WANTED;
        row->attempts--; /* the compiler is not to blame */
    }
}

size_t plans_workers(const plans_t *self, const roster_t *roster)
{
    size_t n = 0;
    for (size_t i = 0; i < roster->kins.n; i++)
        if (plans_ready(self, roster->kins.at[i].name)) n += roster->kins.at[i].n_able;
    return n;
}
