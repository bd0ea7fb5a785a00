/* Memory that outgoing messages borrow: unmapped when the last holder lets go, from any thread. A
 * reader that takes too long loses what it reads (shared_take_away): its answers end in zeros, fail
 * their checks, and are asked for again. */
#ifndef AGGREGATOR_SHARED_H
#define AGGREGATOR_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "outer/outer.h"

typedef struct {
    atomic_int holders;
    file_map_t map;             /* an object's file, or a slot of the state directory */
    uint32_t round;             /* slots: the round that these parameters enter */
    float *values;              /* slots: the range's parameters, in the mapping */
    float *outer[OUTER_STATES]; /* slots: and the outer rule's state behind them; NULL: no such */
    uint8_t
        *change; /* slots: behind them, how the round before changed the parameters; NULL: none */
    bool in_memory;   /* slots: there was no room on the disk */
    uint64_t *checks; /* slots: wire checks of chunks sent before, values first; 0: not yet */
} shared_t;

/* Takes the mapping. One holder: the caller. */
shared_t *shared_file(file_map_t map);

shared_t *shared_hold(shared_t *self); /* returns self */
void shared_drop(shared_t **self_p);   /* thread-safe; NULL is fine */

/* The caller is its only holder: nobody reads it any more. */
bool shared_alone(shared_t *self);

/* Give the file or memory behind the mapping back to the system, though it is held: from now on its
 * readers find zeros, which cost no memory. The caller must not read it afterwards, and drops it.
 * -1: the system refuses (too many mappings). */
int shared_take_away(shared_t *self);

#endif
