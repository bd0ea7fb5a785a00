/* Copies of inner states that their workers keep (keep_state local): asked for at a round's boundary, made by the
 * workers behind all else they send (worker/copying.h), while the next rounds train. Then the boundary is one that a run
 * can go back to, or that any worker can go on from, without the worker that made the state. */
#ifndef SHEPHERD_COPIES_H
#define SHEPHERD_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "msg/envelope.h"

typedef struct shepherd shepherd_t;

typedef struct {
    char state[HASH_HEX], worker[MSG_ID_BYTES]; /* who has it */
    int64_t asked_ms;
    int missed; /* how often it was not here when it was to be asked */
    bool done;
} copy_t;

typedef struct {
    VEC(copy_t) list; /* of the boundary in `round` */
    size_t n_left;    /* not done */
    uint32_t round;
    int64_t begun_ms;
    uint32_t last;  /* boundary whose states have all been copied; 0: none yet */
    bool failed;    /* one of the list cannot be copied */
    uint32_t every; /* rounds between two such boundaries (round/keeping.c); 1: each one */
} copies_t;

void copies_fini(copies_t *self);
/* Ask for those of the boundary before the open round; what is left of an older one is not waited for any more. */
void copies_begin(shepherd_t *self);
void copies_drop(copies_t *self);
/* Now and then: again, where the answer is long in coming. true: nothing is waited for any more. */
bool copies_tick(shepherd_t *self);
bool copies_awaits(const copies_t *self, const char *state);
/* COPIED of that worker; what it was not asked for is of no account. true: the same */
bool copies_heard(shepherd_t *self, const char *worker, const Msg__Copied *copied);

#endif
