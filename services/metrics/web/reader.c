/* Questions of the page to store_report. */
#include "metrics/web/reader.h"

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/hand_over.h"
#include "base/mem.h"
#include "metrics/web/json.h"
#include "store/report.h"

enum { CONNECT_MS = 2000, STATEMENT_MS = 3000 };

struct reader {
    char *url;
    zactor_t *actor;
    reader_job_t *jobs; /* all that are not given back; the reactor's */
    atomic_bool leaving;
};

static unsigned status_of(err_code_t code)
{
    if (code == ERR_STATE) return MHD_HTTP_NOT_FOUND;
    return code == ERR_ARG ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static void do_job(store_t *store, reader_job_t *job)
{
    err_t err = {0};
    report_t report = {0};
    job->status = MHD_HTTP_OK;
    int rc = job->stamp ? store_report_stamp(store, &job->stamp_is, &err)
                        : store_report(store, job->report, job->run, job->most, &report, &err);
    if (rc < 0) {
        job->status = status_of(err.code);
        json_error(&job->body, err.text);
    } else if (!job->stamp) {
        json_report(&job->body, job->report, job->run, &report);
    }
    store_report_fini(&report);
}

static void reader_main(zsock_t *pipe, void *arg)
{
    reader_t *self = arg;
    store_options_t options = {
        .connect_ms = CONNECT_MS, .statement_ms = STATEMENT_MS, .read_only = true};
    store_t *store = store_open(self->url, &options, NULL); /* reader_new has checked the URL */
    zsock_signal(pipe, 0);
    for (bool on = store != NULL; on;) {
        char *command = NULL;
        void *pointer = NULL;
        on = zsock_recv(pipe, "sp", &command, &pointer) == 0 && command &&
             strcmp(command, "JOB") == 0;
        free(command);
        if (!on || atomic_load(&self->leaving)) continue; /* what waits is read to its end */
        reader_job_t *job = take_over(pointer);
        do_job(store, job);
        zsock_send(pipe, "p", hand_over(job));
    }
    store_destroy(&store);
}

reader_t *reader_new(const char *url, err_t *err)
{
    store_t *probe = store_open(url, NULL, err);
    if (!probe) return NULL;
    store_destroy(&probe);
    reader_t *self = mem_calloc(1, sizeof *self);
    self->url = mem_strdup(url);
    self->actor = zactor_new(reader_main, self);
    return self;
}

void reader_destroy(reader_t **self_p)
{
    reader_t *self = *self_p;
    if (!self) return;
    atomic_store(&self->leaving, true);
    zactor_destroy(&self->actor);
    for (reader_job_t *job = self->jobs, *next; job; job = next) {
        next = job->next;
        reader_job_free(job);
    }
    free(self->url);
    free(self);
    *self_p = NULL;
}

zsock_t *reader_socket(reader_t *self)
{
    return zactor_sock(self->actor);
}

void reader_ask(reader_t *self, reader_job_t *job)
{
    job->next = self->jobs;
    self->jobs = job;
    zsock_send(self->actor, "sp", "JOB", hand_over(job));
}

reader_job_t *reader_receive(reader_t *self)
{
    void *pointer = NULL;
    if (!(zsock_events(self->actor) & ZMQ_POLLIN)) return NULL;
    if (zsock_recv(self->actor, "p", &pointer) < 0) return NULL;
    reader_job_t *job = take_over(pointer), **link = &self->jobs;
    while (*link != job) link = &(*link)->next;
    *link = job->next;
    return job;
}

void reader_job_free(reader_job_t *job)
{
    if (!job) return;
    str_fini(&job->body);
    free(job);
}
