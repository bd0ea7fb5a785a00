/* The thread pool. A counter tells of work: it is odd while there is some. Workers say that they are inside and look whether
 * it still is; the caller closes it when every grain is taken, and waits for those inside. All are first watched by
 * spinning, then by sleeping on a condition variable.
 *
 * A step of a small model takes no longer than some lines of the cache take from core to core, so that what one thread tells
 * another lies in one: the work beside the counter, and what a worker takes from beside its being inside. */
#include "runtime/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/mem.h"

/* About 20 to 50 us of `pause`: longer than the gap between two steps of a program, short enough to
 * leave the core to others when the program ends. */
enum { SPINS = 1000 };

/* A worker's stretch is handed out by halves of what is left, but for ranges below this part of it:
 * long ranges share what they prepare, short ones at the end let threads end together. */
enum { SHORTEST = 16, SHORTEST_LONG = 4 };

typedef struct {
    pool_t *pool;
    pthread_t thread;
    int index, core; /* core < 0: not bound */

    _Alignas(64) atomic_llong next; /* the first grain of its stretch that nobody has taken */
    int64_t end;                    /* of the stretch */
    atomic_int inside;              /* it may look at the present work */
} worker_t;

struct pool {
    int threads, spins;
    worker_t *worker; /* entries 1 .. threads - 1 run; 0 stands for the caller */

    pool_watch_fn *watch; /* NULL: nobody watches */
    void *watch_user;
    pool_fn *watched; /* the work while `fn` is the function that times it */
    void *watched_context;

    _Alignas(64) atomic_uint turn; /* odd: there is work */
    /* the present work: written by the caller while there is none and nobody is inside */
    pool_fn *fn;
    void *context;
    int64_t extent, grain, n_grain, shortest;

    _Alignas(64) atomic_int asleep; /* workers on `wake` */
    atomic_int caller_asleep;
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
};

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

int pool_cores(void)
{
    int n = cpus_count();
    return n > POOL_MAX_THREADS ? POOL_MAX_THREADS : n;
}

/* The w-th core of the affinity mask, round robin; -1 when it cannot be read. */
static int core_of(int w)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) < 0) return -1;
    int left = w % CPU_COUNT(&set);
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &set) && left-- == 0) return core;
    }
    return -1;
}

/* The next range of a stretch; false when none is left. */
static bool take_range(worker_t *stretch, int64_t shortest, int64_t *from_p, int64_t *to_p)
{
    long long from = atomic_load_explicit(&stretch->next, memory_order_relaxed);
    do {
        int64_t left = stretch->end - from, n = (left + 1) / 2;
        if (left <= 0) return false;
        if (n < shortest) n = shortest < left ? shortest : left;
        *to_p = from + n;
    } while (!atomic_compare_exchange_weak(&stretch->next, &from, *to_p));
    *from_p = from;
    return true;
}

/* Take ranges of one stretch until none is left. */
static void run_stretch(pool_t *self, worker_t *stretch, int w)
{
    int64_t from, to;
    while (take_range(stretch, self->shortest, &from, &to)) {
        int64_t end = to == self->n_grain ? self->extent : to * self->grain;
        self->fn(self->context, from * self->grain, end, w);
    }
}

static void run_all(pool_t *self, int w)
{
    for (int i = 0; i < self->threads; i++)
        run_stretch(self, &self->worker[(w + i) % self->threads], w);
}

/* Wait until the turn is no longer `seen`; returns the new one. */
static unsigned wait_for_work(pool_t *self, unsigned seen)
{
    unsigned now;
    for (int i = 0; i < self->spins; i++) {
        now = atomic_load_explicit(&self->turn, memory_order_acquire);
        if (now != seen) return now;
        relax();
    }
    pthread_mutex_lock(&self->lock);
    atomic_fetch_add(&self->asleep, 1);
    while ((now = atomic_load(&self->turn)) == seen) pthread_cond_wait(&self->wake, &self->lock);
    atomic_fetch_sub(&self->asleep, 1);
    pthread_mutex_unlock(&self->lock);
    return now;
}

/* Move on by so many turns. The sequentially consistent order of (turn, asleep) here and in wait_for_work makes sure that
 * either the worker sees the new turn or we see it asleep. */
static void announce(pool_t *self, unsigned turns)
{
    atomic_fetch_add(&self->turn, turns);
    if (atomic_load(&self->asleep) == 0) return;
    pthread_mutex_lock(&self->lock);
    pthread_cond_broadcast(&self->wake);
    pthread_mutex_unlock(&self->lock);
}

