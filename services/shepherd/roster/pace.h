/* How often members send heartbeats: the more there are, the less often each. */
#ifndef SHEPHERD_PACE_H
#define SHEPHERD_PACE_H

#include <stddef.h>
#include <stdint.h>

/* Milliseconds between two heartbeats of one of `members`, so that all of them together send about 4,000 a second; never
 * less than heartbeat_ms. A third of timeout_ms at the most (or heartbeat_ms, where that is more), so that two may be lost
 * in a row without their sender. Any thread. */
uint32_t pace_ms(size_t members, int64_t heartbeat_ms, int64_t timeout_ms);

#endif
