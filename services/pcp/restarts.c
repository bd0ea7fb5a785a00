/* Who was killed how often, and when it starts again. */
#include "pcp/restarts.h"

#include <stdio.h>
#include <string.h>

/* The first restart after 50 ms, doubling; a quiet minute forgives. */
enum { MOST = 6, FIRST_MS = 50, QUIET_MS = 60000 };

static restart_t *row_of(restarts_t *self, const char *name)
{
    for (size_t i = 0; i < self->rows.n; i++)
        if (strcmp(self->rows.at[i].name, name) == 0) return &self->rows.at[i];
    restart_t row = {0};
    snprintf(row.name, sizeof row.name, "%s", name);
    VEC_PUSH(&self->rows, row);
    return &self->rows.at[self->rows.n - 1];
}

bool restarts_plan(restarts_t *self, const char *name, int64_t now_ms)
{
    restart_t *row = row_of(self, name);
    if (now_ms - row->ended_ms > QUIET_MS) row->n = 0;
    if (row->n == MOST) return false;
    row->ended_ms = now_ms;
    row->due_ms = now_ms + ((int64_t)FIRST_MS << row->n);
    row->n++;
    return true;
}

const char *restarts_due(restarts_t *self, int64_t now_ms)
{
    for (size_t i = 0; i < self->rows.n; i++) {
        restart_t *row = &self->rows.at[i];
        if (!row->due_ms || now_ms < row->due_ms) continue;
        row->due_ms = 0;
        return row->name;
    }
    return NULL;
}

void restarts_fini(restarts_t *self)
{
    VEC_FREE(&self->rows);
}
