/* hostile-member: a member of a cluster that says and does what it should not: any bytes as id and
 * target, leases that are called done and are not, validations that are never answered, errors that
 * it says are the run's; parts of others' updates. Otherwise it is a member as others are: it sends heartbeats, and says
 * HELLO again when it is told to.
 *
 * Each thing that happens to it is an event line. One thread. */
#include <czmq.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "msg/control.h"
#include "msg/keyring.h"
#include "msg/publish.h"
#include "msg/seal.h"
#include "msg/service.h"
#include "msg/wire.h"

typedef struct {
    char *shepherd, *kind, *id, *target, *host, *endpoint, *lease, *eval, *says, *plan, *seal_key,
        *delta;
    int64_t credit, beat_ms;
    service_options_t common;
} options_t;

#define ROW(key, what, text, list, words_)                                                         \
    {                                                                                              \
        .name = #key, .kind = CONFIG_##what, .offset = offsetof(options_t, key), .fallback = text, \
        .words = list, .help = words_                                                              \
    }
static const config_field_t fields[] = {
    ROW(shepherd, STRING, NULL, NULL, "control endpoint"),
    ROW(kind, ENUM, "worker", "worker|compiler|aggregator|cli|supervisor", "what it says it is"),
    ROW(id, STRING, "hostile", NULL, "\\xNN stands for a byte"),
    ROW(target, STRING, "cpu:x86-64-v2", NULL, "of a worker; \\xNN as above"),
    ROW(host, STRING, "", NULL, "likewise"),
    ROW(endpoint, STRING, "", NULL, "an aggregator's data endpoint, where nobody needs to be"),
    ROW(lease, ENUM, "done", "nothing|done|failed|fatal|numeric|lost_state",
        "what it answers at once: nothing; done, though nothing was sent; or an error"),
    ROW(says, ENUM, "its own", "its own|others",
        "others: once welcome it says what only other kinds of members may, and all the time "
        "events in "
        "others' names"),
    ROW(plan, ENUM, "nothing", "nothing|unsigned|flipped|signed",
        "a compiler: what it answers to a job: a plan that is not there, with no signature, with "
        "one "
        "of which a bit differs, or with a whole one"),
    ROW(seal_key, STRING, NULL, NULL, "key file that signs it [its own]"),
    ROW(delta, ENUM, "nothing", "nothing|ahead|highest|damaged|misshapen",
        "what it sends the first shard all the time, once a lease has told where that is, for each "
        "replica of the "
        "open round: an update under the fence that holds, under the highest fence, or damaged "
        "or misshapen under either"),
    ROW(eval, ENUM, "nothing", "nothing|done|nan|failed|fatal", "what it answers to a validation"),
    {.name = "credit",
     .kind = CONFIG_INT,
     .offset = offsetof(options_t, credit),
     .fallback = "1",
     .max = 4e9,
     .help = "work that it says it would take"},
    {.name = "beat_ms",
     .kind = CONFIG_INT,
     .offset = offsetof(options_t, beat_ms),
     .fallback = "100",
     .max = 1e9,
     .help = "between two heartbeats; 0: it sends none"},
    SERVICE_FIELDS(options_t),
};
static const config_table_t table = {
    .usage = "hostile-member --shepherd ENDPOINT [FLAGS]\n"
             "A member that says and does what it should not.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

enum { REPLICAS = 2, ROUNDS = 64 };

typedef struct {
    zsock_t *data;        /* NULL: it knows of none */
    wire_header_t header; /* of the lease that it had */
    uint32_t fence[REPLICAS];
    float *values;
    int64_t next_ms;
    uint64_t answered[2][256]; /* ACK and NACK, by code */
} hostile_deltas_t;

typedef struct {
    options_t options;
    char *id, *target, *host; /* the bytes meant */
    zsock_t *control;
    int64_t beat_ms; /* next heartbeat */
    uint64_t n_lease, n_eval;
    hostile_deltas_t deltas;
    zsock_t *telemetry; /* NULL: nowhere */
    int64_t forge_ms;   /* next events of others */
    uint64_t n_forged;
} hostile_t;

/* Returns, caller frees; a byte of zero would end it. */
static char *bytes_of(const char *text)
{
    char *bytes = mem_strdup(text ? text : ""), *out = bytes;
    for (const char *p = bytes; *p;) {
        unsigned one;
        int n = 0;
        if (sscanf(p, "\\x%2x%n", &one, &n) == 1 && n == 4) {
            *out++ = (char)one;
            p += n;
        } else {
            *out++ = *p++;
        }
    }
    *out = 0;
    return bytes;
}

#define SAY(self, CASE, field_, body_)                          \
    do {                                                        \
        msg_envelope_t say_ = MSG__ENVELOPE__INIT;              \
        say_.body_case = MSG__ENVELOPE__BODY_##CASE;            \
        say_.field_ = (body_);                                  \
        (void)control_send((self)->control, NULL, &say_, NULL); \
    } while (0)

static Msg__Kind kind_of(const char *word)
{
    static const struct {
        const char *word;
        Msg__Kind kind;
    } kinds[] = {{"worker", MSG__KIND__KIND_WORKER},
                 {"compiler", MSG__KIND__KIND_COMPILER},
                 {"aggregator", MSG__KIND__KIND_AGGREGATOR},
                 {"cli", MSG__KIND__KIND_CLI},
                 {"supervisor", MSG__KIND__KIND_SUPERVISOR}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].word, word) == 0) return kinds[i].kind;
    return MSG__KIND__KIND_NONE;
}

