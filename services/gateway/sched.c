/* A queue, and writers: one of the newest weights, and of older ones as long as they have texts. */
#include "gateway/sched.h"

#include <stdlib.h>

#include "base/mem.h"

typedef struct writing writing_t;
typedef struct model model_t;

/* A text that has a slot. */
struct writing {
    sched_t *sched;
    job_t *job;
    model_t *model;
    int text; /* the writer's number */
    uint32_t n_told;
    bool ended;
    writing_t *next;
};

struct model {
    infer_t *infer;
    writer_t *writer;
    writing_t *writing;
    unsigned number; /* of its sched_load, from 1 */
    model_t *next;   /* older */
};

struct sched {
    sched_fn *tell;
    void *user;
    model_t *newest;
    job_t *first, **last; /* that wait */
    unsigned n_loads;
    uint64_t reused; /* tokens */
};

sched_t *sched_new(sched_fn *tell, void *user)
{
    sched_t *self = mem_calloc(1, sizeof *self);
    *self = (sched_t){.tell = tell, .user = user};
    self->last = &self->first;
    return self;
}

static void free_writing(writing_t *w)
{
    job_free(w->job);
    free(w);
}

static void free_model(model_t *m)
{
    for (writing_t *w = m->writing, *next; w; w = next) {
        next = w->next;
        free_writing(w);
    }
    writer_destroy(&m->writer);
    infer_close(&m->infer);
    free(m);
}

void sched_destroy(sched_t **self_p)
{
    sched_t *self = *self_p;
    if (!self) return;
    for (job_t *job = self->first, *next; job; job = next) {
        next = job->next;
        job_free(job);
    }
    for (model_t *m = self->newest, *next; m; m = next) {
        next = m->next;
        free_model(m);
    }
    free(self);
    *self_p = NULL;
}

/* --- weights --- */

/* Older weights that have nothing to write go. */
static void close_old(sched_t *self)
{
    for (model_t **link = self->newest ? &self->newest->next : NULL; link && *link;) {
        model_t *m = *link;
        if (m->writing) {
            link = &m->next;
        } else {
            *link = m->next;
            free_model(m);
        }
    }
}

void sched_load(sched_t *self, infer_t *model, const tokenizer_t *tokenizer)
{
    model_t *m = mem_calloc(1, sizeof *m);
    *m = (model_t){.infer = model,
                   .writer = writer_new(model, tokenizer),
                   .number = ++self->n_loads,
                   .next = self->newest};
    self->newest = m;
    close_old(self);
}

size_t sched_models(const sched_t *self)
{
    size_t n = 0;
    for (const model_t *m = self->newest; m; m = m->next) n++;
    return n;
}

/* --- texts --- */

void sched_add(sched_t *self, job_t *job)
{
    job->next = NULL;
    *self->last = job;
    self->last = &job->next;
}

static job_t *take_first(sched_t *self)
{
    job_t *job = self->first;
    self->first = job->next;
    if (!self->first) self->last = &self->first;
    return job;
}

static bool cancel_waiting(sched_t *self, uint64_t id)
{
    for (job_t **link = &self->first; *link; link = &(*link)->next) {
        job_t *job = *link;
        if (job->id != id) continue;
        *link = job->next;
        if (!*link) self->last = link;
        job_free(job);
        return true;
    }
    return false;
}

void sched_cancel(sched_t *self, uint64_t id)
{
    if (cancel_waiting(self, id)) return;
    for (model_t *m = self->newest; m; m = m->next)
        for (writing_t **link = &m->writing; *link; link = &(*link)->next) {
            writing_t *w = *link;
            if (w->job->id != id) continue;
            writer_stop(m->writer, w->text);
            *link = w->next;
            free_writing(w);
            close_old(self);
            return;
        }
}

uint64_t sched_reused(const sched_t *self)
{
    return self->reused;
}

size_t sched_waiting(const sched_t *self)
{
    size_t n = 0;
    for (const job_t *job = self->first; job; job = job->next) n++;
    return n;
}

size_t sched_running(const sched_t *self)
{
    size_t n = 0;
    for (const model_t *m = self->newest; m; m = m->next) n += (size_t)writer_active(m->writer);
    return n;
}

bool sched_busy(const sched_t *self)
{
    return self->newest && (self->first || sched_running(self) > 0);
}

/* --- a step --- */

static void told(void *user, const writer_told_t *told)
{
    writing_t *w = user;
    const sched_news_t news = {.id = w->job->id,
                               .piece = told->piece,
                               .n = told->n,
                               .token = told->token,
                               .hidden = told->hidden,
                               .width = (size_t)infer_facts(w->model->infer).width,
                               .end = told->end,
                               .number = w->n_told++,
                               .weights = w->model->number};
    w->ended = told->end != WRITER_GOES_ON;
    w->sched->tell(w->sched->user, &news);
}

static void tell_error(sched_t *self, const writing_t *w, const char *text)
{
    const sched_news_t news = {.id = w->job->id,
                               .piece = "",
                               .error = text,
                               .number = w->n_told,
                               .weights = w->model->number};
    self->tell(self->user, &news);
}

/* Another has begun it, with weights that are not the newest here. */
static bool drop_moved(sched_t *self)
{
    if (!self->first->weights || self->first->weights == self->newest->number) return false;
    job_t *job = take_first(self);
    self->tell(self->user, &(sched_news_t){.id = job->id,
                                           .piece = "",
                                           .error = "newer weights were loaded",
                                           .again = true});
    job_free(job);
    return true;
}

/* As many of those that wait as there are slots. */
static void begin(sched_t *self)
{
    model_t *m = self->newest;
    while (self->first && writer_active(m->writer) < infer_facts(m->infer).slots) {
        err_t err = {0};
        if (drop_moved(self)) continue;
        writing_t *w = mem_calloc(1, sizeof *w);
        *w = (writing_t){.sched = self, .job = take_first(self), .model = m, .next = m->writing};
        uint64_t before = infer_reused(m->infer);
        w->text = writer_add_tokens(m->writer, w->job->tokens, w->job->n_tokens, &w->job->how, told,
                                    w, &err);
        self->reused += infer_reused(m->infer) - before;
        if (w->text >= 0) {
            m->writing = w;
            continue;
        }
        tell_error(self, w, err.text);
        free_writing(w);
    }
}

static void drop_ended(model_t *m)
{
    for (writing_t **link = &m->writing; *link;) {
        writing_t *w = *link;
        if (w->ended) {
            *link = w->next;
            free_writing(w);
        } else {
            link = &w->next;
        }
    }
}

/* A step that fails is nobody's in particular: all its texts end. */
static void fail(sched_t *self, model_t *m, const err_t *err)
{
    for (writing_t *w = m->writing; w; w = w->next) {
        if (w->ended) continue;
        w->ended = true;
        writer_stop(m->writer, w->text);
        tell_error(self, w, err->text);
    }
}

void sched_step(sched_t *self)
{
    if (!self->newest) return;
    begin(self);
    for (model_t *m = self->newest; m; m = m->next) {
        err_t err = {0};
        if (writer_active(m->writer) > 0 && writer_step(m->writer, &err) < 0) fail(self, m, &err);
        drop_ended(m);
    }
    close_old(self);
}
