/* What a comparison measured, and its rows: one table for processors, one for other devices. */
#ifndef TESTS_BENCH_PEERS_TABLE_H
#define TESTS_BENCH_PEERS_TABLE_H

#include <stdint.h>

enum { TABLE_MAX_BLOCK = 100 };

typedef struct {
    int n;                                                 /* blocks */
    double ours[TABLE_MAX_BLOCK], theirs[TABLE_MAX_BLOCK]; /* median seconds of a step in each */
    double ours_cpu[TABLE_MAX_BLOCK], theirs_cpu[TABLE_MAX_BLOCK];
    double ratio[TABLE_MAX_BLOCK], cpu_ratio[TABLE_MAX_BLOCK]; /* theirs / ours */
    double fma[TABLE_MAX_BLOCK], sgemm[TABLE_MAX_BLOCK], memory[TABLE_MAX_BLOCK];
    double peak[TABLE_MAX_BLOCK];  /* of the peer's device: FLOPs a second of a large product */
    double deviation;              /* largest of the checked losses, relative */
    double peak_ours, peak_theirs; /* MiB of the processes, or of the devices */
    double flops, bytes;           /* of our plan */
    double tokens;                 /* of a step */
} result_t;

/* The head says which machine and day: a figure without its circumstances is none. */
void table_head(void);
void table_row(char letter, const char *precision, int threads, result_t *r);

/* `device`: what ours runs on. */
void table_device_head(const char *device, const char *peer);
void table_device_row(char letter, const char *precision, result_t *r);

#endif
