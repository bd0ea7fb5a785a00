/* Owners' buckets of messages, and who gives way where memory is short: water that is taken from the deepest first. */
#include "msg/shares.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "msg/limits.h"

enum {
    SMALL_BYTES =
        64 << 10, /* who holds less would not make room for what others of its owner's have left */
    STRANGERS_PART = 3, /* of all */
    KEY_PART = 2,
};

typedef struct {
    uint64_t owner, bytes;
} left_t;

/* Of one entry: what connections that have ended had sent there, by owner, sorted by that. */
typedef struct {
    VEC(left_t) left;
    bool empty;
} queue_t;

typedef struct {
    uint64_t id;
    double may_say;
    int64_t looked_ms;
} owner_t;
typedef VEC(owner_t) owners_t;

struct shares {
    VEC(queue_t) queue; /* by entry */
    owners_t owner;     /* sorted by id: who is there, or was so short a time ago that it matters */
    uint64_t total;
    size_t connections;
    bool full, strangers_full;
};

shares_t *shares_new(uint64_t total, size_t connections)
{
    shares_t *self = mem_calloc(1, sizeof *self);
    self->total = total;
    self->connections = connections;
    return self;
}

void shares_destroy(shares_t **self_p)
{
    shares_t *self = *self_p;
    if (!self) return;
    for (size_t i = 0; i < self->queue.n; i++) VEC_FREE(&self->queue.at[i].left);
    VEC_FREE(&self->queue);
    VEC_FREE(&self->owner);
    free(self);
    *self_p = NULL;
}

static bool is_stranger(uint64_t owner)
{
    return owner & RATION_STRANGER;
}

bool shares_full(const shares_t *self, uint64_t owner)
{
    return self->full || (is_stranger(owner) && self->strangers_full);
}

/* --- What those who have gone have left --- */

void shares_entry(shares_t *self, size_t entry, bool drained)
{
    const queue_t none = {0};
    while (self->queue.n <= entry) VEC_PUSH(&self->queue, none);
    self->queue.at[entry].empty = drained;
    if (drained) VEC_FREE(&self->queue.at[entry].left);
}

/* The first row that is not of a smaller owner's. */
static size_t find_left(const queue_t *queue, uint64_t owner)
{
    size_t low = 0, high = queue->left.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (queue->left.at[mid].owner < owner)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void shares_bury(shares_t *self, size_t entry, uint64_t owner, uint64_t bytes)
{
    queue_t *queue = entry < self->queue.n ? &self->queue.at[entry] : NULL;
    if (!queue || queue->empty || !bytes) return;
    if (owner & SHARES_ALONE) owner = SHARES_ALONE; /* it is nobody's now */
    size_t at = find_left(queue, owner);
    if (at == queue->left.n || queue->left.at[at].owner != owner) {
        const left_t row = {.owner = owner};
        VEC_PUSH(&queue->left, row);
        memmove(&queue->left.at[at + 1], &queue->left.at[at],
                (queue->left.n - 1 - at) * sizeof row);
        queue->left.at[at] = row;
    }
    queue->left.at[at].bytes += bytes;
}

static uint64_t left_by(const shares_t *self, uint64_t owner)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < self->queue.n; i++) {
        const queue_t *queue = &self->queue.at[i];
        size_t at = find_left(queue, owner);
        if (at < queue->left.n && queue->left.at[at].owner == owner)
            sum += queue->left.at[at].bytes;
    }
    return sum;
}

static uint64_t left_by_all(const shares_t *self, bool strangers_alone)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < self->queue.n; i++)
        for (size_t k = 0; k < self->queue.at[i].left.n; k++)
            if (!strangers_alone || is_stranger(self->queue.at[i].left.at[k].owner))
                sum += self->queue.at[i].left.at[k].bytes;
    return sum;
}

uint64_t shares_gone(const shares_t *self)
{
    return left_by_all(self, false);
}

bool shares_empty(const shares_t *self)
{
    bool empty = true;
    for (size_t i = 0; i < self->queue.n; i++) empty = empty && self->queue.at[i].empty;
    return empty;
}

