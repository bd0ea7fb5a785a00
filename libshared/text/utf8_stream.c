/* Whole characters out of pieces of bytes. */
#include "text/utf8_stream.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* Can bytes[0, n), n below 4, still become a character? Tried with the least and the greatest
 * bytes that may follow: the second byte alone has other bounds than 0x80 and 0xBF. */
static bool may_grow(const char *bytes, size_t n)
{
    for (int fill = 0; fill < 2; fill++) {
        char whole[4];
        memset(whole, fill ? 0xBF : 0x80, sizeof whole);
        memcpy(whole, bytes, n);
        for (size_t length = n + 1; length <= 4; length++)
            if (utf8_next(whole, length, NULL) == length) return true;
    }
    return false;
}

static void take(utf8_stream_t *self, char byte, str_t *out)
{
    self->held[self->n++] = byte;
    if (utf8_next(self->held, self->n, NULL) == self->n) {
        str_addn(out, self->held, self->n);
        self->n = 0;
    } else if (self->n == 4 || !may_grow(self->held, self->n)) {
        /* All but the last byte were the beginning of something; the last may begin another. */
        bool again = self->n > 1;
        str_add(out, REPLACEMENT);
        self->n = 0;
        if (again) take(self, byte, out);
    }
}

void utf8_stream_add(utf8_stream_t *self, const char *bytes, size_t n, str_t *out)
{
    for (size_t i = 0; i < n; i++) take(self, bytes[i], out);
}

void utf8_stream_end(utf8_stream_t *self, str_t *out)
{
    if (self->n > 0) str_add(out, REPLACEMENT);
    self->n = 0;
}
