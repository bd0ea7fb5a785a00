/* One process's keys. Cards that were judged good once are kept by public key, with the connections
 * that showed them; those of strangers are judged again each time, so that nobody fills our memory. */
#include "msg/keyring.h"

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "msg/endpoint.h"
#include "msg/guest.h"
#include "msg/ration.h"
#include "msg/refusals.h"

enum {
    LOOK_MS = 500, /* between looks at the list of revoked keys */
    WARN_MS = 60000,
    DAY_S = 86400,
    SOON_DAYS = 7, /* when the end of our key is worth a word */
    BUCKETS = 1024,
    MOST_CARDS = 65536,
};

typedef struct entry {
    keys_card_t card; /* first: keyring_number */
    char text[KEYS_CARD_TEXT];
    uint32_t number; /* of the key */
    const char *why; /* it is taken no more; NULL: it is */
    size_t n_cut;    /* connections of its, in this look */
    struct entry *next;
} entry_t;

/* A connection on which a card was good, by descriptor. */
typedef struct {
    uint64_t cookie; /* the kernel's name of that socket: a descriptor is used again */
    entry_t *entry;  /* NULL: none */
} connection_t;

/* What a file was when it was read. */
typedef struct {
    char *path; /* NULL: there is none */
    dev_t device;
    ino_t number;
    struct timespec when;
    off_t size;
} watched_t;

static struct {
    _Atomic(const keys_t *) own; /* NULL: there is none */
    VEC(keys_t *) all;           /* the first is what bound sockets go by; somebody may read any */
    _Atomic uint64_t own_since;  /* rises with each */
    watched_t key, list_file;
    int64_t end_told_ms;
    bool insecure, open;                 /* open: another machine may connect, without keys */
    keys_revoked_t revoked;              /* all that any list has named: nobody comes back */
    char *list;                          /* the text with most of them, for others */
    size_t n_list;                       /* its keys */
    uint64_t revoked_since;              /* rises with them */
    uint64_t judged_own, judged_revoked; /* cards were judged when these counted so much */
    entry_t *buckets[BUCKETS];
    VEC(connection_t) connection;
    size_t n_card;
    uint32_t n_key; /* different ones */
    zactor_t *actor;
} ring;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char revoked[] = "its key is revoked";
static const char expired[] = "its certificate has expired: issue another";
static const char foreign[] = "its certificate is not signed by this cluster's authority";

static void count_why(const char *why)
{
    refusals_count(why == revoked   ? REFUSAL_REVOKED
                   : why == expired ? REFUSAL_EXPIRED
                   : why == foreign ? REFUSAL_UNKNOWN
                                    : REFUSAL_NO_KEY);
}

/* --- Connections --- */

static void note_connection(entry_t *entry, int fd)
{
    const connection_t none = {0};
    if (fd < 0) return;
    while (ring.connection.n <= (size_t)fd) VEC_PUSH(&ring.connection, none);
    uint64_t cookie = guest_cookie(fd); /* it may have ended before its message was taken */
    ring.connection.at[fd] = (connection_t){cookie, cookie ? entry : NULL};
}

/* Of all whose card is taken no more. */
static void cut_connections(void)
{
    for (size_t fd = 0; fd < ring.connection.n; fd++) {
        connection_t *one = &ring.connection.at[fd];
        if (!one->entry || !one->entry->why) continue;
        if (guest_cookie((int)fd) == one->cookie) { /* else it has ended by itself */
            guest_cut((int)fd);
            count_why(one->entry->why);
            one->entry->n_cut++;
        }
        one->entry = NULL;
    }
}

static void tell_cut(entry_t *entry)
{
    if (entry->n_cut)
        log_event(LOG_WARN, "key_cut", "name=%s role=%s connections=%zu reason=\"%s\"",
                  entry->card.name, keys_role_name(entry->card.role), entry->n_cut, entry->why);
    entry->n_cut = 0;
}

/* --- The list of revoked keys --- */

static bool is_revoked(const uint8_t key[KEYS_BYTES])
{
    for (size_t i = 0; i < ring.revoked.n; i++)
        if (memcmp(ring.revoked.at[i], key, KEYS_BYTES) == 0) return true;
    return false;
}

