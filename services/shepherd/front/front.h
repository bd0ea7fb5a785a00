/* The front: the shepherd of a whole cluster. It keeps the table of runs, starts one shepherd (a
 * child process, ours without --cluster) for each active run, and stands between members and those:
 * each member says HELLO here, gets a number on the connection to the shepherd of the run that
 * needs it, and every envelope is relayed both ways unchanged. When its run ends or has one too
 * many, it is told UNKNOWN_PEER, says HELLO again and gets the next run; one that nobody needs is
 * welcomed to no run and waits. Supervisors and the command line talk to the front itself.
 *
 * One struct, handlers without sockets of their own but for the pipes to the children; slow work is
 * the clerk's (store) and the files actor's. docs/recovery.md says what survives what. */
#ifndef SHEPHERD_FRONT_H
#define SHEPHERD_FRONT_H

#include "base/children.h"
#include "msg/door.h"
#include "msg/member.h"
#include "msg/refusals.h"
#include "shepherd/front/config.h"
#include "shepherd/front/files.h"
#include "shepherd/records/clerk.h"
#include "shepherd/roster/operators.h"

typedef struct front front_t;

enum { FRONT_KINDS = MSG__KIND__KIND_SUPERVISOR + 1 };

/* What is known of the present state of a run, from its shepherd's events. */
typedef struct {
    char phase[16], waits[256];
    uint32_t round, rounds;
    double loss, val_loss, tokens_per_s, eta_s;
    bool has_val_loss;
    uint64_t tokens;
} front_news_t;

typedef struct {
    front_t *front;
    store_submission_t row;      /* reason owned */
    bool stored;                 /* the store has it */
    bool adopted;                /* its directory was there when it was submitted */
    bool deleting;               /* its directory is renamed, its rows are on their way out */
    uint32_t deleter;            /* serial of the CLI that waits for that; 0: nobody */
    clerk_actor_t deleted_by;    /* for the trail, also once that CLI has left */
    uint64_t freed, freed_files; /* bytes on the disk, by it */
    uint64_t ticket;             /* of the last note about it */
    uint64_t hash;               /* names it in HELLOs of members that hold something of it */
    char *name;                  /* of the child: RUN/shepherd, as its log */
    char *control, *events;      /* the child's endpoints */
    bool active;                 /* it has a shepherd, or is to have one at due_ms */
    bool listening;              /* events are subscribed */
    int64_t due_ms;              /* of the next start; 0: it runs */
    int64_t born_ms, stop_ms;    /* of the child; when it was asked to stop, 0: it was not */
    int short_lives;             /* in a row */
    uint32_t restarts;
    uint32_t asker; /* CLI that asked for a checkpoint, and its question */
    uint64_t question;
    uint32_t n_kind[FRONT_KINDS]; /* members that are its own */
    member_t *link;      /* the front as a member of the run: its events, and a way to say GONE */
    zsock_t *pipe;       /* DEALER to its shepherd, for all its members; NULL: none yet */
    bool choked;         /* the pipe took nothing the last time */
    VEC(char *) targets; /* of its workers since the child began */
    size_t n_plan;       /* compiled since then */
    int64_t compiler_ms; /* since when it has no compiler */
    char *fault;         /* last words of the child */
    char *checkpoint;
    front_news_t news;
} front_run_t;

/* A submission on its way in. */
typedef struct {
    char *dir, *key, *run, *spec;
    front_file_t *files;
    size_t n_file;
    uint64_t number;  /* its own: announced again it has another one, and the same directory */
    uint64_t awaited; /* bytes written of the file in hand */
    size_t file;
    uint64_t window;     /* bytes that the files actor may have of it */
    uint64_t open_bytes; /* that it has */
    size_t n_open;       /* jobs */
} front_upload_t;

