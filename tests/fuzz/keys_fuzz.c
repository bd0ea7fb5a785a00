/* Fuzz target: a key file that keys_read accepts is written as the same bytes; so are an authority's
 * and a card's; nothing is a seal by an authority that has signed nothing. The first byte says which
 * of the readers. */
#include "msg/keys.h"
#include "msg/seal.h"

#include "fuzz.h"

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
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const uint8_t public_key[KEYS_BYTES];
    if (n == 0) return 0;
    uint8_t which = *data++ % 5;
    const char *text = (const char *)data;
    char *copy = strndup(text, --n), again[KEYS_CARD_TEXT];
    keys_t key;
    keys_authority_t authority;
    keys_card_t card;
    err_t err = {0};
    if (which == 0 && keys_read(text, n, &key, &err) == 0) {
        must_be(keys_write(&key), data, n);
        if (keys_name_check(key.card.name, NULL) < 0) broken("a name's letters", key.card.name);
    } else if (which == 1 && keys_authority_read(text, n, &authority, &err) == 0) {
        must_be(keys_authority_write(&authority), data, n);
    } else if (which == 2 && keys_card_read(copy, public_key, &card, &err) == 0) {
        keys_card_write(&card, again);
        if (strcmp(again, copy) != 0) broken("a card is written as it was read", again);
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
