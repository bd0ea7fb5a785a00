/* The key of this process, and what it knows of others' keys.
 *
 * A process has one key, as it has one log: keyring_load reads it, endpoint_add puts it on every TCP
 * socket. CURVE proves who holds which public key; the card (msg/keys.h) travels in the handshake,
 * encrypted, and is judged here when the first message comes. A thread answers ZeroMQ's question
 * whether a key may connect (ZAP, RFC 27), reads the list of revoked keys again when it changes,
 * and ends the connections of those that are on it. Any thread, but for load, start and end. */
#ifndef MSG_KEYRING_H
#define MSG_KEYRING_H

#include <czmq.h>
#include <stdbool.h>

#include "msg/keys.h"

typedef struct {
    const char *key;     /* file; NULL or "": none */
    const char *revoked; /* file of the list; NULL or "": nobody is revoked */
    bool insecure;       /* without a key others' machines may connect all the same */
} keyring_options_t;

/* Read the files. What this process starts gets the same ones by its environment (PCP_KEY,
 * PCP_REVOKED, PCP_INSECURE). Once, before keyring_start. -1: the file is named. */
int keyring_load(const keyring_options_t *options, err_t *err);
/* The thread; before the first socket. Nothing to do without a key. */
int keyring_start(err_t *err);
void keyring_end(void);

/* Our own key; NULL: we have none. Its file is looked at twice a second: one that may take its place
 * (keys_succeeds) is our key from then on. What this gave before stays where it is. */
const keys_t *keyring_own(void);
/* Another number once it is another one: who has connected with the one before connects again, or its
 * connections end when that has expired. */
uint64_t keyring_own_since(void);

/* Our first key, which bound sockets go by and endpoints name; it stays. NULL: we have none. */
const keys_t *keyring_first(void);
/* A socket without a key is about to be open to other machines: may it be (`insecure`)? It is warned of each minute. */
bool keyring_may_open(void);

/* For endpoint_add: what CURVE needs, set on a socket before it binds or connects to `address`.
 * -1 with ERR_NET: it would be open to other machines without a key. */
int keyring_secure(zsock_t *socket, bool binds, const char *address, err_t *err);
/* Must a PUB that binds here judge its subscribers (publish_admit)? */
bool keyring_guards(const char *address);

/* "tcp://HOST:PORT?key=HEX": an endpoint with the public key of who binds it, which is that of our first
 * key, and stays. Returns, caller
 * frees; without a key, or where the address is not tcp, the address as it is. */
char *keyring_endpoint(const char *address);
/* How many bytes of an endpoint come before its key. */
size_t keyring_bare(const char *address);

/* The card of who sent this frame. NULL and *why NULL: the connection needs none. NULL and *why:
 * it has no good one, and that is the reason. A card lives as long as the process, and is never two:
 * compare pointers. */
const keys_card_t *keyring_card(zmq_msg_t *frame, const char **why);
/* The number of the key of such a card, from 1: a renewed one has the same. NULL: 0. */
uint32_t keyring_number(const keys_card_t *card);
/* The number of the key that has spoken on this connection; 0: none that is good, yet. */
uint32_t keyring_number_at(int fd, uint64_t cookie);

/* Is a key on a list that this process has read? Without a list nobody is. */
bool keyring_is_revoked(const uint8_t key[KEYS_BYTES]);
/* Another number once more keys are revoked, or an authority is trusted no more. */
uint64_t keyring_revoked_since(void);
/* A list that came by message or from the store: who is on it is revoked from now on, whoever handed
 * it on, for the authority has signed it. 1: it has new keys; 0: none; -1: it is no list of this
 * authority's. Living connections of theirs end within a second. */
int keyring_take_revoked(const char *text, size_t n, err_t *err);
/* The longest list that was read, for others. Returns, caller frees; NULL: none. */
char *keyring_revoked_list(void);

#endif
