/* Key files, cards and lists: lines of a word and a value, in one order. */
#include "msg/keys.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/secret.h"

_Static_assert(KEYS_BYTES == crypto_box_PUBLICKEYBYTES && KEYS_BYTES == crypto_box_SECRETKEYBYTES &&
                   KEYS_BYTES == crypto_sign_PUBLICKEYBYTES &&
                   KEYS_SIGNATURE == crypto_sign_BYTES &&
                   KEYS_SIGNER == crypto_sign_SECRETKEYBYTES && KEYS_BYTES == crypto_kdf_KEYBYTES,
               "sizes of libsodium");

/* --- Words --- */

static const char *const role_names[KEYS_ROLES] = {
    [KEYS_NONE] = "none",           [KEYS_COMPILER] = "compiler", [KEYS_AGGREGATOR] = "aggregator",
    [KEYS_WORKER] = "worker",       [KEYS_OPERATOR] = "operator", [KEYS_SUPERVISOR] = "supervisor",
    [KEYS_METRICS] = "metrics",     [KEYS_SHEPHERD] = "shepherd", [KEYS_VIEWER] = "viewer",
    [KEYS_INFERENCE] = "inference", [KEYS_GATEWAY] = "gateway",
};

const char *keys_role_name(keys_role_t role)
{
    return (unsigned)role < KEYS_ROLES ? role_names[role] : "unknown";
}

int keys_role_parse(const char *word, keys_role_t *role, err_t *err)
{
    for (int i = KEYS_NONE + 1; i < KEYS_ROLES; i++)
        if (strcmp(word, role_names[i]) == 0) {
            *role = (keys_role_t)i;
            return 0;
        }
    return err_set(err, ERR_ARG,
                   "\"%.40s\" is no role: compiler, aggregator, worker, operator, supervisor, "
                   "metrics, shepherd, viewer, inference or gateway",
                   word);
}

/* Without "-": so no name with "-" behind it begins another's ids. */
int keys_name_check(const char *name, err_t *err)
{
    size_t n = strlen(name);
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@+";
    if (n > 0 && n < KEYS_NAME && strspn(name, letters) == n) return 0;
    return err_set(err, ERR_ARG, "a name has 1 to %d letters, digits and . _ @ + (no \"-\")",
                   KEYS_NAME - 1);
}

void keys_hex(const uint8_t *bytes, size_t n, char *hex)
{
    sodium_bin2hex(hex, 2 * n + 1, bytes, n);
}

bool keys_unhex(const char *hex, size_t n, uint8_t *bytes)
{
    for (size_t i = 0; i < 2 * n; i++)
        if (!hex[i] || !strchr("0123456789abcdef", hex[i])) return false;
    return sodium_hex2bin(bytes, n, hex, 2 * n, NULL, NULL, NULL) == 0;
}

/* --- Making --- */

static char *signed_text(const keys_card_t *card)
{
    char hex[2 * KEYS_BYTES + 1];
    char signs[2 * KEYS_BYTES + 1];
    keys_hex(card->public_key, KEYS_BYTES, hex);
    keys_hex(card->signs, KEYS_BYTES, signs);
    return mem_printf("pcp card 2\nrole %s\nname %s\nexpires %" PRId64 "\npublic %s\nsigns %s\n",
                      keys_role_name(card->role), card->name, card->expires_s, hex, signs);
}

/* One secret in a file, two pairs that do not know each other: libsodium's key derivation. */
static void signer_of(const uint8_t secret[KEYS_BYTES], uint8_t public_key[KEYS_BYTES],
                      uint8_t signer[KEYS_SIGNER])
{
    uint8_t seed[crypto_sign_SEEDBYTES];
    crypto_kdf_derive_from_key(seed, sizeof seed, 1, "pcp-sign", secret);
    crypto_sign_seed_keypair(public_key, signer, seed);
    sodium_memzero(seed, sizeof seed);
}

void keys_signer(const keys_t *self, uint8_t secret[KEYS_SIGNER])
{
    uint8_t public_key[KEYS_BYTES];
    signer_of(self->secret, public_key, secret);
}

int keys_issue(const keys_authority_t *self, keys_role_t role, const char *name, int64_t expires_s,
               keys_t *out, err_t *err)
{
    if (keys_name_check(name, err) < 0) return -1;
    if (sodium_init() < 0) return err_set(err, ERR_STATE, "libsodium does not start");
    memset(out, 0, sizeof *out);
    out->card.role = role;
    snprintf(out->card.name, sizeof out->card.name, "%s", name);
    uint8_t signer[KEYS_SIGNER];
    crypto_box_keypair(out->card.public_key, out->secret);
    signer_of(out->secret, out->card.signs, signer);
    sodium_memzero(signer, sizeof signer);
    memcpy(out->server, self->server, KEYS_BYTES);
    keys_renew(self, expires_s, out);
    return 0;
}

