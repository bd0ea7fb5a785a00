/* Questions over a zactor's pipe. */
#include "msg/asker.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/hand_over.h"
#include "base/mem.h"
#include "base/vec.h"

struct asker {
    asker_answer_fn *answer;
    asker_free_fn *drop;
    void *user;
    zactor_t *actor;
    VEC(void *) asked; /* and not given back, in order; the reactor's */
    atomic_bool leaving;
};

static void thread_main(zsock_t *pipe, void *arg)
{
    asker_t *self = arg;
    zsock_signal(pipe, 0);
    for (bool on = true; on;) {
        char *command = NULL;
        void *question = NULL;
        on = zsock_recv(pipe, "sp", &command, &question) == 0 && command &&
             strcmp(command, "ASK") == 0;
        free(command);
        if (!on || atomic_load(&self->leaving)) continue; /* what waits is read to its end */
        self->answer(self->user, take_over(question));
        zsock_send(pipe, "p", hand_over(question));
    }
    hand_over(self);
}

/* Signals are for the threads that the program knows. */
static zactor_t *start(asker_t *self)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    zactor_t *actor = zactor_new(thread_main, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return actor;
}

asker_t *asker_new(asker_answer_fn *answer, asker_free_fn *drop, void *user)
{
    asker_t *self = mem_calloc(1, sizeof *self);
    self->answer = answer;
    self->drop = drop;
    self->user = user;
    self->actor = start(self);
    return self;
}

void asker_destroy(asker_t **self_p)
{
    asker_t *self = *self_p;
    if (!self) return;
    atomic_store(&self->leaving, true);
    zactor_destroy(&self->actor);
    take_over(self);
    for (size_t i = 0; i < self->asked.n; i++) self->drop(self->asked.at[i]);
    VEC_FREE(&self->asked);
    free(self);
    *self_p = NULL;
}

zsock_t *asker_socket(asker_t *self)
{
    return zactor_sock(self->actor);
}

void asker_ask(asker_t *self, void *question)
{
    VEC_PUSH(&self->asked, question);
    zsock_send(self->actor, "sp", "ASK", hand_over(question));
}

void *asker_receive(asker_t *self)
{
    void *question = NULL;
    if (!(zsock_events(self->actor) & ZMQ_POLLIN)) return NULL;
    if (zsock_recv(self->actor, "p", &question) < 0) return NULL;
    self->asked.n--;
    memmove(self->asked.at, self->asked.at + 1, self->asked.n * sizeof *self->asked.at);
    return take_over(question);
}
