/* UTF-8: one decoder, and text made valid. */
#include "base/utf8.h"

#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* By the first byte: how many follow, and the least code point so long a form may have. */
static size_t lead(unsigned char c, unsigned *code, unsigned *least)
{
    if (c < 0x80) {
        *code = c, *least = 0;
        return 1;
    }
    if (c >= 0xC2 && c < 0xE0) {
        *code = c & 0x1F, *least = 0x80;
        return 2;
    }
    if (c >= 0xE0 && c < 0xF0) {
        *code = c & 0x0F, *least = 0x800;
        return 3;
    }
    if (c >= 0xF0 && c < 0xF5) {
        *code = c & 0x07, *least = 0x10000;
        return 4;
    }
    return 0;
}

size_t utf8_next(const char *text, size_t n, unsigned *code)
{
    unsigned value = 0, least = 0;
    size_t length = n > 0 ? lead((unsigned char)text[0], &value, &least) : 0;
    if (length == 0 || length > n) return 0;
    for (size_t i = 1; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c & 0xC0) != 0x80) return 0;
        value = value << 6 | (c & 0x3F);
    }
    if (value < least || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return 0;
    if (code) *code = value;
    return length;
}

bool utf8_is_control(unsigned code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200E && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

void utf8_add(str_t *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t length = utf8_next(text + i, n - i, NULL);
        if (length == 0 || text[i] == '\0')
            str_add(out, REPLACEMENT);
        else
            str_addn(out, text + i, length);
        i += length ? length : 1;
    }
}

void utf8_plain(char *text, bool lines)
{
    for (size_t n = strlen(text), i = 0, length; i < n; i += length) {
        unsigned code = 0;
        length = utf8_next(text + i, n - i, &code);
        bool kept = lines && (code == '\n' || code == '\t');
        if (length > 0 && (kept || !utf8_is_control(code))) continue;
        if (length == 0) length = 1;
        memset(text + i, '?', length);
    }
}

void utf8_cut(char *to, size_t space, const char *text)
{
    size_t n = strlen(text), at = 0;
    for (size_t length; at < n && (length = utf8_next(text + at, n - at, NULL)) > 0; at += length)
        if (at + length >= space) break;
    memcpy(to, text, at);
    to[at] = '\0';
}
