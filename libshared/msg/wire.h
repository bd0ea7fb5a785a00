/* The data plane's message: a fixed binary header frame, then a payload frame (may be empty).
 *
 * Header, little-endian, WIRE_HEADER_BYTES long:
 *   0 magic "PCPD"   4 version u8   5 type u8   6 codec u8   7 code u8, of all but NACK with flags in its upper half
 *   8 run u64       16 seq u32     20 round u32   24 replica u32   28 fence u32
 *  32 begin u64     40 count u64   48 total u64   56 weight u64
 *  64 check u64 (XXH3 of the payload)   72 object[32] (BLAKE2b-256)   104 fragment u16
 * 106 vector u16   108 zeros to 128
 * begin and count are bytes for objects and elements of the flat parameter vector otherwise.
 * Pure functions. */
#ifndef MSG_WIRE_H
#define MSG_WIRE_H

#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"

enum { WIRE_HEADER_BYTES = 128, WIRE_HASH_BYTES = 32 };

typedef enum {
    WIRE_GET_OBJECT = 1, /* object, begin, count */
    WIRE_GET_PARAMS,     /* run, round, begin, count: f32 */
    WIRE_PUT_OBJECT,     /* object, begin, count, total; payload */
    WIRE_PUT_DELTA,      /* run, round, replica, fence, begin, count, codec, weight; payload */
    WIRE_PUT_INIT,       /* run, round, begin, count: f32 payload */
    WIRE_DATA,           /* answers a GET; total: the whole object's bytes */
    WIRE_ACK,            /* answers a PUT; code: wire_ack_t */
    WIRE_NACK,           /* answers either; code, payload: text */
    WIRE_GET_OUTER,      /* as GET_PARAMS: state `vector` of the outer rule (outer/outer.h) */
    WIRE_PUT_OUTER,      /* as PUT_INIT, before its last chunk: the same */
    WIRE_PING,           /* what was asked before, on this connection, has been answered: ACK */
    WIRE_GET_CHANGE, /* run, round, begin, count, codec: how the round before changed these parameters (outer/change.h) */
    WIRE_GET_AHEAD, /* the same, or with codec 0 as GET_PARAMS, of a round that is not committed yet */
    WIRE_GET_CHECKS, /* run, round, begin, count: XXH3 of each chunk of these parameters */
    WIRE_TYPE_COUNT,
} wire_type_t;

typedef enum {
    ACK_TAKEN,
    ACK_COMPLETE, /* this object was there already, or is now */
    ACK_REFUSED,  /* taken note of: the update it belongs to will not be admitted (INSPECTED) */
} wire_ack_t;

typedef enum {
    NACK_BAD_MESSAGE = 1, /* header or payload that does not follow this page */
    NACK_UNKNOWN_OBJECT,
    NACK_WRONG_RUN,
    NACK_WRONG_ROUND, /* not the open round, or no such snapshot */
    NACK_OLD_FENCE,
    NACK_BAD_RANGE,
    NACK_DAMAGED, /* the payload does not match its check: send again */
    NACK_STORAGE, /* unreadable, or other bytes than were announced */
    NACK_NOT_READY,
    NACK_CANNOT_WRITE, /* a disk that is full or read-only: ask again, for as long as it takes */
    NACK_NOT_ALLOWED,  /* not for the holder of such a key */
    NACK_NO_CHANGE, /* the round began with these parameters, or its changes have another codec */
    NACK_COUNT,
} wire_nack_t;

/* What both sides need to know before a payload is packed (msg/packed.h). An aggregator of an older version sends a request's
 * flags back with its answer: hence each has its direction. */
enum {
    WIRE_KNOWS = 0x10,  /* request: who asks knows these flags */
    WIRE_PACK = 0x20,   /* request: over a slow line, the answer may be packed */
    WIRE_TAKES = 0x40,  /* answer to one who knows: PUT_DELTA may be packed */
    WIRE_PACKED = 0x80, /* PUT_DELTA, DATA: this payload is; check is of what is sent */
};

/* `vector` of PUT_DELTA: the update of a late lease under a new name, of which chunks may be here; and of the ACK to any: total says
 * how many are, 0 where the round is over. Aggregators of an older version send the request's own back. */
enum { WIRE_LATE = 1, WIRE_HERE = 2 };

/* With `codec` of PUT_DELTA: the states in it are exact (outer/codec.h, codec_chunk_t). */
enum { WIRE_EXACT = 0x80 };

typedef struct {
    wire_type_t type;
    uint8_t codec, code, flags;
    uint64_t run;
    uint32_t seq, round, replica, fence;
    uint64_t begin, count, total, weight;
    uint64_t check;
    uint16_t fragment, vector;
    uint8_t object[WIRE_HASH_BYTES];
} wire_header_t;

void wire_pack(const wire_header_t *header, uint8_t out[WIRE_HEADER_BYTES]);

/* Header of a message whose payload has n_payload bytes. Checks magic, version, type, the payload
 * limit of the type and that begin + count does not overflow. -1 with ERR_NET otherwise. */
int wire_unpack(const uint8_t *bytes, size_t n, size_t n_payload, wire_header_t *header,
                err_t *err);

/* -1 with ERR_CORRUPT when the payload does not match header->check. */
int wire_check(const wire_header_t *header, const void *payload, size_t n, err_t *err);

const char *wire_type_name(wire_type_t type);
const char *wire_nack_name(unsigned code);

/* 64 hex digits to bytes and back; parse: -1 with ERR_ARG for anything else. */
int wire_hash_parse(const char *hex, uint8_t out[WIRE_HASH_BYTES], err_t *err);
void wire_hash_print(const uint8_t hash[WIRE_HASH_BYTES], char hex[HASH_HEX]);

/* The run's short name in headers: hash_fast of its id. */
uint64_t wire_run_hash(const char *run);

#endif
