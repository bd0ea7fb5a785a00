/* What CURVE needs of the process's key, on its sockets and in its endpoints. */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "base/mem.h"
#include "base/str.h"
#include "msg/keyring.h"

enum {
    /* In the library since 4.3.0, in its header among the drafts: ZMQ_METADATA, and
     * ZMQ_ZAP_ENFORCE_DOMAIN, without which it lets everybody in when nobody answers ZAP. */
    METADATA = 95,
    ENFORCE_DOMAIN = 93,
};

static bool is_local(const char *address)
{
    const char *const here[] = {"tcp://127.", "tcp://localhost:", "tcp://[::1]:"};
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        if (str_starts(address, here[i])) return true;
    return !str_starts(address, "tcp://");
}

size_t keyring_bare(const char *address)
{
    const char *mark = strstr(address, "?key=");
    return mark ? (size_t)(mark - address) : strlen(address);
}

char *keyring_endpoint(const char *address)
{
    char hex[2 * KEYS_BYTES + 1];
    if (!keyring_own() || !str_starts(address, "tcp://") || strstr(address, "?key="))
        return mem_strdup(address);
    keys_hex(keyring_first()->card.public_key, KEYS_BYTES, hex);
    return mem_printf("%s?key=%s", address, hex);
}

bool keyring_guards(const char *address)
{
    return keyring_own() && str_starts(address, "tcp://");
}

static int refuse_open(const char *address, err_t *err)
{
    if (is_local(address) || keyring_may_open()) return 0;
    return err_set(err, ERR_NET,
                   "%s is open to other machines: give --key FILE (pcp keys), or say --insecure",
                   address);
}

static int set(void *raw, int option, const void *value, size_t n, err_t *err)
{
    if (zmq_setsockopt(raw, option, value, n) == 0) return 0;
    return err_set(err, ERR_NET, "the ZeroMQ library takes no keys (option %d): %s", option,
                   zmq_strerror(zmq_errno()));
}

static int be_client(void *raw, const keys_t *own, const char *address, err_t *err)
{
    uint8_t server[KEYS_BYTES];
    char text[KEYS_CARD_TEXT], property[KEYS_CARD_TEXT + sizeof KEYS_CARD_PROPERTY + 1];
    const char *mark = strstr(address, "?key=");
    memcpy(server, own->server, KEYS_BYTES);
    if (mark && (strlen(mark) != strlen("?key=") + 2 * KEYS_BYTES ||
                 !keys_unhex(mark + strlen("?key="), KEYS_BYTES, server)))
        return err_set(err, ERR_NET, "%.200s: behind ?key= should be 64 hex digits", address);
    keys_card_write(&own->card, text);
    snprintf(property, sizeof property, KEYS_CARD_PROPERTY ":%s", text);
    if (set(raw, METADATA, property, strlen(property), err) < 0) return -1;
    return set(raw, ZMQ_CURVE_SERVERKEY, server, KEYS_BYTES, err);
}

int keyring_secure(zsock_t *socket, bool binds, const char *address, err_t *err)
{
    if (!str_starts(address, "tcp://")) return 0;
    void *raw = zsock_resolve(socket);
    /* A domain, without somebody to ask about it, changes nothing but this: greetings of ZeroMQ's versions before 3 are
     * refused. libzmq 4.3.4 ends the process where one of these and the end of its socket meet. */
    if (binds && set(raw, ZMQ_ZAP_DOMAIN, "pcp", 3, err) < 0) return -1;
    if (!keyring_own()) return binds ? refuse_open(address, err) : 0;
    /* Who connects was told a key of ours, which stays: it is the card that ends. */
    const keys_t *own = binds ? keyring_first() : keyring_own();
    int one = 1;
    if (set(raw, ZMQ_CURVE_PUBLICKEY, own->card.public_key, KEYS_BYTES, err) < 0 ||
        set(raw, ZMQ_CURVE_SECRETKEY, own->secret, KEYS_BYTES, err) < 0)
        return -1;
    if (!binds) return be_client(raw, own, address, err);
    if (set(raw, ZMQ_CURVE_SERVER, &one, sizeof one, err) < 0) return -1;
    return set(raw, ENFORCE_DOMAIN, &one, sizeof one, err);
}
