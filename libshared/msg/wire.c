/* Packing and checking of data headers (msg/wire.h has the layout). */
#include "msg/wire.h"

#include <string.h>

#include "msg/limits.h"

enum { USED_BYTES = 72 + WIRE_HASH_BYTES + 4 }; /* of the header; zeros behind */
enum { FLAGS = 0xf0 };
static const uint8_t MAGIC[4] = {'P', 'C', 'P', 'D'};

static const struct {
    const char *name;
    size_t max_payload;
} types[WIRE_TYPE_COUNT] = {
    [WIRE_GET_OBJECT] = {"GET_OBJECT", 0},
    [WIRE_GET_PARAMS] = {"GET_PARAMS", 0},
    [WIRE_PUT_OBJECT] = {"PUT_OBJECT", MSG_CHUNK_BYTES},
    [WIRE_PUT_DELTA] = {"PUT_DELTA", MSG_PAYLOAD_BYTES},
    [WIRE_PUT_INIT] = {"PUT_INIT", MSG_CHUNK_BYTES},
    [WIRE_DATA] = {"DATA", MSG_CHUNK_BYTES},
    [WIRE_ACK] = {"ACK", 0},
    [WIRE_NACK] = {"NACK", MSG_NAME_BYTES},
    [WIRE_GET_OUTER] = {"GET_OUTER", 0},
    [WIRE_PUT_OUTER] = {"PUT_OUTER", MSG_CHUNK_BYTES},
    [WIRE_PING] = {"PING", 0},
    [WIRE_GET_CHANGE] = {"GET_CHANGE", 0},
    [WIRE_GET_AHEAD] = {"GET_AHEAD", 0},
    [WIRE_GET_CHECKS] = {"GET_CHECKS", 0},
};

static const char *const nacks[NACK_COUNT] = {
    [NACK_BAD_MESSAGE] = "bad message", [NACK_UNKNOWN_OBJECT] = "unknown object",
    [NACK_WRONG_RUN] = "wrong run",     [NACK_WRONG_ROUND] = "wrong round",
    [NACK_OLD_FENCE] = "old fence",     [NACK_BAD_RANGE] = "bad range",
    [NACK_DAMAGED] = "damaged payload", [NACK_STORAGE] = "storage failed",
    [NACK_NOT_READY] = "not ready",     [NACK_CANNOT_WRITE] = "cannot write",
    [NACK_NOT_ALLOWED] = "not allowed", [NACK_NO_CHANGE] = "no change",
};

