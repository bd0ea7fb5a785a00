/* The aggregator's state: a range of the parameters, the open round's sum, and the object store.
 *
 * Handlers take the state and a message and answer through `out` (control) and `reply` (data), so
 * that tests run them without sockets. The outer step is done in slices (aggregator_work), so that
 * no call is long. What must outlive the process is in `disk` (state.h, journal.h): a process that
 * starts on the same directory goes on where the other one ended. */
#ifndef AGGREGATOR_AGGREGATOR_H
#define AGGREGATOR_AGGREGATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/guess.h"
#include "aggregator/late.h"
#include "aggregator/packing.h"
#include "aggregator/past.h"
#include "aggregator/shared.h"
#include "aggregator/state.h"
#include "base/vec.h"
#include "ckpt/object.h"
#include "msg/envelope.h"
#include "msg/wire.h"
#include "outer/codec.h"
#include "outer/fixed_sum.h"
#include "outer/outer.h"

enum {
    AGGREGATOR_SLICE = 16,    /* chunks of the outer step done at once */
    AGGREGATOR_BLOCK = 4096,  /* elements of its innermost part, within a core's cache */
    OBJECTS_SLICE_CHUNKS = 4, /* chunks hashed at once */
};

/* A part of the range that replicas contribute to, and that is stepped, on its own. A range has
 * meta.fragments of them, cut at chunks as evenly as they allow; today it is one. */
typedef struct {
    size_t first, n_chunk; /* chunks of the range */
    fixed_sum_t *sum;      /* NULL: it is empty */
} fragment_t;

/* What one replica has sent of one fragment in the open round. The encoded chunks are in the
 * journal, so that they can be taken out of the sum again (exactly: it is an integer sum) when their
 * fence turns out to be old. */
typedef struct {
    uint32_t fence;     /* of the chunks held */
    uint32_t min_fence; /* lower ones are refused */
    uint64_t weight;
    uint8_t codec; /* as PUT_DELTA says it */
    size_t n_have;
    held_chunk_t *chunk; /* by chunk of the fragment */
    uint32_t damaged;    /* chunks that did not arrive as they were sent */
    const char *reason;  /* why it cannot be admitted (static); NULL: nothing is wrong so far */
    char detail[160];
} contribution_t;

/* Whom the shepherd has given a replica's lease of the open round. */
typedef struct {
    uint32_t fence;            /* 0: it has not said so yet */
    char worker[MSG_ID_BYTES]; /* its id; "": nobody yet */
} holder_t;

/* Does our shepherd say who has which lease (fences.c)? */
typedef enum {
    FENCES_UNKNOWN, /* none has said ASSIGN since we were started */
    FENCES_OPEN,    /* it does not: it is of a version before that */
    FENCES_ANNOUNCED,
} fences_t;

typedef struct {
    char hash[HASH_HEX];
    shared_t *file;
    uint64_t used; /* clock of the last use */
} open_object_t;

typedef struct {
    char hash[HASH_HEX];
    msg_peer_t owner; /* who began it; chunks may come from others (`shared`) */
    bool shared;
    int64_t used_ms; /* the last chunk */
    char *path;      /* temporary file */
    int fd;
    uint64_t total, n_have;
    uint8_t *have;         /* one byte per chunk */
    hash_stream_t *hasher; /* over the first `hashed` bytes */
    uint64_t hashed;
    bool settled; /* all of it is right and on the disk; only its name is wanting */
} upload_t;

typedef struct { /* which file it is, and in which state; no padding, for it is compared */
    uint64_t device, inode;
    int64_t bytes, written_s, written_ns, changed_s, changed_ns;
} stamp_t;

typedef struct {
    char hash[HASH_HEX];
    stamp_t stamp;
} known_object_t;

typedef struct { /* an object that is being verified */
    char hash[HASH_HEX];
    stamp_t stamp;
    file_map_t map;
    hash_stream_t *hasher; /* NULL: none is */
    size_t at;
} object_check_t;

typedef struct { /* a contribution whose digest was asked for */
    uint32_t round, replica, fragment, fence;
    uint64_t weight;
    size_t chunk; /* the next one to hash */
    hash_stream_t *hasher;
} digest_t;

struct aggregator {
    msg_out_t out;
    /* Answer a data request; `keep` (may be NULL: the payload is copied) owns the payload. */
    void (*reply)(void *user, const msg_peer_t *to, const wire_header_t *header,
                  const void *payload, size_t n, shared_t *keep);
    void *user;
    int64_t now_ms; /* monotonic; set before each call */

    const char *object_root;
    object_dir_t *objects;
    VEC(open_object_t) open;
    VEC(upload_t) uploads;
    VEC(known_object_t) known; /* verified since the start */
    object_check_t check_of;
    uint64_t clock;

