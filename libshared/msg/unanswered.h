/* Tells why nobody answers: "cannot reach ENDPOINT (reason)" within 2 s of being lost, and again
 * with growing pauses. For members, and for whoever else waits for a peer in silence. */
#ifndef MSG_UNANSWERED_H
#define MSG_UNANSWERED_H

#include <stdbool.h>

#include "base/err.h"

typedef struct unanswered unanswered_t;

/* tell: a text, and in how many seconds it is asked again. endpoints: "A,B"; borrowed. */
typedef void unanswered_fn(void *user, const char *text, int again_s);
unanswered_t *unanswered_new(const char *endpoints, unanswered_fn *tell, void *user, err_t *err);
void unanswered_destroy(unanswered_t **self_p);

void unanswered_begin(unanswered_t *self); /* nobody is there, as of now */
void unanswered_end(unanswered_t *self);   /* somebody is */

/* Somebody answers, but not as we wish: a stand-by (there is nobody to lead), or one who has told
 * the reason. */
void unanswered_heard(unanswered_t *self, bool stand_by);

/* Call it every 50 ms or so; tells from within. It never blocks. */
void unanswered_tick(unanswered_t *self);

#endif
