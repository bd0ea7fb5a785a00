/* What the three processes of runner.h say to each other. Every message is one datagram of a SOCK_SEQPACKET pair. */
#ifndef RUNTIME_RUNNER_WIRE_H
#define RUNTIME_RUNNER_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cage_code.h"

/* --- With the keeper --- */

#define KEEPER_FLAG "--keep-runners" /* argv[1] of a process that is to be one */
enum { KEEPER_FD = 3 };              /* its end */

typedef struct {
    int32_t filter, code; /* can it cage, and may code run from memory? */
} keeper_hello_t;

typedef enum { KEEPER_OPEN, KEEPER_END } keeper_verb_t;
typedef struct {
    int32_t verb, pid;
} keeper_call_t;

/* Of KEEPER_OPEN with three descriptors: channel, window, what the runner writes to its standard error. */
typedef struct {
    int32_t pid, error; /* pid < 0: errno; of KEEPER_END: waitpid's status */
    int32_t status;
} keeper_reply_t;

/* --- With a runner --- */

enum { ROOM = 1 << 20, SAID = 1024 };

/* The memory that both have. */
typedef struct {
    cage_refusals_t refusals;
    char error[SAID];
    _Alignas(4096) char room[ROOM];
} window_t;

typedef enum {
    RUN_PLAN,     /* bytes [offset, offset + n) of the packed plan are at `at` */
    RUN_MAKE,     /* the plan has n bytes; make_t is at `at`. Two replies: ready; code loaded */
    RUN_UPLOAD,   /* into the arena at offset, n bytes from `at` */
    RUN_DOWNLOAD, /* and back */
    RUN_ZERO,
    RUN_PROGRAM, /* the n-th of the plan */
} run_verb_t;

typedef struct {
    uint32_t verb, at; /* at: in the room */
    uint64_t offset, n;
} run_call_t;
enum { MOST_CALLS = 128 }; /* of one message */

typedef struct {
    int32_t threads, pin;
    uint64_t memory_limit;
} make_t;

typedef struct {
    int32_t code, zero; /* err_code_t; the text is in the window */
} run_reply_t;

#endif
