/* The journal of an open round: every accepted delta chunk and fence, appended before it is
 * acknowledged, played again after a restart.
 *
 * A record is XXH3 of the header, the packed data header (msg/wire.h) with the payload's bytes as
 * total, the payload; a fence is a record of type PUT_DELTA with count 0, and code 1 where the payload
 * is the id of the worker that has the lease. The header tells which replica and fragment a record is of. Slots of the same directory carry the format's version. The file is written anew from its start in each round
 * without being cut: replay ends at the first record that is torn, damaged or of another round.
 * Also the store of encoded chunks that may have to be taken out of the sum again. */
#ifndef AGGREGATOR_JOURNAL_H
#define AGGREGATOR_JOURNAL_H

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "msg/wire.h"

typedef struct {
    uint8_t *bytes;
    size_t n;
} journal_spare_t;

typedef struct {
    int fd;
    char *path; /* for messages */
    uint64_t end;
    VEC(journal_spare_t) spare; /* what the file did not take: in memory, until the round is over */
} journal_t;

/* An encoded chunk in the journal. */
typedef struct {
    uint64_t at;  /* where; 0: it is not here */
    uint32_t n;   /* bytes */
    double norm2; /* sum of squares of its values */
} held_chunk_t;

/* path NULL: in memory. ERR_IO. */
int journal_open(journal_t *self, const char *path, err_t *err);
/* One without a name in that directory, gone when it is closed. */
int journal_open_unnamed(journal_t *self, const char *dir, err_t *err);
void journal_close(journal_t *self);

/* *at: where the payload lies. What the file does not take (the disk is full) is kept in memory: it
 * counts, but does not outlive the process, which costs its lease a repeat. 0; 1: kept in memory,
 * err says why (ERR_IO). */
int journal_append(journal_t *self, const wire_header_t *header, const void *payload, size_t n,
                   uint64_t *at, err_t *err);
int journal_read(const journal_t *self, uint64_t at, void *into, size_t n, err_t *err);

void journal_rewind(journal_t *self);           /* the round is over */
int journal_clear(journal_t *self, err_t *err); /* another run, or another life of this one */

/* Call take for each record of this run and round in order, then cut the file behind the last. The
 * number of records; -1 with ERR_IO. */
typedef void journal_take_fn(void *user, const wire_header_t *header, const void *payload, size_t n,
                             uint64_t at);
int64_t journal_replay(journal_t *self, uint64_t run, uint32_t round, journal_take_fn *take,
                       void *user, err_t *err);

#endif
