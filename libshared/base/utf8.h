/* UTF-8, as RFC 3629 has it: no surrogates, nothing over-long, nothing above U+10FFFF. For text
 * that comes from outside and goes where only UTF-8 may: JSON, logs, databases. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Bytes of the character that text[0..n) begins with; 0: it begins with none (or n is 0).
 * `code` (may be NULL) becomes its code point. */
size_t utf8_next(const char *text, size_t n, unsigned *code);

/* A character that a terminal or a line-based reader may act on: U+0000 to U+001F, U+007F to
 * U+009F, the line and paragraph separators, and those that change the direction of text. */
bool utf8_is_control(unsigned code);

/* Append text[0..n) with each byte that belongs to no character as U+FFFD, and NUL, too. */
void utf8_add(str_t *out, const char *text, size_t n);

/* In place: each byte of a control character, or of none at all, becomes '?'. With `lines` ends of lines and tabs stay. */
void utf8_plain(char *text, bool lines);

/* Copy as much of a text as fits into `space` bytes with its end, whole characters only. */
void utf8_cut(char *to, size_t space, const char *text);

#endif