/* --- Messages and connections, by owner --- */

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Of an owner's those who have said most; who has sent more before is an older member. */
static int by_owner(const void *a, const void *b)
{
    const ration_guest_t *x = a, *y = b;
    if (x->owner != y->owner) return compare(x->owner, y->owner);
    if (x->said != y->said) return compare(y->said, x->said);
    return compare(y->came, x->came);
}

static int by_came(const void *a, const void *b)
{
    const ration_guest_t *x = a, *y = b;
    return compare(y->came, x->came);
}

static void end(ration_guest_t *guest, refusal_reason_t counts, const char *why)
{
    if (guest->wrong) return;
    guest->wrong = why;
    guest->counts = counts;
}

/* One owner's guests, those who have said most first. */
static void keep_to_rate(owner_t *owner, ration_guest_t *guests, size_t n, double said,
                         int64_t now_ms)
{
    const double most = (double)SHARES_BURST_S * MSG_PEER_RATE;
    double earned = (double)(now_ms - owner->looked_ms) / 1000 * MSG_PEER_RATE;
    owner->looked_ms = now_ms;
    owner->may_say += earned;
    if (owner->may_say > most) owner->may_say = most;
    owner->may_say -= said;
    double debt = -owner->may_say, part = earned / (double)n;
    for (size_t i = 0; i < n && debt > 0 && guests[i].said > part; i++) {
        end(&guests[i], REFUSAL_MESSAGES, "its key says too much in too short a time");
        debt -= guests[i].said;
    }
    if (owner->may_say < -most) owner->may_say = -most;
}

/* Those who have sent least go. */
static void keep_to_connections(const shares_t *self, ration_guest_t *guests, size_t n)
{
    if (!self->connections || n <= self->connections) return;
    qsort(guests, n, sizeof *guests, by_came);
    for (size_t i = self->connections; i < n; i++)
        end(&guests[i], REFUSAL_CONNECTIONS, "its key has too many connections");
}

/* The row of the owner in what there was at the last look, from *at on; else a new one. */
static owner_t recall(const owners_t *before, size_t *at, owners_t *after, uint64_t id,
                      int64_t now_ms)
{
    for (; *at < before->n && before->at[*at].id <= id; ++*at) {
        const owner_t *row = &before->at[*at];
        if (row->id == id) return before->at[(*at)++];
        if (now_ms - row->looked_ms < 2000 * SHARES_BURST_S) VEC_PUSH(after, *row);
    }
    return (owner_t){.id = id, .may_say = SHARES_BURST_S * MSG_PEER_RATE, .looked_ms = now_ms};
}

static void judge_owners(shares_t *self, ration_guest_t *guests, size_t n,
                         uint32_t (*key_heard)(uint64_t owner), int64_t now_ms)
{
    owners_t after = {0};
    size_t at = 0;
    if (n) qsort(guests, n, sizeof *guests, by_owner);
    for (size_t i = 0, m; i < n && !(guests[i].owner & SHARES_ALONE); i += m) {
        double said = 0;
        for (m = 0; i + m < n && guests[i + m].owner == guests[i].owner; m++)
            said += guests[i + m].said;
        uint64_t id = guests[i].owner;
        if (!is_stranger(id)) said = key_heard(id);
        owner_t owner = recall(&self->owner, &at, &after, id, now_ms);
        keep_to_rate(&owner, &guests[i], m, said, now_ms);
        keep_to_connections(self, &guests[i], m);
        VEC_PUSH(&after, owner);
    }
    recall(&self->owner, &at, &after, UINT64_MAX, now_ms);
    VEC_FREE(&self->owner);
    self->owner = after;
}

/* --- Memory --- */

typedef struct {
    ration_guest_t *guest;
    uint64_t owner;
    uint64_t holds; /* of what is limited */
    uint64_t
        stands; /* that, with what others of its owner's hold that hold no more, and what its owner's have left */
    uint64_t left; /* the last of these */
} claim_t;
typedef VEC(claim_t) claims_t;

typedef struct {
    uint64_t limit, share; /* of all, of one key */
    const char *wrong, *wrong_key;
    bool counts_left;
    double factor;
} limit_t;

static int by_holds(const void *a, const void *b)
{
    const claim_t *x = a, *y = b;
    return x->owner != y->owner ? compare(x->owner, y->owner) : compare(y->holds, x->holds);
}

static int by_stands(const void *a, const void *b)
{
    const claim_t *x = a, *y = b;
    return compare(y->stands, x->stands);
}

