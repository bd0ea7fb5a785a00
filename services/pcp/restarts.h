/* Services of `pcp train` that are killed are started again: a few times, with back-off. */
#ifndef PCP_RESTARTS_H
#define PCP_RESTARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

typedef struct {
    char name[32];
    int n;                    /* times in a row */
    int64_t ended_ms, due_ms; /* due_ms 0: it runs */
} restart_t;

typedef struct {
    VEC(restart_t) rows;
} restarts_t;

/* A child was killed. False: it has been started again too often. */
bool restarts_plan(restarts_t *self, const char *name, int64_t now_ms);
/* The next child whose time has come; NULL: none. Borrowed until the next call. */
const char *restarts_due(restarts_t *self, int64_t now_ms);
void restarts_fini(restarts_t *self);

#endif