static void put(uint8_t *at, uint64_t value, int n)
{
    for (int i = 0; i < n; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *at, int n)
{
    uint64_t value = 0;
    for (int i = 0; i < n; i++) value |= (uint64_t)at[i] << (8 * i);
    return value;
}

void wire_pack(const wire_header_t *header, uint8_t out[WIRE_HEADER_BYTES])
{
    memset(out, 0, WIRE_HEADER_BYTES);
    memcpy(out, MAGIC, sizeof MAGIC);
    out[4] = MSG_VERSION;
    out[5] = (uint8_t)header->type;
    out[6] = header->codec;
    out[7] = header->code | (header->type == WIRE_NACK ? 0 : header->flags);
    put(out + 8, header->run, 8);
    put(out + 16, header->seq, 4);
    put(out + 20, header->round, 4);
    put(out + 24, header->replica, 4);
    put(out + 28, header->fence, 4);
    put(out + 32, header->begin, 8);
    put(out + 40, header->count, 8);
    put(out + 48, header->total, 8);
    put(out + 56, header->weight, 8);
    put(out + 64, header->check, 8);
    memcpy(out + 72, header->object, WIRE_HASH_BYTES);
    put(out + USED_BYTES - 4, header->fragment, 2);
    put(out + USED_BYTES - 2, header->vector, 2);
}

int wire_unpack(const uint8_t *bytes, size_t n, size_t n_payload, wire_header_t *header, err_t *err)
{
    if (n != WIRE_HEADER_BYTES)
        return err_set(err, ERR_NET, "data header: %zu bytes instead of %d", n, WIRE_HEADER_BYTES);
    if (memcmp(bytes, MAGIC, sizeof MAGIC) != 0)
        return err_set(err, ERR_NET, "data header: does not start with PCPD");
    if (bytes[4] != MSG_VERSION)
        return err_set(err, ERR_NET, "data header: version %d, this program speaks %d", bytes[4],
                       MSG_VERSION);
    unsigned type = bytes[5];
    if (type >= WIRE_TYPE_COUNT || !types[type].name)
        return err_set(err, ERR_NET, "data header: unknown type %u", type);
    if (n_payload > types[type].max_payload)
        return err_set(err, ERR_NET, "%s: payload of %zu bytes, limit %zu", types[type].name,
                       n_payload, types[type].max_payload);
    for (int i = USED_BYTES; i < WIRE_HEADER_BYTES; i++)
        if (bytes[i])
            return err_set(err, ERR_NET, "%s: header byte %d is %d, should be 0", types[type].name,
                           i, bytes[i]);
    uint8_t flags = type == WIRE_NACK ? 0 : bytes[7] & FLAGS;
    uint64_t begin = get(bytes + 32, 8), count = get(bytes + 40, 8), end;
    if (__builtin_add_overflow(begin, count, &end) || end > INT64_MAX / 8)
        return err_set(err, ERR_NET, "%s: range %llu + %llu is too large", types[type].name,
                       (unsigned long long)begin, (unsigned long long)count);
    *header = (wire_header_t){
        .type = (wire_type_t)type,
        .codec = bytes[6],
        .code = bytes[7] & (uint8_t)~flags,
        .flags = flags,
        .run = get(bytes + 8, 8),
        .seq = (uint32_t)get(bytes + 16, 4),
        .round = (uint32_t)get(bytes + 20, 4),
        .replica = (uint32_t)get(bytes + 24, 4),
        .fence = (uint32_t)get(bytes + 28, 4),
        .begin = begin,
        .count = count,
        .total = get(bytes + 48, 8),
        .weight = get(bytes + 56, 8),
        .check = get(bytes + 64, 8),
        .fragment = (uint16_t)get(bytes + USED_BYTES - 4, 2),
        .vector = (uint16_t)get(bytes + USED_BYTES - 2, 2),
    };
    memcpy(header->object, bytes + 72, WIRE_HASH_BYTES);
    return 0;
}

int wire_check(const wire_header_t *header, const void *payload, size_t n, err_t *err)
{
    uint64_t check = hash_fast(payload, n);
    if (check == header->check) return 0;
    return err_set(err, ERR_CORRUPT, "%s at %llu: payload of %zu bytes fails its check",
                   wire_type_name(header->type), (unsigned long long)header->begin, n);
}

const char *wire_type_name(wire_type_t type)
{
    return (unsigned)type < WIRE_TYPE_COUNT && types[type].name ? types[type].name : "unknown";
}

const char *wire_nack_name(unsigned code)
{
    return code < NACK_COUNT && nacks[code] ? nacks[code] : "unknown";
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

int wire_hash_parse(const char *hex, uint8_t out[WIRE_HASH_BYTES], err_t *err)
{
    uint8_t bytes[WIRE_HASH_BYTES];
    if (!hex || strlen(hex) != HASH_HEX - 1)
        return err_set(err, ERR_ARG, "content hash: not 64 hex digits");
    for (int i = 0; i < WIRE_HASH_BYTES; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return err_set(err, ERR_ARG, "content hash: \"%.64s\" is not lower-case hex", hex);
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    memcpy(out, bytes, sizeof bytes);
    return 0;
}

void wire_hash_print(const uint8_t hash[WIRE_HASH_BYTES], char hex[HASH_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < WIRE_HASH_BYTES; i++) {
        hex[2 * i] = digits[hash[i] >> 4];
        hex[2 * i + 1] = digits[hash[i] & 15];
    }
    hex[HASH_HEX - 1] = '\0';
}

uint64_t wire_run_hash(const char *run)
{
    return hash_fast(run, strlen(run));
}
