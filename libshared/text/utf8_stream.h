/* Text that arrives in pieces, shown as whole characters: a character whose bytes are not all there
 * yet waits for the rest. Bytes that belong to no character become U+FFFD. {0} is an empty one. */
#ifndef TEXT_UTF8_STREAM_H
#define TEXT_UTF8_STREAM_H

#include <stddef.h>

#include "base/str.h"

typedef struct {
    char held[4];
    size_t n; /* bytes that wait: 0 to 3 */
} utf8_stream_t;

/* Append what has become readable with these bytes. */
void utf8_stream_add(utf8_stream_t *self, const char *bytes, size_t n, str_t *out);

/* Nothing more comes: what waits is no character. */
void utf8_stream_end(utf8_stream_t *self, str_t *out);

#endif
