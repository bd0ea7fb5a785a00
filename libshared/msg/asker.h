/* A thread beside a reactor that answers questions, one at a time and in order: for what may take long to answer,
 * such as a store. A question is a block of memory that goes to the thread and comes back with its answer. */
#ifndef MSG_ASKER_H
#define MSG_ASKER_H

#include <czmq.h>

typedef struct asker asker_t;

/* In the thread: puts the answer into the question. `user` is the thread's while it lives. */
typedef void asker_answer_fn(void *user, void *question);
typedef void asker_free_fn(void *question);

/* `drop` frees a question that nobody receives any more. The thread hears no signals. */
asker_t *asker_new(asker_answer_fn *answer, asker_free_fn *drop, void *user);
/* Waits for the question at hand; all others are dropped unanswered. */
void asker_destroy(asker_t **self_p);
zsock_t *asker_socket(asker_t *self); /* readable: there is an answer */

/* The question is the asker's until asker_receive gives it back; NULL: there is no answer yet. */
void asker_ask(asker_t *self, void *question);
void *asker_receive(asker_t *self);

#endif