static void bind_to(int core)
{
    if (core < 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *worker_main(void *arg)
{
    worker_t *self = arg;
    pool_t *pool = self->pool;
    unsigned seen = 0;
    bind_to(self->core);
    for (;;) {
        seen = wait_for_work(pool, seen);
        if (atomic_load(&pool->stop)) return NULL;
        if (seen % 2 == 0) continue;
        /* Either we see that the work is over, or the caller sees us inside (sequential consistency). */
        atomic_store(&self->inside, 1);
        if (atomic_load(&pool->turn) % 2) run_all(pool, self->index);
        atomic_store(&self->inside, 0);
        if (atomic_load(&pool->caller_asleep)) {
            pthread_mutex_lock(&pool->lock);
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->lock);
        }
    }
}

static bool is_anyone_inside(const pool_t *self)
{
    for (int w = 1; w < self->threads; w++)
        if (atomic_load(&self->worker[w].inside)) return true;
    return false;
}

static void wait_for_end(pool_t *self)
{
    for (int i = 0; i < self->spins; i++) {
        if (!is_anyone_inside(self)) return;
        relax();
    }
    pthread_mutex_lock(&self->lock);
    atomic_store(&self->caller_asleep, 1);
    while (is_anyone_inside(self)) pthread_cond_wait(&self->done, &self->lock);
    atomic_store(&self->caller_asleep, 0);
    pthread_mutex_unlock(&self->lock);
}

pool_t *pool_new(int threads, bool pin, err_t *err)
{
    if (threads < 1 || threads > POOL_MAX_THREADS) {
        err_set(err, ERR_ARG, "thread pool: %d threads, want 1 to %d", threads, POOL_MAX_THREADS);
        return NULL;
    }
    pool_t *self = aligned_alloc(64, (sizeof *self + 63) / 64 * 64);
    if (!self) mem_fail(sizeof *self);
    *self = (pool_t){.threads = 1, .spins = threads > pool_cores() ? 0 : SPINS};
    self->worker = aligned_alloc(64, (size_t)threads * sizeof *self->worker);
    if (!self->worker) mem_fail((size_t)threads * sizeof *self->worker);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->wake, NULL);
    pthread_cond_init(&self->done, NULL);
    for (int w = 0; w < threads; w++)
        self->worker[w] = (worker_t){.pool = self, .index = w, .core = pin && w ? core_of(w) : -1};
    for (int w = 1; w < threads; w++) {
        worker_t *worker = &self->worker[w];
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0) {
            err_set(err, ERR_MEMORY, "thread pool: cannot start thread %d of %d", w, threads);
            pool_destroy(&self);
            return NULL;
        }
        self->threads = w + 1;
    }
    return self;
}

void pool_destroy(pool_t **self_p)
{
    pool_t *self = *self_p;
    if (!self) return;
    atomic_store(&self->stop, true);
    announce(self, 2);
    for (int w = 1; w < self->threads; w++) pthread_join(self->worker[w].thread, NULL);
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->wake);
    pthread_cond_destroy(&self->done);
    free(self->worker);
    free(self);
    *self_p = NULL;
}

int pool_threads(const pool_t *self)
{
    return self->threads;
}

void pool_watch(pool_t *self, pool_watch_fn *watch, void *user)
{
    self->watch = watch;
    self->watch_user = user;
}

static void run_watched(void *context, int64_t begin, int64_t end, int worker)
{
    pool_t *self = context;
    double start = clock_mono_s(), cpu = clock_thread_s();
    self->watched(self->watched_context, begin, end, worker);
    cpu = clock_thread_s() - cpu;
    self->watch(self->watch_user, worker, start, clock_mono_s(), cpu);
}

/* Ranges of at least a `part`-th of a stretch. */
static void run_parts(pool_t *self, pool_fn *fn, void *context, int64_t extent, int64_t grain,
                      int part)
{
    if (extent <= 0) return;
    if (grain < 1) grain = 1;
    if (self->watch) {
        self->watched = fn;
        self->watched_context = context;
        fn = run_watched;
        context = self;
    }
    if (self->threads == 1 || extent <= grain) {
        fn(context, 0, extent, 0);
        return;
    }
    self->fn = fn;
    self->context = context;
    self->extent = extent;
    self->grain = grain;
    int64_t n = self->n_grain = (extent - 1) / grain + 1, t = self->threads;
    self->shortest = n / (t * part) > 0 ? n / (t * part) : 1;
    for (int64_t w = 0; w < t; w++) { /* n w / t without overflow for any n */
        atomic_store_explicit(&self->worker[w].next, n / t * w + n % t * w / t,
                              memory_order_relaxed);
        self->worker[w].end = n / t * (w + 1) + n % t * (w + 1) / t;
    }
    announce(self, 1);
    run_all(self, 0);
    atomic_fetch_add(&self->turn, 1);
    wait_for_end(self);
}

void pool_run(pool_t *self, pool_fn *fn, void *context, int64_t extent, int64_t grain)
{
    run_parts(self, fn, context, extent, grain, SHORTEST);
}

void pool_run_long(pool_t *self, pool_fn *fn, void *context, int64_t extent, int64_t grain)
{
    run_parts(self, fn, context, extent, grain, SHORTEST_LONG);
}
