/* worker-crowd: thousands of workers in a few processes, which speak the real protocol and compute
 * nothing: they join, send heartbeats, take leases, hold them for a while, upload a pseudo-gradient
 * of zeros and report. Prints how long the shepherd took to answer.
 *
 * Each thread waits for the sockets of its share of the workers by epoll, which costs nothing for those that
 * are silent. What the processes measure lies in memory that they share. */
#include <czmq.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "msg/control.h"
#include "msg/wire.h"

typedef struct {
    char *shepherd, *target;
    int64_t count, processes, threads, join_ms, hold_ms, seconds;
} options_t;

#define ROW(key, what, text, low, high, words)                                                     \
    {                                                                                              \
        .name = #key, .kind = CONFIG_##what, .offset = offsetof(options_t, key), .fallback = text, \
        .help = words, .min = low, .max = high                                                     \
    }
static const config_field_t fields[] = {
    ROW(shepherd, STRING, "ipc://run/control", 0, 0, "control endpoint"),
    ROW(target, STRING, "cpu:x86-64-v3", 0, 0, "what the workers say they are"),
    ROW(count, INT, "1000", 1, 60000, "workers"),
    ROW(processes, INT, "1", 1, 64, "processes they share"),
    ROW(threads, INT, "8", 1, 64, "threads of each process"),
    ROW(join_ms, INT, "1000", 0, 3600000, "the workers come one by one over this time"),
    ROW(hold_ms, INT, "500", 1, 600000, "mean time a lease takes"),
    ROW(seconds, INT, "20", 0, 86400, "to measure, after all have joined"),
};
static const config_table_t table = {
    .usage = "worker-crowd --shepherd ENDPOINT --target TARGET [FLAGS]\n"
             "Simulated workers; prints the shepherd's answer times.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

typedef enum { ASK_HELLO, ASK_HEARTBEAT, ASK_DONE, ASK_COUNT } ask_t;
static const char *const ask_names[ASK_COUNT] = {"HELLO", "HEARTBEAT", "LEASE_DONE"};

typedef struct {
    char id[32];
    zsock_t *control; /* NULL: it has not come yet */
    bool joined, busy;
    bool said;                 /* sending may have swallowed the news of something to receive */
    double asked_s[ASK_COUNT]; /* when; 0: nothing asked */
    uint64_t beat_id, answered;
    int64_t beat_ms, hello_ms, ready_ms; /* next heartbeat, next HELLO, end of the lease's work */
    int64_t pace_ms;                     /* between heartbeats, as it was told last */
    uint32_t round, replica, fence, steps;
    uint32_t codec;
    uint64_t weight, units, params, run;
    bool uploading;
} worker_t;

/* Of all processes; shared memory. */
enum { MOST_TIMES = 1 << 22 };
typedef struct {
    _Atomic bool measuring, ending;
    _Atomic uint32_t joined;
    _Atomic uint64_t n_lease, n_lost;
    _Atomic uint32_t n_time[ASK_COUNT];
    float seconds[ASK_COUNT][MOST_TIMES];
} shared_t;

typedef struct {
    const options_t *options;
    int first, n;
    worker_t *workers;
    int poll;      /* epoll, of the workers' sockets by their number here, and of `data` as n */
    zsock_t *data; /* to the one aggregator */
    float *zeros;
    shared_t *shared;
} group_t;

static void answered(group_t *group, worker_t *worker, ask_t what)
{
    if (worker->asked_s[what] == 0) return;
    double seconds = clock_mono_s() - worker->asked_s[what];
    worker->asked_s[what] = 0;
    if (!group->shared->measuring && what != ASK_HELLO) return;
    uint32_t at = group->shared->n_time[what]++;
    if (at < MOST_TIMES) group->shared->seconds[what][at] = (float)seconds;
}

static uint64_t ask(worker_t *worker, ask_t what, msg_envelope_t *message)
{
    worker->said = true;
    if (control_send(worker->control, NULL, message, NULL) < 0) return 0;
    if (what < ASK_COUNT) worker->asked_s[what] = clock_mono_s();
    return message->id;
}

static void say_hello(const group_t *group, worker_t *worker, int64_t now)
{
    Msg__Hello hello = MSG__HELLO__INIT;
    hello.kind = MSG__KIND__KIND_WORKER;
    hello.id = worker->id;
    hello.target = group->options->target;
    hello.threads = 1;
    hello.pid = (uint32_t)getpid();
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_HELLO;
    message.hello = &hello;
    ask(worker, ASK_HELLO, &message);
    worker->hello_ms = now + 4000;
}

static void send_heartbeat(worker_t *worker, int64_t now)
{
    Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
    beat.credit = !worker->busy && worker->asked_s[ASK_DONE] == 0; /* as a worker's */
    beat.answered = worker->answered;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_HEARTBEAT;
    message.heartbeat = &beat;
    worker->beat_id = ask(worker, ASK_HEARTBEAT, &message);
    worker->beat_ms = now + (worker->pace_ms > 500 ? worker->pace_ms : 500);
}

static void ask_for_work(worker_t *worker)
{
    Msg__WorkRequest request = MSG__WORK_REQUEST__INIT;
    request.credit = 1;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_WORK_REQUEST;
    message.work_request = &request;
    ask(worker, ASK_COUNT, &message);
}

static void report(group_t *group, worker_t *worker)
{
    Msg__LeaseDone done = MSG__LEASE_DONE__INIT;
    done.round = worker->round;
    done.replica = worker->replica;
    done.fence = worker->fence;
    done.steps = worker->steps;
    done.mean_loss = done.last_loss = 1;
    done.tokens = done.done_count = worker->units;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_LEASE_DONE;
    message.lease_done = &done;
    ask(worker, ASK_DONE, &message);
    worker->busy = worker->uploading = false;
    group->shared->n_lease++;
    ask_for_work(worker);
}

/* A socket's descriptor tells only that there is news: what there is must be taken until there is none. */
static void watch(const group_t *group, zsock_t *socket, int number)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = (uint32_t)number};
    epoll_ctl(group->poll, EPOLL_CTL_ADD, zsock_fd(socket), &event);
}

