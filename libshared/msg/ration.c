/* Marks of the bytes at which connections were last heard, and buckets of messages they may still say. */
#include "msg/ration.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "msg/limits.h"
#include "msg/shares.h"

enum {
    DESCRIPTORS = 1 << 20,  /* door_raise_limit asks for no more */
    PAGE = 1 << 10,         /* descriptors */
    GROWN_BYTES = 16 << 20, /* of this process, after which it is looked at once */
    SELDOM_MS = 1000,
    OFTEN_MS = 60,      /* where connections had to end not long ago: ... */
    ALERT_MS = 10000,   /* ... what was freed since is filled without growth */
    LOOKS_EACH_MS = 16, /* connections, so that looking is a small part of the time */
    BEATS_BYTES = 16,   /* a second: ZeroMQ's own heartbeats, which end no message */
    REFUSED_COST = 100, /* messages */
    KEYS = 1 << 16,     /* keyring.c has no more */
};

/* Memory by bytes on the line, at the most: with keys of frames of 34 bytes, without of empty ones; and what is thought of
 * those without keys of whom nothing is known. */
static const double MOST_CURVE = 2.5, MOST_PLAIN = 32, UNKNOWN_PLAIN = 4.5;

/* By descriptor; the numbers since the last look. */
typedef struct {
    _Atomic bool spoke; /* since ration_spoke was asked last */
    _Atomic uint32_t heard;
    _Atomic uint64_t taken;
    _Atomic uint64_t filled; /* what that took in memory while it waited */
} tally_t;

/* Pages are made when they are needed, and stay: a program without connections has none. */
static _Atomic(tally_t *) page[DESCRIPTORS / PAGE];

/* NULL: there is no such descriptor, or nothing was heard of it. */
static tally_t *tally_of(int fd)
{
    if (fd < 0 || fd >= DESCRIPTORS) return NULL;
    tally_t *at = atomic_load_explicit(&page[fd / PAGE], memory_order_acquire);
    return at ? &at[fd % PAGE] : NULL;
}

static tally_t *tally_made(int fd)
{
    tally_t *own = tally_of(fd);
    if (own || fd < 0 || fd >= DESCRIPTORS) return own;
    tally_t *made = mem_calloc(PAGE, sizeof *made), *before = NULL;
    if (!atomic_compare_exchange_strong(&page[fd / PAGE], &before, made)) free(made);
    return tally_of(fd);
}

void ration_heard(int fd, ration_size_t size)
{
    tally_t *own = tally_made(fd);
    if (!own) return;
    atomic_store_explicit(&own->spoke, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&own->heard, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&own->taken, size.line, memory_order_relaxed);
    atomic_fetch_add_explicit(&own->filled, size.memory, memory_order_relaxed);
}

bool ration_spoke(int fd)
{
    tally_t *own = tally_of(fd);
    return own && atomic_exchange_explicit(&own->spoke, false, memory_order_relaxed);
}

static void forget_speakers(void)
{
    for (size_t i = 0; i < DESCRIPTORS / PAGE; i++) {
        tally_t *at = atomic_load_explicit(&page[i], memory_order_acquire);
        for (size_t j = 0; at && j < PAGE; j++)
            atomic_store_explicit(&at[j].spoke, false, memory_order_relaxed);
    }
}

void ration_refused(int fd)
{
    tally_t *own = tally_made(fd);
    if (own) atomic_fetch_add_explicit(&own->heard, REFUSED_COST, memory_order_relaxed);
}

/* By key, of all its connections, also of those that have ended. */
static _Atomic uint32_t key_heard[KEYS + 1];

void ration_key_heard(uint32_t key)
{
    if (key && key <= KEYS) atomic_fetch_add_explicit(&key_heard[key], 1, memory_order_relaxed);
}

void ration_key_refused(uint32_t key)
{
    if (key && key <= KEYS)
        atomic_fetch_add_explicit(&key_heard[key], REFUSED_COST, memory_order_relaxed);
}

/* On the line, RFC 23: flags and size, of 1 byte or 8; RFC 26: "MESSAGE", a nonce, the box's authenticator, flags. In
 * memory, libzmq 4.3.4: a zmq_msg_t, which short frames fit in; of longer ones a block with a head, which the C library
 * rounds up. */