void keys_renew(const keys_authority_t *self, int64_t expires_s, keys_t *key)
{
    key->card.expires_s = expires_s;
    key->trust = self->trust;
    char *text = signed_text(&key->card);
    crypto_sign_detached(key->card.signature, NULL, (const uint8_t *)text, strlen(text),
                         self->secret);
    free(text);
}

void keys_authority_new(keys_authority_t *self, int64_t expires_s, keys_t *shepherd)
{
    if (sodium_init() < 0) mem_fail(0); /* no random numbers */
    memset(self, 0, sizeof *self);
    crypto_sign_keypair(self->trust.at[0], self->secret);
    self->trust.n = 1;
    keys_issue(self, KEYS_SHEPHERD, "shepherd", expires_s, shepherd, NULL);
    memcpy(self->server, shepherd->card.public_key, KEYS_BYTES);
    memcpy(shepherd->server, self->server, KEYS_BYTES);
}

void keys_authority_next(keys_authority_t *self, keys_authority_t *next)
{
    memset(next, 0, sizeof *next);
    crypto_sign_keypair(next->trust.at[0], next->secret);
    memcpy(next->server, self->server, KEYS_BYTES);
    memcpy(next->trust.at[1], self->trust.at[0], KEYS_BYTES);
    memcpy(self->trust.at[1], next->trust.at[0], KEYS_BYTES);
    self->trust.n = next->trust.n = KEYS_TRUSTED;
}

/* --- Judging --- */

static bool has_signed(const keys_trust_t *trust, const uint8_t signature[KEYS_SIGNATURE],
                       const char *text, size_t n)
{
    bool good = false;
    for (size_t i = 0; i < trust->n && !good; i++)
        good = crypto_sign_verify_detached(signature, (const uint8_t *)text, n, trust->at[i]) == 0;
    return good;
}

bool keys_trusts(const keys_trust_t *trust, const uint8_t authority[KEYS_BYTES])
{
    for (size_t i = 0; i < trust->n; i++)
        if (memcmp(trust->at[i], authority, KEYS_BYTES) == 0) return true;
    return false;
}

int keys_card_check(const keys_card_t *card, const keys_trust_t *trust, int64_t now_s, err_t *err)
{
    char *text = signed_text(card);
    bool good = has_signed(trust, card->signature, text, strlen(text));
    free(text);
    if (!good)
        return err_set(err, ERR_STATE,
                       "the certificate of \"%s\" is not signed by this cluster's authority",
                       card->name);
    if (card->expires_s > now_s) return 0;
    return err_set(err, ERR_STATE, "the certificate of \"%s\" has expired: issue another",
                   card->name);
}

bool keys_whole(const keys_t *self)
{
    uint8_t public_key[KEYS_BYTES], signs[KEYS_BYTES], signer[KEYS_SIGNER];
    if (crypto_scalarmult_base(public_key, self->secret) != 0) return false;
    signer_of(self->secret, signs, signer);
    sodium_memzero(signer, sizeof signer);
    return memcmp(public_key, self->card.public_key, KEYS_BYTES) == 0 &&
           memcmp(signs, self->card.signs, KEYS_BYTES) == 0;
}

/* Who knows a shepherd knows it by its public key. */
int keys_succeeds(const keys_t *self, const keys_t *next, int64_t now_s, err_t *err)
{
    const keys_card_t *is = &self->card, *to_be = &next->card;
    if (to_be->role != is->role)
        return err_set(err, ERR_STATE, "its role is %s, not %s", keys_role_name(to_be->role),
                       keys_role_name(is->role));
    if (strcmp(to_be->name, is->name) != 0)
        return err_set(err, ERR_STATE, "its name is %s, not %s", to_be->name, is->name);
    if (!keys_whole(next)) return err_set(err, ERR_STATE, "its public keys are not its secret's");
    if (keys_card_check(to_be, &self->trust, now_s, err) < 0 ||
        keys_card_check(to_be, &next->trust, now_s, err) < 0)
        return -1;
    if (to_be->expires_s < is->expires_s)
        return err_set(err, ERR_STATE, "it ends sooner than the one in use");
    if (memcmp(next->server, self->server, KEYS_BYTES) != 0)
        return err_set(err, ERR_STATE, "it is for other shepherds");
    bool known_by_key = is->role == KEYS_SHEPHERD || is->role == KEYS_GATEWAY;
    if (known_by_key && memcmp(to_be->public_key, is->public_key, KEYS_BYTES) != 0)
        return err_set(err, ERR_STATE,
                       "members know shepherds and gateways by their public key, and this is "
                       "another one: pcp keys renew keeps it");
    return 0;
}

