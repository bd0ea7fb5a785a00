/* What each connection, and each key, may make this process hold, and how often it may speak.
 *
 * The library hands a message on when its last frame is there. Until then it keeps what has come, as much
 * as comes: its limits count frames (ZMQ_MAXMSGSIZE) and whole messages (ZMQ_RCVHWM), so a message that never
 * ends takes all memory. But the kernel knows how many bytes have come on a connection, and we know how many of
 * them were in the messages that we took: the rest waits, and where no whole message does, it is unfinished.
 *
 * What waits takes more in memory than it took on the line, and the shorter its frames are the more: without keys up to 32
 * times (a frame of 2 bytes is a zmq_msg_t of 64), with keys, where no frame is shorter than 35 bytes, 2.5 times. Which
 * frames they are is known when they are taken: those that wait are thought to be like those that were taken last. And a
 * process that does little else cannot hold less than what it has grown by.
 *
 * What a connection has queued outlives it: it is ours to read all the same. So the sum over all of them has a limit,
 * too, in which those that have ended count until their socket was seen empty; beyond it those that hold most end, and
 * nobody new is let in.
 *
 * Who opens many connections gets no more for it: what they hold and say counts for the key that has spoken on them, of
 * those on which none has yet for their address (msg/shares.h).
 *
 * One thread at a time looks; ration_heard, ration_key_heard and the two of refusals are for any. */
#ifndef MSG_RATION_H
#define MSG_RATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "msg/refusals.h"

/* Bytes of a message: on the way, with heads, and on a connection with keys its cipher's; and in memory while it waits. */
typedef struct {
    size_t line, memory;
} ration_size_t;
ration_size_t ration_frame(size_t bytes, bool curve);
void ration_add(ration_size_t *sum, ration_size_t one);
/* A whole message was taken that came on this connection. Any thread; no system call, likewise below. */
void ration_heard(int fd, ration_size_t size);
/* Was one since this was asked last of the descriptor, and since the last ration_new? Any thread. */
bool ration_spoke(int fd);
/* It was none that we take: that counts as much as many that are. */
void ration_refused(int fd);
/* A message was of that key (keyring_number); or one that counts as much as many. 0: nothing happens. */
void ration_key_heard(uint32_t key);
void ration_key_refused(uint32_t key);

typedef struct ration ration_t;
typedef struct {
    uint64_t total; /* of memory that all connections may make us hold */
    bool curve;     /* they have keys: no frame is so short that it takes many times its bytes */
    bool alone;     /* by how much this process grows tells what it holds: it does little else */
    size_t connections; /* of one key; 0: any number */
} ration_limits_t;
ration_t *ration_new(const ration_limits_t *limits);
void ration_destroy(ration_t **self_p);

/* Is it time to look? When this process has grown since the last look, while nobody is let in, and now and then. */
bool ration_due(ration_t *self, int64_t now_ms);

/* Of this process, in memory; 0: not known. */
uint64_t ration_own_bytes(const ration_t *self);

/* Who answers for a connection: a key's number, or RATION_STRANGER and an address, where none has spoken yet. */
#define RATION_STRANGER ((uint64_t)1 << 62)

/* A connection as it is now. */
typedef struct {
    int fd;
    uint64_t owner;  /* as above; 0: it answers for itself alone */
    uint64_t cookie; /* the kernel's name of it: a descriptor is used again */
    uint64_t came;   /* bytes that were taken from the kernel */
    size_t entry;    /* number of the socket where it came in */
    bool listens;    /* to what we publish: all that it says is subscriptions, which are kept */
    bool
        drained; /* no whole message waits at its socket, nor did while `came` was asked; false: or nobody knows */
    uint64_t held;           /* out: bytes that wait, as they came */
    uint64_t fills;          /* out: what they are thought to take in memory */
    const char *wrong;       /* out: why it is to end; NULL: it may stay */
    uint32_t said;           /* out: messages since the last look */
    refusal_reason_t counts; /* out: what it is counted as, if it is to end */
} ration_guest_t;

/* Before each judgement, of each socket: `drained` as above. */
void ration_entry(ration_t *self, size_t entry, bool drained);

/* Judge all of them; sorts them. Returns how many are to end. */
size_t ration_judge(ration_t *self, ration_guest_t *guests, size_t n, int64_t now_ms);

#endif