typedef struct {
    front_t *front;
    member_row_t is;
    front_run_t *run;       /* to whose shepherd it is connected; NULL: to none */
    uint64_t number;        /* its own on that run's pipe; a new one each time; 0: to none */
    bool kicked;            /* told to say HELLO again */
    bool busy;              /* workers: a lease, compilers: a job is with it */
    bool assigned;          /* aggregators: they have a range of the run */
    int64_t moving_ms;      /* since when it is to leave at the end of its lease; 0: it is not */
    uint64_t holds;         /* hash of a run of which it has a lease or a range; 0: none */
    front_run_t *watches;   /* CLI */
    front_upload_t *upload; /* CLI */
    uint64_t ticket;        /* CLI: of the note whose writing it waits for */
    uint64_t question;      /* CLI: its envelope, where that note is CLERK_TRUST */
} front_member_t;

struct front {
    const front_config_t *config;
    const char *config_dir; /* of sockets to children */
    zloop_t *loop;
    int wake;                         /* eventfd: a tick */
    zsock_t *control, *events, *news; /* ROUTER, PUB; SUB to all children */
    door_t *door;
    zactor_t *clerk, *files;
    children_t *children;
    char *program;
    bool leads, stopping, finished;
    int exit_status;
    int64_t now_ms, balance_ms, uploads_ms;
    uint32_t last_serial;
    uint64_t last_ticket, last_upload, n_event;
    bool swept;                    /* what the front before us began and did not finish is known */
    VEC(front_run_t *) runs;       /* by number */
    VEC(uint64_t) deleted;         /* hashes of runs that were */
    VEC(front_upload_t *) sealing; /* complete, being checked; their clients may be gone */
    VEC(front_member_t *) members; /* by serial */
    whois_t whois;
    uint32_t n_kind[FRONT_KINDS];
    VEC(front_member_t *) seats; /* by the low half of their number; NULL: free */
    VEC(uint32_t) free_seats;
    int64_t expire_ms; /* when silence was last looked for */
    refusals_t refusals;
    uint64_t revoked_since; /* keyring_revoked_since when members were told */
    uint32_t n_seated;      /* the high half of the last number */
    msg_count_t count;
    msg_out_t out;
};

/* --- front.c --- */
extern const msg_route_t front_routes[MSG_KIND_COUNT]; /* what members say to the front itself */
extern const msg_table_t front_hears;
void front_tick(front_t *self, int64_t now_ms);
void front_on_clerk(front_t *self, clerk_result_t *result);
void front_on_signal(front_t *self);
void front_leave(front_t *self, int exit_status); /* the loop ends; children are killed */
void front_fini(front_t *self);
void front_write(front_t *self, const front_run_t *run, clerk_verb_t verb, uint64_t ticket);
void front_forget_run(front_t *self, front_run_t *run);

/* --- front_members.c --- */
front_member_t *front_by_peer(front_t *self, const msg_peer_t *peer); /* NULL: unknown */
front_member_t *front_by_id(front_t *self, const char *id);
front_member_t *front_by_serial(front_t *self, uint32_t serial);
clerk_actor_t front_actor(const front_member_t *client); /* for the trail; NULL: nobody */
void front_drop(front_t *self,
                front_member_t *member); /* forget it; its run loses the connection */
void front_fault(front_t *self, const msg_peer_t *to, int code, const char *text);
/* Take it from its run (which hears BYE, if it still listens) and have it say HELLO again. */
void front_kick(front_t *self, front_member_t *member, bool bye, const char *why);
void front_kick_all(front_t *self, const front_run_t *run, const char *why);
void front_expire(front_t *self);
void front_revoked(front_t *self); /* when more keys are: members hear of it */
void front_on_hello(front_t *self, const msg_peer_t *from, zmq_msg_t *body);
/* The sender of a message, noted as alive; NULL: unknown, or told to say HELLO again. */
front_member_t *front_heard(front_t *self, const msg_peer_t *from);
/* For front_hears: as what it is registered; an answer to one that may not say a message. */
msg_who_t front_who(void *state, const msg_peer_t *from);
void front_refuse(void *state, const msg_peer_t *from, uint64_t id, msg_who_t who,
                  const char *text);
