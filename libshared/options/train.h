/* The options of training, once. With optim/spec_options.h they are the rows of pcp train, pcp run
 * submit and pcp-shepherd (run.json), so that a default, a range or a word is the same wherever it
 * is read; docs/options.md is written from them. */
#ifndef OPTIONS_TRAIN_H
#define OPTIONS_TRAIN_H

#include "base/options.h"
#include "optim/spec_options.h"
#include "outer/codec.h"
#include "outer/outer.h"

/* X(word): worker/schedule.c has a function of each. */
#define SCHEDULES(X) X(constant) X(cosine) X(wsd)

#define LATE_WORDS "drop|next"
enum { LATE_MOST_ROUNDS = 16 }; /* shards keep parameters of so many rounds before */
#define DATA_LAYOUT_WORDS "windows|records|rows"

/* Rows that commands have which take steps without a run. */
#define TRAIN_SEED_ROW(X, T) \
    X(T, INT, seed, 1337, 0, 9007199254740991.0, NULL, true, "of initial values and data order")
#define TRAIN_LAYOUT_ROW(X, T)                                 \
    X(T, ENUM, layout, windows, 0, 0, DATA_LAYOUT_WORDS, true, \
      "next-token windows, or raw records; rows with --data records:DIR (docs/models.md)")
#define TRAIN_LR_ROW(X, T) X(T, FLOAT, lr, 1e-3, 0, 1e6, NULL, true, "peak inner learning rate")

/* Of a sample: bounds that make it small beside a round, and its messages small. */
enum { SAMPLE_MOST_TOKENS = 4096, SAMPLE_PROMPT_BYTES = 2000 };

/* What a run makes of steps: rounds, learning rates, exchange, validation, checkpoints.
 * validate_tokens: the losses of single tokens spread by 2 to 2.5, so that the mean of 65536 is
 * known to 0.01; they take a third of the time that training on them does. */
#define TRAIN_RUN_OPTIONS(X, T)                                                                   \
    X(T, BOOL, shuffle, true, 0, 0, NULL, true, "permute the windows each epoch")                 \
    X(T, INT, shuffle_block, 0, 0, 9007199254740991.0, NULL, true,                                \
      "by blocks of so many windows in a row, for texts far larger than a lease; 0: all at once") \
    TRAIN_SEED_ROW(X, T)                                                                          \
    X(T, INT, inner_steps, 10, 1, 1000000, NULL, true,                                            \
      "optimizer steps per round and replica (H)")                                                \
    X(T, INT, rounds, 50, 1, 1000000000, NULL, true, "outer rounds")                              \
    X(T, INT, validate_every, 10, 0, 1000000000, NULL, false,                                     \
      "rounds between validations; 0: only at the end")                                           \
    X(T, INT, validate_tokens, 65536, 0, 1e15, NULL, false,                                       \
      "tokens of a validation, a sample that is the same each time; 0: all")                      \
    X(T, INT, sample_every, 0, 0, 1000000000, NULL, false,                                        \
      "rounds between texts that the model writes, and one at the end; 0: none")                  \
    X(T, STRING, sample_prompt, , 0, 0, NULL, false,                                              \
      "text that they go on from; empty: a line break")                                           \
    X(T, INT, sample_tokens, 64, 1, SAMPLE_MOST_TOKENS, NULL, false, "tokens of each")            \
    X(T, ENUM, schedule, cosine, 0, 0, OPTION_WORDS(SCHEDULES), true, "inner learning rate")      \
    TRAIN_LR_ROW(X, T)                                                                            \
    X(T, FLOAT, min_lr, 1e-4, 0, 1e6, NULL, true, "final inner learning rate (cosine, wsd)")      \
    X(T, INT, warmup, 0, 0, 1000000000, NULL, true, "warm-up steps")                              \
    X(T, FLOAT, decay_fraction, 0.2, 0, 1, NULL, true, "share of the steps that decay (wsd)")     \
    X(T, ENUM, outer_rule, nesterov, 0, 0, OPTION_WORDS(OUTER_RULES), true,                       \
      "outer step: DiLoCo's, or the mean of the replicas' parameters")                            \
    X(T, FLOAT, outer_lr, 0.7, 1e-9, 100, NULL, true, "outer learning rate (nesterov)")           \
    X(T, FLOAT, outer_momentum, 0.9, 0, 0.999999, NULL, true, "outer Nesterov momentum")          \
    X(T, ENUM, codec, f32, 0, 0, OPTION_WORDS(CODECS), true, "pseudo-gradients on the wire")      \
    X(T, ENUM, down_codec, f32, 0, 0, OPTION_WORDS(CODECS_EXACT), true,                           \
      "changes of the parameters on their way to workers; f32: the parameters themselves")        \
    X(T, FLOAT, shrink_s, 30, 0, 1e6, NULL, false,                                                \
      "replicas auto: fewer only when workers were missing for so long")                          \
    X(T, INT, quorum, 0, 0, 4096, NULL, false,                                                    \
      "a round closes with so many replicas; 0: with all")                                        \
    X(T, FLOAT, deadline_s, 0, 0, 1e6, NULL, false, "but not before so long")                     \
    X(T, ENUM, late, drop, 0, 0, LATE_WORDS, false,                                               \
      "deltas that come after that: dropped, or in the next round")                               \
    X(T, INT, late_rounds, 1, 1, LATE_MOST_ROUNDS, NULL, false,                                   \
      "late next: the rounds after its own, of which one may count it")                           \
    X(T, FLOAT, outlier, 0, 0, 1e9, NULL, false,                                                  \
      "updates of so many times the usual norm are rejected; 0: none")                            \
    X(T, FLOAT, audit, 0, 0, 1, NULL, false,                                                      \
      "share of the leases and validations that a second worker repeats, to find liars")          \
    X(T, BOOL, balance, false, 0, 0, NULL, false, "fewer inner steps for slower workers")         \
    X(T, INT, checkpoint_every, 10, 0, 1000000000, NULL, false,                                   \
      "rounds between checkpoints; 0: only at the end")                                           \
    X(T, INT, state_every, 0, 0, 1000000000, NULL, false,                                         \
      "rounds between copies of inner states that workers keep; 0: by what they cost")            \
    X(T, INT, checkpoint_keep, 3, 0, 1000000, NULL, false, "checkpoints to keep; 0: all")

