/* Questions of the page to store_report. */
#include "metrics/web/reader.h"

#include <stdlib.h>

#include "base/mem.h"
#include "http/http.h"
#include "metrics/web/json.h"
#include "msg/asker.h"
#include "store/report.h"

struct reader {
    store_t *store; /* the thread's */
    asker_t *asker;
};

static unsigned status_of(err_code_t code)
{
    if (code == ERR_STATE) return HTTP_NOT_FOUND;
    return code == ERR_ARG ? HTTP_BAD_REQUEST : HTTP_UNAVAILABLE;
}

static void do_job(void *user, void *question)
{
    store_t *store = user;
    reader_job_t *job = question;
    err_t err = {0};
    report_t report = {0};
    job->status = HTTP_OK;
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

static void drop(void *job)
{
    reader_job_free(job);
}

reader_t *reader_new(const char *url, err_t *err)
{
    store_t *store = store_report_open(url, err);
    if (!store) return NULL;
    reader_t *self = mem_calloc(1, sizeof *self);
    self->store = store;
    self->asker = asker_new(do_job, drop, store);
    return self;
}

void reader_destroy(reader_t **self_p)
{
    reader_t *self = *self_p;
    if (!self) return;
    asker_destroy(&self->asker);
    store_destroy(&self->store);
    free(self);
    *self_p = NULL;
}

zsock_t *reader_socket(reader_t *self)
{
    return asker_socket(self->asker);
}

void reader_ask(reader_t *self, reader_job_t *job)
{
    asker_ask(self->asker, job);
}

reader_job_t *reader_receive(reader_t *self)
{
    return asker_receive(self->asker);
}

void reader_job_free(reader_job_t *job)
{
    if (!job) return;
    str_fini(&job->body);
    free(job);
}
