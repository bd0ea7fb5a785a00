/* Fuzz target: a packed payload of a stranger. It opens into the room that there is, into no byte beyond it and within a
 * fixed memory, each time to the same; what came out packs and opens again. Then it is read as each codec's: values that
 * are finite, or a refusal in words. The input's first three bytes are the room, the rest is the payload. */
#include <math.h>
#include <stddef.h>

#include "msg/limits.h"
#include "msg/packed.h"
#include "outer/codec.h"

#include "alloc_bound.h"
#include "fuzz.h"

/* Neither libzstd nor what it reads and writes is watched by the sanitizers: bytes that end where memory ends. */
typedef struct {
    uint8_t *end;
} packed_edge_t;

static packed_edge_t packed_edge(size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (n + page - 1) / page * page;
    uint8_t *at = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);
    if (at == MAP_FAILED || mprotect(at + whole, page, PROT_NONE) < 0) broken("mmap", "");
    return (packed_edge_t){at + whole};
}

/* The payload as a codec would take it: a size that no codec makes is refused. */
static void packed_decode(const uint8_t *bytes, size_t n)
{
    static float *values;
    if (!values) values = malloc(MSG_CHUNK_FLOATS * sizeof *values);
    for (uint32_t id = 1; codec_find_id(id, NULL); id++) {
        const codec_t *codec = codec_find_id(id, NULL);
        size_t n_plain = n > 4 ? n - 4 * ((n + CODEC_BLOCK + 3) / (CODEC_BLOCK + 4)) : 0; /* int8 */
        size_t n_half = n > 4 ? 2 * (n - 4 * ((n + CODEC_BLOCK / 2 + 3) / (CODEC_BLOCK / 2 + 4)))
                              : 0;
        const size_t counts[] = {n / 4, n / 2, n_plain, n_half, n * 33};
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            err_t err = {0};
            if (counts[k] == 0 || counts[k] > MSG_CHUNK_FLOATS) continue;
            if (codec_decode(codec, bytes, n, values, counts[k], &err) < 0) {
                if (err.code == ERR_OK) broken("a refusal in words", codec->name);
                continue;
            }
            for (size_t i = 0; i < counts[k]; i++)
                if (!isfinite(values[i])) broken("values are finite", codec->name);
        }
    }
}

static void packed_again(packer_t *packer, const uint8_t *plain, size_t n)
{
    uint8_t *packed = malloc(n), *back = malloc(n);
    size_t got = packer_pack(packer, plain, n, packed);
    if (got &&
        (packer_unpack(packer, packed, got, back, n, NULL) < 0 || memcmp(plain, back, n) != 0))
        broken("what is packed opens to the same", "");
    free(packed);
    free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    enum { HEAD = 3, MOST_BYTES = 16384, PACKER_BYTES = 1 << 18 };
    static packed_edge_t in, out, twice;
    if (!in.end) in = packed_edge(MOST_BYTES);
    if (!out.end) out = packed_edge(MSG_PAYLOAD_BYTES), twice = packed_edge(MSG_PAYLOAD_BYTES);
    if (n < HEAD || n - HEAD > MOST_BYTES) return 0;
    size_t most = (data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) %
                  (MSG_PAYLOAD_BYTES + 1);
    uint8_t *bytes = in.end - (n - HEAD), *plain = out.end - most;
    memcpy(bytes, data + HEAD, n - HEAD);
    err_t err = {0};
    packer_t *packer = packer_new();
    alloc_bound_begin("packer_unpack_most", 0, n, PACKER_BYTES);
    size_t got = packer_unpack_most(packer, bytes, n - HEAD, plain, most, &err);
    alloc_bound_end();
    if (got > most) broken("within the room", "");
    if (got == 0 && err.code != ERR_CORRUPT) broken("a refusal is ERR_CORRUPT, in words", err.text);
    if (got > 0) {
        if (packer_unpack(packer, bytes, n - HEAD, twice.end - got, got, NULL) < 0 ||
            memcmp(plain, twice.end - got, got) != 0)
            broken("opens to the same again", "");
        if (packer_unpack(packer, bytes, n - HEAD, twice.end - got + 1, got - 1, NULL) == 0)
            broken("one byte less is no room for it", "");
        packed_again(packer, plain, got);
        packed_decode(plain, got);
    }
    packed_decode(bytes, n - HEAD); /* one that is not packed */
    packer_destroy(&packer);
    return 0;
}
