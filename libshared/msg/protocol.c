/* Ranges of protocol versions, and what is said when two of them have nothing in common. */
#include "msg/protocol.h"

#include <stdio.h>

#include "base/version.h"

/* Who does not say is from before there was anything to say. */
static uint32_t said(uint32_t version)
{
    return version ? version : 1;
}

/* What a stranger calls its software, where that can be shown. */
static const char *shown(const char *software)
{
    for (const char *c = software; *c; c++)
        if (*c < ' ' || *c > '~') return "?";
    return software;
}

uint32_t protocol_common(uint32_t oldest, uint32_t newest)
{
    uint32_t low = said(oldest), high = said(newest);
    if (high < low) return 0;
    if (high > MSG_PROTOCOL) high = MSG_PROTOCOL;
    if (low < MSG_PROTOCOL_OLDEST) low = MSG_PROTOCOL_OLDEST;
    return low <= high ? high : 0;
}

uint32_t protocol_of_hello(const Msg__Hello *hello, char text[PROTOCOL_TEXT])
{
    uint32_t common = protocol_common(hello->protocol_oldest, hello->protocol);
    uint32_t low = said(hello->protocol_oldest), high = said(hello->protocol);
    if (common)
        *text = '\0';
    else if (high < low)
        snprintf(text, PROTOCOL_TEXT, "protocol versions %u to %u are no range: repair the member",
                 low, high);
    else
        snprintf(text, PROTOCOL_TEXT,
                 "it speaks protocol versions %u to %u (pcp %.32s), the shepherd %d to %d (pcp "
                 "%.32s): bring the %s to the other's version, release by release",
                 low, high, shown(hello->software), MSG_PROTOCOL_OLDEST, MSG_PROTOCOL, pcp_version,
                 high < MSG_PROTOCOL_OLDEST ? "member" : "shepherd");
    return common;
}

uint32_t protocol_of_welcome(const Msg__Welcome *welcome, char text[PROTOCOL_TEXT])
{
    uint32_t version = said(welcome->protocol);
    uint32_t common = protocol_common(version, version);
    *text = '\0';
    if (!common)
        snprintf(
            text, PROTOCOL_TEXT,
            "the shepherd speaks protocol version %u, this program %d to %d (pcp %.32s): bring "
            "the %s to the other's version, release by release",
            version, MSG_PROTOCOL_OLDEST, MSG_PROTOCOL, pcp_version,
            version < MSG_PROTOCOL_OLDEST ? "shepherd" : "member");
    return common;
}