    state_t disk;
    bool assigned, ready;     /* has a range; has all of its first values */
    bool degraded;            /* something is in memory only that should be on the disk */
    char degraded_text[1280]; /* what and why; of the last time */
    bool cannot_write;        /* an object waits for its disk; `cannot_text` says what and why */
    char cannot_text[1280];
    bool broken;       /* the sum cannot be trusted: no more commits until a restart */
    state_meta_t meta; /* the range, and the round that is open */
    uint64_t attempt;  /* of the ASSIGN that gave the range; 0: read back, or none */
    size_t n_chunk;
    uint8_t *init_have; /* chunks of the first values */
    size_t n_init;
    shared_t *now, *before[STATE_LATE]; /* snapshots of the open round and of those before */
    past_t past;                        /* and how older rounds changed theirs */
    shared_t *held;                     /* kept for a checkpoint until FORGET */
    fragment_t *fragment;
    outer_options_t outer;
    change_t down; /* of changes on their way to the workers; its codec NULL: parameters go there */
    size_t n_outer;       /* vectors beside the parameters (outer_vectors) */
    contribution_t *from; /* by replica and fragment: contribution() */
    holder_t *holder;     /* by replica */
    fences_t announces;
    float *scratch;      /* MSG_CHUNK_FLOATS */
    double *block_norm2; /* of the mean update, by AGGREGATOR_BLOCK (step.h) */
    guesses_t guess;
    lates_t late;
    packing_t packing;

    VEC(digest_t) digests; /* in the order in which they were asked for */

    bool committing, hold; /* hold: as COMMIT says */
    shared_t *next;
    size_t at_chunk;
    uint64_t check, shares;
    double norm2;
    int64_t commit_ms;
    struct {
        uint64_t in, out;
    } round_bytes, bytes_before; /* of the last round; bytes_in and bytes_out at its commit */
    uint64_t refused, bytes_in, bytes_out;
    msg_count_t control_count;
    uint64_t data_dropped, data_refused;

    Msg__ShardState holds; /* for aggregator_holds */
    Msg__Share *share;
    Msg__Share **share_list;
};

/* A zeroed struct with its callbacks. object_root is borrowed. state_dir NULL: keep nothing. Takes
 * up what the directory holds. */
int aggregator_init(aggregator_t *self, const char *object_root, const char *state_dir, err_t *err);
void aggregator_fini(aggregator_t *self);
void aggregator_reset(aggregator_t *self); /* forget run and range in memory, keep all files */

extern const msg_route_t
    aggregator_routes[MSG_KIND_COUNT]; /* ASSIGN, FENCE, INSPECT, COMMIT, FORGET */

/* One data message; malformed ones are counted and, where the header is readable, answered. */
void aggregator_on_data(aggregator_t *self, const msg_peer_t *from, const void *header,
                        size_t n_header, const void *payload, size_t n_payload);

/* Answer a data message of one whose key is no good. */
void aggregator_refuse(aggregator_t *self, const msg_peer_t *from, const void *header,
                       size_t n_header, size_t n_payload, const char *why);

/* Do a slice of a commit, or of hashing objects and contributions; true while there is more to do. */
bool aggregator_work(aggregator_t *self);
bool aggregator_busy(const aggregator_t *self); /* is there? */

/* What is held of a run, with the complete contributions, for HELLO and ASSIGNED; NULL: nothing.
 * Borrowed until the next call. */
Msg__ShardState *aggregator_holds(aggregator_t *self);

/* A file of the state directory could not be written: it goes on in memory, and says so (telemetry,
 * once a change). The disk is tried again with the next round. */
void aggregator_degraded(aggregator_t *self, const char *what, const err_t *err);
void aggregator_healed(aggregator_t *self);

/* An object cannot be written, for now: answer that, and say so, once, until it can. */
void aggregator_cannot_write(aggregator_t *self, const msg_peer_t *from,
                             const wire_header_t *request, const err_t *err);
void aggregator_can_write(aggregator_t *self);

/* --- assign.c --- */
void on_assign(void *state, const msg_peer_t *from, const msg_envelope_t *message);
/* Take up the run that a loaded slot belongs to. */
int assign_resume(aggregator_t *self, const state_meta_t *meta, err_t *err);
void assign_complete(aggregator_t *self); /* all first values are here: publish them */

/* --- objects.c --- */
void objects_get(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header);
void objects_put(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header,
                 const void *payload, size_t n);
/* The run needs it no more: delete it, if it is no upload and was put for no other run. */
void objects_forget(aggregator_t *self, uint64_t run, const char *hash);
void objects_forget_run(aggregator_t *self, uint64_t run); /* all that was put for it */
bool objects_busy(const aggregator_t *self);
void objects_work(aggregator_t *self);
void objects_fini(aggregator_t *self);
/* The open file, which this process has verified, has become that object. */
void objects_remember(aggregator_t *self, const char *hash, int fd);

