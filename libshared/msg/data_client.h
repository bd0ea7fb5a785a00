/* The client's side of the data plane: objects, parameters and pseudo-gradients in chunks, with a
 * window of open requests at each aggregator (msg/pace.h). A request is sent again when its
 * connection has ended, or answers to later ones have come; after a silence a PING asks for one. A
 * link that is slow carries everything once.
 *
 * An aggregator that is away and comes back at the same endpoint within MSG_DATA_TIMEOUT_MS costs
 * time, no more.
 *
 * What a call sends is lent to ZeroMQ, and the caller's again when it returns, also with an error.
 * For this it waits, and no peer can make it wait long, be it absent, mute, deaf or gone: 20 ms
 * after the transfer it closes the socket, without linger, upon which libzmq's thread discards what
 * it has of it, queued or half sent, whatever the connection is at (zmq_setsockopt(3), ZMQ_LINGER).
 * What can hold up that thread alone is the look-up of a host's name, which ends with the
 * resolver's own time-outs (resolv.conf(5): 5 s a try); the log names peer and seconds then, every
 * 10 s.
 *
 * Calls block: use it from an actor, never from a reactor. One thread at a time. Errors: ERR_NET
 * (an aggregator is silent or refuses), ERR_IO (it has no such object, or a bad disk), ERR_CORRUPT
 * (bytes that do not match their hash), ERR_STATE (the round is over or the fence is old: drop the
 * work; also when stopped). */
#ifndef MSG_DATA_CLIENT_H
#define MSG_DATA_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/pieces.h"
#include "outer/change.h"

typedef struct data_client data_client_t;

typedef struct {
    char *const *endpoints; /* aggregators by shard; copied */
    size_t n_endpoint;
    uint64_t run;      /* wire_run_hash */
    uint64_t attempt;  /* data_put_init, _vector: of the ASSIGN that they follow */
    double pack_below; /* bytes/s: over slower lines updates and changes are packed; 0: nowhere */
    bool (*stopped)(void *user); /* asked at least every 100 ms; may be NULL */
    void *user;
    /* Told, every now and then, what a call waits for that only an operator can mend, and "" when
     * that is over; may be NULL. The log has it, too. */
    void (*waits)(void *user, const char *text);
} data_options_t;

/* NULL with ERR_NET or ERR_ARG (no endpoint, more than MSG_MAX_SHARDS). */
data_client_t *data_client_new(const data_options_t *options, err_t *err);
void data_client_destroy(data_client_t **self_p);

/* Store bytes as the object of that content hash; at once when it is there already. */
int data_put_object(data_client_t *self, const char *hash, const void *bytes, size_t n, err_t *err);

/* The same of what is read piece by piece, some of it several times. */
int data_put_object_from(data_client_t *self, const char *hash, const source_t *from, err_t *err);

/* Size of an object. */
int data_object_size(data_client_t *self, const char *hash, uint64_t *n, err_t *err);

/* Bytes [begin, begin + n) of an object into `into`; not verified against the object's hash. */
int data_get_range(data_client_t *self, const char *hash, uint64_t begin, size_t n, void *into,
                   err_t *err);

/* Several ranges of an object at once, each of at most MSG_CHUNK_BYTES, to their places in `whole`,
 * which has room for all of it; only they are sent. Not verified either. */
typedef struct {
    uint64_t begin;
    size_t n;
} data_range_bytes_t;
int data_get_ranges(data_client_t *self, const char *hash, const data_range_bytes_t *ranges,
                    size_t n_range, void *whole, err_t *err);

/* A whole object, verified. Returns, caller frees (NUL behind the last byte); ERR_MEMORY above
 * limit bytes. */
char *data_get_object(data_client_t *self, const char *hash, size_t limit, size_t *n, err_t *err);

/* All n bytes of an object (data_object_size) to their places; not verified against the object's hash. */
int data_get_object_to(data_client_t *self, const char *hash, uint64_t n, const sink_t *to,
                       err_t *err);

/* The flat parameter vector of a round. bounds: n_endpoint + 1 element offsets; theta holds
 * bounds[n_endpoint] values. */
int data_get_params(data_client_t *self, const uint64_t *bounds, uint32_t round, float *theta,
                    err_t *err);

/* Chunks that a vector consists of, cut by bounds: those of shard 0 first. */
size_t data_chunks(const uint64_t *bounds, size_t n_shard);

