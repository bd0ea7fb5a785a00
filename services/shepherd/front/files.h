/* The front's disk work, in an actor: submissions arrive in pieces under a temporary directory, are
 * checked, and appear whole under RUNS_DIR/<run> by a rename; logs are read in pieces. */
#ifndef SHEPHERD_FRONT_FILES_H
#define SHEPHERD_FRONT_FILES_H

#include <czmq.h>

#include "base/err.h"
#include "base/hash.h"

enum {
    FRONT_FILES_MAX = 16,         /* of a submission */
    FRONT_FILE_NAME = 64,         /* bytes, with the NUL */
    FRONT_PIECE_BYTES = 512 << 10 /* of a file, of a log */
};

typedef struct {
    char name[FRONT_FILE_NAME];
    uint64_t size;
    char hash[HASH_HEX];
} front_file_t;

typedef enum {
    FILES_PIECE, /* write data at offset of file `index` in `dir` */
    FILES_SEAL,  /* all files are there: check them, `dir` becomes `to`; fills n_workers ... */
    FILES_DROP,  /* remove `dir` */
    FILES_SWEEP, /* remove what submissions cut short have left in `dir` */
    FILES_LOG,   /* read the file `dir` from offset: data, offset behind it */
} front_job_kind_t;

/* One job, and its answer: the same struct with err and results. */
typedef struct {
    front_job_kind_t kind;
    uint32_t client;     /* serial of the member it is for; 0: nobody waits */
    char *dir, *to;      /* owned */
    front_file_t *files; /* owned */
    size_t n_file, index;
    uint64_t offset;
    uint8_t *data; /* owned */
    size_t n;
    err_t err;
    uint64_t n_workers, n_shards, n_rounds; /* of the run.json that was sealed */
} front_job_t;

front_job_t *front_job_new(front_job_kind_t kind, uint32_t client, const char *dir);
void front_job_destroy(front_job_t **self_p);

zactor_t *front_files_new(void);
void front_files_start(zactor_t *self, front_job_t *job); /* takes it; done in order */
front_job_t *front_files_take(zactor_t *self);            /* an answer; caller destroys */
void front_files_destroy(zactor_t **self_p);              /* with what nobody took */

/* Does the name of a file or run stay within its folder? Letters, digits, '.', '_', '-'; no '.' in
 * front; 1 to 63 bytes. */
bool front_name_good(const char *name);

#endif
