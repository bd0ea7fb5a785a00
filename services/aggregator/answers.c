/* Answers to data requests. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/aggregator.h"
#include "base/log.h"

/* An answer repeats its request's header; flags have their direction. */
static wire_header_t head(const wire_header_t *request, wire_type_t type, uint8_t code)
{
    wire_header_t header = *request;
    header.type = type;
    header.code = code;
    header.check = 0;
    header.flags = type != WIRE_NACK && request->flags & WIRE_KNOWS ? WIRE_TAKES : 0;
    return header;
}

void answer_ack(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request, int code)
{
    const wire_header_t header = head(request, WIRE_ACK, (uint8_t)code);
    self->reply(self->user, to, &header, NULL, 0, NULL);
}

void answer_nack(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request,
                 wire_nack_t code, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    self->refused++;
    /* What is only put off is asked for again and again. */
    if (msg_shows(self->refused))
        log_event(code == NACK_CANNOT_WRITE ? LOG_DEBUG : LOG_WARN, "refused",
                  "type=%s code=\"%s\" round=%u replica=%u fence=%u begin=%llu name=%s "
                  "refused=%llu text=\"%s\"",
                  wire_type_name(request->type), wire_nack_name(code), request->round,
                  request->replica, request->fence, (unsigned long long)request->begin,
                  to->card ? to->card->name : "", (unsigned long long)self->refused, text);
    wire_header_t header = head(request, WIRE_NACK, (uint8_t)code);
    header.check = hash_fast(text, strlen(text));
    self->reply(self->user, to, &header, text, strlen(text), NULL);
}

void answer_data(aggregator_t *self, const msg_peer_t *to, const wire_header_t *request,
                 const void *payload, size_t n, uint64_t check, shared_t *keep)
{
    wire_header_t header = head(request, WIRE_DATA, 0);
    header.check = check;
    const packed_chunk_t *packed = packing_chunk(self, request, payload, n, check);
    if (packed) {
        header.flags |= WIRE_PACKED;
        header.check = packed->check;
        payload = packed->bytes;
        n = packed->n;
        keep = NULL; /* copied: the next round's takes its place */
    }
    self->bytes_out += n;
    self->reply(self->user, to, &header, payload, n, keep ? shared_hold(keep) : NULL);
}
