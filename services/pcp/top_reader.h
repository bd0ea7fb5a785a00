/* The thread that reads the store for `pcp top`, so that a database which does not answer delays no key. */
#ifndef PCP_TOP_READER_H
#define PCP_TOP_READER_H

#include <czmq.h>

#include "pcp/top_data.h"

typedef struct {
    top_data_t data; /* of what was read */
    bool fresh; /* data is new; else nothing has changed since the last time, or err says why not */
    err_t err;
} top_answer_t;

typedef struct top_reader top_reader_t;

/* ERR_ARG: malformed URL. */
top_reader_t *top_reader_new(const char *url, err_t *err);
/* Waits for the question at hand, some seconds at most. */
void top_reader_destroy(top_reader_t **self_p);
zsock_t *top_reader_socket(top_reader_t *self); /* readable: there is an answer */

/* Ask for a run (as top_data_read). Unless `again`, nothing is read while the store has not changed. One question
 * at a time: false, and nothing happens, while another waits. */
bool top_reader_ask(top_reader_t *self, const char *run, bool again);
/* NULL: there is no answer yet. Caller: top_answer_free. */
top_answer_t *top_reader_receive(top_reader_t *self);
void top_answer_free(top_answer_t *answer);

#endif