static void on_lease(group_t *group, worker_t *worker, const Msg__Lease *lease)
{
    if (lease->n_data != 1 || lease->n_bounds != 2 || lease->bounds[1] > MSG_CHUNK_FLOATS ||
        lease->codec != 1) {
        log_event(LOG_ERROR, "not_for_a_crowd", "needs=\"one shard, one chunk, codec f32\"");
        exit(1);
    }
    worker->asked_s[ASK_DONE] = 0; /* more work without an acknowledgement: nothing to measure */
    if (!group->data) {
        group->data = endpoint_open(endpoint_connect(ZMQ_DEALER, lease->data[0]), NULL);
        watch(group, group->data, group->n);
    }
    double hold = rng_uniform(lease->round, lease->replica) * 2 * (double)group->options->hold_ms;
    worker->busy = true;
    worker->uploading = false;
    worker->ready_ms = clock_mono_ms() + (int64_t)hold;
    worker->round = lease->round;
    worker->replica = lease->replica;
    worker->fence = lease->fence;
    worker->steps = lease->inner_steps;
    worker->units = lease->count;
    worker->weight = lease->weight;
    worker->params = lease->bounds[1];
    worker->run = lease->run_hash;
    worker->codec = lease->codec;
}

static void on_eval(worker_t *worker, const Msg__Eval *eval)
{
    Msg__EvalDone done = MSG__EVAL_DONE__INIT;
    done.round = eval->round;
    done.part = eval->part;
    done.fence = eval->fence;
    done.loss = 1;
    done.tokens = eval->n_batch;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = MSG__ENVELOPE__BODY_EVAL_DONE;
    message.eval_done = &done;
    ask(worker, ASK_COUNT, &message);
    ask_for_work(worker);
}

static void on_message(group_t *group, worker_t *worker, const msg_envelope_t *message)
{
    switch (message->body_case) {
    case MSG__ENVELOPE__BODY_WELCOME:
        answered(group, worker, ASK_HELLO);
        group->shared->joined += !worker->joined;
        worker->joined = true;
        ask_for_work(worker);
        break;
    case MSG__ENVELOPE__BODY_HEARTBEAT:
        worker->answered = message->in_reply_to;
        worker->pace_ms = message->heartbeat->pace_ms;
        if (message->in_reply_to == worker->beat_id) answered(group, worker, ASK_HEARTBEAT);
        break;
    case MSG__ENVELOPE__BODY_LEASE_ACK: answered(group, worker, ASK_DONE); break;
    case MSG__ENVELOPE__BODY_LEASE: on_lease(group, worker, message->lease); break;
    case MSG__ENVELOPE__BODY_EVAL: on_eval(worker, message->eval); break;
    case MSG__ENVELOPE__BODY_REVOKE: worker->busy = false; break;
    case MSG__ENVELOPE__BODY_FAULT:
        group->shared->n_lost++;
        group->shared->joined -= worker->joined;
        worker->busy = worker->joined = false;
        worker->hello_ms = 0;
        break;
    default: break;
    }
}

