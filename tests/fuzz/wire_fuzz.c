/* Fuzz target: a data header that wire_unpack accepts is within limits and packs to the same bytes.
 * The input's first four bytes are the payload's size. */
#include "msg/limits.h"
#include "msg/wire.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint32_t n_payload = 0;
    uint8_t again[WIRE_HEADER_BYTES];
    err_t err = {0};
    wire_header_t h;
    if (n < sizeof n_payload) return 0;
    memcpy(&n_payload, data, sizeof n_payload);
    data += sizeof n_payload;
    n -= sizeof n_payload;
    if (wire_unpack(data, n, n_payload, &h, &err) < 0) {
        if (err.code != ERR_NET) broken("a refusal is ERR_NET, in words", err.text);
        return 0;
    }
    if (n != WIRE_HEADER_BYTES) broken("a header has one size", "");
    if (h.type < WIRE_GET_OBJECT || h.type >= WIRE_TYPE_COUNT) broken("type", "");
    if (h.begin + h.count < h.begin) broken("begin + count fits", "");
    if (n_payload > MSG_PAYLOAD_BYTES) broken("payload limit", wire_type_name(h.type));
    if (!wire_type_name(h.type) || !wire_nack_name(h.code)) broken("names", "");
    if (h.flags & 0x0f || h.flags & h.code) broken("flags are the upper half of the code", "");
    if (h.type == WIRE_NACK && h.flags) broken("a NACK has no flags", "");
    wire_pack(&h, again);
    if (memcmp(again, data, WIRE_HEADER_BYTES) != 0) broken("packs to the same bytes", "");
    return 0;
}
