/* The herald: an actor that writes who is alive into Redis, for operators and other shepherds. It
 * holds no truth and nobody waits for it: when Redis is gone, that is a warning. */
#ifndef SHEPHERD_HERALD_H
#define SHEPHERD_HERALD_H

#include <czmq.h>

#include "shepherd/shepherd.h"
#include "store/liveness.h"

enum { HERALD_EVERY_MS = 1000, HERALD_TTL_MS = 4000 };

/* Who is there at one moment: the shepherd `id` itself and its members. */
typedef struct herald_news herald_news_t;
herald_news_t *herald_news(const shepherd_t *shepherd, const char *id);
void herald_news_destroy(herald_news_t **self_p);

/* Takes `liveness`. */
zactor_t *herald_new(liveness_t *liveness);
/* Takes the news; not before herald_heard has told that the last ones are written. */
void herald_tell(zactor_t *self, herald_news_t *news);
void herald_heard(zactor_t *self); /* its pipe is readable: take what it says */

#endif
