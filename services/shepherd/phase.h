/* The phases of a run, and the one function that changes them.
 *
 *   STANDBY -> GATHER -> PUBLISH -> COMPILE -> ASSIGN -> INIT -> TRAIN -> SAVE -> DONE
 *   leader?   aggregators objects  first plan ranges   values   rounds  checkpoint
 *
 *   a round: OPEN (the store writes its leases) -> TRAIN -> DECIDE (the store writes what counts)
 *            -> COMMIT (the outer step) -> OPEN of the next
 *
 * docs/recovery.md has the whole table; tests/unit/shepherd_phase_test.c compares. */
#ifndef SHEPHERD_PHASE_H
#define SHEPHERD_PHASE_H

#include <stdbool.h>

typedef enum {
    PHASE_STANDBY,
    PHASE_GATHER,
    PHASE_PUBLISH,
    PHASE_COMPILE,
    PHASE_ASSIGN,
    PHASE_INIT,
    PHASE_OPEN,
    PHASE_TRAIN,
    PHASE_DECIDE,
    PHASE_COMMIT,
    PHASE_SAVE,
    PHASE_DONE,
    PHASE_COUNT,
} phase_t;

const char *phase_name(phase_t phase); /* "standby", "gather", ... */

/* Why a run goes from one phase to the other; NULL: it never does. */
const char *phase_reason(phase_t from, phase_t to);

/* Go there. Asserts that the table has it: another change is a bug of ours. */
void phase_change(phase_t *self, phase_t to);

#endif
