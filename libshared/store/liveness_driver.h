/* What a backend of liveness offers. Internal to store/. Arguments are checked already. */
#ifndef STORE_LIVENESS_DRIVER_H
#define STORE_LIVENESS_DRIVER_H

#include "base/vec.h"
#include "store/liveness.h"

enum { LIVENESS_MOST = 100000 };

typedef VEC(liveness_member_t) liveness_members_t;

typedef struct {
    void *(*open)(const char *url, int64_t timeout_ms, err_t *err);
    int (*announce)(void *state, const char *key, int64_t ttl_ms, const char *text, err_t *err);
    int (*forget)(void *state, const char *key, err_t *err);
    /* Add those whose key starts with `prefix`, their id being the rest of it; also on error. */
    int (*list)(void *state, const char *prefix, liveness_members_t *out, err_t *err);
    void (*destroy)(void *state);
} liveness_driver_t;

extern const liveness_driver_t liveness_memory, liveness_redis;

#endif
