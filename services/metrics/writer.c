/* Batches to store_telemetry_write. Batches are numbered, so that a repeat after a lost answer is
 * harmless. A batch that the store refuses is written record by record: one that is bad costs
 * itself. */
#include "metrics/writer.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/hand_over.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "store/store.h"

enum {
    CONNECT_MS = 3000,
    STATEMENT_MS = 5000,
    RETRY_MS = 200, /* after a failure, doubling to ... */
    RETRY_MAX_MS = 5000,
    PING_MS = 5000, /* when there is nothing to write: does the store still answer? */
    PRUNE_MS = 3600 * 1000,
    DAY_MS = 86400 * 1000,
};

typedef struct {
    char *url, *source;
    int64_t keep_days;
    zsock_t *pipe;
    store_t *store;
    bool checked; /* the schema is ours */
    writer_batch_t *batch;
    int64_t number; /* of the last batch; each record has one, where they are written singly */
    bool singly;
    size_t next;      /* singly: the record to write next */
    uint32_t refused; /* singly: so far */
    err_t away;       /* why it does not answer, as was said last */
    int64_t wait_ms, next_ms, prune_ms;
    writer_state_t state;
} writer_t;

static void tell(writer_t *self, uint32_t written, uint32_t dropped)
{
    zsock_send(self->pipe, "i44i", (int)self->state, written, dropped, self->batch == NULL);
}

static void free_batch(writer_t *self)
{
    for (size_t i = 0; self->batch && i < self->batch->n; i++) record_fini(&self->batch->at[i]);
    free(self->batch);
    self->batch = NULL;
    self->singly = false;
}

static int write_records(writer_t *self, const record_t *records, size_t n, err_t *err)
{
    store_event_t *events = mem_calloc(n, sizeof *events);
    store_sample_t *samples = mem_calloc(n, sizeof *samples);
    size_t n_event = 0, n_sample = 0;
    for (size_t i = 0; i < n; i++) {
        const record_t *r = &records[i];
        const char *run = *r->run ? r->run : NULL;
        if (r->is_event)
            events[n_event++] = (store_event_t){r->time_ms, r->level,  r->service,
                                                r->member,  r->name,   run,
                                                r->round,   r->detail, r->key};
        else
            samples[n_sample++] = (store_sample_t){r->time_ms, r->name,  r->member,
                                                   run,        r->round, r->value};
    }
    int rc = store_telemetry_write(self->store, self->source, self->number, events, n_event,
                                   samples, n_sample, err);
    free(events);
    free(samples);
    return rc;
}

static bool try_again(err_code_t code)
{
    return code == ERR_NET || code == ERR_IO;
}

/* Each record under a number of its own; -1: the store does not answer, go on later. */
static int write_singly(writer_t *self, err_t *err)
{
    for (; self->next < self->batch->n; self->next++) {
        const record_t *r = &self->batch->at[self->next];
        if (write_records(self, r, 1, err) < 0) {
            if (try_again(err->code)) return -1;
            self->refused++;
            log_event(LOG_ERROR, "record_refused", "name=%s member=%s error=\"%s\"", r->name,
                      r->member, err->text);
        }
        self->number++;
    }
    return 0;
}

static int write_batch(writer_t *self, err_t *err)
{
    if (self->singly) return write_singly(self, err);
    if (write_records(self, self->batch->at, self->batch->n, err) == 0) return 0;
    if (try_again(err->code)) return -1;
    log_event(LOG_WARN, "batch_refused", "records=%zu error=\"%s\"", self->batch->n, err->text);
    self->singly = true;
    self->next = self->refused = 0;
    return write_singly(self, err);
}

/* A slice; the next one follows the next batch, so that samples do not wait for it. */
static void prune(writer_t *self)
{
    if (!self->keep_days || clock_mono_ms() < self->prune_ms) return;
    err_t err = {0};
    bool done = true;
    int64_t before_ms = clock_wall_ms() - self->keep_days * DAY_MS;
    int rc = store_telemetry_prune(self->store, before_ms, &done, &err);
    if (rc < 0) log_event(LOG_WARN, "prune_failed", "error=\"%s\"", err.text);
    if (rc < 0 || done) self->prune_ms = clock_mono_ms() + PRUNE_MS;
}