static void receive_control(group_t *group, worker_t *worker)
{
    for (;;) {
        zframe_t *frame = zframe_recv_nowait(worker->control);
        if (!frame) break;
        msg_envelope_t *message = msg_unpack(zframe_data(frame), zframe_size(frame), NULL);
        if (message) on_message(group, worker, message);
        msg_free(&message);
        zframe_destroy(&frame);
    }
    worker->said = false;
}

static void upload(group_t *group, worker_t *worker, uint32_t index)
{
    size_t n = worker->params * sizeof(float);
    wire_header_t header = {.type = WIRE_PUT_DELTA,
                            .run = worker->run,
                            .codec = (uint8_t)worker->codec,
                            .seq = index,
                            .round = worker->round,
                            .replica = worker->replica,
                            .fence = worker->fence,
                            .count = worker->params,
                            .weight = worker->weight,
                            .check = hash_fast(group->zeros, n)};
    uint8_t bytes[WIRE_HEADER_BYTES];
    wire_pack(&header, bytes);
    zmsg_t *message = zmsg_new();
    zmsg_addmem(message, bytes, sizeof bytes);
    zmsg_addmem(message, group->zeros, n);
    if (zmsg_send(&message, group->data) < 0) zmsg_destroy(&message);
    worker->uploading = true;
    worker->ready_ms = clock_mono_ms() + 5000; /* then once more */
}

/* Its lease is over, or was not announced to the aggregator yet: then once more. */
static void refused(worker_t *worker, const wire_header_t *answer)
{
    worker->uploading = false;
    worker->busy = answer->code == NACK_NOT_READY;
    worker->ready_ms = clock_mono_ms() + MSG_NOT_READY_MS;
}

static void receive_data(group_t *group)
{
    while (zsock_events(group->data) & ZMQ_POLLIN) {
        zmsg_t *message = zmsg_recv(group->data);
        zframe_t *first = message ? zmsg_first(message) : NULL;
        zframe_t *payload = message ? zmsg_next(message) : NULL;
        wire_header_t header;
        if (first && wire_unpack(zframe_data(first), zframe_size(first),
                                 payload ? zframe_size(payload) : 0, &header, NULL) == 0) {
            worker_t *worker = header.seq < (uint32_t)group->n ? &group->workers[header.seq] : NULL;
            bool ours = worker && worker->uploading && header.round == worker->round &&
                        header.fence == worker->fence;
            if (ours && header.type == WIRE_ACK) report(group, worker);
            if (ours && header.type == WIRE_NACK) refused(worker, &header);
        }
        zmsg_destroy(&message);
    }
}

static bool come(const group_t *group, worker_t *worker, int number)
{
    err_t err = {0};
    worker->control = endpoint_open(endpoint_connect(ZMQ_DEALER, group->options->shepherd), &err);
    if (worker->control) watch(group, worker->control, number);
    if (worker->control) return true;
    log_event(LOG_ERROR, "no_socket", "error=\"%s\"", err.text);
    exit(1);
}

static void timers(group_t *group)
{
    int64_t now = clock_mono_ms();
    for (int i = 0; i < group->n; i++) {
        worker_t *worker = &group->workers[i];
        if (!worker->control && (now < worker->hello_ms || !come(group, worker, i))) continue;
        if (!worker->joined && now >= worker->hello_ms) say_hello(group, worker, now);
        if (worker->joined && now >= worker->beat_ms) send_heartbeat(worker, now);
        if (worker->busy && now >= worker->ready_ms) upload(group, worker, (uint32_t)i);
        if (worker->said) receive_control(group, worker);
    }
}

