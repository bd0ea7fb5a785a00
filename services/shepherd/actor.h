/* Actors that answer in pointers: how one ends without losing what it has said. */
#ifndef SHEPHERD_ACTOR_H
#define SHEPHERD_ACTOR_H

#include <czmq.h>

/* Actor: its last words on the pipe. */
void actor_last(zsock_t *pipe);

/* Owner: the next answer; NULL: that was the last. */
void *actor_take(zactor_t *self);

/* Owner: have it end, destroy every answer that nobody took, and the actor. NULL: nothing. */
void actor_end(zactor_t **self_p, void (*drop)(void *answer));

#endif
