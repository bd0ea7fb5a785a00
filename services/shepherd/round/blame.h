/* Workers that get no work for a while, or no more. */
#ifndef SHEPHERD_BLAME_H
#define SHEPHERD_BLAME_H

#include "shepherd/roster/roster.h"

typedef struct shepherd shepherd_t;

typedef enum {
    STRIKE_FAILED, /* the worker says that it failed */
    STRIKE_LIE,    /* the worker calls work done that is not there, or is of no use */
    STRIKE_FATAL,  /* the worker says that nobody could do the work */
} strike_t;
/* Count a strike against a worker whose work was given to others before. The worker may be refused
 * then, which opens all leases that it holds. */
void blame_strike(shepherd_t *self, uint32_t serial, strike_t kind, const char *why);
/* It has not ended a piece of work in the time that others would take; until it has ended one. */
void blame_overdue(member_row_t *row, double took_ms);
/* An audit found the worker to lie: it gets no more work, as another process neither. */
void blame_quarantine(shepherd_t *self, uint32_t serial);
void blame_clear(roster_t *self,
                 uint32_t serial); /* a lease of it was admitted, or it gets another plan */
/* Now and then: fails the run when no worker is left that could work */
void blame_check(shepherd_t *self);
/* The shards rejected an update that this worker (NULL: it has gone) made for this lease. Have so
 * many proven workers made such updates for the lease that the fault is not theirs? */
bool blame_agreed(shepherd_t *self, uint32_t replica, const member_row_t *row);

#endif
