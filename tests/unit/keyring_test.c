/* The key of a process on real sockets: nobody gets in while nobody judges, cards come with each
 * message, events go to who may hear them, and a revoked key's connection ends. One process has one
 * key, so it is the server's and the client's. The tests build on each other, in order. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "base/log.h"
#include "base/mem.h"
#include "msg/control.h"
#include "msg/door.h"
#include "msg/keyring.h"
#include "msg/publish.h"
#include "msg/refusals.h"

enum { LIMIT_MS = 30000, NEVER = INT32_MAX };

/* The time of day, as somebody may set it; for all of this process. */
static _Atomic time_t ahead_s;
int clock_gettime(clockid_t which, struct timespec *out)
{
    int rc = (int)syscall(SYS_clock_gettime, which, out);
    if (which == CLOCK_REALTIME) out->tv_sec += ahead_s;
    return rc;
}

static char dir[] = "/tmp/pcp-keyring.XXXXXX";
static keys_authority_t authority;
static zsock_t *router, *dealer, *monitor;
static const keys_card_t *first_card;

static char *write_file(const char *name, char *text)
{
    char *path = mem_printf("%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    fclose(file);
    free(text);
    return path;
}

static int load(void **state)
{
    (void)state;
    keys_t key;
    err_t err = {0};
    log_init("test", LOG_OFF, LOG_LOGFMT);
    assert_non_null(mkdtemp(dir));
    keys_authority_new(&authority, NEVER, &key);
    char *path = write_file("key", keys_write(&key));
    char *list = write_file("revoked", keys_revoked_write(&authority, &(keys_revoked_t){0}));
    const keyring_options_t options = {.key = path, .revoked = list};
    assert_int_equal(keyring_load(&options, &err), 0);
    free(path);
    free(list);
    return 0;
}

/* The next piece of news about the dealer's connection; 0: none came. */
static int next_event(void)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(monitor), .events = ZMQ_POLLIN};
    int32_t value;
    return zmq_poll(&item, 1, LIMIT_MS) > 0 ? control_news(monitor, &value) : 0;
}

static void connect_dealer(const char *address)
{
    dealer = endpoint_open(endpoint_connect(ZMQ_DEALER, NULL), NULL);
    monitor = endpoint_watch(dealer, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED |
                                         ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                                         ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                         ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    assert_int_equal(endpoint_add(dealer, address, false, NULL), 0);
}

static void disconnect_dealer(void)
{
    endpoint_unwatch(dealer);
    zsock_destroy(&monitor);
    zsock_destroy(&dealer);
}

static void nobody_gets_in_before_somebody_judges(void **state)
{
    (void)state;
    router = endpoint_open(endpoint_bind(ZMQ_ROUTER, "tcp://127.0.0.1:*"), NULL);
    const char *address = zsock_endpoint(router);
    connect_dealer(address);
    int event = next_event();
    assert_int_not_equal(event, 0);
    assert_int_not_equal(event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    disconnect_dealer();
}

static const keys_card_t *card_of_next(void)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(router), .events = ZMQ_POLLIN};
    zmq_msg_t frame[2];
    const char *why = "no message came";
    const keys_card_t *card = NULL;
    if (zmq_poll(&item, 1, LIMIT_MS) > 0 && control_frames(router, frame, 2) == 2) {
        card = keyring_card(&frame[1], &why);
        for (int i = 0; i < 2; i++) zmq_msg_close(&frame[i]);
    }
    assert_null(why);
    return card;
}

static void cards_come_with_messages(void **state)
{
    (void)state;
    assert_int_equal(keyring_start(NULL), 0);
    const char *address = zsock_endpoint(router);
    char *with_key = keyring_endpoint(address);
    assert_int_equal(keyring_bare(with_key), strlen(address));
    assert_int_equal(strlen(with_key), strlen(address) + strlen("?key=") + 64);
    connect_dealer(with_key);
    for (int i = 0; i < 3; i++) zstr_send(dealer, "hello");
    assert_int_equal(next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    first_card = card_of_next();
    assert_non_null(first_card);
    assert_string_equal(first_card->name, "shepherd");
    assert_int_equal(first_card->role, KEYS_SHEPHERD);
    assert_ptr_equal(card_of_next(), first_card);
    assert_ptr_equal(card_of_next(), first_card);
    free(with_key);
}

/* The descriptor of the connection that the router takes next; -1: none came. */
static int accepted(zsock_t *news)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(news), .events = ZMQ_POLLIN};
    int32_t fd = -1;
    if (zmq_poll(&item, 1, LIMIT_MS) > 0) control_news(news, &fd);
    return fd;
}

static void wait_until_closed(int fd)
{
    for (int i = 0; i < LIMIT_MS && fcntl(fd, F_GETFD) >= 0; i++) zclock_sleep(1);
    assert_true(fcntl(fd, F_GETFD) < 0);
}

