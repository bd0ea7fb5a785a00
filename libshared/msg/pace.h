/* How much one aggregator is asked for at a time, and how long its silence may last before it is
 * asked whether requests were lost. Plain numbers; the caller has the clock (ms, monotonic).
 *
 * The window is what fits into the connection: rate times delay, after BBR (Cardwell et al., "BBR:
 * congestion-based congestion control", ACM Queue 14(5), 2016). Rate: bytes answered while a request
 * was open, by the time that this took; the highest of the last rounds, where a round is the time
 * from a request to its answer. Delay: the shortest answer, which contains the time of its own
 * bytes. The window is twice what fits, as BBR's: with little more than what fits, answers that take longer
 * for another reason than a queue (a busy server, a processor that is wanted by others) would seem to come over a
 * slower line, and the window would shrink with each of them. More would only queue: when the
 * delay was not seen for PACE_BASE_MS the connection is left to run dry once, so that what queues
 * does not pass for distance.
 *
 * Times of answers are smoothed as RFC 6298 does. Karn's rule (no samples from what was sent twice,
 * for one cannot tell which sending is answered) is kept by numbers: each sending has one of its
 * own, which its answer repeats, so that every answer is a sample, also on a link that repeats. */
#ifndef MSG_PACE_H
#define MSG_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum { PACE_ROUNDS = 10, PACE_BASE_MS = 30000 };

typedef struct {
    uint64_t window;          /* bytes that may be open */
    uint64_t open, delivered; /* bytes: asked for and unanswered; answered so far */
    double delivered_ms;      /* when the last of them were, or the first request of an idle line */
    int64_t n;                /* answers so far */
    double mean_ms, spread_ms;              /* smoothed */
    double base_ms, base_at;                /* the shortest, and when it was seen */
    double rate[PACE_ROUNDS];               /* bytes/ms: the highest of each of the last rounds */
    uint64_t round, round_begin, round_end; /* the present one: it began with so many delivered
                            bytes, and ends with an answer to what is sent behind `round_end` */
    bool dry; /* one request at a time, until one had the line for itself */
} pace_t;

/* What is remembered of a sending until it is answered. */
typedef struct {
    double at_ms;
    uint64_t delivered;
    double delivered_ms;
    uint64_t bytes; /* of the larger of request and answer */
    bool alone;     /* nothing else was open */
} pace_sent_t;

void pace_init(pace_t *self);

bool pace_allows(const pace_t *self); /* may one more chunk be asked for? */
pace_sent_t pace_send(pace_t *self, uint64_t bytes, double now_ms);
/* It was answered, in full or by a refusal: its bytes count if they came. */
void pace_answer(pace_t *self, const pace_sent_t *sent, bool came, double now_ms);
/* It will not be: it went with its connection, or is sent again. */
void pace_lose(pace_t *self, const pace_sent_t *sent);

/* Bytes/ms, the highest of the last rounds; 0: not known yet. */
double pace_rate(const pace_t *self);

/* How long nothing at all may arrive before the n-th question (from 1) whether all is lost. */
int64_t pace_patience(const pace_t *self, int n);

#endif
