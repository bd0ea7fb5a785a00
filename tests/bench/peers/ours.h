/* Our side of the comparison: what both sides train, and a process that trains a packed plan. */
#ifndef TESTS_BENCH_PEERS_OURS_H
#define TESTS_BENCH_PEERS_OURS_H

#include "base/err.h"
#include "model/gpt2.h"

enum { OURS_BATCHES = 4 };
#define OURS_LEARNING_RATE 1e-4

/* Tokens to train on, and behind them some to validate with. */
typedef struct {
    const int32_t *token;
    int64_t n_train, n_valid; /* more than a row of the model each */
    int64_t batches, valid_batches;
} ours_text_t;

/* Into the directory: model.mlir; start.safetensors with initial parameters and the batches
 * "batch.x", "batch.y" [batches, rows, tokens] i32: OURS_BATCHES random ones, or with a text pieces
 * of it from random places and "valid.x", "valid.y". */
int ours_write_model(const gpt2_config_t *config, const ours_text_t *text, const char *dir,
                     err_t *err);

/* PROGRAM serve PLAN START THREADS [DEVICE]: answer "run N RATE" and "eval" lines on standard input until it
 * ends (peers/peer.h), a process of its own, so that its peak memory is that of training alone.
 * Returns the exit status; -1 when argv is no such command. */
int ours_main(int argc, char **argv);

#endif
