/* The truth of a cluster: runs, who leads them, rounds, leases, the ledger of trained data,
 * workers, checkpoints, events and samples, in PostgreSQL or SQLite.
 *
 * Calls block, each statement at most about store_options_t's times (the system's look-up of a host
 * name excepted): services call them from an actor (zactor), never from their loop. A store_t
 * belongs to one thread; several may have the same database open.
 *
 * Each function is one transaction: all of it happens or nothing. Errors of all of them:
 *   ERR_NET      no answer from the database, or none in time. Whether the change happened is
 *                unknown; call again, with back-off, until it answers: every function says what a
 *                repeat does. The next call connects again by itself
 *   ERR_FENCE    the caller no longer leads the run: stop writing
 *   ERR_STATE    refused: the present rows do not allow it; the text says what stands in the way
 *   ERR_ARG      a value that no database could take: an empty or over-long id, an unknown word
 *   ERR_SCHEMA   the tables are not those of this program (store_check)
 *   ERR_IO, ERR_CORRUPT   SQLite's file
 * Outputs are written on success only. A NaN is stored as "unknown" (NULL), and read back as NaN.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "data/range.h"

enum {
    STORE_ID = 128,        /* ids: 1 to 127 bytes, no control characters */
    STORE_WORD = 32,       /* states, kinds, reasons: a few letters */
    STORE_EXIT_SCHEMA = 4, /* exit status of a service that finds another schema version */
    STORE_UPDATES = 8192,  /* of a run's past that a new leader reads */
};

typedef struct store store_t;

typedef struct {
    int64_t connect_ms;   /* 0: 5,000 */
    int64_t statement_ms; /* 0: 10,000; SQLite: wait for another writer */
    bool relaxed;   /* SQLite: a power cut, not a kill, may take the last writes; much faster */
    bool read_only; /* every write is refused; SQLite: a file that is not there is not made */
    bool existing;  /* SQLite: neither is it for who writes */
} store_options_t;

/* postgresql://USER@HOST:PORT/DATABASE (all of libpq's forms), sqlite:///ABSOLUTE,
 * sqlite://RELATIVE or sqlite://:memory:. Checks the URL only (ERR_ARG); the first call connects.
 * `options` may be NULL. Returns, caller destroys. Error texts never show a password. */
store_t *store_open(const char *url, const store_options_t *options, err_t *err);
void store_destroy(store_t **self_p);

/* The URL with its password as "***", for logs. Returns, caller frees. */
char *store_mask_url(const char *url);

/* --- schema (migrate.c): numbered migrations, deploy/postgres/NNNN_name.sql, part of the program
 * --- */
typedef struct {
    int present, known; /* version of the database (0: empty) and of this program */
} store_schema_t;

int store_schema(store_t *self, store_schema_t *schema, err_t *err);

/* Bring an older or empty database up to version `to` (0: the newest known). Each migration is a
 * transaction; several programs may do this at once. Nothing to do is success. ERR_SCHEMA: the
 * database is newer than this program, or an applied migration differs from ours. */
int store_migrate(store_t *self, int to, err_t *err);

/* What a service does at start: 0 when the versions agree, else ERR_SCHEMA (leave with
 * STORE_EXIT_SCHEMA). */
int store_check(store_t *self, err_t *err);

/* The role pcp_reader, which may look at the views alone (reader.c). NONE: SQLite has no roles.
 * MISSING: store_migrate went on without it, for its user may not make roles; once somebody else
 * has, it grants what is to be granted. */
typedef enum {
    STORE_READER_NONE,
    STORE_READER_THERE,
    STORE_READER_MAY_BE, /* not there; store_migrate makes it */
    STORE_READER_MISSING,
} store_reader_t;
int store_reader(store_t *self, store_reader_t *out, err_t *err);

/* --- runs (run.c) ---
 *   pending -> running <-> paused;  pending -> paused;  running -> done;
 *   any of the three -> failed, cancelled;  failed -> running (started again), cancelled */
typedef struct {
    const char *id, *key; /* key NULL: the id */
    const char *config;   /* JSON text, stored as given */
    uint64_t n_rounds;    /* planned; 0: no end */
} store_run_spec_t;

