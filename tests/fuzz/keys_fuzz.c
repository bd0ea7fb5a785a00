/* Fuzz target: a key file that keys_read accepts is written as the same bytes; so are an authority's
 * and a card's; nothing is a seal by an authority that has signed nothing, and of one that has signed
 * a card, a list and a seal, only these are, to the letter. The first byte says which of the readers. */
#include "msg/keys.h"
#include "msg/seal.h"

#include "fuzz.h"

/* All that this authority has ever signed; its secret is gone. The seeds signed_* are these. */
static const char authority_hex[] =
    "7fd2e6a7a0070e2823d05aefbe611123091d66ff32ae15c4424fa907a93e0233";
static const char public_hex[] = "5fe173865d129054bcf4480a3605badb0f9393edca56fb3dd76aac4c5a597926";
static const char signed_card[] =
    "2 compiler c0 4102444800 bae831cd46f2de939bdddfcd7cb9dbcc64db769f51905320399de1939b992"
    "f6b 31e4bf0899f2e748d2d49608ebf4ffe0ab7e3746df828e34775a26f22cea4d92a1d56fa5bddf658e97"
    "a2ed7d4f8d742e8705bbd5037201c8fb87c3b8681c3400";
static const char signed_revoked[] =
    "pcp-revoked 1\n"
    "key 2422b19e4a3b3f592a64c4aa19ca80171712f63e3e8193eb0268fc05d77a8375\n"
    "key cfd380f620444cd4ada014ddbbd185d1bda8a68606133a6f880d41a2feb7412c\n"
    "signature ccb0796a059132c036f6f12aae7c1eb418f0744744f6e4ea09e6507848cde15879f9565bbb73"
    "92e3dd7096dbd1b1a3c93ccc303e1632495f0755f79dc20a0809\n";
static const char signed_seal[] =
    "pcp plan 1\n"
    "plan 00ff\n"
    "by 5fe173865d129054bcf4480a3605badb0f9393edca56fb3dd76aac4c5a597926 2 compiler c0 4102"
    "444800 bae831cd46f2de939bdddfcd7cb9dbcc64db769f51905320399de1939b992f6b 31e4bf0899f2e7"
    "48d2d49608ebf4ffe0ab7e3746df828e34775a26f22cea4d92a1d56fa5bddf658e97a2ed7d4f8d742e8705"
    "bbd5037201c8fb87c3b8681c3400\n"
    "when 1700000000\n"
    "signature 65ce5ebc3835821c00a1c02c21abc140785a17f48bc184bfe98513c37617a18eba1b0284e042"
    "b0f6b2a6b93370a330473a5c2a0d97a6edf19d44099e01b2cf0c\n";

static const keys_trust_t *signer(void)
{
    static keys_trust_t trust = {.n = 1};
    keys_unhex(authority_hex, KEYS_BYTES, trust.at[0]);
    return &trust;
}

static const uint8_t *signed_public(void)
{
    static uint8_t key[KEYS_BYTES];
    keys_unhex(public_hex, KEYS_BYTES, key);
    return key;
}

static void must_be(char *text, const uint8_t *data, size_t n)
{
    if (strlen(text) != n || memcmp(text, data, n) != 0) broken("written as it was read", text);
    free(text);
}

/* None of these was signed by anybody. */
static void revoked(const uint8_t *data, size_t n)
{
    static const keys_trust_t nobody = {{{1}}, 1};
    keys_revoked_t list;
    if (keys_revoked_read((const char *)data, n, &nobody, &list, NULL) == 0 || list.at)
        broken("a list is signed", "");
    if (keys_revoked_read((const char *)data, n, signer(), &list, NULL) < 0) return;
    free(list.at);
    if (n != strlen(signed_revoked) || memcmp(data, signed_revoked, n) != 0)
        broken("a list that nobody has signed", "");
}

static void seal(const char *text)
{
    static const keys_trust_t nobody = {{{1}}, 1};
    seal_t read;
    err_t err = {0};
    if (seal_read(text, &read) == 0 && keys_name_check(read.by.name, NULL) < 0)
        broken("a name's letters", read.by.name);
    if (seal_check(text, "", &nobody, &read, &err) == 0) broken("a seal is signed", "");
    if (err.code == ERR_OK) broken("a refusal in words", "");
    if (seal_check(text, "", signer(), &read, NULL) == 0 && strcmp(text, signed_seal) != 0)
        broken("a seal that nobody has made", text);
}

/* Whoever's file it is, and whatever it says of authority and shepherds. */
static void member(const keys_t *key)
{
    char card[KEYS_CARD_TEXT];
    if (keys_card_check(&key->card, signer(), 0, NULL) < 0 || !keys_whole(key)) return;
    keys_card_write(&key->card, card);
    if (strcmp(card, signed_card) != 0) broken("a card that nobody has signed", card);
}

static void shown(const keys_card_t *card, const char *text)
{
    char again[KEYS_CARD_TEXT];
    keys_card_write(card, again);
    if (strcmp(again, text) != 0) broken("a card is written as it was read", again);
    if (keys_card_check(card, signer(), 0, NULL) == 0 && strcmp(text, signed_card) != 0)
        broken("a card that nobody has signed", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0) return 0;
    uint8_t which = *data++ % 5;
    const char *text = (const char *)data;
    char *copy = strndup(text, --n);
    keys_t key;
    keys_authority_t authority;
    keys_card_t card;
    err_t err = {0};
    if (which == 0 && keys_read(text, n, &key, &err) == 0) {
        must_be(keys_write(&key), data, n);
        if (keys_name_check(key.card.name, NULL) < 0) broken("a name's letters", key.card.name);
        member(&key);
    } else if (which == 1 && keys_authority_read(text, n, &authority, &err) == 0) {
        must_be(keys_authority_write(&authority), data, n);
    } else if (which == 2 && keys_card_read(copy, signed_public(), &card, &err) == 0) {
        shown(&card, copy);
    } else if (which == 3) {
        revoked(data, n);
    } else if (which == 4) {
        seal(copy);
    } else if (err.code == ERR_OK) {
        broken("a refusal in words", "");
    }
    free(copy);
    return 0;
}
