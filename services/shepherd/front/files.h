/* The front's disk work, in an actor: submissions arrive in pieces under a temporary directory, are
 * checked, and appear whole under RUNS_DIR/<run> by a rename; logs are read in pieces; a deleted
 * run's directory gets another name at first. Nothing is removed but what the front has made: a
 * directory that is in the way stays as it is. */
#ifndef SHEPHERD_FRONT_FILES_H
#define SHEPHERD_FRONT_FILES_H

#include <czmq.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "shepherd/front/names.h"

enum {
    FRONT_FILES_MAX = 16,          /* of a submission */
    FRONT_PIECE_BYTES = 512 << 10, /* of a file, of a log */
    /* Pieces on their way: of one submission, at least and at most, and of all together. */
    FRONT_WINDOW_LEAST = 1 << 20,
    FRONT_WINDOW_MOST = 32 << 20,
    FRONT_WINDOW_ALL = 256 << 20,
};

/* Under RUNS_DIR: a submission on its way in, and the directory of a run that is being deleted. */
#define FRONT_UPLOAD_PREFIX ".upload-"
#define FRONT_DELETED_PREFIX ".deleted-"

typedef struct {
    char name[FRONT_FILE_NAME];
    uint64_t size;
    uint64_t have; /* FILES_LOOK: its first bytes, that are here */
    char hash[HASH_HEX];
} front_file_t;

typedef enum {
    FILES_LOOK,  /* fills `have` of the files in `dir`, and expires others: FILES_EXPIRE */
    FILES_PIECE, /* write data at offset of file `index` in `dir` */
    FILES_SEAL,  /* all files are there: check them, `dir` becomes `to`; fills n_workers ... */
    FILES_DROP,  /* remove `dir` */
    FILES_SWEEP, /* FILES_EXPIRE, and fills names */
    FILES_EXPIRE, /* remove submissions cut short from `dir`: old ones, and what is over `offset` bytes */
    FILES_LOG, /* read the file `dir`, or the one before it, from offset: data, offset behind it */
    FILES_MEASURE, /* fills n_bytes and n_found with what is in `dir` */
    FILES_RETIRE,  /* the same, and `dir` becomes `to`; no error if there is none */
} front_job_kind_t;

/* One job, and its answer: the same struct with err and results. */
typedef struct {
    front_job_kind_t kind;
    uint32_t client;      /* serial of the member it is for; 0: nobody waits */
    uint64_t upload;      /* number of the submission it is of; 0: none */
    char *dir, *to, *run; /* owned */
    front_file_t *files;  /* owned */
    size_t n_file, index;
    uint64_t offset;
    bool older;    /* FILES_LOG: the log before the present one */
    uint8_t *data; /* owned */
    size_t n;
    err_t err;
    uint64_t n_workers, n_shards, n_rounds; /* of the run.json that was sealed */
    bool adopted;                           /* `to` was there, with the same files */
    uint64_t n_bytes, n_found;              /* on the disk; files */
    VEC(char *) names;                      /* owned: runs whose deletion was cut short */
} front_job_t;

front_job_t *front_job_new(front_job_kind_t kind, uint32_t client, const char *dir);
void front_job_destroy(front_job_t **self_p);

zactor_t *front_files_new(void);
void front_files_start(zactor_t *self, front_job_t *job); /* takes it; done in order */
front_job_t *front_files_take(zactor_t *self);            /* an answer; caller destroys */
void front_files_destroy(zactor_t **self_p);              /* with what nobody took */

/* The work itself; for the actor, and for tests. */
void front_files_work(front_job_t *job);
int files_seal(front_job_t *job, err_t *err); /* files_seal.c */
void files_look(front_job_t *job);            /* files_uploads.c, as the next */
/* Submissions that broke off a day ago go, and the oldest ones while all have more than most_bytes;
 * never `but` (may be NULL), which is in hand. */
void files_expire(const char *runs_dir, const char *but, uint64_t most_bytes);
void files_sweep(front_job_t *job); /* files_tree.c, as the next two */
void files_measure(front_job_t *job);
int files_retire(front_job_t *job, err_t *err);

#endif
