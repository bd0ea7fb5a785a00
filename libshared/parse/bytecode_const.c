/* Constants of MLIR bytecode: small ones as hex in the text, large ones as a range of the file. */
#include "parse/bytecode.h"

enum { HEX_MOST = 256, PACKED_MOST = 1 << 12 };

static void hex(const uint8_t *at, size_t n, str_t *out)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < n; i++) {
        const char two[] = {digits[at[i] >> 4], digits[at[i] & 15]};
        str_addn(out, two, sizeof two);
    }
}

/* Bits, lowest first, as a byte each. */
static void hex_bits(const uint8_t *at, uint64_t n, str_t *out)
{
    for (uint64_t i = 0; i < n; i++) str_add(out, at[i / 8] >> (i % 8) & 1 ? "01" : "00");
}

/* Booleans are packed, 8 to a byte, but for those that are all the same, whose byte is 00 or FF. */
static bool is_packed(bytes_t blob, uint64_t count)
{
    size_t n = (size_t)(blob.end - blob.at);
    return n != count && n == count / 8 + (count % 8 != 0);
}

int bytecode_dense(bytecode_t *b, uint64_t type, bytes_t blob, str_t *out)
{
    uint64_t count;
    bool boolean;
    size_t n = (size_t)(blob.end - blob.at);
    if (bytecode_tensor(b, type, &count, &boolean) < 0) {
        if (b->err->code) return -1;
        return bytecode_fail(b, blob.at, ERR_UNSUPPORTED,
                             "a constant is no tensor of a known size");
    }
    bool packed = boolean && is_packed(blob, count);
    if (n == 0) {
        str_add(out, "dense<> : ");
    } else if (packed && count <= PACKED_MOST) {
        str_add(out, "dense<\"0x");
        hex_bits(blob.at, count, out);
        str_add(out, "\"> : ");
    } else if (n <= HEX_MOST && !packed) {
        str_add(out, "dense<\"0x");
        hex(blob.at, n, out);
        str_add(out, "\"> : ");
    } else {
        str_addf(out, "dense_resource<%zu> : ", b->blob.n);
        VEC_PUSH(&b->blob, ((blob_t){blob.at, n}));
    }
    return bytecode_type(b, type, out);
}
