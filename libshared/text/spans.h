/* Text that may be anything, in spans of UTF-8 and of bytes that are none. Pure functions. */
#ifndef TEXT_SPANS_H
#define TEXT_SPANS_H

#include <stddef.h>

/* How many bytes from the beginning are whole characters. */
size_t spans_valid(const char *text, size_t n);

/* How many bytes from the beginning belong to no character. */
size_t spans_invalid(const char *text, size_t n);

#endif