/* Under the lock. Takes the list. */
static bool merge(keys_revoked_t *list, const char *text, size_t n)
{
    size_t before = ring.revoked.n;
    for (size_t i = 0; i < list->n; i++) {
        if (is_revoked(list->at[i])) continue;
        ring.revoked.at = mem_realloc(ring.revoked.at, (ring.revoked.n + 1) * KEYS_BYTES);
        memcpy(ring.revoked.at[ring.revoked.n++], list->at[i], KEYS_BYTES);
    }
    if (!ring.list || list->n >= ring.n_list) {
        free(ring.list);
        ring.list = mem_printf("%.*s", (int)n, text);
        ring.n_list = list->n;
    }
    free(list->at);
    if (ring.revoked.n > before) ring.revoked_since++;
    return ring.revoked.n > before;
}

/* Another file than the one that was read; a mount of Kubernetes' changes where links lead. */
static bool has_changed(const watched_t *self)
{
    struct stat info;
    if (!self->path || stat(self->path, &info) < 0) return false;
    return info.st_mtim.tv_sec != self->when.tv_sec || info.st_mtim.tv_nsec != self->when.tv_nsec ||
           info.st_size != self->size || info.st_ino != self->number || info.st_dev != self->device;
}

/* Before it is read: what is written meanwhile is another change. */
static int note_file(watched_t *self, struct stat *info, err_t *err)
{
    if (stat(self->path, info) < 0) return err_set_errno(err, "%s", self->path);
    self->when = info->st_mtim;
    self->size = info->st_size;
    self->number = info->st_ino;
    self->device = info->st_dev;
    return 0;
}

/* A list that cannot be read leaves the one before in force. */
static int read_revoked(err_t *err)
{
    struct stat info;
    size_t n;
    keys_revoked_t list;
    const char *path = ring.list_file.path;
    if (note_file(&ring.list_file, &info, err) < 0) return -1;
    if (info.st_size > KEYS_REVOKED_BYTES)
        return err_set(err, ERR_ARG, "%s is too large for a list of revoked keys", path);
    char *text = file_read(path, &n, err);
    if (!text) return -1;
    err_t inner = {0};
    int rc = keys_revoked_read(text, n, &keyring_own()->trust, &list, &inner);
    if (rc == 0) merge(&list, text, n);
    free(text);
    return rc < 0 ? err_set(err, inner.code, "%s: %s", path, inner.text) : 0;
}

int keyring_take_revoked(const char *text, size_t n, err_t *err)
{
    keys_revoked_t list;
    const keys_t *own = keyring_own();
    if (!own || keys_revoked_read(text, n, &own->trust, &list, err) < 0) return own ? -1 : 0;
    pthread_mutex_lock(&lock);
    bool more = merge(&list, text, n);
    size_t n_all = ring.revoked.n;
    pthread_mutex_unlock(&lock);
    if (more) log_event(LOG_INFO, "revoked_read", "keys=%zu", n_all);
    return more;
}

char *keyring_revoked_list(void)
{
    pthread_mutex_lock(&lock);
    char *text = ring.list ? mem_strdup(ring.list) : NULL;
    pthread_mutex_unlock(&lock);
    return text;
}

bool keyring_is_revoked(const uint8_t key[KEYS_BYTES])
{
    pthread_mutex_lock(&lock);
    bool yes = is_revoked(key);
    pthread_mutex_unlock(&lock);
    return yes;
}

uint64_t keyring_revoked_since(void)
{
    pthread_mutex_lock(&lock);
    uint64_t since = ring.revoked_since;
    pthread_mutex_unlock(&lock);
    return since;
}

static void look_at_list(void)
{
    err_t err = {0};
    if (!has_changed(&ring.list_file)) return;
    if (read_revoked(&err) < 0)
        log_event(LOG_ERROR, "revoked_unread", "error=\"%s\"", err.text);
    else
        log_event(LOG_INFO, "revoked_read", "keys=%zu", ring.revoked.n);
}

/* --- Our own key, when its file is replaced --- */

static void take_own(const keys_t *key)
{
    keys_t *kept = mem_calloc(1, sizeof *kept);
    *kept = *key;
    VEC_PUSH(&ring.all, kept);
    atomic_store(&ring.own, kept);
}