/* --- uploads.c --- */
void uploads_init(aggregator_t *self); /* remove what a killed process left */
void uploads_put(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header,
                 const void *payload, size_t n);
bool uploads_has(const aggregator_t *self, const char *hash);
bool uploads_busy(const aggregator_t *self); /* uploads_work has something to hash */
void uploads_work(aggregator_t *self);
void uploads_tick(aggregator_t *self); /* now and then: end what nobody goes on with */
void uploads_fini(aggregator_t *self);

/* --- deltas.c --- */
contribution_t *contribution(const aggregator_t *self, uint32_t replica, uint32_t fragment);
void deltas_put(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header,
                const void *payload, size_t n);
/* From now on refuse this replica's lower fences, of all fragments, and forget what came under them;
 * exactly: under any other, also where that was higher. */
void deltas_fence(aggregator_t *self, uint32_t replica, uint32_t fence, bool exactly);
void deltas_replay(aggregator_t *self); /* the journal of the open round */
/* A chunk as if it had just been sent: 0, or why it is refused. deltas_place: the header's range, of a chunk of its fragment. */
wire_nack_t deltas_take(aggregator_t *self, const wire_header_t *header, const void *payload,
                        size_t n, err_t *err);
void deltas_place(const aggregator_t *self, wire_header_t *header, size_t chunk);
/* Take its chunks out of the sum. */
void deltas_forget(aggregator_t *self, uint32_t replica, uint32_t fragment);
bool deltas_complete(const aggregator_t *self, uint32_t replica, uint32_t fragment, uint32_t fence,
                     uint64_t weight);
void deltas_clear(aggregator_t *self); /* after a commit: the sums are reset, too */
/* Which chunk of the range [header->begin, + count) is; -1: it is none of ours. */
int64_t range_chunk(const aggregator_t *self, const wire_header_t *header);

/* A chunk whose payload is not what was sent: true when it has to be sent again no more, for that
 * happened so often that the update is refused. */
bool deltas_damaged(aggregator_t *self, const wire_header_t *header, const char *detail);

/* --- fences.c --- */
void on_fence(void *state, const msg_peer_t *from, const msg_envelope_t *message);
/* May this sender send a chunk of that update now? If not it is counted and answered. What is of no lease
 * of the open round is for others to judge. */
bool fences_admit(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header);
void fences_assigned(aggregator_t *self, bool announces); /* ASSIGN has come */
void fences_clear(aggregator_t *self);                    /* nothing was announced, as yet */
void fences_replay(aggregator_t *self, const wire_header_t *record, const void *payload, size_t n);

/* --- inspect.c --- */
void on_inspect(void *state, const msg_peer_t *from, const msg_envelope_t *message);
/* This update cannot be admitted: INSPECTED says why. The rest of it is acknowledged and of no
 * account. Its header's replica and fence are those that hold. reason is static. */
void inspect_refuse(aggregator_t *self, const wire_header_t *header, const char *reason,
                    const char *detail);

/* --- digest.c --- */
/* Hash a contribution that is complete here, in slices, then answer. */
void digest_begin(aggregator_t *self, const Msg__Inspect *question);
void digest_work(aggregator_t *self);
void digest_forget(aggregator_t *self); /* all of them */

/* --- values.c --- */
void values_put(aggregator_t *self, const msg_peer_t *from, const wire_header_t *header,
                const void *payload, size_t n);
void values_get(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request);
void values_get_change(aggregator_t *self, const msg_peer_t *from, const wire_header_t *request);
/* Where that chunk's change begins among those of the range, which lie one behind the other. */
size_t values_change_at(const aggregator_t *self, size_t chunk);
shared_t *values_snapshot(const aggregator_t *self,
                          uint32_t round); /* borrowed; NULL: none is kept */
/* XXH3 of a chunk of the snapshot's parameters. */
uint64_t values_check(const aggregator_t *self, shared_t *snapshot, size_t chunk);

/* --- answers.c --- */
void answer_ack(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request, int code);
void answer_nack(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request,
                 wire_nack_t code, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The payload, with its check; or packed, where that was asked for. `keep` owns it; NULL: it is copied. The answer has the
 * request's count and total. */
void answer_data(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request,
                 const void *payload, size_t n, uint64_t check, shared_t *keep);

/* --- packing.c --- */
/* The packed form of a chunk of changes of which `check` is the check; NULL: it goes as it is. Borrowed until the next call. */
const packed_chunk_t *packing_chunk(aggregator_t *self, const wire_header_t *request,
                                    const void *payload, size_t n, uint64_t check);
/* A packed payload, as it was, in memory that holds until the next call; -1 with ERR_CORRUPT: it is none. */
int packing_open(aggregator_t *self, const void **payload, size_t *n, err_t *err);
void packing_forget(aggregator_t *self); /* all that was packed */
void packing_fini(aggregator_t *self);

#endif
