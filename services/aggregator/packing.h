/* Payloads that are packed on the line (msg/packed.h): changes on their way out, each packed once, and pseudo-gradients
 * that come. */
#ifndef AGGREGATOR_PACKING_H
#define AGGREGATOR_PACKING_H

#include "msg/packed.h"
#include "msg/wire.h"

typedef struct aggregator aggregator_t;

typedef struct {
    uint64_t of;    /* check of the chunk as it was; 0: of none */
    uint64_t check; /* of the packed bytes */
    uint8_t *bytes; /* NULL: packing it is not worth it */
    size_t n;
} packed_chunk_t;

typedef struct {
    packer_t *packer;      /* NULL until it is needed */
    packed_chunk_t *chunk; /* of the range; NULL until one is asked for */
    size_t n_chunk;
    uint8_t *payload; /* MSG_PAYLOAD_BYTES; NULL until it is needed */
} packing_t;

#endif