static void say_hello(hostile_t *self)
{
    Msg__Hello hello = MSG__HELLO__INIT;
    hello.kind = kind_of(self->options.kind);
    hello.id = self->id;
    hello.target = self->target;
    hello.host = self->host;
    hello.endpoint = self->options.endpoint;
    hello.software = (char *)pcp_version;
    hello.threads = 1;
    hello.pid = (uint32_t)getpid();
    SAY(self, HELLO, hello, &hello);
}

static void say_heartbeat(hostile_t *self)
{
    Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
    beat.credit = (uint32_t)self->options.credit;
    SAY(self, HEARTBEAT, heartbeat, &beat);
}

static void ask_for_work(hostile_t *self)
{
    Msg__WorkRequest request = MSG__WORK_REQUEST__INIT;
    request.credit = (uint32_t)self->options.credit;
    SAY(self, WORK_REQUEST, work_request, &request);
}

static void say_failed(hostile_t *self, const char *how, uint32_t round, uint32_t replica,
                       uint32_t fence, bool eval)
{
    Msg__LeaseFailed failed = MSG__LEASE_FAILED__INIT;
    failed.round = round;
    failed.replica = replica;
    failed.fence = fence;
    failed.eval = eval;
    failed.error = "said by hostile-member";
    failed.fatal = strcmp(how, "fatal") == 0;
    failed.numeric = strcmp(how, "numeric") == 0;
    if (strcmp(how, "lost_state") == 0)
        failed.lost_state = "00000000000000000000000000000000"
                            "00000000000000000000000000000000";
    SAY(self, LEASE_FAILED, lease_failed, &failed);
}

/* --- Updates of others --- */

static void learn(hostile_deltas_t *self, const Msg__Lease *lease)
{
    if (self->data) return;
    uint64_t n = lease->bounds[1] - lease->bounds[0];
    self->header = (wire_header_t){.type = WIRE_PUT_DELTA,
                                   .codec = (uint8_t)lease->codec,
                                   .run = lease->run_hash,
                                   .round = lease->round,
                                   .count = n < MSG_CHUNK_FLOATS ? n : MSG_CHUNK_FLOATS,
                                   .weight = lease->weight,
                                   .total = lease->ahead};
    self->values = mem_calloc(MSG_CHUNK_FLOATS, sizeof *self->values);
    for (size_t i = 0; i < MSG_CHUNK_FLOATS; i++) self->values[i] = 0.01F;
    for (int k = 0; k < REPLICAS; k++) self->fence[k] = 1;
    self->data = endpoint_open(endpoint_connect(ZMQ_DEALER, lease->data[0]), NULL);
}

