/* A model that keeps what attention needs of earlier tokens (model/steps.h, derive/derive.h):
 * its plan, loaded, and calls of its programs. Internal to infer/. One thread at a time. */
#ifndef INFER_STEPS_H
#define INFER_STEPS_H

#include "derive/derive.h"
#include "infer/infer.h"
#include "plan/format/plan.h"

typedef struct steps steps_t;

/* What the programs are made of. */
typedef struct {
    const char
        *config; /* the family's description (model/family.h), or a name of the module's text */
    derive_t **derived; /* the module; steps_new may take it. NULL: of a family */
} steps_from_t;

/* NULL: err. */
steps_t *steps_new(const steps_from_t *from, int64_t length, const infer_source_t *source,
                   const infer_options_t *options, bool *compiled, err_t *err);
void steps_destroy(steps_t **self_p);

int64_t steps_vocab(const steps_t *self);
int64_t steps_width(const steps_t *self); /* of what scores are computed from; 0: not told */
const plan_t *steps_plan(const steps_t *self);
exec_t *steps_exec(steps_t *self); /* for profiles; borrowed */

/* Read tokens [first, first + n) of the sequence in `slot`, 1 to steps_chunk(n) of them, behind those
 * that are kept: scores[vocab] of what comes behind the last one. */
int64_t steps_chunk(const steps_t *self, int64_t n);
int steps_read(steps_t *self, int slot, const uint32_t *tokens, int64_t n, int64_t first,
               float *scores, err_t *err);

/* Let slot `to` have what slot `from` has kept of its first n tokens, 1 to length. */
int steps_copy(steps_t *self, int from, int to, int64_t n, err_t *err);

/* Read one token of each slot below n at its position, n at most the slots; steps_scores has what comes behind each. A slot
 * without a token reads any at the position it stands at, which is then read again; at `length`, nothing is kept of it: `at`
 * has the position of every slot. */
int steps_next(steps_t *self, int n, const uint32_t *tokens, const int64_t *at, err_t *err);

/* Scores[vocab] of a slot below the n of the last steps_next. */
int steps_scores(steps_t *self, int slot, float *scores, err_t *err);
/* The same where they are, until the next call of any of these. NULL: they cannot be reached. */
const float *steps_peek(steps_t *self, int slot);

/* What the scores of the last call were computed from, of each of its rows (steps_read: one): [.., width],
 * borrowed until the next call. NULL: err. */
const float *steps_hidden(steps_t *self, err_t *err);

#endif
