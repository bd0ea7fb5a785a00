/* Which of many owners each byte of a range of offsets belongs to. Inside of plan/. */
#ifndef PLAN_OWNERS_H
#define PLAN_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t begin, end; /* bytes [begin, end) */
} span_bytes_t;

enum { OWNER_NOBODY = -1, OWNER_SEVERAL = -2 };

typedef struct owners owners_t;

/* For spans whose ends are among those of the n spans; all bytes are nobody's. n log n. */
owners_t *owners_new(const span_bytes_t *spans, size_t n);
void owners_destroy(owners_t **self_p);

/* The bytes of the span belong to `who` (0 or more) from now on. log n. */
void owners_set(owners_t *self, span_bytes_t span, int64_t who);

/* Somebody other than `who` to whom some of the bytes belong; `who` when they are all its own.
 * log n, and the pieces up to the first that is somebody else's. */
int64_t owners_other(const owners_t *self, span_bytes_t span, int64_t who);

#endif