ration_size_t ration_frame(size_t bytes, bool curve)
{
    enum { SHORT = 2, LONG = 9, MOST_SHORT = 255, CURVE = 8 + 8 + 16 + 1 };
    enum { FRAME = 64, MOST_INSIDE = 33, HEAD = 40 + 16 };
    size_t n = bytes + (curve ? CURVE : 0);
    return (ration_size_t){.line = n + (n <= MOST_SHORT ? SHORT : LONG),
                           .memory = FRAME + (bytes > MOST_INSIDE ? HEAD + bytes : 0)};
}

typedef struct {
    uint64_t cookie;
    uint64_t mark;  /* of the bytes that came, those that wait no more */
    double may_say; /* messages */
    double weight;  /* memory by bytes, of the messages taken last; 0: of none yet */
    uint64_t fills; /* memory, at the last look */
    uint64_t look;  /* number of that */
    uint64_t owner;
    size_t entry;
} record_t;

void ration_add(ration_size_t *sum, ration_size_t one)
{
    sum->line += one.line;
    sum->memory += one.memory;
}

struct ration {
    VEC(record_t) record; /* by descriptor */
    shares_t *shares;
    ration_limits_t limits;
    uint64_t look;
    int statm;
    uint64_t bytes;    /* of this process, at the last look */
    uint64_t in_peace; /* the same, when no whole message waited */
    int64_t looked_ms, alert_until_ms, often_ms;
};

ration_t *ration_new(const ration_limits_t *limits)
{
    ration_t *self = mem_calloc(1, sizeof *self);
    self->limits = *limits;
    forget_speakers();
    self->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    self->in_peace = ration_own_bytes(self);
    self->shares = shares_new(limits->total, limits->connections);
    return self;
}

void ration_destroy(ration_t **self_p)
{
    ration_t *self = *self_p;
    if (!self) return;
    if (self->statm >= 0) close(self->statm);
    VEC_FREE(&self->record);
    shares_destroy(&self->shares);
    free(self);
    *self_p = NULL;
}