static void send_delta(hostile_deltas_t *self, uint32_t replica, uint32_t fence, const char *how)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    bool damaged = strcmp(how, "damaged") == 0;
    wire_header_t header = self->header;
    if (strcmp(how, "misshapen") == 0) header.count = 1; /* no whole chunk */
    size_t n = header.count * sizeof *self->values;
    header.seq = replica;
    header.replica = replica;
    header.fence = fence;
    header.check = hash_fast(self->values, n) + damaged;
    wire_pack(&header, bytes);
    zmsg_t *message = zmsg_new();
    zmsg_addmem(message, bytes, sizeof bytes);
    zmsg_addmem(message, self->values, n);
    if (zmsg_send(&message, self->data) < 0) zmsg_destroy(&message);
}

static void send_deltas(hostile_t *self, int64_t now_ms)
{
    enum { EVERY_MS = 40 };
    hostile_deltas_t *deltas = &self->deltas;
    const char *what = self->options.delta;
    if (!deltas->data || strcmp(what, "nothing") == 0 || now_ms < deltas->next_ms) return;
    deltas->next_ms = now_ms + EVERY_MS;
    for (uint32_t k = 0; k < REPLICAS; k++) {
        if (strcmp(what, "highest") != 0) send_delta(deltas, k, deltas->fence[k], what);
        if (strcmp(what, "ahead") != 0) send_delta(deltas, k, UINT32_MAX, what);
    }
}

/* Each round's leases begin with the first fence. Nothing waits: rounds may be short. */
static void go_to_round(hostile_deltas_t *self, uint32_t round)
{
    if (round == self->header.round) return;
    self->header.round = round;
    for (uint32_t k = 0; k < REPLICAS; k++) self->fence[k] = 1;
    self->next_ms = 0;
}

/* What a refusal tells of the round that is open, and of the fence that holds, is used. */
static void take_answer(hostile_deltas_t *self, const wire_header_t *header, const char *text)
{
    bool nack = header->type == WIRE_NACK;
    if (!self->answered[nack][header->code]++)
        log_event(LOG_INFO, "delta_answer", "type=%s code=%u text=\"%s\"",
                  wire_type_name(header->type), header->code, text);
    unsigned round;
    if (!nack && header->round == self->header.round)
        go_to_round(self, header->round + 1); /* it is over */
    if (nack && header->code == NACK_DAMAGED && header->round == self->header.round)
        go_to_round(self, (header->round + 1) % ROUNDS); /* not open: all are tried */
    if (nack && header->code == NACK_WRONG_ROUND && sscanf(text, "round %u", &round) == 1)
        go_to_round(self, round);
    if (nack && header->code == NACK_OLD_FENCE && header->seq < REPLICAS &&
        header->fence == self->fence[header->seq])
        self->fence[header->seq]++;
}

static void receive_answers(hostile_deltas_t *self)
{
    while (self->data && (zsock_events(self->data) & ZMQ_POLLIN)) {
        zmsg_t *message = zmsg_recv(self->data);
        zframe_t *first = message ? zmsg_first(message) : NULL;
        zframe_t *payload = message ? zmsg_next(message) : NULL;
        wire_header_t header;
        char *text = payload ? zframe_strdup(payload) : NULL;
        if (first && wire_unpack(zframe_data(first), zframe_size(first),
                                 payload ? zframe_size(payload) : 0, &header, NULL) == 0)
            take_answer(self, &header, text ? text : "");
        free(text);
        zmsg_destroy(&message);
    }
}

static void on_lease(hostile_t *self, const Msg__Lease *lease)
{
    const char *how = self->options.lease;
    self->n_lease++;
    learn(&self->deltas, lease);
    log_event(LOG_INFO, "lease", "round=%u replica=%u fence=%u answer=%s", lease->round,
              lease->replica, lease->fence, how);
    if (strcmp(how, "nothing") == 0) return;
    if (strcmp(how, "done") != 0) {
        say_failed(self, how, lease->round, lease->replica, lease->fence, false);
        return;
    }
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    done.round = lease->round;
    done.replica = lease->replica;
    done.fence = lease->fence;
    done.steps = lease->inner_steps;
    done.mean_loss = done.last_loss = 1;
    done.tokens = done.done_count = lease->count;
    SAY(self, LEASE_DONE, lease_done, &done);
}

