/* The front's relay over real sockets: many members on one connection to a run's shepherd, none of
 * whose messages is missed, mixed up, or read by who comes after. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hand_over.h"
#include "base/log.h"
#include "base/mem.h"
#include "msg/control.h"
#include "shepherd/front/front.h"
#include "temp.h"

#define BODY(kind) MSG__ENVELOPE__BODY_##kind

enum { LIMIT_MS = 60000 };

typedef struct {
    char *dir, *door; /* the front's endpoint */
    front_config_t config;
    front_t front;
    front_run_t *run;
} rig_t;

static void send_control(void *user, const msg_peer_t *to, msg_envelope_t *message)
{
    control_send(((front_t *)user)->control, to, message, NULL);
}

static int on_control(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)socket;
    front_receive(arg);
    return 0;
}

/* A front that leads, with one run that wants any number of workers. */
static rig_t *rig_new(void)
{
    rig_t *rig = calloc(1, sizeof *rig);
    rig->dir = temp_dir();
    rig->door = mem_printf("ipc://%s/door", rig->dir);
    rig->config = (front_config_t){.id = "front", .heartbeat_ms = 500, .timeout_ms = 4000};
    front_t *front = &rig->front;
    *front = (front_t){.config = &rig->config, .config_dir = rig->dir, .wake = -1, .leads = true};
    front->out = (msg_out_t){send_control, front};
    front->loop = zloop_new();
    front->control = endpoint_open(endpoint_bind(ZMQ_ROUTER, rig->door), NULL);
    assert_non_null(front->control);
    zloop_reader(front->loop, front->control, on_control, front);
    store_submission_t row = {.id = "run", .number = 1, .n_workers = 100000, .n_shards = 1};
    rig->run = front_run_new(front, &row);
    rig->run->active = true;
    return rig;
}

static void rig_destroy(rig_t *rig)
{
    front_fini(&rig->front);
    zloop_destroy(&rig->front.loop);
    zsock_destroy(&rig->front.control);
    free(rig->door);
    temp_remove(&rig->dir);
    free(rig);
}

static void say_hello(zsock_t *member, unsigned index, uint32_t pid)
{
    char id[32];
    snprintf(id, sizeof id, "worker-%u", index);
    Msg__Hello hello = MSG__HELLO__INIT;
    hello.kind = MSG__KIND__KIND_WORKER;
    hello.id = id;
    hello.target = "cpu:x86-64-v3";
    hello.host = "here";
    hello.pid = pid;
    hello.threads = 1;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = BODY(HELLO);
    message.hello = &hello;
    control_send(member, NULL, &message, NULL);
}

static void say_beat(zsock_t *socket, const msg_peer_t *to, uint32_t credit)
{
    Msg__Heartbeat beat = MSG__HEARTBEAT__INIT;
    beat.credit = credit;
    msg_envelope_t message = MSG__ENVELOPE__INIT;
    message.body_case = BODY(HEARTBEAT);
    message.heartbeat = &beat;
    control_send(socket, to, &message, NULL);
}

/* The kind of the next message to a member, with the credit of a heartbeat; waits for one. */
static msg_kind_t hear(zsock_t *member, uint32_t *credit)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(member), .events = ZMQ_POLLIN};
    if (zmq_poll(&item, 1, LIMIT_MS) <= 0) return 0;
    zmq_msg_t frame;
    if (control_frames(member, &frame, 1) != 1) return 0;
    msg_envelope_t *message = msg_unpack(zmq_msg_data(&frame), zmq_msg_size(&frame), NULL);
    msg_kind_t kind = message ? message->body_case : 0;
    if (kind == BODY(HEARTBEAT)) *credit = message->heartbeat->credit;
    msg_free(&message);
    zmq_msg_close(&frame);
    return kind;
}

/* --- A shepherd that answers each message in kind --- */

typedef struct {
    zsock_t *router;
    msg_count_t count;
    msg_peer_t first, last;
    uint32_t first_pid;
    unsigned n_connection; /* routing ids that differ from the first: 0 */
} shepherd_side_t;

