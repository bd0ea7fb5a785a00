/* Multiple-choice items from JSON lines, as tokens. A line has
 *
 *   context | ctx | question   the text that a choice goes on from
 *   choices | endings          texts, two at least; or {"text": [...], "label": [...]}
 *   answer | label | answerKey the right one: its index from 0, also as text; a label; or, without
 *                              labels, its letter from A
 *
 * and any other fields. A blank is put between context and choice where neither has whitespace there.
 * Context and choice are encoded together. A choice's tokens are those from the first one that has
 * bytes behind what the context alone would be decoded to: where a token crosses the boundary, it is
 * the choice's, whole. */
#ifndef PCP_CHOICE_ITEMS_H
#define PCP_CHOICE_ITEMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "text/tokenizer.h"

typedef struct {
    uint32_t *token; /* [n]: what the tokenizer puts before a text, the context, the choice */
    size_t n, first; /* 1 <= first < n: where the choice begins */
    size_t n_bytes;  /* of the choice, without the blank before it; at least 1 */
    double logprob;  /* sum over tokens [first, n); set by who scores them */
} choice_t;

typedef struct {
    uint64_t line; /* from 1 */
    size_t answer; /* below n */
    choice_t *choice;
    size_t n;
} choice_item_t;

typedef VEC(choice_item_t) choice_items_t;

/* ERR_IO; ERR_PARSE and ERR_ARG "FILE:LINE: ...": no JSON object, a field that is missing, there under two
 * names or of another type, no such answer, a choice without text, nothing before the first choice's token;
 * ERR_ARG: no items, a tokenizer that reads no text (raw). */
int choice_items_read(const char *path, const tokenizer_t *tokenizer, choice_items_t *items,
                      err_t *err);
void choice_items_fini(choice_items_t *self);

#endif