/* Who takes part, and what each is given. workers: pcp train starts so many, and the first round
 * waits for so many. What is left open here (0) is settled when the run begins. */
#define TRAIN_MEMBER_OPTIONS(X, T)                                                         \
    TRAIN_LAYOUT_ROW(X, T)                                                                 \
    X(T, INT, workers, 2, 1, 65536, NULL, false, "processes that train, at the beginning") \
    X(T, INT, replicas, 0, 0, 4096, "auto", true,                                          \
      "per round; 0: one per worker; auto: per worker that is there")                      \
    X(T, INT, max_replicas, 0, 0, 4096, NULL, true,                                        \
      "auto: at most so many; 0: four times the workers")                                  \
    X(T, INT, aggregators, 1, 1, 256, NULL, true, "that share the parameters, a shard for each")

#define TRAIN_OPTIONS(X, T)    \
    TRAIN_MEMBER_OPTIONS(X, T) \
    TRAIN_RUN_OPTIONS(X, T)    \
    TRAIN_SPEC_OPTIONS(X, T)

typedef struct {
    TRAIN_OPTIONS(OPTION_MEMBER, )
} train_options_t;

typedef struct {
    config_field_t field; /* of a train_options_t */
    bool fixed;           /* part of the result's identity */
    bool in_spec;         /* part of a plan's identity, too: train_spec_t */
} train_option_t;
extern const train_option_t train_option_rows[];
extern const size_t n_train_option_rows;
const train_option_t *train_option_find(const char *name); /* NULL: it is none of training */

/* Replicas of any round: that many; or, with replicas auto (CONFIG_WORD), at most that many. */
int64_t train_most_replicas(int64_t replicas, int64_t workers, int64_t max_replicas);

/* What the rules look at: the options, and what only one of the programs knows. */
typedef struct {
    train_options_t options; /* texts are borrowed */
    const char *tokenizer;   /* kind of tokens; NULL: unknown, or no text */
    const char *keep_state;  /* NULL: it keeps where that is decided */
} train_rules_t;

/* Options that contradict each other: ERR_ARG. pcp train, pcp run submit, the front and the
 * shepherd ask. What one option alone can be is in its row. */
int train_rules_check(const train_rules_t *self, err_t *err);

#endif