static void on_eval(hostile_t *self, const Msg__Eval *eval)
{
    const char *how = self->options.eval;
    self->n_eval++;
    log_event(LOG_INFO, "eval", "round=%u part=%u fence=%u answer=%s", eval->round, eval->part,
              eval->fence, how);
    if (strcmp(how, "nothing") == 0) return;
    if (strcmp(how, "done") != 0 && strcmp(how, "nan") != 0) {
        say_failed(self, how, eval->round, eval->part, eval->fence, true);
        return;
    }
    Msg__EvalDone done = MSG__EVAL_DONE__INIT;
    done.round = eval->round;
    done.part = eval->part;
    done.fence = eval->fence;
    done.loss = strcmp(how, "nan") == 0 ? NAN : 1e-3;
    done.tokens = eval->n_batch;
    SAY(self, EVAL_DONE, eval_done, &done);
}

/* By the key of a file, or by ours. Returns, caller frees. */
static char *sign_plan(const hostile_t *self, const Msg__Compile *job, const char *hash)
{
    char spec[HASH_HEX];
    keys_t key = {0};
    err_t err = {0};
    if (!self->options.seal_key)
        key = *keyring_own();
    else if (keys_load(self->options.seal_key, &key, &err) < 0)
        log_event(LOG_ERROR, "no_key", "error=\"%s\"", err.text);
    hash_content(job->spec, strlen(job->spec), spec);
    char *statement = mem_printf("pcp plan 1\nplan %s\ntarget %s\nmodule %s\nspec %s\n", hash,
                                 job->target, job->module, spec);
    char *seal = seal_make(&key, statement, clock_wall_ms() / 1000);
    free(statement);
    return seal;
}

static void on_compile(hostile_t *self, const Msg__Compile *job)
{
    const char *how = self->options.plan;
    log_event(LOG_INFO, "job", "target=%s answer=%s", job->target, how);
    if (strcmp(how, "nothing") == 0) return;
    char hash[HASH_HEX];
    hash_content(how, strlen(how), hash);
    Msg__PlanReply reply = MSG__PLAN_REPLY__INIT;
    char *seal = strcmp(how, "unsigned") == 0 ? mem_strdup("") : sign_plan(self, job, hash);
    char *digit = strcmp(how, "flipped") == 0 ? seal + strlen(seal) - 2 : NULL;
    if (digit) *digit = *digit == '0' ? '1' : '0'; /* of the signature: still one */
    reply.job = job->job;
    reply.plan = hash;
    reply.seal = seal;
    SAY(self, PLAN_REPLY, plan_reply, &reply);
    free(seal);
}

/* An operator's commands, a supervisor's news of a worker's end, an aggregator's answer; a validation that another has. */
static void say_others(hostile_t *self, const char *telemetry)
{
    Msg__Control control = MSG__CONTROL__INIT;
    control.verb = MSG__CONTROL__VERB__CHECKPOINT;
    SAY(self, CONTROL, control, &control);
    Msg__Control scale = MSG__CONTROL__INIT;
    scale.verb = MSG__CONTROL__VERB__SCALE;
    scale.member = "";
    SAY(self, CONTROL, control, &scale); /* to none */
    Msg__EvalDone done = MSG__EVAL_DONE__INIT;
    done.fence = 1;
    done.loss = NAN;
    done.tokens = 1;
    SAY(self, EVAL_DONE, eval_done, &done);
    Msg__Gone gone = MSG__GONE__INIT;
    gone.member = "w0";
    SAY(self, GONE, gone, &gone);
    Msg__Committed committed = MSG__COMMITTED__INIT;
    SAY(self, COMMITTED, committed, &committed);
    if (!self->telemetry && *telemetry)
        self->telemetry = endpoint_open(endpoint_connect(ZMQ_PUB, telemetry), NULL);
}

/* A shepherd's news of a round, and steps of workers that nobody knows, each of another one. */
static void forge_events(hostile_t *self, int64_t now_ms)
{
    enum { EVERY_MS = 40 };
    if (!self->telemetry || now_ms < self->forge_ms) return;
    self->forge_ms = now_ms + EVERY_MS;
    Msg__RoundStats round = MSG__ROUND_STATS__INIT;
    round.round = round.rounds = 7777;
    round.loss = 1e-30;
    Msg__Event event = MSG__EVENT__INIT;
    event.source = "shepherd";
    event.body_case = MSG__EVENT__BODY_ROUND;
    event.round = &round;
    publish_event(self->telemetry, &event);
    Msg__StepStats step = MSG__STEP_STATS__INIT;
    step.loss = 123456;
    char *source = mem_printf("forged-%llu", (unsigned long long)self->n_forged++);
    event.time_ms = 0;
    event.source = source;
    event.body_case = MSG__EVENT__BODY_STEP;
    event.step = &step;
    publish_event(self->telemetry, &event);
    free(source);
}

