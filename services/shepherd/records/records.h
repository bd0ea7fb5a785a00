/* The run's truth on its way into the store: what is written when, and what follows once it is in.
 */
#ifndef SHEPHERD_RECORDS_H
#define SHEPHERD_RECORDS_H

#include <jansson.h>

#include "msg/envelope.h"
#include "shepherd/records/recorder.h"
#include "shepherd/roster/roster.h"

typedef struct shepherd shepherd_t;

typedef struct {
    bool lost;                                          /* the store does not answer */
    bool gone;                                          /* the recorder has failed */
    char *fault;                                        /* why the store was lost last */
    void (*at_once)(shepherd_t *, recorder_result_t *); /* where there is no store: recorded */
    int64_t ending_ms; /* the last record is on its way since then */
} records_t;

typedef struct {
    uint32_t replica, fence;
    const char *worker, *reason, *detail; /* reason: a word, shape hash fence finite outlier late */
} rejection_t;

void records_write(shepherd_t *self, record_t *record); /* takes it */
record_t *records_open(const shepherd_t *self);
record_t *records_decide(const shepherd_t *self);
/* loss: of the tokens that its leases trained */
record_t *records_commit(const shepherd_t *self, double loss, uint64_t tokens);
void records_issue(shepherd_t *self, uint32_t replica);
void records_done(shepherd_t *self, uint32_t replica);
int64_t records_ms(double seconds); /* as the store keeps it; negative: unknown */
void records_reopen(shepherd_t *self, uint32_t replica);
void records_reject(shepherd_t *self, const rejection_t *rejected);
/* Its work is not what others made of the same lease. */
typedef struct {
    bool part;                                               /* of a validation; else a lease */
    uint32_t replica, fence;                                 /* its replica, or which part */
    const char *name, *member, *digest, *agreed, *witnesses; /* as store_liar_t */
} liar_t;
void records_quarantine(shepherd_t *self, const liar_t *liar);
/* An operator has done something: a row of the trail. `detail` is taken. RECORD_TRUST also lets
 * `object` out of quarantine. */
void records_deed(shepherd_t *self, record_kind_t kind, const member_row_t *client,
                  const char *action, const char *object, json_t *detail);
void records_run(shepherd_t *self, const char *state, const char *reason);
void records_event(shepherd_t *self, const Msg__Event *event); /* those that are worth a row */
/* An event that members do not hear of. `detail` is taken. */
void records_happened(shepherd_t *self, const char *name, const char *member, json_t *detail);
/* The same of what we could not do. */
void records_failed(shepherd_t *self, const char *name, json_t *detail);
/* A worker of this run; others are left out. */
void records_joined(shepherd_t *self, const member_row_t *row);
void records_left(shepherd_t *self, const member_row_t *row, const char *state, const char *reason);

#endif
