/* UTF-8 and the rest; ASCII eight bytes at a time. */
#include "text/spans.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

size_t spans_valid(const char *text, size_t n)
{
    size_t at = 0;
    while (at < n) {
        uint64_t eight;
        if (n - at >= 8 && (memcpy(&eight, text + at, 8), !(eight & 0x8080808080808080u))) {
            at += 8;
            continue;
        }
        size_t length = utf8_next(text + at, n - at, NULL);
        if (length == 0) return at;
        at += length;
    }
    return at;
}

size_t spans_invalid(const char *text, size_t n)
{
    size_t at = 0;
    while (at < n && utf8_next(text + at, n - at, NULL) == 0) at++;
    return at;
}
