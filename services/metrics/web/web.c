/* Paths to files, questions for the reader, and the stream of changes. */
#include "metrics/web/web.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "metrics/web/files.h"
#include "metrics/web/json.h"
#include "metrics/web/reader.h"
#include "store/report.h"

enum {
    QUESTIONS = 64,  /* that wait for the reader */
    STAMP_MS = 500,  /* between looks whether the store has changed, while somebody listens */
    BEAT_MS = 15000, /* a stream says something, so that its end is noticed */
    MOST = 500,      /* rows, unless the query says another number */
    LIVE_ROWS = 2000,
};

/* What the page may do: its own files and data, nothing else, in no frame. */
static const char *const headers[] = {
    "Content-Security-Policy",
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options",
    "nosniff",
    "Referrer-Policy",
    "no-referrer",
    "Cross-Origin-Resource-Policy",
    "same-origin",
    "Cross-Origin-Opener-Policy",
    "same-origin",
    "Cache-Control",
    "no-cache",
    NULL,
};

struct web {
    zloop_t *loop;
    http_t *http;
    reader_t *reader;
    series_table_t *series;
    int timer;
    size_t n_asked; /* the reader has so many questions */
    bool stamping;
    int64_t stamp, beat_ms;
};

static void answer_error(http_request_t *request, unsigned status, const char *text)
{
    http_answer_t answer = {.status = status, .type = "application/json"};
    json_error(&answer.body, text);
    http_answer(request, &answer);
}

/* --- files --- */

static bool answer_file(http_request_t *request)
{
    const web_file_t *file = web_file_find(http_path(request));
    if (!file) return false;
    const char *has = http_header(request, "If-None-Match");
    bool same = has && strstr(has, file->etag);
    http_answer_t answer = {.status = same ? HTTP_NOT_MODIFIED : HTTP_OK,
                            .type = file->type,
                            .etag = file->etag,
                            .fixed = same ? "" : file->at,
                            .n_fixed = same ? 0 : file->n};
    http_answer(request, &answer);
    return true;
}

/* --- reports --- */

/* The query's whole number in [1, STORE_REPORT_ROWS]; -1. */
static int64_t most_rows(const http_request_t *request)
{
    const char *text = http_query(request, "most");
    char *end = NULL;
    if (!text) return MOST;
    long value = strtol(text, &end, 10);
    return end != text && !*end && value >= 1 && value <= STORE_REPORT_ROWS ? value : -1;
}

static void ask(web_t *self, http_request_t *request, const char *report, const char *run)
{
    int64_t most = most_rows(request);
    if (most < 0) {
        answer_error(request, HTTP_BAD_REQUEST, "\"most\" is a whole number from 1 to 2000");
        return;
    }
    if (strlen(run) >= STORE_ID) {
        answer_error(request, HTTP_NOT_FOUND, "no run has a name as long as that");
        return;
    }
    if (self->n_asked >= QUESTIONS) {
        answer_error(request, HTTP_UNAVAILABLE,
                     "too many questions wait for the store; ask again later");
        return;
    }
    reader_job_t *job = mem_calloc(1, sizeof *job);
    *job = (reader_job_t){.most = most, .user = request};
    snprintf(job->report, sizeof job->report, "%s", report);
    snprintf(job->run, sizeof job->run, "%s", run);
    self->n_asked++;
    reader_ask(self->reader, job);
}

static void answer_no_report(http_request_t *request, const char *name)
{
    str_t text = {0};
    str_addf(&text, "there is no report \"%.40s\"; known are:", name);
    for (size_t i = 0; store_report_name(i); i++) str_addf(&text, " %s", store_report_name(i));
    answer_error(request, HTTP_NOT_FOUND, str_text(&text));
    str_fini(&text);
}

/* "RUN" or "RUN/REPORT". */
static void ask_of_run(web_t *self, http_request_t *request, const char *rest)
{
    const char *slash = strrchr(rest, '/');
    bool of_run;
    char run[STORE_ID + 1] = ""; /* one byte more than a name may have, so that ask() sees it */
    size_t n = slash ? (size_t)(slash - rest) : strlen(rest);
    memcpy(run, rest, n < STORE_ID ? n : STORE_ID);
    if (!*run)
        answer_error(request, HTTP_NOT_FOUND, "no run is named: /api/runs/RUN");
    else if (!slash)
        ask(self, request, "runs", run);
    else if (store_report_known(slash + 1, &of_run))
        ask(self, request, slash + 1, run);
    else
        answer_no_report(request, slash + 1);
}

static void ask_of_all(web_t *self, http_request_t *request, const char *name)
{
    bool of_run = false;
    if (!store_report_known(name, &of_run))
        answer_no_report(request, name);
    else if (of_run)
        answer_error(request, HTTP_NOT_FOUND, "that report is of one run: /api/runs/RUN/NAME");
    else
        ask(self, request, name, "");
}

/* --- what is heard --- */

