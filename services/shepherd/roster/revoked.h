/* The list of revoked keys, from the store to whoever must know it. */
#ifndef SHEPHERD_REVOKED_H
#define SHEPHERD_REVOKED_H

#include "msg/envelope.h"
#include "store/store.h"

/* Take the store's list if it is longer than the one we have. A list that is not our authority's is
 * logged and left. Without a key: nothing. The store's thread. */
int revoked_read(store_t *store, err_t *err);

/* Our list to a member, if there is one and its kind asks others for cards or signatures. */
void revoked_send(msg_out_t out, const msg_peer_t *to, msg_who_t kind);

#endif