static void on_message(hostile_t *self, const msg_envelope_t *message)
{
    switch (message->body_case) {
    case MSG__ENVELOPE__BODY_WELCOME:
        log_event(LOG_INFO, "welcome", "run=%s", message->welcome->run);
        if (strcmp(self->options.says, "others") == 0)
            say_others(self, message->welcome->telemetry);
        ask_for_work(self);
        break;
    case MSG__ENVELOPE__BODY_LEASE: on_lease(self, message->lease); break;
    case MSG__ENVELOPE__BODY_EVAL: on_eval(self, message->eval); break;
    case MSG__ENVELOPE__BODY_COMPILE: on_compile(self, message->compile); break;
    case MSG__ENVELOPE__BODY_LEASE_ACK: ask_for_work(self); break;
    case MSG__ENVELOPE__BODY_REVOKE: log_event(LOG_INFO, "revoked", "by=shepherd"); break;
    case MSG__ENVELOPE__BODY_BYE: log_event(LOG_INFO, "dismissed", "by=shepherd"); break;
    case MSG__ENVELOPE__BODY_FAULT:
        log_event(LOG_INFO, "fault", "code=%d text=\"%s\"", (int)message->fault->code,
                  message->fault->text);
        break;
    default: break;
    }
}

static void receive(hostile_t *self)
{
    zframe_t *frame = zframe_recv_nowait(self->control);
    if (!frame) return;
    msg_envelope_t *message = msg_unpack(zframe_data(frame), zframe_size(frame), NULL);
    bool unknown = message && message->body_case == MSG__ENVELOPE__BODY_FAULT &&
                   message->fault->code == MSG__FAULT__CODE__UNKNOWN_PEER;
    if (message) on_message(self, message);
    if (unknown) say_hello(self);
    msg_free(&message);
    zframe_destroy(&frame);
}

static int run(hostile_t *self, err_t *err)
{
    enum { TICK_MS = 20 };
    const options_t *o = &self->options;
    if (!o->shepherd) return err_set(err, ERR_ARG, "--shepherd is needed");
    int signal_fd = service_start("hostile-member", &o->common, &table, o, err);
    if (signal_fd < 0) return -1;
    self->control = endpoint_open(endpoint_connect(ZMQ_DEALER, o->shepherd), err);
    if (!self->control) return -1;
    say_hello(self);
    zmq_pollitem_t items[2] = {{.fd = signal_fd, .events = ZMQ_POLLIN},
                               {.socket = zsock_resolve(self->control), .events = ZMQ_POLLIN}};
    while (zmq_poll(items, 2, TICK_MS) >= 0 && !items[0].revents) {
        int64_t now_ms = clock_mono_ms();
        if (items[1].revents) receive(self);
        receive_answers(&self->deltas);
        send_deltas(self, now_ms);
        forge_events(self, now_ms);
        if (!o->beat_ms || now_ms < self->beat_ms) continue;
        say_heartbeat(self);
        self->beat_ms = now_ms + o->beat_ms;
    }
    log_event(LOG_INFO, "summary", "leases=%llu evals=%llu", (unsigned long long)self->n_lease,
              (unsigned long long)self->n_eval);
    return 0;
}

int main(int argc, char **argv)
{
    hostile_t self = {0};
    err_t err = {0};
    int go = service_configure(&table, &self.options, argc, argv),
        status = go == SERVICE_BAD ? 2 : 0;
    self.id = bytes_of(self.options.id);
    self.target = bytes_of(self.options.target);
    self.host = bytes_of(self.options.host);
    if (go == SERVICE_GO && run(&self, &err) < 0) {
        fprintf(stderr, "hostile-member: %s\n", err.text);
        status = 1;
    }
    zsock_destroy(&self.control);
    zsock_destroy(&self.deltas.data);
    zsock_destroy(&self.telemetry);
    free(self.deltas.values);
    free(self.id);
    free(self.target);
    free(self.host);
    config_fini(&table, &self.options);
    service_end();
    return status;
}