typedef struct {
    char id[STORE_ID], key[STORE_ID], state[STORE_WORD];
    char *config, *reason;
    uint64_t n_rounds, n_windows;                /* n_windows 0: not known yet */
    int64_t created_ms, started_ms, finished_ms; /* -1: not yet */
} store_run_t;
typedef struct {
    size_t n;
    store_run_t *at;
} store_runs_t;

/* Submit under a key once: a repeat with the same config gives the run that exists (*created false,
 * its id in `id`), one with another config is ERR_STATE. `created` may be NULL. */
int store_run_submit(store_t *self, const store_run_spec_t *spec, char id[STORE_ID], bool *created,
                     err_t *err);
/* The run of this id gets the new config and number of rounds if they are its own but for more
 * `rounds`; one that is done is paused then, and can begin again. Otherwise, and on a repeat,
 * nothing changes: store_run_submit says what is wrong. */
int store_run_lengthen(store_t *self, const store_run_spec_t *spec, err_t *err);
int store_run_get(store_t *self, const char *id, store_run_t *out,
                  err_t *err); /* ERR_STATE: none */
/* Newest first; state NULL: all. */
int store_run_list(store_t *self, const char *state, size_t limit, store_runs_t *out, err_t *err);
void store_run_fini(store_run_t *self);
void store_runs_fini(store_runs_t *self);

/* --- leadership (leader.c): a lease on a run that ends by the database's clock --- */
typedef struct {
    char run[STORE_ID], holder[STORE_ID];
    int64_t fence; /* of this term; each acquisition raises it */
} store_leader_t;

/* Become the leader if nobody leads or the term is over. *won says whether; if not, `out` tells who
 * leads. A name does not tell processes apart, so that one which was started again under the name
 * of the leader waits for the end of the term as others do: it cannot know that its namesake is
 * dead, nor whether an attempt whose answer was lost had won. Where the database's clock was put
 * back, a term that nobody renews for ttl_ms is over. ttl_ms in [1, 3,600,000]. */
int store_leader_acquire(store_t *self, const char *run, const char *holder, int64_t ttl_ms,
                         bool *won, store_leader_t *out, err_t *err);
/* Prolong the term to ttl_ms from now; possible as long as nobody else acquired it. ERR_FENCE. */
int store_leader_renew(store_t *self, const store_leader_t *leader, int64_t ttl_ms, err_t *err);
/* Let others lead at once. Harmless under an old fence. */
int store_leader_release(store_t *self, const store_leader_t *leader, err_t *err);

/* Several writes as one transaction, for whoever repeats them until they are known to be in: the
 * leader numbers its groups from 1 upwards. *written: the group of that number is in already, and
 * nothing is to be done; else call the functions that write, then store_group_end with the worst of
 * their results. Nothing of a group is written when one of its functions fails. */
int store_group_begin(store_t *self, const store_leader_t *leader, int64_t number, bool *written,
                      err_t *err);
int store_group_end(store_t *self, const store_leader_t *leader, int64_t number, int rc,
                    err_t *err);

/* Move a run to a state; in any but "running" its workers are gone from it. `leader` NULL: an
 * operator's wish (pause, resume, cancel). In that state already: success. ERR_STATE: no way from
 * the present state. `reason` may be NULL. */
int store_run_move(store_t *self, const char *id, const char *state, const char *reason,
                   const store_leader_t *leader, err_t *err);
/* Windows of an epoch, once and for all. A repeat must name the same number (ERR_STATE). */
int store_run_data(store_t *self, const store_leader_t *leader, uint64_t n_windows, err_t *err);
/* The same of the file of initial values, by its content hash. */
int store_run_init(store_t *self, const store_leader_t *leader, const char *hash, err_t *err);

/* What the run is made of, by content hash. */
typedef struct {
    char module_hash[HASH_HEX], train_hash[HASH_HEX];
    char validation_hash[HASH_HEX]; /* "": it does not validate */
    uint64_t train_tokens, validation_tokens;
    char tokenizer_hash[HASH_HEX]; /* "": the run has none, or one of before put none there */
} store_objects_t;
/* Once and for all; a repeat must name the same (ERR_STATE: its files have changed). */
int store_run_objects(store_t *self, const store_leader_t *leader, const store_objects_t *objects,
                      err_t *err);