/* The list that we hand on must be one that others trust, too. */
static void drop_foreign_list(const keys_trust_t *trust)
{
    keys_revoked_t list;
    if (!ring.list) return;
    if (keys_revoked_read(ring.list, strlen(ring.list), trust, &list, NULL) == 0) {
        free(list.at);
        return;
    }
    free(ring.list);
    ring.list = NULL;
    ring.n_list = 0;
}

static int read_own(const keys_t *own, keys_t *next, err_t *err)
{
    struct stat info;
    err_t inner = {0};
    if (note_file(&ring.key, &info, err) < 0 || keys_load(ring.key.path, next, err) < 0) return -1;
    if (memcmp(next, own, sizeof *own) == 0) return 0;
    if (is_revoked(next->card.public_key)) return err_set(err, ERR_STATE, "it is revoked");
    if (keys_succeeds(own, next, clock_wall_ms() / 1000, &inner) < 0)
        return err_set(err, inner.code, "%s: %s", ring.key.path, inner.text);
    return 1;
}

/* One that is of no use leaves the one before in force. Connections that are made from now on show the
 * new one (keyring_own_since); those that there are end with the old one's. */
static void look_at_own(void)
{
    err_t err = {0};
    keys_t next;
    const keys_t *own = keyring_own();
    if (!has_changed(&ring.key)) return;
    int rc = read_own(own, &next, &err);
    if (rc < 0) log_event(LOG_ERROR, "key_kept", "name=%s error=\"%s\"", own->card.name, err.text);
    if (rc <= 0) return;
    bool fewer = false;
    for (size_t i = 0; i < own->trust.n; i++) fewer |= !keys_trusts(&next.trust, own->trust.at[i]);
    take_own(&next);
    explicit_bzero(&next, sizeof next);
    own = keyring_own();
    if (fewer) ring.revoked_since++; /* seals are to be judged again */
    drop_foreign_list(&own->trust);
    ring.end_told_ms = 0;
    atomic_fetch_add(&ring.own_since, 1);
    log_event(LOG_INFO, "key_renewed", "name=%s role=%s days=%lld authorities=%zu", own->card.name,
              keys_role_name(own->card.role),
              (long long)(own->card.expires_s - clock_wall_ms() / 1000) / DAY_S, own->trust.n);
}

/* Once a day, when it ends soon. */
static void warn_of_end(int64_t now_s)
{
    const keys_card_t *card = &keyring_own()->card;
    int64_t now_ms = clock_mono_ms(), left_s = card->expires_s - now_s;
    bool told = ring.end_told_ms && now_ms - ring.end_told_ms < 1000LL * DAY_S;
    if (left_s > (int64_t)SOON_DAYS * DAY_S || told) return;
    ring.end_told_ms = now_ms;
    log_event(left_s > 0 ? LOG_WARN : LOG_ERROR, left_s > 0 ? "key_ends" : "key_expired",
              "name=%s hours=%lld fix=\"pcp keys renew\"", card->name, (long long)left_s / 3600);
}

static const char *fault_of(const keys_card_t *card, int64_t now_s);

static void look(void)
{
    int64_t now_s = clock_wall_ms() / 1000;
    pthread_mutex_lock(&lock);
    look_at_own();
    look_at_list();
    warn_of_end(now_s);
    bool all = ring.judged_own != ring.own_since, more = ring.judged_revoked != ring.revoked_since;
    ring.judged_own = ring.own_since;
    ring.judged_revoked = ring.revoked_since;
    for (size_t b = 0; b < BUCKETS; b++)
        for (entry_t *entry = ring.buckets[b]; entry; entry = entry->next) {
            /* A clock that was far ahead for a while makes no end of a certificate. */
            bool again = entry->why == expired && entry->card.expires_s > now_s;
            if (all || again) entry->why = fault_of(&entry->card, now_s);
            if (more && is_revoked(entry->card.public_key)) entry->why = revoked;
            if (!entry->why && entry->card.expires_s <= now_s) entry->why = expired;
        }
    cut_connections();
    for (size_t b = 0; b < BUCKETS; b++)
        for (entry_t *entry = ring.buckets[b]; entry; entry = entry->next) tell_cut(entry);
    pthread_mutex_unlock(&lock);
}

/* --- ZAP: version, request, domain, address, identity, mechanism, credentials --- */

