/* The end of an actor. What a zactor's pipe still holds when it is destroyed is dropped unseen:
 * answers are read up to the last one first. */
#include "shepherd/actor.h"

#include "base/hand_over.h"

void actor_last(zsock_t *pipe)
{
    zsock_send(pipe, "p", NULL);
}

void *actor_take(zactor_t *self)
{
    void *answer = NULL;
    zsock_recv(self, "p", &answer);
    return answer ? take_over(answer) : NULL;
}

void actor_end(zactor_t **self_p, void (*drop)(void *answer))
{
    if (!*self_p) return;
    zstr_send(*self_p, "$TERM");
    for (void *answer; (answer = actor_take(*self_p));) drop(answer);
    zactor_destroy(self_p);
}