/* --- rounds and leases (round.c) --- */
typedef struct {
    uint32_t replica, fence;
    data_range_t range;      /* may run over the end of an epoch */
    char state[STORE_WORD];  /* open issued done committed dropped */
    char worker[STORE_ID];   /* "": nobody */
    char target[STORE_ID];   /* of that worker; "": unknown */
    uint64_t done_windows;   /* of the range, from its beginning */
    int64_t decided_windows; /* that the decision counts; negative: not part of one */
    char state_in[HASH_HEX], state_out[HASH_HEX]; /* inner state before and after; "": unknown */
    double loss;
    uint64_t tokens;
    uint32_t steps;          /* trained; 0: unknown, as are the next two */
    double norm2, compute_s; /* of its update; NaN: unknown */
    bool late;               /* decided: the round closes without it, and the next one counts it */
    uint32_t lag;            /* it begins with the parameters of so many rounds before */
    int64_t issued_age_ms;   /* read: since it was given last; -1: it was not */
} store_lease_t;
typedef struct {
    size_t n;
    store_lease_t *at;
} store_leases_t;

typedef struct {
    uint64_t round;
    char state[STORE_WORD]; /* open decided committed */
    data_range_t cursor;    /* behind all ranges leased so far; count 0 */
    char parameters_hash[HASH_HEX];
    double loss, validation_loss;
    uint64_t tokens;
    char *waits_for;
    int64_t age_ms; /* since it was opened */
} store_round_t;

/* Open round `round` with its leases (their replica, fence, range, state_in and lag count;
 * state "open"), and take their ranges off the returned ones. The run must be running, the round
 * before committed. A repeat with the same ranges is success. ERR_STATE: a range overlaps another
 * of the round or is in the ledger. */
int store_round_open(store_t *self, const store_leader_t *leader, uint64_t round,
                     const data_range_t *cursor, const store_lease_t *leases, size_t n, err_t *err);
/* The newest round; *found false: none yet. Free with store_round_fini. */
int store_round_latest(store_t *self, const char *run, store_round_t *out, bool *found, err_t *err);
void store_round_fini(store_round_t *self);
/* What the round waits for, in words; "" for nothing. */
int store_round_waits(store_t *self, const store_leader_t *leader, uint64_t round, const char *what,
                      err_t *err);
int store_round_validation(store_t *self, const store_leader_t *leader, uint64_t round, double loss,
                           err_t *err);

int store_lease_list(store_t *self, const char *run, uint64_t round, store_leases_t *out,
                     err_t *err);
void store_leases_fini(store_leases_t *self);
/* Give a lease to a worker, which trains for `target`, under a fence above its present one. A repeat (same worker and fence) is
 * success. ERR_STATE: the fence is not higher, or the lease is done. */
int store_lease_issue(store_t *self, const store_leader_t *leader, uint64_t round, uint32_t replica,
                      uint32_t fence, const char *worker, const char *target, err_t *err);
/* What a worker delivered under a lease. */
typedef struct {
    uint64_t round;
    uint32_t replica, fence;
    uint64_t windows; /* of the range, from its beginning */
    double loss;
    uint64_t tokens;
    const char *state_out;              /* its inner state is this now; NULL: unknown */
    uint32_t steps;                     /* 0: unknown */
    double norm2, compute_s;            /* squared norm of the update; NaN: unknown */
    int64_t sent_bytes, received_bytes; /* negative: unknown; so the next two */
    int64_t download_ms, upload_ms;
} store_done_t;

/* It is done. A repeat replaces what was said before. ERR_STATE: the fence is not the lease's. */
int store_lease_done(store_t *self, const store_leader_t *leader, const store_done_t *done,
                     err_t *err);
/* What was delivered up to this fence is lost: the lease, done or not, is to be given again, under
 * a higher fence. ERR_STATE: it has a higher fence, or is closed. */
int store_lease_reopen(store_t *self, const store_leader_t *leader, uint64_t round,
                       uint32_t replica, uint32_t fence, err_t *err);