static void answer_zap(zsock_t *socket)
{
    zmsg_t *request = zmsg_recv(socket);
    if (!request) return;
    zframe_t *frame[7] = {NULL};
    size_t n = 0;
    for (zframe_t *one = zmsg_first(request); one && n < 7; one = zmsg_next(request))
        frame[n++] = one;
    char hex[2 * KEYS_BYTES + 1] = "";
    bool good = n == 7 && zframe_streq(frame[5], "CURVE") && zframe_size(frame[6]) == KEYS_BYTES;
    if (good) {
        keys_hex(zframe_data(frame[6]), KEYS_BYTES, hex);
        pthread_mutex_lock(&lock);
        good = !is_revoked(zframe_data(frame[6]));
        pthread_mutex_unlock(&lock);
    }
    if (!good) count_why(*hex ? revoked : NULL);
    if (!good)
        log_event(LOG_WARN, "key_refused", "address=%.*s reason=\"%s\"",
                  n > 3 ? (int)zframe_size(frame[3]) : 0,
                  n > 3 ? (const char *)zframe_data(frame[3]) : "",
                  *hex ? "the key is revoked" : "no CURVE");
    zmsg_t *reply = zmsg_new();
    zmsg_addstr(reply, "1.0");
    zmsg_addmem(reply, n > 1 ? zframe_data(frame[1]) : NULL, n > 1 ? zframe_size(frame[1]) : 0);
    zmsg_addstr(reply, good ? "200" : "400");
    zmsg_addstr(reply, good ? "OK" : "refused");
    zmsg_addstr(reply, good ? hex : "");
    zmsg_addmem(reply, NULL, 0);
    zmsg_send(&reply, socket);
    zmsg_destroy(&request);
}

static void serve(zsock_t *pipe, void *arg)
{
    zsock_t *zap = arg;
    zmq_pollitem_t items[2] = {{.socket = zsock_resolve(pipe), .events = ZMQ_POLLIN},
                               {.socket = zap ? zsock_resolve(zap) : NULL, .events = ZMQ_POLLIN}};
    int64_t look_ms = 0, warn_ms = clock_mono_ms();
    zsock_signal(pipe, 0);
    while (zmq_poll(items, zap ? 2 : 1, LOOK_MS) >= 0 && !(items[0].revents & ZMQ_POLLIN)) {
        int64_t now_ms = clock_mono_ms();
        if (zap && (items[1].revents & ZMQ_POLLIN)) answer_zap(zap);
        if (zap && now_ms - look_ms >= LOOK_MS) {
            look();
            look_ms = now_ms;
        }
        if (!zap && ring.open && now_ms - warn_ms >= WARN_MS) {
            log_event(LOG_WARN, "insecure",
                      "text=\"other machines may connect, and nothing is "
                      "encrypted or authenticated: --insecure\"");
            warn_ms = now_ms;
        }
    }
    zsock_destroy(&zap);
}

/* --- Beginning and end --- */

static void hand_down(const char *name, const char *value)
{
    if (value && *value) setenv(name, value, 1);
}

int keyring_load(const keyring_options_t *options, err_t *err)
{
    if (sodium_init() < 0) return err_set(err, ERR_STATE, "libsodium does not start");
    ring.insecure = options->insecure;
    if (options->insecure) hand_down("PCP_INSECURE", "true");
    if (!options->key || !*options->key) return 0;
    keys_t key;
    struct stat info;
    ring.key.path = mem_strdup(options->key);
    if (note_file(&ring.key, &info, err) < 0 || keys_load(options->key, &key, err) < 0) return -1;
    take_own(&key);
    explicit_bzero(&key, sizeof key);
    /* Its end is for others to judge; a file that was changed is of no use. */
    const keys_t *own = keyring_own();
    if (keys_card_check(&own->card, &own->trust, INT64_MIN, err) < 0) return -1;
    hand_down("PCP_KEY", options->key);
    hand_down("PCP_REVOKED", options->revoked);
    if (!options->revoked || !*options->revoked) return 0;
    ring.list_file.path = mem_strdup(options->revoked);
    return read_revoked(err);
}

int keyring_start(err_t *err)
{
    if (ring.actor || (!keyring_own() && !ring.insecure)) return 0;
    zsock_t *zap = NULL;
    if (keyring_own()) {
        warn_of_end(clock_wall_ms() / 1000);
        zap = endpoint_open(endpoint_bind(ZMQ_REP, "inproc://zeromq.zap.01"), err);
        if (!zap) return -1;
    }
    ring.actor = zactor_new(serve, zap);
    return ring.actor ? 0 : err_set(err, ERR_STATE, "no thread for keys");
}