static void seen_hello(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    shepherd_side_t *self = state;
    if (!self->first.n) {
        self->first = *from;
        self->first_pid = message->hello->pid;
    }
    self->last = *from;
    self->n_connection += memcmp(from->at, self->first.at, from->n) != 0;
    Msg__Welcome welcome = MSG__WELCOME__INIT;
    msg_envelope_t reply = MSG__ENVELOPE__INIT;
    reply.body_case = BODY(WELCOME);
    reply.welcome = &welcome;
    control_send(self->router, from, &reply, NULL);
}

static void seen_beat(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    say_beat(((shepherd_side_t *)state)->router, from, message->heartbeat->credit);
}

static void seen_bye(void *state, const msg_peer_t *from, const msg_envelope_t *message)
{
    (void)state, (void)from, (void)message;
}

static const msg_route_t answers[MSG_KIND_COUNT] = {
    [BODY(HELLO)] = {4096, seen_hello, MSG_FROM_STRANGER},
    [BODY(HEARTBEAT)] = {64, seen_beat, MSG_FROM_STRANGER},
    [BODY(BYE)] = {4096, seen_bye, MSG_FROM_STRANGER},
};

/* As a thread, until its pipe says something; argument: the endpoint. Its answer to that: "1" if
 * all members came by one connection. */
static void shepherd_main(zsock_t *pipe, void *endpoint)
{
    take_over(endpoint);
    shepherd_side_t self = {.router = endpoint_open(endpoint_bind(ZMQ_ROUTER, endpoint), NULL)};
    zsock_signal(pipe, self.router ? 0 : 1);
    zpoller_t *poller = zpoller_new(pipe, self.router, NULL);
    while (zpoller_wait(poller, -1) == self.router)
        while (control_receive(self.router, true, &(msg_table_t){.routes = answers}, &self,
                               &self.count))
            continue;
    zpoller_destroy(&poller);
    zsock_destroy(&self.router);
    free(zstr_recv(pipe));
    zstr_send(pipe, self.n_connection == 0 && self.count.dropped == 0 ? "1" : "0");
}

static void end_shepherd(zactor_t **shepherd)
{
    zstr_send(*shepherd, "end");
    char *one = zstr_recv(*shepherd);
    assert_non_null(one);
    assert_string_equal(one, "1");
    free(one);
    zactor_destroy(shepherd);
}

/* --- Nothing is missed --- */

typedef struct {
    unsigned n, rounds, window; /* members; messages of each, so many at a time unanswered */
    const char *door;
    unsigned wrong; /* set by the thread; read when it has ended */
} crowd_t;

/* Each member gets its own messages back, in their order. */
static void crowd_main(zsock_t *pipe, void *arg)
{
    crowd_t *self = take_over(arg);
    zsock_t **member = calloc(self->n, sizeof(zsock_t *));
    zsock_signal(pipe, 0);
    for (unsigned m = 0; m < self->n; m++) {
        member[m] = endpoint_open(endpoint_connect(ZMQ_DEALER, self->door), NULL);
        say_hello(member[m], m, 1);
    }
    uint32_t credit = 0;
    for (unsigned m = 0; m < self->n; m++) self->wrong += hear(member[m], &credit) != BODY(WELCOME);
    for (unsigned r = 0; r < self->rounds && !self->wrong; r += self->window) {
        for (unsigned m = 0; m < self->n; m++)
            for (unsigned k = 0; k < self->window; k++)
                say_beat(member[m], NULL, m * 65536 + r + k);
        for (unsigned m = 0; m < self->n; m++)
            for (unsigned k = 0; k < self->window && !self->wrong; k++)
                self->wrong += hear(member[m], &credit) != BODY(HEARTBEAT) ||
                               credit != m * 65536 + r + k;
    }
    for (unsigned m = 0; m < self->n; m++) zsock_destroy(&member[m]);
    free(member);
    hand_over(self);
    zstr_send(pipe, "done");
}

