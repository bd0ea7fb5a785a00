/* Does a plan keep what it still reads? A proof by intervals of bytes over the final steps, apart
 * from how storage was given out: what a step reads is what the step that made it left there. */
#ifndef PLAN_CHECK_LIFETIMES_H
#define PLAN_CHECK_LIFETIMES_H

#include "plan/memory/build_in.h"

/* Every program of the builder, whose arena is assigned (arena_assign) and whose steps change no
 * more:
 * - each byte that a step reads of a value was written for that value, and for no other one since;
 * - at the end each result lies in its tensor, and the other tensors and constants that the program
 *   has are as they were: what a loop carries, captures and reads again stays;
 * - a step writes over what it reads only where it does so element by element, at one place;
 * - steps that run in one go (plan/schedule/sweep.h) do not write what others of them touch, but by strips.
 * `fixed`: bytes that tensors and constants take. -1 with ERR_CORRUPT naming program, step, and who
 * has the bytes: a defect of the compiler. n log n in the steps and their operands. */
int check_lifetimes(const plan_build_t *self, uint64_t fixed, err_t *err);

#endif