static void add_live(str_t *out, const series_t *row, size_t *n)
{
    for (int m = 0; m < M_COUNT && *n < LIVE_ROWS; m++) {
        if (!(row->has >> m & 1)) continue;
        str_add(out, (*n)++ ? ",\n[" : "\n[");
        json_text(out, metric_row((metric_t)m)->name);
        str_add(out, ",");
        json_text(out, row->run);
        str_add(out, ",");
        json_text(out, row->label);
        str_add(out, ",");
        json_number(out, row->value[m]);
        str_add(out, "]");
    }
}

static void answer_live(web_t *self, http_request_t *request)
{
    const char *run = http_query(request, "run");
    http_answer_t answer = {.status = HTTP_OK, .type = "application/json"};
    size_t n = 0;
    str_add(&answer.body, "{\"columns\":[\"name\",\"run\",\"label\",\"value\"],\"rows\":[");
    for (series_t *row = series_first(self->series); row; row = series_next(self->series))
        if (!run || strcmp(row->run, run) == 0) add_live(&answer.body, row, &n);
    str_addf(&answer.body, "],\"more\":%s}\n", n >= LIVE_ROWS ? "true" : "false");
    http_answer(request, &answer);
}

/* --- requests --- */

static void stream(http_request_t *request)
{
    str_t hello = {0};
    str_add(&hello, "retry: 3000\nevent: hello\ndata: {}\n\n");
    http_stream(request);
    http_say(request, &hello);
    str_fini(&hello);
}

static void on_request(void *user, http_request_t *request)
{
    web_t *self = user;
    const char *path = http_path(request);
    if (!http_admits(request) || answer_file(request)) return;
    if (strcmp(path, "/api/stream") == 0)
        stream(request);
    else if (strcmp(path, "/api/live") == 0)
        answer_live(self, request);
    else if (str_starts(path, "/api/runs/"))
        ask_of_run(self, request, path + strlen("/api/runs/"));
    else if (str_starts(path, "/api/"))
        ask_of_all(self, request, path + strlen("/api/"));
    else
        answer_error(request, HTTP_NOT_FOUND, "there is nothing here; the page is at /");
}

static void on_stamp(web_t *self, const reader_job_t *job)
{
    self->stamping = false;
    if (job->status != HTTP_OK || job->stamp_is == self->stamp) return;
    self->stamp = job->stamp_is;
    http_say_all(self->http, "event: change\ndata: {}\n\n");
}

static int on_answer(zloop_t *loop, zsock_t *socket, void *user)
{
    (void)loop, (void)socket;
    web_t *self = user;
    reader_job_t *job;
    while ((job = reader_receive(self->reader))) {
        if (job->stamp) {
            on_stamp(self, job);
        } else {
            http_answer_t answer = {
                .status = job->status, .type = "application/json", .body = job->body};
            job->body = (str_t){0};
            self->n_asked--;
            http_answer(job->user, &answer);
        }
        reader_job_free(job);
    }
    return 0;
}

static int on_tick(zloop_t *loop, int timer, void *user)
{
    (void)loop, (void)timer;
    web_t *self = user;
    if (http_streams(self->http) == 0) return 0;
    int64_t now_ms = clock_mono_ms();
    if (now_ms - self->beat_ms >= BEAT_MS) {
        self->beat_ms = now_ms;
        http_say_all(self->http, ": still here\n\n");
    }
    if (self->stamping) return 0;
    reader_job_t *job = mem_calloc(1, sizeof *job);
    *job = (reader_job_t){.stamp = true};
    self->stamping = true;
    reader_ask(self->reader, job);
    return 0;
}

/* --- start and end --- */

web_t *web_new(zloop_t *loop, const web_options_t *options, err_t *err)
{
    web_t *self = mem_calloc(1, sizeof *self);
    *self = (web_t){.loop = loop, .series = options->series, .timer = -1};
    http_options_t http = options->http;
    http.headers = headers;
    http.local_names = !http.access;
    http.handler = on_request;
    http.user = self;
    web_files_init();
    self->reader = reader_new(options->store, err);
    if (self->reader) self->http = http_new(loop, &http, err);
    if (!self->http) {
        web_destroy(&self);
        return NULL;
    }
    zloop_reader(loop, reader_socket(self->reader), on_answer, self);
    self->timer = zloop_timer(loop, STAMP_MS, 0, on_tick, self);
    return self;
}

/* The reader first: what it was asked is answered by http_destroy. */
void web_destroy(web_t **self_p)
{
    web_t *self = *self_p;
    if (!self) return;
    if (self->timer >= 0) {
        zloop_timer_end(self->loop, self->timer);
        zloop_reader_end(self->loop, reader_socket(self->reader));
    }
    reader_destroy(&self->reader);
    http_destroy(&self->http);
    free(self);
    *self_p = NULL;
}

unsigned web_port(const web_t *self)
{
    return http_port(self->http);
}