/* --- commit (commit.c) --- */
typedef struct {
    uint32_t replica, fence;
    uint64_t done_windows; /* from the beginning of the lease's range; 0: nothing of it counts */
    bool late; /* of a decision: nothing counts yet, the replica's lease of the next round will be
                  the same windows from the same parameters */
} store_commit_entry_t;

/* Settle what the round's outer step will sum, before anybody acts on it: each entry names a lease
 * that is done, its fence, and how much of it counts (at least one window), or, with `late`, one
 * that is not done and goes on into the next round. A later decision must
 * name the same replicas and windows; it may name higher fences, where leases were given again.
 * Leases without an entry are dropped. A repeat is success. */
int store_round_decide(store_t *self, const store_leader_t *leader, uint64_t round,
                       const store_commit_entry_t *entries, size_t n_entry, err_t *err);

typedef struct {
    uint64_t round;
    const store_commit_entry_t *entries; /* what the outer step summed */
    size_t n_entry;
    const char *parameters_hash; /* NULL: unknown */
    double loss;
    uint64_t tokens;
    int64_t compute_ms, transfer_ms, wait_ms, recover_ms; /* negative: unknown */
    int64_t received_bytes, sent_bytes;
} store_commit_t;

/* Close the round: the windows done go into the ledger, the rest of each lease, and the whole of
 * those without an entry, becomes returned, in one transaction. A repeat with the same entries is
 * success and changes nothing. ERR_STATE: an entry's fence is not its lease's, the lease has fewer
 * windows, the round was committed with other entries, or a window is in the ledger already. */
int store_round_commit(store_t *self, const store_leader_t *leader, const store_commit_t *commit,
                       err_t *err);

/* Ranges that wait to be leased again, oldest first; each lies within one epoch. */
typedef struct {
    size_t n;
    data_range_t *at;
} store_ranges_t;
int store_returned_list(store_t *self, const char *run, store_ranges_t *out, err_t *err);
void store_ranges_fini(store_ranges_t *self);

/* Updates of past leases that were admitted, the oldest first: by round, then by replica; behind those of
 * a round its leases that did not count. */
typedef struct {
    uint64_t round;
    uint32_t replica, steps;
    bool committed; /* else done, in the open round */
    bool dropped;   /* or the round was closed without it, and nothing below is known */
    char worker[STORE_ID];
    double norm2, compute_s;                                    /* NaN: unknown */
    int64_t received_bytes, sent_bytes, download_ms, upload_ms; /* negative: unknown */
} store_update_t;
typedef struct {
    size_t n;
    store_update_t *at;
} store_updates_t;

/* Checkpoints (checkpoint.c). */
typedef struct {
    uint64_t round;      /* whose commit made these parameters */
    char hash[HASH_HEX]; /* of the manifest */
    char *path;
    int64_t n_bytes, created_ms;
    char state[STORE_WORD]; /* good bad pruned */
    char *reason;
} store_checkpoint_t;
typedef struct {
    size_t n;
    store_checkpoint_t *at;
} store_checkpoints_t;

/* A decision: from that round on a run has n replicas. */
typedef struct {
    uint64_t round;
    uint32_t n;
} store_replicas_t;
/* Before the round's leases. It outlives store_run_rewind, so that rounds that are trained again
 * have the replicas they had. A repeat is success; ERR_STATE: another number was decided. */
int store_replicas_set(store_t *self, const store_leader_t *leader, const store_replicas_t *decided,
                       const char *reason, err_t *err);

/* All that a new leader needs to go on. */
typedef struct {
    uint64_t written; /* rounds up to the newest with a sample; 0: there is none */
    bool has_objects, has_round;
    store_objects_t objects;
    uint64_t n_windows;  /* of an epoch; 0: not known yet */
    uint64_t tokens;     /* of all committed rounds */
    store_round_t round; /* the newest, with its leases */
    store_leases_t leases;
    store_ranges_t returned;
    store_updates_t updates;      /* the last STORE_UPDATES */
    double loss, validation_loss; /* of the newest committed round; NaN: unknown */
    char *rewind; /* why a step back to a checkpoint was begun and is not over; NULL: none is */
    uint64_t rewind_from;    /* with it: the round that was open */
    store_replicas_t *sizes; /* all decisions, by round */
    size_t n_size;
    uint64_t sized; /* the rounds before this one have been decided on, whether they exist or not */
    store_checkpoints_t good; /* checkpoints of this run */
} store_resume_t;
int store_resume(store_t *self, const store_leader_t *leader, store_resume_t *out, err_t *err);
void store_resume_fini(store_resume_t *self);

