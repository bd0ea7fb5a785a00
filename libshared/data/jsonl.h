/* JSON lines: a document in one field of each. Pure. */
#ifndef DATA_JSONL_H
#define DATA_JSONL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* The next line of text[*at, n) that is not blank: its field's text into out, which is emptied first; *at
 * goes behind the line, *line (its number, from 1) with it. 1; 0: there is none; ERR_PARSE "LINE: ...": no
 * JSON object, no such field (names those that are there), or one that is no text. */
/* `as_json`: the field may have any value, and its JSON is what comes out. */
int jsonl_next(const char *text, size_t n, const char *field, bool as_json, size_t *at,
               uint64_t *line, str_t *out, err_t *err);

#endif