const char *keys_may_be(const keys_card_t *card, Msg__Kind kind, const char *id)
{
    size_t n = strlen(card->name);
    bool more = (card->role == KEYS_SUPERVISOR && kind == MSG__KIND__KIND_WORKER) ||
                (card->role == KEYS_VIEWER && kind == MSG__KIND__KIND_CLI);
    if ((unsigned)kind != (unsigned)card->role && !more)
        return "its key has another role (pcp keys show): it cannot join as this kind of member";
    if (strncmp(id, card->name, n) == 0 && (id[n] == '\0' || id[n] == '-')) return NULL;
    return "its key speaks for ids of its own name alone, NAME and NAME-... (pcp keys show): start "
           "it with such an --id, or with none";
}

/* --- Reading --- */

typedef struct {
    const char *at, *end;
    int line;
} cursor_t;

/* The value of the next line, which begins with `word`, as a string of at most `space` - 1 bytes. */
static int next(cursor_t *self, const char *word, char *value, size_t space, err_t *err)
{
    self->line++;
    const char *stop = memchr(self->at, '\n', (size_t)(self->end - self->at));
    size_t n = strlen(word), length = stop ? (size_t)(stop - self->at) : 0;
    if (!stop || length < n + 2 || memcmp(self->at, word, n) != 0 || self->at[n] != ' ')
        return err_set(err, ERR_PARSE, "line %d should be \"%s ...\"", self->line, word);
    size_t size = length - n - 1;
    if (size >= space || memchr(self->at, '\0', length))
        return err_set(err, ERR_PARSE, "line %d: the value of \"%s\" is too long", self->line,
                       word);
    memcpy(value, self->at + n + 1, size);
    value[size] = '\0';
    self->at = stop + 1;
    return 0;
}

static int next_bytes(cursor_t *self, const char *word, uint8_t *bytes, size_t n, err_t *err)
{
    char hex[2 * 64 + 1];
    if (next(self, word, hex, sizeof hex, err) < 0) return -1;
    if (strlen(hex) == 2 * n && keys_unhex(hex, n, bytes)) return 0;
    return err_set(err, ERR_PARSE, "line %d: \"%s\" should have %zu hex digits", self->line, word,
                   2 * n);
}

/* Of a card's fields, whoever holds them. */
static int take_card(keys_card_t *card, const char *role, const char *name, const char *expires,
                     err_t *err)
{
    if (keys_role_parse(role, &card->role, err) < 0 || keys_name_check(name, err) < 0) return -1;
    snprintf(card->name, sizeof card->name, "%s", name);
    size_t n = strlen(expires);
    if (n == 0 || n > 15 || strspn(expires, "0123456789") != n || (n > 1 && *expires == '0'))
        return err_set(err, ERR_PARSE, "\"expires\" should be a time in seconds since 1970");
    card->expires_s = strtoll(expires, NULL, 10);
    return 0;
}

static int at_end(const cursor_t *self, err_t *err)
{
    if (self->at == self->end) return 0;
    return err_set(err, ERR_PARSE, "there is more behind line %d", self->line);
}

/* One of two versions in a row; the later one's files trust a second authority. */
static int next_version(cursor_t *self, const char *word, int first, int *version, err_t *err)
{
    char text[8];
    if (next(self, word, text, sizeof text, err) < 0) return -1;
    *version = *text - '0';
    if (strlen(text) == 1 && *version >= first && *version < first + KEYS_TRUSTED) return 0;
    return err_set(
        err, ERR_PARSE,
        "\"%s %s\": this program reads versions %d and %d (pcp keys issue makes another)", word,
        text, first, first + 1);
}

static int next_trust(cursor_t *self, const char *word, bool two, keys_trust_t *out, err_t *err)
{
    out->n = two ? KEYS_TRUSTED : 1;
    if (next_bytes(self, word, out->at[0], KEYS_BYTES, err) < 0) return -1;
    return two ? next_bytes(self, "also", out->at[1], KEYS_BYTES, err) : 0;
}

