/* The options of training, once: rows for the tables of pcp train, pcp run submit, pcp compile and
 * pcp-shepherd, so that a default, a range or a word is the same wherever it is read.
 *
 * T is the struct that the table fills; its fields have the options' names. */
#ifndef OPTIM_TRAIN_OPTIONS_H
#define OPTIM_TRAIN_OPTIONS_H

#include "base/config.h"
#include "optim/optim.h"

#define TRAIN_ROW_(T, key, what, text, low, high, choice, words_help)                      \
    {                                                                                      \
        .name = #key, .kind = CONFIG_##what, .offset = offsetof(T, key), .fallback = text, \
        .help = words_help, .min = low, .max = high, .words = choice                       \
    }
#define TRAIN_INT_(T, key, text, low, high, help) \
    TRAIN_ROW_(T, key, INT, text, low, high, NULL, help)
#define TRAIN_REAL_(T, key, text, low, high, help) \
    TRAIN_ROW_(T, key, FLOAT, text, low, high, NULL, help)
#define TRAIN_WORD_(T, key, text, choice, help) TRAIN_ROW_(T, key, ENUM, text, 0, 0, choice, help)
#define TRAIN_BOOL_(T, key, text, help) TRAIN_ROW_(T, key, BOOL, text, 0, 0, NULL, help)

/* What makes a step: train_spec_t's fields. TRAIN_SPEC_DEFAULT has the same values. */
#define TRAIN_SPEC_OPTIONS(T)                                                                      \
    TRAIN_WORD_(T, optimizer, "adamw", "adamw|sgd", "inner optimizer"),                            \
        TRAIN_REAL_(T, beta1, "0.9", 0, 1, "adamw"), TRAIN_REAL_(T, beta2, "0.99", 0, 1, "adamw"), \
        TRAIN_REAL_(T, eps, "1e-8", 0, 1, "adamw"),                                                \
        TRAIN_REAL_(T, weight_decay, "0.1", 0, 10, "adamw, on parameters of rank 2 and more"),     \
        TRAIN_REAL_(T, momentum, "0.9", 0, 1, "sgd"),                                              \
        TRAIN_REAL_(T, clip, "1", 0, 1e9, "global gradient norm; 0: off"),                         \
        TRAIN_INT_(T, accumulate, "1", 1, 65536, "micro-batches per optimizer step"),              \
        TRAIN_WORD_(                                                                               \
            T, precision, "f32", PRECISION_WORDS,                                                  \
            "of matrix products: bf16 rounds their operands; sums, weights and the rest stay f32")

/* What a run makes of steps: rounds, learning rates, exchange, validation, checkpoints.
 * validate_tokens: the losses of single tokens spread by 2 to 2.5, so that the mean of 65536 is
 * known to 0.01; they take a third of the time that training on them does. */
#define TRAIN_RUN_OPTIONS(T)                                                                       \
    TRAIN_BOOL_(T, shuffle, "true", "permute the windows each epoch"),                             \
        TRAIN_INT_(T, seed, "1337", 0, 9007199254740991.0, "of initial values and data order"),    \
        TRAIN_INT_(T, inner_steps, "10", 1, 1000000, "optimizer steps per round and replica (H)"), \
        TRAIN_INT_(T, rounds, "50", 1, 1000000000, "outer rounds"),                                \
        TRAIN_INT_(T, validate_every, "10", 0, 1000000000,                                         \
                   "rounds between validations; 0: only at the end"),                              \
        TRAIN_INT_(T, validate_tokens, "65536", 0, 1e15,                                           \
                   "tokens of a validation, a sample that is the same each time; 0: all"),         \
        TRAIN_WORD_(T, schedule, "cosine", "constant|cosine|wsd", "inner learning rate"),          \
        TRAIN_REAL_(T, lr, "1e-3", 0, 1e6, "peak inner learning rate"),                            \
        TRAIN_REAL_(T, min_lr, "1e-4", 0, 1e6, "final inner learning rate (cosine)"),              \
        TRAIN_INT_(T, warmup, "0", 0, 1000000000, "warm-up steps"),                                \
        TRAIN_REAL_(T, decay_fraction, "0.2", 0, 1, "share of the steps that decay (wsd)"),        \
        TRAIN_REAL_(T, outer_lr, "0.7", 0, 100,                                                    \
                    "outer learning rate (DiLoCo); 1 with momentum 0: averaging"),                 \
        TRAIN_REAL_(T, outer_momentum, "0.9", 0, 1, "outer Nesterov momentum"),                    \
        TRAIN_WORD_(T, codec, "f32", "f32|bf16|int8", "pseudo-gradients on the wire"),             \
        TRAIN_REAL_(T, shrink_s, "30", 0, 1e6,                                                     \
                    "replicas auto: fewer only when workers were missing for so long"),            \
        TRAIN_INT_(T, quorum, "0", 0, 4096, "a round closes with so many replicas; 0: with all"),  \
        TRAIN_REAL_(T, deadline_s, "0", 0, 1e6, "but not before so long"),                         \
        TRAIN_WORD_(T, late, "drop", "drop|next",                                                  \
                    "deltas that come after that: dropped, or in the next round"),                 \
        TRAIN_REAL_(T, outlier, "0", 0, 1e9,                                                       \
                    "updates of so many times the usual norm are rejected; 0: none"),              \
        TRAIN_BOOL_(T, balance, "false", "fewer inner steps for slower workers"),                  \
        TRAIN_INT_(T, checkpoint_every, "10", 0, 1000000000,                                       \
                   "rounds between checkpoints; 0: only at the end"),                              \
        TRAIN_INT_(T, checkpoint_keep, "3", 0, 1000000, "checkpoints to keep; 0: all")

#endif
