#include "msg/server_card.h"

#include <string.h>

#include "base/str.h"
#include "msg/keyring.h"

void server_card_show(char text[KEYS_CARD_TEXT])
{
    const keys_t *own = keyring_own();
    *text = '\0';
    if (own) keys_card_write(&own->card, text);
}

/* What the connection has proved: behind "?key=", or the shepherds'. */
static void key_of(const char *endpoint, const keys_t *own, uint8_t key[KEYS_BYTES])
{
    const char *mark = strstr(endpoint, "?key=");
    memcpy(key, own->server, KEYS_BYTES);
    if (mark) keys_unhex(mark + strlen("?key="), KEYS_BYTES, key);
}

const char *server_card_wrong(const char *endpoint, const char *card, keys_role_t role,
                              int64_t now_s)
{
    const keys_t *own = keyring_own();
    uint8_t key[KEYS_BYTES];
    keys_card_t shown;
    if (role == KEYS_NONE || !own || !str_starts(endpoint, "tcp://")) return NULL;
    key_of(endpoint, own, key);
    if (!*card) return "it shows no certificate: its pcp-gateway may be an older one";
    if (keys_card_read(card, key, &shown, NULL) < 0)
        return "its certificate is none, or not that of its key";
    if (keys_card_check(&shown, &own->trust, INT64_MIN, NULL) < 0)
        return "its certificate is not signed by this cluster's authority";
    if (shown.expires_s <= now_s) return "its certificate has expired: renew its key";
    if (keyring_is_revoked(key)) return "its key is revoked";
    if (shown.role != role)
        return "its key has another role (pcp keys show): --join is for who has the role gateway";
    return NULL;
}