/* The ledger of an epoch: the view pcp_ledger. */
typedef struct {
    uint64_t committed_windows; /* counted as often as they were committed */
    uint64_t doubled_windows;   /* committed more than once: must be 0 */
    uint64_t missing_windows;   /* below the highest committed one, not committed */
    bool exactly_once;          /* none twice, and none skipped up to the run's cursor */
    bool complete;              /* each window of the epoch is committed */
} store_ledger_t;
int store_ledger_get(store_t *self, const char *run, uint64_t epoch, store_ledger_t *out,
                     err_t *err);

/* An update that was not admitted: reason is a word. A repeat changes nothing. */
typedef struct {
    uint64_t round;
    uint32_t replica, fence;
    const char *worker, *reason, *detail;
} store_rejection_t;
int store_rejection_add(store_t *self, const char *run, const store_rejection_t *rejection,
                        err_t *err);
int store_rejection_count(store_t *self, const char *run, uint64_t *n, err_t *err);

/* --- samples (text.c) --- */

/* What the model wrote behind a prompt by the parameters after this round, which is committed: UTF-8
 * without NUL. A repeat changes nothing. */
int store_text_add(store_t *self, const store_leader_t *leader, uint64_t round, const char *prompt,
                   const char *text, err_t *err);

/* --- submitted runs and the front that leads the cluster (submission.c) ---
 *   queued -> running -> done | failed;  running | queued -> paused -> queued;  failed -> queued;
 *   all but done -> cancelled. The front decides; any state may be written here. `paused`, `failed`
 *   and `cancelled` are written to the run's own row as well, if there is one. */
typedef struct {
    uint64_t rounds, tokens;                    /* of finished rounds */
    double loss, validation_loss, tokens_per_s; /* of the last; NaN: unknown */
    char *checkpoint;                           /* the newest good one; NULL: none */
} store_figures_t;
typedef struct {
    char id[STORE_ID], key[STORE_ID], state[STORE_WORD];
    char spec_hash[HASH_HEX]; /* of the run's files */
    char *reason;             /* of the state; not read by store_submission_add */
    int64_t number;           /* order of submission, from 1 */
    uint64_t n_workers, n_shards, n_rounds;
    int64_t created_ms, started_ms, finished_ms; /* -1: not yet; set by the store */
    store_figures_t figures;                     /* what its shepherds have written; read only */
} store_submission_t;
typedef struct {
    size_t n;
    store_submission_t *at;
} store_submissions_t;

/* As store_leader_acquire, _renew and _release, for the cluster; `run` of the leader is empty. */
int store_front_acquire(store_t *self, const char *holder, int64_t ttl_ms, bool *won,
                        store_leader_t *out, err_t *err);
int store_front_renew(store_t *self, const store_leader_t *front, int64_t ttl_ms, err_t *err);
int store_front_release(store_t *self, const store_leader_t *front, err_t *err);

/* Add one as queued. A repeat with the same key and spec_hash is success, another is ERR_STATE. */
int store_submission_add(store_t *self, const store_leader_t *front,
                         const store_submission_t *submission, err_t *err);
/* ERR_STATE: unknown id. `reason` may be NULL. */
int store_submission_move(store_t *self, const store_leader_t *front, const char *id,
                          const char *state, const char *reason, err_t *err);
/* Remove one that is done, failed or cancelled, with all that is recorded of it but its events and
 * samples. Some thousand rows a call: repeat until *done. An unknown one is done. ERR_STATE: it is
 * not over. */
int store_submission_delete(store_t *self, const store_leader_t *front, const char *id, bool *done,
                            err_t *err);
/* Content hashes of objects (model, tokens, last inner states) that it needed and no run that may
 * go on needs; ask before it is deleted. */
