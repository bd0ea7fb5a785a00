/* Tell the service manager how a service is (systemd's protocol, sd_notify(3): a datagram of lines to the socket
 * that NOTIFY_SOCKET names). Without that variable nothing happens. One thread. */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

#include <stdint.h>

/* Remember who is to be told, and take the variables out of the environment: what we start has nothing to say. */
void notify_init(void);

/* "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=...". A manager that does not listen is no error. */
void notify(const char *state);

/* How often "WATCHDOG=1" is due, in ms: half of what the manager waits; 0: never. */
int64_t notify_watchdog_ms(void);

#endif