static void speak(void)
{
    assert_int_equal(next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    zstr_send(dealer, "hello");
    assert_ptr_equal(card_of_next(), first_card);
}

/* A member that has spoken goes, and comes back: its new connection has the old one's descriptor, and is another one all
 * the same. The next tests go on with it. */
static void a_descriptor_is_used_again(void **state)
{
    (void)state;
    enum { MOST_TRIES = 200 };
    char *address = keyring_endpoint(zsock_endpoint(router));
    zsock_t *news = endpoint_watch(router, ZMQ_EVENT_ACCEPTED);
    disconnect_dealer();
    connect_dealer(address);
    int before = -1, fd = accepted(news);
    for (int i = 0; i < MOST_TRIES && fd != before; i++) { /* others may take it meanwhile */
        speak();
        before = fd;
        disconnect_dealer();
        wait_until_closed(fd);
        connect_dealer(address);
        fd = accepted(news);
    }
    assert_int_equal(fd, before);
    speak();
    endpoint_unwatch(router);
    zsock_destroy(&news);
    free(address);
}

/* A wrong public key of the server, or none that is one. */
static void servers_prove_their_key(void **state)
{
    (void)state;
    const char *address = zsock_endpoint(router);
    char other[256];
    zsock_t *kept = dealer, *kept_monitor = monitor;
    snprintf(other, sizeof other, "%s?key=%064d", address, 7);
    connect_dealer(other);
    int event = next_event();
    assert_int_not_equal(event, 0);
    assert_int_not_equal(event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    disconnect_dealer();
    snprintf(other, sizeof other, "%s?key=77", address);
    err_t err = {0};
    assert_null(endpoint_open(endpoint_connect(ZMQ_DEALER, other), &err));
    assert_non_null(strstr(err.text, "64 hex digits"));
    dealer = kept;
    monitor = kept_monitor;
}

static void events_are_granted(void **state)
{
    (void)state;
    zsock_t *out = endpoint_open(endpoint_bind(ZMQ_PUB, "tcp://127.0.0.1:*"), NULL);
    assert_int_equal(zsock_type(out), ZMQ_XPUB);
    const char *address = zsock_endpoint(out);
    zsock_t *in = endpoint_open(endpoint_connect(ZMQ_SUB, address), NULL);
    zmq_pollitem_t item = {.socket = zsock_resolve(in), .events = ZMQ_POLLIN};
    int n = 0;
    for (int i = 0; i < LIMIT_MS / 20 && n == 0; i++) { /* until the subscription has come */
        Msg__Event event = MSG__EVENT__INIT;
        event.source = "test";
        publish_event(out, &event);
        n = zmq_poll(&item, 1, 20);
    }
    Msg__Event *event = NULL;
    assert_int_equal(publish_receive(in, &event, NULL), 1);
    assert_string_equal(event->source, "test");
    msg__event__free_unpacked(event, NULL);
    zsock_destroy(&in);
    zsock_destroy(&out);
}

/* Somebody in the middle, who spoils what the client says once it is told to. */
typedef struct {
    int listens;
    uint16_t port, service;
    atomic_bool spoils, ended; /* by the service */
} relay_t;

static int dial(uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void *relay(void *arg)
{
    relay_t *self = arg;
    uint8_t bytes[4096];
    ssize_t n = 1;
    int end[2] = {accept(self->listens, NULL, NULL), dial(self->service)};
    struct pollfd at[2] = {{end[0], POLLIN, 0}, {end[1], POLLIN, 0}};
    while (n > 0 && poll(at, 2, LIMIT_MS) > 0) {
        int from = at[1].revents ? 1 : 0;
        n = recv(end[from], bytes, sizeof bytes, 0);
        if (n <= 0) self->ended = from == 1;
        if (from == 0 && self->spoils && n > 0) bytes[n - 1] ^= 1;
        if (n > 0) n = send(end[!from], bytes, (size_t)n, MSG_NOSIGNAL);
    }
    for (int i = 0; i < 2; i++) close(end[i]);
    return NULL;
}

static pthread_t start_relay(relay_t *self, uint16_t service)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t n = sizeof at;
    pthread_t thread;
    *self = (relay_t){.listens = socket(AF_INET, SOCK_STREAM, 0), .service = service};
    assert_int_equal(bind(self->listens, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(self->listens, 1), 0);
    assert_int_equal(getsockname(self->listens, (struct sockaddr *)&at, &n), 0);
    self->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&thread, NULL, relay, self), 0);
    return thread;
}

/* What is changed on its way, behind a good handshake, ends the connection, and is counted: nothing is kept of it. */
static void what_was_changed_ends_the_connection(void **state)
{
    (void)state;
    enum { TIMES = 3 };
    zsock_t *kept = dealer, *kept_monitor = monitor;
    const char *address = zsock_endpoint(router);
    char *with_key = keyring_endpoint(address);
    zloop_t *loop = zloop_new();
    door_t *door = door_new(loop, &router, 1, NULL);
    assert_non_null(door);
    for (int i = 0; i < TIMES; i++) {
        relay_t middle;
        pthread_t thread = start_relay(&middle, (uint16_t)atoi(strrchr(address, ':') + 1));
        char *through = mem_printf("tcp://127.0.0.1:%u%s", middle.port, strstr(with_key, "?key="));
        connect_dealer(through);
        assert_int_equal(next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        uint64_t before = refusals_of(REFUSAL_NO_KEY);
        zclock_sleep(50);
        middle.spoils = true;
        zstr_send(dealer, "hello");
        for (int ms = 0; ms < LIMIT_MS && !middle.ended; ms += 5) zclock_sleep(5);
        assert_true(middle.ended);
        for (int ms = 0; ms < LIMIT_MS && refusals_of(REFUSAL_NO_KEY) == before; ms += 5) {
            zclock_sleep(5);
            door_look(door);
        }
        assert_int_equal(refusals_of(REFUSAL_NO_KEY), before + 1);
        close(middle.listens);
        pthread_join(thread, NULL);
        disconnect_dealer();
        free(through);
    }
    door_destroy(&door);
    zloop_destroy(&loop);
    free(with_key);
    dealer = kept;
    monitor = kept_monitor;
}

/* A member's connection ends long after its last message, which the door has judged since. */
static void who_has_spoken_is_no_stranger(void **state)
{
    (void)state;
    enum { JUDGED_MS = 1500, SEEN_MS = 500 };
    zsock_t *kept = dealer, *kept_monitor = monitor;
    char *address = keyring_endpoint(zsock_endpoint(router));
    zloop_t *loop = zloop_new();
    door_t *door = door_new(loop, &router, 1, NULL);
    assert_non_null(door);
    uint64_t before = refusals_of(REFUSAL_NO_KEY);
    connect_dealer(address);
    speak();
    for (int ms = 0; ms < JUDGED_MS; ms += 20) {
        zclock_sleep(20);
        door_look(door);
    }
    disconnect_dealer();
    for (int ms = 0; ms < SEEN_MS; ms += 20) {
        zclock_sleep(20);
        door_look(door);
    }
    assert_int_equal(refusals_of(REFUSAL_NO_KEY), before);
    door_destroy(&door);
    zloop_destroy(&loop);
    free(address);
    dealer = kept;
    monitor = kept_monitor;
}

/* Why the next message is refused; NULL: it is not. */
static const char *fault_of_next(void)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(router), .events = ZMQ_POLLIN};
    zmq_msg_t frame[2];
    const char *why = "no message came";
    zstr_send(dealer, "hello");
    if (zmq_poll(&item, 1, LIMIT_MS) > 0 && control_frames(router, frame, 2) == 2) {
        keyring_card(&frame[1], &why);
        for (int i = 0; i < 2; i++) zmq_msg_close(&frame[i]);
    }
    return why;
}

