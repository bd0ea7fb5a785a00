/* What one key may have of that which a process has for all its peers, on all of its connections together: messages a
 * second, connections, memory for what waits. And what strangers may have, on whose connections no key has spoken yet, one
 * address and all together. Behind msg/ration.h, which judges each connection for itself.
 *
 * Memory is taken from the owner that holds most, and of its connections from the largest first, until all is within the
 * limit; no key has more than half of it, strangers have a third. So whoever floods with many connections loses those, and
 * others keep theirs. What a connection that has ended had queued counts for its owner until the queue was seen empty.
 *
 * Members may share a key. Where it says too much those of its connections end that have said more than their part. */
#ifndef MSG_SHARES_H
#define MSG_SHARES_H

#include "msg/ration.h"

enum {
    SHARES_BURST_S = 2,           /* so many seconds' messages at once */
    SHARES_WORTH_BYTES = 1 << 20, /* who holds less is not what the sum is made of */
};
/* The owner of a connection that answers for itself alone, with its descriptor: it has no share but the sum's. */
#define SHARES_ALONE ((uint64_t)1 << 63)

typedef struct shares shares_t;
/* total: bytes of memory of all; connections: of one owner, 0: any number. */
shares_t *shares_new(uint64_t total, size_t connections);
void shares_destroy(shares_t **self_p);

/* As ration_entry. */
void shares_entry(shares_t *self, size_t entry, bool drained);
/* A connection has ended that had come in there, and so much of it waits, as thought. */
void shares_bury(shares_t *self, size_t entry, uint64_t owner, uint64_t bytes);
uint64_t shares_gone(const shares_t *self); /* of all that have ended */
bool shares_empty(const shares_t *self);    /* every entry was seen empty */

/* Is there no room for a connection of that owner, if it is new? 0: for those of anybody. */
bool shares_full(const shares_t *self, uint64_t owner);

/* Mark those that are to end, beside those that are marked. The guests' owner, fills, said, came and so on are set; they
 * are sorted. factor: of what is thought that waits. key_heard: takes how many messages of a key there were since. */
void shares_judge(shares_t *self, ration_guest_t *guests, size_t n, double factor,
                  uint32_t (*key_heard)(uint64_t owner), int64_t now_ms);

#endif
