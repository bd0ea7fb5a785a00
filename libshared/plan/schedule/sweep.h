/* Sweeps: steps of a program that run in one go, so that no thread waits for others between them
 * and what a step wrote is still in the cache of the core that reads it next.
 *
 * - In *strips*: every step's work divides into so many equal parts, and part i reads and writes of
 *   what the sweep writes only the i-th part (plan/schedule/strips.h). A thread takes a strip (the rows of a
 *   few sequences) through all steps.
 * - *Apart*: no step touches what another one writes. */
#ifndef PLAN_SWEEP_H
#define PLAN_SWEEP_H

#include "plan/lower/lower.h"

/* Put the steps in an order in which many of them form sweeps, without keeping much more in memory
 * than before: sets lstep_t.sweep and .strips. Sums for other steps (weight gradients) come after
 * the strips that they need. Once per program, before memory is assigned. */
void sweep_form(lower_t *self, caps_t caps);

/* First and last step of the sweep that step i is in; i itself when in none. */
int sweep_first(const lower_t *self, int i);
int sweep_last(const lower_t *self, int i);

#endif
