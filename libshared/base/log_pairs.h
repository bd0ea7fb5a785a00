/* The pairs of a log line: key=value words of a printf format, each value escaped by itself, so
 * that a text from outside stays one value whatever it holds. Internal to base/log.c. */
#ifndef BASE_LOG_PAIRS_H
#define BASE_LOG_PAIRS_H

#include <stdarg.h>
#include <stdbool.h>

#include "base/str.h"

/* Append the pairs, each with what separates it from the text before.
 *   format   blanks separate words; a word is key=value or key="value with blanks" (\" and \\ in
 *            it mean themselves); a word without '=' is text. Conversions stand for parts of
 *            values (or of keys): d i u o x X c s p and the floats, with flags, width, precision
 *            and the lengths hh h l ll z j t.
 * A value that was made by %s or %c is text, in JSON, too; others are numbers where JSON has such.
 * In logfmt a value is quoted where the format says so or its characters ask for it. Control
 * characters are escaped, bytes that are no UTF-8 become U+FFFD, and of keys only letters, digits
 * and _ . - are kept. */
void log_pairs_add(str_t *line, bool json, const char *format, va_list args);

#endif
