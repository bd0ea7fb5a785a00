/* The end of an actor. What a zactor's pipe still holds when it is destroyed is dropped unseen:
 * answers are read up to the last one first. */
#include "shepherd/actor.h"

#include "base/hand_over.h"

void actor_last(zsock_t *pipe)
{
    zsock_send(pipe, "p", NULL);
}

void actor_end(zactor_t **self_p, void (*drop)(void *answer))
{
    if (!*self_p) return;
    zstr_send(*self_p, "$TERM");
    void *answer = NULL;
    while (zsock_recv(*self_p, "p", &answer) == 0 && answer) drop(take_over(answer));
    zactor_destroy(self_p);
}
