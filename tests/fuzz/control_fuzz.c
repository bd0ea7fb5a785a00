/* Fuzz target: a control message reaches the handler of its own kind only, and packs to bytes of
 * the same kind. */
#include "base/log.h"
#include "msg/envelope.h"

#include "fuzz.h"

typedef struct {
    msg_route_t routes[MSG_KIND_COUNT];
    int n_handled;
    msg_kind_t kind;
    uint8_t *packed;
    size_t n_packed;
} control_state_t;

static void control_handle(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    control_state_t *self = state;
    (void)from;
    self->n_handled++;
    self->kind = message->body_case;
    free(self->packed);
    self->packed = msg_pack(message, &self->n_packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static bool quiet;
    if (!quiet) log_init("fuzz", LOG_ERROR, LOG_LOGFMT);
    quiet = true;
    control_state_t self = {0};
    msg_count_t count = {0};
    const msg_peer_t from = {0};
    err_t err = {0};
    for (int k = 0; k < MSG_KIND_COUNT; k++)
        self.routes[k] = (msg_route_t){MSG_CONTROL_BYTES, control_handle, MSG_FROM_STRANGER, 0};
    int status = msg_dispatch(&(msg_table_t){.routes = self.routes}, &self, &from, data, n, &count,
                              &err);
    if (status == 0 ? self.n_handled != 1 : self.n_handled != 0 || err.code == ERR_OK)
        broken("handled once, or refused in words", err.text);
    if (count.handled + count.dropped != 1) broken("counted once", "");
    if (status == 0) {
        msg_kind_t kind = self.kind;
        if (kind != msg_peek(data, n)) broken("the kind is the one that was peeked at", "");
        /* Not dispatched again: protobuf-c keeps unknown fields of number 0, which it does not read
         * back. */
        if (msg_peek(self.packed, self.n_packed) != kind)
            broken("a packed message is of the same kind", "");
    }
    free(self.packed);
    return 0;
}
