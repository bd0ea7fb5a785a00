/* The last stage of a build: offsets for all that a plan holds. */
#ifndef PLAN_ARENA_H
#define PLAN_ARENA_H

#include "plan/memory/build_in.h"

/* Offsets, in bytes, of tensors, then constants (*fixed is where these end), then temporaries: of
 * the programs, of the loops in them, ... Programs run one after another, so that they share the
 * memory of temporaries, and a large result that one of them alone has lies where others work. May
 * be called again. Returns the bytes of the arena. */
uint64_t arena_assign(plan_build_t *self, uint64_t *fixed);

/* Repeat steps (remat.c) until the arena fits into self->budget, which is not 0. ERR_MEMORY tells
 * the smallest budget there is. */
int arena_fit(plan_build_t *self, err_t *err);

#endif
