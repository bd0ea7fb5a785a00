/* A program that trains on command: started with pipes, told "run N RATE", answers a line of N
 * words SECONDS:CPU_SECONDS:LOSS, the CPU time being that of all its threads; told "eval", the mean
 * loss of its validation batches. */
#ifndef TESTS_BENCH_PEERS_PEER_H
#define TESTS_BENCH_PEERS_PEER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

typedef struct {
    const char *name;
    pid_t pid; /* 0: not running */
    FILE *to, *from;
} peer_t;

/* Has that Python what the peer is written with? */
bool peer_has_torch(const char *python);

/* Start argv[0] (a path) and wait for its line "ready". `environment`: NAME=VALUE, added, NULL at
 * the end. Its standard error stays ours. */
int peer_start(peer_t *self, const char *name, char *const argv[], char *const environment[],
               err_t *err);

typedef struct {
    double seconds, cpu_seconds, loss;
} peer_step_t;
/* n training steps at learning rate `rate`. */
int peer_run(peer_t *self, int n, double rate, peer_step_t *step, err_t *err);
int peer_evaluate(peer_t *self, double *loss, err_t *err);
/* A line of one word that a number answers: of PyTorch, "peak", FLOPs a second of a large product on its device,
 * and "memory", the most MiB that its tensors took there. */
int peer_ask(peer_t *self, const char *word, double *number, err_t *err);

/* The peak of its resident memory so far (VmHWM), in MiB; 0 when the system does not tell. */
double peer_peak_mib(const peer_t *self);

void peer_stop(peer_t *self);

#endif
