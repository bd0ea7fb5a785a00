/* What the leases of a round spent on computing, on their links and on waiting. */
#ifndef SHEPHERD_LINKS_H
#define SHEPHERD_LINKS_H

typedef struct shepherd shepherd_t;

/* Publish it for the open round, whose leases are done (Msg__Links): those that ended last first. */
void links_tell(shepherd_t *self);

#endif
