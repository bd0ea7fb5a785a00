/* Questions to top_data_read. */
#include "pcp/top_reader.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/hand_over.h"
#include "base/mem.h"

enum { CONNECT_MS = 2000, STATEMENT_MS = 3000 };

struct top_reader {
    char *url;
    zactor_t *actor;
    atomic_bool leaving;
    bool asked; /* the asker's */
    /* the question at hand, and its answer: the thread's while `asked` */
    char run[STORE_ID];
    bool again;
    top_answer_t *answer;
};

/* Has the store changed since *stamp? Also true when that cannot be told: then reading tells why. */
static bool changed(store_t *store, int64_t *stamp)
{
    int64_t now = 0;
    bool known = store_report_stamp(store, &now, NULL) == 0;
    if (known && now == *stamp) return false;
    *stamp = known ? now : -1;
    return true;
}

static void answer(top_reader_t *self, store_t *store, int64_t *stamp)
{
    top_answer_t *result = mem_calloc(1, sizeof *result);
    bool reads = changed(store, stamp) || self->again;
    result->fresh = reads && top_data_read(store, self->run, &result->data, &result->err) == 0;
    if (reads && !result->fresh) *stamp = -1; /* so that the next question reads again */
    self->answer = result;
}

static void reader_main(zsock_t *pipe, void *arg)
{
    top_reader_t *self = arg;
    store_options_t options = {
        .connect_ms = CONNECT_MS, .statement_ms = STATEMENT_MS, .read_only = true};
    store_t *store = store_open(self->url, &options, NULL); /* top_reader_new has checked the URL */
    int64_t stamp = -1;
    zsock_signal(pipe, 0);
    for (bool on = store != NULL; on;) {
        char *command = zstr_recv(pipe);
        on = command && strcmp(command, "ASK") == 0;
        free(command);
        if (!on || atomic_load(&self->leaving)) continue;
        answer(take_over(self), store, &stamp);
        hand_over(self);
        zstr_send(pipe, "DONE");
    }
    store_destroy(&store);
}

/* Signals are for the thread that has the terminal. */
static zactor_t *start(top_reader_t *self)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    zactor_t *actor = zactor_new(reader_main, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return actor;
}

top_reader_t *top_reader_new(const char *url, err_t *err)
{
    store_t *probe = store_open(url, NULL, err);
    if (!probe) return NULL;
    store_destroy(&probe);
    top_reader_t *self = mem_calloc(1, sizeof *self);
    self->url = mem_strdup(url);
    self->actor = start(self);
    return self;
}

void top_reader_destroy(top_reader_t **self_p)
{
    top_reader_t *self = *self_p;
    if (!self) return;
    atomic_store(&self->leaving, true);
    zactor_destroy(&self->actor);
    take_over(self);
    top_answer_free(self->answer);
    free(self->url);
    free(self);
    *self_p = NULL;
}

zsock_t *top_reader_socket(top_reader_t *self)
{
    return zactor_sock(self->actor);
}

bool top_reader_ask(top_reader_t *self, const char *run, bool again)
{
    if (self->asked) return false;
    snprintf(self->run, sizeof self->run, "%s", run);
    self->again = again;
    self->asked = true;
    hand_over(self);
    zstr_send(self->actor, "ASK");
    return true;
}

top_answer_t *top_reader_receive(top_reader_t *self)
{
    if (!(zsock_events(self->actor) & ZMQ_POLLIN)) return NULL;
    free(zstr_recv(self->actor));
    take_over(self);
    top_answer_t *result = self->answer;
    self->answer = NULL;
    self->asked = false;
    return result;
}

void top_answer_free(top_answer_t *answer)
{
    if (!answer) return;
    top_data_fini(&answer->data);
    free(answer);
}
