/* Sizes and times of the protocol, in one place; proto/PROTOCOL.md explains each. */
#ifndef MSG_LIMITS_H
#define MSG_LIMITS_H

enum {
    MSG_VERSION = 1,
    MSG_CONTROL_BYTES = 1 << 20, /* largest control message of any kind */
    MSG_PEER_BYTES = 15,         /* longest routing id a ROUTER accepts */
    MSG_ID_BYTES = 64,           /* longest member id, run id */
    MSG_NAME_BYTES = 4096,       /* longest path, endpoint or error text */

    MSG_CHUNK_BYTES = 1 << 20,            /* payload of a data message */
    MSG_CHUNK_FLOATS = 1 << 18,           /* the same in f32 elements: grain of parameter ranges */
    MSG_PAYLOAD_BYTES = (1 << 20) + 4096, /* a chunk with the overhead of its codec */
    MSG_WINDOW_BYTES = 64 << 20, /* most that a data client asks one aggregator for at once */
    MSG_REQUESTS = 128,          /* the same in requests */
    MSG_CREDIT = 8,              /* pieces of work that a member may ask for at once */
    MSG_SHARED_QUEUE = 32768,    /* control messages, on a connection of many members */
    MSG_WINDOW_FIRST = 2,        /* chunks before it is known how fast answers come */
    MSG_PACK_BYTES = 30000000,   /* a second: below it pseudo-gradients and changes are packed */
    MSG_SEND_QUEUE = 160,        /* data messages queued for a peer: a window and more */
    MSG_RECEIVE_QUEUE = 32,      /* and, of who connects, from one; more waits on the line */
    MSG_UPLOADS = 256,           /* objects that arrive at one aggregator at a time */
    MSG_PEER_UPLOADS = 8,        /* and from one peer */
    MSG_PEER_RATE = 10000, /* messages a second on a TCP connection, and of a key on all of its */
    MSG_KEY_CONNECTIONS = 8192, /* of one key at one process, or half of the files it may open */
    MSG_KEY_UPLOADS = MSG_UPLOADS / 2,
    MSG_UNFINISHED_BYTES = 5 << 19,   /* of a message that has not ended: more than the largest */
    MSG_LISTENER_BYTES = 8 << 10,     /* from one who hears events: a handshake and subscriptions */
    MSG_LISTENER_QUEUE = 16,          /* of its messages */
    MSG_UNFINISHED_TOTAL = 256 << 20, /* of all of them at one process */
    MSG_WAITING_BYTES = 80 << 20,     /* on a connection: a window and more */
    MSG_HELD_TOTAL = 128 << 20,       /* in memory, of all connections of a shepherd or front */
    MSG_HELD_BULK = 1 << 30, /* and of an aggregator, whose reactor may add up for a while */

    MSG_HEARTBEAT_MS = 500,
    MSG_TIMEOUT_MS = 4000, /* silence after which a peer is lost */
    MSG_HELLO_MS = 1000,   /* a HELLO without WELCOME is repeated, doubling up to ... */
    MSG_HELLO_MAX_MS = 8000,
    MSG_RESEND_MS = 1000, /* the shepherd says again what was not answered */
    MSG_ASK_MS = 1000,    /* a data client asks whether requests were lost, doubling up to ... */
    MSG_ASK_MAX_MS = 8000,
    MSG_NOT_READY_MS = 200, /* so is one that was told "not ready" */
    MSG_AHEAD_MS = 40,      /* and one for a chunk of the next round, doubling up to ... */
    MSG_AHEAD_MAX_MS = 240,
    MSG_AHEAD_TIMES = 4,         /* how often an aggregator makes a chunk of the next round */
    MSG_CANNOT_WRITE_MS = 1000,  /* one that was told "cannot write", without end */
    MSG_UPLOAD_IDLE_MS = 120000, /* without a chunk of it for so long an upload ends */
    MSG_UPLOAD_ROOM_MS = 30000,  /* or when another one needs the room */
    MSG_PING_MS = 10000,         /* ZeroMQ's own heartbeats, of who connects ... */
    MSG_DEAF_MS = 60000,         /* which ends when it is silent, or does not read, for so long */
    MSG_DATA_TIMEOUT_MS = 30000, /* nothing but that for this long: the aggregator is lost */
    MSG_MAX_SHARDS = 256,
    MSG_MAX_MEMBERS = 65536,
};

#endif
