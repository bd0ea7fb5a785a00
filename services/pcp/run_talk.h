/* A conversation with the front of a cluster: one question, one answer, through failures of the
 * front and its stand-bys. One thread; calls block. */
#ifndef PCP_RUN_TALK_H
#define PCP_RUN_TALK_H

#include <stdbool.h>

#include "msg/envelope.h"
#include "pcp/progress.h"

typedef struct run_talk run_talk_t;

enum { RUN_TALK_PIECE_BYTES = 128 << 10 }; /* most of a piece: each is a sign of life */

/* `endpoints`: "A,B" of the front and its stand-bys. Waits until one of them answers: ERR_NET after
 * wait_ms. `endpoints` is borrowed. Returns, caller destroys. */
run_talk_t *run_talk_new(const char *endpoints, int64_t wait_ms, err_t *err);
void run_talk_destroy(run_talk_t **self_p);

/* Ask, and wait for the answer (caller frees by msg_free); where the connection is lost meanwhile,
 * ask again, so a question must be one that may be repeated. patient: for as long as the front is
 * there, not only wait_ms. ERR_NET: no answer; ERR_STATE: the front's refusal. */
int run_talk_ask(run_talk_t *self, const Msg__RunAsk *ask, bool patient, msg_envelope_t **answer,
                 err_t *err);

/* While a question waits for its answer, `progress` (borrowed) is told that time goes on; NULL:
 * nothing is. */
void run_talk_show(run_talk_t *self, progress_t *progress);

/* Pieces of files, as many on their way as the connection holds (msg/pace.h), `window` bytes at most,
 * each answered. ERR_NET when the connection was lost; it has been made anew if a front answers
 * within wait_ms (run_talk_renewed). The submission is void then, begin again. ERR_STATE: the
 * front's refusal. */
typedef struct {
    bool (*next)(void *user, Msg__RunPiece *piece); /* the next piece; false: that was the last */
    void (*arrived)(void *user, size_t bytes);
    void *user;
} run_pieces_t;
int run_talk_pieces(run_talk_t *self, uint64_t window, const run_pieces_t *pieces, err_t *err);
/* Was it made anew, since the last call? */
bool run_talk_renewed(run_talk_t *self);

/* After WATCH: hand events and answers to `hear` until it returns false. Lost connections are made
 * anew, and the question repeated. */
typedef bool run_talk_hear_fn(void *user, const Msg__Event *event, const Msg__RunAnswer *answer);
int run_talk_watch(run_talk_t *self, const char *run, run_talk_hear_fn *hear, void *user,
                   err_t *err);

#endif
