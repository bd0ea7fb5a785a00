/* Generation: a model loaded once, and sequences of tokens that are gone on with side by side.
 *
 *   infer_t *model = infer_open(&source, &options, &err);
 *   int a = infer_add(model, prompt, n, &err);          any number of sequences, up to `slots`
 *   while (...) {
 *       infer_step(model, &err);                        reads what was pushed, of all of them at once
 *       const float *scores = infer_scores(model, a);   NULL while a long prompt is being read
 *       if (scores) infer_push(model, a, choose(scores), &err);
 *   }
 *   infer_end(model, a);
 *
 * Models of known families (model/family.h), and others whose graph proves that it may be done (derive/derive.h),
 * keep keys and values of the tokens they have read, so that a token costs one pass over the weights, shared
 * by all sequences of a step. Of any other model, @logits is computed for a sequence's whole window each time:
 * infer_facts' `window` and `why` say so.
 *
 * What a sequence has kept stays when it ends, until its place is taken, and a new one that begins with
 * the same tokens as some other, ended or not, begins behind them: infer_reused counts.
 *
 * Sequences do not see each other, and the scores of one do not depend on the others. One thread at a
 * time; several models in several threads share nothing. */
#ifndef INFER_INFER_H
#define INFER_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ckpt/adapters.h"
#include "ckpt/checkpoint.h"
#include "ckpt/safetensors.h"
#include "runtime/exec.h"

typedef struct infer infer_t;

/* A model: the text of its module, and its parameters by name. Needed by infer_open alone. */
typedef struct {
    const char *text; /* StableHLO with a function @logits */
    size_t n_text;
    const char *file; /* for messages */
    const safetensors_t *params;
    adapters_t *
        adapters; /* that weights are read with where the program has none; NULL: none. infer_open's own */
} infer_source_t;

/* Of a checkpoint, from which it borrows. ERR_CORRUPT: it has no module. */
int infer_source_of(const checkpoint_t *checkpoint, infer_source_t *source, err_t *err);

/* How matrices are kept: as the module has them, or as said. I8: whole numbers with a scale for each row (infer/kept.h).
 * Sums are in f32. */
typedef enum { INFER_AS_TRAINED, INFER_F32, INFER_BF16, INFER_I8 } infer_weights_t;

/* "trained", "f32", "bf16" or "int8", as options spell them; anything else counts as "trained". */
infer_weights_t infer_weights(const char *text);

/* How keys and values are kept. AS_WEIGHTS: BF16 where matrices of a known family's model are read in bf16 or i8, else
 * F32. BF16: rounded to nearest even when they are written; what a module itself has in fewer bits than f32 stays as it is. */
typedef enum { INFER_KEEP_AS_WEIGHTS, INFER_KEEP_F32, INFER_KEEP_BF16 } infer_keep_t;

/* "weights", "f32" or "bf16"; anything else counts as "weights". */
infer_keep_t infer_keep(const char *text);

/* What products multiply matrices of bf16 and i8 with. F32: activations as they are (what i8 is multiplied with has 15 bits
 * and more beside the largest of a row). AS_WEIGHTS: rounded to bf16, or to i8 with a scale for each 256 of a row, where that is
 * faster (caps_t.panels); elsewhere they stay as they are. */
typedef enum { INFER_ACTIVATIONS_F32, INFER_ACTIVATIONS_AS_WEIGHTS } infer_activations_t;

/* "f32" or "weights"; anything else counts as "f32". */
infer_activations_t infer_activations(const char *text);

typedef struct {
    int threads;                     /* 0: one per core */
    int slots;                       /* sequences at most, 0: 1 */
    int64_t length;                  /* tokens of a sequence at most, 0: what @logits reads */
    infer_weights_t weights;         /* of the window way as trained */
    infer_keep_t keep;               /* the window way keeps nothing */
    infer_activations_t activations; /* of the window way f32 */
    bool slide;  /* where a sequence would grow beyond `length`, its older half is forgotten and the
                              * newer read again; of a longer prompt the last `length` are taken. Else both are
                              * errors */
    bool window; /* @logits over the whole window, whatever the model is */
    const char *cache_dir; /* of compiled plans; NULL: the user's cache; "": none */
    uint64_t
        cache_limit; /* bytes that they may take there (plan_cache_prune); 0: PLAN_CACHE_BYTES */
} infer_options_t;

/* Seconds when the plan has to be compiled, else as long as reading the parameters takes. ERR_ARG: no
 * @logits and none to be found, an option out of range; ERR_SHAPE: @logits is not [1, length] tokens to [1, length,
 * vocabulary]; ERR_CORRUPT: the parameters are not the model's; ERR_MEMORY. */
infer_t *infer_open(const infer_source_t *source, const infer_options_t *options, err_t *err);
/* The same of a checkpoint, which may be closed after. */
infer_t *infer_open_checkpoint(const checkpoint_t *checkpoint, const infer_options_t *options,
                               err_t *err);
void infer_close(infer_t **self_p);

typedef struct {
    int slots;
    int64_t length, vocab;
    int64_t width;         /* of infer_hidden; 0: the model gives none */
    bool window;           /* nothing is kept between tokens */
    const char *why;       /* window: the reason, as long as the model lives */
    bool slides;           /* as the options say */
    bool compiled;         /* else the plan was on disk */
    uint64_t weight_bytes; /* read for each token, or each step of several sequences */
    uint64_t kept_bytes;   /* of keys and values: `slots` sequences of `length` tokens */
} infer_facts_t;
infer_facts_t infer_facts(const infer_t *self);

/* What runs its steps, for profiles (runtime/profile.h); borrowed. NULL: the window way. */
exec_t *infer_exec(infer_t *self);

/* A new sequence that begins with these tokens, n >= 1: its number, below `slots`, until infer_end. -1
 * with ERR_STATE: as many as slots are there already; ERR_ARG: a token outside of the vocabulary,
 * none at all, or (without slide) more than `length`. */
int infer_add(infer_t *self, const uint32_t *tokens, size_t n, err_t *err);
void infer_end(infer_t *self, int sequence);
uint64_t infer_reused(const infer_t *self); /* tokens that were not read again, of all sequences */

/* One more token. ERR_ARG: outside of the vocabulary, or (without slide) the sequence has `length`. */
int infer_push(infer_t *self, int sequence, uint32_t token, err_t *err);
size_t infer_room(const infer_t *self,
                  int sequence); /* tokens that it may grow by without sliding */

/* Keep the first n tokens alone, 1 to those that it has, so that something else may follow. The last of
 * them is read again: scores come with the next step. */
void infer_cut(infer_t *self, int sequence, size_t n);

/* Read what is new in each sequence: all of it, but of long prompts a part, so that the others go on
 * meanwhile. ERR_NUMERIC: a score is not a number. */
int infer_step(infer_t *self, err_t *err);

/* Scores [vocab] of the token behind all those of the sequence; NULL: not all are read. Borrowed until
 * the sequence changes. */
const float *infer_scores(const infer_t *self, int sequence);

/* Keep what the scores of this sequence are computed from, the normalised output [width] of the last layer at its
 * last token; where there are scores there is this then, borrowed as they are. Of models of known families. */
void infer_want_hidden(infer_t *self, int sequence);
const float *infer_hidden(const infer_t *self, int sequence);

#endif
