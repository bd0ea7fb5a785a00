/* The thread: passes, back-off, the end. */
#include "metrics/track/track.h"

#include <curl/curl.h>
#include <czmq.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hand_over.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/secret.h"
#include "base/str.h"
#include "metrics/track/sync.h"
#include "store/report.h"

enum {
    PASS_MS = 1000,  /* between two passes */
    RETRY_MS = 1000, /* after a failure, doubling to ... */
    RETRY_MAX_MS = 60000,
    LAST_MS = 4000, /* for what is left at the end */
};
#define MLFLOW "mlflow:"
#define TOKEN_VARIABLE "MLFLOW_TRACKING_TOKEN"

struct track {
    zactor_t *actor;
    /* the thread's: */
    char *experiment, *token;
    store_t *store;
    zsock_t *pipe;
    poster_t *poster;
    sync_t *sync;
    int64_t wait_ms, next_ms, end_ms; /* end_ms: told to end, at the latest then */
    bool up;
};

int track_check(const char *where, bool has_token, err_t *err)
{
    if (!str_starts(where, MLFLOW))
        return err_set(err, ERR_ARG, "--track %s: expected mlflow:http://HOST:PORT", where);
    if (poster_check(where + strlen(MLFLOW), has_token, err) == 0) return 0;
    return err_prefix(err, "--track: "); /* it may have a password, which is not repeated */
}

/* Told to end? Then there is a little time left; asked while a request is under way. */
static bool stopped(void *user)
{
    track_t *self = user;
    int64_t now = clock_mono_ms();
    if (!self->end_ms && (zsock_events(self->pipe) & ZMQ_POLLIN)) self->end_ms = now + LAST_MS;
    return self->end_ms && now >= self->end_ms;
}

static void failed(track_t *self, const err_t *err)
{
    if (self->up || !self->wait_ms) log_event(LOG_WARN, "tracker_lost", "error=\"%s\"", err->text);
    self->up = false;
    self->wait_ms = self->wait_ms ? 2 * self->wait_ms : RETRY_MS;
    if (self->wait_ms > RETRY_MAX_MS) self->wait_ms = RETRY_MAX_MS;
    double jitter = random_uniform() * (double)self->wait_ms / 4;
    self->next_ms = clock_mono_ms() + self->wait_ms + (int64_t)jitter;
}

static void pass(track_t *self)
{
    err_t err = {0};
    if (sync_pass(self->sync, self->poster, self->store, &err) < 0) {
        failed(self, &err);
        return;
    }
    if (!self->up) log_event(LOG_INFO, "tracker_up", "experiment=\"%s\"", self->experiment);
    self->up = true;
    self->wait_ms = 0;
    self->next_ms = clock_mono_ms() + PASS_MS;
}

static void thread_main(zsock_t *pipe, void *arg)
{
    track_t *self = arg;
    self->pipe = pipe;
    zsock_signal(pipe, 0);
    zmq_pollitem_t item = {.socket = zsock_resolve(pipe), .events = ZMQ_POLLIN};
    for (;;) {
        int64_t left = self->next_ms - clock_mono_ms();
        if (zmq_poll(&item, 1, left > 0 ? (long)left : 0) != 0) break; /* all that comes: $TERM */
        pass(self);
    }
    self->end_ms = clock_mono_ms() + LAST_MS;
    pass(self);
    hand_over(self);
}

static int read_token(const track_options_t *options, char **token, err_t *err)
{
    const char *given = getenv(TOKEN_VARIABLE);
    *token = NULL;
    if (options->token_file) {
        *token = secret_read(options->token_file, err);
        return *token ? 0 : err_prefix(err, "--track-token-file: ");
    }
    if (given && *given) *token = mem_strdup(given);
    return 0;
}

static int open_all(track_t *self, const track_options_t *options, err_t *err)
{
    if (!options->store)
        return err_set(err, ERR_ARG, "--track sends what a store has: give --store or --web-store");
    if (read_token(options, &self->token, err) < 0 ||
        track_check(options->where, self->token != NULL, err) < 0)
        return -1;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(err, ERR_STATE, "libcurl does not start");
    const poster_options_t post = {.base = options->where + strlen(MLFLOW),
                                   .token = self->token,
                                   .stopped = stopped,
                                   .user = self};
    self->store = store_report_open(options->store, err);
    self->poster = self->store ? poster_new(&post, err) : NULL;
    self->sync = sync_new(options->experiment);
    self->experiment = mem_strdup(options->experiment);
    return self->poster ? 0 : -1;
}

track_t *track_new(const track_options_t *options, err_t *err)
{
    track_t *self = mem_calloc(1, sizeof *self);
    int rc = open_all(self, options, err);
    if (rc == 0 && !(self->actor = zactor_new(thread_main, self)))
        rc = err_set(err, ERR_STATE, "no thread for the tracker");
    if (rc < 0) track_destroy(&self);
    return self;
}

void track_destroy(track_t **self_p)
{
    track_t *self = *self_p;
    if (!self) return;
    *self_p = NULL;
    zactor_destroy(&self->actor);
    take_over(self); /* what the thread had */
    poster_destroy(&self->poster);
    sync_destroy(&self->sync);
    store_destroy(&self->store);
    free(self->experiment);
    free(self->token);
    free(self);
}
