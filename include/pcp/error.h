/* Errors, versions and memory: what all of libpcp's headers share.
 *
 * A function that can fail takes `pcp_error_t *error` last, which may be NULL, and returns 0, or -1; a
 * function that returns an object returns NULL instead. A call begins by clearing the error that it is given. The text of an error is a sentence for people: it
 * names the thing, the offending value or shapes and, where it can, what mends it.
 *
 * Ownership: what a function returns as a pointer to an object is the caller's, until the `_destroy` or
 * `_release` of its type, which take NULL, too, and clear the pointer; texts are the caller's only where a
 * comment says "pcp_free". Everything else is borrowed from the object that it was asked of, and arguments
 * are copied unless a comment says otherwise. Calls change what they fill only when they succeed.
 *
 * Threads: an object belongs to one thread at a time; different objects may be used by different threads at
 * once. Functions without an object, and pcp_tensor_retain and pcp_tensor_release, are for any thread.
 *
 * The library ends the process in one case: when memory for its own bookkeeping runs out. Sizes that a caller
 * gives are checked, and refused with PCP_ERROR_MEMORY. */
#ifndef PCP_ERROR_H
#define PCP_ERROR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    PCP_OK = 0,
    PCP_ERROR_ARGUMENT = 1,    /* an argument is out of range, or names nothing that there is */
    PCP_ERROR_PARSE = 2,       /* a text does not follow its grammar */
    PCP_ERROR_SHAPE = 3,       /* shapes do not fit together */
    PCP_ERROR_TYPE = 4,        /* element types do not fit together */
    PCP_ERROR_UNSUPPORTED = 5, /* well-formed, but not implemented, or not on this machine */
    PCP_ERROR_NUMERIC = 6,     /* NaN or infinity where none may be */
    PCP_ERROR_IO = 7,          /* a file is missing or unreadable, a disk is full */
    PCP_ERROR_CORRUPT = 8,     /* bytes fail their hash or their bounds */
    PCP_ERROR_STATE = 9,       /* a valid call at the wrong moment */
    PCP_ERROR_MEMORY = 10,     /* more memory than there is, or than a stated limit */
    PCP_ERROR_MISMATCH = 11,   /* a check of the program found other values than it expects */
    PCP_ERROR_DEVICE = 12      /* a device is lost, with what was in its memory */
} pcp_code_t;

typedef struct pcp_error pcp_error_t;

/* Without an error yet: code PCP_OK, text "". */
pcp_error_t *pcp_error_new(void);
void pcp_error_destroy(pcp_error_t **self_p);

pcp_code_t pcp_error_code(const pcp_error_t *self);
const char *pcp_error_text(const pcp_error_t *self); /* borrowed until the next call that fails */
void pcp_error_clear(pcp_error_t *self);

/* Release a text or bytes that a comment says are the caller's. NULL is fine. */
void pcp_free(void *memory);

/* The library's version, "0.1.0". Static. */
const char *pcp_version_text(void);

/* Bytes that the objects of this process hold: tensors, graphs, plans, sessions, tokenizers, generators and
 * errors. 0 when all of them were released, so a program can end with a look at it. What a plan's code and
 * a driver take besides is not in it. Any thread. */
size_t pcp_memory_in_use(void);

#ifdef __cplusplus
}
#endif
#endif