/* Chunks of the same: those of wanted[data_chunks] that are not 0. Or, with how changes go (outer/change.h; NULL: parameters), from
 * the parameters of the round before: theta holds these, and gets how that round has changed them. What has come is
 * wanted no more, also when this ends with an error, after which the rest can be asked for again: as parameters where there
 * was no such change (ERR_IO), or, since that spoils a chunk of what is still wanted, where they were other parameters
 * (ERR_CORRUPT, ERR_SHAPE). */
int data_get_wanted(data_client_t *self, const uint64_t *bounds, uint32_t round,
                    const change_t *change, uint8_t *wanted, float *theta, err_t *err);

/* What is at hand of a round's parameters, or of the change that leads to them, before or after it is committed. */
typedef struct {
    uint32_t round;
    change_t change; /* how changes go; its codec NULL: parameters */
    const uint64_t *bounds;
    size_t n_shard;
    size_t *first;     /* n_shard + 1: each shard's first chunk among all */
    uint32_t *came;    /* by chunk, bytes on the line; 0: it is not there */
    uint8_t *bytes;    /* all of them, each at its place */
    size_t n_room;     /* of bytes */
    uint64_t received; /* bytes that came */
    bool hurry;        /* the round is committed: nothing is to be waited for any more */
} data_ahead_t;

/* Nothing is at hand. bounds: n_shard + 1, borrowed. change: of which parameters, borrowed for the call;
 * its codec NULL: parameters. *self: zeros, or what data_ahead_drop left. */
void data_ahead_init(data_ahead_t *self, const uint64_t *bounds, size_t n_shard, uint32_t round,
                     const change_t *change);
/* Forget all but the memory of its bytes, which the next one has for its own. */
void data_ahead_drop(data_ahead_t *self);
void data_ahead_fini(data_ahead_t *self);
bool data_ahead_whole(const data_ahead_t *self); /* all of it is at hand, be it right or not */

/* Fetch what is missing of a round that may not be committed yet, as it is made from the updates of the round that is
 * open; until all of it is there. That may last as long as a round. After an error `ahead` has what came before. What
 * it has may turn out to be wrong: */
int data_get_ahead(data_client_t *self, data_ahead_t *ahead, err_t *err);

/* Drop what is not what has been committed, fetch that and what is missing, and make the parameters of it. theta: those
 * of the round before, where there are changes. Errors, and what becomes of theta then, as of data_get_wanted with
 * all of it wanted. *used: bytes
 * on the line of what was at hand already and right. */
int data_end_ahead(data_client_t *self, data_ahead_t *ahead, float *theta, uint64_t *used,
                   err_t *err);
int data_put_init(data_client_t *self, const uint64_t *bounds, uint32_t round, const float *theta,
                  err_t *err);

/* The parameters of a round, or a vector of the outer rule's state (outer/outer.h: below outer_states),
 * as long, piece by piece as f32. Put the states before the parameters, whose last chunk makes a shard
 * ready. */
typedef struct {
    uint32_t round;
    bool outer; /* this state; false: the parameters */
    uint16_t state;
} data_vector_t;
int data_get_vector(data_client_t *self, const uint64_t *bounds, const data_vector_t *which,
                    const sink_t *to, err_t *err);
int data_put_vector(data_client_t *self, const uint64_t *bounds, const data_vector_t *which,
                    const source_t *from, err_t *err);

/* Which chunks of an update aggregators have acknowledged. Zeros: none. */
typedef struct {
    uint8_t *came; /* by chunk, those of shard 0 first */
    size_t n;
} data_sent_t;
void data_sent_clear(data_sent_t *self); /* another update */

/* One replica's pseudo-gradient, encoded chunk by chunk. */
typedef struct {
    uint32_t round, replica, fence;
    uint64_t weight;     /* steps trained */
    uint32_t codec;      /* id (outer/codec.h) */
    uint64_t exact_from; /* states begin there, which are not encoded; 0: there are none */
    uint32_t of;         /* replicas of the round, for who asks ahead (below); 0: nobody does */
    data_sent_t *sent;   /* what came of it, kept up to date; NULL: nobody wants to know */
    bool late;           /* it is a late lease's, and `sent` is of the same update under the names
                        * before: aggregators that have kept what came of it get only the rest */
} data_delta_t;
int data_put_delta(data_client_t *self, const uint64_t *bounds, const data_delta_t *which,
                   const float *delta, err_t *err);

/* Payload bytes sent and received so far. */
void data_client_traffic(const data_client_t *self, uint64_t *sent, uint64_t *received);

#endif
