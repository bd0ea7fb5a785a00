/* The options that make a training step: part of a plan's identity (train_spec_t, spec.c). The same
 * rows are flags of pcp train, pcp run submit and pcp compile, and keys of run.json. */
#ifndef OPTIM_SPEC_OPTIONS_H
#define OPTIM_SPEC_OPTIONS_H

#include "base/options.h"

/* X(word): rules.c has a rule of each. */
#define OPTIMIZERS(X) X(adamw) X(sgd)

/* X(word, constant): what the products of an f32 model compute with (passes/precision.c).
 * bf16: operands rounded to bf16, sums in f32; bf16x3: three such products of operands that are
 * split in two, near f32. */
#define PRECISIONS(X) X(f32, PRECISION_F32) X(bf16, PRECISION_BF16) X(bf16x3, PRECISION_BF16X3)

/* A new number is a row here, and is used in rules.c or programs.c. */
#define TRAIN_SPEC_NUMBERS(X, T)                                                                 \
    X(T, FLOAT, beta1, 0.9, 0, 0.999999, NULL, true, "adamw")                                    \
    X(T, FLOAT, beta2, 0.99, 0, 0.99999999, NULL, true, "adamw")                                 \
    X(T, FLOAT, eps, 1e-8, 0, 1, NULL, true, "adamw")                                            \
    X(T, FLOAT, weight_decay, 0.1, 0, 10, NULL, true, "adamw, on parameters of rank 2 and more") \
    X(T, FLOAT, momentum, 0.9, 0, 0.999999, NULL, true, "sgd")                                   \
    X(T, FLOAT, clip, 1, 0, 1e9, NULL, true, "global gradient norm; 0: off")                     \
    X(T, INT, accumulate, 1, 1, 65536, NULL, true, "micro-batches per optimizer step")

/* W(X, T, key, default, list of its words, help). A new word is a row here; X and T are passed on. */
#define TRAIN_SPEC_WORDS(W, X, T)                                                               \
    W(X, T, optimizer, adamw, OPTIMIZERS, "inner optimizer")                                    \
    W(X, T, precision, f32, PRECISIONS,                                                         \
      "of matrix products: bf16 rounds their operands where the target multiplies bf16; sums, " \
      "weights and the rest stay f32")

#define SPEC_WORD_ROW_(X, T, key, text, LIST, say) \
    X(T, ENUM, key, text, 0, 0, OPTION_WORDS(LIST), true, say)
#define TRAIN_SPEC_OPTIONS(X, T)           \
    TRAIN_SPEC_WORDS(SPEC_WORD_ROW_, X, T) \
    TRAIN_SPEC_NUMBERS(X, T)

typedef struct {
    TRAIN_SPEC_OPTIONS(OPTION_MEMBER, )
} spec_options_t;

#endif