void keyring_end(void)
{
    zactor_destroy(&ring.actor);
}

const keys_t *keyring_own(void)
{
    return atomic_load(&ring.own);
}

const keys_t *keyring_first(void)
{
    return ring.all.n ? ring.all.at[0] : NULL;
}

bool keyring_may_open(void)
{
    ring.open = true;
    return ring.insecure;
}

uint64_t keyring_own_since(void)
{
    return atomic_load(&ring.own_since);
}

/* --- Cards --- */

/* A renewed card of the same key is another card: it comes on another connection. */
static entry_t **find(const uint8_t key[KEYS_BYTES], const char *text)
{
    uint32_t hash;
    memcpy(&hash, key, sizeof hash);
    entry_t **at = &ring.buckets[hash % BUCKETS];
    while (*at &&
           (memcmp((*at)->card.public_key, key, KEYS_BYTES) != 0 || strcmp((*at)->text, text) != 0))
        at = &(*at)->next;
    return at;
}

/* Of the same key, under whatever card; else a new one. */
static uint32_t number_of(const uint8_t key[KEYS_BYTES])
{
    uint32_t hash;
    memcpy(&hash, key, sizeof hash);
    for (const entry_t *at = ring.buckets[hash % BUCKETS]; at; at = at->next)
        if (at->number && memcmp(at->card.public_key, key, KEYS_BYTES) == 0) return at->number;
    return ++ring.n_key;
}

static const char *fault_of(const keys_card_t *card, int64_t now_s)
{
    const keys_trust_t *trust = &keyring_own()->trust;
    if (is_revoked(card->public_key)) return revoked;
    if (keys_card_check(card, trust, now_s, NULL) == 0) return NULL;
    return card->expires_s <= now_s ? expired : foreign;
}

/* Under the lock. */
static const keys_card_t *take_card(const uint8_t key[KEYS_BYTES], const char *text, int fd,
                                    const char **why)
{
    int64_t now_s = clock_wall_ms() / 1000;
    entry_t **at = find(key, text), *entry = *at;
    if (!entry) {
        keys_card_t card;
        *why = keys_card_read(text, key, &card, NULL) < 0 ? "it has shown no certificate"
                                                          : fault_of(&card, now_s);
        if (!*why && ring.n_card >= MOST_CARDS) *why = "too many members";
        if (*why) return NULL;
        *at = entry = mem_calloc(1, sizeof *entry);
        ring.n_card++;
        entry->card = card;
        entry->number = number_of(key);
        snprintf(entry->text, sizeof entry->text, "%s", text);
    }
    note_connection(entry, fd);
    ration_key_heard(entry->number);
    *why = entry->why ? entry->why : entry->card.expires_s <= now_s ? expired : NULL;
    return *why ? NULL : &entry->card;
}

const keys_card_t *keyring_card(zmq_msg_t *frame, const char **why)
{
    *why = NULL;
    if (!keyring_own()) return NULL;
    const char *user = zmq_msg_gets(frame, "User-Id"),
               *text = zmq_msg_gets(frame, KEYS_CARD_PROPERTY);
    uint8_t key[KEYS_BYTES];
    if (!user) return NULL; /* ipc, inproc */
    if (strlen(user) != 2 * KEYS_BYTES || !keys_unhex(user, KEYS_BYTES, key)) {
        *why = "it has no key";
        count_why(*why);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    const keys_card_t *card = take_card(key, text ? text : "", zmq_msg_get(frame, ZMQ_SRCFD), why);
    if (*why) count_why(*why);
    pthread_mutex_unlock(&lock);
    return card;
}

uint32_t keyring_number(const keys_card_t *card)
{
    return card ? ((const entry_t *)card)->number : 0;
}

uint32_t keyring_number_at(int fd, uint64_t cookie)
{
    uint32_t number = 0;
    pthread_mutex_lock(&lock);
    if (fd >= 0 && (size_t)fd < ring.connection.n) {
        const connection_t *one = &ring.connection.at[fd];
        if (one->entry && one->cookie == cookie) number = one->entry->number;
    }
    pthread_mutex_unlock(&lock);
    return number;
}
