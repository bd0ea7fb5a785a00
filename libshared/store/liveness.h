/* Who is alive: keys `pcp:<kind>:<id>` with a time to live and the member's capabilities as JSON
 * text, in Redis or in this process.
 *
 * It holds no truth: when Redis is gone, work goes on without it and it fills again by itself. Then
 * calls return ERR_NET: at once while the back-off (0.2 s doubling to 5 s, with up to a quarter at
 * random) runs, else after at most `timeout_ms` (twice that where a connection is made). One
 * thread; services that must not wait call it from an actor. The process must ignore SIGPIPE
 * (msg/service.h does). */
#ifndef STORE_LIVENESS_H
#define STORE_LIVENESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct liveness liveness_t;

/* redis://[[USER:]PASSWORD@]HOST[:PORT][/DATABASE] or memory: (a table of this object's own, for
 * the embedded mode and tests). Connects at the first call. timeout_ms 0: 500. ERR_ARG: malformed.
 * Returns, caller destroys. */
liveness_t *liveness_open(const char *url, int64_t timeout_ms, err_t *err);
void liveness_destroy(liveness_t **self_p);

/* Set the key; it ends ttl_ms after the last announcement, ttl_ms in [1, 86,400,000]. kind:
 * lower-case letters; id: 1 to 127 bytes without control characters; capabilities: at most 64 KiB.
 */
int liveness_announce(liveness_t *self, const char *kind, const char *id, int64_t ttl_ms,
                      const char *capabilities, err_t *err);
/* Remove it at once; no error if it is not there. */
int liveness_forget(liveness_t *self, const char *kind, const char *id, err_t *err);

typedef struct {
    char *id, *capabilities;
} liveness_member_t;
typedef struct {
    size_t n;
    liveness_member_t *at; /* by id */
} liveness_list_t;

/* All of a kind; ERR_MEMORY if they are more than 100,000. Free with liveness_list_fini. */
int liveness_list(liveness_t *self, const char *kind, liveness_list_t *out, err_t *err);
void liveness_list_fini(liveness_list_t *self);

/* False from the first failure until a call succeeds again: worth a warning at each change. */
bool liveness_is_up(const liveness_t *self);

#endif