static int on_done(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop, (void)arg;
    char *word = zstr_recv(socket);
    free(word);
    return -1;
}

/* The front's loop has no timer here: a message that did not wake it would stay where it is. */
static void serve_crowd(crowd_t crowd)
{
    rig_t *rig = rig_new();
    crowd.door = rig->door;
    zactor_t *shepherd = zactor_new(shepherd_main, hand_over(rig->run->control));
    zactor_t *members = zactor_new(crowd_main, hand_over(&crowd));
    assert_non_null(shepherd);
    assert_non_null(members);
    zloop_reader(rig->front.loop, zactor_sock(members), on_done, NULL);
    zloop_start(rig->front.loop);
    zactor_destroy(&members);
    take_over(&crowd);
    assert_int_equal(crowd.wrong, 0);
    assert_int_equal(rig->front.members.n, crowd.n);
    end_shepherd(&shepherd);
    rig_destroy(rig);
}

/* One at a time: each arrives while the loop goes to sleep, or sleeps. */
static void between_check_and_wait(void **state)
{
    (void)state;
    serve_crowd((crowd_t){.n = 1, .rounds = 3000, .window = 1});
    serve_crowd((crowd_t){.n = 3, .rounds = 1000, .window = 1});
}

/* Many more at once than are passed on at a time. */
static void many_members(void **state)
{
    (void)state;
    serve_crowd((crowd_t){.n = 150, .rounds = 80, .window = 20}); /* three descriptors each */
}

/* --- Who leaves, and who comes after --- */

static void numbers(void **state)
{
    (void)state;
    enum { N = 50 };
    front_t front = {0};
    front_member_t member[N] = {0};
    for (int i = 0; i < N; i++) {
        member[i].front = &front;
        front_seat(&member[i]);
    }
    for (int i = 0; i < N; i++)
        assert_ptr_equal(front_seated(&front, member[i].number), &member[i]);
    uint64_t old = member[7].number;
    front_unseat(&member[7]);
    assert_null(front_seated(&front, old));
    front_seat(&member[7]);
    assert_int_equal(front.seats.n, N); /* its place is taken again, by another number */
    assert_true(member[7].number != old);
    assert_null(front_seated(&front, old));
    assert_ptr_equal(front_seated(&front, member[7].number), &member[7]);
    assert_null(front_seated(&front, 0));
    assert_null(front_seated(&front, UINT64_MAX));
    front.n_seated = UINT32_MAX;
    front_unseat(&member[0]);
    front_seat(&member[0]);
    assert_true(member[0].number != 0);
    for (int i = 0; i < N; i++) front_unseat(&member[i]);
    for (int i = 0; i < N; i++) front_unseat(&member[i]); /* twice is nothing */
    VEC_FREE(&front.seats);
    VEC_FREE(&front.free_seats);
}

/* Turn the front's loop until a condition holds. */
typedef struct {
    front_t *front;
    shepherd_side_t *shepherd;
    uint64_t handled; /* by the shepherd */
    size_t n_member;
} until_t;

static int on_check(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    const until_t *self = arg;
    while (self->shepherd &&
           control_receive(self->shepherd->router, true, &(msg_table_t){.routes = answers},
                           self->shepherd, &self->shepherd->count))
        continue;
    bool there = !self->shepherd || self->shepherd->count.handled >= self->handled;
    return there && self->front->members.n == self->n_member ? -1 : 0;
}

static int on_limit(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    *(bool *)arg = true;
    return -1;
}

static void turn(until_t until)
{
    bool late = false;
    zloop_t *loop = until.front->loop;
    int check = zloop_timer(loop, 1, 0, on_check, &until);
    int limit = zloop_timer(loop, LIMIT_MS, 1, on_limit, &late);
    zloop_start(loop);
    zloop_timer_end(loop, check);
    zloop_timer_end(loop, limit);
    assert_false(late);
}

