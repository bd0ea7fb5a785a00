/* The engine of msg/data_client.h: chunks to and from each aggregator until all are answered. A
 * transfer is a list of chunks per shard; a chunk is described by a callback, so that payloads are
 * made (encoded) only when they are sent. */
#ifndef MSG_TRANSFER_H
#define MSG_TRANSFER_H

#include <czmq.h>
#include <stdatomic.h>

#include "msg/data_client.h"
#include "msg/limits.h"
#include "msg/pace.h"
#include "msg/packed.h"
#include "msg/progress.h"
#include "msg/unanswered.h"
#include "msg/wire.h"
#include "outer/codec.h"

enum { SENDINGS = 4 }; /* of a request, that an answer is still known by */

typedef struct {
    bool used;
    size_t chunk; /* of this shard's list */
    int sent;     /* how often */
    struct {
        uint32_t seq; /* never used twice */
        pace_sent_t pace;
    } sending[SENDINGS]; /* number i at i % SENDINGS */
    bool counted;        /* its last sending is open, for the pace */
    bool lost;           /* it was not sent, or went with its connection */
    int overtaken;       /* answers to requests that were sent after its last sending */
    bool heavy;          /* it has a payload, so that sending it again costs something */
    int put_off;         /* times that it was told to come again, in a row */
    int64_t again_ms;    /* when it shall; 0: it was not told so */
} slot_t;

typedef struct {
    char *endpoint;
    zsock_t *socket;      /* NULL: to be connected again */
    size_t n, next, open; /* chunks in all, not yet asked for, asked for and unanswered */
    size_t here;          /* of an update, as the last answer said; 0: it did not */
    size_t ready;         /* of those of a round to come, how many in front are there */
    slot_t slot[MSG_REQUESTS];
    pace_t pace; /* kept from transfer to transfer */
    progress_t progress;
    uint64_t key_since;       /* keyring_own_since of the socket */
    unsigned ended;           /* connections, as far as has been acted upon */
    uint32_t question;        /* seq of the last question whether requests were lost; 0: none */
    int n_asked;              /* since there was a sign of life */
    int64_t sent_ms;          /* the last of anything */
    int64_t looked_ms;        /* at progress */
    int64_t alive_ms;         /* the last answer of any kind, or bytes of one */
    int64_t heard_ms;         /* the last one that got us further */
    int64_t said_ms;          /* that it waits for an operator; 0: it does not */
    unanswered_t *unanswered; /* asks why nobody answers; NULL until it must */
    bool silent;              /* since more than a moment */
    bool takes;               /* packed payloads, as it says; of this connection */
    char why[300];            /* as far as it is known; empty: it answers, or just does not */
    atomic_int lent;          /* payloads that ZeroMQ still reads */
} shard_t;

struct data_client {
    data_options_t options;
    size_t n_shard;
    shard_t *shard;
    uint32_t seq;
    uint8_t *scratch; /* MSG_PAYLOAD_BYTES for encoded chunks */
    uint8_t *plain; /* and of one that comes or goes packed; NULL, as the next: nothing is packed */
    packer_t *packer;
    uint64_t sent, received;
};

/* What a chunk sends and where its answer goes. */
typedef struct {
    wire_header_t header;
    const void *out; /* payload; NULL when n_out is 0 */
    size_t n_out;
    bool lend; /* out is the caller's, and lasts: it need not be copied */
    void *in;  /* room for exactly n_in bytes of a DATA answer; NULL with transfer_t.to */
    size_t n_in;
    uint64_t at; /* with transfer_t.to: their place there */
} chunk_t;

typedef struct transfer transfer_t;
typedef int transfer_make_fn(data_client_t *self, transfer_t *transfer, size_t shard, size_t chunk,
                             chunk_t *out, err_t *err);
struct transfer {
    transfer_make_fn *make;
    const char *hash;
    uint8_t object[WIRE_HASH_BYTES];
    const uint64_t *bounds;
    const data_delta_t *delta;
    const change_t *change; /* of changes instead of parameters; NULL: none */
    data_ahead_t *ahead;    /* changes or parameters come into it; which ones: `pick` */
    bool early;             /* while its round is not committed */
    const size_t *pick;  /* numbers of its chunks that are wanted, each shard's from first[] on */
    const size_t *first; /* each shard's first chunk among all; with pick, `came` and `wanted` */
    uint8_t *came;       /* by chunk: 1 from its acknowledgment on; NULL: nobody wants to know */
    uint8_t *wanted;     /* by chunk: 0 from its answer on; NULL: nobody wants to know */
    uint32_t round;
    bool outer;                       /* a state of the outer rule instead of parameters */
    uint16_t vector;                  /* which one */
    uint64_t begin, n;                /* of an object, in bytes */
    const data_range_bytes_t *ranges; /* of an object; NULL: begin and n */
    const uint8_t *from;
    uint8_t *into;
    const source_t *source; /* instead of `from` */
    const sink_t *to;       /* instead of `into`: gets what has passed its check */
    size_t skip;            /* PUT_OBJECT: chunks at the beginning that are there */
    uint64_t total;         /* of the object, as the aggregator states it */
    bool known;             /* PUT_OBJECT: it is there */
};

/* Connect those aggregators that have no socket. */
int transfer_connect(data_client_t *self, err_t *err);
void transfer_disconnect(shard_t *shard);

/* The place in its shard's range of a chunk in the list. */
size_t transfer_number(const transfer_t *transfer, size_t shard, size_t chunk);

/* How many chunks a shard's range has; one of them: its first value among all, and how many it has. */
typedef struct {
    uint64_t begin;
    size_t n;
} transfer_chunk_t;
size_t transfer_chunks(const uint64_t *bounds, size_t shard);
transfer_chunk_t transfer_chunk(const uint64_t *bounds, size_t shard, size_t number);

/* Run a transfer of self->shard[s].n chunks per shard to its end. */
int transfer_run(data_client_t *self, transfer_t *transfer, err_t *err);

#endif
