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

enum {
    DESCRIPTORS = 1 << 20,  /* door_raise_limit asks for no more */
    GROWN_BYTES = 16 << 20, /* of this process, after which it is looked at once */
    SELDOM_MS = 1000,
    WORTH_BYTES = 1 << 20, /* who holds less is not what the sum is made of */
    BURST_S = 2,           /* so many seconds' messages at once */
    BEATS_BYTES = 16,      /* a second: ZeroMQ's own heartbeats, which end no message */
    REFUSED_COST = 100,    /* messages */
};

/* What was taken since the last look, by descriptor. Pages of it that nobody touches take no memory. */
static _Atomic uint32_t heard[DESCRIPTORS];
static _Atomic uint64_t taken[DESCRIPTORS];

void ration_heard(int fd, size_t bytes)
{
    if (fd < 0 || fd >= DESCRIPTORS) return;
    atomic_fetch_add_explicit(&heard[fd], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&taken[fd], bytes, memory_order_relaxed);
}

void ration_refused(int fd)
{
    if (fd >= 0 && fd < DESCRIPTORS)
        atomic_fetch_add_explicit(&heard[fd], REFUSED_COST, memory_order_relaxed);
}

/* RFC 23: flags and size, of 1 byte or 8. RFC 26: "MESSAGE", a nonce, the box's authenticator, flags. */
size_t ration_frame(size_t bytes, bool curve)
{
    enum { SHORT = 2, LONG = 9, MOST_SHORT = 255, CURVE = 8 + 8 + 16 + 1 };
    size_t n = bytes + (curve ? CURVE : 0);
    return n + (n <= MOST_SHORT ? SHORT : LONG);
}

/* A socket's queue. */
typedef struct {
    uint64_t left; /* bytes that connections which have ended had sent there */
    bool empty;
} queue_t;

typedef struct {
    uint64_t cookie;
    uint64_t mark;  /* of the bytes that came, those that wait no more */
    double may_say; /* messages */
    uint64_t held;  /* at the last look */
    uint64_t look;  /* number of that */
    size_t entry;
} record_t;

struct ration {
    VEC(record_t) record; /* by descriptor */
    VEC(queue_t) queue;   /* by entry */
    uint64_t total, look;
    bool full; /* nobody new is let in */
    int statm;
    uint64_t bytes; /* of this process, at the last look */
    int64_t looked_ms;
};

ration_t *ration_new(uint64_t total)
{
    ration_t *self = mem_calloc(1, sizeof *self);
    self->total = total;
    self->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    return self;
}

void ration_destroy(ration_t **self_p)
{
    ration_t *self = *self_p;
    if (!self) return;
    if (self->statm >= 0) close(self->statm);
    VEC_FREE(&self->record);
    VEC_FREE(&self->queue);
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
    if (!self->full && now_ms - self->looked_ms < SELDOM_MS && bytes < self->bytes + GROWN_BYTES)
        return false;
    self->bytes = bytes;
    return true;
}

void ration_entry(ration_t *self, size_t entry, bool drained)
{
    const queue_t none = {0};
    while (self->queue.n <= entry) VEC_PUSH(&self->queue, none);
    self->queue.at[entry].empty = drained;
    if (drained) self->queue.at[entry].left = 0;
}

/* Of a connection that has ended: what it had queued is still there. */
static void bury(ration_t *self, record_t *record)
{
    queue_t *queue = record->entry < self->queue.n ? &self->queue.at[record->entry] : NULL;
    if (record->cookie && queue && !queue->empty) queue->left += record->held;
    *record = (record_t){0};
}

static record_t *record_of(ration_t *self, const ration_guest_t *guest)
{
    const record_t unknown = {0};
    while (self->record.n <= (size_t)guest->fd) VEC_PUSH(&self->record, unknown);
    record_t *record = &self->record.at[guest->fd];
    if (record->cookie == guest->cookie) return record;
    bury(self, record);
    *record = (record_t){.cookie = guest->cookie, .may_say = BURST_S * MSG_PEER_RATE};
    return record;
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

static void judge(ration_t *self, ration_guest_t *guest, double passed_s)
{
    record_t *record = record_of(self, guest);
    bool is_new = record->look == 0;
    bool known = guest->fd < DESCRIPTORS;
    uint32_t n = known ? atomic_exchange(&heard[guest->fd], 0) : 0;
    uint64_t took = known ? atomic_exchange(&taken[guest->fd], 0) : 0;
    record->may_say += passed_s * MSG_PEER_RATE;
    if (record->may_say > BURST_S * MSG_PEER_RATE) record->may_say = BURST_S * MSG_PEER_RATE;
    record->may_say -= n;
    record->look = self->look;
    record->entry = guest->entry;
    record->held = guest->held = waiting(record, guest, took, passed_s);
    uint64_t most = guest->listens   ? MSG_LISTENER_BYTES
                    : guest->drained ? MSG_UNFINISHED_BYTES
                                     : MSG_WAITING_BYTES;
    guest->talks = record->may_say < 0;
    guest->wrong = guest->talks           ? "it says too much in too short a time"
                   : is_new && self->full ? "too much of others waits"
                   : guest->held <= most  ? NULL
                   : guest->listens       ? "it subscribes to too much"
                   : guest->drained       ? "its message does not end"
                                          : "too much of it waits";
}

static int by_held(const void *a, const void *b)
{
    const ration_guest_t *x = a, *y = b;
    return x->held > y->held ? -1 : x->held < y->held;
}

/* Who holds most goes first. What waits for us where messages do is ours to take, and nobody's fault. */
static void keep_to_budget(ration_guest_t *guests, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++)
        if (guests[i].drained && !guests[i].wrong) all += guests[i].held;
    for (size_t i = 0; i < n && all > MSG_UNFINISHED_TOTAL; i++) {
        if (!guests[i].drained || guests[i].wrong) continue;
        guests[i].wrong = "all unfinished messages take too much, and it has sent most";
        all -= guests[i].held;
    }
}

/* Whole messages and unfinished ones, of those who are there and those who have gone. */
static void keep_to_total(ration_t *self, ration_guest_t *guests, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < self->queue.n; i++) all += self->queue.at[i].left;
    for (size_t i = 0; i < n; i++)
        if (!guests[i].listens) all += guests[i].held;
    self->full = all > self->total;
    for (size_t i = 0; i < n && all > self->total && guests[i].held >= WORTH_BYTES; i++) {
        if (!guests[i].wrong && !guests[i].listens)
            guests[i].wrong = "all that waits for us is too much, and it has sent most";
        all -= guests[i].held;
    }
}

size_t ration_judge(ration_t *self, ration_guest_t *guests, size_t n, int64_t now_ms)
{
    double passed_s = (double)(now_ms - self->looked_ms) / 1000;
    size_t n_wrong = 0;
    self->looked_ms = now_ms;
    self->look++;
    for (size_t i = 0; i < n; i++) judge(self, &guests[i], passed_s);
    if (n) qsort(guests, n, sizeof *guests, by_held);
    keep_to_budget(guests, n);
    for (size_t fd = 0; fd < self->record.n; fd++)
        if (self->record.at[fd].look != self->look) bury(self, &self->record.at[fd]);
    keep_to_total(self, guests, n);
    for (size_t i = 0; i < n; i++) n_wrong += guests[i].wrong != NULL;
    return n_wrong;
}
