/* What a server is, by its card. CURVE proves to a member that the server holds the secret of the public key that the
 * member was told; that this is a key for such a server only its card says. Members know shepherds by that public key
 * alone, which is in each of their files; others (a gateway) show their card in WELCOME, the present one, so that it
 * may be renewed. Any thread. */
#ifndef MSG_SERVER_CARD_H
#define MSG_SERVER_CARD_H

#include "msg/keys.h"

/* Our card, for WELCOME; "" without a key. */
void server_card_show(char text[KEYS_CARD_TEXT]);

/* Is who welcomes us at `endpoint` of this role? `card`: what it has shown, nobody vouches for it. NULL: yes, or
 * nothing is to be proved: KEYS_NONE, we have no key, or it is no TCP (a socket of this machine). Else why not. */
const char *server_card_wrong(const char *endpoint, const char *card, keys_role_t role,
                              int64_t now_s);

#endif
