/* Seals as text. */
#include "msg/seal.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* Before the bytes that are signed: nothing else that a key signs begins so. */
static const char domain[] = "pcp seal 1\n";

static char *signed_bytes(const char *text, size_t n)
{
    return mem_printf("%s%.*s", domain, (int)n, text);
}

char *seal_make(const keys_t *self, const char *statement, int64_t when_s)
{
    char hex[2 * KEYS_BYTES + 1], card[KEYS_CARD_TEXT], signature_hex[2 * KEYS_SIGNATURE + 1];
    uint8_t secret[KEYS_SIGNER], signature[KEYS_SIGNATURE];
    keys_hex(self->card.public_key, KEYS_BYTES, hex);
    keys_card_write(&self->card, card);
    char *text = mem_printf("%sby %s %s\nwhen %" PRId64 "\n", statement, hex, card, when_s);
    char *bytes = signed_bytes(text, strlen(text));
    keys_signer(self, secret);
    crypto_sign_detached(signature, NULL, (const uint8_t *)bytes, strlen(bytes), secret);
    sodium_memzero(secret, sizeof secret);
    keys_hex(signature, KEYS_SIGNATURE, signature_hex);
    char *seal = mem_printf("%ssignature %s\n", text, signature_hex);
    free(bytes);
    free(text);
    return seal;
}

/* Where the line that begins with this word starts, the last one of them; NULL: there is none. */
static const char *last_line(const char *text, const char *word)
{
    const char *found = NULL;
    for (const char *at = text; *at; at++) {
        if (str_starts(at, word)) found = at;
        at += strcspn(at, "\n");
        if (!*at) break;
    }
    return found;
}

typedef struct {
    seal_t seal;
    size_t n_signed; /* bytes before the signature's line */
    uint8_t signature[KEYS_SIGNATURE];
} parts_t;

/* "by PUBLIC CARD", "when TIME", "signature HEX", and nothing behind. */
static int take_apart(const char *text, parts_t *out)
{
    const char *by = last_line(text, "by "), *when = last_line(text, "when ");
    const char *signature = last_line(text, "signature ");
    char card[KEYS_CARD_TEXT], again[SEAL_BYTES], hex[2 * KEYS_SIGNATURE + 1];
    uint8_t key[KEYS_BYTES];
    if (!by || !when || !signature || by > when || when > signature) return -1;
    size_t n_card = strcspn(by, "\n"), skip = strlen("by ") + 2 * KEYS_BYTES + 1;
    if (n_card <= skip || n_card - skip >= sizeof card ||
        !keys_unhex(by + strlen("by "), KEYS_BYTES, key))
        return -1;
    memcpy(card, by + skip, n_card - skip);
    card[n_card - skip] = '\0';
    if (keys_card_read(card, key, &out->seal.by, NULL) < 0) return -1;
    out->seal.when_s = strtoll(when + strlen("when "), NULL, 10);
    out->n_signed = (size_t)(signature - text);
    if (!keys_unhex(signature + strlen("signature "), KEYS_SIGNATURE, out->signature)) return -1;
    /* One way to write it: what was understood gives the same text. */
    char key_hex[2 * KEYS_BYTES + 1];
    keys_hex(key, KEYS_BYTES, key_hex);
    keys_hex(out->signature, KEYS_SIGNATURE, hex);
    snprintf(again, sizeof again, "by %s %s\nwhen %" PRId64 "\nsignature %s\n", key_hex, card,
             out->seal.when_s, hex);
    return strcmp(again, by) == 0 ? 0 : -1;
}

int seal_read(const char *text, seal_t *out)
{
    parts_t parts = {0};
    if (strlen(text) >= SEAL_BYTES || take_apart(text, &parts) < 0) return -1;
    *out = parts.seal;
    return 0;
}

static bool is_signed(const char *text, const parts_t *parts)
{
    char *bytes = signed_bytes(text, parts->n_signed);
    int rc = crypto_sign_verify_detached(parts->signature, (const uint8_t *)bytes, strlen(bytes),
                                         parts->seal.by.signs);
    free(bytes);
    return rc == 0;
}

int seal_check(const char *text, const char *begins, const keys_trust_t *trust, seal_t *out,
               err_t *err)
{
    parts_t parts = {0};
    if (!text || !*text) return err_set(err, ERR_STATE, "it is not signed");
    if (strlen(text) >= SEAL_BYTES || take_apart(text, &parts) < 0)
        return err_set(err, ERR_STATE, "its signature is not as one is written");
    const keys_card_t *by = &parts.seal.by;
    err_t fault = {0};
    if (keys_card_check(by, trust, INT64_MIN, &fault) < 0)
        return err_set(err, ERR_STATE,
                       "it is signed by \"%s\", whose certificate is not signed by this cluster's "
                       "authority",
                       by->name);
    if (!is_signed(text, &parts))
        return err_set(err, ERR_STATE, "its signature in the name of \"%s\" is wrong", by->name);
    if (parts.seal.when_s >= by->expires_s)
        return err_set(err, ERR_STATE, "\"%s\" signed it after its certificate had expired",
                       by->name);
    if (!str_starts(text, begins))
        return err_set(err, ERR_STATE, "what \"%s\" has signed is something else", by->name);
    *out = parts.seal;
    return 0;
}