static int on_beat(zloop_t *loop, zsock_t *socket, void *arg)
{
    (void)loop;
    return hear(socket, arg) == BODY(HEARTBEAT) ? -1 : 0;
}

/* A leaves and B gets its seat: what the shepherd says to A afterwards reaches nobody. */
static void late_words(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    front_t *front = &rig->front;
    shepherd_side_t shepherd = {
        .router = endpoint_open(endpoint_bind(ZMQ_ROUTER, rig->run->control), NULL)};
    zsock_t *a = endpoint_open(endpoint_connect(ZMQ_DEALER, rig->door), NULL);
    zsock_t *b = endpoint_open(endpoint_connect(ZMQ_DEALER, rig->door), NULL);
    say_hello(a, 1, 1);
    turn((until_t){front, &shepherd, 1, 1});
    msg_peer_t old = shepherd.last;
    say_beat(shepherd.router, &old, 1); /* on its way when A is dropped */
    front_drop(front, front->members.at[0]);
    say_hello(b, 2, 1);
    turn((until_t){front, &shepherd, 2, 1});
    assert_true(old.behind && shepherd.last.behind && old.behind != shepherd.last.behind);
    assert_int_equal((uint32_t)old.behind, (uint32_t)shepherd.last.behind); /* the same seat */
    say_beat(shepherd.router, &old, 2);
    say_beat(shepherd.router, &shepherd.last, 3); /* behind the others on the same connection */
    uint32_t credit = 0;
    zloop_reader(front->loop, b, on_beat, &credit);
    zloop_start(front->loop);
    assert_int_equal(credit, 3);
    zloop_reader_end(front->loop, b);
    zsock_destroy(&a);
    zsock_destroy(&b);
    zsock_destroy(&shepherd.router);
    rig_destroy(rig);
}

/* What was said to a shepherd that had ended is not read by the next one. */
static void next_shepherd(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    front_t *front = &rig->front;
    zsock_t *a = endpoint_open(endpoint_connect(ZMQ_DEALER, rig->door), NULL);
    say_hello(a, 1, 111); /* nobody is there */
    turn((until_t){.front = front, .n_member = 1});
    assert_non_null(rig->run->pipe);
    front_kick_all(front, rig->run, "the run's shepherd has ended");
    front_pipe_close(rig->run);
    assert_null(rig->run->pipe);
    shepherd_side_t shepherd = {
        .router = endpoint_open(endpoint_bind(ZMQ_ROUTER, rig->run->control), NULL)};
    say_hello(a, 1, 222);
    turn((until_t){front, &shepherd, 1, 1});
    assert_int_equal(shepherd.first_pid, 222);
    assert_int_equal(shepherd.count.handled, 1);
    uint32_t credit;
    assert_int_equal(hear(a, &credit), BODY(FAULT));
    zsock_destroy(&a);
    zsock_destroy(&shepherd.router);
    rig_destroy(rig);
}

/* A run's shepherd that takes its time to save has it, as when its run is paused; then it is killed. */
static void a_front_that_stops(void **state)
{
    (void)state;
    rig_t *rig = rig_new();
    front_t *front = &rig->front;
    char sh[] = "/bin/sh", flag[] = "-c", script[] = "trap '' TERM; echo ready; exec sleep 600";
    char *words[] = {sh, flag, script, NULL};
    err_t err = {0};
    char *log_dir = mem_printf("%s/%s", rig->dir, rig->run->row.id);
    assert_int_equal(file_make_dirs(log_dir, &err), 0);
    free(log_dir);
    front->children = children_new(rig->dir, SIGKILL);
    assert_int_equal(children_spawn(front->children, rig->run->name, words, &err), 0);
    for (bool ready = false; !ready;) {
        char *said = children_log_tail(front->children, rig->run->name, 100);
        ready = strstr(said, "ready") != NULL;
        free(said);
    }
    front->now_ms = 1000;
    front_on_signal(front);
    for (int64_t ms = 2000; ms <= 60000; ms += 1000) front_tick(front, ms);
    assert_false(front->finished);
    for (; !front->finished; usleep(1000)) front_tick(front, 62000);
    assert_int_equal(front->exit_status, 0);
    children_destroy(&front->children);
    rig_destroy(rig);
}

