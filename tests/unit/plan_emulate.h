/* Plans for another architecture, run by an emulator (qemu-user): the plan's code and a small
 * driver, cross-compiled, take the arena and the steps from files. One thread, every step in turn.
 */
#ifndef PLAN_EMULATE_H
#define PLAN_EMULATE_H

#include "plan/format/plan.h"

typedef struct emulated emulated_t;

/* NULL: the tools are not there (aarch64-linux-gnu-gcc, qemu-aarch64), or for another target. Fails
 * the running test when they are and do not work. The plan is borrowed. */
emulated_t *emulated_new(const plan_t *plan);
void emulated_destroy(emulated_t **self_p);

/* A tensor's bytes in the arena. */
char *emulated_tensor(emulated_t *self, int tensor);
void emulated_run(emulated_t *self, const char *program); /* fails the running test */

#endif
