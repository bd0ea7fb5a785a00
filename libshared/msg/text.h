/* Texts of messages from outside: protobuf-c takes any bytes for a string. */
#ifndef MSG_TEXT_H
#define MSG_TEXT_H

#include <protobuf-c/protobuf-c.h>

/* Make every string of an unpacked message valid UTF-8 without control characters but line ends
 * and tabs, those of its parts, too: what is not becomes U+FFFD. The message must have come from
 * its unpack function with the default allocator. */
void msg_text_clean(ProtobufCMessage *message);

#endif
