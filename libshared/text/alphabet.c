/* Bytes as printable characters and back. */
#include "text/alphabet.h"

#include <stdbool.h>

#include "base/utf8.h"

enum { FIRST_MOVED = 0x100, N_MOVED = 68 };

static bool stands_for_itself(unsigned code)
{
    return (code >= 0x21 && code <= 0x7E) || (code >= 0xA1 && code <= 0xAC) ||
           (code >= 0xAE && code <= 0xFF);
}

/* The moved bytes in order: 0x00 to 0x20, 0x7F to 0xA0, 0xAD. */
unsigned alphabet_code(uint8_t byte)
{
    if (stands_for_itself(byte)) return byte;
    if (byte <= 0x20) return FIRST_MOVED + byte;
    if (byte <= 0xA0) return FIRST_MOVED + 0x21 + (byte - 0x7Fu);
    return FIRST_MOVED + N_MOVED - 1;
}

int alphabet_byte(unsigned code)
{
    if (stands_for_itself(code)) return (int)code;
    if (code < FIRST_MOVED || code >= FIRST_MOVED + N_MOVED) return -1;
    unsigned k = code - FIRST_MOVED;
    if (k <= 0x20) return (int)k;
    return k == N_MOVED - 1 ? 0xAD : (int)(k - 0x21 + 0x7F);
}

void alphabet_add_code(str_t *out, unsigned code)
{
    char bytes[4];
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, code >>= 6) bytes[i] = (char)(0x80 | (code & 0x3F));
    bytes[0] = (char)(n == 1 ? code : ((0xF00u >> n & 0xFF) | code));
    str_addn(out, bytes, n);
}

void alphabet_write(str_t *out, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) alphabet_add_code(out, alphabet_code((uint8_t)bytes[i]));
}

int alphabet_read(str_t *out, const char *word, size_t n)
{
    size_t before = out->n;
    for (size_t at = 0; at < n;) {
        unsigned code;
        size_t length = utf8_next(word + at, n - at, &code);
        int byte = length ? alphabet_byte(code) : -1;
        if (byte < 0) {
            out->n = before;
            return -1;
        }
        char c = (char)byte;
        str_addn(out, &c, 1);
        at += length;
    }
    return 0;
}
