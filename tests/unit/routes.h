/* Who may say what to a service: every kind of peer says every message of the protocol, and the
 * service's table must admit exactly what the test names. */
#ifndef TESTS_ROUTES_H
#define TESTS_ROUTES_H

#include "msg/envelope.h"

/* expected: "HELLO: none worker; LEASE_DONE: worker; ...", every message that the table has. */
void routes_check(const msg_route_t routes[MSG_KIND_COUNT], const char *expected);

#endif
