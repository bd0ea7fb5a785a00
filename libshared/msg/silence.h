/* An aggregator that a transfer (msg/transfer.h) hears nothing of, or nothing good. A part of that. */
#ifndef MSG_SILENCE_H
#define MSG_SILENCE_H

#include "msg/transfer.h"

/* Note bytes that pass, and what went with a connection that has ended. */
void silence_look(shard_t *shard, int64_t now);
void silence_hear_ends(shard_t *shard);
/* What is open goes with its connection. */
void silence_lose(shard_t *shard);

/* Find out, beside the transfer, why nobody answers. */
void silence_ask_why(shard_t *shard, int64_t now);

/* What shard s waits for that an operator must mend; "": for nothing. */
void silence_waits(data_client_t *self, size_t s, const char *text);

#endif
