/* Errors as values: a code for programs, a sentence for people.
 *
 * A fallible function returns 0 / -1 (or NULL) and takes `err_t *err` last; err may be NULL when
 * the caller does not care. Not shared between threads. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stddef.h>

typedef enum {
    ERR_OK = 0,
    ERR_ARG,         /* a caller's or user's argument is out of range */
    ERR_PARSE,       /* text that does not follow its grammar */
    ERR_SHAPE,       /* shapes that do not fit together */
    ERR_TYPE,        /* element types that do not fit together */
    ERR_UNSUPPORTED, /* well-formed, but not implemented; names the thing */
    ERR_NUMERIC,     /* NaN or Inf where none may be */
    ERR_IO,          /* files: missing, unreadable, disk full */
    ERR_CORRUPT,     /* bytes that fail their hash or their bounds */
    ERR_NET,         /* peers: lost, late, or talking nonsense */
    ERR_STATE,       /* a valid request at the wrong moment */
    ERR_MEMORY,      /* out of memory or over a stated limit */
    ERR_MISMATCH,    /* a check found other values than it expects */
    ERR_FENCE,       /* the caller's fence is old: somebody else has taken over */
    ERR_SCHEMA,      /* a database of another version than this program */
    ERR_DEVICE, /* a device is lost, with what was in its memory: a new process may open it again */
    ERR_CRASH,  /* the process that ran others' code is gone, with what was in its memory */
} err_code_t;

typedef struct {
    err_code_t code;
    char
        text[1024]; /* names the thing, the place, the offending value and, where it can, the fix */
} err_t;

/* Set code and text (printf rules; truncated to fit; UTF-8 without control characters but ends of lines and tabs: each
 * byte of what is not becomes '?'). Always returns -1, so that callers can write
 * `return err_set(...)`. A NULL err is ignored. */
int err_set(err_t *err, err_code_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As err_set, with ": strerror(errno)" appended; the code is ERR_IO. */
int err_set_errno(err_t *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Put a prefix ("model.mlir: ") before the present text. Returns -1. */
int err_prefix(err_t *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Say what the error is about: put "NAME: " before the present text, unless it begins with that name already, as
 * errors of files do, or with a file in that directory. Returns -1. */
int err_about(err_t *err, const char *name);

/* Back to ERR_OK with empty text. */
void err_clear(err_t *err);

#endif
