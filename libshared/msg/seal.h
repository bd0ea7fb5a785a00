/* Seals: who vouches for a statement, and since when.
 *
 * A seal is a text of lines: the statement ("pcp plan 1", "plan HASH", ...), then `by` (public key and
 * card of a member), `when` (Unix time) and `signature` (Ed25519 over all lines before it, by the
 * card's signing key). Who knows the authority's public key can judge it without asking anybody. A
 * seal outlives its signer's card: it must have been made before the card's end.
 *
 * Bytes of a seal come from outside: bounded, strict. Pure; any thread. */
#ifndef MSG_SEAL_H
#define MSG_SEAL_H

#include "msg/keys.h"

enum { SEAL_BYTES = 4096 }; /* the largest seal, with its NUL */

typedef struct {
    keys_card_t by;
    int64_t when_s;
} seal_t;

/* Sign a statement: lines, each with its "\n". Returns, caller frees. */
char *seal_make(const keys_t *self, const char *statement, int64_t when_s);

/* Does the seal begin with these lines, and is it signed by a member of the authority's? Whether
 * that member's role may say such a thing, and whether its key is revoked, is the caller's to ask.
 * -1 with ERR_STATE: the text says what is wrong, as in "it ...". */
int seal_check(const char *text, const char *begins, const keys_trust_t *trust, seal_t *out,
               err_t *err);

/* What a seal says of itself, unjudged. -1: it is none. */
int seal_read(const char *text, seal_t *out);

#endif