/* The clock is ahead of all certificates for a while: they are good again when it is right, in the same process. */
static void a_clock_that_was_wrong(void **state)
{
    (void)state;
    ahead_s = (time_t)40 * 365 * 86400;
    assert_int_equal(next_event(), ZMQ_EVENT_DISCONNECTED);
    assert_int_equal(next_event(), ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    const char *why = fault_of_next();
    assert_non_null(why);
    assert_non_null(strstr(why, "expired"));
    ahead_s = 0;
    for (int ms = 0; why && ms < LIMIT_MS; ms += 20) {
        zclock_sleep(20);
        why = fault_of_next();
    }
    assert_null(why);
    while (
        zmq_poll(&(zmq_pollitem_t){.socket = zsock_resolve(monitor), .events = ZMQ_POLLIN}, 1, 0))
        next_event(); /* connections that were cut in between */
}

static void a_revoked_key_is_cut(void **state)
{
    (void)state;
    uint8_t key[1][KEYS_BYTES];
    uint64_t ended = refusals_of(REFUSAL_EXPIRED);
    memcpy(key[0], first_card->public_key, KEYS_BYTES);
    const keys_revoked_t list = {key, 1};
    free(write_file("revoked", keys_revoked_write(&authority, &list)));
    assert_int_equal(next_event(), ZMQ_EVENT_DISCONNECTED);
    assert_int_equal(next_event(), ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    assert_true(refusals_of(REFUSAL_REVOKED) >= 2); /* the connection, and the one after it */
    assert_int_equal(refusals_of(REFUSAL_EXPIRED), ended);
    assert_int_equal(refusals_of(REFUSAL_UNKNOWN), 0);
    disconnect_dealer();
}

static int unload(void **state)
{
    (void)state;
    char command[64];
    zsock_destroy(&router);
    keyring_end();
    snprintf(command, sizeof command, "rm -rf %s", dir);
    int rc = system(command);
    zsys_shutdown();
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_gets_in_before_somebody_judges),
        cmocka_unit_test(cards_come_with_messages),
        cmocka_unit_test(servers_prove_their_key),
        cmocka_unit_test(events_are_granted),
        cmocka_unit_test(a_descriptor_is_used_again),
        cmocka_unit_test(what_was_changed_ends_the_connection),
        cmocka_unit_test(who_has_spoken_is_no_stranger),
        cmocka_unit_test(a_clock_that_was_wrong),
        cmocka_unit_test(a_revoked_key_is_cut),
    };
    return cmocka_run_group_tests_name("keyring", tests, load, unload);
}