uint64_t ration_own_bytes(const ration_t *self)
{
    char text[128];
    unsigned long long all, resident;
    ssize_t n = self->statm < 0 ? -1 : pread(self->statm, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return sscanf(text, "%llu %llu", &all, &resident) == 2
               ? resident * (uint64_t)sysconf(_SC_PAGESIZE)
               : 0;
}

bool ration_due(ration_t *self, int64_t now_ms)
{
    uint64_t bytes = ration_own_bytes(self);
    if (bytes < self->bytes) self->bytes = bytes;
    int64_t every_ms = SELDOM_MS;
    if (now_ms < self->alert_until_ms) every_ms = self->often_ms;
    if (!shares_full(self->shares, 0) && now_ms - self->looked_ms < every_ms &&
        bytes < self->bytes + GROWN_BYTES)
        return false;
    self->bytes = bytes;
    return true;
}

void ration_entry(ration_t *self, size_t entry, bool drained)
{
    shares_entry(self->shares, entry, drained);
}

/* Of a connection that has ended: what it had queued is still there. */
static void bury(ration_t *self, record_t *record)
{
    if (record->cookie) shares_bury(self->shares, record->entry, record->owner, record->fills);
    *record = (record_t){0};
}

static record_t *record_of(ration_t *self, const ration_guest_t *guest)
{
    const record_t unknown = {0};
    while (self->record.n <= (size_t)guest->fd) VEC_PUSH(&self->record, unknown);
    record_t *record = &self->record.at[guest->fd];
    if (record->cookie == guest->cookie) return record;
    bury(self, record);
    *record = (record_t){.cookie = guest->cookie, .may_say = SHARES_BURST_S * MSG_PEER_RATE};
    return record;
}

static double most_weight(const ration_t *self)
{
    return self->limits.curve ? MOST_CURVE : MOST_PLAIN;
}

/* Who has said much in little will do so again; of whom nothing was taken yet more is feared. */
static void weigh(const ration_t *self, record_t *record, uint64_t took, uint64_t filled_bytes)
{
    if (took > 0) record->weight = (double)filled_bytes / (double)took;
    if (record->weight <= 0) record->weight = self->limits.curve ? MOST_CURVE : UNKNOWN_PLAIN;
    if (record->weight < 1) record->weight = 1;
}

/* Bytes that wait. Where no whole message does, all but the last piece was in messages that we took: so
 * is what nobody counts, greetings and heartbeats. */
static uint64_t waiting(record_t *record, const ration_guest_t *guest, uint64_t took,
                        double passed_s)
{
    record->mark += (guest->listens ? 0 : took) + (uint64_t)(passed_s * BEATS_BYTES);
    if (record->mark > guest->came || (guest->drained && !guest->listens && took > 0))
        record->mark = guest->came;
    return guest->came - record->mark;
}

static void refill(record_t *record, double passed_s)
{
    record->may_say += passed_s * MSG_PEER_RATE;
    if (record->may_say > SHARES_BURST_S * MSG_PEER_RATE)
        record->may_say = SHARES_BURST_S * MSG_PEER_RATE;
}

static void condemn(ration_t *self, ration_guest_t *guest, const record_t *record)
{
    uint64_t most = guest->listens   ? MSG_LISTENER_BYTES
                    : guest->drained ? MSG_UNFINISHED_BYTES
                                     : MSG_WAITING_BYTES;
    bool talks = record->may_say < 0, is_new = record->look == 0;
    guest->counts = talks ? REFUSAL_MESSAGES : REFUSAL_BYTES;
    guest->wrong = talks ? "it says too much in too short a time"
                   : is_new && shares_full(self->shares, guest->owner) ? "too much of others waits"
                   : guest->held <= most                               ? NULL
                   : guest->listens                                    ? "it subscribes to too much"
                   : guest->drained                                    ? "its message does not end"
                                                                       : "too much of it waits";
}

static void judge(ration_t *self, ration_guest_t *guest, double passed_s)
{
    record_t *record = record_of(self, guest);
    tally_t *tally = tally_of(guest->fd);
    if (!guest->owner) guest->owner = SHARES_ALONE | (uint64_t)guest->fd;
    guest->said = tally ? atomic_exchange(&tally->heard, 0) : 0;
    uint64_t took = tally ? atomic_exchange(&tally->taken, 0) : 0;
    uint64_t was = tally ? atomic_exchange(&tally->filled, 0) : 0;
    refill(record, passed_s);
    record->may_say -= guest->said;
    record->entry = guest->entry;
    record->owner = guest->owner;
    guest->held = waiting(record, guest, took, passed_s);
    weigh(self, record, took, was);
    record->fills = guest->fills = (uint64_t)(record->weight * (double)guest->held);
    condemn(self, guest, record);
    record->look = self->look;
}

/* How large this process is where nothing waits. */
static void see_peace(ration_t *self, uint64_t waits)
{
    self->bytes = ration_own_bytes(self);
    if ((shares_empty(self->shares) && waits < SHARES_WORTH_BYTES) || self->bytes < self->in_peace)
        self->in_peace = self->bytes;
}

/* Factor of what was thought: where it was too little, this process has grown by more. */
static double correct(const ration_t *self, uint64_t thought, uint64_t held)
{
    double most = most_weight(self) * (double)held;
    double grown = (double)self->bytes - (double)self->in_peace;
    if (grown > most) grown = most;
    return self->limits.alone && grown > (double)thought ? grown / (double)thought : 1;
}

/* What those who are there make us hold is thought of, and those who have gone. */
static double factor_of(ration_t *self, const ration_guest_t *guests, size_t n)
{
    uint64_t gone = shares_gone(self->shares), all = gone, held = gone;
    for (size_t i = 0; i < n; i++) {
        if (guests[i].listens) continue;
        all += guests[i].fills;
        held += guests[i].held;
    }
    see_peace(self, all);
    return correct(self, all, held);
}

static uint32_t take_key_heard(uint64_t owner)
{
    return owner <= KEYS ? atomic_exchange(&key_heard[owner], 0) : 0;
}

size_t ration_judge(ration_t *self, ration_guest_t *guests, size_t n, int64_t now_ms)
{
    double passed_s = (double)(now_ms - self->looked_ms) / 1000;
    size_t n_wrong = 0;
    self->looked_ms = now_ms;
    self->look++;
    for (size_t i = 0; i < n; i++) judge(self, &guests[i], passed_s);
    for (size_t fd = 0; fd < self->record.n; fd++)
        if (self->record.at[fd].look != self->look) bury(self, &self->record.at[fd]);
    shares_judge(self->shares, guests, n, factor_of(self, guests, n), take_key_heard, now_ms);
    for (size_t i = 0; i < n; i++) n_wrong += guests[i].wrong != NULL;
    if (n_wrong) self->alert_until_ms = now_ms + ALERT_MS;
    self->often_ms = OFTEN_MS + (int64_t)(n / LOOKS_EACH_MS);
    return n_wrong;
}
