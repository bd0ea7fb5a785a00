/* pcp worker: what an operator asks of the workers of a cluster, by way of its shepherd. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "msg/member.h"
#include "msg/service.h"
#include "pcp/cmd.h"
#include "pcp/output.h"
#include "pcp/routes.h"

typedef struct {
    char *key_file, *shepherd, *output;
    bool json;
    int64_t wait_ms;
} options_t;

static const config_field_t fields[] = {
    CMD_SHEPHERD_FIELD(options_t),
    CMD_KEY_FIELD(options_t),
    OUTPUT_FIELDS(options_t, ""),
    {"wait_ms", CONFIG_INT, offsetof(options_t, wait_ms), "5000",
     "how long the shepherd and the supervisors may take to answer", 1, 3600000, NULL, false},
};
static const config_table_t table = {
    .purpose = "list, restart, drain, scale and trust the workers of a cluster",
    .usage = "usage: pcp worker list|restart|drain|scale|trust [ID] [N] --shepherd ENDPOINT\n\n"
             "list              every worker: its process as its supervisor sees it, and its work "
             "as the\n"
             "                  shepherd does\n"
             "restart [ID]      ends the step in hand, then a new process; also brings back "
             "drained and\n"
             "                  given up workers. ID: a worker, or a supervisor for all of its "
             "workers;\n"
             "                  none: all\n"
             "drain [ID]        ends the step in hand and leaves until restart or scale\n"
             "scale [ID] N      N workers for supervisor ID, or for each supervisor\n"
             "trust ID          a worker, or the name of its key, that audits put into quarantine "
             "may work again",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

typedef struct {
    char *id, *supervisor, *process, *work, *host, *target, *device, *device_name;
    uint32_t pid, restarts, threads;
    uint64_t device_bytes;
    double steps_per_s;
} row_t;

typedef struct {
    Msg__Control control;
    member_t *member;
    int64_t limit_ms;
    bool asked, answered;
    uint32_t open; /* supervisors that have not answered */
    char *error;
    VEC(row_t) rows;
} ask_t;

static const struct {
    const char *word;
    Msg__Control__Verb verb;
} verbs[] = {{"list", MSG__CONTROL__VERB__LIST},
             {"restart", MSG__CONTROL__VERB__RESTART},
             {"drain", MSG__CONTROL__VERB__DRAIN},
             {"scale", MSG__CONTROL__VERB__SCALE},
             {"trust", MSG__CONTROL__VERB__TRUST}};

/* --- answers --- */

static row_t *row_of(ask_t *self, const char *id)
{
    for (size_t i = 0; i < self->rows.n; i++)
        if (strcmp(self->rows.at[i].id, id) == 0) return &self->rows.at[i];
    row_t row = {.id = mem_strdup(id)};
    VEC_PUSH(&self->rows, row);
    return &self->rows.at[self->rows.n - 1];
}

static void take(char **field, const char *text)
{
    if (!*text) return;
    free(*field);
    *field = mem_strdup(text);
}

static void merge(ask_t *self, const Msg__WorkerStatus *status, bool of_shepherd)
{
    row_t *row = row_of(self, status->id);
    take(of_shepherd ? &row->work : &row->process, status->state);
    take(&row->supervisor, status->supervisor);
    take(&row->host, status->host);
    take(&row->target, status->target);
    take(&row->device, status->device);
    take(&row->device_name, status->device_name);
    if (status->device_bytes) row->device_bytes = status->device_bytes;
    if (isfinite(status->steps_per_s) && status->steps_per_s > 0)
        row->steps_per_s = status->steps_per_s;
    if (status->threads) row->threads = status->threads;
    if (status->pid) row->pid = status->pid;
    if (status->restarts) row->restarts = status->restarts;
}

static void on_reply(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)from;
    ask_t *self = state;
    const Msg__ControlReply *reply = message->control_reply;
    bool of_shepherd = !self->answered;
    if (of_shepherd) self->open = reply->parts;
    if (!of_shepherd && self->open > 0) self->open--;
    self->answered = true;
    if (*reply->error) take(&self->error, reply->error);
    for (size_t i = 0; i < reply->n_workers; i++) merge(self, reply->workers[i], of_shepherd);
}

const msg_route_t cmd_worker_routes[MSG_KIND_COUNT] = {
    MSG_ROUTE(CONTROL_REPLY, 1 << 20, on_reply, MSG_FROM_SHEPHERD),
};

static void on_welcome(void *state, const Msg__Welcome *welcome)
{
    (void)welcome;
    ask_t *self = state;
    if (!self->asked) MSG_SEND(member_out(self->member), NULL, 0, CONTROL, control, &self->control);
    self->asked = true;
}

static void on_lost(void *state, const char *reason)
{
    (void)state, (void)reason; /* the time limit ends it */
}

static void on_not_allowed(void *state, const char *text)
{
    ask_t *self = state;
    self->answered = true;
    take(&self->error, text);
}

static int on_tick(zloop_t *loop, int timer, void *state)
{
    (void)loop, (void)timer;
    const ask_t *self = state;
    bool done = self->answered && (self->open == 0 || self->error);
    return done || clock_mono_ms() >= self->limit_ms ? -1 : 0;
}

/* --- the question --- */

