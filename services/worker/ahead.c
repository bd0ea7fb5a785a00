/* An actor that fetches what it is given. A task belongs to the thread from FETCH to DONE, else to its caller. */
#include "worker/ahead.h"

#include <czmq.h>
#include <stdlib.h>
#include <string.h>

#include "base/hand_over.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/limits.h"
#include "outer/change.h"

/* Aggregators of a run. */
typedef struct {
    uint64_t run;
    size_t n;
    char **endpoints;
} peers_t;

typedef struct {
    peers_t peers;
    uint64_t *bounds;
    change_t change;
    data_ahead_t data;
    data_ranges_t ranges; /* n 0: parameters; its hash and at[] are owned */
    bool came;            /* all of them */
} task_t;

struct ahead {
    zactor_t *actor; /* NULL: never needed so far */
    task_t *task;    /* NULL: none */
    bool busy;       /* the thread has it */
    data_ahead_t
        room; /* between two rounds; the pages of new memory cost more than what comes into them */
};

static bool peers_equal(const peers_t *a, const peers_t *b)
{
    bool same = a->run == b->run && a->n == b->n;
    for (size_t s = 0; same && s < a->n; s++) same = strcmp(a->endpoints[s], b->endpoints[s]) == 0;
    return same;
}

static peers_t peers_copy(const peers_t *from)
{
    peers_t self = {from->run, from->n, mem_calloc(from->n + 1, sizeof *self.endpoints)};
    for (size_t s = 0; s < from->n; s++) self.endpoints[s] = mem_strdup(from->endpoints[s]);
    return self;
}

static void peers_free(peers_t *self)
{
    for (size_t s = 0; s < self->n; s++) free(self->endpoints[s]);
    free(self->endpoints);
    *self = (peers_t){0};
}

/* --- The thread --- */

typedef struct {
    zsock_t *pipe;
    data_ahead_t *data; /* of the present task; NULL: ranges */
    bool stop, ends;
    peers_t peers; /* of the client */
    data_client_t *client;
} thread_t;

/* A wish, or a task; NULL: no task. */
static task_t *hear(thread_t *self)
{
    char *command = NULL;
    void *task = NULL;
    int rc = zsock_recv(self->pipe, "sp", &command, &task);
    if (rc < 0 || !command || strcmp(command, "$TERM") == 0) self->ends = self->stop = true;
    if (command && strcmp(command, "STOP") == 0) self->stop = true;
    if (command && strcmp(command, "HURRY") == 0 && self->data) self->data->hurry = true;
    bool fetch = command && strcmp(command, "FETCH") == 0;
    free(command);
    return fetch ? take_over(task) : NULL;
}

static bool stopped(void *user)
{
    thread_t *self = user;
    while (!self->ends && (zsock_events(self->pipe) & ZMQ_POLLIN)) hear(self);
    return self->stop;
}

static int need_client(thread_t *self, const peers_t *peers, err_t *err)
{
    if (self->client && peers_equal(&self->peers, peers)) return 0;
    data_client_destroy(&self->client);
    peers_free(&self->peers);
    data_options_t options = {.endpoints = peers->endpoints,
                              .n_endpoint = peers->n,
                              .run = peers->run,
                              .pack_below = MSG_PACK_BYTES,
                              .stopped = stopped,
                              .user = self};
    self->client = data_client_new(&options, err);
    if (!self->client) return -1;
    self->peers = peers_copy(peers);
    return 0;
}

static void fetch(thread_t *self, task_t *task)
{
    err_t err = {0};
    self->stop = false;
    int rc = need_client(self, &task->peers, &err);
    if (task->ranges.n) {
        const data_ranges_t *r = &task->ranges;
        if (rc == 0) rc = data_get_ranges(self->client, r->hash, r->at, r->n, r->whole, &err);
        task->came = rc == 0;
        if (rc < 0 && !self->stop)
            log_event(LOG_INFO, "not_ahead", "tokens=%.12s reason=\"%s\"", r->hash, err.text);
        return;
    }
    self->data = &task->data;
    self->data->hurry = false;
    if (rc == 0) rc = data_get_ahead(self->client, self->data, &err);
    if (rc < 0 && !self->stop)
        log_event(LOG_INFO, "not_ahead", "round=%u reason=\"%s\"", self->data->round, err.text);
    self->data = NULL;
}

static void thread_main(zsock_t *pipe, void *arg)
{
    thread_t self = {.pipe = pipe};
    zsock_signal(pipe, 0);
    while (!self.ends) {
        task_t *task = hear(&self);
        if (!task) continue; /* a wish for a task that has ended */
        fetch(&self, task);
        zsock_send(pipe, "sp", "DONE", hand_over(task));
    }
    data_client_destroy(&self.client);
    peers_free(&self.peers);
    hand_over(arg);
}

/* --- Its caller's side --- */

static task_t *task_new(const peers_t *peers, const ahead_which_t *which, const change_t *change,
                        data_ahead_t *room)
{
    task_t *self = mem_calloc(1, sizeof *self);
    self->peers = peers_copy(peers);
    self->change = *change;
    self->bounds = mem_calloc(peers->n + 1, sizeof *self->bounds);
    memcpy(self->bounds, which->bounds, (peers->n + 1) * sizeof *self->bounds);
    self->data = *room;
    *room = (data_ahead_t){0};
    data_ahead_init(&self->data, self->bounds, peers->n, which->round, change);
    return self;
}

