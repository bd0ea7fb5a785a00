/* The inner optimizer states S_k that leases begin and end with: in memory, in the state directory
 * (files RUN-REPLICA-ROUND-HASH.safetensors, shared by the workers of a machine), in the object
 * service. A state is named by the content hash of its bytes (engine_state). One thread. */
#ifndef WORKER_STATES_H
#define WORKER_STATES_H

#include "base/err.h"
#include "base/pieces.h"
#include "base/vec.h"
#include "msg/data_client.h"
#include "proto/control.pb-c.h"

enum { STATES_KEEP = 4 }; /* files of each replica, those used last */

typedef struct {
    uint32_t replica, round; /* it enters this round */
    char hash[HASH_HEX];     /* empty: STATE_MEMORY, nobody asks for it by name */
    source_t source;         /* its bytes: those below, or of the file */
    uint8_t *bytes;          /* NULL: it is in a file */
    file_part_t file;        /* an open file, when bytes is NULL */
} state_t;

typedef struct {
    const char *dir;   /* borrowed */
    VEC(state_t) held; /* those that are nowhere else */
    state_t
        read; /* the one that states_find got from a file or object last; round 0, all zero: none */
    bool degraded;       /* the last state could not be written to `dir` */
    char fault[1280];    /* what became of it instead; or which replica begins with zero moments */
    char lost[HASH_HEX]; /* the one that states_find did not find anywhere; empty: none */
} states_t;

/* Zeroed struct; the directory is made. */
int states_init(states_t *self, const char *dir, err_t *err);
void states_forget(states_t *self); /* drop what is in memory; also the end */

/* The state that a lease begins with, at most `limit` bytes: *found, borrowed until the next call,
 * or states_done; or NULL for zero moments; *fresh tells that these stand for a state that was in another worker's
 * memory only (STATE_MEMORY): `fault` and the log say so. A state that the lease names is never
 * replaced: if nobody has it `lost` is its name, ERR_STATE. ERR_NET, ERR_STATE without `lost`: the
 * object service could not be asked. */
int states_find(states_t *self, const Msg__Lease *lease, data_client_t *client, size_t limit,
                const state_t **found, bool *fresh, err_t *err);

/* What states_find found under the lease's name is no state: whoever trained the lease before has named something else. So
 * it is lost, whoever has it; err, which says what is wrong with it, becomes ERR_STATE. */
void states_unfit(states_t *self, const Msg__Lease *lease, err_t *err);

/* The file of that name in the directory, open; borrowed until states_done or the next call. NULL: there is none that is whole. */
const state_t *states_open(states_t *self, const char *hash, err_t *err);

void states_done(states_t *self); /* what states_find read is not needed any more */

/* A state on its way from states_write to states_keep. */
typedef struct {
    state_t state; /* with its bytes, if it is to be in memory */
    bool in_dir;   /* it is there */
    err_t fault;   /* why not */
} states_made_t;

/* Write down the state that a lease ends with, as far as no service is needed for it: to the directory or into
 * memory, piece by piece. What is kept already stays as it is, so that the lease may still fail; this may be done
 * while its update is on its way. */
int states_write(const states_t *self, const Msg__Lease *lease, const source_t *state,
                 states_made_t *made, err_t *err);

/* From now on the state counts, and is where the lease wishes. hash: its name, empty for STATE_MEMORY. Where the
 * directory has no room the object service takes it, read once more (any worker can then go on), and if that cannot
 * either it stays in memory, as one of STATE_MEMORY does; `degraded` says so. An object that was wished for and
 * cannot be put is an error. Takes what `made` holds. */
int states_keep(states_t *self, const Msg__Lease *lease, const source_t *state,
                data_client_t *client, states_made_t *made, char hash[HASH_HEX], err_t *err);

void states_drop(states_made_t *made); /* it shall not count */

#endif