typedef struct {
    size_t n;
    char (*at)[HASH_HEX];
} store_hashes_t;
int store_submission_objects(store_t *self, const char *id, store_hashes_t *out, err_t *err);
void store_hashes_fini(store_hashes_t *self);
/* Ids of runs that operators have deleted, the last ones; one may have been submitted again since. */
typedef struct {
    size_t n;
    char (*at)[STORE_ID];
} store_ids_t;
int store_submissions_deleted(store_t *self, store_ids_t *out, err_t *err);
void store_ids_fini(store_ids_t *self);
/* All, in order of submission. */
int store_submission_list(store_t *self, store_submissions_t *out, err_t *err);
void store_submissions_fini(store_submissions_t *self);

/* --- checkpoints (checkpoint.c) --- */

/* After its files are complete and durable. The round must be committed. A repeat changes nothing.
 */
int store_checkpoint_add(store_t *self, const store_leader_t *leader, uint64_t round,
                         const char *manifest_hash, const char *path, int64_t n_bytes, err_t *err);
/* A checkpoint is what remains: forget all rounds from `round` on, with their part of the ledger.
 * In a store that has not seen all the rounds before (a new one, an old copy), one committed row
 * stands for them, and the ledger counts what lies before the cursor and was not returned. The
 * run's data must be known. A repeat changes nothing. */
typedef struct {
    uint64_t round; /* that opens next */
    uint64_t tokens;
    data_range_t cursor;
    const data_range_t *returned; /* each within one epoch, or over its end */
    size_t n_returned;
} store_rewind_t;
int store_run_rewind(store_t *self, const store_leader_t *leader, const store_rewind_t *to,
                     err_t *err);
/* Before anything is thrown away for it: a step back is begun, a row of pcp_rewinds. Until
 * store_run_rewind ends it store_resume tells the next leader, who begins it again: the row keeps
 * its `from` and `reason` and names the new goal. */
typedef struct {
    uint64_t from, to;
    const char *checkpoint, *reason; /* checkpoint "": the beginning of the run */
} store_rewinding_t;
int store_rewind_begin(store_t *self, const store_leader_t *leader, const store_rewinding_t *what,
                       err_t *err);
/* Say that it is bad or pruned, and why. */
int store_checkpoint_mark(store_t *self, const char *run, const char *manifest_hash,
                          const char *state, const char *reason, err_t *err);
/* Newest first; state NULL: all. */
int store_checkpoint_list(store_t *self, const char *run, const char *state, size_t limit,
                          store_checkpoints_t *out, err_t *err);
void store_checkpoints_fini(store_checkpoints_t *self);

/* --- workers and other members (worker.c) --- */
typedef struct {
    char id[STORE_ID], kind[STORE_WORD],
        state[STORE_WORD]; /* joining idle busy draining lost gone */
    char supervisor[STORE_ID], host[STORE_ID], device[STORE_ID], target[STORE_ID], run[STORE_ID];
    char incarnation[STORE_WORD]; /* of its process; "": unknown */
    char *capabilities, *reason;  /* JSON; words */
    int64_t memory_bytes;         /* of its device; 0: unknown */
} store_worker_t;

/* It came (again): a new row, or all it says of itself replaced and n_starts raised, unless it is
 * the same process. capabilities NULL: {}. */
int store_worker_join(store_t *self, const store_worker_t *worker, err_t *err);
/* It works on this run no more. A repeat, or one that works on another run by now, is success. */
int store_worker_leave(store_t *self, const store_leader_t *leader, const char *id,
                       const char *state, const char *reason, err_t *err);

/* --- telemetry (telemetry.c) --- */
typedef struct {
    int64_t time_ms; /* sender's clock */
    const char *level, *service, *member, *name;
    const char *run;    /* NULL: none */
    int64_t round;      /* negative: none */
    const char *detail; /* JSON; NULL: {} */
    const char *key;    /* a second event with this key changes nothing; NULL: it has none */
} store_event_t;

typedef struct {
    int64_t time_ms;
    const char *name, *member, *run; /* run NULL: none */
    int64_t round;                   /* negative: none */
    double value;
} store_sample_t;