static void task_free(task_t **self_p, data_ahead_t *room)
{
    task_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    peers_free(&self->peers);
    if (!self->ranges.n) {
        data_ahead_drop(&self->data);
        data_ahead_fini(room);
        *room = self->data;
    }
    free((char *)self->ranges.hash);
    free((data_range_bytes_t *)(uintptr_t)self->ranges.at);
    free(self->bounds);
    free(self);
}

ahead_t *ahead_new(void)
{
    return mem_calloc(1, sizeof(ahead_t));
}

static void say(ahead_t *self, const char *command, task_t *task)
{
    zsock_send(self->actor, "sp", command, hand_over(task));
}

/* Has it ended within that time? */
static void hear_end(ahead_t *self, long wait_ms)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(self->actor), .events = ZMQ_POLLIN};
    char *answer = NULL;
    void *task = NULL;
    if (zmq_poll(&item, 1, wait_ms) <= 0) return;
    zsock_recv(self->actor, "sp", &answer, &task);
    self->busy = !answer || strcmp(answer, "DONE") != 0;
    if (!self->busy) take_over(task);
    free(answer);
}

/* Its end: of itself, when `stopped` says so, or at once. */
static void settle(ahead_t *self, bool (*stop)(void *user), void *user)
{
    enum { ASK_MS = 20 };
    for (bool told = false; self->busy;) {
        if (!told && stop(user)) {
            say(self, "STOP", NULL);
            told = true;
        }
        hear_end(self, ASK_MS);
    }
}

static bool at_once(void *user)
{
    (void)user;
    return true;
}

static bool never(void *user)
{
    (void)user;
    return false;
}

/* Parameters of some round, from there. */
static bool is_from(const task_t *task, const ahead_which_t *which)
{
    const peers_t peers = {which->run, which->n_endpoint, (char **)(uintptr_t)which->endpoints};
    return task && !task->ranges.n && task->change.codec == change_codec(which->down_codec, NULL) &&
           task->change.exact_from == which->down_exact_from && peers_equal(&task->peers, &peers) &&
           memcmp(task->bounds, which->bounds, (peers.n + 1) * sizeof *task->bounds) == 0;
}

static bool is_of(const task_t *task, const ahead_which_t *which)
{
    return is_from(task, which) && task->data.round == which->round;
}

/* Of that round, or on the way to it. */
static bool leads_to(const task_t *task, const ahead_which_t *which)
{
    if (!is_from(task, which)) return false;
    return task->data.round == which->round ||
           (task->change.codec && task->data.round < which->round);
}

void ahead_begin(ahead_t *self, const ahead_which_t *which)
{
    err_t err = {0};
    const peers_t peers = {which->run, which->n_endpoint, (char **)(uintptr_t)which->endpoints};
    const change_t change = {change_codec(which->down_codec, &err), which->down_exact_from};
    bool here = is_of(self->task, which);
    if (here && self->busy) return;
    settle(self, at_once, NULL);
    if (!here) task_free(&self->task, &self->room);
    if (err.code) return;
    if (!here) self->task = task_new(&peers, which, &change, &self->room);
    if (!self->actor) self->actor = zactor_new(thread_main, self);
    say(self, "FETCH", self->task);
    self->busy = true;
}

data_ahead_t *ahead_take(ahead_t *self, const ahead_which_t *which, bool (*stop)(void *user),
                         void *user)
{
    if (!leads_to(self->task, which)) {
        settle(self, at_once, NULL);
        return NULL;
    }
    if (self->busy) say(self, "HURRY", NULL);
    settle(self, stop ? stop : never, user);
    return &self->task->data;
}

data_ahead_t *ahead_look(ahead_t *self, const ahead_which_t *which, bool *busy)
{
    bool ours = leads_to(self->task, which);
    if (ours && self->busy) hear_end(self, 0);
    *busy = ours && self->busy;
    return ours && !self->busy ? &self->task->data : NULL;
}

static task_t *ranges_new(const peers_t *peers, const data_ranges_t *ranges)
{
    task_t *self = mem_calloc(1, sizeof *self);
    data_range_bytes_t *at = mem_calloc(ranges->n, sizeof *at);
    memcpy(at, ranges->at, ranges->n * sizeof *at);
    self->peers = peers_copy(peers);
    self->ranges = (data_ranges_t){mem_strdup(ranges->hash), at, ranges->n, ranges->whole};
    return self;
}

void ahead_begin_ranges(ahead_t *self, const ahead_which_t *which, const data_ranges_t *ranges)
{
    const peers_t peers = {which->run, which->n_endpoint, (char **)(uintptr_t)which->endpoints};
    ahead_used(self);
    self->task = ranges_new(&peers, ranges);
    if (!self->actor) self->actor = zactor_new(thread_main, self);
    say(self, "FETCH", self->task);
    self->busy = true;
}

bool ahead_end_ranges(ahead_t *self, bool (*stop)(void *user), void *user)
{
    settle(self, stop ? stop : never, user);
    bool came = self->task && self->task->came;
    task_free(&self->task, &self->room);
    return came;
}

void ahead_used(ahead_t *self)
{
    settle(self, at_once, NULL);
    task_free(&self->task, &self->room);
}

void ahead_forget(ahead_t *self)
{
    ahead_used(self);
    data_ahead_fini(&self->room);
}

void ahead_destroy(ahead_t **self_p)
{
    ahead_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    if (self->actor) ahead_forget(self);
    zactor_destroy(&self->actor);
    take_over(self);
    free(self);
}
