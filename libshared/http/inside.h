/* What the server's files share. */
#ifndef HTTP_INSIDE_H
#define HTTP_INSIDE_H

#include <microhttpd.h>
#include <poll.h>

#include "base/idle.h"
#include "http/http.h"

/* ASKS: the client is to say what it wants; OWED: we are to answer; TAKES: the client is to take the
 * answer or the rest of a stream; STREAMS: we go on saying. */
typedef enum { ASKS, OWED, TAKES, STREAMS } client_state_t;

/* A connection; free when fd is negative. */
typedef struct {
    int fd;
    bool shut;
    client_state_t state;
    int64_t since_ms; /* of the state; STREAMS: when something was taken last, or nothing waited */
} client_t;

struct http_request {
    http_t *http;
    struct MHD_Connection *connection;
    client_t *client;
    char *method, *path;
    str_t body;
    bool too_long, given;          /* to the handler */
    struct MHD_Response *response; /* that was given; NULL: none yet */
    unsigned status;
    bool suspended, streams, ending, answered, gone;
    str_t said; /* of a stream: what was not taken */
    void *state;
    http_request_t *next; /* in http_t's list: the newest first */
};

struct http {
    zloop_t *loop;
    client_t *client; /* [connections] */
    struct MHD_Daemon *daemon;
    zmq_pollitem_t item;
    int timer, rest_timer; /* the latter: -1: nothing is left to be done soon */
    http_options_t options;
    http_request_t *requests; /* all that are open */
    struct pollfd *poll;      /* [connections] */
    bool loopback, draining, leaving;
    int64_t warned_ms; /* that nobody is asked who they are */
    int64_t tidied_ms;
    idle_t idle; /* what was given back then */
};

void client_set_state(client_t *client, client_state_t state);
void client_shut(client_t *client);
/* The oldest client that keeps us waiting makes room when there are many. */
void clients_make_room(http_t *self);
/* Those that take too long are shut; requests of those that are gone end. */
void clients_look(http_t *self, int64_t now_ms);

/* The suspended connection goes on. */
void request_wake(http_request_t *request);
/* The handler hears that there is nobody to answer to; once. */
void request_tell_gone(http_request_t *request);

#endif
