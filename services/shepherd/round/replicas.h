/* How many replicas a round has. */
#ifndef SHEPHERD_REPLICAS_H
#define SHEPHERD_REPLICAS_H

#include "base/vec.h"
#include "store/store.h"

typedef struct shepherd shepherd_t;

/* "replicas": "auto" */
typedef struct {
    VEC(store_replicas_t) sizes; /* their number, by the round from which on */
    uint32_t sized;              /* it is decided for the rounds before this one */
    int64_t few_ms;              /* since when workers are missing; 0: none is */
} sizing_t;

void replicas_fini(sizing_t *self);
void replicas_load(sizing_t *self, const store_resume_t *loaded); /* the decisions so far */
void replicas_init(shepherd_t *self);
void replicas_resume(shepherd_t *self, size_t n); /* a store or checkpoint has n leases or states */
void replicas_tick(shepherd_t *self);             /* now and then: are workers missing? */
void replicas_decide(shepherd_t *self);           /* a round opens next; writes what changes */

#endif
