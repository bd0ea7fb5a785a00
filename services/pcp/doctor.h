/* What `pcp doctor` asks of a machine and of a cluster, and how it tells. One thread. */
#ifndef PCP_DOCTOR_H
#define PCP_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    char *shepherd, *store, *liveness; /* NULL: not asked */
    char *key_file;                    /* under which the shepherd is asked; NULL: none */
    char *dir;                         /* where runs and caches are to be */
    char *ports;                       /* "7000,7100": to be free here; "": none */
    int64_t wait_ms;
    char *output;
    bool json;
} doctor_options_t;

typedef enum {
    DOCTOR_WELL,
    DOCTOR_WARN, /* works, but worse than it could */
    DOCTOR_BAD,  /* something will fail */
    DOCTOR_SKIPPED,
} doctor_verdict_t;

enum { DOCTOR_TEXT = 400 };

typedef struct {
    doctor_verdict_t verdict;
    char what[DOCTOR_TEXT];   /* what was found */
    char remedy[DOCTOR_TEXT]; /* what mends it; empty: nothing to do */
} doctor_finding_t;

typedef void doctor_check_fn(const doctor_options_t *options, doctor_finding_t *finding);
typedef struct {
    const char *name;
    doctor_check_fn *check;
} doctor_row_t;

/* Tables that end with a row of NULLs. */
extern const doctor_row_t doctor_machine[], doctor_cluster[];

/* Fill in a finding; remedy may be "". */
void doctor_say(doctor_finding_t *finding, doctor_verdict_t verdict, const char *remedy,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