int keys_read(const char *text, size_t n, keys_t *out, err_t *err)
{
    cursor_t cursor = {text, text + n, 0};
    keys_t self = {0};
    int version;
    char role[16], name[KEYS_NAME], expires[24];
    if (next_version(&cursor, "pcp-key", 2, &version, err) < 0 ||
        next(&cursor, "role", role, sizeof role, err) < 0 ||
        next(&cursor, "name", name, sizeof name, err) < 0 ||
        next(&cursor, "expires", expires, sizeof expires, err) < 0 ||
        take_card(&self.card, role, name, expires, err) < 0 ||
        next_bytes(&cursor, "public", self.card.public_key, KEYS_BYTES, err) < 0 ||
        next_bytes(&cursor, "signs", self.card.signs, KEYS_BYTES, err) < 0 ||
        next_bytes(&cursor, "secret", self.secret, KEYS_BYTES, err) < 0 ||
        next_trust(&cursor, "authority", version > 2, &self.trust, err) < 0 ||
        next_bytes(&cursor, "server", self.server, KEYS_BYTES, err) < 0 ||
        next_bytes(&cursor, "signature", self.card.signature, KEYS_SIGNATURE, err) < 0 ||
        at_end(&cursor, err) < 0)
        return -1;
    *out = self;
    return 0;
}

int keys_authority_read(const char *text, size_t n, keys_authority_t *out, err_t *err)
{
    cursor_t cursor = {text, text + n, 0};
    keys_authority_t self = {0};
    int version;
    if (next_version(&cursor, "pcp-authority", 1, &version, err) < 0 ||
        next_trust(&cursor, "public", version > 1, &self.trust, err) < 0 ||
        next_bytes(&cursor, "secret", self.secret, sizeof self.secret, err) < 0 ||
        next_bytes(&cursor, "server", self.server, KEYS_BYTES, err) < 0 || at_end(&cursor, err) < 0)
        return -1;
    *out = self;
    return 0;
}

/* "2 ROLE NAME EXPIRES SIGNS SIGNATURE" */
int keys_card_read(const char *text, const uint8_t public_key[KEYS_BYTES], keys_card_t *out,
                   err_t *err)
{
    char role[16], name[KEYS_NAME], expires[24], hex[2 * KEYS_SIGNATURE + 1], again[KEYS_CARD_TEXT];
    char signs[2 * KEYS_BYTES + 1];
    keys_card_t card = {0};
    memcpy(card.public_key, public_key, KEYS_BYTES);
    if (strlen(text) >= KEYS_CARD_TEXT ||
        sscanf(text, "2 %15s %32s %23s %64s %128s", role, name, expires, signs, hex) != 5 ||
        strlen(signs) != 2 * KEYS_BYTES || !keys_unhex(signs, KEYS_BYTES, card.signs) ||
        strlen(hex) != 2 * KEYS_SIGNATURE || !keys_unhex(hex, KEYS_SIGNATURE, card.signature))
        return err_set(err, ERR_PARSE, "it has shown no certificate");
    if (take_card(&card, role, name, expires, err) < 0) return -1;
    keys_card_write(&card, again);
    if (strcmp(again, text) != 0)
        return err_set(err, ERR_PARSE, "its certificate is not as one is written");
    *out = card;
    return 0;
}

/* --- Writing --- */

void keys_card_write(const keys_card_t *card, char text[KEYS_CARD_TEXT])
{
    char hex[2 * KEYS_SIGNATURE + 1], signs[2 * KEYS_BYTES + 1];
    keys_hex(card->signature, KEYS_SIGNATURE, hex);
    keys_hex(card->signs, KEYS_BYTES, signs);
    snprintf(text, KEYS_CARD_TEXT, "2 %s %s %" PRId64 " %s %s", keys_role_name(card->role),
             card->name, card->expires_s, signs, hex);
}

/* The lines of next_trust. */
static void write_trust(const char *word, const keys_trust_t *trust, char text[KEYS_TRUSTED * 80])
{
    char hex[2 * KEYS_BYTES + 1];
    size_t used = 0;
    for (size_t i = 0; i < trust->n; i++) {
        keys_hex(trust->at[i], KEYS_BYTES, hex);
        used += (size_t)snprintf(text + used, KEYS_TRUSTED * 80 - used, "%s %s\n",
                                 i == 0 ? word : "also", hex);
    }
}