/* Write a batch in one transaction. `source` names the writer, unique for each start of it; its
 * batches are numbered from 1 upwards. A batch with a number not above the last one written changes
 * nothing, so that a repeat is harmless. */
int store_telemetry_write(store_t *self, const char *source, int64_t batch,
                          const store_event_t *events, size_t n_event,
                          const store_sample_t *samples, size_t n_sample, err_t *err);
/* One event, as a part of what a leader writes; `leader` NULL: by anybody. */
int store_event_add(store_t *self, const store_leader_t *leader, const store_event_t *event,
                    err_t *err);
/* Forget events and samples from before this time (ms, senders' clocks), the oldest some thousands of each, so that years of
 * them do not take longer than a statement may. *done: there are no more. */
int store_telemetry_prune(store_t *self, int64_t before_ms, bool *done, err_t *err);
/* How many there are; run NULL: all. */
int store_telemetry_count(store_t *self, const char *run, uint64_t *n_event, uint64_t *n_sample,
                          err_t *err);

/* --- revoked keys (revoked.c): one signed text, which readers judge --- */

/* A shorter one than is there changes nothing; so does a repeat. */
int store_revoked_put(store_t *self, const char *list, err_t *err);
/* *list: caller frees; NULL: none has more than so many bytes. */
int store_revoked_get(store_t *self, size_t longer_than, char **list, err_t *err);

/* --- what operators have done (trail.c): rows that are only added, in a chain of hashes --- */

typedef struct {
    const char *who;                      /* the id that the operator's command had */
    const char *key_name;                 /* of its key; "": none was needed */
    const char *public_key;               /* as hex */
    const char *action, *object, *detail; /* "pause", the run's id, JSON */
} store_deed_t;
/* Within the transaction that is open, if one is. leader NULL: whoever leads. */
int store_trail_add(store_t *self, const store_leader_t *leader, const store_deed_t *deed,
                    err_t *err);
/* What is written between these is in, or nothing of it is. */
int store_trail_together(store_t *self, err_t *err);
int store_trail_end(store_t *self, int rc, err_t *err);

typedef struct {
    int64_t seq, time_ms;
    char *who, *key_name, *public_key, *action, *object, *detail;
    char before[HASH_HEX], hash[HASH_HEX];
} store_trail_row_t;
typedef struct {
    size_t n;
    store_trail_row_t *at;
} store_trail_t;
/* The next ones behind number `after`, some hundred; none: that was all. Free with store_trail_fini. */
int store_trail_read(store_t *self, int64_t after, store_trail_t *out, err_t *err);
void store_trail_fini(store_trail_t *self);

typedef struct {
    int64_t n;           /* rows from the first on that are as they were written */
    int64_t broken;      /* the first that is not, or is missing; 0: none */
    char hash[HASH_HEX]; /* of row n */
} store_trail_check_t;
int store_trail_check(store_t *self, store_trail_check_t *out, err_t *err);

/* --- liars (quarantine.c) --- */

/* The seed of the run's audits: `fresh`, where it has none yet. */
int store_audit_seed(store_t *self, const store_leader_t *leader, const char *fresh,
                     char seed[HASH_HEX], err_t *err);
/* A worker that gets no more work, and the evidence. */
typedef struct {
    const char *name;   /* of its key; without keys its id */
    const char *member; /* its id */
    uint64_t round;
    uint32_t replica, fence;
    const char *digest, *agreed; /* of what it said, and of what its witnesses did */
    const char *witnesses;       /* their ids, by commas */
} store_liar_t;
/* One that is in quarantine already stays as it is. */
int store_quarantine_add(store_t *self, const store_leader_t *leader, const store_liar_t *liar,
                         err_t *err);
/* Who has this name or id may work again, says `by`. leader NULL: from outside of any run. *lifted (may be NULL): there was one. */
int store_quarantine_lift(store_t *self, const store_leader_t *leader, const char *name,
                          const char *by, bool *lifted, err_t *err);
/* *names: of all runs, in their order, each with a line break behind it; caller frees. */
int store_quarantine_names(store_t *self, char **names, err_t *err);

#endif
