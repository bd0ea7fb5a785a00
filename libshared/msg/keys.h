/* Keys of a cluster's members: certificates, and the files that hold them.
 *
 * The authority of a cluster is an Ed25519 key pair. A member has a Curve25519 key pair for CURVE
 * (ZeroMQ's RFC 26), an Ed25519 pair that follows from its secret (for what it signs, msg/seal.h), and
 * a card: role, name and end of validity, signed by the authority over them and both public keys. Who knows the authority's public key can judge a card; no list is needed but
 * the one of revoked keys, which is signed likewise.
 *
 * Readers take outside bytes: bounded, strict, the same text back from what was read. Pure but for
 * keys_load and what makes keys; any thread. docs/security.md has the formats. */
#ifndef MSG_KEYS_H
#define MSG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/control.pb-c.h"

/* What a member may be. The first ones are the kinds of HELLO, by their numbers. */
typedef enum {
    KEYS_NONE,
    KEYS_COMPILER = MSG__KIND__KIND_COMPILER,
    KEYS_AGGREGATOR = MSG__KIND__KIND_AGGREGATOR,
    KEYS_WORKER = MSG__KIND__KIND_WORKER,
    KEYS_OPERATOR = MSG__KIND__KIND_CLI,
    KEYS_SUPERVISOR = MSG__KIND__KIND_SUPERVISOR, /* and its workers, who use its key */
    KEYS_METRICS,                                 /* hears events, says nothing */
    KEYS_SHEPHERD,
    KEYS_VIEWER,                                /* asks and hears, changes nothing */
    KEYS_INFERENCE = MSG__KIND__KIND_INFERENCE, /* writes texts for a gateway */
    KEYS_GATEWAY,                               /* binds where those join */
    KEYS_ROLES,
} keys_role_t;

enum {
    KEYS_BYTES = 32,
    KEYS_SIGNATURE = 64,
    KEYS_TRUSTED = 2,       /* authorities at a time: two while one takes the place of another */
    KEYS_NAME = 33,         /* a name with its NUL */
    KEYS_FILE_BYTES = 4096, /* a file's largest size; a list of revoked keys may have 1 MiB */
    KEYS_REVOKED_BYTES = 1 << 20,
    KEYS_CARD_TEXT = 320, /* a card as text, with its NUL */
    KEYS_SIGNER = 64,     /* bytes of a secret to sign with */
};
/* What carries a card in the handshake: a property of ZMTP. */
#define KEYS_CARD_PROPERTY "X-Pcp-Card"

typedef struct {
    keys_role_t role;
    char name[KEYS_NAME]; /* letters, digits and . _ @ + */
    int64_t expires_s;    /* Unix time */
    uint8_t public_key[KEYS_BYTES];
    uint8_t signs[KEYS_BYTES]; /* Ed25519: what it signs is judged by this one */
    uint8_t signature[KEYS_SIGNATURE];
} keys_card_t;

/* The public keys of the authorities whose cards, lists and seals are taken. */
typedef struct {
    uint8_t at[KEYS_TRUSTED][KEYS_BYTES];
    size_t n; /* 1, or 2 */
} keys_trust_t;

typedef struct {
    keys_card_t card;
    uint8_t secret[KEYS_BYTES];
    keys_trust_t trust;
    uint8_t server[KEYS_BYTES]; /* public key of the shepherds */
} keys_t;

typedef struct {
    keys_trust_t trust; /* what it tells members to trust: itself, and perhaps another one */
    uint8_t secret[64]; /* Ed25519 */
    uint8_t server[KEYS_BYTES];
} keys_authority_t;

typedef struct {
    uint8_t (*at)[KEYS_BYTES];
    size_t n;
} keys_revoked_t;

const char *keys_role_name(keys_role_t role); /* "worker", "operator", ... */
int keys_role_parse(const char *word, keys_role_t *role, err_t *err); /* ERR_ARG names all */
int keys_name_check(const char *name, err_t *err);                    /* ERR_ARG */

/* --- Making --- */

/* A new authority; its `server` is the key of the card `shepherd` that goes with it. */
void keys_authority_new(keys_authority_t *self, int64_t expires_s, keys_t *shepherd);
/* A new key pair with a card. ERR_ARG: the name. */
int keys_issue(const keys_authority_t *self, keys_role_t role, const char *name, int64_t expires_s,
               keys_t *out, err_t *err);
/* The same pair, role and name under a new card; it trusts what the authority says. */
void keys_renew(const keys_authority_t *self, int64_t expires_s, keys_t *key);
/* A new authority in the place of this one, for the same shepherds. Members trust both from now on:
 * each tells so. */
void keys_authority_next(keys_authority_t *self, keys_authority_t *next);

/* What a member signs with (Ed25519), from its secret. Caller wipes it. */
void keys_signer(const keys_t *self, uint8_t secret[KEYS_SIGNER]);

/* --- Judging --- */

/* Is the card signed by one of the authorities and not expired at now_s? ERR_STATE says which. */
int keys_card_check(const keys_card_t *card, const keys_trust_t *trust, int64_t now_s, err_t *err);
/* Do the secret and the public keys belong together? */
bool keys_whole(const keys_t *self);
/* May `next` take the place of `self` in a process that runs? It is the same member's, ends no sooner, and
 * one of the authorities that are trusted now has signed it. ERR_STATE says what is wrong. */
int keys_succeeds(const keys_t *self, const keys_t *next, int64_t now_s, err_t *err);
bool keys_trusts(const keys_trust_t *trust, const uint8_t authority[KEYS_BYTES]);
/* May its holder say HELLO as a member of this kind and id? An id is the card's name, or the name
 * with "-" and more behind it. NULL: yes; else the text for the sender. */
const char *keys_may_be(const keys_card_t *card, Msg__Kind kind, const char *id);

/* --- Texts: read -1 with ERR_PARSE naming the line and what it should be --- */

int keys_read(const char *text, size_t n, keys_t *out, err_t *err);
char *keys_write(const keys_t *self); /* Returns, caller frees; likewise below. */
int keys_authority_read(const char *text, size_t n, keys_authority_t *out, err_t *err);
char *keys_authority_write(const keys_authority_t *self);
/* Without its public key, which a connection has proved. */
int keys_card_read(const char *text, const uint8_t public_key[KEYS_BYTES], keys_card_t *out,
                   err_t *err);
void keys_card_write(const keys_card_t *card, char text[KEYS_CARD_TEXT]);
/* A list and its signature; ERR_STATE: it is none of the authorities'. `out` is zeroed before; caller
 * frees out->at. */
int keys_revoked_read(const char *text, size_t n, const keys_trust_t *trust, keys_revoked_t *out,
                      err_t *err);
char *keys_revoked_write(const keys_authority_t *self, const keys_revoked_t *list);

/* From a file of at most KEYS_FILE_BYTES (secret_file). -1: it is named. */
int keys_load(const char *path, keys_t *out, err_t *err);

void keys_hex(const uint8_t *bytes, size_t n, char *hex);   /* 2 n digits and NUL */
bool keys_unhex(const char *hex, size_t n, uint8_t *bytes); /* 2 n digits exactly */

#endif
