/* What a command shows while it works: lines that stay (rounds, notes), and under them the phase it
 * is in.
 *
 *   a terminal        one status line that is redrawn:
 *                     "[####....] sending book.u16  61/200 MB  eta 9s"; it is never wider than the
 *                     terminal, which is asked for its width each time
 *   a file, a pipe    a line when a phase begins, and one every 10 s of it
 *
 * progress_phase is called when something that may take seconds begins, progress_at as often as
 * convenient meanwhile (it redraws ten times a second at most), progress_tick where nothing is
 * counted but a loop runs. One thread. */
#ifndef PCP_PROGRESS_H
#define PCP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "proto/telemetry.pb-c.h"

typedef enum { PROGRESS_THINGS, PROGRESS_BYTES } progress_unit_t;

enum { PROGRESS_TEXT = 160 };

typedef struct {
    FILE *out;
    bool terminal;
    int drawn;                 /* columns of the status line on the screen; 0: there is none */
    char phase[PROGRESS_TEXT]; /* "": none */
    uint32_t round, rounds;    /* the phase is this round of training; 0: another one */
    int64_t step;              /* of the round, from 1; 0: not known */
    progress_unit_t unit;
    double done, total; /* total 0: nothing is counted */
    double eta_s;       /* at `known_ms`; negative: by the rate so far */
    int64_t begun_ms, known_ms, drawn_ms, told_ms;
} progress_t;

/* `out` is borrowed. */
void progress_init(progress_t *self, FILE *out);

/* For commands whose output is their result: a phase on the terminal of stderr, nothing elsewhere.
 * progress_end takes it away. */
void progress_aside(progress_t *self, const char *text);

/* A phase begins, and the one before is over: "hashing train.u16". */
void progress_phase(progress_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for a loop that asks again and again: a text that is shown already changes nothing. */
void progress_state(progress_t *self, const char *text);
void progress_at(progress_t *self, double done, double total, progress_unit_t unit);
void progress_tick(progress_t *self);

/* The line of a round that has ended; the phase is the next round from then on. */
void progress_round(progress_t *self, const Msg__RoundStats *round);

/* A round is being trained, if that is not the phase already; how far it is. */
void progress_in_round(progress_t *self, uint32_t round, uint32_t rounds);
void progress_step(progress_t *self, uint32_t round, int64_t step, int64_t steps);

/* A line of text that stays: "worker-2 left: killed". */
void progress_note(progress_t *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* No phase any more: what follows starts on a line of its own. */
void progress_end(progress_t *self);

/* "1h02m", "3m20s", "45s" into buf. */
const char *progress_duration(double seconds, char buf[32]);

#endif
