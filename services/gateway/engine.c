/* An actor around sched: it hears what has come between two steps, and waits when there is nothing to
 * write. */
#include "gateway/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/hand_over.h"
#include "base/mem.h"
#include "base/vec.h"

struct engine {
    zactor_t *actor;
    const tokenizer_t *tokenizer;
};

typedef struct {
    sched_t *sched;
    const tokenizer_t *tokenizer;
    engine_news_t *news; /* of this step */
} state_t;

static char *copy(const char *bytes, size_t n)
{
    char *out = mem_calloc(n + 1, 1);
    if (n > 0) memcpy(out, bytes, n);
    return out;
}

static void on_told(void *user, const sched_news_t *told)
{
    state_t *self = user;
    engine_item_t item = {.id = told->id,
                          .n = told->n,
                          .end = told->end,
                          .again = told->again,
                          .number = told->number,
                          .weights = told->weights};
    item.piece = copy(told->piece, told->n);
    if (told->error) item.error = mem_strdup(told->error);
    if (told->token) {
        item.token = mem_calloc(1, sizeof *item.token);
        *item.token = *told->token;
    }
    if (told->hidden) {
        item.width = told->width;
        item.hidden = mem_calloc(item.width + 1, sizeof *item.hidden);
        memcpy(item.hidden, told->hidden, item.width * sizeof *item.hidden);
    }
    if (!self->news) self->news = mem_calloc(1, sizeof *self->news);
    VEC_PUSH(self->news, item);
}

/* false: it is to end. */
static bool take(state_t *self, zsock_t *pipe)
{
    char *command = NULL;
    void *pointer = NULL;
    uint64_t id = 0;
    bool on = zsock_recv(pipe, "s8p", &command, &id, &pointer) == 0 && command &&
              strcmp(command, "$TERM") != 0;
    if (on && strcmp(command, "JOB") == 0)
        sched_add(self->sched, take_over(pointer));
    else if (on && strcmp(command, "LOAD") == 0)
        sched_load(self->sched, take_over(pointer), self->tokenizer);
    else if (on)
        sched_cancel(self->sched, id);
    free(command);
    return on;
}

static void engine_main(zsock_t *pipe, void *arg)
{
    engine_t *engine = arg;
    state_t self = {.tokenizer = engine->tokenizer};
    self.sched = sched_new(on_told, &self);
    zsock_signal(pipe, 0);
    for (bool on = true; on;) {
        bool busy = sched_busy(self.sched);
        while (on && (!busy || zsock_events(pipe) & ZMQ_POLLIN)) {
            on = take(&self, pipe);
            busy = sched_busy(self.sched);
        }
        if (!on) break;
        sched_step(self.sched);
        if (!self.news) continue;
        self.news->models = sched_models(self.sched);
        self.news->reused = sched_reused(self.sched);
        zsock_send(pipe, "p", hand_over(self.news));
        self.news = NULL;
    }
    sched_destroy(&self.sched);
}

engine_t *engine_new(const tokenizer_t *tokenizer)
{
    engine_t *self = mem_calloc(1, sizeof *self);
    self->tokenizer = tokenizer;
    self->actor = zactor_new(engine_main, self);
    return self;
}

void engine_destroy(engine_t **self_p)
{
    engine_t *self = *self_p;
    if (!self) return;
    for (engine_news_t *news; (news = engine_receive(self));) engine_news_free(news);
    zactor_destroy(&self->actor);
    free(self);
    *self_p = NULL;
}

void engine_load(engine_t *self, infer_t *model)
{
    zsock_send(self->actor, "s8p", "LOAD", (uint64_t)0, hand_over(model));
}

void engine_add(engine_t *self, job_t *job)
{
    zsock_send(self->actor, "s8p", "JOB", job->id, hand_over(job));
}

void engine_cancel(engine_t *self, uint64_t id)
{
    zsock_send(self->actor, "s8p", "CANCEL", id, NULL);
}

zsock_t *engine_socket(engine_t *self)
{
    return zactor_sock(self->actor);
}

engine_news_t *engine_receive(engine_t *self)
{
    void *pointer = NULL;
    if (!(zsock_events(self->actor) & ZMQ_POLLIN)) return NULL;
    if (zsock_recv(self->actor, "p", &pointer) < 0) return NULL;
    return take_over(pointer);
}

void engine_item_fini(engine_item_t *item)
{
    free(item->piece);
    free(item->token);
    free(item->hidden);
    free(item->error);
}

void engine_news_free(engine_news_t *news)
{
    for (size_t i = 0; i < news->n; i++) engine_item_fini(&news->at[i]);
    free(news->at);
    free(news);
}
