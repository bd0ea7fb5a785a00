/* Reads of MLIR bytecode's primitives: varints with the length in the first byte's low bits,
 * sections, numbers of tables. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "parse/bytecode.h"

enum { PADDING = 0xCB };

int bytecode_fail(bytecode_t *b, const uint8_t *at, err_code_t code, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return err_set(b->err, code, "%s: MLIR bytecode, byte %zu: %s", b->file, (size_t)(at - b->all),
                   text);
}

static size_t left(const bytes_t *in)
{
    return (size_t)(in->end - in->at);
}

static int cut(bytecode_t *b, const bytes_t *in)
{
    return bytecode_fail(b, in->at, ERR_CORRUPT, "its section ends here; the file is damaged");
}

int bytes_byte(bytecode_t *b, bytes_t *in, uint8_t *value)
{
    *value = 0;
    if (in->at == in->end) return cut(b, in);
    *value = *in->at++;
    return 0;
}

int bytes_varint(bytecode_t *b, bytes_t *in, uint64_t *value)
{
    uint8_t first;
    uint64_t rest = 0;
    *value = 0;
    if (bytes_byte(b, in, &first) < 0) return -1;
    int n = first ? __builtin_ctz(first) : 8; /* bytes that follow */
    if (left(in) < (size_t)n) return cut(b, in);
    for (int i = 0; i < n; i++) rest |= (uint64_t)in->at[i] << (8 * i);
    in->at += n;
    *value = n == 8 ? rest : (rest << (7 - n)) | (uint64_t)(first >> (n + 1));
    return 0;
}

int bytes_signed(bytecode_t *b, bytes_t *in, int64_t *value)
{
    uint64_t zigzag;
    if (bytes_varint(b, in, &zigzag) < 0) return -1;
    *value = (int64_t)((zigzag >> 1) ^ (0 - (zigzag & 1)));
    return 0;
}

int bytes_count(bytecode_t *b, bytes_t *in, uint64_t *n)
{
    const uint8_t *at = in->at;
    if (bytes_varint(b, in, n) < 0) return -1;
    if (*n <= left(in)) return 0;
    return bytecode_fail(b, at, ERR_CORRUPT,
                         "%llu things are to follow, but only %zu bytes are left",
                         (unsigned long long)*n, left(in));
}

int bytes_take(bytecode_t *b, bytes_t *in, uint64_t n, bytes_t *out)
{
    if (n > left(in))
        return bytecode_fail(b, in->at, ERR_CORRUPT,
                             "%llu bytes are to follow, but only %zu are left",
                             (unsigned long long)n, left(in));
    *out = (bytes_t){in->at, in->at + n};
    in->at += n;
    return 0;
}

int bytes_flagged(bytecode_t *b, bytes_t *in, uint64_t *value, bool *flag)
{
    if (bytes_varint(b, in, value) < 0) return -1;
    *flag = *value & 1;
    *value >>= 1;
    return 0;
}

int bytes_index(bytecode_t *b, bytes_t *in, size_t n, const char *what, uint64_t *index)
{
    const uint8_t *at = in->at;
    if (bytes_varint(b, in, index) < 0) return -1;
    if (*index < n) return 0;
    return bytecode_fail(b, at, ERR_CORRUPT, "%s %llu is used, but there are %zu", what,
                         (unsigned long long)*index, n);
}

int bytes_string(bytecode_t *b, bytes_t *in, span_t *text)
{
    uint64_t index;
    if (bytes_index(b, in, b->string.n, "string", &index) < 0) return -1;
    *text = b->string.at[index];
    return 0;
}

static int align(bytecode_t *b, bytes_t *in)
{
    uint64_t alignment;
    const uint8_t *at = in->at;
    if (bytes_varint(b, in, &alignment) < 0) return -1;
    if (alignment == 0 || alignment > (1u << 20) || (alignment & (alignment - 1)))
        return bytecode_fail(b, at, ERR_CORRUPT, "an alignment of %llu bytes",
                             (unsigned long long)alignment);
    while ((size_t)(in->at - b->all) & (alignment - 1)) {
        uint8_t padding;
        if (bytes_byte(b, in, &padding) < 0) return -1;
        if (padding != PADDING)
            return bytecode_fail(b, in->at - 1, ERR_CORRUPT,
                                 "0x%02x where padding (0x%02x) must be", padding, PADDING);
    }
    return 0;
}

int bytes_section(bytecode_t *b, bytes_t *in, int *id, bytes_t *data)
{
    uint8_t first;
    uint64_t n;
    if (bytes_byte(b, in, &first) < 0 || bytes_varint(b, in, &n) < 0) return -1;
    if (first & 0x80 && align(b, in) < 0) return -1;
    *id = first & 0x7F;
    return bytes_take(b, in, n, data);
}

bool span_is(span_t span, const char *text)
{
    return strlen(text) == span.n && memcmp(span.at, text, span.n) == 0;
}