/* An owner's largest stands for all of it, the next for all but that one. */
static void add_up(const shares_t *self, claims_t *claims, const limit_t *limit)
{
    if (claims->n) qsort(claims->at, claims->n, sizeof *claims->at, by_holds);
    for (size_t i = claims->n; i-- > 0;) {
        claim_t *one = &claims->at[i];
        const claim_t *next = i + 1 < claims->n ? one + 1 : NULL;
        bool first = !next || next->owner != one->owner;
        if (first && limit->counts_left)
            one->left = (uint64_t)(limit->factor * (double)left_by(self, one->owner));
        if (!first) one->left = next->left;
        one->stands = one->holds + (first ? one->left : next->stands);
    }
    if (claims->n) qsort(claims->at, claims->n, sizeof *claims->at, by_stands);
}

static bool over_share(const claim_t *one, const limit_t *limit)
{
    return !(one->owner & SHARES_ALONE) && !is_stranger(one->owner) && one->stands > limit->share &&
           (one->holds >= SMALL_BYTES || one->stands - one->left > limit->share);
}

/* Returns whether all was more than the limit. */
static bool keep_to(const shares_t *self, claims_t *claims, uint64_t left, const limit_t *limit)
{
    uint64_t all = (uint64_t)(limit->factor * (double)left);
    add_up(self, claims, limit);
    for (size_t i = 0; i < claims->n; i++) all += claims->at[i].holds;
    bool over = all > limit->limit;
    for (size_t i = 0; i < claims->n; i++) {
        const claim_t *one = &claims->at[i];
        bool key = over_share(one, limit);
        if (!key && (all <= limit->limit || one->stands < SHARES_WORTH_BYTES)) continue;
        end(one->guest, REFUSAL_BYTES, key ? limit->wrong_key : limit->wrong);
        all -= one->holds;
    }
    VEC_FREE(claims);
    return over;
}

static void claim(claims_t *claims, ration_guest_t *guest, double factor)
{
    const claim_t one = {
        .guest = guest, .owner = guest->owner, .holds = (uint64_t)(factor * (double)guest->fills)};
    VEC_PUSH(claims, one);
}

/* What waits for us where whole messages do is ours to take, and nobody's fault. */
static void keep_unfinished(const shares_t *self, ration_guest_t *guests, size_t n)
{
    claims_t claims = {0};
    const limit_t limit = {.limit = MSG_UNFINISHED_TOTAL,
                           .share = MSG_UNFINISHED_TOTAL / KEY_PART,
                           .factor = 1,
                           .wrong = "all unfinished messages take too much, and it has sent most",
                           .wrong_key = "the unfinished messages of its key take too much"};
    for (size_t i = 0; i < n; i++)
        if (guests[i].drained && !guests[i].wrong) claim(&claims, &guests[i], 1);
    keep_to(self, &claims, 0, &limit);
}

/* Whole messages and unfinished ones, of those who are there and those who have gone. */
static void keep_to_total(shares_t *self, ration_guest_t *guests, size_t n, double factor)
{
    claims_t strangers = {0}, all = {0};
    limit_t limit = {.limit = self->total / STRANGERS_PART,
                     .share = self->total / KEY_PART,
                     .factor = factor,
                     .counts_left = true,
                     .wrong = "too much waits of those who have shown no key",
                     .wrong_key = "too much of its key waits"};
    for (size_t i = 0; i < n; i++)
        if (is_stranger(guests[i].owner) && !guests[i].listens)
            claim(&strangers, &guests[i], factor);
    self->strangers_full = keep_to(self, &strangers, left_by_all(self, true), &limit);
    for (size_t i = 0; i < n; i++)
        if (!guests[i].listens) claim(&all, &guests[i], factor);
    limit.limit = self->total;
    limit.wrong = "all that waits for us is too much, and it has sent most";
    self->full = keep_to(self, &all, left_by_all(self, false), &limit);
}

void shares_judge(shares_t *self, ration_guest_t *guests, size_t n, double factor,
                  uint32_t (*key_heard)(uint64_t owner), int64_t now_ms)
{
    judge_owners(self, guests, n, key_heard, now_ms);
    keep_unfinished(self, guests, n);
    keep_to_total(self, guests, n, factor);
}
