/* Clients that are slow, or gone. Whether the client of a suspended request is still there is looked after
 * by a poll of all those, as microhttpd does not watch suspended connections. */
#include <sys/socket.h>

#include "base/clock.h"
#include "http/inside.h"

enum {
    SPARE = 16,        /* connections for those that come at once */
    GONE_STATUS = 500, /* nobody reads it */
};

void client_set_state(client_t *client, client_state_t state)
{
    if (!client) return;
    client->state = state;
    client->since_ms = clock_mono_ms();
}

void client_shut(client_t *client)
{
    if (!client || client->shut || client->fd < 0) return;
    shutdown(client->fd, SHUT_RDWR); /* microhttpd notices, and closes it */
    client->shut = true;
}

static bool keeps_us_waiting(const client_t *client)
{
    return client->state == ASKS || client->state == TAKES;
}

void clients_make_room(http_t *self)
{
    client_t *oldest = NULL;
    int n = 0;
    for (int i = 0; i < self->options.connections; i++) {
        client_t *one = &self->client[i];
        if (one->fd < 0 || one->shut) continue;
        n++;
        if (keeps_us_waiting(one) && (!oldest || one->since_ms < oldest->since_ms)) oldest = one;
    }
    if (n > self->options.connections - SPARE) client_shut(oldest);
}

static void shut_slow(http_t *self, int64_t now_ms)
{
    const http_options_t *o = &self->options;
    for (http_request_t *r = self->requests; r; r = r->next)
        if (r->client && r->client->state == STREAMS && r->said.n == 0)
            r->client->since_ms = now_ms;
    for (int i = 0; i < o->connections; i++) {
        client_t *one = &self->client[i];
        if (one->fd < 0 || one->shut || one->state == OWED) continue;
        if (now_ms - one->since_ms > (one->state == ASKS ? o->request_ms : o->answer_ms))
            client_shut(one);
    }
}

/* Without gone() a request lives until its answer has come. */
static bool may_end(const http_request_t *request)
{
    return request->suspended && request->client &&
           (request->answered || request->http->options.gone);
}

/* A suspended request's client has hung up. */
static void drop(http_request_t *request)
{
    request_tell_gone(request);
    if (!request->answered) http_answer_text(request, GONE_STATUS, "nobody is there");
    client_shut(request->client);
    request_wake(request);
}

static void drop_gone(http_t *self)
{
    nfds_t n = 0;
    for (http_request_t *r = self->requests; r; r = r->next)
        if (may_end(r) && !r->client->shut)
            self->poll[n++] = (struct pollfd){.fd = r->client->fd, .events = POLLRDHUP};
    if (n == 0 || poll(self->poll, n, 0) <= 0) return;
    for (nfds_t i = 0; i < n; i++)
        for (http_request_t *r = self->requests; r && self->poll[i].revents; r = r->next)
            if (may_end(r) && r->client->fd == self->poll[i].fd) {
                drop(r);
                break;
            }
}

void clients_look(http_t *self, int64_t now_ms)
{
    shut_slow(self, now_ms);
    drop_gone(self);
}