static int converse(ask_t *self, const options_t *options, err_t *err)
{
    char *id = service_id("pcp-worker");
    member_options_t member = {.endpoint = options->shepherd,
                               .kind = MSG__KIND__KIND_CLI,
                               .id = id,
                               .routes = cmd_worker_routes,
                               .state = self,
                               .on_welcome = on_welcome,
                               .on_lost = on_lost,
                               .on_not_allowed = on_not_allowed,
                               .on_unreachable = cmd_unreachable};
    zsys_handler_set(NULL);
    zloop_t *loop = zloop_new();
    self->limit_ms = clock_mono_ms() + options->wait_ms;
    self->member = member_new(loop, &member, err);
    int rc = self->member ? 0 : -1;
    if (rc == 0) {
        zloop_timer(loop, 10, 0, on_tick, self);
        zloop_start(loop);
        member_leave(self->member, "has its answer");
    }
    member_destroy(&self->member);
    zloop_destroy(&loop);
    free(id);
    if (rc < 0) return -1;
    if (self->error) return err_set(err, ERR_STATE, "%s", self->error);
    if (!self->answered)
        return err_set(
            err, ERR_NET,
            "no answer from the shepherd at %s within %lld ms: name a cluster's front, or "
            "a run's shepherd, with --shepherd",
            options->shepherd, (long long)options->wait_ms);
    if (self->open)
        return err_set(err, ERR_NET, "%u supervisors have not answered within %lld ms", self->open,
                       (long long)options->wait_ms);
    return 0;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const row_t *)a)->id, ((const row_t *)b)->id);
}

static json_t *json_of(const row_t *r)
{
    json_t *bytes = r->device_bytes ? json_integer((json_int_t)r->device_bytes) : json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "worker",
                     r->id, "supervisor", output_text(r->supervisor), "process",
                     output_text(r->process), "work", output_text(r->work), "pid",
                     (json_int_t)r->pid, "restarts", (json_int_t)r->restarts, "threads",
                     (json_int_t)r->threads, "host", output_text(r->host), "target",
                     output_text(r->target), "device", output_text(r->device), "device_name",
                     output_text(r->device_name), "memory_bytes", bytes, "steps_per_s",
                     r->steps_per_s > 0 ? json_real(r->steps_per_s) : json_null());
}

/* For people. */
static void put_memory(json_t *row, uint64_t bytes)
{
    char text[32];
    if (!bytes) return;
    snprintf(text, sizeof text, "%.1f GiB", (double)bytes / (1 << 30));
    json_object_set_new(row, "memory", json_string(text));
}

static void print(ask_t *self, output_t format)
{
    static const output_column_t columns[] = {
        {"WORKER", "worker", 24, NULL},   {"SUPERVISOR", "supervisor", 20, NULL},
        {"PROCESS", "process", 9, NULL},  {"WORK", "work", 5, NULL},
        {"PID", "pid", -8, NULL},         {"RESTARTS", "restarts", -8, NULL},
        {"THREADS", "threads", -7, NULL}, {" HOST", "host", 17, NULL},
        {"TARGET", "target", 20, NULL},   {"STEPS/S", "steps_per_s", -10, NULL},
        {"MEMORY", "memory", -10, NULL},  {" DEVICE", "device", 10, NULL},
        {"WHAT", "device_name", 0, NULL}};
    json_t *list = json_array();
    if (self->rows.n) qsort(self->rows.at, self->rows.n, sizeof *self->rows.at, by_id);
    for (size_t i = 0; i < self->rows.n; i++) {
        json_t *row = json_of(&self->rows.at[i]);
        if (format == OUTPUT_TABLE) put_memory(row, self->rows.at[i].device_bytes);
        json_array_append_new(list, row);
    }
    output_list(format, columns, sizeof columns / sizeof *columns, list, stdout);
}

/* "scale N", "scale ID N", "drain ID", "list" */
static int read_words(ask_t *self, const config_args_t *args, err_t *err)
{
    const char *word = args->n_operands ? args->operands[0] : "";
    msg__control__init(&self->control);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(word, verbs[i].word) == 0) self->control.verb = verbs[i].verb;
    if (self->control.verb == MSG__CONTROL__VERB__NONE)
        return err_set(err, ERR_ARG, "say one of: list, restart, drain, scale, trust");
    int n = args->n_operands - 1;
    if (self->control.verb == MSG__CONTROL__VERB__SCALE) {
        char *end = NULL;
        long scale = n > 0 ? strtol(args->operands[n], &end, 10) : -1;
        if (n < 1 || *end || scale < 0 || scale > 4096)
            return err_set(err, ERR_ARG, "scale: say how many workers, 0 to 4096");
        self->control.scale = (uint32_t)scale;
        n--;
    }
    if (n > 1) return err_set(err, ERR_ARG, "%s: unexpected word \"%s\"", word, args->operands[2]);
    if (n == 1) self->control.member = args->operands[1];
    if (n < 1 && self->control.verb == MSG__CONTROL__VERB__TRUST)
        return err_set(err, ERR_ARG, "trust: say which worker or key");
    return 0;
}

static void fini(ask_t *self)
{
    for (size_t i = 0; i < self->rows.n; i++) {
        row_t *r = &self->rows.at[i];
        char *texts[] = {r->id,   r->supervisor, r->process, r->work,
                         r->host, r->target,     r->device,  r->device_name};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) free(texts[k]);
    }
    VEC_FREE(&self->rows);
    free(self->error);
}

int cmd_worker(int argc, char **argv)
{
    options_t options = {0};
    config_args_t args = {0};
    ask_t ask = {0};
    err_t err = {0};
    bool done;
    int status = cmd_load(&table, &options, argc, argv, &args, &done);
    if (!done) {
        if (read_words(&ask, &args, &err) < 0 || converse(&ask, &options, &err) < 0)
            status = cmd_fail("worker", &err);
        else
            print(&ask, output_of(options.output, options.json));
    }
    fini(&ask);
    config_args_fini(&args);
    config_fini(&table, &options);
    return status;
}
