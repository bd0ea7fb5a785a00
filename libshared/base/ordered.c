/* A ring of jobs under one lock: given at one end, taken at the other, begun in between. */
#include "base/ordered.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

enum { STACK_BYTES = 1 << 20 };

typedef struct {
    void *job;
    bool done;
} place_t;

typedef struct {
    ordered_t *of;
    int number;
    pthread_t id;
} thread_t;

struct ordered {
    ordered_fn *work;
    void *user;
    place_t *place; /* job number i at i % n_place */
    size_t n_place, n_given, n_begun, n_taken;
    thread_t *thread;
    int n_thread;
    bool ends;
    pthread_mutex_t lock;
    pthread_cond_t given, done;
};

static void *thread_main(void *arg)
{
    const thread_t *thread = arg;
    ordered_t *self = thread->of;
    pthread_mutex_lock(&self->lock);
    for (;;) {
        while (!self->ends && self->n_begun == self->n_given)
            pthread_cond_wait(&self->given, &self->lock);
        if (self->ends) break;
        place_t *place = &self->place[self->n_begun++ % self->n_place];
        pthread_mutex_unlock(&self->lock);
        self->work(self->user, thread->number, place->job);
        pthread_mutex_lock(&self->lock);
        place->done = true;
        pthread_cond_signal(&self->done);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static void start(ordered_t *self, int n_threads)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    self->thread = mem_calloc((size_t)n_threads, sizeof *self->thread);
    for (int i = 0; i < n_threads; i++) {
        thread_t *thread = &self->thread[i];
        *thread = (thread_t){.of = self, .number = i};
        if (pthread_create(&thread->id, &attributes, thread_main, thread) != 0) break;
        self->n_thread++;
    }
    pthread_attr_destroy(&attributes);
}

ordered_t *ordered_new(int n_threads, size_t n_open, ordered_fn *work, void *user)
{
    ordered_t *self = mem_calloc(1, sizeof *self);
    self->work = work;
    self->user = user;
    self->n_place = n_open;
    self->place = mem_calloc(n_open, sizeof *self->place);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->given, NULL);
    pthread_cond_init(&self->done, NULL);
    start(self, n_threads);
    return self;
}

void ordered_destroy(ordered_t **self_p)
{
    ordered_t *self = *self_p;
    if (!self) return;
    pthread_mutex_lock(&self->lock);
    self->ends = true;
    pthread_cond_broadcast(&self->given);
    pthread_mutex_unlock(&self->lock);
    for (int i = 0; i < self->n_thread; i++) pthread_join(self->thread[i].id, NULL);
    pthread_cond_destroy(&self->given);
    pthread_cond_destroy(&self->done);
    pthread_mutex_destroy(&self->lock);
    free(self->thread);
    free(self->place);
    free(self);
    *self_p = NULL;
}

bool ordered_full(const ordered_t *self)
{
    return self->n_given - self->n_taken == self->n_place;
}

void ordered_give(ordered_t *self, void *job)
{
    pthread_mutex_lock(&self->lock);
    self->place[self->n_given++ % self->n_place] = (place_t){.job = job};
    pthread_cond_signal(&self->given);
    pthread_mutex_unlock(&self->lock);
}

void *ordered_take(ordered_t *self)
{
    if (self->n_taken == self->n_given) return NULL;
    place_t *place = &self->place[self->n_taken % self->n_place];
    if (self->n_thread == 0) {
        self->work(self->user, 0, place->job);
    } else {
        pthread_mutex_lock(&self->lock);
        while (!place->done) pthread_cond_wait(&self->done, &self->lock);
        pthread_mutex_unlock(&self->lock);
    }
    self->n_taken++;
    return place->job;
}