static void *group_run(void *arg)
{
    enum { TICK_MS = 20, MANY = 256 };
    group_t *group = arg;
    struct epoll_event event[MANY];
    int64_t tick_ms = 0;
    while (!group->shared->ending) {
        int n = epoll_wait(group->poll, event, MANY, TICK_MS);
        for (int i = 0; i < n; i++)
            if (event[i].data.u32 < (uint32_t)group->n)
                receive_control(group, &group->workers[event[i].data.u32]);
        if (group->data) receive_data(group);
        if (clock_mono_ms() - tick_ms < TICK_MS) continue;
        tick_ms = clock_mono_ms();
        timers(group);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

static void print_latency(shared_t *shared, ask_t what)
{
    uint32_t n = shared->n_time[what] < MOST_TIMES ? shared->n_time[what] : MOST_TIMES;
    float *all = shared->seconds[what];
    if (n == 0) return;
    qsort(all, n, sizeof *all, compare);
    printf("%-12s median %7.2f ms  p99 %7.2f ms  max %7.2f ms  (%u)\n", ask_names[what],
           all[n / 2] * 1e3, all[(uint64_t)n * 99 / 100] * 1e3, all[n - 1] * 1e3, n);
}

/* Each group has its share of every moment, so that its workers come in order. */
static void make_group(group_t *group, const options_t *options, int first, int n)
{
    group->options = options;
    group->first = first;
    group->n = n;
    group->poll = epoll_create1(EPOLL_CLOEXEC);
    group->workers = mem_calloc((size_t)n, sizeof *group->workers);
    group->zeros = mem_calloc(MSG_CHUNK_FLOATS, sizeof *group->zeros);
    int64_t now = clock_mono_ms();
    for (int i = 0; i < n; i++) {
        worker_t *worker = &group->workers[i];
        snprintf(worker->id, sizeof worker->id, "crowd-%d", first + i);
        worker->hello_ms = now + options->join_ms * i / n;
        worker->beat_ms = worker->hello_ms + (first + i) * 7 % 500;
    }
}

/* The share of one process; it ends with `ending`, or with its parent. */
static void serve(const options_t *o, shared_t *shared, int process)
{
    zsys_set_max_sockets((size_t)o->count + 64);
    int groups = (int)(o->processes * o->threads);
    pthread_t *threads = mem_calloc((size_t)o->threads, sizeof *threads);
    for (int t = 0; t < o->threads; t++) {
        group_t *group = mem_calloc(1, sizeof *group);
        int g = process * (int)o->threads + t;
        int first = (int)(o->count * g / groups), end = (int)(o->count * (g + 1) / groups);
        make_group(group, o, first, end - first);
        group->shared = shared;
        pthread_create(&threads[t], NULL, group_run, group);
    }
    for (int t = 0; t < o->threads; t++) pthread_join(threads[t], NULL);
    _exit(0); /* thousands of sockets close with the process */
}

static void raise_limit(void)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

static void begin(const options_t *o, shared_t *shared)
{
    for (int p = 0; p < o->processes; p++) {
        pid_t parent = getpid();
        if (fork() != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) serve(o, shared, p);
        _exit(1);
    }
}

static void run(const options_t *o)
{
    shared_t *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shared == MAP_FAILED) exit(1);
    raise_limit();
    begin(o, shared);
    int64_t limit = clock_mono_ms() + o->join_ms + 120000;
    while (shared->joined < o->count && clock_mono_ms() < limit) usleep(100000);
    sleep(3); /* plans are compiled, the first leases given */
    shared->measuring = true;
    puts("measuring");
    fflush(stdout);
    sleep((unsigned)o->seconds);
    puts("measured");
    fflush(stdout);
    shared->ending = true;
    while (wait(NULL) > 0) continue;
    for (ask_t what = 0; what < ASK_COUNT; what++) print_latency(shared, what);
    printf("%lld workers, %u joined, %llu leases done, %llu faults, %lld s\n", (long long)o->count,
           shared->joined, (unsigned long long)shared->n_lease, (unsigned long long)shared->n_lost,
           (long long)o->seconds);
}

int main(int argc, char **argv)
{
    options_t options = {0};
    config_args_t args = {0};
    err_t err = {0};
    int status = config_load(&table, &options, NULL, argc, argv, &args, &err);
    if (status == 0 && args.asks)
        config_answer(&table, &args, argv[0], stdout);
    else if (status == 0)
        run(&options);
    if (status < 0) fprintf(stderr, "worker-crowd: %s\n", err.text);
    config_args_fini(&args);
    config_fini(&table, &options);
    fflush(stdout);
    _exit(status < 0 ? 1 : 0);
}