void front_on_heartbeat(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void front_on_bye(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void front_on_gone(void *state, const msg_peer_t *from, const msg_envelope_t *message);
operators_t front_roster(front_t *self); /* caller frees rows */

/* --- balance.c --- */
/* The run that a member that says HELLO is needed by; NULL: none. */
front_run_t *front_choose(front_t *self, const front_member_t *member);
void front_balance(front_t *self);
unsigned front_count(const front_t *self, Msg__Kind kind, const front_run_t *run);

/* --- pipe.c --- */
int front_pipe_open(front_run_t *run, zloop_reader_fn *on_pipe, err_t *err); /* if it is not */
void front_pipe_close(front_run_t *run); /* what its shepherd has not read is void */
/* Give the member a number, take it back. */
void front_seat(front_member_t *member);
void front_unseat(front_member_t *member);
front_member_t *front_seated(front_t *self, uint64_t number); /* NULL: it has left */
/* To the shepherd of its run, in its name; -1: dropped, errno. */
int front_pipe_send(front_member_t *member, zmq_msg_t *body);

/* --- relay.c --- */
/* Member of the run from now on; its pipe is opened at the first. */
int front_attach(front_member_t *member, front_run_t *run, err_t *err);
void front_up(front_member_t *member, msg_kind_t kind, zmq_msg_t *body); /* to its shepherd */
void front_receive(front_t *self); /* what waits on the control socket, or some of it */
bool front_event(front_t *self);   /* one event of a child; false: none waits */

/* --- runs.c --- */
front_run_t *front_run_find(front_t *self, const char *id);
front_run_t *front_run_by_key(front_t *self, const char *key);
front_run_t *front_run_new(front_t *self, const store_submission_t *row); /* reason is copied */
void front_run_destroy(front_run_t *run);
bool front_run_is(const front_run_t *run, const char *state);
void front_run_move(front_run_t *run, const char *state, const char *reason, uint64_t ticket);
void front_run_start(front_run_t *run); /* active, from the next tick on */
void front_run_stop(front_run_t *run);  /* it saves and ends */
void front_runs_reap(front_t *self);
void front_runs_tick(front_t *self);
void front_run_heard(front_run_t *run, const Msg__Event *event);

/* --- child.c --- */
extern const msg_route_t front_child_routes[MSG_KIND_COUNT]; /* what a run's shepherd says to us */
int front_child_spawn(front_run_t *run, err_t *err);
int front_child_link(front_run_t *run, err_t *err); /* events, and the front as its member */
void front_child_unlink(front_run_t *run);

/* --- ask.c --- */
void front_on_ask(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void front_tell_watchers(front_run_t *run, const Msg__Event *event); /* NULL: its state changed */
void front_describe(front_run_t *run, Msg__RunInfo *info);           /* texts are borrowed */
void front_answer(front_t *self, const front_member_t *to, const front_run_t *run,
                  const char *error);

/* --- upload.c --- */
void front_submit(front_t *self, front_member_t *client, const Msg__RunAsk *ask);
void front_commit(front_t *self, front_member_t *client);
void front_on_piece(void *state, const msg_peer_t *from, const msg_envelope_t *message);
void front_on_file(front_t *self, front_job_t *job); /* an answer of the files actor */
/* The client goes, or begins anew: what has arrived is kept for a while, for its next attempt. */
void front_upload_leave(front_t *self, front_member_t *client);
void front_uploads_expire(front_t *self, front_job_kind_t kind); /* FILES_SWEEP, FILES_EXPIRE */
void front_uploads_fini(front_t *self);

/* --- delete.c --- */
void front_delete(front_t *self, front_member_t *client, front_run_t *run, bool dry);
/* Answers of the files actor; `client` may be NULL. */
void front_measured(front_t *self, front_member_t *client, front_job_t *job);
void front_retired(front_t *self, front_member_t *client, front_job_t *job);
void front_dropped(front_t *self, front_member_t *client, front_job_t *job);
void front_swept(front_t *self, const front_job_t *job);
/* A member that has been welcomed may hold objects of runs that were deleted while it was away. */
void front_tell_deleted(front_t *self, const front_member_t *member);
/* The clerk's: its rows are gone, or it is refused. */
void front_deleted(front_t *self, front_run_t *run, const clerk_result_t *result);

/* --- loop.c --- */
/* Serve until a signal; returns the exit status, -1 with err. */
int front_run_all(front_config_t *config, err_t *err);

#endif
