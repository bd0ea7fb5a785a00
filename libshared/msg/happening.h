/* Events that are worth a row in the records (view pcp_events): one form for all who write them.
 * The shepherd does so through its recorder, so that a row exists whoever listens; pcp-metrics does
 * for a database of its own. The key makes two tellings of one event one row. */
#ifndef MSG_HAPPENING_H
#define MSG_HAPPENING_H

#include <stdbool.h>

#include "proto/telemetry.pb-c.h"

typedef struct {
    const char *name, *level, *service; /* static */
    const char *member;                 /* whom it is about; borrowed from the event */
    int64_t round;                      /* from 1; negative: none */
    char *detail, *key;                 /* JSON, never NULL; the caller frees them */
} happening_t;

/* False: it is none of these (steps, rounds, commits and status are samples). The event must have
 * its time and source. */
bool happening_of(const Msg__Event *event, happening_t *out);

#endif