static void went_down(writer_t *self, const err_t *err)
{
    if (self->state == WRITER_UP || self->wait_ms == 0 || strcmp(err->text, self->away.text) != 0)
        log_event(LOG_WARN, "store_lost", "error=\"%s\"", err->text);
    self->away = *err;
    self->state = WRITER_DOWN;
    self->wait_ms = self->wait_ms ? 2 * self->wait_ms : RETRY_MS;
    if (self->wait_ms > RETRY_MAX_MS) self->wait_ms = RETRY_MAX_MS;
    int64_t now = clock_mono_ms();
    double jitter = random_uniform() * (double)self->wait_ms / 4;
    self->next_ms = now + self->wait_ms + (int64_t)jitter;
    tell(self, 0, 0);
}

/* Check the schema, and write what there is to write. */
static void attempt(writer_t *self)
{
    err_t err = {0};
    uint32_t n = self->batch ? (uint32_t)self->batch->n : 0;
    int rc = self->checked && self->batch ? 0 : store_check(self->store, &err);
    if (rc < 0 && err.code == ERR_SCHEMA) {
        log_event(LOG_ERROR, "store_schema", "error=\"%s\"", err.text);
        self->state = WRITER_SCHEMA;
        tell(self, 0, 0);
        return;
    }
    if (rc == 0) self->checked = true;
    if (rc == 0 && self->batch) rc = write_batch(self, &err);
    if (rc < 0 && try_again(err.code)) {
        went_down(self, &err);
        return;
    }
    if (rc < 0) log_event(LOG_ERROR, "store_refused", "error=\"%s\"", err.text);
    uint32_t refused = self->batch && self->singly ? self->refused : 0;
    if (rc == 0 && self->state != WRITER_UP) log_event(LOG_INFO, "store_up", "records=%u", n);
    if (rc == 0) self->state = WRITER_UP;
    self->wait_ms = 0;
    self->next_ms = clock_mono_ms() + PING_MS;
    free_batch(self);
    tell(self, rc == 0 ? n - refused : 0, rc == 0 ? refused : n);
    if (rc == 0) prune(self);
}

/* Wait for a command or the next attempt; false at $TERM. */
static bool wait_command(writer_t *self)
{
    int64_t left = self->next_ms - clock_mono_ms();
    zmq_pollitem_t item = {.socket = zsock_resolve(self->pipe), .events = ZMQ_POLLIN};
    zmq_poll(&item, 1, left > 0 ? (long)left : 0);
    if (!(item.revents & ZMQ_POLLIN)) return true;
    char *command = NULL;
    void *pointer = NULL;
    int rc = zsock_recv(self->pipe, "sp", &command, &pointer);
    bool batch = rc == 0 && command && strcmp(command, "BATCH") == 0;
    free(command);
    if (batch) {
        self->batch = take_over(pointer);
        self->number++;
        if (self->wait_ms == 0) self->next_ms = 0; /* no back-off runs: write it now */
    }
    return batch;
}

static void writer_main(zsock_t *pipe, void *arg)
{
    writer_t *self = arg;
    store_options_t limits = {.connect_ms = CONNECT_MS, .statement_ms = STATEMENT_MS};
    self->pipe = pipe;
    self->store = store_open(self->url, &limits, NULL); /* writer_new has checked the URL */
    zsock_signal(pipe, 0);
    while (self->store && wait_command(self))
        if (self->state != WRITER_SCHEMA && clock_mono_ms() >= self->next_ms) attempt(self);
    free_batch(self);
    store_destroy(&self->store);
    free(self->source);
    free(self->url);
    free(self);
}

zactor_t *writer_new(const writer_options_t *options, err_t *err)
{
    store_t *probe = store_open(options->url, NULL, err);
    if (!probe) return NULL;
    store_destroy(&probe);
    writer_t *self = mem_calloc(1, sizeof *self);
    self->url = mem_strdup(options->url);
    self->source = mem_strdup(options->source);
    self->keep_days = options->keep_days;
    self->state = WRITER_DOWN;
    return zactor_new(writer_main, self);
}

void writer_give(zactor_t *self, writer_batch_t *batch)
{
    zsock_send(self, "sp", "BATCH", hand_over(batch));
}

bool writer_receive(zactor_t *self, writer_news_t *news)
{
    if (!(zsock_events(self) & ZMQ_POLLIN)) return false;
    int state = 0, idle = 0;
    if (zsock_recv(self, "i44i", &state, &news->written, &news->dropped, &idle) < 0) return false;
    news->state = (writer_state_t)state;
    news->idle = idle != 0;
    return true;
}
