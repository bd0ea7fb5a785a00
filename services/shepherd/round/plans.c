/* The table of plans: one for each target that workers have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shepherd/round/plans.h"

enum { MOST_TARGETS = 64, MOST_OF_KEY = 16 };

plan_row_t *plans_find(const plans_t *self, const char *target)
{
    for (size_t i = 0; i < self->rows.n; i++)
        if (strcmp(self->rows.at[i].target, target) == 0) return &self->rows.at[i];
    return NULL;
}

static size_t count_of_key(const plans_t *self, const char *key)
{
    size_t n = 0;
    for (size_t i = 0; i < self->rows.n; i++)
        n += self->rows.at[i].key && strcmp(self->rows.at[i].key, key) == 0;
    return n;
}

/* A target that there is no plan for, and that no worker has who may work; self->rows.n: there is none. */
static size_t forgettable(const plans_t *self, const roster_t *roster)
{
    size_t at = 0;
    for (; at < self->rows.n; at++) {
        uint32_t n_able = 0;
        for (size_t i = 0; i < roster->kins.n; i++)
            if (strcmp(roster->kins.at[i].name, self->rows.at[at].target) == 0)
                n_able = roster->kins.at[i].n_able;
        if (self->rows.at[at].state == PLAN_FAILED && n_able == 0) break;
    }
    return at;
}

const char *plans_refusal(const plans_t *self, const roster_t *roster, const char *target,
                          const char *key)
{
    const plan_row_t *row = plans_find(self, target);
    if (!row && self->rows.n >= MOST_TARGETS && forgettable(self, roster) == self->rows.n)
        return "there are workers of too many targets";
    if (!row && key && count_of_key(self, key) >= MOST_OF_KEY)
        return "workers of its key have too many targets (16 at most): give those of other kinds a "
               "key of their own";
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

static void row_fini(plan_row_t *row)
{
    free(row->target);
    free(row->key);
    free(row->why);
    free(row->seal);
}

void plans_fini(plans_t *self)
{
    for (size_t i = 0; i < self->rows.n; i++) row_fini(&self->rows.at[i]);
    VEC_FREE(&self->rows);
}

void plans_want(plans_t *self, const roster_t *roster, const char *target, const char *key)
{
    if (plans_find(self, target)) return;
    plan_row_t row = {
        .target = mem_strdup(target), .key = key ? mem_strdup(key) : NULL, .state = PLAN_WANTED};
    size_t old = self->rows.n >= MOST_TARGETS ? forgettable(self, roster) : self->rows.n;
    if (old < self->rows.n) {
        row_fini(&self->rows.at[old]);
        self->rows.at[old] = row;
    } else {
        VEC_PUSH(&self->rows, row);
    }
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