char *keys_write(const keys_t *self)
{
    char public_key[65], signs[65], secret[65], trust[KEYS_TRUSTED * 80], server[65],
        signature[129];
    keys_hex(self->card.signs, KEYS_BYTES, signs);
    keys_hex(self->card.public_key, KEYS_BYTES, public_key);
    keys_hex(self->secret, KEYS_BYTES, secret);
    write_trust("authority", &self->trust, trust);
    keys_hex(self->server, KEYS_BYTES, server);
    keys_hex(self->card.signature, KEYS_SIGNATURE, signature);
    return mem_printf("pcp-key %zu\nrole %s\nname %s\nexpires %" PRId64
                      "\npublic %s\nsigns %s\nsecret %s\n%sserver %s\nsignature %s\n",
                      1 + self->trust.n, keys_role_name(self->card.role), self->card.name,
                      self->card.expires_s, public_key, signs, secret, trust, server, signature);
}

char *keys_authority_write(const keys_authority_t *self)
{
    char trust[KEYS_TRUSTED * 80], secret[129], server[65];
    write_trust("public", &self->trust, trust);
    keys_hex(self->secret, sizeof self->secret, secret);
    keys_hex(self->server, KEYS_BYTES, server);
    return mem_printf("pcp-authority %zu\n%ssecret %s\nserver %s\n", self->trust.n, trust, secret,
                      server);
}

/* --- Revoked keys --- */

static const char revoked_head[] = "pcp-revoked 1\n";

int keys_revoked_read(const char *text, size_t n, const keys_trust_t *trust, keys_revoked_t *out,
                      err_t *err)
{
    enum { LINE = sizeof "key " - 1 + 2 * KEYS_BYTES + 1, HEAD = sizeof revoked_head - 1 };
    enum { LAST = sizeof "signature " - 1 + 2 * KEYS_SIGNATURE + 1 };
    *out = (keys_revoked_t){0};
    cursor_t cursor = {text, text + n, 0};
    if (n > KEYS_REVOKED_BYTES || n < HEAD + LAST || (n - HEAD - LAST) % LINE != 0)
        return err_set(err, ERR_PARSE, "%zu bytes are no list of revoked keys", n);
    keys_revoked_t list = {mem_calloc(n / LINE + 1, KEYS_BYTES), (n - HEAD - LAST) / LINE};
    uint8_t signature[KEYS_SIGNATURE];
    int rc = memcmp(text, revoked_head, HEAD) == 0
                 ? 0
                 : err_set(err, ERR_PARSE, "line 1 should be \"pcp-revoked 1\"");
    cursor.at += HEAD, cursor.line++;
    for (size_t i = 0; rc == 0 && i < list.n; i++)
        rc = next_bytes(&cursor, "key", list.at[i], KEYS_BYTES, err);
    size_t covered = (size_t)(cursor.at - text);
    if (rc == 0) rc = next_bytes(&cursor, "signature", signature, KEYS_SIGNATURE, err);
    if (rc == 0) rc = at_end(&cursor, err);
    if (rc == 0 && !has_signed(trust, signature, text, covered))
        rc = err_set(err, ERR_STATE, "the list is not signed by this cluster's authority");
    if (rc == 0)
        *out = list;
    else
        free(list.at);
    return rc;
}

char *keys_revoked_write(const keys_authority_t *self, const keys_revoked_t *list)
{
    char *text = mem_strdup(revoked_head);
    for (size_t i = 0; i < list->n; i++) {
        char hex[2 * KEYS_BYTES + 1];
        keys_hex(list->at[i], KEYS_BYTES, hex);
        char *more = mem_printf("%skey %s\n", text, hex);
        free(text);
        text = more;
    }
    uint8_t signature[KEYS_SIGNATURE];
    char hex[2 * KEYS_SIGNATURE + 1];
    crypto_sign_detached(signature, NULL, (const uint8_t *)text, strlen(text), self->secret);
    keys_hex(signature, KEYS_SIGNATURE, hex);
    char *whole = mem_printf("%ssignature %s\n", text, hex);
    free(text);
    return whole;
}

/* --- Files --- */

int keys_load(const char *path, keys_t *out, err_t *err)
{
    size_t n;
    err_t inner = {0};
    char *text = secret_file(path, KEYS_FILE_BYTES, &n, err);
    if (!text) return -1;
    int rc = keys_read(text, n, out, &inner);
    sodium_memzero(text, n);
    free(text);
    return rc < 0 ? err_set(err, inner.code, "%s is no key of a member: %s", path, inner.text) : 0;
}
