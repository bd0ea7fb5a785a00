/* The alphabet of byte-level tokenizers (GPT-2): each byte is a printable character, so that any
 * bytes can be written in JSON. '!' to '~', U+00A1 to U+00AC and U+00AE to U+00FF stand for
 * themselves; the other 68 bytes, in order, are U+0100 to U+0143. Pure functions. */
#ifndef TEXT_ALPHABET_H
#define TEXT_ALPHABET_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

unsigned alphabet_code(uint8_t byte); /* the character of a byte */
int alphabet_byte(unsigned code);     /* the byte of a character; -1: it is none of them */

/* Bytes as a word of the alphabet, appended. */
void alphabet_write(str_t *out, const char *bytes, size_t n);

/* A word's bytes, appended; -1 (out untouched) if it has a character that is none of them. */
int alphabet_read(str_t *out, const char *word, size_t n);

/* A character as UTF-8, appended: of any code point below 0x110000. */
void alphabet_add_code(str_t *out, unsigned code);

#endif
