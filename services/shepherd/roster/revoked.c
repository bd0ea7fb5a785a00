/* Lists are signed: whoever hands them on need not be trusted. */
#include "shepherd/roster/revoked.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "msg/keyring.h"

int revoked_read(store_t *store, err_t *err)
{
    if (!keyring_own()) return 0;
    char *have = keyring_revoked_list(), *list = NULL;
    int rc = store_revoked_get(store, have ? strlen(have) : 0, &list, err);
    err_t fault = {0};
    if (rc == 0 && list && keyring_take_revoked(list, strlen(list), &fault) < 0)
        log_event(LOG_ERROR, "revoked_unread", "from=store error=\"%s\"", fault.text);
    free(list);
    free(have);
    return rc;
}

void revoked_send(msg_out_t out, const msg_peer_t *to, msg_who_t kind)
{
    if (kind == MSG__KIND__KIND_CLI || kind == MSG__KIND__KIND_NONE) return;
    Msg__Revoked revoked = MSG__REVOKED__INIT;
    revoked.list = keyring_revoked_list();
    if (revoked.list) MSG_SEND(out, to, 0, REVOKED, revoked, &revoked);
    free(revoked.list);
}