/* The next piece of the log, as a client that follows it asks for it. */
static void follows(const char *path, uint64_t *offset, const char *want)
{
    front_job_t *job = front_job_new(FILES_LOG, 1, path);
    job->offset = *offset;
    front_files_work(job);
    assert_int_equal(job->err.code, ERR_OK);
    assert_int_equal(job->n, strlen(want));
    if (job->n) assert_memory_equal(job->data, want, job->n);
    *offset = job->offset;
    front_job_destroy(&job);
}

/* It has begun anew between two questions: nothing of it is missed. */
static void a_log_that_begins_anew(void **state)
{
    (void)state;
    char *dir = temp_dir(), *path = mem_printf("%s/log", dir), *older = mem_printf("%s.1", path);
    uint64_t offset = 0;
    err_t err = {0};
    follows(path, &offset, "");
    assert_int_equal(file_write_atomic(path, "one two", 7, &err), 0);
    follows(path, &offset, "one two");
    follows(path, &offset, "");
    assert_int_equal(file_write_atomic(older, "one two three", 13, &err), 0);
    assert_int_equal(file_write_atomic(path, "four", 4, &err), 0);
    follows(path, &offset, " three");
    follows(path, &offset, "four");
    follows(path, &offset, "");
    /* Who comes now can have both. */
    front_job_t *job = front_job_new(FILES_LOG, 1, path);
    job->older = true;
    job->offset = 4;
    front_files_work(job);
    assert_int_equal(job->n, 9);
    assert_memory_equal(job->data, "two three", 9);
    front_job_destroy(&job);
    free(older);
    free(path);
    temp_remove(&dir);
}

/* What nobody sends who is well is counted, and the log has the first thousand of it. */
static void noise(void **state)
{
    (void)state;
    enum { MANY = 3000, AT_ONCE = 100, SHOWN = 1002 };
    rig_t *rig = rig_new();
    zsock_t *member = endpoint_open(endpoint_connect(ZMQ_DEALER, rig->door), NULL);
    char *path = mem_printf("%s/log", rig->dir);
    int log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600), old = dup(2);
    int64_t limit = clock_mono_ms() + LIMIT_MS;
    assert_true(log >= 0 && old >= 0);
    log_init("front", LOG_WARN, LOG_LOGFMT);
    dup2(log, 2);
    for (uint64_t n = 0; n < MANY;) {
        for (int i = 0; i < AT_ONCE; i++, n++) zsock_send(member, "b", "noise", (size_t)5);
        while (rig->front.count.dropped < n && clock_mono_ms() < limit) front_receive(&rig->front);
    }
    dup2(old, 2);
    close(old);
    close(log);
    assert_int_equal(rig->front.count.dropped, MANY);
    size_t n_bytes = 0, n_line = 0;
    char *text = file_read(path, &n_bytes, NULL);
    for (char *at = text; (at = strstr(at, "event=message_dropped")); at++) n_line++;
    assert_int_equal(n_line, SHOWN);
    free(text);
    free(path);
    zsock_destroy(&member);
    rig_destroy(rig);
}

int main(void)
{
    log_init("test", LOG_ERROR, LOG_LOGFMT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_check_and_wait),
        cmocka_unit_test(noise),
        cmocka_unit_test(many_members),
        cmocka_unit_test(numbers),
        cmocka_unit_test(late_words),
        cmocka_unit_test(next_shepherd),
        cmocka_unit_test(a_front_that_stops),
        cmocka_unit_test(a_log_that_begins_anew),
    };
    int failed = cmocka_run_group_tests_name("shepherd_front", tests, NULL, NULL);
    zsys_shutdown();
    return failed;
}
