/* One copy after the other. */
#include "worker/copying.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

/* --- The thread --- */

/* Asked again and again while something is sent: here the copy waits for what is more urgent. */
static bool stopped(void *user)
{
    enum { LOOK_MS = 20 };
    const copier_t *self = user;
    while (atomic_load(self->yield) && !job_stopped(self->job)) zclock_sleep(LOOK_MS);
    return job_stopped(self->job);
}

static void drop_client(copier_t *self)
{
    data_client_destroy(&self->client);
    for (size_t s = 0; s < self->n_endpoint; s++) free(self->endpoints[s]);
    free(self->endpoints);
    self->endpoints = NULL;
    self->n_endpoint = 0;
}

static int need_client(copier_t *self, const Msg__Copy *copy, err_t *err)
{
    bool same = self->client && self->run == copy->run_hash && self->n_endpoint == copy->n_data;
    for (size_t s = 0; same && s < copy->n_data; s++)
        same = strcmp(self->endpoints[s], copy->data[s]) == 0;
    if (same) return 0;
    drop_client(self);
    data_options_t options = {.endpoints = copy->data,
                              .n_endpoint = copy->n_data,
                              .run = copy->run_hash,
                              .stopped = stopped,
                              .user = self};
    self->client = data_client_new(&options, err);
    if (!self->client) return -1;
    self->run = copy->run_hash;
    self->endpoints = mem_calloc(copy->n_data + 1, sizeof *self->endpoints);
    for (size_t s = 0; s < copy->n_data; s++) self->endpoints[s] = mem_strdup(copy->data[s]);
    self->n_endpoint = copy->n_data;
    return 0;
}

static int put(copier_t *self, const Msg__Copy *copy, Msg__Copied *copied, err_t *err)
{
    const state_t *state = states_open(&self->states, copy->state, err);
    if (!state || need_client(self, copy, err) < 0) return -1;
    double begin = clock_mono_s();
    copied->bytes = state->source.n;
    if (data_put_object_from(self->client, copy->state, &state->source, err) < 0) return -1;
    copied->seconds = clock_mono_s() - begin;
    return 0;
}

void copying_run(void *user, job_t *job, const msg_envelope_t *message)
{
    copier_t *self = user;
    const Msg__Copy *copy = message->copy;
    err_t err = {0};
    Msg__Copied copied = MSG__COPIED__INIT;
    copied.run_hash = copy->run_hash;
    copied.state = copy->state;
    self->job = job;
    if (put(self, copy, &copied, &err) < 0) copied.error = err.text;
    states_done(&self->states);
    log_event(err.code ? LOG_WARN : LOG_INFO, err.code ? "state_not_copied" : "state_copied",
              "state=%.12s bytes=%llu seconds=%.3f error=\"%s\"", copy->state,
              (unsigned long long)copied.bytes, copied.seconds, err.text);
    if (err.code) drop_client(self);
    msg_envelope_t reply = MSG__ENVELOPE__INIT;
    reply.body_case = MSG__ENVELOPE__BODY_COPIED;
    reply.copied = &copied;
    job_reply(job, &reply);
}

/* --- The reactor's side --- */

void copying_init(copying_t *self, const char *dir, const atomic_bool *yield)
{
    *self = (copying_t){.copier = {.states = {.dir = dir}, .yield = yield}};
    self->jobs = jobs_new(copying_run, &self->copier);
}

void copying_fini(copying_t *self)
{
    jobs_cancel(self->jobs);
    jobs_destroy(&self->jobs);
    drop_client(&self->copier);
    for (size_t i = 0; i < self->waits.n; i++) msg_free(&self->waits.at[i]);
    VEC_FREE(&self->waits);
}

bool copying_busy(const copying_t *self)
{
    return jobs_busy(self->jobs);
}

size_t copying_left(const copying_t *self)
{
    return self->waits.n + copying_busy(self);
}

static void start(copying_t *self, const msg_envelope_t *copy)
{
    snprintf(self->now, sizeof self->now, "%s", copy->copy->state);
    jobs_start(self->jobs, copy);
}

static bool is_known(const copying_t *self, const char *state)
{
    bool known = copying_busy(self) && strcmp(self->now, state) == 0;
    for (size_t i = 0; !known && i < self->waits.n; i++)
        known = strcmp(self->waits.at[i]->copy->state, state) == 0;
    return known;
}

void copying_ask(copying_t *self, const msg_envelope_t *copy)
{
    enum { MOST = 4096 };
    if (is_known(self, copy->copy->state) || self->waits.n >= MOST) return;
    if (!copying_busy(self)) {
        start(self, copy);
        return;
    }
    size_t n = 0;
    uint8_t *bytes = msg_pack(copy, &n);
    VEC_PUSH(&self->waits, msg_unpack(bytes, n, NULL));
    free(bytes);
}

msg_envelope_t *copying_take(copying_t *self)
{
    msg_envelope_t *copied = jobs_receive(self->jobs);
    if (!copied || self->waits.n == 0) return copied;
    msg_envelope_t *next = self->waits.at[0];
    memmove(self->waits.at, self->waits.at + 1, --self->waits.n * sizeof *self->waits.at);
    start(self, next);
    msg_free(&next);
    return copied;
}
