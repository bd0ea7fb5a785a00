#include "shepherd/roster/pace.h"

uint32_t pace_ms(size_t members, int64_t heartbeat_ms, int64_t timeout_ms)
{
    enum { BEATS_PER_S = 4000, TRIES = 3 };
    int64_t wanted = (int64_t)members * 1000 / BEATS_PER_S;
    if (wanted > timeout_ms / TRIES) wanted = timeout_ms / TRIES;
    return (uint32_t)(wanted > heartbeat_ms ? wanted : heartbeat_ms);
}
